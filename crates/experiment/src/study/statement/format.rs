//! What a paper says, as the file has it: `[[reading]]`, `[[statement]]`, and its predicates.

use std::collections::BTreeMap;

use driftway_scenario::Coordinate;
use serde::{Deserialize, Serialize};

use crate::study::format::OneOrMany;
use crate::study::number::PaperNumber;

/// `[[reading]]`: one way to take what a paper leaves open. Each statement of the paper is judged in each
/// reading, and counted there; the first is the paper to the letter.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a reading")]
pub struct Reading {
    /// What statements call it: `"text"`.
    pub name: String,
    /// What it is: `"as the text says"`.
    pub label: String,
    /// The arms that stand for those which statements name: `{ tcp = "tcp-wire" }`. An arm that is not
    /// here stands for itself.
    #[serde(default)]
    pub arms: BTreeMap<String, String>,
}

/// `[[statement]]`: something that is said, as a predicate. Exactly one of `value`, `ratio`, `order`,
/// `trend`, `growth`, `added` is written. A predicate that names no `x` must hold at each. It is judged
/// in each of its figures and readings.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a statement")]
pub struct Statement {
    /// What it is called: `"atcp-flat"`. Of figure 8 in the reading `text` it is `8-atcp-flat-text`.
    pub id: String,
    /// The figure that it is about, or several.
    pub figure: OneOrMany,
    /// The readings in which it is judged. Default: all, or none where it is ours.
    #[serde(default)]
    pub readings: Vec<String>,
    /// What is said, in our words.
    pub says: String,
    /// Which of the figure's metrics. Default: the first.
    pub metric: Option<String>,
    /// With `number`: `{ arm = "atcp", x = "10 ms" }` is that.
    pub value: Option<Value>,
    /// With `number` or `band`: the means' ratio is that.
    pub ratio: Option<Ratio>,
    /// One arm lies below another.
    pub order: Option<Order>,
    /// An arm rises or falls.
    pub trend: Option<Trend>,
    /// One arm's change from the first x to the last is greater than another's.
    pub growth: Option<Growth>,
    /// What this figure adds to another one is above zero, or more for one arm than for another.
    pub added: Option<AddedEffect>,
    /// What the paper says. In the metric's base unit, or with a unit (`"425 s"`), or a percentage
    /// (`"33 %"`), or from–to (`[2, 3]`). 0 means that there is none in any run.
    pub number: Option<PaperNumber>,
    /// The number is where the value ends rather than what it is.
    pub bound: Option<Bound>,
    /// What a ratio lies between, without any tolerance: what "rises a little" is taken to mean.
    pub band: Option<(f64, f64)>,
    /// It is not the paper's but ours. Default: no.
    #[serde(default)]
    pub ours: bool,
    /// Why no aid could break it: it is shown, and not counted.
    pub capped: Option<String>,
    /// Where something else came out with all runs when this was written: `[[statement.differs]]`.
    #[serde(default)]
    pub differs: Vec<Disagreement>,
}

/// `[[statement.differs]]`: a disagreement, with its cause.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a disagreement")]
pub struct Disagreement {
    /// In which of the statement's figures. Default: in all.
    #[serde(default)]
    pub figures: Vec<String>,
    /// In which of its readings. Default: in all.
    #[serde(default)]
    pub readings: Vec<String>,
    /// Why. `{figure}` is the figure's name, here and in the command.
    pub because: String,
    /// The command whose output shows why: of this figure, in this reading.
    pub shown_by: String,
}

/// `value`: one arm's mean.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a value")]
pub struct Value {
    /// Whose.
    pub arm: String,
    /// Where.
    pub x: Option<Coordinate>,
}

/// `ratio`: of `arm` at `x` to the arm `to` at `to_x` in `to_figure`. What is left out is the same below the
/// line as above it. So `{ arm = "atcp", x = "50 ms", to_x = "10 ms" }` with the number 1 says that ATCP is
/// flat.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a ratio")]
pub struct Ratio {
    /// The one above the line.
    pub arm: String,
    /// The one below it.
    pub to: Option<String>,
    /// Where.
    pub x: Option<Coordinate>,
    /// Where the one below the line stands.
    pub to_x: Option<Coordinate>,
    /// In which figure.
    pub to_figure: Option<String>,
    /// Only where it is highest or lowest: "up to 17 % more" is the number "117 %" at the highest. Default:
    /// at each point. The point is chosen by its mean, so that the interval says nothing of that choice.
    pub peak: Option<Peak>,
}

/// `order`: `below` is below `above`, run by run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of an order")]
pub struct Order {
    /// The arm with the lower values.
    pub below: String,
    /// The arm with the higher values.
    pub above: String,
    /// Where.
    pub x: Option<Coordinate>,
    /// It may also be equal: "nowhere worse". Default: no.
    #[serde(default)]
    pub or_equal: bool,
}

/// `trend`: `arm` rises (or falls) from the first x to the last; with `over`, its ratio to the same arm in
/// another figure does.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a trend")]
pub struct Trend {
    /// Whose.
    pub arm: String,
    /// Up or down.
    pub goes: TrendDirection,
    /// From another x than the first.
    pub from: Option<Coordinate>,
    /// To another x than the last.
    pub to: Option<Coordinate>,
    /// The figure below the line of the ratio. Default: there is no ratio.
    pub over: Option<String>,
}

/// Which way a trend goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrendDirection {
    /// It rises.
    Up,
    /// It falls.
    Down,
}

/// `growth`: what `more` gains from the first x to the last is more than what `less` gains. With
/// falling values, the arm that falls less gains more. With `relative = true` it is their ratio that
/// rises from the first x to the last.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a growth")]
pub struct Growth {
    /// The arm that gains more.
    pub more: String,
    /// The arm that gains less.
    pub less: String,
    /// Is it their ratio that is said to rise, rather than their difference? Default: no.
    #[serde(default)]
    pub relative: bool,
    /// From another x than the first.
    pub from: Option<Coordinate>,
    /// To another x than the last.
    pub to: Option<Coordinate>,
}

/// `added`: what this figure adds to the figure `base` at the same x, run by run: for `arm` more than
/// nothing, or more than for the arm `than`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of what is added")]
pub struct AddedEffect {
    /// The figure without what this one adds.
    pub base: String,
    /// The arm to which it adds (more).
    pub arm: String,
    /// The arm to which it adds less.
    pub than: Option<String>,
    /// Where.
    pub x: Option<Coordinate>,
}

/// Which point of several is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Peak {
    /// The one with the highest mean.
    Highest,
    /// The one with the lowest.
    Lowest,
}

/// Where a number is an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// It is that or more.
    AtLeast,
    /// It is that or less.
    AtMost,
}

/// Does what we measure agree with what is said?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It does.
    Agrees,
    /// It does not.
    Differs,
}

/// What a statement rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StatementKind {
    /// A number in the prose.
    Text,
    /// Only an order, a trend or a difference is known.
    Shape,
}
