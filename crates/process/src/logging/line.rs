//! Format of a line: that of the Armory agent, so that its users' searches and parsers still work.
//!
//! ```text
//! time="2026-11-16T09:00:00.000Z" level=info msg="account discovered" agentId=agent-7 account=prod
//! {"time":"2026-11-16T09:00:00.000Z","level":"info","msg":"account discovered","agentId":"agent-7","account":"prod"}
//! ```

use std::error::Error;
use std::fmt::{self, Write};

use jiff::Timestamp;
use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use super::LogFormat;

/// Writes lines.
#[derive(Debug)]
pub(super) struct LineFormatter {
    pub(super) format: LogFormat,
    /// Fields of every line.
    pub(super) constants: Vec<(String, String)>,
}

/// The fields of one event; its sentence apart.
#[derive(Debug, Default)]
struct Fields {
    message: String,
    others: Vec<(&'static str, Value)>,
}

// === impl LineFormatter ===

impl<S, N> FormatEvent<S, N> for LineFormatter
where
    S: Subscriber + for<'l> LookupSpan<'l>,
    N: for<'w> FormatFields<'w> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut line: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let metadata = event.metadata();
        // Our own sentences need no address; those of libraries do.
        if !metadata.target().starts_with("spindrift") {
            fields.others.push(("target", metadata.target().into()));
        }
        self.write(&mut line, &Timestamp::now(), *metadata.level(), &fields)
    }
}

impl LineFormatter {
    fn write(&self, line: &mut impl Write, time: &Timestamp, level: Level, fields: &Fields) -> fmt::Result {
        let time = time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
        let head = [("time", time.as_str()), ("level", word(level)), ("msg", &fields.message)];
        let constants =
            self.constants.iter().map(|(name, value)| (name.as_str(), Value::from(value.as_str())));
        // A field of an event is more exact than a constant of the same name.
        let constants = constants.filter(|(name, _)| fields.others.iter().all(|(other, _)| name != other));
        let others = fields.others.iter().map(|(name, value)| (*name, value.clone()));
        let all =
            head.into_iter().map(|(name, value)| (name, Value::from(value))).chain(constants).chain(others);
        match self.format {
            LogFormat::Text => write_text(line, all),
            LogFormat::Json => write_json(line, all),
        }
    }
}

fn write_text<'f>(line: &mut impl Write, fields: impl Iterator<Item = (&'f str, Value)>) -> fmt::Result {
    for (at, (name, value)) in fields.enumerate() {
        let space = if at == 0 { "" } else { " " };
        match value {
            Value::String(text) if is_plain(&text) => write!(line, "{space}{name}={text}")?,
            // A text in JSON's quotes; every other value is as it is.
            value => write!(line, "{space}{name}={value}")?,
        }
    }
    writeln!(line)
}

fn write_json<'f>(line: &mut impl Write, fields: impl Iterator<Item = (&'f str, Value)>) -> fmt::Result {
    for (at, (name, value)) in fields.enumerate() {
        let separator = if at == 0 { '{' } else { ',' };
        write!(line, "{separator}{}:{value}", Value::from(name))?;
    }
    writeln!(line, "}}")
}

/// Whether a text needs no quotes.
fn is_plain(text: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-._/@^+".contains(letter);
    !text.is_empty() && text.chars().all(plain)
}

/// The level in the original's words.
fn word(level: Level) -> &'static str {
    match level {
        Level::ERROR => "error",
        Level::WARN => "warning",
        Level::INFO => "info",
        Level::DEBUG => "debug",
        Level::TRACE => "trace",
    }
}

// === impl Fields ===

impl Fields {
    fn put(&mut self, field: &Field, value: impl Into<Value>) {
        let name = match field.name() {
            // Words of the line itself.
            "time" => "fields.time",
            "level" => "fields.level",
            "msg" => "fields.msg",
            name => name.strip_prefix("r#").unwrap_or(name),
        };
        self.others.push((name, value.into()));
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.message = format!("{value:?}");
        } else {
            self.put(field, format!("{value:?}"));
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            value.clone_into(&mut self.message);
        } else {
            self.put(field, value);
        }
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.put(field, crate::report(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(format: LogFormat) -> String {
        let line = LineFormatter {
            format,
            constants: vec![("agentId".into(), "a-1".into()), ("account".into(), "x".into())],
        };
        let fields = Fields {
            message: "said \"no\"\nto it".into(),
            others: vec![("account", "prod".into()), ("objects", 7.into()), ("error", "".into())],
        };
        let mut text = String::new();
        line.write(&mut text, &"2026-11-16T09:00:00.5Z".parse().unwrap(), Level::WARN, &fields).unwrap();
        text
    }

    #[test]
    fn a_line_of_text_is_that_of_the_original() {
        let expected = r#"time="2026-11-16T09:00:00.500Z" level=warning msg="said \"no\"\nto it" agentId=a-1 account=prod objects=7 error="""#;
        assert_eq!(line(LogFormat::Text), format!("{expected}\n"));
    }

    #[test]
    fn a_line_of_json_is_one_object_with_the_same_names() {
        let object: Value = serde_json::from_str(&line(LogFormat::Json)).unwrap();
        let expected = serde_json::json!({
            "time": "2026-11-16T09:00:00.500Z", "level": "warning", "msg": "said \"no\"\nto it",
            "agentId": "a-1", "account": "prod", "objects": 7, "error": "",
        });
        assert_eq!(object, expected);
    }
}
