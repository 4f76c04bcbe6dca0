//! Who is compared: a controller, and the rate control above it.

use anyhow::{Result, bail};
use tightloop::cc::ALGORITHMS;
use tightloop::scenario::{Named, unknown_name};
use tightloop::video::RATE_CONTROLS;

use crate::out;

/// Who is compared where nobody says.
pub(crate) const USUAL: &str = "sqp,gcc,copa,cubic,vidaptive+copa";

/// The rate control of controllers named alone.
const PLAIN: &str = "follow";

/// A controller, and the rate control above it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Contender {
    /// As it was typed.
    pub(crate) name: String,
    pub(crate) cc: Named,
    pub(crate) rate_control: Named,
}

/// Reads a list such as `sqp,vidaptive+copa:delta=0.1`.
pub(crate) fn list(text: &str) -> Result<Vec<Contender>> {
    let mut contenders: Vec<Contender> = Vec::new();
    for name in text.split(',').map(str::trim).filter(|it| !it.is_empty()) {
        let contender = one(name)?;
        if contenders.contains(&contender) {
            bail!("{name} is in the list twice");
        }
        contenders.push(contender);
    }
    if contenders.is_empty() {
        bail!("the list of controllers is empty; `tightloop list controllers` shows them all");
    }
    Ok(contenders)
}

fn one(text: &str) -> Result<Contender> {
    let (rate_control, cc) = text.split_once('+').unwrap_or((PLAIN, text));
    let (rate_control, cc) = (named(rate_control)?, named(cc)?);
    let controllers = ALGORITHMS.iter().map(|it| it.name);
    if !controllers.clone().any(|known| known == cc.name) {
        if RATE_CONTROLS.iter().any(|known| known.name == cc.name) {
            bail!(
                "{0} is a rate control and needs a controller below it, as in {0}+copa",
                cc.name
            );
        }
        bail!(unknown_name("controller", &cc.name, controllers));
    }
    let known = RATE_CONTROLS.iter().map(|it| it.name);
    if !known.clone().any(|known| known == rate_control.name) {
        bail!(unknown_name("rate control", &rate_control.name, known));
    }
    Ok(Contender {
        name: text.to_owned(),
        cc,
        rate_control,
    })
}

/// `copa:delta=0.1:mode=…`, values as TOML or bare words.
fn named(text: &str) -> Result<Named> {
    let mut parts = text.split(':');
    let mut named = Named::plain(parts.next().unwrap_or_default());
    for part in parts {
        let Some((key, value)) = part.split_once('=') else {
            bail!("{part} in {text} sets nothing; write {part}=VALUE");
        };
        let parsed = toml::from_str::<toml::Table>(&format!("value = {value}"));
        let value = parsed.ok().and_then(|mut table| table.remove("value"));
        let value = value.unwrap_or_else(|| part[key.len() + 1..].into());
        named.params.insert(key.to_owned(), value);
    }
    Ok(named)
}

impl Contender {
    /// Its folder.
    pub(crate) fn folder(&self) -> String {
        out::file_name(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_controllers_and_rate_controls_with_settings() {
        let found = list("cubic, follow:share=0.9+copa:delta=0.1,").expect("good");
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].rate_control, Named::plain("follow"));
        assert_eq!(found[1].cc.params["delta"].as_float(), Some(0.1));
        assert_eq!(found[1].rate_control.params["share"].as_float(), Some(0.9));
        assert_eq!(found[1].folder(), "follow-share=0.9+copa-delta=0.1");
        let word = named("x:mode=fast:rate=2 Mbit/s").expect("words");
        assert_eq!(word.params["mode"].as_str(), Some("fast"));
        assert_eq!(word.params["rate"].as_str(), Some("2 Mbit/s"));
    }

    #[test]
    fn slips_are_told_with_a_way_out() {
        let refused = |text: &str| list(text).expect_err("refused").to_string();
        assert!(refused("cubik").contains("did you mean `cubic`?"));
        assert!(refused("folow+copa").contains("did you mean `follow`?"));
        assert!(refused("follow").contains("as in follow+copa"));
        assert!(refused("copa:delta").contains("write delta=VALUE"));
        assert!(refused(" , ").contains("empty"));
        assert!(refused("copa,copa").contains("twice"));
    }

    #[test]
    fn the_usual_ones_exist() {
        assert_eq!(list(USUAL).expect("all known").len(), 5);
    }
}
