//! What was inside a sender, as curves in a reader's units.

use tightloop::analysis::{Curve, Unit};

use super::page::{Gauge, Series};

/// The curves of the session itself: key, group, name.
const KNOWN: [(&str, &str, &str); 6] = [
    ("window", "Window and bytes in flight", "window"),
    ("in_flight", "Window and bytes in flight", "in flight"),
    ("pacing", "Pacing and floor", "pacing"),
    ("floor", "Pacing and floor", "floor"),
    ("rtt.mean", "Round-trip time", "mean RTT"),
    ("rtt.p95", "Round-trip time", "p95 RTT"),
];

/// The gauges among the curves of one path, whose keys begin with `prefix`.
pub(super) fn gauges(curves: &[Curve], prefix: &str) -> Vec<Gauge> {
    let of = |key: &str| {
        let key = format!("{prefix}.{key}");
        curves.iter().find(move |curve| curve.key == key)
    };
    let known = KNOWN.iter().filter_map(|(key, group, name)| {
        let curve = of(key)?;
        let (unit, scale) = reader(curve.unit);
        Some(gauge(group, name, unit, scale, curve))
    });
    let own = format!("{prefix}.gauge.");
    let own = curves.iter().filter_map(|curve| {
        let name = curve.key.strip_prefix(&own)?;
        let (name, unit, scale) = own_unit(name);
        Some(gauge(name, name, unit, scale, curve))
    });
    known.chain(own).collect()
}

/// A unit for readers, and how many of it are one of the curve's.
fn reader(unit: Unit) -> (&'static str, f64) {
    match unit {
        Unit::Rate => ("Mbit/s", 1e-6),
        Unit::Span => ("ms", 1e3),
        Unit::Bytes => ("kB", 1e-3),
        Unit::Count | Unit::Number => ("", 1.0),
        Unit::Frames => ("fps", 1.0),
    }
}

/// A controller's own quantity: its unit is the end of its name.
fn own_unit(name: &str) -> (&str, &'static str, f64) {
    for (end, unit) in [
        ("_bps", Unit::Rate),
        ("_s", Unit::Span),
        ("_bytes", Unit::Bytes),
    ] {
        if let Some(name) = name.strip_suffix(end) {
            let (unit, scale) = reader(unit);
            return (name, unit, scale);
        }
    }
    (name, "", 1.0)
}

fn gauge(group: &str, name: &str, unit: &str, scale: f64, curve: &Curve) -> Gauge {
    Gauge {
        group: group.to_owned(),
        name: name.to_owned(),
        unit: unit.to_owned(),
        series: held(curve, scale),
    }
}

/// A curve whose values hold from the start of their bins: only where it changes.
pub(super) fn held(curve: &Curve, scale: f64) -> Series {
    let bin = curve.bin.secs_f64();
    let mut last = None;
    let points = curve.values.iter().enumerate();
    let changed = points.filter(|(_, value)| last.replace(**value) != Some(**value));
    let point = |(place, value): (usize, &Option<f64>)| {
        (place as f64 * bin, value.map(|value| value * scale))
    };
    changed.map(point).collect()
}

/// A curve whose values stand for the middle of their bins.
pub(super) fn middle(curve: &Curve, scale: f64) -> Series {
    let bin = curve.bin.secs_f64();
    let point = |(place, value): (usize, &Option<f64>)| {
        let at = (place as f64 + 0.5) * bin;
        (at, value.map(|value| value * scale))
    };
    curve.values.iter().enumerate().map(point).collect()
}
