//! The comparison as a plain table.

use crate::report::page::Summary;
use crate::table::Table;

const PER_CENT: f64 = 100.0;

/// What stands under the table.
pub(super) const NOTES: &str = "\
latency: from a frame's capture until it is on the screen; a frame never shown takes the time of the next that is.
SSIM, PSNR: luma, every frame time counted, frozen ones against the picture that should have been there; SSIM in dB.
spike: the longest wait at the link over what anyone who wants all of its capacity must wait.";

/// One row per name.
pub(super) fn table(names: impl IntoIterator<Item = String>, rows: &[Summary]) -> Table {
    let mut table = Table::default();
    table.texts("", "", names);
    let mut column = |group, heading, decimals, value: fn(&Summary) -> Option<f64>| {
        table.numbers(group, heading, decimals, rows.iter().map(value));
    };
    column("video", "Mbit/s", 2, |it| it.bitrate);
    column("link", "used %", 0, |it| Some(it.utilisation? * PER_CENT));
    let latency = "frame latency, ms";
    column(latency, "p50", 0, |it| it.latency_p50);
    column(latency, "p95", 0, |it| it.latency_p95);
    column(latency, "p99", 0, |it| it.latency_p99);
    column(latency, "mean", 0, |it| it.latency_mean);
    column("", "fps", 1, |it| it.fps);
    column("shown", "%", 1, |it| Some(it.shown? * PER_CENT));
    column("", "freezes", 0, |it| it.freezes.map(f64::from));
    column("SSIM", "dB", 2, |it| it.ssim_db);
    column("PSNR", "dB", 1, |it| it.psnr);
    column("", "VMAF", 1, |it| it.vmaf);
    column("filler", "%", 0, |it| Some(it.filler? * PER_CENT));
    column("spike", "÷ bound", 1, |it| it.spike);
    table
}
