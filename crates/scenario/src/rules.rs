//! Rules for the values of keys, stated where a key is declared ([`table!`]):
//! its range, and the deviation of ns-2.35.

use std::ops::RangeInclusive;

use schemars::Schema;
use serde_json::{Value, json};

use crate::file_value::{Keyword, Keywords};
use crate::problem::{CheckResult, require_at_most, require_positive, require_range};
use crate::{BitRate, Lifetime, OrNone, Size, Time};

/// Declares a table of the file whose keys are the fields of a protocol's configuration: each has the
/// value in `$standard` as default. Fields after `given` are not keys; they have the given value.
/// After its type, a key may have [rules](Rule):
///
/// - `range(what, low..=high)`: the range of a number; `what` begins the message about another one;
/// - `positive()`, `at_most(time)`: the range of a time;
/// - `ns2(rule, behaviour)`: ns-2.35 deviates from this rule of the standard by this behaviour. Its
///   value is that of the configuration's `NS2`.
macro_rules! table {
    (
        $(#[$about:meta])*
        $name:ident of $config:ty = $standard:expr, $expecting:literal;
        $(
            $(#[$doc:meta])*
            $field:ident: $type:ty $([$($rule:ident($($argument:tt)*)),+])?,
        )*
        $(; given $($given:ident = $value:expr,)*)?
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields, default, expecting = $expecting)]
        #[schemars(transform = $crate::rules::add_ranges::<$name>)]
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)*
        }

        impl $crate::file_value::FileValue<$config> for $name {
            fn from_config(config: $config) -> Self {
                Self { $($field: $crate::file_value::FileValue::from_config(config.$field),)* }
            }
            fn to_config(&self) -> $config {
                type Config = $config;
                Config {
                    $($field: $crate::file_value::FileValue::to_config(&self.$field),)*
                    $($($given: $value,)*)?
                }
            }
        }

        impl Default for $name {
            fn default() -> Self {
                $crate::file_value::FileValue::from_config($standard)
            }
        }

        impl $name {
            /// The protocol's configuration.
            pub fn config(&self) -> $config {
                $crate::file_value::FileValue::to_config(self)
            }
        }

        impl $crate::rules::Table for $name {
            fn keys(&self) -> Vec<$crate::rules::Key<'_>> {
                vec![$($crate::rules::Key {
                    name: stringify!($field),
                    rules: vec![$($($crate::rules::$rule($($argument)*)),+)?],
                    value: &self.$field,
                }),*]
            }
        }
    };
}
pub(crate) use table;

/// A rule for the value of a key.
pub(crate) enum Rule {
    /// A number in this range. The text begins the message about another number.
    Range(&'static str, RangeInclusive<u64>),
    /// A time longer than 0 s.
    Positive,
    /// A time of at most this.
    AtMost(Time),
    /// A rule of the standard, and the behaviour of ns-2.35 instead.
    Ns2([&'static str; 2]),
}

pub(crate) const fn range(what: &'static str, range: RangeInclusive<u64>) -> Rule {
    Rule::Range(what, range)
}

pub(crate) const fn positive() -> Rule {
    Rule::Positive
}

pub(crate) const fn at_most(most: Time) -> Rule {
    Rule::AtMost(most)
}

pub(crate) const fn ns2(standard_says: &'static str, ns2_does: &'static str) -> Rule {
    Rule::Ns2([standard_says, ns2_does])
}

/// A key of a table, its rules and its value.
pub(crate) struct Key<'a> {
    pub name: &'static str,
    pub rules: Vec<Rule>,
    pub value: &'a dyn RuledValue,
}

/// A table whose keys have rules.
pub(crate) trait Table {
    /// All keys.
    fn keys(&self) -> Vec<Key<'_>>;

    /// Checks the ranges of the keys of this table, which has the key `table`.
    fn check_ranges(&self, table: &str) -> CheckResult {
        for Key { name, rules, value } in self.keys() {
            let key = || format!("{table}.{name}");
            for rule in rules {
                match (rule, value.number(), value.time()) {
                    (Rule::Range(what, range), Some(found), _) => {
                        require_range(key(), what, found, *range.start(), *range.end())?;
                    }
                    (Rule::Positive, _, Some(time)) => require_positive(key(), time)?,
                    (Rule::AtMost(most), _, Some(time)) => require_at_most(key(), time, most)?,
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

/// Adds the ranges of the numbers in the table `T` to its schema.
pub(crate) fn add_ranges<T: Table + Default>(schema: &mut Schema) {
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
    for Key { name, rules, .. } in T::default().keys() {
        let Some(Value::Object(key)) = properties.get_mut(name) else { continue };
        for rule in rules {
            if let (Rule::Range(_, range), true) =
                (rule, key.get("type") == Some(&json!("integer")))
            {
                key.insert("minimum".to_owned(), (*range.start()).into());
                key.insert("maximum".to_owned(), (*range.end()).into());
            }
        }
    }
}

/// A value to which rules apply.
pub(crate) trait RuledValue {
    /// The value as a whole number.
    fn number(&self) -> Option<u64> {
        None
    }
    /// The value as a time.
    fn time(&self) -> Option<Time> {
        None
    }
}

macro_rules! numbers {
    ($($type:ty: $number:expr,)+) => {$(
        impl RuledValue for $type {
            fn number(&self) -> Option<u64> {
                let number: fn(&$type) -> u64 = $number;
                Some(number(self))
            }
        }
    )+};
}
numbers! {
    u8: |n| (*n).into(),
    u16: |n| (*n).into(),
    u32: |n| (*n).into(),
    usize: |n| *n as u64,
    Size: |size| size.0,
}

impl RuledValue for bool {}
impl RuledValue for i16 {}
impl RuledValue for BitRate {}
impl<T: Keywords> RuledValue for Keyword<T> {}

impl RuledValue for Time {
    fn time(&self) -> Option<Time> {
        Some(*self)
    }
}

impl RuledValue for Lifetime {
    fn time(&self) -> Option<Time> {
        match self {
            Self::Limited(time) => Some(*time),
            Self::Forever => None,
        }
    }
}

impl<T: RuledValue> RuledValue for OrNone<T> {
    fn number(&self) -> Option<u64> {
        self.0.as_ref()?.number()
    }
    fn time(&self) -> Option<Time> {
        self.0.as_ref()?.time()
    }
}
