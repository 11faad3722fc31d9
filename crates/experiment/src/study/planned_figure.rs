//! A figure whose names are resolved.

use driftway_scenario::Unit;

use super::format::{Arm, Figure, Settings};

/// A figure with all names resolved.
#[derive(Clone, Debug)]
pub struct PlannedFigure {
    /// The figure as the study describes it.
    pub figure: Figure,
    /// Its arms.
    pub arms: Vec<PlannedArm>,
    /// The points of its axis; one without a position if there is no axis.
    pub points: Vec<AxisPoint>,
    /// Unit of the axis.
    pub unit: Unit,
}

/// An arm of a figure.
#[derive(Clone, Debug)]
pub struct PlannedArm {
    /// The arm as the study describes it, or as a reading derives it.
    pub arm: Arm,
    /// The arms that it represents, and the readings, if readings derive it.
    pub derived: Vec<DerivedFrom>,
    /// Its job at each point of the axis, an index of the plan's jobs.
    pub jobs: Vec<usize>,
}

/// The origin of an arm that a reading derives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DerivedFrom {
    /// Name of the arm.
    pub arm: String,
    /// Name of the reading.
    pub reading: String,
}

impl PlannedFigure {
    /// All its points, or the ends of its axis.
    pub fn some_points(&self, ends: bool) -> Vec<usize> {
        match self.points.len() {
            all if ends && all > 2 => vec![0, all - 1],
            all => (0..all).collect(),
        }
    }

    /// Names of its arms.
    pub fn arm_names(&self) -> Vec<&str> {
        self.arms.iter().map(|of| of.arm.name.as_str()).collect()
    }

    /// Index of the arm with which an arm is compared, if the figure has that one.
    pub fn against(&self, row: usize) -> Option<usize> {
        let name = self.arms[row].arm.against.as_ref()?;
        self.arms.iter().position(|of| of.arm.name == *name)
    }

    /// The arm that represents the arm `name` in a reading: the one that the reading derives, or itself.
    pub fn arm_in(&self, reading: Option<&str>, name: &str) -> Option<&PlannedArm> {
        let is_derived = |of: &&PlannedArm| {
            let mut from = of.derived.iter();
            from.any(|from| from.arm == name && Some(from.reading.as_str()) == reading)
        };
        let itself = || self.arms.iter().find(|of| of.arm.name == name);
        self.arms.iter().find(is_derived).or_else(itself)
    }

    /// Index of the point at `value`, in base units.
    pub fn point_at(&self, value: f64) -> Option<usize> {
        let here = |x: &Option<f64>| x.is_some_and(|x| (x - value).abs() <= 1e-9 * value.abs());
        self.points.iter().position(|x| here(&x.value))
    }
}

/// A point of an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct AxisPoint {
    /// Position in base units; `None` without an axis.
    pub value: Option<f64>,
    /// Position as written in the file.
    pub text: String,
    /// Name, if it has one.
    pub name: Option<String>,
    /// Settings of a reference at this point.
    pub reference: Settings,
}

impl AxisPoint {
    /// Label for readers.
    pub fn title(&self) -> &str {
        self.name.as_ref().unwrap_or(&self.text)
    }
}
