//! Kernel TCP beside a call, over the same link.

use anyhow::{Result, bail};
use tightloop::units::{Bytes, Rate, Time};
use tightloop_live::clock::Clock;
use tightloop_live::emulate::{Ends, Way};
use tightloop_live::tcp::{self, Bulk};

use crate::out;

/// What was asked for, before it runs.
#[derive(Debug)]
pub(super) struct Planned(Vec<tcp::Settings>);

/// The flows while they run.
#[derive(Debug)]
pub(super) struct Beside {
    flows: Vec<(String, Bulk)>,
    clock: Clock,
    begun: Time,
}

impl Planned {
    /// Reads `tcp:cubic`, and fails where the kernel has no such controller.
    pub(super) fn of(words: &[String]) -> Result<Self> {
        let mut planned = Vec::new();
        for word in words {
            let Some(name) = word.strip_prefix("tcp:") else {
                bail!(
                    "--with {word}: write tcp: and a controller of the kernel's, as in tcp:cubic"
                );
            };
            tcp::check(name)?;
            planned.push(tcp::Settings::under(name));
        }
        Ok(Self(planned))
    }

    /// Starts them, up the link as the call goes.
    pub(super) fn start(&self, ends: &Ends, clock: Clock) -> Result<Beside> {
        let begun = clock.now();
        let flows = self.0.iter().map(|settings| {
            let flow = Bulk::start(ends, Way::Up, settings, clock)?;
            Ok((settings.congestion.clone(), flow))
        });
        Ok(Beside {
            flows: flows.collect::<Result<_>>()?,
            clock,
            begun,
        })
    }
}

impl Beside {
    /// Ends them; a line for each.
    pub(super) fn stop(self) -> Vec<String> {
        let lasted = self.clock.now() - self.begun;
        let lines = self.flows.into_iter().map(|(name, flow)| {
            let carried = match flow.stop() {
                Ok(carried) => carried,
                Err(error) => return format!("tcp:{name}: {error}"),
            };
            let rate = |bytes: Bytes| bytes.per(lasted).unwrap_or(Rate::ZERO);
            let last = carried.samples.last().map(|it| it.info);
            let (again, least) = last.map_or((0, None), |it| (it.retransmits, it.min_rtt));
            format!(
                "tcp:{name}: {} of payload, {again} segments sent again, round trips of {} at least",
                out::rate(rate(carried.bytes)),
                least.map_or("unknown length".into(), out::span)
            )
        });
        lines.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_tcp_is_refused_with_an_example() {
        for (word, told) in [("cubic", "as in tcp:cubic"), ("tcp:no_such_cc", "modprobe")] {
            let error = Planned::of(&[word.to_owned()]).expect_err(word);
            assert!(error.to_string().contains(told), "{error}");
        }
        assert!(Planned::of(&[]).is_ok_and(|it| it.0.is_empty()));
    }
}
