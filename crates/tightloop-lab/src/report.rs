//! What a report is made of: a page to explore and a figure to show.

pub(crate) mod figure;
pub(crate) mod page;
pub(crate) mod palette;
#[cfg(test)]
mod sample;
mod ticks;
