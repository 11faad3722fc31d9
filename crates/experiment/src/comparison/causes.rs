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

/// The cause where `carry` has exactly the throughput of the same TCP without an aid.
const NOTHING_TO_DO: &str = "carry does nothing here: it sees no outage, and nothing shows that a loss is not congestion. An aid \
                             that keeps the window over every loss keeps it over those of a full queue, too, which costs the \
                             flows beside it.";

/// Names of aids that keep the window over every loss begin so.
const KEEPS_WINDOW: &str = "atcp";

/// Difference from the throughput without an aid that counts as none.
const NO_DIFFERENCE: f64 = 1e-9;

/// Gives each case the first cause that explains it. `to_plain` returns the throughput of `carry` in a case over that of
/// the same TCP without an aid.
pub fn explain(
    cases: &mut [CarryBehind],
    causes: &[BehindCause],
    to_plain: impl Fn(&CarryBehind) -> Option<f64>,
) {
    for of in cases {
        let cause = causes.iter().find(|cause| cause.explains(of));
        let is_plain = to_plain(of).is_some_and(|ratio| (ratio - 1.0).abs() < NO_DIFFERENCE);
        of.because = cause.map(|cause| cause.text.clone()).or_else(|| {
            (is_plain && of.aid.starts_with(KEEPS_WINDOW)).then(|| NOTHING_TO_DO.to_owned())
        });
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

    fn case(network: &str, tcp: &str) -> CarryBehind {
        CarryBehind {
            network: network.to_owned(),
            tcp: tcp.to_owned(),
            aid: "none".to_owned(),
            reading: None,
            carry_relative: 0.9,
            ci90: None,
            certain: false,
            because: None,
            shown_by: None,
        }
    }

    #[test]
    fn a_case_has_the_first_cause_that_explains_it() {
        let causes = parse(
            "[[cause]]\nnetworks = [\"short-*\"]\ntcps = [\"sack\"]\ntext = \"one\"\nshown_by = \"a\"\n\
             [[cause]]\nnetworks = [\"short-1\"]\ntext = \"two\"\nshown_by = \"b\"\n",
        )
        .unwrap();
        let mut cases = [case("short-1", "sack"), case("short-1", "linux"), case("long", "sack")];
        explain(&mut cases, &causes, |_| Some(1.0));
        assert_eq!(cases.map(|of| of.because), [Some("one".into()), Some("two".into()), None]);
    }

    #[test]
    fn carry_that_changes_nothing_is_a_cause_beside_an_aid_that_keeps_the_window() {
        let explained = |aid: &str, to_plain: f64| {
            let mut cases = [CarryBehind { aid: aid.to_owned(), ..case("any", "sack") }];
            explain(&mut cases, &[], |_| Some(to_plain));
            cases[0].because.is_some()
        };
        assert!(explained("atcp-partial", 1.0) && explained("atcp", 1.0));
        assert!(!explained("atcp", 0.999) && !explained("tcp-f", 1.0) && !explained("none", 1.0));
    }
}
