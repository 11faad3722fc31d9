//! Agreement: ratios of means, and paired logarithms of ratios.

use driftway_sim::results::Estimate;

use crate::study::reference::AgreementCriterion;
use crate::summary::{estimate, student_t_quantile};

/// A number with its 90 % interval.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, schemars::JsonSchema)]
pub struct Interval {
    /// The estimate.
    pub mean: f64,
    /// Lower and upper end of the interval; `null` with too few runs.
    pub ci90: Option<[f64; 2]>,
}

/// One metric at one point, of both simulators.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, schemars::JsonSchema)]
pub struct Comparison {
    /// Driftway's; `null` if it does not count the metric.
    pub ours: Option<Estimate>,
    /// The reference simulator's; `null` if it does not count the metric.
    pub theirs: Option<Estimate>,
    /// The ratio of the means; `null` if the reference is zero.
    pub ratio: Option<Interval>,
}

/// Compares unpaired runs of the same scenario.
pub fn compare(ours: &[f64], theirs: &[f64]) -> Comparison {
    let (a, b) = (estimate(ours), estimate(theirs));
    let ratio = a.zip(b).filter(|(_, b)| b.mean != 0.0).map(|(a, b)| {
        let ratio = a.mean / b.mean;
        // First-order variance of the ratio, from the variance of each mean in units of the
        // reference mean.
        let (of_ours, of_theirs) = (variance_of_mean(ours), variance_of_mean(theirs));
        let unit = b.mean * b.mean;
        let parts = of_ours.zip(of_theirs).map(|(a, b)| [a / unit, ratio * ratio * b / unit]);
        Interval { mean: ratio, ci90: welch_interval(ratio, parts, [ours.len(), theirs.len()]) }
    });
    Comparison { ours: a, theirs: b, ratio }
}

/// The difference of the means of the logarithms: driftway's minus the reference's. `None` if a run
/// delivered nothing, which has no logarithm.
pub fn log_ratio(ours: &[f64], theirs: &[f64]) -> Option<Interval> {
    let logs = |values: &[f64]| -> Option<Vec<f64>> {
        values.iter().map(|&value| (value > 0.0).then(|| libm::log(value))).collect()
    };
    let (ours, theirs) = (logs(ours)?, logs(theirs)?);
    let mean = estimate(&ours)?.mean - estimate(&theirs)?.mean;
    let parts = variance_of_mean(&ours).zip(variance_of_mean(&theirs)).map(<[f64; 2]>::from);
    Some(Interval { mean, ci90: welch_interval(mean, parts, [ours.len(), theirs.len()]) })
}

/// The variance of the mean; `None` for one value.
fn variance_of_mean(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>();
    (values.len() > 1).then(|| squares / (n - 1.0) / n)
}

/// Welch's interval for unequal variances, with the degrees of freedom of Satterthwaite.
fn welch_interval(mean: f64, parts: Option<[f64; 2]>, counts: [usize; 2]) -> Option<[f64; 2]> {
    let parts = parts?;
    let variance: f64 = parts.iter().sum();
    if variance <= 0.0 {
        return Some([mean, mean]);
    }
    let used: f64 = parts.iter().zip(counts).map(|(part, n)| part * part / (n as f64 - 1.0)).sum();
    let half = student_t_quantile(0.90, variance * variance / used)? * variance.sqrt();
    Some([mean - half, mean + half])
}

/// The mean over the points of the difference of logarithms, each point once: it contains the
/// common deviation of all points, and its interval reflects the differences between points.
pub fn mean_over_points(points: &[Option<Interval>]) -> Option<Interval> {
    let means: Option<Vec<f64>> = points.iter().map(|point| Some(point.as_ref()?.mean)).collect();
    let estimate = estimate(&means?)?;
    Some(Interval { mean: estimate.mean, ci90: estimate.ci90 })
}

/// Tolerance of a log ratio.
const TOLERANCE: f64 = 0.1;

/// Returns whether they agree. `None`: not judged, or no data to judge by.
pub fn agrees(
    judge: AgreementCriterion,
    ratios: &[Option<Interval>],
    log: Option<Interval>,
) -> Option<bool> {
    match judge {
        AgreementCriterion::Reported => None,
        AgreementCriterion::Within(part) => {
            let ratios: Option<Vec<f64>> =
                ratios.iter().map(|ratio| Some(ratio.as_ref()?.mean)).collect();
            Some(ratios?.iter().all(|ratio| within(*ratio, part)))
        }
        AgreementCriterion::LogRatio => {
            let [low, high] = log?.ci90?;
            Some(low >= libm::log(1.0 - TOLERANCE) && high <= libm::log(1.0 + TOLERANCE))
        }
    }
}

/// Returns whether a ratio deviates from 1 by at most `part`.
pub fn within(ratio: f64, part: f64) -> bool {
    (ratio - 1.0).abs() <= part
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_ratio_of_means_by_hand() {
        // Means 110 and 100, variances of the means 4 and 1 (sample variances 12 and 3 of three):
        // variance (4 + 1.21)/100², degrees of freedom 5.21²/((16 + 1.4641)/2) = 3.109, t = 2.32.
        let ours = [110.0 - 12f64.sqrt(), 110.0, 110.0 + 12f64.sqrt()];
        let theirs = [100.0 - 3f64.sqrt(), 100.0, 100.0 + 3f64.sqrt()];
        let ratio = compare(&ours, &theirs).ratio.unwrap();
        let [low, high] = ratio.ci90.unwrap();
        assert!((ratio.mean - 1.1).abs() < 1e-12);
        assert!((high - 1.1 - 0.0530).abs() < 5e-4 && (1.1 - low - 0.0530).abs() < 5e-4, "{high}");
        assert_eq!(compare(&[1.0], &[0.0]).ratio, None);
        assert_eq!(compare(&[1.0], &[2.0]).ratio.unwrap().ci90, None);
    }

    #[test]
    fn logarithms_are_those_of_each_run() {
        // Half and double have the same distance: arithmetic means would yield 1.25.
        let log = log_ratio(&[0.5, 2.0], &[1.0, 1.0]).unwrap();
        assert!(log.mean.abs() < 1e-12);
        assert_eq!(log_ratio(&[0.0, 2.0], &[1.0, 1.0]), None);
    }

    #[test]
    fn agreement_is_what_the_interval_says() {
        let point = |mean| Some(Interval { mean, ci90: None });
        let close = [point(0.01), point(-0.02), point(0.02), point(0.0)];
        let log = mean_over_points(&close);
        assert_eq!(agrees(AgreementCriterion::LogRatio, &[], log), Some(true));
        // Equally close in the mean, but not significant.
        let wide = [point(0.4), point(-0.4), point(0.3), point(-0.3)];
        assert_eq!(agrees(AgreementCriterion::LogRatio, &[], mean_over_points(&wide)), Some(false));
        let off = [point(0.2), point(0.21), point(0.19), point(0.2)];
        assert_eq!(agrees(AgreementCriterion::LogRatio, &[], mean_over_points(&off)), Some(false));
        assert_eq!(mean_over_points(&[point(0.1), None]), None);

        let ratios = [point(1.04), point(0.96)];
        assert_eq!(agrees(AgreementCriterion::Within(0.05), &ratios, None), Some(true));
        assert_eq!(agrees(AgreementCriterion::Within(0.03), &ratios, None), Some(false));
        assert_eq!(agrees(AgreementCriterion::Within(0.05), &[point(1.0), None], None), None);
        assert_eq!(agrees(AgreementCriterion::Reported, &ratios, log), None);
    }
}
