//! Options of what a scenario names, such as an aid: declared once, with documentation, default and
//! range, by [`options!`](crate::options!). Scenarios, the command line, the schema and the
//! reference read the declarations as [`OptionInfo`], which is independent of the options' type.

use crate::{Duration, Named};

/// A type of options. Its `Default` applies to a scenario that sets none of them.
pub trait Options: Default + 'static {
    /// All options.
    const OPTIONS: &'static [OptionInfo];

    /// The field of the option `name`.
    fn field(&mut self, name: &str) -> Option<&mut dyn OptionField>;

    /// The options with these settings and the defaults of all others. Of repeated settings the last
    /// one is used.
    ///
    /// # Errors
    /// For the first setting with an unknown option or an invalid value.
    fn with_settings(settings: &[(&str, OptionValue<'_>)]) -> Result<Self, OptionError> {
        let mut options = Self::default();
        for (index, (name, value)) in settings.iter().enumerate() {
            let info = Self::OPTIONS.iter().find(|option| option.name == *name);
            let (Some(info), Some(field)) = (info, options.field(name)) else {
                return Err(OptionError::UnknownOption { index });
            };
            if !(info.kind.accepts(*value) && field.set(*value)) {
                return Err(OptionError::InvalidValue { index, expected: info.kind });
            }
        }
        Ok(options)
    }
}

/// A field that a setting changes.
pub trait OptionField {
    /// Sets the field; false if the value is of another type.
    fn set(&mut self, value: OptionValue<'_>) -> bool;
}

/// Description of an option, for parsing, for error messages and for the documentation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OptionInfo {
    /// Key in a scenario.
    pub name: &'static str,
    /// Description, in sentences.
    pub about: &'static str,
    /// Type and range.
    pub kind: OptionKind,
    /// Default value; `None`: the first tick of the host's clock.
    pub default: Option<OptionValue<'static>>,
}

/// Unit of a real number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberUnit {
    /// None, as of a ratio.
    One,
    /// Metres.
    Metre,
    /// Metres per second.
    MetrePerSecond,
}

/// Type and range of an option.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OptionKind {
    /// A duration with this minimum and maximum ([`Duration::MAX`]: none).
    Duration(Duration, Duration),
    /// A whole number with this minimum and maximum.
    Count(u32, u32),
    /// A real number in this unit, with this minimum and maximum.
    Number(NumberUnit, f64, f64),
    /// A boolean.
    Flag,
    /// One of these named values: their names and descriptions.
    Choice(&'static [(&'static str, &'static str)]),
}

/// Value of an option in a scenario.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OptionValue<'a> {
    /// A duration.
    Duration(Duration),
    /// A whole number.
    Count(u32),
    /// A real number in this unit.
    Number(NumberUnit, f64),
    /// A boolean.
    Flag(bool),
    /// A named value.
    Choice(&'a str),
}

/// Error of setting an option.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OptionError {
    /// There is no option with this name.
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

impl OptionKind {
    /// Returns true if a value has this type and is in range.
    pub fn accepts(&self, value: OptionValue<'_>) -> bool {
        match (self, value) {
            (Self::Duration(least, most), OptionValue::Duration(span)) => {
                (*least..=*most).contains(&span)
            }
            (Self::Count(least, most), OptionValue::Count(count)) => {
                (*least..=*most).contains(&count)
            }
            (Self::Number(unit, least, most), OptionValue::Number(given, number)) => {
                *unit == given && (*least..=*most).contains(&number)
            }
            (Self::Flag, OptionValue::Flag(_)) => true,
            (Self::Choice(words), OptionValue::Choice(word)) => {
                words.iter().any(|(name, _)| *name == word)
            }
            _ => false,
        }
    }
}

/// Checks that each setting is one of these options with a value of its type and range.
///
/// # Errors
/// For the first setting with an unknown option or an invalid value.
pub fn check_settings(
    options: &[OptionInfo],
    settings: &[(&str, OptionValue<'_>)],
) -> Result<(), OptionError> {
    for (index, (name, value)) in settings.iter().enumerate() {
        let Some(info) = options.iter().find(|option| option.name == *name) else {
            return Err(OptionError::UnknownOption { index });
        };
        if !info.kind.accepts(*value) {
            return Err(OptionError::InvalidValue { index, expected: info.kind });
        }
    }
    Ok(())
}

macro_rules! fields {
    ($($type:ty: $variant:ident,)+) => {$(
        impl OptionField for $type {
            fn set(&mut self, value: OptionValue<'_>) -> bool {
                let OptionValue::$variant(value) = value else { return false };
                *self = value;
                true
            }
        }
    )+};
}
fields! { Duration: Duration, u32: Count, bool: Flag, }

impl OptionField for f64 {
    fn set(&mut self, value: OptionValue<'_>) -> bool {
        let OptionValue::Number(_, value) = value else { return false };
        *self = value;
        true
    }
}

impl<T: Named> OptionField for T {
    fn set(&mut self, value: OptionValue<'_>) -> bool {
        let OptionValue::Choice(word) = value else { return false };
        T::from_name(word).is_some_and(|chosen| {
            *self = chosen;
            true
        })
    }
}

/// Declares a type of options ([`Options`](crate::options::Options)): its fields, their defaults and
/// all that a scenario and its reference have to know of them.
///
/// An entry consists of the option's documentation, its name, which is also its key in a scenario,
/// and its kind with the default and, where it has one, the range:
///
/// | kind | type | example |
/// |---|---|---|
/// | `time` | [`Duration`](crate::Duration) | `time(2 s)`, `time(2 s, 1 ms..)`, `time(200 ms, Self::MIN..=Self::MAX)` |
/// | `count` | `u32` | `count(3, 1..=100)` |
/// | `number` | `f64` | `number(0.75, 0.0..=1.0)` |
/// | `distance` | `f64`, in metres | `distance(250.0, 1.0..=1e6)` |
/// | `speed` | `f64`, in metres per second | `speed(10.0, 0.0..=1000.0)` |
/// | `flag` | `bool` | `flag(true)` |
/// | `word` | an enumeration of [`named!`](crate::named) | `word(CwndAfterOutage::Keep)` |
/// | `first_tick` | [`Duration`](crate::Duration) | without a value: the driver supplies the first tick of the host's clock |
///
/// Times are literals in `us`, `ms` or `s`; bounds are literals of the same kind, of a time also associated constants. There
/// are no lists and no pairs. A first entry `..part: PartOptions,` adds the options of another type.
///
/// ```
/// use driftway_base::options::{OptionValue, Options};
/// use driftway_base::{Duration, named, options};
///
/// named! {
///     /// Congestion window after an outage.
///     pub enum CwndAfterOutage {
///         /// The previous window.
///         Keep = "keep",
///         /// The initial window of a new connection.
///         Reset = "reset",
///     }
/// }
/// options! {
///     /// Options of my aid.
///     pub struct MyOptions {
///         /// Congestion window after an outage.
///         cwnd: word(CwndAfterOutage::Keep),
///         /// Interval between two probes.
///         probe_interval: time(2 s, 1 ms..),
///         /// Number of probes.
///         probes: count(3, 1..=100),
///     }
/// }
///
/// let settings = [("probes", OptionValue::Count(5)), ("cwnd", OptionValue::Choice("reset"))];
/// let options = MyOptions::with_settings(&settings).unwrap();
/// assert_eq!(options.cwnd, CwndAfterOutage::Reset);
/// assert_eq!((options.probes, options.probe_interval), (5, Duration::from_secs(2)));
/// assert_eq!(MyOptions::OPTIONS[1].about, "Interval between two probes.");
/// assert!(MyOptions::with_settings(&[("probes", OptionValue::Count(0))]).is_err());
/// ```
#[macro_export]
macro_rules! options {
    (
        $(#[$about:meta])*
        $vis:vis struct $name:ident {
            $(..$part:ident: $part_type:ty,)?
            $($(#[doc = $doc:literal])+ $field:ident: $kind:ident $(($($value:tt)+))?,)*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        $vis struct $name {
            $(
                #[doc = concat!("Options of [`", stringify!($part_type), "`].")]
                pub $part: $part_type,
            )?
            $(
                $(#[doc = $doc])+
                #[doc = $crate::option!(doc $kind $($($value)+)?)]
                pub $field: $crate::option!(type $kind $($($value)+)?),
            )*
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    $($part: Default::default(),)?
                    $($field: $crate::option!(default $kind $($($value)+)?),)*
                }
            }
        }

        impl $crate::options::Options for $name {
            const OPTIONS: &'static [$crate::options::OptionInfo] =
                $crate::option!(list [$($part_type)?] &[$($crate::options::OptionInfo {
                    name: stringify!($field),
                    about: $crate::documentation!($(#[doc = $doc])+),
                    kind: $crate::option!(kind $kind $($($value)+)?),
                    default: $crate::option!(value $kind $($($value)+)?),
                },)*]);

            fn field(&mut self, name: &str) -> Option<&mut dyn $crate::options::OptionField> {
                $(
                    if let Some(field) = $crate::options::Options::field(&mut self.$part, name) {
                        return Some(field);
                    }
                )?
                match name {
                    $(stringify!($field) => Some(&mut self.$field),)*
                    _ => None,
                }
            }
        }
    };
}

/// Parts of an option's declaration: its documentation, type, default, range and described value.
#[doc(hidden)]
#[macro_export]
macro_rules! option {
    (doc first_tick) => { "Default: the first tick of the host's clock." };
    (doc time $count:literal $unit:ident $($range:tt)*) => {
        concat!("Default ", $count, " ", stringify!($unit), ".")
    };
    (doc distance $default:literal, $($range:tt)+) => { concat!("Default ", $default, " m.") };
    (doc speed $default:literal, $($range:tt)+) => { concat!("Default ", $default, " m/s.") };
    (doc $kind:ident $default:expr $(, $($range:tt)+)?) => {
        concat!("Default `", stringify!($default), "`.")
    };

    (type flag $($value:tt)+) => { bool };
    (type count $($value:tt)+) => { u32 };
    (type number $($value:tt)+) => { f64 };
    (type distance $($value:tt)+) => { f64 };
    (type speed $($value:tt)+) => { f64 };
    (type word $type:ident :: $value:ident) => { $type };
    (type $time:ident $($value:tt)*) => { $crate::Duration };

    (default first_tick) => { $crate::Duration::ZERO };
    (default time $count:literal $unit:ident $($range:tt)*) => { $crate::option!(span $count $unit) };
    (default $kind:ident $value:expr $(, $($range:tt)+)?) => { $value };

    (value first_tick) => { None };
    (value time $($value:tt)+) => {
        Some($crate::options::OptionValue::Duration($crate::option!(default time $($value)+)))
    };
    (value count $($value:tt)+) => {
        Some($crate::options::OptionValue::Count($crate::option!(default count $($value)+)))
    };
    (value number $number:literal, $($range:tt)+) => {
        Some($crate::options::OptionValue::Number($crate::options::NumberUnit::One, $number))
    };
    (value distance $metres:literal, $($range:tt)+) => {
        Some($crate::options::OptionValue::Number($crate::options::NumberUnit::Metre, $metres))
    };
    (value speed $speed:literal, $($range:tt)+) => {
        Some($crate::options::OptionValue::Number(
            $crate::options::NumberUnit::MetrePerSecond,
            $speed,
        ))
    };
    (value flag $on:literal) => { Some($crate::options::OptionValue::Flag($on)) };
    (value word $value:path) => { Some($crate::options::OptionValue::Choice($value.name())) };

    (kind time $count:literal $unit:ident) => { $crate::option!(kind first_tick) };
    (kind time $count:literal $unit:ident, $($range:tt)+) => {
        $crate::options::OptionKind::Duration(
            $crate::option!(least $($range)+),
            $crate::option!(most $($range)+),
        )
    };
    (kind first_tick) => {
        $crate::options::OptionKind::Duration($crate::Duration::ZERO, $crate::Duration::MAX)
    };
    (kind count $default:expr, $least:literal ..= $most:expr) => {
        $crate::options::OptionKind::Count($least, $most)
    };
    (kind number $default:literal, $least:literal ..= $most:literal) => {
        $crate::options::OptionKind::Number($crate::options::NumberUnit::One, $least, $most)
    };
    (kind distance $default:literal, $least:literal ..= $most:literal) => {
        $crate::options::OptionKind::Number($crate::options::NumberUnit::Metre, $least, $most)
    };
    (kind speed $default:literal, $least:literal ..= $most:literal) => {
        $crate::options::OptionKind::Number(
            $crate::options::NumberUnit::MetrePerSecond,
            $least,
            $most,
        )
    };
    (kind flag $on:literal) => { $crate::options::OptionKind::Flag };
    (kind word $type:ident :: $value:ident) => {
        $crate::options::OptionKind::Choice(<$type as $crate::Named>::DESCRIPTIONS)
    };

    (least $count:literal $unit:ident $($most:tt)+) => { $crate::option!(span $count $unit) };
    (least $type:ident :: $least:ident $($most:tt)+) => { $type::$least };
    (most $count:literal $unit:ident ..) => { $crate::Duration::MAX };
    (most $type:ident :: $least:ident ..) => { $crate::Duration::MAX };
    (most $count:literal $unit:ident ..= $($most:tt)+) => { $crate::option!(least $($most)+ ..) };
    (most $type:ident :: $least:ident ..= $($most:tt)+) => { $crate::option!(least $($most)+ ..) };

    (list [] $own:expr) => { $own };
    (list [$part:ty] $own:expr) => {{
        use $crate::options::{OptionInfo, Options, join};
        const OWN: &[OptionInfo] = $own;
        const PART: &[OptionInfo] = <$part as Options>::OPTIONS;
        const ALL: [OptionInfo; PART.len() + OWN.len()] = join(PART, OWN);
        &ALL
    }};

    (span $count:literal us) => { $crate::Duration::from_micros($count) };
    (span $count:literal ms) => { $crate::Duration::from_millis($count) };
    (span $count:literal s) => { $crate::Duration::from_secs($count) };
}

/// The elements of two lists with `N` options in total.
#[doc(hidden)]
pub const fn join<const N: usize>(
    mut first: &[OptionInfo],
    mut second: &[OptionInfo],
) -> [OptionInfo; N] {
    const NONE: OptionInfo =
        OptionInfo { name: "", about: "", kind: OptionKind::Flag, default: None };
    let mut all = [NONE; N];
    let mut places = all.as_mut_slice();
    while let Some((place, others)) = places.split_first_mut() {
        if let Some((info, rest)) = first.split_first() {
            (*place, first) = (*info, rest);
        } else if let Some((info, rest)) = second.split_first() {
            (*place, second) = (*info, rest);
        }
        places = others;
    }
    all
}
