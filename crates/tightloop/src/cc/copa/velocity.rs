//! How fast Copa moves: slowly while it oscillates, ever faster while it climbs.

use super::Variant;
use crate::units::{Span, Time};

/// Round trips in one direction before the velocity doubles. [Copa] §2.1.
const PATIENCE: u32 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

/// The velocity v and what decides it.
#[derive(Clone, Debug)]
pub(super) struct Velocity {
    value: f64,
    direction: Option<Direction>,
    /// Windows in a row that went the way of the one before.
    same: u32,
    /// The window at the last update, in packets. The paper's measure.
    cwnd_then: f64,
    /// The paper's window ends when this packet, or a later one, is acknowledged.
    window_end: u64,
    /// The window under way began with a turn at speed.
    turning: bool,
    /// Steps up less steps down since the last update. The authors' measure.
    steps: i64,
    updated: Time,
}

impl Velocity {
    /// At rest: the next window starts now, with packet `next_number`.
    pub(super) const fn new(now: Time, cwnd: f64, next_number: u64) -> Self {
        Self {
            value: 1.0,
            direction: None,
            same: 0,
            cwnd_then: cwnd,
            window_end: next_number,
            turning: false,
            steps: 0,
            updated: now,
        }
    }

    pub(super) const fn value(&self) -> f64 {
        self.value
    }

    /// Compares once per window and keeps v·(1/δ) within the window, so that it
    /// never does more than double in a round trip.
    pub(super) fn on_acked(&mut self, ack: &Ack, variant: Variant) {
        match variant {
            Variant::Paper if ack.number >= self.window_end => self.by_window(ack),
            Variant::Pantheon if ack.now - self.updated >= ack.rtt => self.by_steps(ack),
            _ => {}
        }
        if self.value > (ack.cwnd * ack.delta).max(1.0) {
            self.value = (self.value / 2.0).max(1.0);
        }
    }

    /// A step of the window is about to be taken.
    pub(super) const fn count(&mut self, up: bool) {
        self.steps += if up { 1 } else { -1 };
    }

    /// The next step goes up or down. Where that turns a movement at speed, the
    /// window starts anew: the speed takes back what was overshot in the round
    /// trip before the turn showed, and no more. A second turn within that
    /// window ends it at once.
    pub(super) fn turn(&mut self, up: bool, cwnd: f64, next_number: u64) {
        let way = Some(if up { Direction::Up } else { Direction::Down });
        if self.value <= 1.0 || (way == self.direction) != self.turning {
            return;
        }
        self.turning = !self.turning;
        if !self.turning {
            self.value = 1.0;
            self.same = 0;
        }
        self.cwnd_then = cwnd;
        self.window_end = next_number;
    }

    fn by_window(&mut self, ack: &Ack) {
        let direction = if ack.cwnd > self.cwnd_then {
            Some(Direction::Up)
        } else if ack.cwnd < self.cwnd_then {
            Some(Direction::Down)
        } else {
            None
        };
        if direction.is_some() && direction == self.direction {
            self.same = self.same.saturating_add(1);
            if self.same >= PATIENCE {
                self.value *= 2.0;
            }
        } else {
            self.value = 1.0;
            self.same = 0;
        }
        self.direction = direction;
        self.turning = false;
        self.cwnd_then = ack.cwnd;
        self.window_end = ack.next_number;
    }

    fn by_steps(&mut self, ack: &Ack) {
        let direction = Some(if self.steps > 0 {
            Direction::Up
        } else {
            Direction::Down
        });
        if direction == self.direction {
            self.value *= 2.0;
        } else {
            self.value = 1.0;
        }
        self.direction = direction;
        self.steps = 0;
        self.updated = ack.now;
    }
}

/// What an update may need to know about the acknowledgement that caused it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ack {
    pub(super) now: Time,
    /// The acknowledged packet.
    pub(super) number: u64,
    /// The next packet to be sent.
    pub(super) next_number: u64,
    /// The latest round-trip time.
    pub(super) rtt: Span,
    pub(super) cwnd: f64,
    pub(super) delta: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The velocity after each of these windows, one round trip apart.
    fn walk(variant: Variant, windows: &[f64]) -> Vec<f64> {
        let mut velocity = Velocity::new(Time::ZERO, 100.0, 0);
        let mut before = 100.0;
        let mut now = Time::ZERO;
        (0..)
            .zip(windows)
            .map(|(number, &cwnd)| {
                now += Span::from_millis(40);
                velocity.count(cwnd > before);
                before = cwnd;
                let ack = Ack {
                    now,
                    number,
                    next_number: number + 1,
                    rtt: Span::from_millis(40),
                    cwnd,
                    delta: 0.1,
                };
                velocity.on_acked(&ack, variant);
                velocity.value()
            })
            .collect()
    }

    const CLIMB: [f64; 7] = [110.0, 120.0, 130.0, 140.0, 150.0, 140.0, 130.0];

    #[test]
    fn the_paper_waits_three_round_trips_before_it_doubles() {
        // Up is known after one window and confirmed by the next three.
        assert_eq!(
            walk(Variant::Paper, &CLIMB),
            [1.0, 1.0, 1.0, 2.0, 4.0, 1.0, 1.0]
        );
    }

    #[test]
    fn the_authors_code_doubles_at_once() {
        assert_eq!(
            walk(Variant::Pantheon, &CLIMB),
            [1.0, 2.0, 4.0, 8.0, 8.0, 1.0, 2.0],
            "16 would exceed 150 packets times 0.1, so it is halved"
        );
    }

    #[test]
    fn a_turn_at_speed_lasts_one_window() {
        let mut velocity = Velocity::new(Time::ZERO, 100.0, 0);
        let window = |velocity: &mut Velocity, number, cwnd| {
            let ack = Ack {
                now: Time::ZERO,
                number,
                next_number: number + 10,
                rtt: Span::from_millis(40),
                cwnd,
                delta: 0.5,
            };
            velocity.on_acked(&ack, Variant::Paper);
            velocity.value()
        };
        let climb = [
            (0, 110.0),
            (10, 120.0),
            (20, 130.0),
            (30, 140.0),
            (40, 180.0),
        ];
        let speeds = climb.map(|(number, cwnd)| window(&mut velocity, number, cwnd));
        assert_eq!(speeds[3..], [2.0, 4.0]);
        // Half-way to packet 50 the way turns: the speed stays until packet 55.
        velocity.turn(true, 220.0, 54);
        velocity.turn(false, 220.0, 55);
        let speeds = [(50, 190.0), (55, 180.0)];
        let speeds = speeds.map(|(number, cwnd)| window(&mut velocity, number, cwnd));
        assert_eq!(speeds[..], [4.0, 1.0]);
        // At rest a turn is nothing to note.
        velocity.turn(true, 180.0, 70);
        assert_eq!(velocity.window_end, 65);
    }

    #[test]
    fn a_window_that_stands_still_has_no_direction() {
        assert_eq!(walk(Variant::Paper, &[90.0; 8]), [1.0; 8]);
    }
}
