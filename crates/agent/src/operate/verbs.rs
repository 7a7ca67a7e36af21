//! The verbs, one file each.

use spindrift_model::Verb;

use super::{Answer, AnswerSink, Failure, Hand};

/// Does what is asked for.
pub async fn run(_hand: &Hand, verb: Verb, _sink: &impl AnswerSink) -> Result<Answer, Failure> {
    Err(Failure::ours(501, "NotImplemented", format!("this agent does not know the verb {}", verb.name())))
}
