//! Impairments: packets lost or doubled at random, before the queue.
//!
//! Each flow has its own streams of chance, named after the link and the flow,
//! and its own state of bursty loss: another flow never changes a flow's luck.

use serde::{Deserialize, Serialize};

use crate::event::FlowId;
use crate::rng::Stream;
use crate::settings::SettingError;
use crate::units::index;

/// Loss in bursts, by a chain of a good and a bad state. [GilbertElliott].
///
/// A packet meets the state of its flow, which then may change. The state is
/// good at first. The long-run loss is (`loss_good` · `to_good` + `loss_bad` ·
/// `to_bad`) / (`to_good` + `to_bad`), and the bad state lasts 1 / `to_good`
/// packets on average.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GilbertElliott {
    /// The chance that the good state ends with a packet.
    pub to_bad: f64,
    /// The chance that the bad state ends with a packet.
    pub to_good: f64,
    /// The chance of loss in the good state.
    #[serde(default)]
    pub loss_good: f64,
    /// The chance of loss in the bad state. [GilbertElliott], Gilbert's own: 1.
    #[serde(default = "certain")]
    pub loss_bad: f64,
}

/// Every packet of the bad state is lost.
const fn certain() -> f64 {
    1.0
}

/// What happens to a packet before the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Nothing.
    Passed,
    /// It is lost.
    Lost,
    /// It arrives twice.
    Doubled,
}

/// Loss and duplication of a link.
#[derive(Clone, Debug, Default)]
pub struct Impair {
    loss: f64,
    bursts: Option<GilbertElliott>,
    duplicate: f64,
    seed: u64,
    name: String,
    lanes: Vec<Option<Luck>>,
    active: bool,
}

/// A flow's own streams and state.
#[derive(Clone, Debug)]
struct Luck {
    loss: Stream,
    duplicate: Stream,
    bad: bool,
}

impl Impair {
    /// Nothing is lost or doubled.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Losses with chance `loss`, and in `bursts`; of what is left, `duplicate`
    /// arrives twice.
    ///
    /// # Errors
    ///
    /// Chances that are not between 0 and 1, and states that never end.
    pub fn new(
        loss: f64,
        bursts: Option<GilbertElliott>,
        duplicate: f64,
        seed: u64,
        link: &str,
    ) -> Result<Self, SettingError> {
        let mut chances = vec![("loss", loss), ("duplicate", duplicate)];
        if let Some(bursts) = bursts {
            chances.extend([
                ("gilbert_elliott: to_bad", bursts.to_bad),
                ("gilbert_elliott: to_good", bursts.to_good),
                ("gilbert_elliott: loss_good", bursts.loss_good),
                ("gilbert_elliott: loss_bad", bursts.loss_bad),
            ]);
            SettingError::unless(bursts.to_good > 0.0, || {
                "gilbert_elliott: with to_good = 0 the bad state never ends; 1 / to_good is its \
                 mean length in packets"
                    .into()
            })?;
        }
        for (name, chance) in chances {
            SettingError::unless((0.0..=1.0).contains(&chance), || {
                format!("{name} = {chance} is no chance; use a number from 0 to 1, 0.01 for 1 %")
            })?;
        }
        Ok(Self {
            loss,
            bursts,
            duplicate,
            seed,
            name: link.to_owned(),
            lanes: Vec::new(),
            active: loss > 0.0 || bursts.is_some() || duplicate > 0.0,
        })
    }

    /// Whether anything can happen at all.
    pub(super) const fn active(&self) -> bool {
        self.active
    }

    /// What happens to the next packet of a flow.
    pub(super) fn fate(&mut self, flow: FlowId) -> Fate {
        let place = index(flow.0.into());
        if self.lanes.len() <= place {
            self.lanes.resize(place + 1, None);
        }
        let (seed, link) = (self.seed, &self.name);
        let luck = self.lanes[place].get_or_insert_with(|| {
            let named = |what| Stream::named(seed, &format!("link.{link}.flow.{}.{what}", flow.0));
            Luck {
                loss: named("loss"),
                duplicate: named("duplicate"),
                bad: false,
            }
        });
        let mut lost = luck.loss.chance(self.loss);
        if let Some(bursts) = &self.bursts {
            let (loss, change) = if luck.bad {
                (bursts.loss_bad, bursts.to_good)
            } else {
                (bursts.loss_good, bursts.to_bad)
            };
            lost |= luck.loss.chance(loss);
            luck.bad ^= luck.loss.chance(change);
        }
        if lost {
            Fate::Lost
        } else if luck.duplicate.chance(self.duplicate) {
            Fate::Doubled
        } else {
            Fate::Passed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: u32 = 400_000;

    fn fates(mut impair: Impair) -> Vec<Fate> {
        (0..N).map(|_| impair.fate(FlowId(0))).collect()
    }

    fn share(fates: &[Fate], of: Fate) -> f64 {
        let times: u32 = fates.iter().map(|fate| u32::from(*fate == of)).sum();
        f64::from(times) / f64::from(N)
    }

    #[test]
    fn loss_and_duplication_happen_as_often_as_they_should() {
        let fates = fates(Impair::new(0.02, None, 0.1, 1, "x").expect("chances"));
        let lost = share(&fates, Fate::Lost);
        assert!((lost - 0.02).abs() < 0.001, "{lost}");
        let doubled = share(&fates, Fate::Doubled);
        assert!((doubled - 0.98 * 0.1).abs() < 0.002, "{doubled}");
    }

    #[test]
    fn gilbert_elliott_has_its_long_run_loss_and_burst_length() {
        let bursts = GilbertElliott {
            to_bad: 0.01,
            to_good: 0.25,
            loss_good: 0.0,
            loss_bad: 1.0,
        };
        let fates = fates(Impair::new(0.0, Some(bursts), 0.0, 5, "x").expect("chances"));
        let lost = share(&fates, Fate::Lost);
        let expected = 0.01 / (0.01 + 0.25);
        assert!((lost / expected - 1.0).abs() < 0.05, "{lost}");
        let begins = |pair: &&[Fate]| pair[0] != Fate::Lost && pair[1] == Fate::Lost;
        let bursts: u32 = fates.windows(2).filter(begins).map(|_| 1).sum();
        let length = lost * f64::from(N) / f64::from(bursts);
        assert!((length - 4.0).abs() < 0.15, "{length}");
    }

    #[test]
    fn both_states_lose_with_their_own_chance() {
        let bursts = GilbertElliott {
            to_bad: 0.02,
            to_good: 0.08,
            loss_good: 0.01,
            loss_bad: 0.4,
        };
        let fates = fates(Impair::new(0.0, Some(bursts), 0.0, 9, "x").expect("chances"));
        let lost = share(&fates, Fate::Lost);
        let expected = (0.01 * 0.08 + 0.4 * 0.02) / 0.1;
        assert!((lost / expected - 1.0).abs() < 0.05, "{lost}");
    }

    #[test]
    fn a_flow_has_the_same_luck_whoever_else_sends() {
        let impair = || Impair::new(0.3, None, 0.3, 1, "shared").expect("chances");
        let (mut alone, mut shared) = (impair(), impair());
        for _ in 0..1_000 {
            let _ = shared.fate(FlowId(7));
            assert_eq!(alone.fate(FlowId(2)), shared.fate(FlowId(2)));
        }
    }

    #[test]
    fn wrong_chances_are_refused_with_a_reason() {
        let bursts = |to_bad, to_good| GilbertElliott {
            to_bad,
            to_good,
            loss_good: 0.0,
            loss_bad: 1.0,
        };
        for (loss, bursts, duplicate, reason) in [
            (1.5, None, 0.0, "loss = 1.5"),
            (f64::NAN, None, 0.0, "loss = NaN"),
            (0.0, None, -0.1, "duplicate"),
            (0.0, Some(bursts(0.1, 0.0)), 0.0, "never ends"),
            (0.0, Some(bursts(2.0, 0.5)), 0.0, "to_bad = 2"),
        ] {
            let error = Impair::new(loss, bursts, duplicate, 1, "x").expect_err(reason);
            assert!(error.to_string().contains(reason), "{error}");
        }
    }
}
