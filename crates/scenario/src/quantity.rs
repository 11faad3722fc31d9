//! Quantities with units. A value carries its unit, and is exact: decimal digits become an integer
//! number of nanoseconds, bits per second or bytes, or are refused.

use std::fmt;

use base::{Duration, Rate};
use serde::de::{Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A span of time: `ns`, `us`, `ms`, `s`, `min`, `h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Time(pub Duration);

/// How fast a link sends: `bit/s`, `kbit/s`, `Mbit/s`, `Gbit/s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BitRate(pub Rate);

/// A number of bytes: `B`, `kB` = 1000 B, `MB`, `GB`, `KiB` = 1024 B, `MiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Size(pub u64);

/// What a quantity is measured in, reduced to the base unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A count or a ratio.
    One,
    /// Seconds.
    Second,
    /// Bits per second.
    BitPerSecond,
    /// Bytes.
    Byte,
}

impl Unit {
    /// How the base unit is written on an axis; empty for counts and ratios.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::One => "",
            Self::Second => "s",
            Self::BitPerSecond => "bit/s",
            Self::Byte => "B",
        }
    }
}

/// The unit names of one kind of quantity, in the steps of its integer; smallest first.
type Units = &'static [(&'static str, u64)];

const TIME: Units = &[
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];
const RATE: Units =
    &[("bit/s", 1), ("kbit/s", 1_000), ("Mbit/s", 1_000_000), ("Gbit/s", 1_000_000_000)];
const SIZE: Units = &[
    ("B", 1),
    ("kB", 1_000),
    ("KiB", 1 << 10),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("GB", 1_000_000_000),
];

/// Reads `text` as a quantity in SI base units (seconds, bits per second, bytes) or as a bare
/// number. `None`: it is neither.
///
/// ```
/// use scenario::{Unit, quantity};
/// assert_eq!(quantity("20 ms"), Some((0.02, Unit::Second)));
/// assert_eq!(quantity("32 kbit/s"), Some((32_000.0, Unit::BitPerSecond)));
/// assert_eq!(quantity("0.5"), Some((0.5, Unit::One)));
/// assert_eq!(quantity("sack"), None);
/// ```
pub fn quantity(text: &str) -> Option<(f64, Unit)> {
    if let Ok(Time(span)) = text.parse::<Time>() {
        return Some((span.as_secs_f64(), Unit::Second));
    }
    if let Ok(BitRate(rate)) = text.parse::<BitRate>() {
        return Some((rate.as_bps() as f64, Unit::BitPerSecond));
    }
    if let Ok(Size(bytes)) = text.parse::<Size>() {
        return Some((bytes as f64, Unit::Byte));
    }
    let number: f64 = text.trim().parse().ok()?;
    number.is_finite().then_some((number, Unit::One))
}

/// Reads `text` in one of `units`. The error says what is wrong with it.
fn read(text: &str, units: Units, example: &str) -> Result<u64, String> {
    let text = text.trim();
    let names = || units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let split = text
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | '_')))
        .unwrap_or(text.len());
    let (number, unit) = (text[..split].trim(), text[split..].trim());
    if number.starts_with('-') {
        return Err(format!("`{text}` is negative; right would be, for example, \"{example}\""));
    }
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return Err(format!(
            "`{text}` does not begin with a number; right would be, for example, \"{example}\""
        ));
    }
    if unit.is_empty() {
        return Err(format!("`{text}` has no unit; known units: {}", names()));
    }
    let Some((_, steps)) = units.iter().find(|(name, _)| *name == unit) else {
        let near = crate::error::nearest(unit, units.iter().map(|(name, _)| *name));
        let near = near.map_or(String::new(), |name| format!(" (did you mean `{name}`?)"));
        return Err(format!("`{unit}` is not a unit known here{near}; known units: {}", names()));
    };
    let too_large = || format!("`{text}` is too large");
    let mut value: u128 = 0;
    for byte in whole.bytes() {
        value = value * 10 + u128::from(byte - b'0');
        if value > u128::from(u64::MAX) {
            return Err(too_large());
        }
    }
    value *= u128::from(*steps);
    // The fraction digit by digit, so that 0.1 s is exactly 10⁸ ns.
    let mut step = u128::from(*steps);
    for byte in fraction.trim_end_matches('0').bytes() {
        if step % 10 != 0 {
            let (least, _) = units[0];
            return Err(format!("`{text}` is finer than 1 {least}, the smallest step there is"));
        }
        step /= 10;
        value += u128::from(byte - b'0') * step;
    }
    u64::try_from(value).map_err(|_| too_large())
}

/// Writes `value` in the largest of `units` that gives a whole number.
fn write(f: &mut fmt::Formatter<'_>, value: u64, units: &[(&str, u64)]) -> fmt::Result {
    let fits = |(_, steps): &&(&str, u64)| value != 0 && value % steps == 0;
    let (name, steps) = units.iter().rev().find(fits).unwrap_or(&units[0]);
    write!(f, "{} {name}", value / steps)
}

/// What [`quantity!`] needs of a type: its units, an example, and the way from and to the integer.
macro_rules! quantity {
    ($type:ident, $what:literal, $example:literal, $units:expr, $shown:expr,
     $from:expr, $to:expr) => {
        impl std::str::FromStr for $type {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                let from: fn(u64) -> Result<$type, String> = $from;
                from(read(text, $units, $example)?)
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let to: fn(&$type) -> u64 = $to;
                write(f, to(self), $shown)
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl Visitor<'_> for Text {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str(concat!($what, " with its unit, such as \"", $example, "\""))
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<$type, E> {
                        Err(E::invalid_type(Unexpected::Unsigned(number), &self))
                    }
                }
                deserializer.deserialize_any(Text)
            }
        }
    };
}

quantity!(
    Time,
    "a time",
    "20 ms",
    TIME,
    &TIME[..4],
    |nanos| Ok(Self(Duration::from_nanos(nanos))),
    |time| time.0.as_nanos()
);
quantity!(
    BitRate,
    "a rate",
    "32 kbit/s",
    RATE,
    RATE,
    |bits| match bits {
        0 => Err("a rate of 0 never sends; use a fault of kind \"partition\"".into()),
        _ => Ok(Self(Rate::from_bps(bits))),
    },
    |rate| rate.0.as_bps()
);
quantity!(
    Size,
    "a size",
    "100 B",
    SIZE,
    &[SIZE[0], SIZE[1], SIZE[3], SIZE[5]],
    |bytes| Ok(Self(bytes)),
    |size| size.0
);

impl Time {
    /// `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(Duration::from_millis(millis))
    }
    /// `secs` seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(Duration::from_secs(secs))
    }
}
