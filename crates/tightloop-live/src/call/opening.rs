//! The question that opens a line, and its answer: TOML, as scenarios are.

use serde::{Deserialize, Serialize};
use tightloop::scenario::{Flow, PacketSettings};

use super::identity::{hex, unhex};
use crate::picture::Size;

/// The version of everything on the wire. Another one is refused.
pub const VERSION: u32 = 1;

/// What pictures are sent, where they are real ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Film {
    /// The codec, of [`crate::codec::CODECS`].
    pub codec: String,
    /// The pictures' size.
    pub size: Size,
    /// Frames a second.
    pub fps: f64,
}

/// What a sender says first on every line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hello {
    /// [`VERSION`].
    pub version: u32,
    /// The call that the line belongs to: its lines name the same one.
    pub call: String,
    /// The path that the line is.
    pub path: u8,
    /// The call has been answered before: this line takes up a broken one.
    pub again: bool,
    /// That the sender knows the token, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<String>,
    /// What travels, where it is real pictures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub film: Option<Film>,
    /// Packet sizes.
    pub packet: PacketSettings,
    /// The flow, whose receiving half the receiver is to be.
    pub flow: Flow,
}

/// What the receiver answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Welcome {
    /// [`VERSION`].
    pub(super) version: u32,
    /// A receiver that was started anew has another one.
    pub(super) incarnation: String,
    /// That the receiver knows the token, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) proof: Option<String>,
}

/// A proof as it is written.
pub(super) fn written(proof: Option<Vec<u8>>) -> Option<String> {
    proof.map(|proof| hex(&proof))
}

/// A proof as it was.
pub(super) fn read(proof: Option<&String>) -> Option<Vec<u8>> {
    proof.and_then(|proof| unhex(proof))
}

pub(super) fn encode(message: &impl Serialize) -> Result<Vec<u8>, String> {
    let text = toml::to_string(message).map_err(|error| error.to_string())?;
    Ok(text.into_bytes())
}

pub(super) fn decode<'a, T: Deserialize<'a>>(words: &'a [u8]) -> Result<T, String> {
    let text = std::str::from_utf8(words).map_err(|error| error.to_string())?;
    let document = toml::Deserializer::parse(text).map_err(|error| error.message().to_owned())?;
    T::deserialize(document).map_err(|error| error.message().to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hello() -> Hello {
        Hello {
            version: VERSION,
            call: "1f".into(),
            path: 0,
            again: false,
            proof: Some("aa".into()),
            film: Some(Film {
                codec: "openh264".into(),
                size: Size::new(640, 360).expect("a size"),
                fps: 30.0,
            }),
            packet: PacketSettings::default(),
            flow: Flow::over("copa", "up", "down"),
        }
    }

    #[test]
    fn a_question_is_read_as_it_was_written() {
        let words = encode(&hello()).expect("words");
        assert_eq!(decode(&words), Ok(hello()));
        assert!(words.len() < 2_000, "{}", words.len());
    }

    proptest! {
        #[test]
        fn garbage_is_refused_and_does_no_harm(garbage in prop::collection::vec(any::<u8>(), 0..100)) {
            prop_assert!(decode::<Hello>(&garbage).is_err());
            let mut words = encode(&hello()).expect("words");
            words.extend_from_slice(&garbage);
            let _ = decode::<Hello>(&words);
        }
    }
}
