//! Comparison with published values.

use driftway_scenario::Distance;
use driftway_sim::results::{Estimate, RunResult};

use super::cases::{Point, PublishedCase};
use super::compare::{Interval, agrees};
use super::link_changes::link_changes;
use super::simulate::PointRuns;
use crate::study::measure::read_sample;
use crate::study::reference::{AgreementCriterion, PublishedMeasure};
use crate::summary::estimate;

/// A comparison with published values.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct PublishedResult {
    /// Name of the case.
    pub name: String,
    /// Title of the case.
    pub title: String,
    /// Label of the axis.
    pub axis: String,
    /// The publication: authors, title, year, and table or figure.
    pub source: String,
    /// The measure, with its unit, as in `driftway run --json`; a ratio has both names,
    /// `delivered_packets/sent_packets`. `link_changes`: times that two nodes came into range or left
    /// it. `share_of_best`: the figure's measure, divided by its largest mean over the points.
    pub metric: String,
    /// Criterion of agreement.
    pub judge: AgreementCriterion,
    /// True if they agree; `null`: not judged, or not possible to judge.
    pub agrees: Option<bool>,
    /// Results at the points of the axis.
    pub points: Vec<PublishedPoint>,
    /// Note for readers; `null` without one.
    pub note: Option<String>,
}

/// The measurement at one point, and the published value.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct PublishedPoint {
    /// Name of the point.
    pub name: String,
    /// The measured value over the runs; `null` if no run has a value.
    pub measured: Option<Estimate>,
    /// The published value; `null` where there is none.
    pub published: Option<f64>,
    /// The measured value divided by the published one; `null` if that is zero, or without a value.
    pub ratio: Option<Interval>,
    /// The command that runs driftway's side.
    pub command: String,
}

/// The result of a comparison with published values.
pub fn published_result(case: &PublishedCase, ran: &[PointRuns]) -> PublishedResult {
    let about = &case.about;
    let mut values: Vec<Vec<f64>> =
        about.points.iter().zip(ran).map(|(point, ran)| measured(case, point, ran)).collect();
    let metric = match case.measure {
        None => case.y.name().into_owned(),
        Some(PublishedMeasure::LinkChanges(_)) => "link_changes".to_owned(),
        Some(PublishedMeasure::ShareOfBest) => {
            divide_by_best(&mut values);
            "share_of_best".to_owned()
        }
    };
    let points: Vec<PublishedPoint> = about
        .points
        .iter()
        .zip(&values)
        .map(|(point, values)| point_result(point, values))
        .collect();
    let ratios: Vec<Option<Interval>> = points.iter().map(|point| point.ratio).collect();
    PublishedResult {
        name: about.name.clone(),
        title: about.title.clone(),
        axis: about.axis.clone(),
        source: case.source.clone(),
        metric,
        judge: about.judge,
        agrees: agrees(about.judge, &ratios, None),
        points,
        note: about.note.clone(),
    }
}

/// The values of a point's runs.
fn measured(case: &PublishedCase, point: &Point, ran: &PointRuns) -> Vec<f64> {
    let scenario = &point.job.scenario;
    let read = |run: &RunResult| match case.measure {
        Some(PublishedMeasure::LinkChanges(Distance(range))) => {
            link_changes(scenario, run.seed, range)
        }
        None | Some(PublishedMeasure::ShareOfBest) => read_sample(&case.y, scenario, run).value,
    };
    ran.ours.iter().filter_map(|(run, _)| read(run)).collect()
}

/// Divides all values by the largest mean of a point.
fn divide_by_best(values: &mut [Vec<f64>]) {
    let means = values.iter().filter_map(|values| Some(estimate(values)?.mean));
    let best = means.fold(0.0, f64::max);
    if best > 0.0 {
        values.iter_mut().flatten().for_each(|value| *value /= best);
    }
}

fn point_result(point: &Point, values: &[f64]) -> PublishedPoint {
    let published: Option<f64> =
        point.reference.get("value").and_then(|value| value.0.parse().ok());
    let measured = estimate(values);
    let divisor = published.filter(|published| *published != 0.0);
    let ratio = measured.zip(divisor).map(|(of, published)| Interval {
        mean: of.mean / published,
        ci90: of.ci90.map(|ends| ends.map(|end| end / published)),
    });
    PublishedPoint {
        name: point.name.clone(),
        measured,
        published,
        ratio,
        command: point.job.command(),
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn the_best_point_has_the_share_one() {
        let mut values = vec![vec![1.0, 3.0], vec![4.0, 6.0], vec![]];
        divide_by_best(&mut values);
        assert_eq!(values, [vec![0.2, 0.6], vec![0.8, 1.2], vec![]]);
        let mut nothing = vec![vec![0.0], vec![]];
        divide_by_best(&mut nothing);
        assert_eq!(nothing, [vec![0.0], vec![]]);
    }
}
