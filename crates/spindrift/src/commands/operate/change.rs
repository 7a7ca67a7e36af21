//! Steps that change something, in every account: told in kubectl's words, or shown as documents.

use std::{cell::RefCell, io::Write, time::Duration};

use clap::ValueEnum;
use serde::Deserialize;
use serde_json::{Value, json};
use spindrift_model::Verb;
use spindrift_printer::json;

use super::{
    Dry, Where,
    display::{Line, View},
    fanout::{Crew, Trouble},
    naming::{after, prefix, title},
};
use crate::commands::{
    Context,
    get::{mark, yaml},
};

/// One thing to do.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) verb: Verb,
    /// What it is about, while it is under way.
    pub(crate) title: String,
    /// The file that asks for it.
    pub(crate) file: Option<String>,
}

/// How steps are done, and how it is told.
pub(crate) struct Change<'a> {
    pub(crate) wherever: &'a Where,
    /// As errors call it: `applying`.
    pub(crate) doing: &'static str,
    pub(crate) output: Option<Format>,
    pub(crate) dry: Dry,
    pub(crate) deadline: Option<Duration>,
}

/// How what was done is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Json,
    Yaml,
    /// `deployment.apps/web`.
    Name,
}

/// Something that was done.
#[derive(Debug)]
pub(crate) struct Told {
    /// `deployment.apps/web`.
    pub(crate) name: String,
    /// `deployment.apps/web configured`.
    pub(crate) line: String,
    /// `configured`.
    pub(crate) word: String,
    pub(crate) object: Value,
}

/// What an agent answers to most verbs that change something.
#[derive(Debug, Deserialize)]
pub(crate) struct Changed {
    action: String,
    object: Value,
    #[serde(default)]
    warnings: Vec<String>,
    /// What the object is about, where it is only a part of it.
    #[serde(default)]
    target: Option<Target>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Target {
    api_version: String,
    kind: String,
    name: String,
}

// === impl Change ===

impl Change<'_> {
    /// Does the steps of each account in order; one that fails does not keep the others from being done.
    pub(crate) async fn run(
        &self,
        context: &Context,
        steps: impl AsyncFn(&Crew<'_>, &str) -> Result<Vec<Step>, Trouble>,
    ) -> anyhow::Result<()> {
        self.tell(context, steps, |changed: Changed, line| {
            warn(line, &changed.warnings);
            vec![changed.told(self.dry)]
        })
        .await
    }

    /// As [`Self::run`], for answers of other forms.
    pub(crate) async fn tell<T: for<'de> Deserialize<'de>>(
        &self,
        context: &Context,
        steps: impl AsyncFn(&Crew<'_>, &str) -> Result<Vec<Step>, Trouble>,
        understand: impl Fn(T, &Line) -> Vec<Told>,
    ) -> anyhow::Result<()> {
        let crew = Crew::new(context)?;
        let accounts = self.wherever.accounts(crew.hub()).await?;
        let documents = RefCell::new(Vec::new());
        let done = crew
            .everywhere(&accounts, View::Progress, async |line| {
                let account = line.account();
                let steps = match steps(&crew, account).await {
                    Ok(steps) => steps,
                    Err(trouble) => {
                        line.fail(&trouble.to_string());
                        return Ok(());
                    }
                };
                for step in steps {
                    line.doing(&format!("{} {}", self.doing, step.title));
                    match self.step::<T>(&crew, account, &step).await {
                        Ok(answer) => {
                            for told in understand(answer, line) {
                                self.show(told, line, &documents)?;
                            }
                        }
                        Err(trouble) => {
                            warn(line, trouble.warnings());
                            line.fail(&trouble.about(self.doing, step.file.as_deref()).to_string());
                        }
                    }
                }
                Ok(())
            })
            .await;
        self.print(documents.into_inner())?;
        done
    }

    async fn step<T: for<'de> Deserialize<'de>>(
        &self,
        crew: &Crew<'_>,
        account: &str,
        step: &Step,
    ) -> Result<T, Trouble> {
        crew.ask(account, &step.verb, self.deadline).await?.json().await
    }

    fn show(&self, told: Told, line: &Line, documents: &RefCell<Vec<(String, Value)>>) -> anyhow::Result<()> {
        match self.output {
            None => line.done(&told.line, &told.word)?,
            Some(Format::Name) => line.bare(&(told.name + "\n"))?,
            Some(Format::Json | Format::Yaml) => {
                let mut object = told.object;
                if line.is_one_of_several() {
                    mark(&mut object, line.account());
                }
                documents.borrow_mut().push((line.account().to_owned(), object));
            }
        }
        Ok(())
    }

    /// One object as it is, several as a list, by account.
    fn print(&self, mut documents: Vec<(String, Value)>) -> anyhow::Result<()> {
        documents.sort_by(|(left, _), (right, _)| left.cmp(right));
        let mut objects: Vec<_> = documents.into_iter().map(|(_, object)| object).collect();
        let document = match objects.len() {
            0 => return Ok(()),
            1 => objects.remove(0),
            _ => {
                json!({ "apiVersion": "v1", "items": objects, "kind": "List", "metadata": { "resourceVersion": "" } })
            }
        };
        let text = match self.output {
            Some(Format::Yaml) => yaml(&document)?,
            _ => json::pretty(&document) + "\n",
        };
        Ok(std::io::stdout().lock().write_all(text.as_bytes())?)
    }
}

fn warn(line: &Line, warnings: &[String]) {
    for warning in warnings {
        line.note(&format!("Warning: {warning}"));
    }
}

// === impl Changed ===

impl Changed {
    fn told(self, dry: Dry) -> Told {
        let Self { action, object, target, .. } = self;
        let name = match target {
            Some(Target { api_version, kind, name }) => format!("{}/{name}", prefix(&api_version, &kind)),
            None => title(&object),
        };
        Told { line: format!("{name} {action}{}", after(dry)), name, word: action, object }
    }
}
