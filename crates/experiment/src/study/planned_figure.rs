//! A figure whose names are resolved.

use driftway_scenario::Unit;

/// A figure with all names resolved.
#[derive(Clone, Debug)]
pub struct PlannedFigure {
    /// Indices of its arms in the study.
    pub arms: Vec<usize>,
    /// The points of its axis; one without a position if there is no axis.
    pub points: Vec<AxisPoint>,
    /// Unit of the axis.
    pub unit: Unit,
    /// Index of the job, by arm and point.
    pub jobs: Vec<Vec<usize>>,
}

impl PlannedFigure {
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
}

impl AxisPoint {
    /// Label for readers.
    pub fn title(&self) -> &str {
        self.name.as_ref().unwrap_or(&self.text)
    }
}
