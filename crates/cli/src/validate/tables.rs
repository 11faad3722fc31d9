//! Tables of the comparison, for the terminal and the page.

use driftway_sim::results::Estimate;

use super::compared_value::{ComparedValue, ComparedValues};
use crate::text::{Grid, Scale, fixed, mean, mean_in, value};
use driftway_experiment::validation::compare::{Comparison, Interval};
use driftway_experiment::validation::document::{CaseResult, PointResult};
use driftway_experiment::validation::run_metrics::METRICS;

/// Smallest count of the other simulator for which a ratio is shown.
const MIN_FOR_RATIO: f64 = 10.0;

/// Table of the goodput of both simulators, and their ratios.
pub fn goodput_table(case: &CaseResult) -> Grid {
    let metric = METRICS[0].name;
    let of = |point: &PointResult| point.metrics[metric].clone();
    let scale =
        Scale::of(metric, case.points.iter().filter_map(|point| Some(of(point).ours?.mean)));
    let unit = scale.unit;
    let side = |side: Option<Estimate>| side.map_or("–".to_owned(), |side| mean_in(scale, &side));
    let runs = |compared: &Comparison| {
        [compared.ours, compared.theirs].map(|side| side.map_or(0, |side| side.n).to_string())
    };
    let rows = case.points.iter().map(|point| {
        let compared = of(point);
        let [ours, theirs] = runs(&compared);
        vec![
            point.name.clone(),
            side(compared.ours),
            ours,
            side(compared.theirs),
            theirs,
            compared.ratio.map_or("–".to_owned(), interval),
            point.log_ratio.map_or("–".to_owned(), interval),
        ]
    });
    let header = [
        case.axis.clone(),
        format!("driftway ({unit})"),
        "n".to_owned(),
        format!("{} ({unit})", case.against.name()),
        "n".to_owned(),
        "ratio".to_owned(),
        "log ratio".to_owned(),
    ];
    Grid { header: header.to_vec(), rows: rows.collect() }
}

/// Table of the ratios of the other metrics that both simulators have, and that are not always zero.
pub fn counts_table(case: &CaseResult) -> Option<Grid> {
    let known = |name: &str| {
        let both = |point: &PointResult| {
            let of = &point.metrics[name];
            of.ours.zip(of.theirs).is_some_and(|(ours, theirs)| ours.mean + theirs.mean > 0.0)
        };
        case.points.iter().any(both)
    };
    let known: Vec<(&str, &str)> =
        METRICS[1..].iter().filter(|of| known(of.name)).map(|of| (of.name, of.heading)).collect();
    if known.is_empty() {
        return None;
    }
    let header = std::iter::once(case.axis.as_str()).chain(known.iter().map(|(_, title)| *title));
    let rows = case.points.iter().map(|point| {
        let cells = known.iter().map(|(name, _)| count_ratio(&point.metrics[*name]));
        std::iter::once(point.name.clone()).chain(cells).collect()
    });
    Some(Grid { header: header.map(str::to_owned).collect(), rows: rows.collect() })
}

/// A ratio, or both values if the other simulator's is small: `3 : 0`.
fn count_ratio(compared: &Comparison) -> String {
    match (compared.ours, compared.theirs, compared.ratio) {
        (Some(ours), Some(theirs), ratio) if theirs.mean < MIN_FOR_RATIO || ratio.is_none() => {
            let whole = |n: f64| match (n * 10.0).round() / 10.0 {
                few if few < MIN_FOR_RATIO && few.fract() != 0.0 => format!("{few:.1}"),
                _ => format!("{n:.0}"),
            };
            format!("{} : {}", whole(ours.mean), whole(theirs.mean))
        }
        (_, _, Some(ratio)) => format!("{:.2}", ratio.mean),
        _ => "–".to_owned(),
    }
}

/// Table of all metrics of both simulators.
pub fn numbers_table(case: &CaseResult) -> Grid {
    let side = |side: Option<Estimate>, name: &str| {
        side.map_or("–".to_owned(), |side| mean(name, &side))
    };
    let mut rows = Vec::new();
    for point in &case.points {
        let metrics = METRICS.iter().map(|of| (of.name, of.label, &point.metrics[of.name]));
        let time = std::iter::once(("user_s", "user CPU time", &point.user_s));
        for (name, title, of) in metrics.chain(time) {
            if of.ours.is_some() || of.theirs.is_some() {
                rows.push(vec![
                    point.name.clone(),
                    title.to_owned(),
                    side(of.ours, name),
                    side(of.theirs, name),
                    of.ratio.map_or("–".to_owned(), interval),
                ]);
            }
        }
    }
    let header = [&case.axis, "", "driftway", case.against.name(), "ratio"].map(str::to_owned);
    Grid { header: header.to_vec(), rows }
}

/// Table of the measured values and those of a formula or a publication.
pub fn value_table(of: &ComparedValues<'_>) -> Grid {
    let as_set = of.points.iter().any(|point| point.ratio_as_set.is_some());
    let row = |point: &ComparedValue<'_>| {
        let ratio = |ratio: Option<Interval>| ratio.map_or("–".to_owned(), interval);
        let mut row = vec![
            point.name.clone(),
            point.measured.map_or("–".to_owned(), |of| mean(point.metric, &of)),
            point.measured.map_or(0, |of| of.n).to_string(),
            point.reference.map_or("–".to_owned(), |law| value(point.metric, law)),
            ratio(point.ratio),
        ];
        if as_set {
            row.push(ratio(point.ratio_as_set));
        }
        row
    };
    let mut header = vec![of.axis, "measured", "n", of.reference, "ratio"];
    if as_set {
        header.push("ratio with configured loss");
    }
    Grid {
        header: header.into_iter().map(str::to_owned).collect(),
        rows: of.points.iter().map(row).collect(),
    }
}

/// `0.987 ± 0.012`: three decimals, because these values are close to one or zero.
pub fn interval(interval: Interval) -> String {
    let mean = fixed(interval.mean, 3);
    match interval.ci90 {
        Some([low, high]) => format!("{mean} ±\u{a0}{:.3}", (high - low) / 2.0),
        None => mean,
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use driftway_experiment::validation::compare::compare;

    #[test]
    fn small_counts_are_shown_without_a_ratio() {
        assert_eq!(count_ratio(&compare(&[3.0], &[0.0])), "3 : 0");
        assert_eq!(count_ratio(&compare(&[25.0], &[4.5])), "25 : 4.5");
        assert_eq!(count_ratio(&compare(&[90.0], &[100.0])), "0.90");
        assert_eq!(count_ratio(&compare(&[90.0], &[])), "–");
    }
}
