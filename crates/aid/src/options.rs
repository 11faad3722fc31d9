//! Options of aids: name, unit, range, default, a line of help, and how each is set.
//!
//! An aid declares its own next to its code, by [`Configure`] for the type that it is made from;
//! a type's `Default` is the one place where defaults stand. A scenario, a command line and the
//! documentation read the declarations as [`OptionInfo`], which knows nothing of that type.

use alloc::boxed::Box;
use alloc::vec::Vec;
use driftway_base::Duration;

use crate::Aid;

/// What an aid is made from. Its default is what a scenario that gives only the name gets, and the
/// one place where the options' defaults stand.
pub trait AidOptions: Default + PartialEq + 'static {
    /// The name by which scenarios know the aid.
    const NAME: &'static str;
    /// Whose it is, in one line.
    const SUMMARY: &'static str;
    /// Its options.
    const OPTIONS: &'static [AidOption<Self>];
    /// Spans of which the first must not be longer than the second. Scenarios that say otherwise
    /// are refused.
    const ORDERED_OPTIONS: &'static [(&'static str, &'static str)] = &[];
    /// The aid to one connection.
    fn build(self) -> Box<dyn Aid>;
}

/// One option of the aid that is made from `O`.
pub struct AidOption<O: 'static> {
    /// Its key in a scenario.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// What it takes and where that stands.
    pub field: OptionField<O>,
}

/// What an option takes and where that stands.
pub enum OptionField<O: 'static> {
    /// A span of time.
    Duration {
        /// The shortest allowed.
        min: Duration,
        /// Where it stands.
        field: fn(&mut O) -> &mut Duration,
    },
    /// When a clock ticks first. Who does not set it gets the first tick of the host's clock, so
    /// that a driver which has one gives it ([`OptionInfo::default`] is `None`).
    FirstTick(fn(&mut O) -> &mut Duration),
    /// A number of things.
    Count {
        /// The fewest allowed.
        min: u32,
        /// The most allowed.
        max: u32,
        /// Where it stands.
        field: fn(&mut O) -> &mut u32,
    },
    /// On or off.
    Flag(fn(&mut O) -> &mut bool),
    /// One of these words.
    Choice(&'static [OptionChoice<O>]),
}

/// A word, and what it stores.
pub type OptionChoice<O> = (&'static str, fn(&mut O));

/// An option's value as a scenario gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionValue<'a> {
    /// A span of time.
    Duration(Duration),
    /// A number of things.
    Count(u32),
    /// On or off.
    Flag(bool),
    /// A word.
    Choice(&'a str),
}

/// What an option takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionKind {
    /// A span of time, at least this.
    Duration(Duration),
    /// A number of things from the first to the second of these.
    Count(u32, u32),
    /// On or off.
    Flag,
    /// One of these words.
    Choice(Vec<&'static str>),
}

/// What is to be known of an option to read it, or to help who misspelt it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionInfo {
    /// Its key.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// What it takes.
    pub kind: OptionKind,
    /// What it is if nobody sets it; `None`: the first tick of the host's clock
    /// ([`Set::FirstTick`]).
    pub default: Option<OptionValue<'static>>,
}

/// Why an option could not be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionError {
    /// The aid has no option of this name.
    UnknownOption {
        /// Which of the settings, counted from 0.
        index: usize,
    },
    /// The option takes something else.
    InvalidValue {
        /// Which of the settings, counted from 0.
        index: usize,
        /// What it takes.
        expected: OptionKind,
    },
}

impl<O: AidOptions> OptionField<O> {
    fn kind(&self) -> OptionKind {
        match self {
            Self::Duration { min: at_least, .. } => OptionKind::Duration(*at_least),
            Self::FirstTick(_) => OptionKind::Duration(Duration::ZERO),
            Self::Count { min: least, max: most, .. } => OptionKind::Count(*least, *most),
            Self::Flag(_) => OptionKind::Flag,
            Self::Choice(words) => {
                OptionKind::Choice(words.iter().map(|(word, _)| *word).collect())
            }
        }
    }

    fn default(&self) -> Option<OptionValue<'static>> {
        let mut options = O::default();
        match self {
            Self::Duration { field: at, .. } => Some(OptionValue::Duration(*at(&mut options))),
            Self::FirstTick(_) => None,
            Self::Count { field: at, .. } => Some(OptionValue::Count(*at(&mut options))),
            Self::Flag(at) => Some(OptionValue::Flag(*at(&mut options))),
            Self::Choice(words) => {
                // The word that changes nothing.
                let is_default = |(_, set): &&OptionChoice<O>| {
                    let mut chosen = O::default();
                    set(&mut chosen);
                    chosen == options
                };
                words.iter().find(is_default).map(|(word, _)| OptionValue::Choice(word))
            }
        }
    }

    /// Did it fit?
    fn apply(&self, options: &mut O, value: OptionValue) -> bool {
        match (self, value) {
            (Self::Duration { min: at_least, field: at }, OptionValue::Duration(span))
                if span >= *at_least =>
            {
                *at(options) = span;
                true
            }
            (Self::FirstTick(at), OptionValue::Duration(span)) => {
                *at(options) = span;
                true
            }
            (Self::Count { min: least, max: most, field: at }, OptionValue::Count(count))
                if (*least..=*most).contains(&count) =>
            {
                *at(options) = count;
                true
            }
            (Self::Flag(at), OptionValue::Flag(on)) => {
                *at(options) = on;
                true
            }
            (Self::Choice(words), OptionValue::Choice(word)) => {
                let chosen = words.iter().find(|(known, _)| *known == word);
                chosen.inspect(|(_, set)| set(options)).is_some()
            }
            _ => false,
        }
    }
}

/// The options of the aid that is made from `O`.
pub(crate) fn options<O: AidOptions>() -> Vec<OptionInfo> {
    let info = |option: &AidOption<O>| OptionInfo {
        name: option.name,
        about: option.about,
        kind: option.field.kind(),
        default: option.field.default(),
    };
    O::OPTIONS.iter().map(info).collect()
}

/// The aid that is made from `O` with these settings.
pub(crate) fn build<O: AidOptions>(
    settings: &[(&str, OptionValue)],
) -> Result<Box<dyn Aid>, OptionError> {
    let mut options = O::default();
    for (index, (name, value)) in settings.iter().enumerate() {
        let Some(option) = O::OPTIONS.iter().find(|option| option.name == *name) else {
            return Err(OptionError::UnknownOption { index });
        };
        if !option.field.apply(&mut options, *value) {
            return Err(OptionError::InvalidValue { index, expected: option.field.kind() });
        }
    }
    Ok(options.build())
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::atcp::AtcpOptions;

    /// Checked with the aid's own `Default`, which no list repeats.
    #[test]
    fn defaults_are_those_of_the_options() {
        let atcp = options::<AtcpOptions>();
        let of = |name| atcp.iter().find(|option| option.name == name).expect(name).default;
        let default = AtcpOptions::default();
        assert_eq!(of("tick"), Some(OptionValue::Duration(default.tick)));
        assert_eq!(of("persist_max"), Some(OptionValue::Duration(default.persist_max)));
        assert_eq!(of("backoff"), Some(OptionValue::Flag(default.backoff)));
        assert_eq!(of("congested_until"), Some(OptionValue::Choice("segment")));
        assert_eq!(of("tick_phase"), None);
    }

    #[test]
    fn a_mistake_says_where() {
        let good = ("backoff", OptionValue::Flag(false));
        let error = |settings: &[(&str, OptionValue)]| build::<AtcpOptions>(settings).err();
        assert_eq!(
            error(&[good, ("perist_min", OptionValue::Flag(true))]),
            Some(OptionError::UnknownOption { index: 1 })
        );
        assert_eq!(
            error(&[("resend", OptionValue::Choice("some")), good]),
            Some(OptionError::InvalidValue {
                index: 0,
                expected: OptionKind::Choice(alloc::vec!["first", "all"])
            })
        );
    }
}
