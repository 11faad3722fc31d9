//! Statements of a paper in the file: `[[statement]]`, and its predicates.

use driftway_scenario::Coordinate;
use serde::{Deserialize, Serialize};

use super::order::Order;
use super::table::table;
use crate::study::cause::Causes;
use crate::study::number::OneOrMany;
use crate::study::number::PaperNumber;

table! {
    /// A statement as a predicate, `[[statement]]`, with exactly one of `value`, `ratio`, `order`,
    /// `trend`, `growth`, `added`. A predicate without `x` must hold at each point, or at those of `at`. It
    /// is judged in each of its figures and readings, and counted once in each.
    pub struct Statement expecting "a table with the keys of a statement" {
        /// Name, such as `"atcp-flat"`. Its full name for figure 8 in the reading `text` is
        /// `8-atcp-flat-text`.
        id: String,
        /// Its figure or figures.
        figure: OneOrMany,
        /// The readings in which it is judged.
        readings: Vec<String> = default =>
            "those of its figure; without any, all, or none with `ours`",
        /// The points at which it must hold, instead of one `x` or of all points.
        at: Vec<Coordinate> = default,
        /// The statement in words.
        says: String,
        /// One of the figure's metrics.
        metric: Option<String> => "the first",
        /// The mean at a point, `{ arm = "atcp", x = "10 ms" }`, has the value `number`.
        value: Option<Value>,
        /// The ratio of two means has the value `number`, or lies in `band`.
        ratio: Option<Ratio>,
        /// One arm lies below another, paired by seed: `"atcp < tcp"`, or `"atcp < tcp at 10 ms"` at one point. With `<=`
        /// equal values agree: "nowhere worse". Several arms are compared one by one, `"a, b < c, d"`, or each with the only
        /// one of the other side.
        order: Option<Order>,
        /// An arm rises or falls.
        trend: Option<Trend>,
        /// One arm changes more than another from the first x to the last.
        growth: Option<GrowthClaim>,
        /// The difference between this figure and another one is above zero, or greater for one arm
        /// than for another; or it has the value `number`.
        added: Option<AddedEffect>,
        /// The paper's number: in the metric's base unit, with a unit (`"425 s"`), a percentage
        /// (`"33 %"`), or a range (`[2, 3]`). 0 means none in any run.
        number: Option<PaperNumber>,
        /// The number is a bound instead of a value: `"at-least"` or `"at-most"`.
        bound: Option<Bound>,
        /// Range of a ratio, without tolerance, which interprets statements such as "rises a little".
        band: Option<(f64, f64)>,
        /// The statement is ours instead of the paper's.
        ours: bool = default => "true if all its figures are ours",
        /// Reason why no aid could violate it, in words or by the name of a cause: the statement is shown, but not counted.
        capped: Option<String>,
        /// Causes where it differs: a name, or a list of names and of tables with places.
        because: Causes = default,
    }
}

table! {
    /// The mean of one arm: `value`.
    pub struct Value expecting "a table with the keys of a value" {
        /// Arm, or several, for each of which it must hold.
        arm: OneOrMany,
        /// Point.
        x: Option<Coordinate>,
    }
}

table! {
    /// The ratio of `arm` at `x` to the arm `to` at `to_x` in `to_figure`: `ratio`. Omitted parts are
    /// the same in the denominator as in the numerator. So
    /// `{ arm = "atcp", x = "50 ms", to_x = "10 ms" }` with the number 1 states that ATCP is flat.
    pub struct Ratio expecting "a table with the keys of a ratio" {
        /// Arm of the numerator, or several, for each of which it must hold.
        arm: OneOrMany,
        /// Arm of the denominator, or one for each arm.
        to: OneOrMany = default,
        /// Point.
        x: Option<Coordinate>,
        /// Point of the denominator.
        to_x: Option<Coordinate>,
        /// Figure of the denominator.
        to_figure: Option<String>,
        /// Uses only the highest or lowest point: "up to 17 % more" is the number "117 %" at the
        /// highest. The point is chosen by its mean, so that the interval does not include this choice.
        peak: Option<Peak> => "each point",
    }
}

table! {
    /// `arm` rises (or falls) from the first x to the last: `trend`; with `over`, its ratio to the same
    /// arm in another figure does.
    pub struct Trend expecting "a table with the keys of a trend" {
        /// Arm, or several, for each of which it must hold.
        arm: OneOrMany,
        /// Direction: `"up"` or `"down"`.
        goes: TrendDirection,
        /// Start.
        from: Option<Coordinate> => "the first x",
        /// End.
        to: Option<Coordinate> => "the last x",
        /// Figure of the ratio's denominator.
        over: Option<String> => "none, no ratio",
    }
}

/// Direction of a trend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TrendDirection {
    /// Rising.
    Up,
    /// Falling.
    Down,
}

table! {
    /// The gain of `more` from the first x to the last exceeds that of `less`: `growth`. With falling
    /// values, the arm that falls less gains more. With `relative = true` their ratio rises from the
    /// first x to the last.
    pub struct GrowthClaim expecting "a table with the keys of a growth" {
        /// The arm that gains more.
        more: String,
        /// The arm that gains less.
        less: String,
        /// The ratio of the arms rises instead of their difference.
        relative: bool = default => "false",
        /// Start.
        from: Option<Coordinate> => "the first x",
        /// End.
        to: Option<Coordinate> => "the last x",
    }
}

table! {
    /// The difference between this figure and the figure `base` at the same x, paired by seed: `added`.
    /// For `arm` it is above zero, or greater than for the arm `than`; with a number it has this value.
    pub struct AddedEffect expecting "a table with the keys of what is added" {
        /// The figure that is subtracted.
        base: String,
        /// The arm with the (greater) difference.
        arm: String,
        /// The arm with the smaller difference.
        than: Option<String>,
        /// Point.
        x: Option<Coordinate>,
    }
}

/// Selection of one of several points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Peak {
    /// The point with the highest mean.
    Highest,
    /// The point with the lowest mean.
    Lowest,
}

/// Kind of a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// A lower bound.
    AtLeast,
    /// An upper bound.
    AtMost,
}

/// Agreement of a measurement with a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The whole interval agrees.
    Agrees,
    /// The whole interval differs.
    Differs,
    /// A part of the interval agrees: more runs are needed.
    Undecided,
}

impl Verdict {
    /// All verdicts.
    pub const ALL: [Self; 3] = [Self::Agrees, Self::Differs, Self::Undecided];

    /// The word for readers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Differs => "differs",
            Self::Undecided => "undecided",
        }
    }
}

/// Kind of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StatementKind {
    /// A number in the prose.
    Text,
    /// An order, a trend or a difference.
    Shape,
}
