//! How claims of papers are held: a value between two bounds, the median of runs.
#![allow(dead_code, missing_docs)] // Each test file uses its own few.
#![allow(clippy::disallowed_macros)] // People read the numbers with --nocapture.

/// Says a value and its bounds; it must lie between them.
#[track_caller]
pub(crate) fn between(what: &str, value: f64, low: f64, high: f64) {
    println!("  {what}: {value:.4} ({low:.4} to {high:.4})");
    assert!(
        (low..=high).contains(&value),
        "{what} is {value:.4}, not within {low:.4} and {high:.4}"
    );
}

/// The middle value; of an even number the upper one.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
