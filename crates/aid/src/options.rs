//! Options of aids: name, unit, range, default, help text, and the field that each one sets.
//!
//! An aid declares its options with [`AidOptions`] for its options type, whose `Default` is the only place
//! that defines defaults. Scenarios, the command line and the documentation read the declarations as
//! [`OptionInfo`], which is independent of that type.

use alloc::boxed::Box;
use alloc::vec::Vec;
use driftway_base::Duration;

use crate::Aid;

/// Options type of an aid. Its `Default` applies to a scenario that gives only the aid's name.
pub trait AidOptions: Default + PartialEq + 'static {
    /// Name of the aid in scenarios.
    const NAME: &'static str;
    /// One-line summary with the aid's source.
    const SUMMARY: &'static str;
    /// Options of the aid.
    const OPTIONS: &'static [AidOption<Self>];
    /// Name and description of each state, as in [`Aid::state`].
    const STATES: &'static [(&'static str, &'static str)];
    /// Pairs of durations of which the first must not exceed the second. Scenarios that violate this are
    /// rejected.
    const ORDERED_OPTIONS: &'static [(&'static str, &'static str)] = &[];
    /// Creates the aid for one connection.
    fn build(self) -> Box<dyn Aid>;
}

/// One option of the options type `O`.
pub struct AidOption<O: 'static> {
    /// Key in a scenario.
    pub name: &'static str,
    /// Description, in sentences.
    pub about: &'static str,
    /// Type and range of the option, and the field that it sets.
    pub field: OptionField<O>,
}

/// Type and range of an option, and access to its field.
pub enum OptionField<O: 'static> {
    /// A duration.
    Duration {
        /// Minimum.
        min: Duration,
        /// Maximum; [`Duration::MAX`]: none.
        max: Duration,
        /// Access to the field.
        field: fn(&mut O) -> &mut Duration,
    },
    /// Time of a clock's first tick. If it is not set, the driver supplies the first tick of the host's clock
    /// ([`OptionInfo::default`] is `None`).
    FirstTick(fn(&mut O) -> &mut Duration),
    /// A number.
    Count {
        /// Minimum.
        min: u32,
        /// Maximum.
        max: u32,
        /// Access to the field.
        field: fn(&mut O) -> &mut u32,
    },
    /// A boolean.
    Flag(fn(&mut O) -> &mut bool),
    /// One of several named values.
    Choice(&'static [OptionChoice<O>]),
}

/// A named value.
pub struct OptionChoice<O> {
    /// The value in a scenario.
    pub name: &'static str,
    /// Description, in sentences.
    pub about: &'static str,
    /// Stores the value.
    pub set: fn(&mut O),
}

/// Value of an option in a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionValue<'a> {
    /// A duration.
    Duration(Duration),
    /// A number.
    Count(u32),
    /// A boolean.
    Flag(bool),
    /// A named value.
    Choice(&'a str),
}

/// Type and range of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionKind {
    /// A duration with this minimum and maximum.
    Duration(Duration, Duration),
    /// A number with this minimum and maximum.
    Count(u32, u32),
    /// A boolean.
    Flag,
    /// One of these named values.
    Choice(Vec<&'static str>),
}

/// Description of an option, for parsing, for error messages and for the documentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionInfo {
    /// Key in a scenario.
    pub name: &'static str,
    /// Description, in sentences.
    pub about: &'static str,
    /// Type and range.
    pub kind: OptionKind,
    /// Description of each value of an [`OptionKind::Choice`], in its order; empty for other kinds.
    pub choices: Vec<&'static str>,
    /// Default value; `None`: the first tick of the host's clock ([`OptionField::FirstTick`]).
    pub default: Option<OptionValue<'static>>,
}

/// Error of setting an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionError {
    /// The aid has no option with this name.
    UnknownOption {
        /// Index of the setting, starting at 0.
        index: usize,
    },
    /// The value has the wrong type or is out of range.
    InvalidValue {
        /// Index of the setting, starting at 0.
        index: usize,
        /// Expected type and range.
        expected: OptionKind,
    },
}

impl<O: AidOptions> OptionField<O> {
    fn kind(&self) -> OptionKind {
        match self {
            Self::Duration { min, max, .. } => OptionKind::Duration(*min, *max),
            Self::FirstTick(_) => OptionKind::Duration(Duration::ZERO, Duration::MAX),
            Self::Count { min: least, max: most, .. } => OptionKind::Count(*least, *most),
            Self::Flag(_) => OptionKind::Flag,
            Self::Choice(words) => OptionKind::Choice(words.iter().map(|word| word.name).collect()),
        }
    }

    /// Descriptions of the named values.
    fn choices(&self) -> Vec<&'static str> {
        match self {
            Self::Choice(words) => words.iter().map(|word| word.about).collect(),
            _ => Vec::new(),
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
                // The choice that leaves the defaults unchanged.
                let is_default = |choice: &&OptionChoice<O>| {
                    let mut chosen = O::default();
                    (choice.set)(&mut chosen);
                    chosen == options
                };
                words.iter().find(is_default).map(|word| OptionValue::Choice(word.name))
            }
        }
    }

    /// Returns true if the value is valid.
    fn apply(&self, options: &mut O, value: OptionValue) -> bool {
        match (self, value) {
            (Self::Duration { min, max, field: at }, OptionValue::Duration(span))
                if (*min..=*max).contains(&span) =>
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
                let chosen = words.iter().find(|known| known.name == word);
                chosen.inspect(|known| (known.set)(options)).is_some()
            }
            _ => false,
        }
    }
}

/// Descriptions of the options of `O`.
pub(crate) fn options<O: AidOptions>() -> Vec<OptionInfo> {
    let info = |option: &AidOption<O>| OptionInfo {
        name: option.name,
        about: option.about,
        kind: option.field.kind(),
        choices: option.field.choices(),
        default: option.field.default(),
    };
    O::OPTIONS.iter().map(info).collect()
}

/// Creates the aid of options type `O` with these settings.
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

    /// Compared with the aid's own `Default`, the only definition of the defaults.
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
    fn errors_contain_the_index() {
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
