use insta::assert_snapshot;
use ratatui_core::backend::TestBackend;
use ratatui_core::terminal::Terminal;

use super::*;

fn drawn(panel: &Panel, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
    let draw = terminal.draw(|frame| frame.render_widget(panel, frame.area()));
    draw.expect("a frame");
    terminal.backend().to_string()
}

fn kbps(rate: u64) -> Rate {
    Rate::from_kbps(rate)
}

/// A ramp under 12 Mbit/s, and a link that goes up and down and out.
fn panel() -> Panel {
    let up = (0..60).map(|second| Column {
        rate: kbps(second * 200),
        limit: Some(Rate::from_mbps(12)),
    });
    let down = (0..25_u64).map(|second| {
        let limit = kbps([6_000, 3_000, 0][second as usize / 5 % 3]);
        Column {
            rate: limit.min(kbps(2_500)),
            limit: Some(limit),
        }
    });
    let lane = |name, past: VecDeque<Column>, words: [&str; 2]| Lane {
        name,
        now: *past.back().expect("a column"),
        past,
        words: words.map(|it| Line::from(it.to_owned())).to_vec(),
    };
    Panel {
        title: "tightloop emulate -- curl -O http://100.64.0.1/some/file".into(),
        elapsed: Span::from_secs(61),
        lanes: vec![
            lane(
                "up",
                up.collect(),
                [
                    "queue 12 packets, 8.3 ms; 3 dropped, 0 marked",
                    "late 11 µs (p50), 84 µs (p99)",
                ],
            ),
            lane(
                "down",
                down.collect(),
                ["queue 0 packets; 0 dropped, 0 marked", "nothing yet"],
            ),
        ],
    }
}

#[test]
fn a_narrow_terminal_has_one_lane_below_the_other() {
    let panel = panel();
    assert_eq!(panel.height(80), 13);
    assert_snapshot!("narrow", drawn(&panel, 80, 13));
}

#[test]
fn a_wide_terminal_has_lanes_side_by_side() {
    let panel = panel();
    assert_eq!(panel.height(150), 7);
    assert_snapshot!("wide", drawn(&panel, 150, 7));
}

#[test]
fn a_very_narrow_terminal_has_the_newest_seconds_and_nothing_breaks() {
    assert_snapshot!("tiny", drawn(&panel(), 34, 9));
    for (width, height) in [(1, 1), (3, 2), (15, 5), (400, 50)] {
        drawn(&panel(), width, height);
    }
}

#[test]
fn before_the_first_second_there_is_no_chart() {
    let mut panel = panel();
    for lane in &mut panel.lanes {
        lane.past.clear();
        lane.now = Column {
            rate: Rate::ZERO,
            limit: None,
        };
    }
    panel.elapsed = Span::ZERO;
    assert_snapshot!("begun", drawn(&panel, 60, 13));
}
