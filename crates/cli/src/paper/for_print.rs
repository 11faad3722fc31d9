//! Figures of a study for print: the simulated arms, and the paper's numbers over them.

use driftway_experiment::study::document::{ArmResult, CurveResult, FigureResult, StudyDocument};
use driftway_experiment::study::format::Arm;
use driftway_scenario::Unit;
use driftway_sim::results::Estimate;

use crate::figures::curves::{Curve, CurveChart, Mean};
use crate::figures::dots::{DotPlot, Series};
use crate::figures::options::Band;
use crate::figures::style::ArmStyle;
use crate::figures::{Content, PrintFigure};
use crate::text::{Scale, capitalized, title_with_unit, value};

/// Largest number of arms of one figure; of more, each group has a figure of its own.
const MAX_ARMS: usize = 8;

/// The figures of a study: one for each measure of each figure. The first measure has the figure's name; the others, and the
/// groups of many arms after the first, have theirs after it.
pub fn figures(document: &StudyDocument, band: Band) -> Vec<PrintFigure> {
    let mut found = Vec::new();
    for (index, result) in document.figures.iter().enumerate() {
        let is_first = !document.figures[..index].iter().any(|of| of.figure == result.figure);
        let id = match is_first {
            true => result.figure.clone(),
            false => format!("{}-{}", result.figure, result.y.label),
        };
        let groups = groups(&result.arms.0);
        for (number, arms) in groups.iter().enumerate() {
            let of_group = arms.first().map_or("", |of| of.arm.group.as_str());
            let id = if number == 0 { id.clone() } else { format!("{id}-{of_group}") };
            let group = if groups.len() > 1 { format!(", {of_group}") } else { String::new() };
            let title = format!("{}: {}{group}", capitalized(&result.title), result.y.label);
            let drawing = FigureBuilder::new(result, arms, band);
            let content = match result.x {
                Some(_) => Content::Curves(drawing.curves()),
                None => Content::Dots(drawing.dots()),
            };
            found.push(PrintFigure { id, title, content });
        }
    }
    found
}

/// The arms of each figure: all of them, or those of one group.
fn groups(arms: &[ArmResult]) -> Vec<Vec<&ArmResult>> {
    if arms.len() <= MAX_ARMS {
        return vec![arms.iter().collect()];
    }
    let mut groups: Vec<Vec<&ArmResult>> = Vec::new();
    for arm in arms {
        match groups.iter_mut().find(|group| group[0].arm.group == arm.arm.group) {
            Some(group) => group.push(arm),
            None => groups.push(vec![arm]),
        }
    }
    groups
}

struct FigureBuilder<'a> {
    result: &'a FigureResult,
    arms: &'a [&'a ArmResult],
    band: Band,
    x_scale: Scale,
    y_scale: Scale,
}

impl<'a> FigureBuilder<'a> {
    fn new(result: &'a FigureResult, arms: &'a [&'a ArmResult], band: Band) -> Self {
        let points = || arms.iter().flat_map(|arm| &arm.points);
        let reported = result.paper.iter().flat_map(|curve| &curve.points);
        let unit = result.x.as_ref().map_or(Unit::One, |x| x.unit);
        let x_scale = Scale::of_unit(unit, points().filter_map(|point| point.x));
        let ys = points().filter_map(|point| point.mean).chain(reported.map(|(_, y)| *y));
        Self { result, arms, band, x_scale, y_scale: Scale::of(&result.y.metric, ys) }
    }

    fn curves(&self) -> CurveChart {
        let x = self.result.x.as_ref();
        let names = x.map_or(&[][..], |x| &x.names).iter();
        CurveChart {
            x_title: x.map_or_else(String::new, |x| titled(&x.label, self.x_scale)),
            x_names: names.map(|(at, name)| (at * self.x_scale.factor, name.clone())).collect(),
            y_title: titled(&self.result.y.label, self.y_scale),
            curves: self.arms.iter().flat_map(|arm| self.curves_of_arm(arm)).collect(),
            lines: self.lines(),
        }
    }

    /// The curve of an arm, and those that the paper has of it.
    fn curves_of_arm(&self, ArmResult { arm, points }: &ArmResult) -> Vec<Curve> {
        let place = |x: f64| x * self.x_scale.factor;
        let simulated = points.iter().filter_map(|point| {
            let (y, interval) = self.mean(&point.estimate()?);
            Some(Mean { x: place(point.x?), y, interval })
        });
        let style = style(arm);
        let curve = |name: &str, style, points| Curve {
            name: name.to_owned(),
            style,
            arm: Some(arm.number),
            points,
        };
        let reported = self.reported(arm).map(|of| {
            let point = |&(x, y): &(f64, f64)| Mean {
                x: place(x),
                y: y * self.y_scale.factor,
                interval: None,
            };
            curve(&of.label, style.as_reported(), of.points.iter().map(point).collect())
        });
        std::iter::once(curve(&arm.label, style, simulated.collect())).chain(reported).collect()
    }

    fn dots(&self) -> DotPlot {
        let simulated = |arm: &&ArmResult| Some(self.mean(&arm.points.first()?.estimate()?));
        let reported = |arm: &&ArmResult| {
            let curve = self.reported(&arm.arm).next()?;
            Some((curve.points.first()?.1 * self.y_scale.factor, None))
        };
        let mut series = vec![Series {
            name: String::new(),
            style: ArmStyle::of_arm(0),
            means: self.arms.iter().map(simulated).collect(),
        }];
        let means: Vec<_> = self.arms.iter().map(reported).collect();
        if means.iter().any(Option::is_some) {
            series[0].name = "simulated".to_owned();
            let style = ArmStyle::of_arm(1).as_reported();
            series.push(Series { name: "the paper".to_owned(), style, means });
        }
        DotPlot {
            rows: self.arms.iter().map(|of| of.arm.label.clone()).collect(),
            title: titled(&self.result.y.label, self.y_scale),
            series,
            lines: self.lines(),
        }
    }

    fn mean(&self, estimate: &Estimate) -> (f64, Option<[f64; 2]>) {
        let factor = self.y_scale.factor;
        let interval = self.band.of(estimate).map(|ends| ends.map(|end| end * factor));
        (estimate.mean * factor, interval)
    }

    fn reported(&self, arm: &'a Arm) -> impl Iterator<Item = &'a CurveResult> {
        self.result.paper.iter().filter(|curve| curve.arm == arm.name)
    }

    /// The paper's numbers that belong to no arm.
    fn lines(&self) -> Vec<(String, f64)> {
        let line = |line: &driftway_experiment::study::document::LineResult| {
            let name = format!("{}: {}", line.label, value(&self.result.y.metric, line.value));
            (name, line.value * self.y_scale.factor)
        };
        self.result.lines.iter().map(line).collect()
    }
}

/// The style of an arm, the same in every figure.
fn style(arm: &Arm) -> ArmStyle {
    ArmStyle::of_arm(arm.number)
}

fn titled(label: &str, scale: Scale) -> String {
    title_with_unit(capitalized(label), scale.unit)
}
