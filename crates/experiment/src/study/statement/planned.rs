//! Statements whose names are resolved.

use super::format::{Statement, StatementKind};
use crate::study::recorded_verdicts::VerdictPair;

/// A statement about one figure in one reading, names resolved.
#[derive(Clone, Debug)]
pub struct PlannedStatement {
    /// Full name: figure, name and reading.
    pub id: String,
    /// The statement as the study has it.
    pub statement: Statement,
    /// Index of the figure.
    pub figure: usize,
    /// Index of its measure.
    pub measure: usize,
    /// Name of the reading.
    pub reading: Option<String>,
    /// Category in which it is counted.
    pub counted: CountedAs,
    /// Kind of statement.
    pub kind: StatementKind,
    /// The recorded verdicts.
    pub recorded: VerdictPair,
    /// The cause of a disagreement, if one is given for this figure and reading.
    pub cause: Option<PlannedCause>,
    /// The cases that must hold, one per point.
    pub cases: Vec<Case>,
}

/// The cause of a disagreement in one figure and reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedCause {
    /// Its name.
    pub name: String,
    /// The cause in words.
    pub text: String,
    /// The command whose output shows it.
    pub shown_by: String,
}

/// Category in which a statement is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CountedAs {
    /// The paper's numbers.
    Number,
    /// The paper's statements of order, trend, band or difference.
    Order,
    /// No category, because no aid could violate it.
    Capped,
    /// Our own statements.
    Ours,
}

/// A quantity that must agree at one point.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The point, if it is one.
    pub x: Option<usize>,
    /// The quantity.
    pub quantity: Quantity,
}

/// One measure of one arm at one point, by indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Index of the figure.
    pub figure: usize,
    /// Index of its measure.
    pub measure: usize,
    /// Index among the figure's arms.
    pub arm: usize,
    /// Index of the point on its axis.
    pub x: usize,
}

/// A quantity to measure.
#[derive(Clone, Debug, PartialEq)]
pub enum Quantity {
    /// A mean.
    Mean(Cell),
    /// The first cell's mean divided by the second's.
    Ratio(Cell, Cell),
    /// The sum of `plus` minus the sum of `minus`, paired by seed, which must be above 0.
    Difference {
        /// Added cells.
        plus: Vec<Cell>,
        /// Subtracted cells.
        minus: Vec<Cell>,
    },
    /// The first ratio minus the second, paired by seed, which must be above 0.
    RatioDifference {
        /// Numerator and denominator of the ratio that must be higher.
        higher: [Cell; 2],
        /// Numerator and denominator of the ratio that must be lower.
        lower: [Cell; 2],
    },
}

impl Quantity {
    /// All its cells.
    pub fn cells(&self) -> Vec<Cell> {
        match self {
            Self::Mean(cell) => vec![*cell],
            Self::Ratio(above, below) => vec![*above, *below],
            Self::Difference { plus, minus } => plus.iter().chain(minus).copied().collect(),
            Self::RatioDifference { higher, lower } => [*higher, *lower].concat(),
        }
    }
}
