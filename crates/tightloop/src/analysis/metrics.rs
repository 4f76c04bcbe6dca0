//! Every metric's key, unit, meaning and source.
//!
//! A key is words with dots between them. In patterns, `{flow}` and `{link}`
//! stand for a name or number, `{path}`, `{slots}` and `{drop}` for a number, and
//! a metric that spreads is followed by one of [`STATISTICS`], which a pattern
//! writes as `{stat}`.

use super::{
    AllReport, CrossingReport, FlowReport, FrameReport, LinkReport, PathReport, SlotReport,
    SpikeReport, Spread, Unit, Value,
};
use crate::units::{Bytes, Rate, Span};

/// What can be asked of values that spread; see [`Spread`].
pub const STATISTICS: [&str; 11] = [
    "mean", "min", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "max", "count",
];

/// A metric: what its key looks like, what it is measured in, what it means and
/// who says so.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// The pattern of its keys.
    pub key: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// What it means.
    pub definition: &'static str,
    /// Keys of REFERENCES.md, or `Ours`.
    pub source: &'static str,
    pub(super) read: Read,
}

/// Where a metric is found.
#[derive(Clone, Copy, Debug)]
pub(super) enum Read {
    All(fn(&AllReport) -> Reading<'_>),
    Flow(fn(&FlowReport) -> Reading<'_>),
    Frames(fn(&FrameReport) -> Reading<'_>),
    Path(fn(&PathReport) -> Reading<'_>),
    Crossing(fn(&CrossingReport) -> Reading<'_>),
    Slots(fn(&SlotReport) -> Reading<'_>),
    Link(fn(&LinkReport) -> Reading<'_>),
    Spike(fn(&SpikeReport) -> Reading<'_>),
}

/// One value, or values that spread.
pub(super) enum Reading<'a> {
    One(Value),
    Spans(&'a Option<Spread<Span>>),
    Rates(&'a Option<Spread<Rate>>),
    Numbers(&'a Option<Spread<f64>>),
}

impl From<Value> for Reading<'_> {
    fn from(value: Value) -> Self {
        Self::One(value)
    }
}

impl<T: Copy> Spread<T> {
    /// One of [`STATISTICS`].
    fn statistic(&self, name: &str, value: fn(T) -> Value) -> Value {
        value(match name {
            "mean" => self.mean,
            "min" => self.min,
            "p10" => self.p10,
            "p25" => self.p25,
            "p50" => self.p50,
            "p75" => self.p75,
            "p90" => self.p90,
            "p95" => self.p95,
            "p99" => self.p99,
            "max" => self.max,
            _ => return Value::Count(self.count),
        })
    }
}

impl Reading<'_> {
    pub(super) fn value(&self, statistic: &str) -> Value {
        let none = Value::Nothing;
        match self {
            Self::One(value) => *value,
            Self::Spans(it) => it.map_or(none, |it| it.statistic(statistic, Value::Span)),
            Self::Rates(it) => it.map_or(none, |it| it.statistic(statistic, Value::Rate)),
            Self::Numbers(it) => it.map_or(none, |it| it.statistic(statistic, Value::Number)),
        }
    }
}

const fn rate(rate: Rate) -> Reading<'static> {
    Reading::One(Value::Rate(rate))
}

const fn span(span: Span) -> Reading<'static> {
    Reading::One(Value::Span(span))
}

const fn bytes(bytes: Bytes) -> Reading<'static> {
    Reading::One(Value::Bytes(bytes))
}

const fn things(count: u64) -> Reading<'static> {
    Reading::One(Value::Count(count))
}

/// Fewer words for the table below.
const fn metric(
    key: &'static str,
    unit: Unit,
    source: &'static str,
    read: Read,
    definition: &'static str,
) -> Metric {
    Metric {
        key,
        unit,
        definition,
        source,
        read,
    }
}

/// Every metric of the house.
#[rustfmt::skip]
pub const METRICS: &[Metric] = &[
    // --- all flows together ---
    metric("all.throughput", Unit::Rate, "[RFC8867]", Read::All(|all| rate(all.throughput)),
        "IP bytes of all flows that arrived at their receivers in the window, without duplicates, over its length"),
    metric("all.loss", Unit::Number, "[RFC8867]", Read::All(|all| Value::from(all.loss).into()),
        "share of the packets sent in the window that were dropped or given up and never arrived"),
    metric("all.owd.{stat}", Unit::Span, "[Pantheon]", Read::All(|all| Reading::Spans(&all.owd)),
        "one-way delay of every packet of every flow that arrived in the window"),
    metric("all.pantheon", Unit::Rate, "[Pantheon]", Read::All(|all| Value::from(all.pantheon).into()),
        "bytes of all flows that arrived in the window, over the time from the first to the last arrival; its companion is all.owd.p95"),
    metric("all.jain.{stat}", Unit::Number, "[Jain], [SQP]", Read::All(|all| Reading::Numbers(&all.jain)),
        "Jain's index of the flows' throughput in each 500 ms in which two or more flows were active throughout"),
    metric("all.jain_whole", Unit::Number, "[Jain]", Read::All(|all| Value::from(all.jain_whole).into()),
        "Jain's index of all flows' throughput over the whole window"),
    // --- a flow's rates ---
    metric("flow.{flow}.throughput", Unit::Rate, "[RFC8867]", Read::Flow(|flow| rate(flow.throughput)),
        "IP bytes that arrived at the receiver in the window, without duplicates, over its length"),
    metric("flow.{flow}.throughput.video", Unit::Rate, "Ours", Read::Flow(|flow| rate(flow.throughput_by.video)),
        "the part of the throughput that was parts of frames sent for the first time"),
    metric("flow.{flow}.throughput.retransmit", Unit::Rate, "Ours", Read::Flow(|flow| rate(flow.throughput_by.retransmit)),
        "the part of the throughput that was parts of frames sent again"),
    metric("flow.{flow}.throughput.filler", Unit::Rate, "Ours", Read::Flow(|flow| rate(flow.throughput_by.filler)),
        "the part of the throughput that was padding"),
    metric("flow.{flow}.throughput.bulk", Unit::Rate, "Ours", Read::Flow(|flow| rate(flow.throughput_by.bulk)),
        "the part of the throughput that was a stream without frames"),
    metric("flow.{flow}.binned.{stat}", Unit::Rate, "[Pantheon]", Read::Flow(|flow| Reading::Rates(&flow.binned)),
        "throughput in each 500 ms in which the flow was active throughout, from its first packet sent to its last"),
    metric("flow.{flow}.pantheon", Unit::Rate, "[Pantheon]", Read::Flow(|flow| Value::from(flow.pantheon).into()),
        "bytes that arrived in the window, over the time from the first to the last arrival; its companion is owd.p95 (Pantheon takes the nearest value where we interpolate)"),
    metric("flow.{flow}.goodput", Unit::Rate, "[RFC8867], made exact by us", Read::Flow(|flow| rate(flow.goodput)),
        "IP bytes of packets that brought something new: stream bytes, and parts of frames that were missing and whose frame the screen had not moved past"),
    metric("flow.{flow}.late", Unit::Rate, "[RFC8867]", Read::Flow(|flow| rate(flow.late)),
        "IP bytes of parts of frames that arrived after a later frame had been shown"),
    metric("flow.{flow}.sending", Unit::Rate, "[RFC8867]", Read::Flow(|flow| rate(flow.sending)),
        "IP bytes of data packets sent in the window, over its length"),
    metric("flow.{flow}.sending.video", Unit::Rate, "Ours", Read::Flow(|flow| rate(flow.sending_by.video)),
        "the part of the sending rate that was parts of frames sent for the first time"),
    metric("flow.{flow}.sending.retransmit", Unit::Rate, "Ours", Read::Flow(|flow| rate(flow.sending_by.retransmit)),
        "the part of the sending rate that was parts of frames sent again"),
    metric("flow.{flow}.sending.filler", Unit::Rate, "Ours", Read::Flow(|flow| rate(flow.sending_by.filler)),
        "the part of the sending rate that was padding"),
    metric("flow.{flow}.sending.bulk", Unit::Rate, "Ours", Read::Flow(|flow| rate(flow.sending_by.bulk)),
        "the part of the sending rate that was a stream without frames"),
    metric("flow.{flow}.converged", Unit::Span, "[SQP] Fig. 16, its level and hold ours", Read::Flow(|flow| Value::from(flow.converged).into()),
        "from the flow's first packet until the first 500 ms of four in a row in which Jain's index of all active flows was at least 0.95; nothing for a flow that found nobody, or that never got there within the window"),
    metric("flow.{flow}.feedback", Unit::Rate, "[RFC8867]", Read::Flow(|flow| rate(flow.feedback)),
        "IP bytes of feedback packets that came to their first link in the window, over its length"),
    metric("flow.{flow}.filler", Unit::Number, "Ours", Read::Flow(|flow| Value::from(flow.filler).into()),
        "share of the bytes sent in the window that was padding"),
    // --- a flow's packets ---
    metric("flow.{flow}.sent", Unit::Count, "Ours", Read::Flow(|flow| things(flow.sent)),
        "data packets sent in the window"),
    metric("flow.{flow}.arrived", Unit::Count, "Ours", Read::Flow(|flow| things(flow.arrived)),
        "data packets that arrived in the window for the first time"),
    metric("flow.{flow}.duplicates", Unit::Count, "Ours", Read::Flow(|flow| things(flow.duplicates)),
        "data packets that arrived in the window and had arrived before"),
    metric("flow.{flow}.lost", Unit::Count, "[RFC8867]", Read::Flow(|flow| things(flow.lost)),
        "data packets sent in the window that a link dropped or the sender gave up, and that never arrived"),
    metric("flow.{flow}.loss", Unit::Number, "[RFC8867]", Read::Flow(|flow| Value::from(flow.loss).into()),
        "lost packets over packets sent"),
    metric("flow.{flow}.drops", Unit::Count, "Ours", Read::Flow(|flow| things(flow.drops.total())),
        "data packets that links dropped in the window"),
    metric("flow.{flow}.drops.full", Unit::Count, "Ours", Read::Flow(|flow| things(flow.drops.full)),
        "data packets dropped by full queues"),
    metric("flow.{flow}.drops.aqm", Unit::Count, "Ours", Read::Flow(|flow| things(flow.drops.aqm)),
        "data packets dropped by active queue management"),
    metric("flow.{flow}.drops.random", Unit::Count, "Ours", Read::Flow(|flow| things(flow.drops.random)),
        "data packets lost at random"),
    metric("flow.{flow}.drops.too_big", Unit::Count, "Ours", Read::Flow(|flow| things(flow.drops.too_big)),
        "data packets larger than a link can carry"),
    metric("flow.{flow}.marks", Unit::Count, "Ours", Read::Flow(|flow| things(flow.marks)),
        "data packets that queues marked in the window"),
    metric("flow.{flow}.given_up", Unit::Count, "[RFC9002] §6.1", Read::Flow(|flow| things(flow.given_up)),
        "packets that the sender gave up for lost in the window"),
    metric("flow.{flow}.spurious", Unit::Count, "[RFC9002] §6.1", Read::Flow(|flow| things(flow.spurious)),
        "packets acknowledged in the window that had been given up"),
    metric("flow.{flow}.timeouts", Unit::Count, "[RFC9002] §6.2", Read::Flow(|flow| things(flow.timeouts)),
        "times in the window that feedback was missed for so long that the sender might probe"),
    // --- a flow's delays ---
    metric("flow.{flow}.base", Unit::Span, "Ours", Read::Flow(|flow| Value::from(flow.base).into()),
        "the least one-way delay of the whole run"),
    metric("flow.{flow}.owd.{stat}", Unit::Span, "[Pantheon]", Read::Flow(|flow| Reading::Spans(&flow.owd)),
        "one-way delay of each packet that arrived in the window: from when it left the sender, behind its pacer, until it arrived for the first time"),
    metric("flow.{flow}.owd_above_base.{stat}", Unit::Span, "Ours", Read::Flow(|flow| Reading::Spans(&flow.owd_above_base)),
        "one-way delay less the least one-way delay of the same path in the whole run"),
    metric("flow.{flow}.rtt.{stat}", Unit::Span, "[RFC9002] §5.1", Read::Flow(|flow| Reading::Spans(&flow.rtt)),
        "round-trip times measured in the window, without the time the receiver held the report"),
    metric("flow.{flow}.link.{link}.carried", Unit::Rate, "Ours", Read::Crossing(|it| rate(it.carried)),
        "IP bytes of the flow's data that left the link in the window, over its length"),
    metric("flow.{flow}.link.{link}.share", Unit::Number, "[SQP] Fig. 5", Read::Crossing(|it| Value::from(it.share).into()),
        "the flow's data over all that left the link in the window"),
    metric("flow.{flow}.link.{link}.of_free", Unit::Number, "[SQP] Eq. 9", Read::Crossing(|it| Value::from(it.of_free).into()),
        "the flow's data over what the link could have carried in the window besides all else that left it: how much of what others leave it uses"),
    metric("flow.{flow}.link.{link}.waited.{stat}", Unit::Span, "Ours", Read::Crossing(|it| Reading::Spans(&it.waited)),
        "time that each data packet that left the link in the window waited in its queue, its own service not counted"),
    metric("flow.{flow}.link.{link}.sojourn.{stat}", Unit::Span, "[RFC8289]", Read::Crossing(|it| Reading::Spans(&it.sojourn)),
        "time from joining the link's queue to the end of service"),
    // --- a flow's paths ---
    metric("flow.{flow}.path.{path}.throughput", Unit::Rate, "Ours", Read::Path(|path| rate(path.throughput)),
        "throughput of one path"),
    metric("flow.{flow}.path.{path}.sending", Unit::Rate, "Ours", Read::Path(|path| rate(path.sending)),
        "sending rate of one path"),
    metric("flow.{flow}.path.{path}.loss", Unit::Number, "Ours", Read::Path(|path| Value::from(path.loss).into()),
        "loss of one path"),
    metric("flow.{flow}.path.{path}.base", Unit::Span, "Ours", Read::Path(|path| Value::from(path.base).into()),
        "the least one-way delay of one path in the whole run"),
    metric("flow.{flow}.path.{path}.owd.{stat}", Unit::Span, "Ours", Read::Path(|path| Reading::Spans(&path.owd)),
        "one-way delay on one path"),
    metric("flow.{flow}.path.{path}.rtt.{stat}", Unit::Span, "Ours", Read::Path(|path| Reading::Spans(&path.rtt)),
        "round-trip time of one path"),
    // --- a flow's frames ---
    metric("flow.{flow}.frames.captured", Unit::Count, "Ours", Read::Frames(|it| things(it.captured)),
        "frames captured in the window; all counts of frames are of these"),
    metric("flow.{flow}.frames.encoded", Unit::Count, "Ours", Read::Frames(|it| things(it.encoded)),
        "frames that were encoded"),
    metric("flow.{flow}.frames.skipped", Unit::Count, "Ours", Read::Frames(|it| things(it.skipped)),
        "frames that the rate control or the encoder left out"),
    metric("flow.{flow}.frames.completed", Unit::Count, "Ours", Read::Frames(|it| things(it.completed)),
        "frames of which every part arrived"),
    metric("flow.{flow}.frames.shown", Unit::Count, "Ours", Read::Frames(|it| things(it.shown)),
        "frames that appeared on the screen"),
    metric("flow.{flow}.frames.undelivered", Unit::Count, "[Vidaptive]", Read::Frames(|it| things(it.undelivered)),
        "encoded frames that never appeared on the screen though a later one did"),
    metric("flow.{flow}.frames.pending", Unit::Count, "Ours", Read::Frames(|it| things(it.pending)),
        "encoded frames after the last one shown when the log ends: they have no latency"),
    metric("flow.{flow}.frames.bitrate", Unit::Rate, "[Vidaptive]", Read::Frames(|it| rate(it.bitrate)),
        "payload bytes of the encoded frames over the window's length"),
    metric("flow.{flow}.frames.latency.{stat}", Unit::Span, "[Vidaptive]", Read::Frames(|it| Reading::Spans(&it.latency)),
        "from a frame's capture until it was shown; a frame never shown, skipped or not, takes the time of the next one that was"),
    metric("flow.{flow}.frames.delay.{stat}", Unit::Span, "[DelayBBR]", Read::Frames(|it| Reading::Spans(&it.delay)),
        "from a frame's capture until its last part had arrived"),
    metric("flow.{flow}.frames.fps", Unit::Frames, "Ours", Read::Frames(|it| Value::Frames(it.fps).into()),
        "frames shown in the window over its length"),
    metric("flow.{flow}.frames.freezes", Unit::Count, "[WebRTC-Stats] freezeCount", Read::Frames(|it| things(it.freezes)),
        "intervals between shown frames that ended in the window and were no shorter than max(3 m, m + 150 ms), m the mean of the last 30 intervals, this one included, from the fifth on"),
    metric("flow.{flow}.frames.frozen", Unit::Span, "[WebRTC-Stats] totalFreezesDuration", Read::Frames(|it| span(it.frozen)),
        "the length of those intervals, together"),
    // --- a flow in groups of frame slots ---
    metric("flow.{flow}.slots.{slots}.bitrate.{stat}", Unit::Rate, "[SQP] §6.2, its formula derived", Read::Slots(|it| Reading::Rates(&it.bitrate)),
        "bytes sent in each tumbling group of 1, 2, 4, 8, 16 or 32 frame slots, over the group's length"),
    metric("flow.{flow}.slots.{slots}.frame_delay.{stat}", Unit::Span, "[SQP] §6.2, its formula derived", Read::Slots(|it| Reading::Spans(&it.frame_delay)),
        "delay that equal frames would have had if the group's bytes had been theirs: from a slot's start until the packet that covers the frame's last byte arrived"),
    // --- links ---
    metric("link.{link}.capacity", Unit::Rate, "[Mahimahi]", Read::Link(|link| Value::from(link.capacity).into()),
        "integral of the link's rate over the window, or the delivery opportunities in it, over its length"),
    metric("link.{link}.carried", Unit::Rate, "Ours", Read::Link(|link| rate(link.carried)),
        "IP bytes, of all flows and directions, that left the link in the window, over its length"),
    metric("link.{link}.utilisation", Unit::Number, "[Mahimahi]", Read::Link(|link| Value::from(link.utilisation).into()),
        "what left the link over what it could have carried; on a trace full packets reach 1500/1504, the rest being device headers"),
    metric("link.{link}.utilisation_of_demand", Unit::Number, "[RFC8867]", Read::Link(|link| Value::from(link.utilisation_of_demand).into()),
        "what left the link over the lesser of what it could have carried and what sources could use, on traces taken in bins of 200 ms"),
    metric("link.{link}.drops", Unit::Count, "Ours", Read::Link(|link| things(link.drops.total())),
        "packets, of all flows and directions, that the link dropped in the window"),
    metric("link.{link}.drops.full", Unit::Count, "Ours", Read::Link(|link| things(link.drops.full)),
        "packets dropped because the queue was full"),
    metric("link.{link}.drops.aqm", Unit::Count, "Ours", Read::Link(|link| things(link.drops.aqm)),
        "packets dropped by active queue management"),
    metric("link.{link}.drops.random", Unit::Count, "Ours", Read::Link(|link| things(link.drops.random)),
        "packets lost at random"),
    metric("link.{link}.drops.too_big", Unit::Count, "Ours", Read::Link(|link| things(link.drops.too_big)),
        "packets larger than the link can carry"),
    metric("link.{link}.marks", Unit::Count, "Ours", Read::Link(|link| things(link.marks)),
        "packets that the queue marked in the window"),
    metric("link.{link}.waiting", Unit::Number, "Ours", Read::Link(|link| Value::Number(link.waiting).into()),
        "mean number of waiting packets, over time, the one in service not counted"),
    metric("link.{link}.waiting_max", Unit::Bytes, "Ours", Read::Link(|link| bytes(link.waiting_max)),
        "the most bytes that waited when a packet joined the queue in the window, itself included"),
    metric("link.{link}.waited.{stat}", Unit::Span, "Ours", Read::Link(|link| Reading::Spans(&link.waited)),
        "time that each packet that left in the window waited in the queue, its own service not counted"),
    metric("link.{link}.sojourn.{stat}", Unit::Span, "[RFC8289]", Read::Link(|link| Reading::Spans(&link.sojourn)),
        "time from joining the queue to the end of service"),
    metric("link.{link}.unavoidable", Unit::Span, "[SpikeBound], its ideal sender played against the link", Read::Link(|link| Value::from(link.unavoidable).into()),
        "the longest that packets wait of a sender that learns of each delivery opportunity at once and whose packet for it comes d later, with d the least round trip of the run over this link, where it uses the same share of the opportunities as was used in the run: what following the capacity costs at least"),
    metric("link.{link}.over_unavoidable", Unit::Number, "[SpikeBound]", Read::Link(|link| Value::from(link.over_unavoidable).into()),
        "the longest that a packet waited in the window over that; nothing where there is nothing to wait for"),
    metric("link.{link}.spike.{drop}.ratio", Unit::Number, "[SpikeBound]", Read::Spike(|it| Value::Number(it.ratio).into()),
        "throughput of the link in the second before its capacity dropped, over its capacity after: the r of the bound, corrected for a link that was not full; drops in the window are counted from 0, those to zero left out"),
    metric("link.{link}.spike.{drop}.bound", Unit::Span, "[SpikeBound]", Read::Spike(|it| Value::from(it.bound).into()),
        "the queueing delay that no sender can avoid, (r − 1) d, with d the least round trip of the run over this link"),
    metric("link.{link}.spike.{drop}.measured", Unit::Span, "[SpikeBound]", Read::Spike(|it| span(it.measured)),
        "the longest that a packet waited in the 5 s after the drop, or until the capacity changed again"),
    metric("link.{link}.spike.{drop}.over_bound", Unit::Number, "[SpikeBound]", Read::Spike(|it| Value::from(it.over_bound).into()),
        "measured over bound; nothing where there is nothing to bound"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const REFERENCES: &str = include_str!("../../../../REFERENCES.md");

    #[test]
    fn every_metric_has_a_key_of_its_own_a_meaning_and_a_source() {
        let keys: BTreeSet<_> = METRICS.iter().map(|metric| metric.key).collect();
        assert_eq!(keys.len(), METRICS.len());
        for metric in METRICS {
            assert!(metric.definition.len() > 10, "{}", metric.key);
            let cited = metric.source.starts_with('[') && metric.source.contains(']');
            assert!(cited || metric.source == "Ours", "{}", metric.key);
            for key in metric.source.split('[').skip(1) {
                let key = key.split_once(']').map_or(key, |(key, _)| key);
                assert!(REFERENCES.contains(&format!("- [{key}] ")), "{key}");
            }
        }
    }
}
