//! Scenario files: TOML in, a [`Scenario`] or a diagnostic out, and back.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use anyhow::Result;
use tightloop::analysis::nearest;
use tightloop::link::trace::Trace;
use tightloop::scenario::{Built, Scenario, ScenarioError, Supplies};
use toml::Spanned;
use toml::de::DeTable;

use crate::diagnostic::Diagnostic;
use crate::studio::Stage;
use crate::trace;

mod explain;
mod overrides;
mod source;

use overrides::Override;
use source::{Source, Spans};

/// A scenario, with the text it came from and the traces it names.
#[derive(Debug)]
pub(crate) struct File {
    /// The scenario.
    pub(crate) scenario: Scenario,
    folder: PathBuf,
    source: Source,
    spans: Spans,
    /// The traces read so far, by the names that links give them.
    traces: RefCell<BTreeMap<String, Arc<Trace>>>,
}

impl File {
    /// Reads a scenario, with values changed from the command line.
    pub(crate) fn load(path: &Path, sets: &[String], seed: Option<u64>) -> Result<Self> {
        let text = fs::read_to_string(path).map_err(|error| missing(path, &error))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Self::parse(&path.display().to_string(), text, folder, sets, seed)
    }

    /// Understands a scenario's text, which names traces and footage by their way
    /// from `folder`.
    pub(crate) fn parse(
        name: &str,
        text: String,
        folder: &Path,
        sets: &[String],
        seed: Option<u64>,
    ) -> Result<Self> {
        let mut source = Source::new(name.to_owned(), text);
        let overrides: Result<Vec<_>, _> = sets
            .iter()
            .map(|assignment| Override::parse(assignment, &mut source))
            .collect();
        let overrides = overrides?;
        let root = DeTable::parse(source.file());
        let mut root = root.map_err(|error| explain::syntax(&source, &error))?;
        for change in &overrides {
            change.apply(root.get_mut())?;
        }
        let spans = Spans::of(root.get_ref());
        let scenario = read(root).map_err(|error| explain::shape(&source, &spans, &error))?;
        Ok(Self {
            scenario: Scenario {
                seed: seed.unwrap_or(scenario.seed),
                ..scenario
            },
            folder: folder.to_owned(),
            source,
            spans,
            traces: RefCell::default(),
        })
    }

    /// Builds the scenario's world.
    pub(crate) fn build(&self, stage: &Stage<'_>) -> Result<Built> {
        // A trace that cannot be read says more than that it is not there.
        let failed = RefCell::new(None);
        let find = |name: &str| match self.trace(name) {
            Ok(trace) => Some(trace),
            Err(error) => {
                failed.replace(Some(error));
                None
            }
        };
        let supplies = Supplies {
            traces: &find,
            encoders: &|flow, name, start| stage.encoder(flow, name, start, &self.folder),
        };
        self.scenario.build_with(&supplies).map_err(|error| {
            let error = match failed.take() {
                Some(message) => ScenarioError {
                    at: error.at,
                    message,
                },
                None => error,
            };
            self.explain(&error).into()
        })
    }

    /// What is wrong with the scenario, shown in its file.
    pub(crate) fn explain(&self, error: &ScenarioError) -> Diagnostic {
        explain::sense(&self.source, &self.spans, error)
    }

    /// A trace by the name that a link gives it: a path, from the scenario's folder.
    fn trace(&self, name: &str) -> Result<Arc<Trace>, String> {
        if let Some(trace) = self.traces.borrow().get(name) {
            return Ok(trace.clone());
        }
        let path = self.folder.join(name);
        let trace = trace::read(&path).map_err(|error| format!("trace: {error:#}"))?;
        let trace = Arc::new(trace);
        self.traces
            .borrow_mut()
            .insert(name.to_owned(), trace.clone());
        Ok(trace)
    }

    /// The traces that the world was built with, by the names that links give them.
    pub(crate) fn traces(&self) -> BTreeMap<String, Arc<Trace>> {
        self.traces.borrow().clone()
    }

    /// Where a trace or footage is.
    pub(crate) fn place(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// A file that cannot be read, and what there is instead.
fn missing(path: &Path, error: &io::Error) -> Diagnostic {
    let diagnostic = Diagnostic::new(format!("cannot read {}: {error}", path.display()));
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let entries = fs::read_dir(folder.unwrap_or(Path::new("."))).into_iter();
    let paths = entries.flatten().flatten().map(|entry| entry.path());
    let scenarios = paths.filter(|path| path.extension().is_some_and(|it| it == "toml"));
    let stems: Vec<String> = scenarios.filter_map(|path| stem(&path)).collect();
    let near = nearest(
        &stem(path).unwrap_or_default(),
        stems.iter().map(String::as_str),
    );
    match near.first() {
        Some(near) => {
            let file = path.with_file_name(format!("{near}.toml"));
            diagnostic.help(format!("there is {}", file.display()))
        }
        None => diagnostic.help("`tightloop list scenarios` shows those in ./scenarios"),
    }
}

fn stem(path: &Path) -> Option<String> {
    Some(path.file_stem()?.to_string_lossy().into_owned())
}

fn read(
    root: Spanned<DeTable<'_>>,
) -> Result<Scenario, serde_path_to_error::Error<toml::de::Error>> {
    serde_path_to_error::deserialize(toml::Deserializer::from(root))
}
