//! Axes of figures: the independent variable, `x`.

use driftway_scenario::{Coordinate, Unit, quantity};

use super::number::{OneOrMany, SettingValue, Settings};
use super::table::table;

table! {
    /// The independent variable, `x`.
    ///
    /// One key: `{ key = "network.link.delay.mean", values = ["10 ms", "50 ms"], label = "…" }`;
    /// several keys with the same value: `key = ["a", "b"]`; keys with values that follow it:
    /// `{ label = "hops", values = [1, 2, 4], set = { "network.nodes" = "{x+1}", "flow.0.to" = "{x}" } }`;
    /// anything else: `{ label = "flows", points = [{ at = 1, set = { … } }, { at = 2, set = { … } }] }`,
    /// with a `name` where the position on the axis has no meaning.
    pub struct Axis expecting "a table with the keys of an axis" {
        /// Label, without the unit.
        label: String,
        /// The keys that have these values.
        key: OneOrMany = default,
        /// Their values, in the order of the axis.
        values: Vec<Coordinate> = default,
        /// Overrides at each value: `{x}` stands for the value, `{x+1}` and `{x-1}` for one more and one less.
        set: Settings = default,
        /// Points with all their overrides, instead of `values`.
        points: Vec<Point> = default,
    }
}

impl Axis {
    /// The keys that vary, if each point sets the same ones.
    pub fn keys(&self) -> impl Iterator<Item = &String> {
        self.key.0.iter().chain(self.set.keys())
    }

    /// The point at one of its values.
    pub fn point_at(&self, x: &Coordinate) -> Point {
        let value = SettingValue(coordinate_text(x));
        let mut set: Settings = self.key.0.iter().map(|key| (key.clone(), value.clone())).collect();
        let following = self.set.iter();
        set.extend(following.map(|(key, of)| (key.clone(), SettingValue(following_x(&of.0, x)))));
        Point::new(x.clone(), set)
    }
}

/// Replaces `{x}`, `{x+N}` and `{x-N}` in a setting by the value of the axis; a number loses its quotes.
fn following_x(text: &str, x: &Coordinate) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{x") {
        out += before;
        let found = after.split_once('}');
        let Some((value, behind)) = found.and_then(|(by, rest)| Some((shifted(x, by)?, rest)))
        else {
            out += "{x";
            rest = after;
            continue;
        };
        rest = behind;
        if let (Coordinate::Number(_), Some(behind)) = (x, behind.strip_prefix('"'))
            && out.ends_with('"')
        {
            out.pop();
            rest = behind;
        }
        out += &value;
    }
    out + rest
}

/// The value with a number added, as in `+1`; `None`: `by` is not a number with its sign.
fn shifted(x: &Coordinate, by: &str) -> Option<String> {
    if by.is_empty() {
        return Some(coordinate_text(x));
    }
    let by: f64 =
        by.starts_with(['+', '-']).then(|| by.parse().ok())?.filter(|by: &f64| by.is_finite())?;
    match x {
        Coordinate::Number(number) => Some((number + by).to_string()),
        Coordinate::Quantity(text) => {
            let ends = (0..text.len()).rev().filter(|at| text.is_char_boundary(*at));
            let number = |at: usize| Some((text[..at].parse::<f64>().ok()?, &text[at..]));
            let (number, unit) = ends.into_iter().find_map(number)?;
            Some(format!("{}{unit}", number + by))
        }
    }
}

table! {
    /// A point of an axis.
    pub struct Point expecting "a table with the keys of a point" {
        /// Position on the axis.
        at: Coordinate,
        /// Name.
        name: Option<String> => "the value of `at`",
        /// Overrides.
        set: Settings = default,
        /// Parameters of the figure's reference: further arguments of ns-2, or the numbers in the
        /// formula.
        reference: Settings = default,
    }
}

impl Point {
    /// A point with these overrides, without a name.
    pub const fn new(at: Coordinate, set: Settings) -> Self {
        Self { at, name: None, set, reference: Settings::new() }
    }
}

/// A position on an axis in base units.
pub fn axis_position(at: &Coordinate) -> Option<(f64, Unit)> {
    match at {
        Coordinate::Number(number) => Some((*number, Unit::One)),
        Coordinate::Quantity(text) => quantity(text),
    }
}

/// A position as written in the file.
pub fn coordinate_text(at: &Coordinate) -> String {
    match at {
        Coordinate::Number(number) => number.to_string(),
        Coordinate::Quantity(text) => text.clone(),
    }
}
