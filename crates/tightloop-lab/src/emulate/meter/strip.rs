//! Lines of a terminal that are drawn again and again, below everything else.
//!
//! The cursor rests below them and nothing else of the terminal is changed: no
//! screen of its own, no raw mode, no hidden cursor. So there is nothing to
//! restore, however the program ends, and what was there before stays. All
//! moves are relative, as a terminal's answer where the cursor is would have
//! to be read from what the command may read.

use std::fmt::Write as _;
use std::io::{self, Write, stderr};
use std::panic;
use std::sync::{Mutex, MutexGuard, PoisonError};

use console::Term;
use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier};
use ratatui_core::widgets::Widget;

use super::panel::Panel;

/// What is to be printed above; `None` while nothing is drawn. Who prints holds
/// it.
static ABOVE: Mutex<Option<Vec<String>>> = Mutex::new(None);

fn above() -> MutexGuard<'static, Option<Vec<String>>> {
    ABOVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Prints a line on the standard error: above the meter, where there is one.
pub(crate) fn tell(line: &str) {
    match above().as_mut() {
        Some(lines) => lines.push(line.to_owned()),
        None => eprintln!("{line}"),
    }
}

/// The lines, as long as they are drawn.
#[derive(Debug)]
pub(super) struct Strip {
    term: Term,
    colours: bool,
    drawn: u16,
}

impl Strip {
    /// Where the standard error is a terminal that can move its cursor.
    pub(super) fn new() -> Option<Self> {
        let term = Term::stderr();
        let dumb = std::env::var_os("TERM").is_none_or(|it| it == "dumb");
        if !term.is_term() || dumb {
            return None;
        }
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            // What is said of a panic is not to be drawn over.
            drop(above().take());
            before(panic);
        }));
        *above() = Some(Vec::new());
        Some(Self {
            term,
            colours: console::colors_enabled_stderr(),
            drawn: 0,
        })
    }

    /// Draws a panel in place of the last. Fails where nobody sees it any more.
    pub(super) fn draw(&mut self, panel: &Panel) -> io::Result<()> {
        let (rows, columns) = self.term.size_checked().unwrap_or((24, 80));
        // A full line would wrap; below the last there must be room for the cursor.
        let width = columns.saturating_sub(1);
        let height = panel.height(width).min(rows.saturating_sub(1));
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        panel.render(buffer.area, &mut buffer);
        let mut above = above();
        let lines = above.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        let text = frame(self.drawn, lines, &buffer, self.colours);
        lines.clear();
        self.drawn = height;
        // At once, so that nothing comes between.
        stderr().lock().write_all(text.as_bytes())
    }
}

impl Drop for Strip {
    fn drop(&mut self) {
        let mut above = above();
        let Some(lines) = above.take() else {
            return;
        };
        let text = frame(self.drawn, &lines, &Buffer::default(), false);
        let _ = stderr().lock().write_all(text.as_bytes());
    }
}

/// What turns `drawn` lines above the cursor into these lines and this buffer.
fn frame(drawn: u16, above: &[String], buffer: &Buffer, colours: bool) -> String {
    let mut text = String::new();
    if drawn > 0 {
        let _ = write!(text, "\x1b[{drawn}A");
    }
    text.push('\r');
    if !above.is_empty() || buffer.area.is_empty() {
        text.push_str("\x1b[J");
    }
    for line in above {
        text.extend(line.chars().filter(|it| *it == '\t' || !it.is_control()));
        text.push_str("\r\n");
    }
    for row in buffer
        .content()
        .chunks(usize::from(buffer.area.width).max(1))
    {
        let mut style = String::new();
        for cell in row {
            let wanted = if colours { look(cell) } else { String::new() };
            if wanted != style {
                let _ = write!(text, "\x1b[0{wanted}m");
                style = wanted;
            }
            text.push_str(cell.symbol());
        }
        if !style.is_empty() {
            text.push_str("\x1b[0m");
        }
        text.truncate(text.trim_end_matches(' ').len());
        text.push_str("\x1b[K\r\n");
    }
    if drawn > buffer.area.height {
        text.push_str("\x1b[J");
    }
    text
}

/// A cell's look as a terminal is told (ECMA-48 §8.3.117).
fn look(cell: &Cell) -> String {
    let mut codes = String::new();
    for (modifier, code) in [(Modifier::BOLD, ";1"), (Modifier::DIM, ";2")] {
        if cell.modifier.contains(modifier) {
            codes.push_str(code);
        }
    }
    codes.push_str(match cell.fg {
        Color::Red => ";31",
        Color::Green => ";32",
        Color::Yellow => ";33",
        _ => "",
    });
    codes
}

#[cfg(test)]
mod tests {
    use ratatui_core::style::Style;

    use super::*;

    fn two_lines() -> Buffer {
        let mut buffer = Buffer::with_lines(["ab ", "c  "]);
        buffer.set_style(Rect::new(0, 0, 1, 1), Style::new().fg(Color::Red));
        buffer
    }

    #[test]
    fn a_frame_takes_the_place_of_the_last_and_ends_below_itself() {
        let plain = frame(0, &[], &two_lines(), false);
        assert_eq!(plain, "\rab\x1b[K\r\nc\x1b[K\r\n");
        let again = frame(2, &[], &two_lines(), true);
        assert_eq!(again, "\x1b[2A\r\x1b[0;31ma\x1b[0mb\x1b[K\r\nc\x1b[K\r\n");
        let shorter = frame(5, &[], &two_lines(), false);
        assert!(shorter.ends_with("c\x1b[K\r\n\x1b[J"), "{shorter:?}");
    }

    #[test]
    fn other_lines_come_above_and_cannot_steer_the_terminal() {
        let lines = ["a\x1b[2Jb".to_owned()];
        let text = frame(2, &lines, &two_lines(), false);
        assert!(text.starts_with("\x1b[2A\r\x1b[Ja[2Jb\r\nab"), "{text:?}");
    }

    #[test]
    fn nothing_is_left_at_the_end() {
        let text = frame(7, &[], &Buffer::default(), false);
        assert!(text.starts_with("\x1b[7A\r\x1b[J"), "{text:?}");
        assert!(!text.contains('\n'), "{text:?}");
    }
}
