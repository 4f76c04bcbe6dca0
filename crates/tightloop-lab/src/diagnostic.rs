//! What is wrong with what a person wrote: where, and what to try.

use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

/// A mistake in a file or on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Diagnostic {
    title: String,
    place: Option<Place>,
    notes: Vec<String>,
    help: Vec<String>,
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The file's name, or what else to call the text.
    pub(crate) name: String,
    /// The whole text.
    pub(crate) text: String,
    /// Which bytes of it.
    pub(crate) span: Range<usize>,
}

impl Diagnostic {
    /// What is wrong, in one line.
    pub(crate) fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            place: None,
            notes: Vec::new(),
            help: Vec::new(),
        }
    }

    /// Where.
    pub(crate) fn at(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    /// What else one may want to know.
    pub(crate) fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// What to try.
    pub(crate) fn help(mut self, text: impl Into<String>) -> Self {
        self.help.push(text.into());
        self
    }

    /// As text, in colours or without.
    pub(crate) fn render(&self, colours: bool) -> String {
        let text = self.rendered(colours);
        match self.place {
            Some(_) => text,
            // Without a text to show there is no margin to draw.
            None => text.replacen("\n |\n", "\n", 1),
        }
    }

    fn rendered(&self, colours: bool) -> String {
        let renderer = if colours {
            Renderer::styled()
        } else {
            Renderer::plain()
        };
        let mut group = Group::with_title(Level::ERROR.primary_title(&self.title));
        if let Some(Place { name, text, span }) = &self.place {
            let snippet = Snippet::source(text)
                .path(name)
                .annotation(AnnotationKind::Primary.span(span.clone()));
            group = group.element(snippet);
        }
        for note in &self.notes {
            group = group.element(Level::NOTE.message(note));
        }
        for help in &self.help {
            group = group.element(Level::HELP.message(help));
        }
        renderer.render(&[group])
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for Diagnostic {}
