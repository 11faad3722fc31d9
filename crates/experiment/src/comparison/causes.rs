//! Causes for which `carry` is behind on networks of `studies/compare.toml`.

use serde::Deserialize;

use super::document::CarryBehind;
use crate::error::Error;
use crate::study::pattern;

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BehindCauseFile {
    cause: Vec<BehindCause>,
}

/// A cause, with the command that shows it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BehindCause {
    /// Names of networks, in which `*` stands for any text.
    pub networks: Vec<String>,
    /// Presets of TCP; all of them unless given.
    #[serde(default)]
    pub tcps: Option<Vec<String>>,
    text: String,
    shown_by: String,
}

impl BehindCause {
    fn explains(&self, of: &CarryBehind) -> bool {
        self.networks.iter().any(|name| pattern::matches(name, &of.network))
            && self.tcps.as_ref().is_none_or(|tcps| tcps.contains(&of.tcp))
    }
}

/// Reads causes from the text of their file.
///
/// # Errors
///
/// It is invalid.
pub fn parse(text: &str) -> Result<Vec<BehindCause>, Error> {
    toml::from_str::<BehindCauseFile>(text)
        .map(|file| file.cause)
        .map_err(|error| Error::refused(format!("compare-causes.toml: {error}")))
}

/// Gives each case the first cause that explains it.
pub fn explain(cases: &mut [CarryBehind], causes: &[BehindCause]) {
    for of in cases {
        let cause = causes.iter().find(|cause| cause.explains(of));
        of.because = cause.map(|cause| cause.text.clone());
        of.shown_by = cause.map(|cause| cause.shown_by.clone());
    }
}

#[cfg(test)]
mod test {
    use super::super::arms::TCPS;
    use super::super::networks::{ListPart, listed_networks};
    use super::*;

    /// A cause about a network or a TCP that does not exist would explain nothing.
    #[test]
    fn every_cause_is_about_something() {
        let list = listed_networks(ListPart::All).unwrap();
        let causes = parse(include_str!("../../studies/compare-causes.toml")).unwrap();
        for BehindCause { networks, tcps, .. } in &causes {
            for name in networks {
                let found = list.networks.iter().any(|of| pattern::matches(name, &of.name));
                assert!(found, "{name}");
            }
            for name in tcps.iter().flatten() {
                assert!(TCPS.iter().any(|tcp| tcp.name == name), "{name}");
            }
        }
    }

    #[test]
    fn a_case_has_the_first_cause_that_explains_it() {
        let causes = parse(
            "[[cause]]\nnetworks = [\"short-*\"]\ntcps = [\"sack\"]\ntext = \"one\"\nshown_by = \"a\"\n\
             [[cause]]\nnetworks = [\"short-1\"]\ntext = \"two\"\nshown_by = \"b\"\n",
        )
        .unwrap();
        let case = |network: &str, tcp: &str| CarryBehind {
            network: network.to_owned(),
            tcp: tcp.to_owned(),
            aid: "none".to_owned(),
            reading: None,
            carry_relative: 0.9,
            ci90: None,
            certain: false,
            because: None,
            shown_by: None,
        };
        let mut cases = [case("short-1", "sack"), case("short-1", "linux"), case("long", "sack")];
        explain(&mut cases, &causes);
        assert_eq!(cases.map(|of| of.because), [Some("one".into()), Some("two".into()), None]);
    }
}
