//! Significance of ratios, and Holm's step-down procedure against chance finds among many ("A simple sequentially
//! rejective multiple test procedure", 1979).

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::study::measure::Measurement;
use crate::summary::student_t_quantile;

/// The two-sided probability of a ratio at least this far from 1 if the true one is 1, by the same Student's t that its
/// interval is from. `None` without an interval, and where the runs of all seeds are in the same ratio other than 1:
/// they are then one run, which was repeated.
pub fn p_value(ratio: &Measurement) -> Option<f64> {
    let [low, high] = ratio.ci90?;
    if ratio.mean == 1.0 && low == high {
        return Some(1.0);
    }
    let freedom = ratio.n.checked_sub(1)? as f64;
    let error = (high - low) / 2.0 / student_t_quantile(0.90, freedom)?;
    // A rounding error of equal values is not a spread.
    if error <= 1e-12 * ratio.mean.abs() {
        return None;
    }
    let t = (ratio.mean - 1.0).abs() / error;
    let tail = StudentsT::new(0.0, 1.0, freedom).ok()?.sf(t);
    Some(rounded(2.0 * tail).min(1.0))
}

/// Six significant digits, so that machines whose logarithms differ in the last digit write the same bytes.
fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// Adjusted probabilities by Holm's procedure: the k-th smallest of m is multiplied by m − k + 1, and none is below one
/// that was smaller before. An adjusted probability below α is significant at α whatever the number of tests. Values that
/// are missing are no tests.
pub fn holm(values: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut order: Vec<(usize, f64)> =
        values.iter().enumerate().filter_map(|(at, value)| Some((at, (*value)?))).collect();
    order.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    let mut adjusted = vec![None; values.len()];
    let mut least = 0.0_f64;
    for (rank, (at, value)) in order.iter().enumerate() {
        least = least.max((value * (order.len() - rank) as f64).min(1.0));
        adjusted[*at] = Some(rounded(least));
    }
    adjusted
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::study::measure::{Sample, ratio};

    /// Five tests at 0.01, 0.04, 0.03, 0.005 and one without a value: the smallest of the four is multiplied by 4, the
    /// next by 3, then by 2; 0.04 · 1 is below 0.03 · 2 and becomes 0.06.
    #[test]
    fn probabilities_are_adjusted_step_by_step() {
        let adjusted = holm(&[Some(0.01), Some(0.04), None, Some(0.03), Some(0.005)]);
        assert_eq!(adjusted, [Some(0.03), Some(0.06), None, Some(0.06), Some(0.02)]);
        assert_eq!(holm(&[Some(0.7), Some(0.8)]), [Some(1.0), Some(1.0)]);
        assert_eq!(holm(&[]), []);
    }

    fn measured(above: &[f64], below: &[f64]) -> Measurement {
        let samples = |values: &[f64]| -> Vec<Sample> {
            values.iter().map(|&v| Sample { value: Some(v), is_censored: false }).collect()
        };
        ratio(&samples(above), &samples(below)).unwrap()
    }

    /// A ratio of 2 with residuals −2, 0, 2 over a mean of 10: standard error 2/√3/10 = 0.11547, t = 8.660 with two
    /// degrees of freedom, for which p = 1 − t/√(t² + 2) = 0.013072.
    #[test]
    fn a_probability_by_hand() {
        let p = p_value(&measured(&[18.0, 20.0, 22.0], &[10.0, 10.0, 10.0])).unwrap();
        assert!((p - 0.013_072).abs() < 2e-6, "{p}");
    }

    #[test]
    fn equal_runs_are_no_evidence() {
        assert_eq!(p_value(&measured(&[3.0, 4.0], &[3.0, 4.0])), Some(1.0));
        assert_eq!(p_value(&measured(&[6.0, 6.0], &[3.0, 3.0])), None);
        assert_eq!(p_value(&measured(&[6.0], &[3.0])), None);
    }
}
