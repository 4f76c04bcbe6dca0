//! An experiment of a paper: what it runs, and what it finds.

use anyhow::Result;
use tightloop::analysis::percentile;

use super::bench::Bench;
use crate::report::chart::Chart;

/// One figure of a paper. To add one, write a file with such a constant and list
/// it in the paper's registry.
pub(crate) struct Experiment {
    /// `sqp/fig5b`: paper, figure.
    pub(crate) name: &'static str,
    /// Where it is from: a key of REFERENCES.md and the figure's number.
    pub(crate) source: &'static str,
    /// What the figure shows.
    pub(crate) shows: &'static str,
    /// About how many seconds of one processor it takes with five seeds.
    pub(crate) seconds: u32,
    pub(crate) run: fn(&Bench) -> Result<Findings>,
}

/// What came of an experiment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Findings {
    pub(crate) measures: Vec<Measure>,
    pub(crate) charts: Vec<Chart>,
    /// What a reader should know: choices, what was left out, why a band was missed.
    pub(crate) notes: Vec<String>,
}

/// A quantity that the paper makes a claim of.
#[derive(Clone, Debug)]
pub(crate) struct Measure {
    pub(crate) name: String,
    pub(crate) unit: &'static str,
    /// Within which the median should lie, ends included.
    pub(crate) band: [f64; 2],
    /// One for each seed, in ascending order.
    values: Vec<f64>,
}

impl Findings {
    /// Adds a measure with a value for each seed.
    pub(crate) fn measure(
        &mut self,
        name: impl Into<String>,
        unit: &'static str,
        band: [f64; 2],
        mut values: Vec<f64>,
    ) {
        values.sort_unstable_by(f64::total_cmp);
        self.measures.push(Measure {
            name: name.into(),
            unit,
            band,
            values,
        });
    }

    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Whether every band is held.
    pub(crate) fn held(&self) -> bool {
        self.measures.iter().all(Measure::held)
    }
}

impl Measure {
    /// The middle of all seeds; not a number where one measured nothing.
    pub(crate) fn median(&self) -> f64 {
        let all = self.values.iter().all(|value| value.is_finite());
        let median = percentile(&self.values, 0.5);
        median.filter(|_| all).unwrap_or(f64::NAN)
    }

    /// The least and the most of all seeds.
    pub(crate) fn spread(&self) -> [f64; 2] {
        let ends = self.values.first().zip(self.values.last());
        ends.map_or([f64::NAN; 2], |(low, high)| [*low, *high])
    }

    pub(crate) fn held(&self) -> bool {
        (self.band[0]..=self.band[1]).contains(&self.median())
    }

    pub(crate) fn verdict(&self) -> &'static str {
        if self.held() { "held" } else { "MISSED" }
    }
}

/// A number with four digits that matter, without zeros at the end.
pub(crate) fn short(value: f64) -> String {
    if !value.is_finite() {
        return "–".into();
    }
    let whole = value.abs().max(1e-9).log10().floor() as i32 + 1;
    let decimals = usize::try_from(4 - whole.max(1)).unwrap_or(0);
    let text = format!("{value:.decimals$}");
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure(band: [f64; 2], values: &[f64]) -> Measure {
        let mut findings = Findings::default();
        findings.measure("m", "", band, values.to_vec());
        findings.measures.remove(0)
    }

    #[test]
    fn the_median_must_lie_in_the_band_and_the_spread_need_not() {
        let held = measure([1.0, 2.0], &[9.0, 1.5, 0.1]);
        assert_eq!((held.median(), held.spread()), (1.5, [0.1, 9.0]));
        assert_eq!(held.verdict(), "held");
        for (band, values) in [
            ([1.0, 2.0], &[2.1, 2.2, 0.1][..]),
            ([1.0, 2.0], &[0.9]),
            ([1.0, 2.0], &[1.5, 1.5, f64::NAN]),
            ([1.0, 2.0], &[]),
        ] {
            assert_eq!(measure(band, values).verdict(), "MISSED", "{values:?}");
        }
    }

    #[test]
    fn numbers_have_four_digits() {
        let all = [0.0, 0.98765, 17.996, 123.456, 12_345.6, -0.5, f64::NAN];
        let texts = ["0", "0.988", "18", "123.5", "12346", "-0.5", "–"];
        assert_eq!(all.map(short), texts.map(str::to_owned));
    }
}
