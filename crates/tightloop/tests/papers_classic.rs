//! The classic TCPs alone on a simulated link: each does what it is known for,
//! beside Reno where that is what it was made to better.

#![allow(clippy::disallowed_macros)] // People read the numbers with --nocapture.

#[path = "bands/mod.rs"]
mod bands;

use bands::between;
use tightloop::analysis::{Names, Report, Summary, Window};
use tightloop::event::Log;
use tightloop::scenario::Scenario;
use tightloop::units::{Span, Time};

/// One bulk flow over 20 Mbit/s, after its first ten seconds.
struct Alone(Report);

impl Alone {
    /// `cc`, the queue and what else the links and the flow have, as TOML.
    fn of(cc: &str, rtt: i64, link: &str, flow: &str) -> Self {
        let delay = Span::from_millis(rtt) / 2;
        let text = format!(
            "name = \"alone\"\nduration = \"60 s\"\n\
             [link.a]\nrate = \"20 Mbit/s\"\ndelay = \"{delay}\"\n{link}\n[link.b]\ndelay = \"{delay}\"\n\
             [[flow]]\ncc = {{ {cc} }}\ntraffic = {{ bulk = {{}} }}\n\
             path = {{ links = [\"a\"], back = [\"b\"] }}\n{flow}\n"
        );
        let scenario: Scenario = toml::from_str(&text).expect("a scenario");
        let mut built = scenario.build(&|_| None).expect("a world");
        let names = Names {
            flows: built.flows,
            links: built.links,
        };
        let window = Window {
            from: Time::from_secs(10),
            to: scenario.end(),
        };
        let mut summary = Summary::new(names, window);
        built.world.run(scenario.end(), &mut Log::to(&mut summary));
        Self(summary.report())
    }

    #[track_caller]
    fn number(&self, key: &str) -> f64 {
        let value = self.0.get(key).expect("a key");
        value.number().unwrap_or_else(|| panic!("{key}: nothing"))
    }

    fn used(&self) -> f64 {
        self.number("link.a.utilisation")
    }

    /// Mean wait in ms.
    fn wait(&self) -> f64 {
        Span::from_secs_f64(self.number("link.a.waited.mean")).millis_f64()
    }
}

/// A buffer of one bandwidth-delay product at 40 ms: 66.7 packets, 40 ms.
const ONE_BDP: &str = "queue = { kind = \"drop_tail\", packets = 67 }";

fn named(name: &str) -> String {
    format!("name = \"{name}\"")
}

#[test]
fn with_a_buffer_of_one_pipe_all_of_them_fill_the_link() {
    // Half of what is in flight is the pipe: just full. Westwood keeps the pipe.
    for (name, low, high) in [
        ("reno", 15.0, 25.0),
        ("hybla", 15.0, 25.0),
        ("illinois", 15.0, 35.0),
        ("westwood", 15.0, 25.0),
    ] {
        let alone = Alone::of(&named(name), 40, ONE_BDP, "");
        between(&format!("{name} uses"), alone.used(), 0.97, 1.001);
        between(&format!("{name} waits"), alone.wait(), low, high);
        let losses = alone.number("link.a.drops");
        between(&format!("{name} loses"), losses, 5.0, 800.0);
    }
}

#[test]
fn random_loss_costs_westwood_little_and_a_long_path_costs_hybla_little() {
    let lossy = |name: &str, rtt, loss: f64| {
        let link = format!("queue = {{ kind = \"infinite\" }}\nloss = {loss:?}");
        Alone::of(&named(name), rtt, &link, "").used()
    };
    // Reno: 1.22/√p packets a round trip, 0.41 of the link.
    let reno = lossy("reno", 40, 0.002);
    between("reno at 0.2 % loss", reno, 0.33, 0.5);
    between(
        "westwood over reno",
        lossy("westwood", 40, 0.002) / reno,
        1.5,
        2.5,
    );
    // ρ = 8: eight times Reno's window, were the link that fast.
    let reno = lossy("reno", 200, 0.001);
    between("reno at 200 ms", reno, 0.08, 0.16);
    between(
        "hybla over reno",
        lossy("hybla", 200, 0.001) / reno,
        5.0,
        9.0,
    );
}

#[test]
fn marks_reach_dctcp_through_feedback() {
    let codel = "queue = { kind = \"codel\", ecn = true }";
    let marked = Alone::of(&named("dctcp"), 40, codel, "ecn = true");
    between("uses", marked.used(), 0.97, 1.001);
    between("waits", marked.wait(), 2.0, 8.0);
    between("marks", marked.number("link.a.marks"), 50.0, 3_000.0);
    between("drops", marked.number("link.a.drops"), 0.0, 0.0);
    // A flow that cannot be marked is dropped, and halves: Reno.
    let dropped = Alone::of(&named("dctcp"), 40, codel, "");
    let reno = Alone::of(&named("reno"), 40, codel, "");
    between("unmarked", dropped.number("link.a.marks"), 0.0, 0.0);
    between("as reno", dropped.used() / reno.used(), 0.97, 1.03);
    between("less than marked", dropped.used(), 0.7, 0.97);
}
