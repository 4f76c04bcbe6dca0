//! What a way of the link could carry, at any time of the run.

use std::sync::Arc;

use tightloop::link::{Settings, Trace};
use tightloop::units::{Rate, Span, Time};
use tightloop_live::emulate::Way;

use super::links::Plan;

/// Where one link's capacity comes from.
#[derive(Debug)]
enum Course {
    Fixed(Rate),
    Steps(Vec<(Time, Rate)>, Option<Span>),
    Trace(Arc<Trace>, bool),
}

/// The capacity of a row of links: that of the least. Links without a limit
/// are not in it.
#[derive(Debug, Default)]
pub(super) struct Capacity(Vec<Course>);

impl Capacity {
    /// Of one way of a plan.
    pub(super) fn of(plan: &Plan, way: Way) -> Self {
        let links = plan.ways[way.place()].iter();
        Self(links.filter_map(|it| course(plan, &it.settings)).collect())
    }

    /// The mean of a trace after `from` and up to `until`, or a schedule's rate
    /// at `until`; `None` without any limit.
    pub(super) fn between(&self, from: Time, until: Time) -> Option<Rate> {
        let each = self.0.iter().map(|course| match course {
            Course::Fixed(rate) => *rate,
            Course::Steps(steps, repeat) => step(steps, *repeat, until),
            Course::Trace(trace, once) => {
                let end = Time::ZERO + trace.period();
                if *once && until > end {
                    return Rate::ZERO;
                }
                trace.rate_between(from, until)
            }
        });
        each.min()
    }
}

fn course(plan: &Plan, settings: &Settings) -> Option<Course> {
    if let Some(rate) = settings.rate.or(settings.poisson) {
        return Some(Course::Fixed(rate));
    }
    if let Some(steps) = &settings.steps {
        return Some(Course::Steps(steps.to_vec(), settings.repeat));
    }
    let trace = plan.trace(settings.trace.as_deref()?)?;
    Some(Course::Trace(trace, settings.once))
}

fn step(steps: &[(Time, Rate)], repeat: Option<Span>, at: Time) -> Rate {
    let mut at = at.as_nanos();
    if let Some(length) = repeat.and_then(|it| u64::try_from(it.as_nanos()).ok())
        && length > 0
    {
        at %= length;
    }
    let begun = steps.iter().take_while(|(from, _)| from.as_nanos() <= at);
    begun.last().map_or(Rate::ZERO, |(_, rate)| *rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    fn between(course: Course, from: u64, until: u64) -> Option<Rate> {
        Capacity(vec![course]).between(at(from), at(until))
    }

    #[test]
    fn a_row_of_links_carries_what_the_least_does() {
        let [slow, fast] = [1, 9].map(Rate::from_mbps);
        let row = Capacity(vec![Course::Fixed(fast), Course::Fixed(slow)]);
        assert_eq!(row.between(at(0), at(1)), Some(slow));
        assert_eq!(Capacity::default().between(at(0), at(1)), None);
    }

    #[test]
    fn a_schedule_begins_again() {
        let [slow, fast] = [1, 9].map(Rate::from_mbps);
        for (repeat, millis, rate) in [
            (None, 500, fast),
            (None, 2_500, slow),
            (Some(Span::from_secs(2)), 2_500, fast),
            (Some(Span::from_secs(2)), 3_000, slow),
        ] {
            let steps = vec![(Time::ZERO, fast), (at(1_000), slow)];
            let found = between(Course::Steps(steps, repeat), 0, millis);
            assert_eq!(found, Some(rate), "{repeat:?} {millis}");
        }
    }

    #[test]
    fn a_trace_played_once_has_an_end() {
        let stamps = (1..=1_000).map(at).collect();
        let trace = Arc::new(Trace::new(stamps).expect("a trace"));
        let full = Some(Rate::from_mbps(12));
        for (once, from, until, rate) in [
            (true, 0, 1_000, full),
            (false, 1_000, 2_000, full),
            (true, 1_000, 2_000, Some(Rate::ZERO)),
        ] {
            let found = between(Course::Trace(Arc::clone(&trace), once), from, until);
            assert_eq!(found, rate, "{once} {from}");
        }
    }
}
