//! A stretch of congestion avoidance: the cubic curve, and Reno's line beside it.

use crate::units::Span;

/// The most one acknowledged packet adds, in packets. [RFC9438] §4.2.
const MAX_STEP: f64 = 0.5;

/// The curve since one reduction. Windows are in packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Epoch {
    c: f64,
    /// t.
    pub(super) elapsed: Span,
    /// Where the plateau is.
    origin: f64,
    /// K in seconds.
    k: f64,
    /// W_est, the window Reno would have.
    reno: f64,
}

impl Epoch {
    /// Starts at `cwnd`, towards the plateau at `w_max`. Without one to return
    /// to, the start is the plateau. [RFC9438] §4.8, §4.10.
    pub(super) fn new(cwnd: f64, w_max: Option<f64>, c: f64) -> Self {
        let origin = w_max.unwrap_or(cwnd).max(cwnd);
        Self {
            c,
            elapsed: Span::ZERO,
            origin,
            k: libm::cbrt((origin - cwnd) / c),
            reno: cwnd,
        }
    }

    /// W_est.
    pub(super) const fn reno(&self) -> f64 {
        self.reno
    }

    /// The window after so many packets more were acknowledged, the next ones a
    /// round trip `ahead`. [RFC9438] §4.2 to §4.5.
    pub(super) fn grow(&mut self, cwnd: f64, packets: f64, alpha: f64, ahead: Span) -> f64 {
        self.reno += alpha * packets / cwnd;
        let t = self.elapsed.secs_f64();
        if self.at(t) < self.reno {
            // Reno's line is a floor: it never lowers the window.
            return self.reno.max(cwnd);
        }
        let target = self.at(t + ahead.secs_f64());
        cwnd + ((target - cwnd) / cwnd).clamp(0.0, MAX_STEP) * packets
    }

    /// W(t).
    fn at(&self, t: f64) -> f64 {
        let t = t - self.k;
        self.c * t * t * t + self.origin
    }

    pub(super) fn inspect(&self, gauge: &mut dyn FnMut(&'static str, f64)) {
        gauge("w_max", self.origin);
        gauge("k_s", self.k);
        gauge("w_est", self.reno);
    }
}
