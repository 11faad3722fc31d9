//! Quantities with units. They are exact: decimal digits become a whole number of nanoseconds, bits
//! per second or bytes, or are rejected.

use std::fmt;

use driftway_base::{Duration, Rate};

use crate::error::quoted;
use crate::real_quantity::unknown_unit;
use crate::value_or::written;
use crate::{Distance, Speed};

/// A duration: `ns`, `us`, `ms`, `s`, `min`, `h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Time(pub Duration);

/// A bit rate: `bit/s`, `kbit/s`, `Mbit/s`, `Gbit/s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BitRate(pub Rate);

/// A number of bytes: `B`, `kB` = 1000 B, `MB`, `GB`, `KiB` = 1024 B, `MiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Size(pub u64);

/// A frequency: `Hz`, `kHz`, `MHz`, `GHz`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Frequency(pub u64);

/// Base unit of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// None: a count or a ratio.
    One,
    /// Seconds.
    Second,
    /// Bits per second.
    BitPerSecond,
    /// Bytes.
    Byte,
    /// Metres.
    Metre,
    /// Metres per second.
    MetrePerSecond,
    /// Hertz.
    Hertz,
}

impl Unit {
    /// Symbol of the base unit for an axis; empty for counts and ratios.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::One => "",
            Self::Second => "s",
            Self::BitPerSecond => "bit/s",
            Self::Byte => "B",
            Self::Metre => "m",
            Self::MetrePerSecond => "m/s",
            Self::Hertz => "Hz",
        }
    }
}

/// Unit names of one kind of quantity and their values in its integer steps, smallest first.
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
const FREQUENCY: Units = &[("Hz", 1), ("kHz", 1_000), ("MHz", 1_000_000), ("GHz", 1_000_000_000)];

/// Parses `text` as a quantity, converted to SI base units (seconds, bits per second, bytes,
/// metres, hertz), or as a bare number. `None`: it is neither.
///
/// ```
/// use driftway_scenario::{Unit, quantity};
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
    if let Ok(Distance(metres)) = text.parse::<Distance>() {
        return Some((metres, Unit::Metre));
    }
    if let Ok(Speed(speed)) = text.parse::<Speed>() {
        return Some((speed, Unit::MetrePerSecond));
    }
    if let Ok(Frequency(hertz)) = text.parse::<Frequency>() {
        return Some((hertz as f64, Unit::Hertz));
    }
    let number: f64 = text.trim().parse().ok()?;
    number.is_finite().then_some((number, Unit::One))
}

/// Parses `text` in one of `units`. The error is a message for the user.
fn read(text: &str, units: Units, example: &str) -> Result<u64, String> {
    let text = text.trim();
    let names = || units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let split = text
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | '_')))
        .unwrap_or(text.len());
    let (number, unit) = (text[..split].trim(), text[split..].trim());
    let found = quoted(text);
    if number.starts_with('-') {
        return Err(format!("`{found}` is negative\na valid value is, for example, \"{example}\""));
    }
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return Err(format!(
            "`{found}` does not begin with a number\na valid value is, for example, \"{example}\""
        ));
    }
    if unit.is_empty() {
        return Err(format!("`{found}` has no unit\nknown units: {}", names()));
    }
    let Some((_, steps)) = units.iter().find(|(name, _)| *name == unit) else {
        return Err(unknown_unit(unit, units.iter().map(|(name, _)| *name)));
    };
    let too_large = || format!("`{found}` is too large");
    let mut value: u128 = 0;
    for byte in whole.bytes() {
        value = value * 10 + u128::from(byte - b'0');
        if value > u128::from(u64::MAX) {
            return Err(too_large());
        }
    }
    value *= u128::from(*steps);
    let finer = || format!("`{found}` is finer than 1 {}, the smallest step", units[0].0);
    value += fraction_steps(fraction, *steps, value).ok_or_else(finer)?;
    u64::try_from(value).map_err(|_| too_large())
}

/// Relative rounding error allowed for numbers computed with doubles: 0.1 + 0.2 is
/// 0.30000000000000004.
const ROUNDING: f64 = 1e-14;

/// Converts the digits after the decimal point, of a unit with `unit` steps, to steps. Digits finer
/// than a step are rounded if a double could not represent them in addition to `whole` steps;
/// otherwise the result is `None`.
fn fraction_steps(digits: &str, unit: u64, whole: u128) -> Option<u128> {
    // In integers, so that 0.1 s is exactly 10⁸ ns. 25 digits times the steps of an hour fit.
    let digits = digits.trim_end_matches('0');
    if digits.len() > 25 {
        return None;
    }
    let (mut number, mut scale) = (0, 1);
    for digit in digits.bytes() {
        number = number * 10 + u128::from(digit - b'0');
        scale *= 10;
    }
    let steps = number * u128::from(unit);
    let (below, rest) = (steps / scale, steps % scale);
    let (nearest, off) = if rest > scale / 2 { (below + 1, scale - rest) } else { (below, rest) };
    let off = off as f64 / scale as f64;
    (off <= (whole + nearest) as f64 * ROUNDING).then_some(nearest)
}

/// Formats `value` in the largest of `units` that yields a whole number.
fn write(f: &mut fmt::Formatter<'_>, value: u64, units: &[(&str, u64)]) -> fmt::Result {
    let fits = |(_, steps): &&(&str, u64)| value != 0 && value.is_multiple_of(*steps);
    let zero = || units.iter().find(|(name, _)| matches!(*name, "s" | "B"));
    let (name, steps) = units.iter().rev().find(fits).or_else(zero).unwrap_or(&units[0]);
    write!(f, "{} {name}", value / steps)
}

/// Implements parsing and formatting of a quantity: its units, an example, and the conversions from
/// and to the integer.
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

        written!($type, $what, $example, $units, false);
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
        0 => Err("a rate of 0 bit/s\nto interrupt a hop, use a fault of kind \"partition\"".into()),
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

quantity!(
    Frequency,
    "a frequency",
    "914 MHz",
    FREQUENCY,
    FREQUENCY,
    |hertz| match hertz {
        0 => Err("a frequency must be above 0 Hz".into()),
        _ => Ok(Self(hertz)),
    },
    |frequency| frequency.0
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

#[cfg(test)]
mod test {
    use super::*;

    fn nanos(text: &str) -> Result<u64, String> {
        text.parse::<Time>().map(|time| time.0.as_nanos())
    }

    #[test]
    fn decimals_are_exact() {
        assert_eq!(nanos("0.1 s"), Ok(100_000_000));
        assert_eq!(nanos("1.000000001 s"), Ok(1_000_000_001));
        assert_eq!(nanos("1.5min"), Ok(90_000_000_000));
        assert_eq!(nanos("  20   ms "), Ok(20_000_000));
        assert_eq!(nanos("2. h"), Ok(7_200_000_000_000));
        assert_eq!("1.5 kB".parse(), Ok(Size(1500)));
        assert_eq!("1.5 KiB".parse(), Ok(Size(1536)));
        assert_eq!("2 MiB".parse(), Ok(Size(2_097_152)));
        assert_eq!("12.8 kbit/s".parse(), Ok(BitRate(Rate::from_bps(12_800))));
    }

    #[test]
    fn rounding_errors_of_doubles_are_removed() {
        assert_eq!(nanos("1.2000000000000002 s"), Ok(1_200_000_000));
        assert_eq!(nanos("0.30000000000000004 s"), Ok(300_000_000));
        assert_eq!(nanos("0.8999999999999999 s"), Ok(900_000_000));
        assert_eq!(nanos("70.10000000000001 ms"), Ok(70_100_000));
        assert_eq!("1.4000000000000001 MB".parse(), Ok(Size(1_400_000)));
        for text in ["1.2000000000002 s", "0.30000000000000004 ns", "0.0000000004 s"] {
            assert!(nanos(text).unwrap_err().contains("finer than 1 ns"), "{text}");
        }
    }

    #[test]
    fn invalid_quantities_are_rejected() {
        assert!(nanos("18446744073709551615 ns").is_ok());
        for (text, says) in [
            ("18446744073709551616 ns", "too large"),
            ("18446744074 s", "too large"),
            ("99999999999999999999999999999999999999999999 s", "too large"),
            ("0.5 ns", "finer than 1 ns"),
            ("0.00000000000000000000000001 h", "finer than 1 ns"),
            ("1 S", "did you mean `s`?"),
            ("1 kB", "known units: ns, us, ms, s, min, h"),
            ("1", "has no unit"),
            ("-1 s", "negative"),
            ("nan s", "does not begin with a number"),
            ("inf s", "does not begin with a number"),
            ("1e3 s", "not a known unit"),
            ("1_000 s", "does not begin with a number"),
            ("1.2.3 s", "does not begin with a number"),
            ("+1 s", "does not begin with a number"),
            (".5 s", "does not begin with a number"),
            ("٣ s", "does not begin with a number"),
            ("", "does not begin with a number"),
        ] {
            let found = nanos(text).unwrap_err();
            assert!(found.contains(says), "{text}: {found}");
        }
        assert!("0.1 bit/s".parse::<BitRate>().is_err());
        assert!("0 bit/s".parse::<BitRate>().is_err());
        assert!("1.0001 KiB".parse::<Size>().is_err());
    }

    #[test]
    fn units_are_the_largest_that_give_whole_numbers() {
        let shown = |text: &str| text.parse::<Time>().unwrap().to_string();
        assert_eq!(shown("0.25 s"), "250 ms");
        assert_eq!(shown("5 min"), "300 s");
        assert_eq!(shown("0 h"), "0 s");
        assert_eq!(shown("1.0000001 s"), "1000000100 ns");
        assert_eq!(Size(64_000).to_string(), "64 kB");
        assert_eq!(Size(65_536).to_string(), "65536 B");
        assert_eq!(BitRate(Rate::from_bps(2_000_000)).to_string(), "2 Mbit/s");
    }

    #[test]
    fn quantities_are_read_in_base_units() {
        assert_eq!(quantity("500 us"), Some((0.0005, Unit::Second)));
        assert_eq!(quantity("2 KiB"), Some((2048.0, Unit::Byte)));
        assert_eq!(quantity("250 m"), Some((250.0, Unit::Metre)));
        assert_eq!(quantity("36 km/h"), Some((10.0, Unit::MetrePerSecond)));
        assert_eq!(quantity("914 MHz"), Some((9.14e8, Unit::Hertz)));
        assert_eq!(quantity("1e-5"), Some((1e-5, Unit::One)));
        assert_eq!(quantity("7"), Some((7.0, Unit::One)));
        assert_eq!(quantity("nan"), None);
        assert_eq!(quantity("true"), None);
        assert_eq!(quantity(""), None);
    }
}
