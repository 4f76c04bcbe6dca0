//! docs/EVENTS.md: what the event log says, made from the table of its columns.

use std::fmt::Write;

use super::cells::Cell;
use super::columns::{COLUMNS, Field};
use super::row::Row;

/// Each event's name, and what it says.
const EVENTS: &[(&str, &str)] = &[
    (
        "capacity",
        "a link's rate, at the start and whenever it changes",
    ),
    (
        "opportunity",
        "a link that works by delivery opportunities had one",
    ),
    ("clock", "a receiver's clock, which no controller knows"),
    ("captured", "a frame was captured"),
    ("skipped", "a captured frame was not encoded"),
    (
        "encoded",
        "a frame was encoded and handed to the packetiser",
    ),
    ("sent", "a data packet left the sender"),
    (
        "queued",
        "a packet joined a link's queue, or went straight into service",
    ),
    ("dropped", "a link dropped a packet"),
    ("marked", "a queue marked a packet instead of dropping it"),
    ("left", "a packet's last bit left a link's service"),
    ("arrived", "a data packet arrived at the receiver"),
    ("completed", "the last missing part of a frame arrived"),
    ("shown", "a frame appeared on the screen"),
    ("acked", "the sender learnt that a packet had arrived"),
    ("lost", "the sender gave a packet up for lost"),
    (
        "key wanted",
        "the decoder waits for a frame newer than this that can be decoded alone",
    ),
    (
        "timeout",
        "no feedback came for so long that the sender may send a probe",
    ),
    (
        "path down",
        "a path of several has not answered for so long that nothing new is sent on it; what \
         was under way is sent again on others",
    ),
    (
        "path up",
        "a path that was down has answered and is used again",
    ),
    ("control", "a controller changed what the sender may do"),
    ("gauge", "an inner quantity of a controller or rate control"),
];

/// The event log's document, as it stands in docs/EVENTS.md; `examples` has a
/// row of each event, from which it is seen which columns an event fills.
pub(super) fn document(examples: &[Row]) -> String {
    let mut text = String::from(INTRODUCTION);
    text += "\n## Columns\n\n| column | type | meaning |\n| --- | --- | --- |\n";
    for it in COLUMNS {
        let _ = writeln!(text, "| `{}` | {} | {} |", it.name, it.kind(), it.meaning);
    }
    text += "\n## Events\n\n| event | meaning | columns it fills |\n| --- | --- | --- |\n";
    for (event, meaning) in EVENTS {
        let name = Some(Cell::Text(event));
        let rows = || examples.iter().filter(|row| row.get(Field::Event) == name);
        let columns: Vec<String> = COLUMNS
            .iter()
            .filter(|column| !["time_ns", "event"].contains(&column.name))
            .filter(|column| rows().any(|row| row.get(column.field).is_some()))
            .map(|column| format!("`{}`", column.name))
            .collect();
        let _ = writeln!(text, "| `{event}` | {meaning} | {} |", columns.join(" "));
    }
    text
}

const INTRODUCTION: &str = "\
# The event log

`tightloop run` writes everything that happened in a run into its folder, as Parquet files `events-00000.parquet`,
`events-00001.parquet` and so on, one row per event, in the order of time. Each file but the last has the same number of
rows; a file appears under its name only when it is complete, so a run that was killed leaves all but its last rows.
Every metric, plot and life story is made from these rows alone.

A cell is empty where an event has nothing to say about that column. Times are in nanoseconds of the run's own clock,
sizes in IP bytes unless the column says otherwise. What flows and links are called stands in `run.json`.

Any reader of Parquet will do. With DuckDB, the busiest half seconds of a flow:

```sql
select time_ns // 500000000 / 2 as second, sum(size_bytes) * 16 / 1e6 as mbps
from 'runs/hello/events-*.parquet'
where event = 'arrived' and flow = 0 and not duplicate
group by second order by mbps desc limit 5;
```
";
