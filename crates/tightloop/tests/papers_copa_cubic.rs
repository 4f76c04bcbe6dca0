//! Cubic and Copa alone on a simulated link, against what the RFC, the paper,
//! the authors' code and the Linux kernel do on the same link.

#![allow(clippy::disallowed_macros)] // Tables are for who asks for them: `--nocapture`.

use std::ops::RangeInclusive;

use tightloop::event::{Event, Log, Sink};
use tightloop::scenario::Scenario;
use tightloop::units::{Bytes, Span, Time, count, float, index, round};

const PACKET: Bytes = Bytes::new(1500);

/// 20, 5, 20 Mbit/s for 30 s each, 40 ms, 200 packets: the link of the recorded
/// runs that the tests below compare with.
const STEPS: &str = "steps = [[\"0 s\", \"20 Mbit/s\"], [\"30 s\", \"5 Mbit/s\"], \
                     [\"60 s\", \"20 Mbit/s\"]]\n\
                     queue = { kind = \"drop_tail\", packets = 200 }";

/// What left the bottleneck, with how long it had waited, and the windows.
#[derive(Default)]
struct Run {
    left: Vec<(Time, Span)>,
    windows: Vec<Bytes>,
}

/// What a part of a run was like.
struct Part {
    mbps: f64,
    /// Mean time in the queue.
    waited_ms: f64,
    /// Mean number of waiting packets, by Little's law; the one in service is none.
    waiting: f64,
}

impl Sink for Run {
    fn record(&mut self, at: Time, event: &Event) {
        match event {
            Event::Left { link, waited, .. } if link.0 == 0 => self.left.push((at, *waited)),
            Event::Control { control, .. } => self.windows.extend(control.window),
            _ => {}
        }
    }
}

impl Run {
    /// One bulk flow over a link, 20 ms each way. `cc` and `flow` are TOML.
    fn of(seconds: u64, cc: &str, link: &str, flow: &str) -> Self {
        // Links are numbered by name: the bottleneck is the first.
        let text = format!(
            "name = \"alone\"\nduration = \"{seconds} s\"\n\
             [link.a]\ndelay = \"20 ms\"\n{link}\n[link.b]\ndelay = \"20 ms\"\n\
             [[flow]]\ncc = {{ {cc} }}\ntraffic = {{ bulk = {{}} }}\n\
             path = {{ links = [\"a\"], back = [\"b\"] }}\n{flow}\n"
        );
        let scenario: Scenario = toml::from_str(&text).expect("a scenario");
        let mut built = scenario.build(&|_| None).expect("a world");
        let mut run = Self::default();
        built.world.run(scenario.end(), &mut Log::to(&mut run));
        run
    }

    /// The part between two times in seconds.
    fn part(&self, from: u64, to: u64) -> Part {
        let inside = Time::from_secs(from)..Time::from_secs(to);
        let waits: Vec<Span> = self
            .left
            .iter()
            .filter_map(|(at, waited)| inside.contains(at).then_some(*waited))
            .collect();
        let length = Span::from_secs(i64::try_from(to - from).expect("seconds"));
        let packets = count(waits.len());
        let sum: f64 = waits.iter().map(|waited| waited.secs_f64()).sum();
        Part {
            mbps: (PACKET * packets).per(length).expect("time").mbps_f64(),
            waited_ms: Span::from_secs_f64(sum / float(packets)).millis_f64(),
            waiting: sum / length.secs_f64(),
        }
    }

    /// The 1st and 99th percentile of the time in the queue after a time, in ms.
    fn swing(&self, from: u64) -> (f64, f64) {
        let from = Time::from_secs(from);
        let late = self.left.iter().filter(|(at, _)| *at >= from);
        let mut waits: Vec<Span> = late.map(|(_, waited)| *waited).collect();
        waits.sort_unstable();
        let at = |share: f64| waits[index(round(share * float(count(waits.len() - 1))))];
        (at(0.01).millis_f64(), at(0.99).millis_f64())
    }

    /// The lag of the first peak of the queue's autocorrelation from second 5
    /// on, in ms, and how high it is.
    fn period(&self) -> (f64, f64) {
        const STEP: Span = Span::from_millis(5);
        let begin = Time::from_secs(5);
        let mut queue = vec![];
        for (at, waited) in self.left.iter().filter(|(at, _)| *at >= begin) {
            while begin + STEP * i64::try_from(queue.len()).expect("few") <= *at {
                queue.push(waited.secs_f64());
            }
        }
        let n = queue.len();
        let mean = queue.iter().sum::<f64>() / float(count(n));
        queue.iter_mut().for_each(|sample| *sample -= mean);
        let at_lag = |lag: usize| {
            let pairs = queue.iter().zip(&queue[lag..]);
            pairs.map(|(a, b)| a * b).sum::<f64>()
        };
        let shape: Vec<f64> = (0..200).map(|lag| at_lag(lag) / at_lag(0)).collect();
        let below = shape.iter().position(|c| *c < 0.0).expect("it oscillates");
        let (peak, height) = (below..shape.len())
            .map(|lag| (lag, shape[lag]))
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .expect("lags");
        // Periods repeat: the first lag nearly as good is the period itself.
        let first = (below..=peak).find(|lag| {
            let rises = shape[*lag] >= shape[lag - 1] && shape[*lag] >= shape[lag + 1];
            rises && shape[*lag] > 0.8 * height
        });
        let lag = i64::try_from(first.expect("the peak itself")).expect("few");
        ((STEP * lag).millis_f64(), height)
    }
}

fn drop_tail(mbps: u64, packets: u64) -> String {
    format!("rate = \"{mbps} Mbit/s\"\nqueue = {{ kind = \"drop_tail\", packets = {packets} }}")
}

fn copa(delta: f64, more: &str) -> String {
    format!("name = \"copa\", delta = {delta:?}{more}")
}

#[track_caller]
fn assert_in(what: &str, value: f64, band: RangeInclusive<f64>) {
    assert!(band.contains(&value), "{what}: {value} is not in {band:?}");
}

#[test]
fn cubic_fills_one_bdp_of_buffer_and_falls_to_seven_tenths() {
    // 20 Mbit/s · 40 ms = 66.7 packets.
    let run = Run::of(60, "name = \"cubic\"", &drop_tail(20, 67), "");
    assert_in("Mbit/s", run.part(5, 60).mbps, 0.97 * 20.0..=20.0);
    let peaks: Vec<(f64, f64)> = run
        .windows
        .windows(2)
        .filter(|pair| pair[1] < pair[0])
        .map(|pair| (pair[0].ratio(PACKET), pair[1].ratio(pair[0])))
        .collect();
    assert_in("reductions", float(count(peaks.len())), 10.0..=20.0);
    for (_, share) in &peaks {
        assert_in("what a reduction leaves", *share, 0.699..=0.701);
    }
    // After slow start: the pipe, the buffer, and one packet in service.
    for (peak, _) in &peaks[2..] {
        assert_in("window at a loss", *peak, 134.0..=138.0);
    }
}

#[test]
fn cubic_does_what_the_kernels_does_on_20_5_20() {
    let run = Run::of(90, "name = \"cubic\"", STEPS, "");
    // Linux 6.18, one flow of iperf3, per phase: Mbit/s and mean ms in the queue.
    for (phase, (kernel_mbps, kernel_ms)) in
        (0..).zip([(19.80, 96.4), (5.01, 411.2), (19.99, 91.4)])
    {
        let ours = run.part(phase * 30, phase * 30 + 30);
        println!(
            "phase {phase}: {:.2} Mbit/s (kernel {kernel_mbps}), {:.1} ms (kernel {kernel_ms})",
            ours.mbps, ours.waited_ms
        );
        assert_in(
            "rate over the kernel's",
            ours.mbps / kernel_mbps,
            0.98..=1.02,
        );
        assert_in(
            "delay over the kernel's",
            ours.waited_ms / kernel_ms,
            0.92..=1.08,
        );
    }
}

#[test]
fn copa_keeps_the_link_full_with_about_one_over_delta_packets_waiting() {
    // Mean waiting packets times δ; [Copa] §3 says between 0 and 2.5.
    let waiting = |delta: f64| {
        let part = Run::of(40, &copa(delta, ""), &drop_tail(12, 1000), "").part(10, 40);
        println!("δ {delta}: {:.3}", part.waiting * delta);
        assert_in("Mbit/s", part.mbps, 11.95..=12.0);
        part.waiting * delta
    };
    for delta in [0.25, 0.3, 0.35, 0.4, 0.5] {
        assert_in("waiting · δ", waiting(delta), 1.1..=1.35);
    }
    // Packets are whole and the cycle is short: near δ 0.45 it locks onto a
    // longer queue, 1.36 at the peak and 1.18 to 1.33 on both sides.
    let near = [0.42, 0.43, 0.44, 0.45, 0.46, 0.47, 0.48].map(waiting);
    let mean = near.iter().sum::<f64>() / float(count(near.len()));
    assert_in("waiting · δ around 0.45", mean, 1.1..=1.35);
    assert_in("waiting · δ at its peak", near[3], 1.3..=1.37);
}

#[test]
fn rarer_feedback_makes_copas_queue_longer() {
    for (ms, band) in [(5, 1.3..=1.65), (10, 1.6..=2.4)] {
        for delta in [0.25, 0.35, 0.5] {
            let feedback = format!("feedback = {{ interval = \"{ms} ms\" }}");
            let run = Run::of(40, &copa(delta, ""), &drop_tail(12, 1000), &feedback);
            let part = run.part(10, 40);
            println!("δ {delta}, every {ms} ms: {:.3}", part.waiting * delta);
            assert_in("Mbit/s", part.mbps, 11.9..=12.0);
            assert_in("waiting · δ", part.waiting * delta, band.clone());
        }
    }
}

#[test]
fn copas_queue_oscillates_every_five_round_trips() {
    for delta in [0.1, 0.25] {
        let run = Run::of(25, &copa(delta, ""), &drop_tail(12, 1000), "");
        let (period, height) = run.period();
        println!("δ {delta}: {period} ms, correlated {height:.2}");
        assert_in("autocorrelation", height, 0.5..=1.0);
        // [Copa] §3 takes the queue as short: round trips of an empty path, 41 ms.
        assert_in("round trips", period / 41.0, 4.5..=6.0);
    }
}

#[test]
fn copa_by_the_text_may_swing_at_speed_for_ever() {
    // Why `restart_at_turn` is on: the same flow without it.
    let run = Run::of(
        40,
        &copa(0.25, ", restart_at_turn = false"),
        &drop_tail(12, 1000),
        "",
    );
    assert_in("Mbit/s", run.part(10, 40).mbps, 8.5..=10.0);
    assert_in("ms", run.period().0, 320.0..=380.0);
    // The cure, over rates, δ and feedback intervals: every link is full.
    for mbps in [5, 20, 50] {
        for delta in [0.1, 0.35, 0.5] {
            for feedback in ["", "feedback = { interval = \"10 ms\" }"] {
                let run = Run::of(15, &copa(delta, ""), &drop_tail(mbps, 1000), feedback);
                let used = run.part(5, 15).mbps / float(mbps);
                assert_in("share of the link", used, 0.985..=1.001);
            }
        }
    }
}

#[test]
fn the_authors_velocity_makes_the_swing_of_20_to_60_ms() {
    // [SQP] Fig. 1 shows Copa-Auto's one-way delay between 20 and 60 ms on this
    // link: 0 to 40 ms of queue. A velocity that doubles without waiting has two
    // cycles, and how a flow starts decides which it ends in: one swings by half
    // of that, the other does exactly that. Late wake-ups of the sender matter
    // for the start alone: later it waits for its window, not for its timers.
    let mut swings = [0, 0];
    for mode in ["fixed", "auto"] {
        for (initial_window, jitter) in [(4, 0), (10, 0), (12, 0), (20, 0), (10, 1), (10, 10)] {
            let cc = copa(
                0.1,
                &format!(
                    ", variant = \"pantheon\", mode = \"{mode}\", \
                     initial_window = {initial_window}"
                ),
            );
            let flow = format!("wake_jitter = \"{jitter} ms\"");
            let run = Run::of(30, &cc, &drop_tail(20, 200), &flow);
            let ((low, high), mbps) = (run.swing(10), run.part(10, 30).mbps);
            println!(
                "{mode}, first window {initial_window}, late by up to {jitter} ms: \
                 {low:.1} to {high:.1} ms of queue, {mbps:.1} Mbit/s"
            );
            let large = high > 30.0;
            swings[usize::from(large)] += 1;
            assert_in("low", low, 0.0..=0.5);
            assert_in("high", high, if large { 37.0..=43.0 } else { 18.0..=22.0 });
            assert_in(
                "Mbit/s",
                mbps,
                if large { 15.5..=17.0 } else { 19.3..=20.0 },
            );
        }
    }
    assert!(swings[0] > 0 && swings[1] > 0, "{swings:?}");
    // By the paper's rules, which wait three round trips: 2.5/δ packets of 0.6 ms.
    let auto = copa(0.1, ", mode = \"auto\"");
    let (low, high) = Run::of(40, &auto, &drop_tail(20, 200), "").swing(10);
    println!("by the paper: {low:.1} to {high:.1} ms of queue");
    assert_in("swing", high - low, 12.0..=16.0);
}

#[test]
fn copa_auto_does_what_the_authors_code_does_on_20_5_20() {
    let auto = ", mode = \"auto\", variant = \"pantheon\"";
    let run = Run::of(90, &copa(0.5, auto), STEPS, "");
    // Three recorded runs of genericCC `do_ss:auto:0.5`: 13.2 to 15.8, 4.5 to 4.8
    // and 13.3 to 15.5 Mbit/s, a mean one-way delay of 24 to 25, 30 to 33 and
    // 24 to 25 ms (4 to 5, 7.6 to 11 and 4 to 5 of them in the queue). That is the
    // larger of the two cycles again; in the smaller one the link is full.
    for (phase, (mbps, ms)) in (0..).zip([
        (12.0..=16.0, 3.5..=6.5),
        (4.5..=5.0, 6.0..=11.0),
        (12.0..=16.0, 3.5..=6.5),
    ]) {
        let ours = run.part(phase * 30, phase * 30 + 30);
        println!(
            "phase {phase}: {:.2} Mbit/s, {:.1} ms",
            ours.mbps, ours.waited_ms
        );
        assert_in("Mbit/s", ours.mbps, mbps);
        assert_in("ms in the queue", ours.waited_ms, ms);
    }
}

#[test]
fn mode_switching_may_compete_with_its_own_queue() {
    // Why `mode` is "fixed": after the drop to 5 Mbit/s the queue needs more than
    // five round trips to drain, and what then fills it is Copa's own answer.
    let waited = |mode: &str| {
        Run::of(60, &copa(0.5, mode), STEPS, "")
            .part(35, 60)
            .waited_ms
    };
    assert_in("fixed", waited(""), 5.0..=12.0);
    assert_in("auto", waited(", mode = \"auto\""), 150.0..=400.0);
}
