use clap::Parser;

use super::*;
use crate::args::{Cli, Command};

fn plan(words: &[&str]) -> Result<Plan> {
    let all = ["tightloop", "emulate"].iter().chain(words);
    let Command::Emulate(args) = Cli::try_parse_from(all)?.command else {
        bail!("another command");
    };
    Plan::of(&args)
}

#[test]
fn words_become_links() {
    let plan = plan(&[
        "--up=12 Mbit/s",
        "--delay=20ms",
        "--queue=droptail:packets=200",
        "--loss=1%",
        "--jitter=5ms",
        "--set=down.delay=80 ms",
        "--set=down.queue.packets=50",
        "--set=down.rate=3 Mbit/s",
    ]);
    let plan = plan.expect("good words");
    let [up, down] = plan.ways.clone().map(|links| links[0].settings.clone());
    assert_eq!(up.rate, Some(Rate::from_mbps(12)));
    assert_eq!(up.delay, Span::from_millis(20));
    assert_eq!(up.queue.kind, "drop_tail");
    assert!((up.loss - 0.01).abs() < 1e-12 && up.jitter.is_some());
    assert_eq!(down.delay, Span::from_millis(80));
    assert_eq!(down.queue.params["packets"].as_integer(), Some(50));
    assert_eq!(plan.most(), Some(Rate::from_mbps(15)));
    assert_eq!(
        [plan.first(Way::Down), plan.last(Way::Up)],
        [LinkId(1), LinkId(0)]
    );
    assert_eq!(
        plan.words(Way::Down),
        "3 Mbit/s 80 ms drop_tail:packets=50 loss 0.01 jitter"
    );
}

#[test]
fn slips_are_told_with_a_way_out() {
    for (words, reason) in [
        (["--up=gone.trace"], "neither a file nor a rate"),
        (["--queue=droptale"], "no queue is called `droptale`"),
        (["--queue=droptail:packets"], "write packets=VALUE"),
        (["--loss=much"], "such as 0.01 or 1%"),
        (["--loss=gilbert:to_bad=1"], "to_good"),
        (["--jitter=some"], "such as 5ms"),
        (["--set=sideways.delay=1 ms"], "write up.KEY=VALUE"),
        (["--set=up.dellay=1 ms"], "unknown field `dellay`"),
        (["--scenario=gone.toml"], "cannot read gone.toml"),
    ] {
        let error = format!("{:#}", plan(&words).expect_err(words[0]));
        assert!(error.contains(reason), "{words:?}: {error}");
    }
}
