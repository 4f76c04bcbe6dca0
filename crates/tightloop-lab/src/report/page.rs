//! The report page: one HTML file that opens anywhere, without a network.
//!
//! What is drawn is written into the page as JSON and drawn by the script
//! beside this file. The header and the tables are plain HTML, so they can be
//! read, copied and printed without the script.
//!
//! Units are the reader's: seconds, milliseconds, Mbit/s, kB. A value that is
//! missing or not finite becomes a gap in a line and a dash in a table.

mod markup;
mod spikes;
mod summary;

use serde::{Serialize, Serializer};
use tightloop::analysis::SpikeReport;

pub(crate) use markup::{CSS, escape, styles};
pub(crate) use summary::Summary;

/// All that a report shows.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Page {
    /// The headline.
    #[serde(skip)]
    pub(crate) title: String,
    /// One line under the headline; may be empty.
    #[serde(skip)]
    pub(crate) subtitle: String,
    /// Name and version of the program.
    #[serde(skip)]
    pub(crate) version: String,
    /// Width of the bins of all binned series, in seconds.
    #[serde(serialize_with = "short")]
    pub(crate) bin: f64,
    /// What to choose and why, in a sentence, and how that was found.
    #[serde(skip)]
    pub(crate) verdict: Option<(String, String)>,
    /// Pictures: what should have been seen beside what was.
    #[serde(skip)]
    pub(crate) stills: Vec<Still>,
    /// The runs to lay over each other.
    pub(crate) runs: Vec<Run>,
    /// Each metric's name and definition, for the end of the page.
    #[serde(skip)]
    pub(crate) definitions: Vec<(String, String)>,
}

/// Two pictures side by side.
#[derive(Clone, Debug, Default)]
pub(crate) struct Still {
    /// The run's name.
    pub(crate) name: String,
    /// What it is of.
    pub(crate) caption: String,
    /// The PNG file.
    pub(crate) png: Vec<u8>,
}

/// One run of one scenario.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Run {
    /// What to call it in legends: short, and unique in the report.
    pub(crate) name: String,
    /// The scenario's name or file.
    #[serde(skip)]
    pub(crate) scenario: String,
    /// The seed.
    #[serde(skip)]
    pub(crate) seed: u64,
    /// How long it ran, in seconds.
    #[serde(serialize_with = "short")]
    pub(crate) duration: f64,
    /// What was found, in one sentence.
    #[serde(skip)]
    pub(crate) finding: Option<String>,
    /// The command line that repeats it.
    #[serde(skip)]
    pub(crate) command: String,
    /// The bottleneck's rate in Mbit/s, each value from its time on; empty if
    /// there is no such link.
    pub(crate) capacity: Series,
    /// Its flows.
    pub(crate) flows: Vec<Flow>,
    /// Its links.
    pub(crate) links: Vec<Link>,
}

/// One flow of a run. Whatever it does not have stays empty.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Flow {
    /// What to call it, unique in its run.
    pub(crate) name: String,
    /// It is one path of the flow before it, not a flow of its own.
    #[serde(skip)]
    pub(crate) part: bool,
    /// Its controller's name.
    pub(crate) controller: String,
    /// Its row of the summary table.
    pub(crate) summary: Summary,
    /// Sending rate in Mbit/s, at the middle of each bin.
    pub(crate) sent: Series,
    /// Receiving rate in Mbit/s, at the middle of each bin.
    pub(crate) received: Series,
    /// What the video should use in Mbit/s, each value from its time on.
    pub(crate) target: Series,
    /// One-way delay of packets in ms, at the middle of each bin.
    pub(crate) delay: Band,
    /// Waiting time of packets in ms, at the middle of each bin.
    pub(crate) queueing: Band,
    /// Its video frames; empty for a flow without video.
    pub(crate) frames: Frames,
    /// Window, bytes in flight, pacing, and the controller's own quantities.
    pub(crate) gauges: Vec<Gauge>,
}

/// A value over time: `v[i]` at `t[i]` seconds. Times do not go back.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Series {
    /// Times in seconds.
    #[serde(serialize_with = "times")]
    pub(crate) t: Vec<f64>,
    /// Values; NaN is a gap.
    #[serde(serialize_with = "values")]
    pub(crate) v: Vec<f64>,
}

/// Mean and 95th percentile of many values per bin.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Band {
    /// Times in seconds.
    #[serde(serialize_with = "times")]
    pub(crate) t: Vec<f64>,
    /// Mean of the bin; NaN is a gap.
    #[serde(serialize_with = "values")]
    pub(crate) mean: Vec<f64>,
    /// 95th percentile of the bin; NaN is a gap.
    #[serde(serialize_with = "values")]
    pub(crate) p95: Vec<f64>,
}

/// Latency of each captured frame.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Frames {
    /// When each was captured, in seconds.
    #[serde(serialize_with = "times")]
    pub(crate) t: Vec<f64>,
    /// Capture to display in ms; of a frame never shown, until the next one
    /// that was. NaN where there is no such frame.
    #[serde(serialize_with = "values")]
    pub(crate) latency: Vec<f64>,
    /// Indices of the frames never shown, in order.
    pub(crate) missing: Vec<usize>,
}

/// A quantity inside the sender, each value from its time on.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Gauge {
    /// Gauges with the same group and unit are drawn on one axis.
    pub(crate) group: String,
    /// Its name, as the paper writes it.
    pub(crate) name: String,
    /// Its unit; empty for a bare number.
    pub(crate) unit: String,
    /// Its values.
    #[serde(flatten)]
    pub(crate) series: Series,
}

/// One link of a run.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Link {
    /// What to call it, unique in its run.
    pub(crate) name: String,
    /// Queue, service and flight in words.
    #[serde(skip)]
    pub(crate) description: String,
    /// Bytes carried over bytes it could have carried, from 0 to 1.
    #[serde(skip)]
    pub(crate) utilisation: Option<f64>,
    /// Mean waiting time in ms.
    #[serde(skip)]
    pub(crate) mean_wait: Option<f64>,
    /// Mean of the bytes waiting, over time, in kB.
    #[serde(skip)]
    pub(crate) mean_queue: Option<f64>,
    /// Packets that left it.
    #[serde(skip)]
    pub(crate) carried: u64,
    /// Packets dropped, by cause.
    #[serde(skip)]
    pub(crate) dropped: Vec<(String, u64)>,
    /// Packets marked.
    #[serde(skip)]
    pub(crate) marked: u64,
    /// What followed each drop of its capacity.
    #[serde(skip)]
    pub(crate) spikes: Vec<SpikeReport>,
    /// Bytes waiting in kB, at the middle of each bin.
    pub(crate) queue: Series,
    /// When packets were dropped, in seconds.
    #[serde(serialize_with = "times")]
    pub(crate) drops: Vec<f64>,
    /// When packets were marked, in seconds.
    #[serde(serialize_with = "times")]
    pub(crate) marks: Vec<f64>,
}

impl Page {
    /// The page as HTML.
    pub(crate) fn html(&self) -> String {
        markup::html(self)
    }
}

impl FromIterator<(f64, Option<f64>)> for Series {
    fn from_iter<I: IntoIterator<Item = (f64, Option<f64>)>>(points: I) -> Self {
        let (t, v) = points
            .into_iter()
            .map(|(t, v)| (t, v.unwrap_or(f64::NAN)))
            .unzip();
        Self { t, v }
    }
}

/// Ten microseconds: no pixel is finer.
const TIME_STEPS_PER_SECOND: f64 = 1e5;
/// Values are written with this many significant digits.
const DIGITS: i32 = 5;

fn times<S: Serializer>(times: &[f64], out: S) -> Result<S::Ok, S::Error> {
    out.collect_seq(
        times
            .iter()
            .map(|t| (t * TIME_STEPS_PER_SECOND).round() / TIME_STEPS_PER_SECOND),
    )
}

fn values<S: Serializer>(values: &[f64], out: S) -> Result<S::Ok, S::Error> {
    out.collect_seq(values.iter().map(|&v| shorten(v)))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn short<S: Serializer>(value: &f64, out: S) -> Result<S::Ok, S::Error> {
    shorten(*value).serialize(out)
}

/// `value` to [`DIGITS`] significant digits; none if it is not finite.
fn shorten(value: f64) -> Option<f64> {
    if !value.is_finite() {
        return None;
    }
    if value == 0.0 {
        return Some(0.0);
    }
    let decimals = DIGITS - 1 - value.abs().log10().floor() as i32;
    // A division by a whole power of ten gives the shortest decimal; a
    // multiplication by a negative one would not.
    Some(if decimals >= 0 {
        let scale = 10_f64.powi(decimals.min(300));
        (value * scale).round() / scale
    } else {
        value.round()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    /// What the page's script will read.
    fn embedded(html: &str) -> serde_json::Value {
        let (_, rest) = html
            .split_once(r#"<script type="application/json" id="report">"#)
            .expect("the page has its numbers");
        let (json, _) = rest.split_once("</script>").expect("closed");
        serde_json::from_str(json).expect("JSON")
    }

    #[test]
    fn nothing_in_the_page_points_outside_it() {
        let html = sample::two_runs().html();
        for way_out in [
            "http:", "https:", "src=", "@import", "<link", "fetch(", "import(",
        ] {
            assert!(!html.contains(way_out), "{way_out} is in the page");
        }
        // Clip paths refer to the page itself.
        assert_eq!(html.matches("url(").count(), html.matches("url(#").count());
        assert!(html.contains("default-src 'none'"));
    }

    #[test]
    fn names_cannot_end_the_script_or_become_markup() {
        let mut page = sample::one_flow();
        let name = "</script><script>alert(1)</script> & <b>";
        page.title = name.to_owned();
        page.runs[0].name = name.to_owned();
        page.runs[0].command = name.to_owned();
        page.runs[0].flows[0].name = name.to_owned();
        page.definitions.push((name.to_owned(), name.to_owned()));
        let html = page.html();
        assert!(!html.contains("<script>alert"));
        assert!(!html.contains("<b>"));
        // The numbers, and the script that draws them.
        assert_eq!(html.matches("</script>").count(), 2);
        assert_eq!(embedded(&html)["runs"][0]["name"], name);
    }

    #[test]
    fn placeholders_in_names_are_left_alone() {
        let mut page = sample::one_flow();
        page.title = "{{script}} {{report}}".to_owned();
        let html = page.html();
        assert!(html.contains("<title>{{script}} {{report}}</title>"));
        assert_eq!(html.matches("</script>").count(), 2);
    }

    #[test]
    fn missing_and_infinite_values_become_gaps() {
        let mut page = sample::one_flow();
        page.runs[0].flows[0].sent = [
            (0.05, Some(1.0)),
            (0.15, None),
            (0.25, Some(f64::INFINITY)),
            (0.35, Some(f64::NAN)),
            (0.45, Some(2.0)),
        ]
        .into_iter()
        .collect();
        let html = page.html();
        let sent = &embedded(&html)["runs"][0]["flows"][0]["sent"];
        assert_eq!(sent["v"].to_string(), "[1.0,null,null,null,2.0]");
        assert_eq!(sent["t"].to_string(), "[0.05,0.15,0.25,0.35,0.45]");
    }

    #[test]
    fn an_empty_report_is_still_a_page() {
        let html = Page::default().html();
        assert!(html.contains("No runs"));
        assert!(html.trim_end().ends_with("</html>"));
        assert_eq!(embedded(&html)["runs"].to_string(), "[]");

        let bare = Page {
            runs: vec![Run::default()],
            ..Page::default()
        };
        assert!(bare.html().contains("No flows"));
    }

    #[test]
    fn a_flow_without_video_has_dashes_and_no_frames() {
        let mut page = sample::one_flow();
        page.runs[0].flows[0].frames = Frames::default();
        page.runs[0].flows[0].summary.latency_p50 = None;
        page.runs[0].flows[0].summary.latency_p95 = Some(f64::NAN);
        let html = page.html();
        // The two columns are gone: no flow has them.
        let headings = |html: &str| html.matches("<th scope=\"col\"").count();
        let whole = sample::one_flow().html();
        assert_eq!(headings(&html) + 2, headings(&whole));
        let flow = &embedded(&html)["runs"][0]["flows"][0];
        assert_eq!(flow["frames"]["t"].to_string(), "[]");
    }

    #[test]
    fn values_keep_five_digits() {
        assert_eq!(shorten(12.345_678), Some(12.346));
        assert_eq!(shorten(0.000_123_456_7), Some(0.000_123_46));
        assert_eq!(shorten(-1.0 / 3.0), Some(-0.333_33));
        assert_eq!(shorten(1_234_567.8), Some(1_234_568.0));
        assert_eq!(shorten(0.0), Some(0.0));
        assert_eq!(shorten(f64::MIN_POSITIVE).map(|v| v < 1e-300), Some(true));
        assert_eq!(shorten(f64::NEG_INFINITY), None);
    }

    #[test]
    fn ten_thousand_frames_stay_a_page_of_moderate_size() {
        let mut page = sample::one_flow();
        let frames = &mut page.runs[0].flows[0].frames;
        *frames = Frames {
            t: (0..10_000).map(|n| f64::from(n) / 60.0).collect(),
            latency: (0..10_000)
                .map(|n| 40.0 + f64::from(n % 97) / 7.0)
                .collect(),
            missing: Vec::new(),
        };
        let size = page.html().len();
        assert!((200_000..400_000).contains(&size), "{size} bytes");
    }

    /// Writes the samples where a person can open them.
    #[test]
    #[ignore = "for the eye: writes pages and figures into the folder $SAMPLES"]
    fn the_samples_can_be_looked_at() {
        let Some(folder) = std::env::var_os("SAMPLES").map(std::path::PathBuf::from) else {
            panic!("set SAMPLES to a folder");
        };
        for (name, page) in sample::all() {
            let write = |kind, text| std::fs::write(folder.join(format!("{name}.{kind}")), text);
            write("html", page.html()).expect("written");
            write("svg", crate::report::figure::svg(&page)).expect("written");
        }
    }
}
