//! What the full meter shows, as a widget: lanes with a rate and its last minute.

use std::collections::VecDeque;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Style, Stylize};
use ratatui_core::text::Line;
use ratatui_core::widgets::Widget;
use tightloop::units::{Rate, Span};

/// Columns that are kept, of a second each: a minute.
pub(crate) const COLUMNS: usize = 60;
/// Lanes are side by side where each has so much room. Ours: a minute and the
/// scale beside it.
const LANE: u16 = 74;
/// Room between lanes.
const GAP: u16 = 2;
/// Room for the scale: `1234 kbit/s` and a blank.
const SCALE: u16 = 14;
/// Lines of a lane's chart.
const CHART: u16 = 3;
/// A character's height, in steps.
const STEPS: u16 = 8;
const BARS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
/// Where a limit is.
const MARK: &str = "╌";
/// An outage.
const OUT: &str = "×";

/// A second of the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) rate: Rate,
    /// What it is held against.
    pub(crate) limit: Option<Rate>,
}

/// One rate, what it is held against, and what else there is to say.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    pub(crate) name: &'static str,
    pub(crate) now: Column,
    /// The oldest first.
    pub(crate) past: VecDeque<Column>,
    pub(crate) words: Vec<Line<'static>>,
}

/// All of it.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    pub(crate) title: String,
    pub(crate) elapsed: Span,
    pub(crate) lanes: Vec<Lane>,
}

impl Panel {
    /// Lines that it needs at a width.
    pub(crate) fn height(&self, width: u16) -> u16 {
        let heights = self.lanes.iter().map(Lane::height);
        1 + if self.beside(width) {
            heights.max().unwrap_or(0)
        } else {
            heights.sum()
        }
    }

    fn beside(&self, width: u16) -> bool {
        let count = u16::try_from(self.lanes.len()).unwrap_or(u16::MAX);
        width >= LANE.saturating_add(GAP).saturating_mul(count) - GAP.min(width)
    }
}

impl Widget for &Panel {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        let clock = clock(self.elapsed);
        let room = usize::from(area.width).saturating_sub(clock.len() + 1);
        let (title, _) = buffer.set_stringn(area.x, area.y, &self.title, room, Style::new().bold());
        let after = if title > area.x { title + 1 } else { area.x };
        let left = usize::from(area.right().saturating_sub(after));
        buffer.set_stringn(after, area.y, clock, left, Style::new().dim());

        let beside = self.beside(area.width);
        let mut place = Rect {
            y: area.y + 1,
            width: if beside { LANE } else { area.width },
            ..area
        };
        for lane in &self.lanes {
            place.height = lane.height();
            lane.render(place.intersection(area), buffer);
            if beside {
                place.x += LANE + GAP;
            } else {
                place.y += place.height;
            }
        }
    }
}

impl Lane {
    fn height(&self) -> u16 {
        1 + CHART + u16::try_from(self.words.len()).unwrap_or(0)
    }

    fn heading(&self) -> Line<'static> {
        let mut spans = vec![format!("{:<5}", self.name).bold()];
        spans.push(rate(self.now.rate).bold());
        match self.now.limit {
            Some(Rate::ZERO) => spans.push(" in an outage".red()),
            Some(limit) => spans.push(format!(" of {}", rate(limit)).into()),
            None => spans.push(" without a limit".dim()),
        }
        Line::from(spans)
    }
}

impl Widget for &Lane {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let mut rows = area.rows();
        if let Some(row) = rows.next() {
            buffer.set_line(row.x, row.y, &self.heading(), row.width);
        }
        let chart = Rect {
            y: area.y + 1,
            height: CHART,
            ..area
        };
        self.chart(chart.intersection(area), buffer);
        for (row, line) in rows.skip(usize::from(CHART)).zip(&self.words) {
            buffer.set_line(row.x, row.y, line, row.width);
        }
    }
}

impl Lane {
    /// Bars of the past, the newest on the right, and marks where the limit was.
    fn chart(&self, area: Rect, buffer: &mut Buffer) {
        if area.is_empty() {
            return;
        }
        let columns = self.past.len().min(COLUMNS);
        let room = usize::from(area.width.saturating_sub(SCALE)).min(COLUMNS);
        let shown = self.past.iter().skip(columns.saturating_sub(room));
        let top = self.past.iter().flat_map(|it| [Some(it.rate), it.limit]);
        let Some(top) = top.flatten().max().filter(|top| *top > Rate::ZERO) else {
            return;
        };
        let steps = area.height * STEPS;
        let level = |rate: Rate| (rate.ratio(top) * f64::from(steps)).ceil() as u16;
        let blank = room.saturating_sub(columns) as u16;
        for (x, column) in (area.x + blank..).zip(shown) {
            let bar = level(column.rate);
            let limit = column.limit.map(level);
            for row in 0..area.height {
                let below = (area.height - 1 - row) * STEPS;
                let fill = bar.saturating_sub(below).min(STEPS);
                let here = |limit: u16| limit > below && limit <= below + STEPS;
                let Some(cell) = buffer.cell_mut((x, area.y + row)) else {
                    continue;
                };
                if fill > 0 {
                    let full = limit.is_some_and(|limit| bar + 1 >= limit);
                    let colour = if full { Color::Yellow } else { Color::Green };
                    cell.set_symbol(BARS[usize::from(fill)]).set_fg(colour);
                } else if limit.is_some_and(here) {
                    cell.set_symbol(MARK).set_style(Style::new().dim());
                } else if limit == Some(0) && below == 0 {
                    cell.set_symbol(OUT).set_fg(Color::Red);
                }
            }
        }
        let beside = area.x + room as u16 + 1;
        let width = usize::from(area.right().saturating_sub(beside));
        let style = Style::new().dim();
        if area.height > 1 {
            buffer.set_stringn(beside, area.bottom() - 1, "0", width, style);
        }
        buffer.set_stringn(beside, area.y, rate(top), width, style);
    }
}

/// In megabits a second, so that nothing jumps about.
fn rate(rate: Rate) -> String {
    let mbps = rate.mbps_f64();
    let digits = if mbps < 10.0 {
        2
    } else if mbps < 100.0 {
        1
    } else {
        0
    };
    format!("{mbps:.digits$} Mbit/s")
}

/// Minutes and seconds.
fn clock(span: Span) -> String {
    let seconds = span.secs_f64().max(0.0) as u64;
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests;
