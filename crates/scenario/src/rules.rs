//! Rules for the values of keys, stated where a key is declared ([`keys!`](crate::keys::keys),
//! [`table!`](crate::table::table)): its range, and the deviation of ns-2.35. Checks, schema and reference follow from them.

use std::ops::{Bound, RangeBounds, RangeInclusive};

use schemars::Schema;
use serde_json::{Map, Value, json};

use crate::file_value::{Keyword, Keywords};
use crate::problem::{
    CheckResult, MAX_PROTOCOL_TIME, require, require_at_most, require_positive, require_range,
};
use crate::{BitRate, Distance, Lifetime, OrNone, Power, Size, Speed, Time};

/// Implements [`Table`] for a type with these keys, each with its rules.
macro_rules! ruled {
    ($name:ident {$($key:ident [$($rule:ident($($argument:tt)*),)*],)*}) => {
        impl $crate::rules::Table for $name {
            fn rules() -> Vec<(&'static str, Vec<$crate::rules::Rule>)> {
                vec![$((stringify!($key), vec![$($crate::rules::$rule($($argument)*)),*]),)*]
            }
            fn values(&self) -> Vec<Option<&dyn $crate::rules::RuledValue>> {
                vec![$($crate::rules::ruled!(@value self $key $($rule)*)),*]
            }
        }
    };
    (@value $table:ident $key:ident) => { None };
    (@value $table:ident $key:ident $($rule:ident)+) => {
        Some(&$table.$key as &dyn $crate::rules::RuledValue)
    };
}
pub(crate) use ruled;

/// A rule for the value of a key.
pub(crate) enum Rule {
    /// A whole number in this range. The text begins the message about another number.
    Range(&'static str, RangeInclusive<u64>),
    /// A number between these bounds; a message about another one, which stands for `{}`, and a hint.
    Real(&'static str, (Bound<f64>, Bound<f64>), &'static str),
    /// A time longer than 0 s.
    Positive,
    /// A time of at most this.
    AtMost(Time),
    /// The keys of the tables in the value have rules of their own.
    Inside,
    /// A rule of the standard, and the behaviour of ns-2.35 instead.
    Ns2([&'static str; 2]),
    /// The default in words, where it depends on other keys.
    Default(&'static str),
}

/// The range of a whole number, or of a size in bytes; `what` begins the message about another one.
pub(crate) const fn range(what: &'static str, range: RangeInclusive<u64>) -> Rule {
    Rule::Range(what, range)
}

/// The range of a number; in the message about another one `{}` stands for it.
pub(crate) fn real(message: &'static str, of: impl RangeBounds<f64>, help: &'static str) -> Rule {
    Rule::Real(message, (of.start_bound().cloned(), of.end_bound().cloned()), help)
}

/// A probability, from 0 to 1.
pub(crate) fn probability() -> Rule {
    real("{} is not a probability", 0.0..=1.0, "probabilities are from 0 to 1")
}

/// The shape of a Pareto distribution that has a mean.
pub(crate) fn pareto_shape() -> Rule {
    let shape = (Bound::Excluded(1.0), Bound::Included(100.0));
    real("a shape of {}", shape, "it is above 1, so that there is a mean, and at most 100")
}

/// A share that is not 0; `message` as that of [`real`].
pub(crate) fn share(message: &'static str) -> Rule {
    real(message, (Bound::Excluded(0.0), Bound::Included(1.0)), "it is above 0 and at most 1")
}

/// A time longer than 0 s.
pub(crate) const fn positive() -> Rule {
    Rule::Positive
}

/// The maximum of a time.
pub(crate) const fn at_most(most: Time) -> Rule {
    Rule::AtMost(most)
}

/// Rules of the tables inside the value.
pub(crate) const fn inside() -> Rule {
    Rule::Inside
}

/// The behaviour of ns-2.35 instead of a rule of the standard. Its value is that of the configuration's `NS2`.
pub(crate) const fn ns2(standard_says: &'static str, ns2_does: &'static str) -> Rule {
    Rule::Ns2([standard_says, ns2_does])
}

/// The default in words, where it depends on other keys.
pub(crate) const fn says(default: &'static str) -> Rule {
    Rule::Default(default)
}

impl Rule {
    /// Checks the value of a key; rules for another type of value hold.
    fn check(&self, key: &str, value: &dyn RuledValue) -> CheckResult {
        match (self, value.number(), value.real(), value.time()) {
            (Self::Range(what, range), Some(found), ..) => {
                require_range(key.to_owned(), what, found, *range.start(), *range.end())
            }
            (Self::Real(message, bounds, help), _, Some((found, written)), _) => {
                require(bounds.contains(&found), key, || {
                    format!("{}\n{help}", message.replace("{}", &written)).trim_end().to_owned()
                })
            }
            (Self::Positive, .., Some(time)) => require_positive(key.to_owned(), time),
            (Self::AtMost(most), .., Some(time)) => require_at_most(key.to_owned(), time, *most),
            (Self::Inside, ..) => value.check_inside(key),
            _ => Ok(()),
        }
    }

    /// Adds the range to the schema of a key. That of a quantity, which is a text, is a part of the description.
    fn describe(&self, key: &mut Map<String, Value>) {
        let about = match self {
            Self::Range(_, range) if is_of_type(key, "integer") => {
                key.insert("minimum".to_owned(), json!(range.start()));
                key.insert("maximum".to_owned(), json!(range.end()));
                return;
            }
            Self::Real(_, (low, high), _) if is_of_type(key, "number") => {
                insert_bound(key, ["minimum", "exclusiveMinimum"], *low);
                insert_bound(key, ["maximum", "exclusiveMaximum"], *high);
                return;
            }
            Self::Range(_, range) if is_size(key) => match (*range.start(), *range.end()) {
                (0, most) => format!(" At most {}.", Size(most)),
                (least, most) => format!(" {} to {}.", Size(least), Size(most)),
            },
            Self::AtMost(most) if *most != MAX_PROTOCOL_TIME => format!(" At most {most}."),
            Self::Default(text) => {
                key.insert("x-default".to_owned(), (*text).into());
                return;
            }
            _ => return,
        };
        if let Some(Value::String(text)) = key.get_mut("description") {
            text.push_str(&about);
        }
    }
}

/// Returns whether a schema is that of this type, or of a key of this type that may be left out.
fn is_of_type(schema: &Map<String, Value>, name: &str) -> bool {
    match schema.get("type") {
        Some(Value::Array(names)) => names.iter().any(|one| one == name),
        one => one.is_some_and(|one| one == name),
    }
}

fn is_size(schema: &Map<String, Value>) -> bool {
    let is_size = |form: &Value| form.get("$ref").is_some_and(|of| of == "#/$defs/Size");
    let forms = schema.get("anyOf").and_then(Value::as_array);
    schema.get("$ref").is_some_and(|of| of == "#/$defs/Size")
        || forms.is_some_and(|forms| forms.iter().any(is_size))
}

/// Inserts a bound by its name, the second if the bound itself is excluded.
fn insert_bound(schema: &mut Map<String, Value>, names: [&str; 2], bound: Bound<f64>) {
    let (name, value) = match bound {
        Bound::Included(value) => (names[0], value),
        Bound::Excluded(value) if value.is_finite() => (names[1], value),
        Bound::Excluded(_) | Bound::Unbounded => return,
    };
    // Without a fraction if it has none, as a reader would write it.
    let whole = value as i64;
    let number = if whole as f64 == value { json!(whole) } else { json!(value) };
    schema.insert(name.to_owned(), number);
}

/// A table whose keys have rules.
pub(crate) trait Table {
    /// The keys, each with its rules.
    fn rules() -> Vec<(&'static str, Vec<Rule>)>
    where
        Self: Sized;

    /// The values of these keys; `None` without rules.
    fn values(&self) -> Vec<Option<&dyn RuledValue>>;

    /// Checks the keys of this table, which has the key `table`.
    fn check_ranges(&self, table: &str) -> CheckResult
    where
        Self: Sized,
    {
        for ((name, rules), value) in Self::rules().into_iter().zip(self.values()) {
            let (Some(value), key) = (value, format!("{table}.{name}")) else { continue };
            rules.iter().try_for_each(|rule| rule.check(&key, value))?;
        }
        Ok(())
    }
}

/// Adds the ranges of the keys of `T` to its schema.
pub(crate) fn describe<T: Table>(schema: &mut Schema) {
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
    for (name, rules) in T::rules() {
        if let Some(Value::Object(key)) = properties.get_mut(name) {
            rules.iter().for_each(|rule| rule.describe(key));
        }
    }
}

/// A value to which rules apply.
pub(crate) trait RuledValue {
    /// The value as a whole number.
    fn number(&self) -> Option<u64> {
        None
    }
    /// The value as a number, and as it is written.
    fn real(&self) -> Option<(f64, String)> {
        None
    }
    /// The value as a time.
    fn time(&self) -> Option<Time> {
        None
    }
    /// Checks the tables in the value of `key` by the rules of their keys.
    fn check_inside(&self, _key: &str) -> CheckResult {
        Ok(())
    }
}

impl<T: Table> RuledValue for T {
    fn check_inside(&self, key: &str) -> CheckResult {
        self.check_ranges(key)
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
}

impl RuledValue for bool {}
impl RuledValue for i16 {}
impl RuledValue for BitRate {}
impl RuledValue for Speed {}
impl<T: Keywords> RuledValue for Keyword<T> {}

impl RuledValue for Size {
    fn number(&self) -> Option<u64> {
        Some(self.0)
    }
    fn real(&self) -> Option<(f64, String)> {
        Some((self.0 as f64, self.to_string()))
    }
}

impl RuledValue for f64 {
    fn real(&self) -> Option<(f64, String)> {
        Some((*self, self.to_string()))
    }
}

impl RuledValue for Distance {
    fn real(&self) -> Option<(f64, String)> {
        Some((self.0, self.to_string()))
    }
}

impl RuledValue for Power {
    fn real(&self) -> Option<(f64, String)> {
        Some((self.watts(), self.to_string()))
    }
}

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

/// Rules of a value that may be absent.
impl<T: RuledValue> RuledValue for Option<T> {
    fn number(&self) -> Option<u64> {
        self.as_ref()?.number()
    }
    fn real(&self) -> Option<(f64, String)> {
        self.as_ref()?.real()
    }
    fn time(&self) -> Option<Time> {
        self.as_ref()?.time()
    }
    fn check_inside(&self, key: &str) -> CheckResult {
        self.as_ref().map_or(Ok(()), |value| value.check_inside(key))
    }
}

impl<T: RuledValue> RuledValue for Vec<T> {
    fn check_inside(&self, key: &str) -> CheckResult {
        let mut elements = self.iter().enumerate();
        elements.try_for_each(|(i, element)| element.check_inside(&format!("{key}.{i}")))
    }
}

impl<T: RuledValue> RuledValue for OrNone<T> {
    fn number(&self) -> Option<u64> {
        self.0.number()
    }
    fn time(&self) -> Option<Time> {
        self.0.time()
    }
    fn check_inside(&self, key: &str) -> CheckResult {
        self.0.check_inside(key)
    }
}
