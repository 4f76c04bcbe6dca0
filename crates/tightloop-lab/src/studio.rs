//! Real pictures and real codecs for scenarios.
//!
//! A scenario names an encoder of real pictures as any other, and what it films:
//!
//! ```toml
//! encoder = { name = "openh264", footage = "gen:game" }
//! encoder = { name = "openh264", footage = { source = "clip.mp4", size = "1280x720" }, takes = "5 ms" }
//! ```
//!
//! `takes` is the time a picture spends in the encoder, on the run's own clock;
//! every other key is a setting of the codec.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use tightloop::event::FlowId;
use tightloop::scenario::{Named, Scenario};
use tightloop::settings::{Params, SettingError, settings};
use tightloop::units::Span;
use tightloop::video::{Encoder, VideoStart};
use tightloop_live::codec::{CODECS, CodecKind, CodecStart, codec};
use tightloop_live::footage::{Footage, FootageSettings, Progress};
use tightloop_live::footage_encoder::{FootageEncoder, Recording};

/// What names the pictures in an encoder's settings.
const FOOTAGE: &str = "footage";
/// What names where they come from, in a table.
const SOURCE: &str = "source";
/// What names the time a picture spends in the encoder.
const TAKES: &str = "takes";
/// What sources that are made here start with.
const GENERATED: &str = "gen:";

/// Footage that several runs share.
#[derive(Debug, Default)]
pub(crate) struct Studio {
    opened: Mutex<Vec<(String, FootageSettings, Arc<Footage>)>>,
}

/// What one run films.
#[derive(Debug)]
pub(crate) struct Stage<'a> {
    studio: &'a Studio,
    filmed: RefCell<BTreeMap<FlowId, Filmed>>,
}

/// What one flow films and codes.
#[derive(Clone, Debug)]
pub(crate) struct Filmed {
    pub(crate) footage: Arc<Footage>,
    pub(crate) recording: Recording,
    pub(crate) codec: &'static CodecKind,
}

impl Studio {
    /// Opens footage, or gives what was opened with the same settings.
    pub(crate) fn open(
        &self,
        source: &str,
        settings: &FootageSettings,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Arc<Footage>, SettingError> {
        // Held while opening: who wants the same footage waits for it.
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |(name, with, _): &&(String, FootageSettings, Arc<Footage>)| {
            name == source && with == settings
        };
        if let Some((.., footage)) = opened.iter().find(same) {
            return Ok(footage.clone());
        }
        let footage = Footage::open_with(source, settings, progress);
        let footage = Arc::new(footage.map_err(|error| SettingError(error.to_string()))?);
        opened.push((source.to_owned(), settings.clone(), footage.clone()));
        Ok(footage)
    }

    /// Opens the footage of a scenario's flow, if it films any, before a run does.
    pub(crate) fn prepare(
        &self,
        scenario: &Scenario,
        flow: FlowId,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), SettingError> {
        let flow = scenario.flow.get(flow.0 as usize);
        let Some(video) = flow.and_then(|flow| flow.video.as_ref()) else {
            return Ok(());
        };
        let encoder = &video.encoder;
        if !encoder.params.contains_key(FOOTAGE) {
            return Ok(());
        }
        let named = footage(encoder.params.get(FOOTAGE).cloned(), &encoder.name)?;
        let (source, shooting) = shooting(named, video.source.frame_interval());
        self.open(&source, &shooting, progress)?;
        Ok(())
    }

    /// A run that films.
    pub(crate) fn stage(&self) -> Stage<'_> {
        Stage {
            studio: self,
            filmed: RefCell::default(),
        }
    }
}

impl Stage<'_> {
    /// Builds a flow's encoder, if its name is that of a codec. Files are named by
    /// their way from `folder`.
    pub(crate) fn encoder(
        &self,
        flow: FlowId,
        name: &str,
        start: &VideoStart,
        folder: &Path,
    ) -> Option<Result<Box<dyn Encoder>, SettingError>> {
        let kind = match codec(name) {
            Ok(kind) => kind,
            // VP8 and VP9 are known even where this build has them not.
            Err(error) if ["vp8", "vp9"].contains(&name) => return Some(Err(error)),
            Err(_) => return None,
        };
        Some(self.film(flow, kind, start, folder))
    }

    /// What each flow filmed.
    pub(crate) fn filmed(&self, flow: FlowId) -> Option<Filmed> {
        self.filmed.borrow().get(&flow).cloned()
    }

    fn film(
        &self,
        flow: FlowId,
        codec: &'static CodecKind,
        start: &VideoStart,
        folder: &Path,
    ) -> Result<Box<dyn Encoder>, SettingError> {
        let mut params = start.params.clone();
        let takes = match params.remove(TAKES) {
            None => Span::ZERO,
            Some(value) => Span::deserialize(value)
                .map_err(|error| SettingError(format!("{TAKES}: {}", error.message())))?,
        };
        SettingError::unless(takes >= Span::ZERO, || {
            format!("{TAKES} = {takes} is negative; use 0 s or more")
        })?;
        let named = footage(params.remove(FOOTAGE), codec.name)?;
        let (source, shooting) = shooting(named, start.frame_interval);
        let source = place(&source, folder);
        let footage = self.studio.open(&source, &shooting, &mut |_| ())?;
        let encoder = (codec.encoder)(&CodecStart {
            params,
            size: footage.size(),
            frame_interval: start.frame_interval,
        })?;
        let encoder = FootageEncoder::new(encoder, footage.clone(), takes);
        let filmed = Filmed {
            footage,
            recording: encoder.recording(),
            codec,
        };
        self.filmed.borrow_mut().insert(flow, filmed);
        Ok(Box::new(encoder))
    }
}

/// Pictures that are made here are made as often as they are captured.
fn shooting(
    (source, mut settings): (String, FootageSettings),
    frame_interval: Span,
) -> (String, FootageSettings) {
    if source.starts_with(GENERATED) {
        let fps = Span::from_secs(1).ratio(frame_interval);
        settings.fps = settings.fps.or(Some(fps));
    }
    (source, settings)
}

/// Where footage is, seen from the program.
fn place(source: &str, folder: &Path) -> String {
    if source.starts_with(GENERATED) {
        return source.to_owned();
    }
    folder.join(source).display().to_string()
}

/// The source that an encoder's settings name, and how it is used.
fn footage(
    value: Option<toml::Value>,
    codec: &str,
) -> Result<(String, FootageSettings), SettingError> {
    let wanted = || {
        SettingError(format!(
            "{codec} encodes real pictures: say which, as in {FOOTAGE} = \"gen:game\" or \
             {FOOTAGE} = {{ {SOURCE} = \"clip.mp4\", size = \"1280x720\" }}"
        ))
    };
    match value {
        Some(toml::Value::String(source)) => Ok((source, FootageSettings::default())),
        Some(toml::Value::Table(mut table)) => match table.remove(SOURCE) {
            Some(toml::Value::String(source)) => Ok((source, settings(&table)?)),
            _ => Err(wanted()),
        },
        _ => Err(wanted()),
    }
}

/// Has an encoder film pictures that are made here when they are asked for.
pub(crate) fn film_on_demand(encoder: &mut Named) {
    if let Some(toml::Value::Table(table)) = encoder.params.get_mut(FOOTAGE) {
        table.insert("on_demand".to_owned(), true.into());
    }
}

/// The file that an encoder's settings name, if they name one.
pub(crate) fn file_of(params: &mut Params) -> Option<&mut String> {
    let source = match params.get_mut(FOOTAGE)? {
        toml::Value::Table(table) => table.get_mut(SOURCE)?,
        plain => plain,
    };
    match source {
        toml::Value::String(source) if !source.starts_with(GENERATED) => Some(source),
        _ => None,
    }
}

/// The names and default settings of all codecs.
pub(crate) fn codecs() -> impl Iterator<Item = (&'static str, fn() -> Params)> {
    CODECS.iter().map(|codec| (codec.name, codec.defaults))
}

/// The settings that name footage.
pub(crate) fn filming(source: &str, table: toml::Table) -> toml::Value {
    let mut table = table;
    table.insert(SOURCE.to_owned(), source.into());
    table.into()
}

/// Where a file is, wherever it is looked at from.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
