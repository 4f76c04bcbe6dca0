//! Round numbers for the marks of an axis.

/// Round values from zero to `highest`, at most about `count`.
pub(crate) fn linear_ticks(highest: f64, count: f64) -> Vec<f64> {
    let rough = highest / count;
    let power = 10_f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|m| m * power >= rough);
    let step = factor.unwrap_or(10.0) * power;
    (0..=(highest / step) as u32)
        .map(|n| (f64::from(n) * step * 1e6).round() / 1e6)
        .collect()
}

/// 1, 2 and 5 of each decade, or 1 alone where there are many.
pub(crate) fn log_ticks(lowest: f64, highest: f64) -> Vec<f64> {
    let factors: &[f64] = if highest / lowest > 1e3 {
        &[1.0]
    } else {
        &[1.0, 2.0, 5.0]
    };
    let decades = lowest.log10().floor() as i32..=highest.log10() as i32;
    decades
        .flat_map(|decade| factors.iter().map(move |m| m * 10_f64.powi(decade)))
        .filter(|tick| (lowest..=highest).contains(tick))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers_within_the_axis() {
        assert_eq!(linear_ticks(21.2, 5.0), [0.0, 5.0, 10.0, 15.0, 20.0]);
        assert_eq!(linear_ticks(0.7, 5.0), [0.0, 0.2, 0.4, 0.6]);
        assert_eq!(log_ticks(18.0, 450.0), [20.0, 50.0, 100.0, 200.0]);
        assert_eq!(log_ticks(0.9, 2_000.0), [1.0, 10.0, 100.0, 1_000.0]);
    }
}
