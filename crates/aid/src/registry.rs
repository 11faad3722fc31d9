//! Registry of the aids.
//!
//! A new aid needs a file that declares its options ([`options!`](driftway_base::options!)) and names the aid
//! ([`AidOptions`]), its `mod` in `lib.rs`, and a line in [`AIDS`]. An aid of another crate needs an [`AidEntry`], which
//! its program gives to the scenarios that it loads.

use alloc::boxed::Box;
use alloc::sync::Arc;

use driftway_base::FlowId;
use driftway_base::options::check_settings;

use crate::Aid;
use crate::options::{AidOptions, OptionError, OptionInfo, OptionValue};

/// All aids.
pub const AIDS: &[AidEntry] = &[
    AidEntry::new::<crate::atcp::AtcpOptions>(),
    AidEntry::new::<crate::atcp_partial::AtcpPartialOptions>(),
    AidEntry::new::<crate::tcp_f::TcpFOptions>(),
    AidEntry::new::<crate::elfn::ElfnOptions>(),
    AidEntry::new::<crate::epln::EplnOptions>(),
    AidEntry::new::<crate::cwnd_limit::CwndLimitOptions>(),
    AidEntry::new::<crate::mobile_host::MobileHostOptions>(),
    AidEntry::new::<crate::three_dupacks::ThreeDupacksOptions>(),
    AidEntry::new::<crate::freeze_tcp::FreezeTcpOptions>(),
    AidEntry::new::<crate::carry::CarryOptions>(),
];

/// The aid with this name.
pub fn find(name: &str) -> Option<&'static AidEntry> {
    AIDS.iter().find(|aid| aid.name == name)
}

/// The connection for which an aid is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AidPlace {
    /// The flow, by its index in the scenario.
    pub flow: FlowId,
    /// The end of its connection.
    pub end: AidEnd,
}

/// An end of a connection at which an aid can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AidEnd {
    /// The end that opens the connection and sends.
    Sender,
    /// The other end.
    Receiver,
    /// The gateway's end of a wireless leg.
    WirelessLeg,
    /// The gateway's end of a wired leg.
    WiredLeg,
}

/// A function that makes an aid from settings.
type BuildFromSettings = fn(&[(&str, OptionValue)]) -> Result<Box<dyn Aid>, OptionError>;

/// A function that makes an aid for a place from valid settings.
type BuildAtPlace = dyn Fn(AidPlace, &[(&str, OptionValue)]) -> Box<dyn Aid> + Send + Sync;

/// Ways to make an aid.
#[derive(Clone)]
enum Build {
    /// It is made from its options.
    Options(BuildFromSettings),
    /// It is made by a function of its place and its settings.
    Place(Arc<BuildAtPlace>),
}

/// An aid by its name: how scenarios name it, its options, and how one is made for each end of a connection at
/// which a scenario has it.
#[derive(Clone)]
pub struct AidEntry {
    /// Name of the aid in scenarios.
    pub name: &'static str,
    /// One-line summary with its source.
    pub summary: &'static str,
    /// Name and description of each state ([`AidOptions::STATES`]).
    pub states: &'static [(&'static str, &'static str)],
    /// Pairs of options of which the first must not exceed the second ([`AidOptions::ORDERED_OPTIONS`]).
    pub ordered_options: &'static [(&'static str, &'static str)],
    options: &'static [OptionInfo],
    build: Build,
}

impl AidEntry {
    /// The aid with these options. Each connection gets one of its own.
    pub const fn new<O: AidOptions>() -> Self {
        Self {
            name: O::NAME,
            summary: O::SUMMARY,
            states: O::STATES,
            ordered_options: O::ORDERED_OPTIONS,
            options: O::OPTIONS,
            build: Build::Options(|settings| O::with_settings(settings).map(O::build)),
        }
    }

    /// An aid without options and without a list of states, which `build` makes for each connection and end. A run is a function of its
    /// scenario and seed only if what `build` makes depends on nothing but its argument.
    pub fn from_fn(
        name: &'static str,
        summary: &'static str,
        build: impl Fn(AidPlace) -> Box<dyn Aid> + Send + Sync + 'static,
    ) -> Self {
        Self::from_fn_with_options(name, summary, &[], move |place, _| build(place))
    }

    /// An aid with these options, which `build` makes for each connection and end from settings: names of options
    /// with valid values; options that are not among them have their defaults. Otherwise as
    /// [`from_fn`](Self::from_fn).
    pub fn from_fn_with_options(
        name: &'static str,
        summary: &'static str,
        options: &'static [OptionInfo],
        build: impl Fn(AidPlace, &[(&str, OptionValue)]) -> Box<dyn Aid> + Send + Sync + 'static,
    ) -> Self {
        let build = Build::Place(Arc::new(build));
        Self { name, summary, states: &[], ordered_options: &[], options, build }
    }

    /// Options of the aid.
    pub const fn options(&self) -> &'static [OptionInfo] {
        self.options
    }

    /// Creates the aid for the connection at `place` with these options and the defaults of all others. Of repeated
    /// options the last one is used. Options are not compared with each other; see
    /// [`AidEntry::ordered_options`].
    ///
    /// # Errors
    /// For the first setting with an unknown option or an invalid value.
    pub fn build_at(
        &self,
        place: AidPlace,
        settings: &[(&str, OptionValue)],
    ) -> Result<Box<dyn Aid>, OptionError> {
        match &self.build {
            Build::Options(build) => build(settings),
            Build::Place(build) => {
                check_settings(self.options, settings)?;
                Ok(build(place, settings))
            }
        }
    }

    /// Creates the aid for the sender of a single flow, as [`build_at`](Self::build_at) does.
    ///
    /// # Errors
    /// For the first setting with an unknown option or an invalid value.
    pub fn build(&self, settings: &[(&str, OptionValue)]) -> Result<Box<dyn Aid>, OptionError> {
        self.build_at(AidPlace { flow: FlowId::new(0), end: AidEnd::Sender }, settings)
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::options::OptionKind;
    use driftway_base::Duration;

    #[test]
    fn names_are_unique_and_match_the_aids() {
        for (index, listed) in AIDS.iter().enumerate() {
            assert_eq!(AIDS.iter().position(|other| other.name == listed.name), Some(index));
            assert_eq!(listed.build(&[]).ok().map(|aid| aid.name()), Some(listed.name));
        }
        assert!(find("atcp").is_some() && find("none").is_none());
    }

    #[test]
    fn every_option_accepts_exactly_its_range() {
        for listed in AIDS {
            for option in listed.options() {
                let fits = |value| listed.build(&[(option.name, value)]).is_ok();
                let span = |span| fits(OptionValue::Duration(span));
                let flag = fits(OptionValue::Flag(true));
                assert!(!fits(OptionValue::Choice("no such word")), "{}", option.name);
                match &option.kind {
                    OptionKind::Duration(least, most) => {
                        assert!(!flag && least < most && span(*least) && span(*most));
                        assert!(least.is_zero() || !span(Duration::ZERO));
                        assert!(*most == Duration::MAX || !span(Duration::MAX));
                    }
                    OptionKind::Count(least, most) => {
                        let count = |count| fits(OptionValue::Count(count));
                        assert!(!flag && count(*least) && count(*most));
                        assert!(*least > 0 && !count(least - 1) && !count(most + 1));
                    }
                    OptionKind::Number(unit, least, most) => {
                        let number = |number| fits(OptionValue::Number(*unit, number));
                        assert!(!flag && number(*least) && number(*most) && !number(f64::NAN));
                    }
                    OptionKind::Flag => assert!(flag && !span(Duration::from_secs(1))),
                    OptionKind::Choice(words) => {
                        assert!(!flag && !span(Duration::from_secs(1)) && words.len() > 1);
                        assert!(words.iter().all(|(word, _)| fits(OptionValue::Choice(word))));
                    }
                }
            }
        }
    }

    #[test]
    fn descriptions_are_sentences() {
        let check = |text: &str, of: &str| {
            let starts = text.starts_with(|first: char| first.is_uppercase() || first.is_numeric());
            assert!(starts && text.ends_with('.') && !text.contains("  "), "{of}: {text}");
        };
        for listed in AIDS {
            check(listed.summary, listed.name);
            for option in listed.options() {
                check(option.about, option.name);
                if let OptionKind::Choice(words) = option.kind {
                    words.iter().for_each(|(_, about)| check(about, option.name));
                }
            }
        }
    }

    #[test]
    fn every_default_is_valid() {
        for listed in AIDS {
            for option in listed.options() {
                match option.default {
                    Some(value) => assert!(listed.build(&[(option.name, value)]).is_ok()),
                    None => {
                        assert_eq!(option.kind, OptionKind::Duration(Duration::ZERO, Duration::MAX))
                    }
                }
            }
        }
    }

    #[test]
    fn ordered_options_are_durations_with_ordered_defaults() {
        for listed in AIDS {
            let options = listed.options();
            let span = |name: &str| match options.iter().find(|o| o.name == name).map(|o| o.default)
            {
                Some(Some(OptionValue::Duration(span))) => span,
                other => panic!("{name}: {other:?}"),
            };
            assert!(listed.ordered_options.iter().all(|(short, long)| span(short) <= span(long)));
        }
    }
}
