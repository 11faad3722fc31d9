//! Quantities of space and radio: real numbers with a unit, stored in the base unit as the nearest
//! floating-point number.

use std::fmt;

use crate::error::{nearest, quoted};
use crate::value_or::written;

/// A length or a coordinate, in metres: `mm`, `cm`, `m`, `km`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Default)]
pub struct Distance(pub f64);

/// A speed, in metres per second: `m/s`, `km/h`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Default)]
pub struct Speed(pub f64);

/// A power ratio in decibels: `dB`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Decibel(pub f64);

/// An angle, in degrees: `deg`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Angle(pub f64);

/// A power in `W`, `mW` or `uW`, or a level in `dBm`; the written form is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Power {
    /// Watts.
    Watts(f64),
    /// Decibels relative to one milliwatt.
    Dbm(f64),
}

impl Decibel {
    /// The linear ratio.
    pub fn ratio(self) -> f64 {
        libm::pow(10.0, self.0 / 10.0)
    }
}

impl Power {
    /// The power in watts.
    pub fn watts(self) -> f64 {
        match self {
            Self::Watts(watts) => watts,
            Self::Dbm(level) => libm::pow(10.0, level / 10.0) / 1000.0,
        }
    }
}

/// Unit names, each with a factor and a divisor relative to the base unit (1/1000 is not a
/// floating-point number, so that a factor alone would make 5 mm differ from 0.005 m).
type Units = &'static [(&'static str, f64, f64)];

const DISTANCE: Units =
    &[("mm", 1.0, 1000.0), ("cm", 1.0, 100.0), ("m", 1.0, 1.0), ("km", 1000.0, 1.0)];
const SPEED: Units = &[("m/s", 1.0, 1.0), ("km/h", 1.0, 3.6)];
const DECIBEL: Units = &[("dB", 1.0, 1.0)];
const ANGLE: Units = &[("deg", 1.0, 1.0)];
const POWER: Units = &[("W", 1.0, 1.0), ("mW", 1.0, 1e3), ("uW", 1.0, 1e6), ("dBm", 1.0, 1.0)];

/// Message for a unit that is not in `names`, with a hint after a line break.
pub(crate) fn unknown_unit<'a>(unit: &str, names: impl Iterator<Item = &'a str> + Clone) -> String {
    let near = nearest(unit, names.clone());
    let near = near.map_or(String::new(), |name| format!("did you mean `{name}`? "));
    let known = names.collect::<Vec<_>>().join(", ");
    format!("`{}` is not a known unit\n{near}known units: {known}", quoted(unit))
}

/// Length of the number at the start of `text`. An `e` belongs to it if an exponent follows.
fn end_of_number(text: &str) -> usize {
    let bytes = text.as_bytes();
    let number = |at: usize| match bytes[at] {
        b'0'..=b'9' | b'.' | b'-' | b'+' | b'_' => true,
        b'e' | b'E' => {
            bytes.get(at + 1).is_some_and(|b| b.is_ascii_digit() || matches!(b, b'-' | b'+'))
        }
        _ => false,
    };
    (0..bytes.len()).find(|at| !number(*at)).unwrap_or(bytes.len())
}

/// Parses `text` as a number and one of `units`. The error is a message for the user.
fn read(text: &str, units: Units, example: &str) -> Result<(f64, &'static str), String> {
    let text = text.trim();
    let (number, unit) = text.split_at(end_of_number(text));
    let unit = unit.trim();
    let names = units.iter().map(|(name, ..)| *name);
    let found = quoted(text);
    let digits = number.strip_prefix('-').unwrap_or(number);
    let begins = digits.starts_with(|c: char| c.is_ascii_digit());
    let value = number.trim().parse::<f64>().ok().filter(|_| begins);
    let Some(value) = value else {
        return Err(format!(
            "`{found}` does not begin with a number\na valid value is, for example, \"{example}\""
        ));
    };
    if unit.is_empty() {
        let known = names.collect::<Vec<_>>().join(", ");
        return Err(format!("`{found}` has no unit\nknown units: {known}"));
    }
    let Some((name, factor, divisor)) = units.iter().find(|(name, ..)| *name == unit) else {
        return Err(unknown_unit(unit, names));
    };
    let value = value * factor / divisor;
    if value.is_finite() { Ok((value, name)) } else { Err(format!("`{found}` is too large")) }
}

/// Formats a number in a short form that parses to the same value.
fn write(f: &mut fmt::Formatter<'_>, value: f64, unit: &str) -> fmt::Result {
    // Adding 0 turns -0 into 0.
    let value = value + 0.0;
    match value.abs() {
        0.0 | 1e-4..1e15 => write!(f, "{value} {unit}"),
        _ => write!(f, "{value:e} {unit}"),
    }
}

/// Implements parsing and formatting of a quantity with `$units`: `$from` (number in the base unit,
/// name of the written unit) creates it, `$to` returns number and unit.
macro_rules! measure {
    ($type:ident, $what:literal, $example:literal, $units:expr, $from:expr, $to:expr) => {
        impl std::str::FromStr for $type {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                let from: fn(f64, &str) -> $type = $from;
                read(text, $units, $example).map(|(value, unit)| from(value, unit))
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let to: fn($type) -> (f64, &'static str) = $to;
                let (value, unit) = to(*self);
                write(f, value, unit)
            }
        }

        written!($type, $what, $example, $units, true);
    };
}

measure!(Distance, "a distance", "250 m", DISTANCE, |metres, _| Self(metres), |distance| (
    distance.0, "m"
));
measure!(Speed, "a speed", "10 m/s", SPEED, |speed, _| Self(speed), |speed| (speed.0, "m/s"));
measure!(Decibel, "a ratio", "10 dB", DECIBEL, |ratio, _| Self(ratio), |ratio| (ratio.0, "dB"));
measure!(Angle, "an angle", "24.94 deg", ANGLE, |degrees, _| Self(degrees), |angle| (
    angle.0, "deg"
));
measure!(
    Power,
    "a power",
    "-64.4 dBm",
    POWER,
    |value, unit| if unit == "dBm" { Self::Dbm(value) } else { Self::Watts(value) },
    |power| match power {
        Self::Watts(watts) => (watts, "W"),
        Self::Dbm(level) => (level, "dBm"),
    }
);

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn units_are_exact_where_they_can_be() {
        assert_eq!("5 mm".parse(), Ok(Distance(0.005)));
        assert_eq!("1.5 km".parse(), Ok(Distance(1500.0)));
        assert_eq!("-3.25m".parse(), Ok(Distance(-3.25)));
        assert_eq!("36 km/h".parse(), Ok(Speed(10.0)));
        assert_eq!("3.652e-10 W".parse(), Ok(Power::Watts(3.652e-10)));
        assert_eq!("281.83815 mW".parse(), Ok(Power::Watts(0.281_838_15)));
        assert_eq!("-64.37 dBm".parse(), Ok(Power::Dbm(-64.37)));
        assert_eq!("846.802967981207 m".parse(), Ok(Distance(846.802_967_981_207)));
    }

    #[test]
    fn levels_are_powers() {
        assert_eq!(Power::Dbm(30.0).watts(), 1.0);
        assert_eq!(Decibel(10.0).ratio(), 10.0);
        let power = Power::Dbm(24.5).watts();
        assert!((power - 0.281_838_15).abs() < 1e-6, "{power}");
    }

    #[test]
    fn invalid_quantities_are_rejected() {
        for (text, says) in [
            ("250", "has no unit"),
            ("250 ms", "is not a known unit"),
            ("1 KM", "did you mean `km`?"),
            ("m", "does not begin with a number"),
            ("", "does not begin with a number"),
            ("inf m", "does not begin with a number"),
            ("nan m", "does not begin with a number"),
            ("- 1 m", "does not begin with a number"),
            ("--1 m", "does not begin with a number"),
            ("+1 m", "does not begin with a number"),
            (".5 m", "does not begin with a number"),
            ("1.2.3 m", "does not begin with a number"),
            ("1_000 m", "does not begin with a number"),
            ("٣ m", "does not begin with a number"),
            ("1e400 m", "is too large"),
            ("1e m", "`e m` is not a known unit"),
        ] {
            let found = text.parse::<Distance>().unwrap_err();
            assert!(found.contains(says), "{text}: {found}");
        }
    }

    #[test]
    fn output_is_short() {
        assert_eq!(Distance(250.0).to_string(), "250 m");
        assert_eq!(Distance(-0.0).to_string(), "0 m");
        assert_eq!(Power::Watts(3.652e-10).to_string(), "3.652e-10 W");
        assert_eq!(Power::Dbm(-64.375).to_string(), "-64.375 dBm");
    }
}
