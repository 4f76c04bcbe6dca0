//! What a queue discipline is, and the list of all of them.
//!
//! A queue holds waiting packets only: a packet that the service has begun to
//! carry has left the queue and counts in no limit.
//!
//! To add one: write a file like `drop_tail.rs` and add a line to [`queues`].

use std::collections::VecDeque;
use std::fmt;

use dyn_clone::DynClone;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use crate::event::{Cause, Ecn, PacketId};
use crate::settings::{Params, SettingError};
use crate::units::{Bytes, Rate, Time};

use super::{codel, drop_head, drop_tail};

/// Every discipline of the house.
#[must_use]
pub const fn queues<P: Packet>() -> &'static [QueueKind<P>] {
    const {
        &[
            drop_tail::infinite(),
            drop_tail::drop_tail(),
            drop_head::drop_head(),
            codel::codel(),
        ]
    }
}

/// What a link must know of a packet; everything else is the owner's.
pub trait Packet: Clone + fmt::Debug + Send + 'static {
    /// Its size in IP bytes.
    fn size(&self) -> Bytes;
    /// Its name, for events; the flow decides which delay and which luck it
    /// meets.
    fn id(&self) -> PacketId;
    /// Its ECN field.
    fn ecn(&self) -> Ecn;
    /// Sets the ECN field to [`Ecn::Ce`].
    fn mark_ce(&mut self);
}

/// A packet in a queue, with when it joined.
#[derive(Clone, Debug)]
pub struct Parcel<P> {
    /// The packet.
    pub packet: P,
    /// Its size, so that queues need not ask.
    pub size: Bytes,
    /// When it arrived at the link.
    pub arrived: Time,
}

/// What a queue tells about the packets it does not pass on untouched.
pub trait Verdicts<P> {
    /// The queue dropped this packet.
    fn drop(&mut self, at: Time, parcel: Parcel<P>, cause: Cause);
    /// The queue set this packet's ECN field to [`Ecn::Ce`].
    fn mark(&mut self, at: Time, packet: &P);
}

/// A queue discipline: who waits, who is dropped, who goes next.
///
/// Calls come at logical instants in the order of time. `rate` is the service's
/// rate at that instant: zero during an outage, the mean of the last second
/// where packets leave by opportunities, `None` where a rate means nothing.
pub trait Queue<P: Packet>: DynClone + fmt::Debug + Send {
    /// A packet arrives. Returns whether it joined; where it did not,
    /// `verdicts` was told.
    fn push(
        &mut self,
        now: Time,
        parcel: Parcel<P>,
        rate: Option<Rate>,
        verdicts: &mut dyn Verdicts<P>,
    ) -> bool;
    /// The service asks for the next packet.
    fn pop(
        &mut self,
        now: Time,
        rate: Option<Rate>,
        verdicts: &mut dyn Verdicts<P>,
    ) -> Option<Parcel<P>>;
    /// Waiting packets.
    fn packets(&self) -> usize;
    /// Waiting bytes.
    fn bytes(&self) -> Bytes;
}

dyn_clone::clone_trait_object!(<P: Packet> Queue<P>);

/// Builds a queue.
pub type NewQueue<P> = fn(&Params) -> Result<Box<dyn Queue<P>>, SettingError>;

/// An entry of [`queues`].
#[derive(Clone, Copy, Debug)]
pub struct QueueKind<P: Packet> {
    /// The name scenarios use.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Keys of REFERENCES.md.
    pub cites: &'static [&'static str],
    /// The settings that it has where a scenario says nothing.
    pub defaults: fn() -> Params,
    /// Builds one.
    pub new: NewQueue<P>,
}

/// A discipline as a scenario names it: `"codel"`, or a table with `kind` and
/// the discipline's own settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Discipline {
    /// A name of [`queues`].
    pub kind: String,
    /// The settings; keys that the discipline does not know are errors.
    pub params: Params,
}

impl Discipline {
    /// Builds the queue.
    ///
    /// # Errors
    ///
    /// Names that are not known, and settings that the discipline refuses.
    pub fn build<P: Packet>(&self) -> Result<Box<dyn Queue<P>>, SettingError> {
        let known = queues::<P>();
        let Some(entry) = known.iter().find(|entry| entry.name == self.kind) else {
            let names: Vec<&str> = known.iter().map(|entry| entry.name).collect();
            return Err(SettingError(format!(
                "no queue is called `{}`; use one of {}",
                self.kind,
                names.join(", ")
            )));
        };
        (entry.new)(&self.params)
            .map_err(|SettingError(why)| SettingError(format!("queue `{}`: {why}", self.kind)))
    }
}

impl Default for Discipline {
    /// Infinite, as Mahimahi's default queue is.
    fn default() -> Self {
        Self {
            kind: "infinite".into(),
            params: Params::new(),
        }
    }
}

impl Serialize for Discipline {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.params.is_empty() {
            return serializer.serialize_str(&self.kind);
        }
        let mut table = self.params.clone();
        table.insert("kind".into(), self.kind.clone().into());
        table.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Discipline {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameOrTable;
        impl<'de> Visitor<'de> for NameOrTable {
            type Value = Discipline;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a queue's name or a table, for example \"codel\" or \
                     { kind = \"drop_tail\", packets = 200 }",
                )
            }
            fn visit_str<E: de::Error>(self, kind: &str) -> Result<Discipline, E> {
                Ok(Discipline {
                    kind: kind.into(),
                    params: Params::new(),
                })
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Discipline, A::Error> {
                let mut params = Params::deserialize(de::value::MapAccessDeserializer::new(map))?;
                match params.remove("kind") {
                    Some(toml::Value::String(kind)) => Ok(Discipline { kind, params }),
                    _ => Err(de::Error::custom(
                        "a queue's table needs its name, for example kind = \"drop_tail\"",
                    )),
                }
            }
        }
        deserializer.deserialize_any(NameOrTable)
    }
}

/// Waiting packets in the order of arrival: what every discipline here holds.
#[derive(Clone, Debug)]
pub(super) struct Waiting<P> {
    parcels: VecDeque<Parcel<P>>,
    bytes: Bytes,
}

impl<P> Waiting<P> {
    pub(super) const fn new() -> Self {
        Self {
            parcels: VecDeque::new(),
            bytes: Bytes::ZERO,
        }
    }

    #[inline]
    pub(super) fn push(&mut self, parcel: Parcel<P>) {
        self.bytes += parcel.size;
        self.parcels.push_back(parcel);
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Parcel<P>> {
        let parcel = self.parcels.pop_front()?;
        self.bytes -= parcel.size;
        Some(parcel)
    }

    pub(super) fn packets(&self) -> usize {
        self.parcels.len()
    }

    pub(super) const fn bytes(&self) -> Bytes {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::tests::Mail;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Scenario {
        queue: Discipline,
    }

    fn read(text: &str) -> Result<Discipline, String> {
        toml::from_str::<Scenario>(text)
            .map(|scenario| scenario.queue)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn every_discipline_is_built_from_its_name() {
        for kind in queues::<Mail>() {
            let params = match kind.name {
                "drop_tail" | "drop_head" => "packets = 10",
                _ => "",
            };
            let text = format!("queue = {{ kind = \"{}\", {params} }}", kind.name);
            let queue = read(&text).expect("a discipline").build::<Mail>();
            assert_eq!(queue.expect("good settings").packets(), 0, "{}", kind.name);
            assert!(!kind.summary.is_empty());
        }
    }

    #[test]
    fn a_name_and_a_table_are_read_and_written_back() {
        for text in [
            "queue = \"codel\"\n",
            "[queue]\nkind = \"drop_tail\"\npackets = 200\n",
        ] {
            let queue = read(text).expect("a discipline");
            let written = toml::to_string(&Scenario {
                queue: queue.clone(),
            });
            assert_eq!(read(&written.expect("a table")), Ok(queue));
        }
    }

    #[test]
    fn wrong_disciplines_are_refused_with_a_reason() {
        let refused = |text: &str| match read(text) {
            Err(error) => error,
            Ok(queue) => queue.build::<Mail>().expect_err("refused").to_string(),
        };
        for (text, reason) in [
            ("queue = \"red\"", "infinite, drop_tail, drop_head, codel"),
            ("queue = { packets = 3 }", "kind = \"drop_tail\""),
            ("queue = 3", "a queue's name or a table"),
            (
                "queue = { kind = \"codel\", tarket = \"5 ms\" }",
                "unknown field `tarket`",
            ),
            ("queue = \"drop_tail\"", "packets, bytes, time or bdp"),
        ] {
            let error = refused(text);
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
