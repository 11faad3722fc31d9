//! Figures of a set of results for print.

use driftway_scenario::{Coordinate, Reference};

use super::curves::{self, MeasuredMetric, reference_name};
use crate::figures::curves::{Curve, CurveChart, Mean};
use crate::figures::dots::{DotPlot, Series};
use crate::figures::options::Band;
use crate::figures::style::ArmStyle;
use crate::figures::{Content, PrintFigure};
use crate::text::{capitalized, title, title_with_unit};

/// The figures of a set: one for each metric that the page plots, with the metric's name.
pub fn figures(metrics: &[MeasuredMetric<'_>], band: Band) -> Vec<PrintFigure> {
    let figure = |of: &MeasuredMetric<'_>| PrintFigure {
        id: title(&of.metric),
        title: of.title(),
        content: match of.axis {
            Some(_) => Content::Curves(chart(of, band)),
            None => Content::Dots(dots(of, band)),
        },
    };
    metrics.iter().map(figure).collect()
}

fn chart(of: &MeasuredMetric<'_>, band: Band) -> CurveChart {
    let curve = |(index, curve): (usize, &curves::Curve)| Curve {
        name: curve.name.clone(),
        style: ArmStyle::of_arm(index),
        arm: Some(index),
        points: curve.points.iter().map(|point| mean(of, point, band)).collect(),
    };
    let reference = |reference: &Reference| {
        let arm = of.arm_of(reference);
        let place = |(x, y): &(Coordinate, f64)| {
            let (x, y) = (x.value()? * of.x_scale.factor, y * of.y_scale.factor);
            Some(Mean { x, y, interval: None })
        };
        let other = of.curves.len();
        Curve {
            name: reference_name(reference),
            style: ArmStyle::of_arm(arm.unwrap_or(other)).as_reported(),
            arm,
            points: reference.points.iter().filter_map(place).collect(),
        }
    };
    let simulated = of.curves.iter().enumerate().map(curve);
    CurveChart {
        x_title: of.axis.map_or_else(String::new, |axis| {
            title_with_unit(capitalized(&axis.name()), axis.unit(of.x_scale))
        }),
        x_names: Vec::new(),
        y_title: value_title(of),
        curves: simulated.chain(of.references.iter().map(reference)).collect(),
        lines: Vec::new(),
    }
}

fn dots(of: &MeasuredMetric<'_>, band: Band) -> DotPlot {
    let measured = |curve: &curves::Curve| {
        let Mean { y, interval, .. } = mean(of, curve.points.first()?, band);
        Some((y, interval))
    };
    DotPlot {
        rows: of.curves.iter().map(|curve| curve.name.clone()).collect(),
        title: value_title(of),
        series: vec![Series {
            name: String::new(),
            style: ArmStyle::of_arm(0),
            means: of.curves.iter().map(measured).collect(),
        }],
        lines: Vec::new(),
    }
}

fn mean(of: &MeasuredMetric<'_>, point: &curves::Point, band: Band) -> Mean {
    let factor = of.y_scale.factor;
    Mean {
        x: point.x * of.x_scale.factor,
        y: point.estimate.mean * factor,
        interval: band.of(&point.estimate).map(|ends| ends.map(|end| end * factor)),
    }
}

fn value_title(of: &MeasuredMetric<'_>) -> String {
    title_with_unit(capitalized(&title(&of.metric)), of.y_scale.unit)
}
