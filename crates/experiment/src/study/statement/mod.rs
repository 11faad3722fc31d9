//! What a paper says: each statement in each of its figures and readings comes down to a mean, a ratio of
//! means, or a sum of paired differences that is said to be above zero.

mod cases;
pub mod format;
mod plan;
#[cfg(test)]
mod test;

use format::{StatementKind, Verdict};
pub use plan::{metric_unit, plan};

/// A statement about one figure, in one reading, its names resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedStatement {
    /// What it is called: figure, name and reading.
    pub id: String,
    /// Which statement of the file.
    pub statement: usize,
    /// Which figure of the paper.
    pub figure: usize,
    /// Which of its measures.
    pub measure: usize,
    /// Which reading.
    pub reading: Option<usize>,
    /// Where it is counted.
    pub counted: CountedAs,
    /// What it rests on.
    pub kind: StatementKind,
    /// The verdict that is recorded, with all runs.
    pub expected: Verdict,
    /// Which of the statement's causes is its own.
    pub differs: Option<usize>,
    /// What must hold, for each point that is meant.
    pub cases: Vec<Case>,
}

/// Where a statement is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CountedAs {
    /// Among the paper's numbers.
    Number,
    /// Among what it says of order, trend, band or difference.
    Order,
    /// Nowhere: no aid could break it.
    Capped,
    /// Among what we say.
    Ours,
}

/// What must hold at one point.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The point, where it is one.
    pub x: Option<usize>,
    /// What is measured.
    pub quantity: Quantity,
}

/// One measure of one arm at one point: the figure, the number of its measure, the arm's place among its
/// arms, and the point's on its axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Which figure.
    pub figure: usize,
    /// Which of its measures.
    pub measure: usize,
    /// Which arm.
    pub arm: usize,
    /// Which point.
    pub x: usize,
}

/// What is measured.
#[derive(Clone, Debug, PartialEq)]
pub enum Quantity {
    /// A mean.
    Mean(Cell),
    /// The first's mean over the second's.
    Ratio(Cell, Cell),
    /// The sum of what is added less the sum of what is taken away, run by run: said to be above 0.
    Difference {
        /// Added.
        plus: Vec<Cell>,
        /// Taken away.
        minus: Vec<Cell>,
    },
    /// The first ratio less the second, run by run: said to be above 0.
    RatioDifference {
        /// Above and below the line of the ratio that is said to be higher.
        higher: [Cell; 2],
        /// Of the one that is said to be lower.
        lower: [Cell; 2],
    },
}

impl Quantity {
    /// Every cell that it needs.
    pub fn cells(&self) -> Vec<Cell> {
        match self {
            Self::Mean(cell) => vec![*cell],
            Self::Ratio(above, below) => vec![*above, *below],
            Self::Difference { plus, minus } => plus.iter().chain(minus).copied().collect(),
            Self::RatioDifference { higher, lower } => [*higher, *lower].concat(),
        }
    }
}
