use std::fs;
use std::path::Path;

use tempfile::TempDir;
use tightloop::analysis::Names;
use tightloop::event::{
    Cause, Control, Direction, Event, FlowId, Fragment, FrameId, Kind, LinkId, LostBy, PacketId,
    PathId, Sink, SkippedBy,
};
use tightloop::units::{Bytes, Rate, Span, Time};

use super::cells::{Cell, tell};
use super::columns::{COLUMNS, Field};
use super::document::document;
use super::parts::{Parts, ROWS, name};
use super::row::Row;
use super::{About, Folder};
use crate::digest::Digest;

/// Every event with every shape it has.
fn examples() -> Vec<(Time, Event)> {
    let (flow, path, link, frame) = (FlowId(7), PathId(3), LinkId(5), FrameId(120));
    let packet = |direction| PacketId {
        flow,
        path,
        direction,
        number: 1 << 40,
    };
    let (data, feedback) = (packet(Direction::Data), packet(Direction::Feedback));
    let size = Bytes::new(1_500);
    let fragment = Fragment {
        frame,
        index: 2,
        count: 7,
    };
    let (waited, sojourn) = (Span::from_micros(1_500), Span::from_millis(2));
    let sent = |kind| Event::Sent {
        packet: data,
        size,
        kind,
        in_flight: size * 3,
    };
    let skipped = |by| Event::Skipped { flow, frame, by };
    let dropped = |cause| Event::Dropped {
        link,
        packet: data,
        size,
        cause,
    };
    let lost = |by| Event::Lost {
        packet: data,
        size,
        by,
    };
    let control = |control| Event::Control {
        flow,
        path,
        control,
    };
    let acked = |rtt, spurious| Event::Acked {
        packet: data,
        size,
        rtt,
        spurious,
    };
    let rate = Rate::from_kbps(12_345);
    let events = vec![
        Event::Capacity { link, rate },
        Event::Opportunity { link, size },
        Event::Clock {
            flow,
            offset: -Span::from_secs(3),
            drift_ppb: -20_000,
        },
        Event::Captured { flow, frame },
        skipped(SkippedBy::RateControl),
        skipped(SkippedBy::Encoder),
        Event::Encoded {
            flow,
            frame,
            size,
            budget: size * 2,
            key: true,
        },
        sent(Kind::Video(fragment)),
        sent(Kind::Retransmit(fragment)),
        sent(Kind::Filler),
        sent(Kind::Bulk),
        Event::Queued {
            link,
            packet: feedback,
            size,
            waiting: Bytes::ZERO,
        },
        dropped(Cause::Full),
        dropped(Cause::Aqm),
        dropped(Cause::Random),
        dropped(Cause::TooBig),
        Event::Marked { link, packet: data },
        Event::Left {
            link,
            packet: feedback,
            size,
            waited,
            sojourn,
        },
        Event::Arrived {
            packet: data,
            size,
            duplicate: true,
        },
        Event::Completed { flow, frame },
        Event::Shown { flow, frame },
        Event::KeyWanted { flow, frame },
        acked(Some(Span::from_millis(40)), false),
        acked(None, true),
        lost(LostBy::Packets),
        lost(LostBy::Time),
        Event::Timeout { flow, path },
        Event::PathDown { flow, path },
        Event::PathUp { flow, path },
        control(Control::default()),
        control(Control {
            window: Some(size * 9),
            pacing: Some(rate),
            floor: Some(Rate::ZERO),
            target: Some(rate * 0.5),
        }),
        Event::Gauge {
            flow,
            path,
            name: "delta",
            value: 0.1,
        },
    ];
    (0..).map(Time::from_millis).zip(events).collect()
}

fn row_of((at, event): &(Time, Event)) -> Row {
    let mut row = Row::default();
    tell(*at, event, &mut |field, cell| row.set(field, cell));
    row
}

fn about(id: &str) -> About {
    About {
        tightloop: "1.2.3".into(),
        id: id.into(),
        scenario: "example".into(),
        seed: 1,
        command: String::new(),
        complete: true,
        logged: true,
        events: 0,
        packets: 0,
        digest: None,
        names: Names::default(),
    }
}

fn scratch() -> TempDir {
    TempDir::new().expect("a scratch folder")
}

#[test]
fn columns_stand_in_the_order_of_their_fields() {
    for (place, column) in COLUMNS.iter().enumerate() {
        assert_eq!(column.field as usize, place, "{}", column.name);
    }
}

#[test]
fn a_row_gives_the_event_back() {
    for event in examples() {
        assert_eq!(row_of(&event).event(), Some(event));
    }
}

#[test]
fn a_row_that_makes_no_sense_gives_nothing() {
    let damage = |wanted: &'static str, field, cell| {
        let rows = examples();
        let mut rows = rows.iter().map(row_of);
        let row = rows.find(|row| row.get(Field::Event) == Some(Cell::Text(wanted)));
        let mut row = row.expect(wanted);
        row.set(field, cell);
        row.event()
    };
    assert_eq!(damage("sent", Field::Packet, Cell::Number(-1)), None);
    assert_eq!(damage("sent", Field::Kind, Cell::Number(1)), None);
    assert_eq!(damage("dropped", Field::Why, Cell::Text("boredom")), None);
    assert_eq!(
        damage("captured", Field::Event, Cell::Text("vanished")),
        None
    );
}

#[test]
fn every_event_is_digested_and_no_two_alike() {
    let digest = |events: &[(Time, Event)]| {
        let mut digest = Digest::default();
        events
            .iter()
            .for_each(|(at, event)| digest.record(*at, event));
        digest.hex()
    };
    let all = examples();
    let whole = digest(&all);
    assert_eq!(whole, digest(&all));
    for left_out in 0..all.len() {
        let mut fewer = all.clone();
        fewer.remove(left_out);
        assert_ne!(digest(&fewer), whole, "{:?}", all[left_out]);
    }
    let mut swapped = all.clone();
    (swapped[3].1, swapped[4].1) = (swapped[4].1, swapped[3].1);
    assert_ne!(digest(&swapped), whole);
}

/// Two full parts and a rest come back as they were, in order.
#[test]
fn parts_are_read_back_as_they_were_written() {
    let scratch = scratch();
    let path = scratch.path();
    let mut about = about("a");
    let folder = Folder::create(path, &about, false).expect("a folder");
    let mut parts = Parts::begin(path);
    let mut digest = Digest::default();
    let examples = examples();
    let count = 2 * ROWS + 5;
    let event = |place: usize| {
        let (_, event) = examples[place % examples.len()];
        (Time::from_nanos(place as u64 * 1_000), event)
    };
    for (at, event) in (0..count).map(event) {
        parts.record(at, &event);
        digest.record(at, &event);
    }
    let written = parts.finish().expect("written");
    assert_eq!(
        (written.events, written.digest),
        (count as u64, digest.hex())
    );
    let mut read: Vec<(Time, Event)> = Vec::new();
    about.events = written.events;
    let (events, last) = folder.replay(&about, &mut read).expect("read");
    assert_eq!((events, last), (count as u64, event(count - 1).0));
    assert_eq!(read.len(), count);
    for (place, read) in read.into_iter().enumerate() {
        assert_eq!(read, event(place));
    }
    // A part that is gone is missed.
    fs::remove_file(path.join(name(2))).expect("it was there");
    let missing = folder
        .replay(&about, &mut Vec::new())
        .expect_err("incomplete");
    assert!(
        missing.to_string().contains("a part is missing"),
        "{missing}"
    );
}

#[test]
fn only_complete_parts_are_seen_of_a_run_that_was_killed() {
    let scratch = scratch();
    let path = scratch.path();
    let mut about = about("a");
    about.complete = false;
    let folder = Folder::create(path, &about, false).expect("a folder");
    let mut parts = Parts::begin(path);
    for (at, event) in examples() {
        parts.record(at, &event);
    }
    let written = parts.finish().expect("written");
    fs::write(path.join("events-00001.parquet.unfinished"), "half a fi").expect("written");
    let mut read: Vec<(Time, Event)> = Vec::new();
    let (events, _) = folder.replay(&about, &mut read).expect("read");
    assert_eq!(events, written.events);
    assert_eq!(read, examples());
}

#[test]
fn results_of_another_run_are_replaced_only_by_force() {
    let scratch = scratch();
    let path = scratch.path();
    let create = |id, force| Folder::create(path, &about(id), force).map(|_| ());
    create("a", false).expect("an empty folder");
    create("a", false).expect("the same run again");
    let refused = create("b", false).expect_err("another run").to_string();
    assert!(refused.contains("--force"), "{refused}");
    fs::write(path.join("events-00000.parquet"), "").expect("written");
    fs::write(path.join("notes.txt"), "mine").expect("written");
    create("b", true).expect("by force");
    assert!(!path.join("events-00000.parquet").exists());
    assert!(path.join("notes.txt").exists());

    let foreign = TempDir::new().expect("a scratch folder");
    fs::write(foreign.path().join("thesis.tex"), "").expect("written");
    let refused = Folder::create(foreign.path(), &about("a"), false).expect_err("foreign");
    assert!(
        refused.to_string().contains("holds no results"),
        "{refused}"
    );
}

#[test]
fn the_document_says_what_the_log_says() {
    let rows: Vec<Row> = examples().iter().map(row_of).collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/EVENTS.md");
    let expected = document(&rows);
    if std::env::var_os("INSTA_UPDATE").is_some_and(|update| update == "always") {
        fs::create_dir_all(path.parent().expect("docs")).expect("made");
        fs::write(&path, &expected).expect("written");
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "docs/EVENTS.md is not what the columns say; INSTA_UPDATE=always writes it"
    );
}
