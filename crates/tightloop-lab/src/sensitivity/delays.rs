//! Sets of delay instances, as they are typed.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use tightloop::rng::Stream;
use tightloop::units::Span;

/// More instances than anybody waits for. Ours.
const MOST: usize = 1 << 20;

/// One round trip for each flow.
pub(crate) type Instance = Vec<Span>;

/// Delay instances.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Delays {
    /// Each flow's values, in all combinations.
    Grid(Vec<Vec<Span>>),
    /// One after the other.
    List(Vec<Instance>),
}

/// What a set is made for.
#[derive(Debug)]
pub(crate) struct Flows<'a> {
    pub(crate) names: &'a [String],
    /// Round trips that stay.
    pub(crate) fixed: BTreeMap<usize, Span>,
    pub(crate) seed: u64,
}

impl<'a> Flows<'a> {
    /// The flows, and which of their round trips stay.
    pub(crate) fn new(names: &'a [String], fix: &[String], seed: u64) -> Result<Self> {
        let mut flows = Self {
            names,
            fixed: BTreeMap::new(),
            seed,
        };
        for text in fix {
            let wrong = || format!("--fix {text}: write a flow and its round trip in ms: bbr=5");
            let (flow, value) = text.split_once('=').with_context(wrong)?;
            let flow = flows.find(flow)?;
            flows.fixed.insert(flow, millis(value).with_context(wrong)?);
        }
        Ok(flows)
    }

    fn find(&self, flow: &str) -> Result<usize> {
        let place = self.names.iter().position(|name| name == flow);
        let place = place.or_else(|| flow.parse().ok().filter(|at| *at < self.names.len()));
        place.with_context(|| {
            format!(
                "there is no flow `{flow}`; there are {}",
                self.names.join(", ")
            )
        })
    }

    /// The same for all but those that stay.
    fn all(&self, value: Span) -> Instance {
        let of = |flow| self.fixed.get(&flow).copied().unwrap_or(value);
        (0..self.names.len()).map(of).collect()
    }
}

impl Delays {
    /// Understands a set.
    pub(crate) fn parse(text: &str, flows: &Flows<'_>) -> Result<Self> {
        let wrong = || {
            format!(
                "--delays {text}: write grid:10,20,30, single:0:10..100/5, symmetric:10..50/5, \
                 sample:64:10..100 or list:12,37;37,12, all in ms"
            )
        };
        let (kind, rest) = text.split_once(':').with_context(wrong)?;
        let set = match kind {
            "grid" => {
                let values = values(rest).with_context(wrong)?;
                let of = |flow| {
                    flows
                        .fixed
                        .get(&flow)
                        .map_or_else(|| values.clone(), |it| vec![*it])
                };
                Self::Grid((0..flows.names.len()).map(of).collect())
            }
            "single" => {
                let (flow, rest) = rest.split_once(':').with_context(wrong)?;
                let flow = flows.find(flow)?;
                let values = values(rest).with_context(wrong)?;
                let others = flows.all(values[0]);
                let mut sides: Vec<_> = others.into_iter().map(|it| vec![it]).collect();
                sides[flow] = values;
                Self::Grid(sides)
            }
            "symmetric" => {
                let values = values(rest).with_context(wrong)?;
                Self::List(values.into_iter().map(|value| flows.all(value)).collect())
            }
            "sample" => sample(rest, flows).with_context(wrong)?,
            "list" => Self::List(list(rest, flows).with_context(wrong)?),
            _ => bail!(wrong()),
        };
        let size = set.size();
        ensure!(
            size <= MOST,
            "--delays {text}: these are {size} instances; take larger steps"
        );
        Ok(set)
    }

    /// How many instances there are.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Grid(sides) => sides.iter().map(Vec::len).fold(1, usize::saturating_mul),
            Self::List(instances) => instances.len(),
        }
    }
}

/// The instance of a grid at a place.
pub(crate) fn at(sides: &[Vec<Span>], place: &[usize]) -> Instance {
    sides
        .iter()
        .zip(place)
        .map(|(side, at)| side[*at])
        .collect()
}

fn millis(text: &str) -> Result<Span> {
    let text = text.trim();
    let span = format!("{text} ms").parse::<Span>();
    let span = span.with_context(|| format!("`{text}` is no number of ms"))?;
    ensure!(span >= Span::ZERO, "{text} ms is negative");
    Ok(span)
}

/// `10,20,30` or `10..100/5`, the end included where a step meets it.
fn values(text: &str) -> Result<Vec<Span>> {
    let Some((from, rest)) = text.split_once("..") else {
        return text.split(',').map(millis).collect();
    };
    let (to, step) = rest
        .split_once('/')
        .with_context(|| format!("{text} needs a step: {text}/5"))?;
    let (from, to, step) = (millis(from)?, millis(to)?, millis(step)?);
    ensure!(step.is_positive() && from <= to, "{text} goes nowhere");
    let mut values = Vec::new();
    let mut value = from;
    while value <= to && values.len() <= MOST {
        values.push(value);
        value += step;
    }
    Ok(values)
}

fn sample(text: &str, flows: &Flows<'_>) -> Result<Delays> {
    let (number, range) = text.split_once(':').context("how many?")?;
    let number: usize = number.parse().context("how many?")?;
    let (from, to) = range.split_once("..").context("between which?")?;
    let (from, to) = (millis(from)?, millis(to)?);
    ensure!(number > 0 && from <= to, "{text} is empty");
    let number = number.min(MOST + 1);
    let mut rng = Stream::named(flows.seed, "sensitivity.delays");
    let milli = Span::from_millis(1);
    let mut draw = || {
        let drawn = rng.span_between(from, to);
        milli * drawn.ratio(milli).round()
    };
    let instance = |_| {
        let drawn: Instance = flows.names.iter().map(|_| draw()).collect();
        let kept = drawn.into_iter().enumerate();
        kept.map(|(flow, drawn)| flows.fixed.get(&flow).copied().unwrap_or(drawn))
            .collect()
    };
    Ok(Delays::List((0..number).map(instance).collect()))
}

fn list(text: &str, flows: &Flows<'_>) -> Result<Vec<Instance>> {
    let instances = text.split(';').map(|instance| {
        let values: Instance = instance.split(',').map(millis).collect::<Result<_>>()?;
        ensure!(
            values.len() == flows.names.len(),
            "{instance} has {} values for {} flows",
            values.len(),
            flows.names.len()
        );
        let kept = values.into_iter().enumerate();
        Ok(kept
            .map(|(flow, value)| flows.fixed.get(&flow).copied().unwrap_or(value))
            .collect())
    });
    instances.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, fix: &[&str]) -> Result<Delays> {
        let names = ["first", "second", "bbr"].map(str::to_owned);
        let fix: Vec<String> = fix.iter().map(|it| (*it).to_owned()).collect();
        Delays::parse(text, &Flows::new(&names, &fix, 7)?)
    }

    fn ms(all: &[i64]) -> Vec<Span> {
        all.iter().copied().map(Span::from_millis).collect()
    }

    #[test]
    fn each_kind_of_set_is_understood() {
        for (text, fix, expected) in [
            (
                "grid:20,80",
                &["bbr=5"][..],
                Delays::Grid(vec![ms(&[20, 80]), ms(&[20, 80]), ms(&[5])]),
            ),
            (
                "grid:6..12/3",
                &["0=1", "1=2"],
                Delays::Grid(vec![ms(&[1]), ms(&[2]), ms(&[6, 9, 12])]),
            ),
            (
                "single:second:10..25/10",
                &[],
                Delays::Grid(vec![ms(&[10]), ms(&[10, 20]), ms(&[10])]),
            ),
            (
                "symmetric:10,50",
                &["2=5"],
                Delays::List(vec![ms(&[10, 10, 5]), ms(&[50, 50, 5])]),
            ),
            (
                "list:1,2,3;4,5,6",
                &[],
                Delays::List(vec![ms(&[1, 2, 3]), ms(&[4, 5, 6])]),
            ),
        ] {
            assert_eq!(parse(text, fix).expect(text), expected, "{text}");
        }
    }

    #[test]
    fn a_sample_is_the_same_for_the_same_seed_and_within_its_range() {
        let Ok(Delays::List(instances)) = parse("sample:50:10..30", &["bbr=5"]) else {
            panic!("a list");
        };
        assert_eq!(instances.len(), 50);
        for instance in &instances {
            assert_eq!(instance[2], Span::from_millis(5));
            for value in &instance[..2] {
                assert!((Span::from_millis(10)..=Span::from_millis(30)).contains(value));
                assert_eq!(value.as_nanos() % Span::from_millis(1).as_nanos(), 0);
            }
        }
        let again = parse("sample:50:10..30", &["bbr=5"]).expect("a list");
        assert_eq!(again, Delays::List(instances));
    }

    #[test]
    fn what_is_wrong_is_told_with_what_would_do() {
        for (text, fix, reason) in [
            ("10,20", &[][..], "write grid:10,20,30"),
            ("cube:10", &[], "write grid:10,20,30"),
            ("grid:ten", &[], "`ten` is no number of ms"),
            ("grid:-1", &[], "negative"),
            ("grid:10..20", &[], "needs a step"),
            ("grid:20..10/5", &[], "goes nowhere"),
            ("grid:1..1000/1", &[], "take larger steps"),
            ("single:third:10,20", &[], "there are first, second, bbr"),
            ("sample:0:10..20", &[], "is empty"),
            ("list:1,2", &[], "2 values for 3 flows"),
            ("grid:10,20", &["bbr"], "bbr=5"),
            ("grid:10,20", &["3=5"], "there is no flow `3`"),
        ] {
            let error = format!("{:#}", parse(text, fix).expect_err(text));
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
