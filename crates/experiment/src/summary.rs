//! Means and confidence intervals over runs.

use std::collections::BTreeMap;

use driftway_sim::results::{
    Estimate, FLOW_METRICS, FlowSummary, RunResult, Summary, is_optional_metric,
};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Summarises `runs` of the same scenario, which have the same flows.
pub fn summarise(runs: &[RunResult]) -> Summary {
    let flows = runs.first().map_or(&[][..], |run| &run.flows);
    let flows = flows.iter().enumerate().map(|(index, flow)| {
        let of_each_run = || runs.iter().filter_map(|run| run.flows.get(index));
        FlowSummary {
            source: flow.source,
            destination: flow.destination,
            name: flow.name.clone(),
            tcp: flow.tcp.clone(),
            aid: flow.aid.clone(),
            receiver_aid: flow.receiver_aid.clone(),
            completed: of_each_run().filter(|f| f.completion_s.is_some()).count() as u64,
            metrics: FLOW_METRICS
                .iter()
                .map(|(name, reading)| {
                    let values: Vec<f64> = of_each_run().filter_map(reading).collect();
                    ((*name).to_owned(), estimate(&values))
                })
                .filter(|(name, estimate)| estimate.is_some() || !is_optional_metric(name))
                .collect(),
        }
    });
    Summary { runs: runs.len() as u64, flows: flows.collect(), drops: drops(runs) }
}

/// A run without drops for a reason counts with zero.
fn drops(runs: &[RunResult]) -> BTreeMap<String, Estimate> {
    let mut reasons: Vec<&String> = runs.iter().flat_map(|run| run.drops.keys()).collect();
    reasons.sort();
    reasons.dedup();
    let count = |reason: &String| {
        let counts: Vec<f64> =
            runs.iter().map(|run| run.drops.get(reason).copied().unwrap_or(0) as f64).collect();
        Some((reason.clone(), estimate(&counts)?))
    };
    reasons.into_iter().filter_map(count).collect()
}

/// Mean and intervals of `values`; `None` without values.
pub fn estimate(values: &[f64]) -> Option<Estimate> {
    if values.is_empty() {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>();
    let interval = |confidence: f64| {
        let half = student_t_quantile(confidence, n - 1.0)? * (squares / (n - 1.0) / n).sqrt();
        Some([mean - half, mean + half])
    };
    Some(Estimate { mean, ci90: interval(0.90), ci95: interval(0.95), n: values.len() as u64 })
}

/// The two-sided quantile of Student's t. Nine decimals are sufficient, and few enough that
/// machines whose logarithms differ in the last digit write the same bytes.
pub fn student_t_quantile(confidence: f64, freedom: f64) -> Option<f64> {
    let t = StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(0.5 + confidence / 2.0);
    Some((t * 1e9).round() / 1e9)
}

#[cfg(test)]
mod test {
    use super::*;
    use driftway_sim::results::FlowResult;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        // Any statistics textbook's table of Student's t.
        for (confidence, freedom, t) in [
            (0.90, 1.0, 6.314),
            (0.95, 1.0, 12.706),
            (0.90, 9.0, 1.833),
            (0.95, 9.0, 2.262),
            (0.90, 29.0, 1.699),
            (0.95, 99.0, 1.984),
        ] {
            assert!(
                (student_t_quantile(confidence, freedom).unwrap() - t).abs() < 5e-4,
                "{freedom}"
            );
        }
    }

    #[test]
    fn one_value_has_a_mean_and_no_interval() {
        let one = estimate(&[3.0]).unwrap();
        assert_eq!((one.mean, one.ci90, one.ci95, one.n), (3.0, None, None, 1));
        assert_eq!(estimate(&[]), None);
    }

    #[test]
    fn an_interval_by_hand() {
        // Mean 3, sample variance 2.5, t(0.95, 4) = 2.132: 2.132 × √0.5 = 1.5075
        let five = estimate(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        let [low, high] = five.ci90.unwrap();
        assert!((low - 1.4925).abs() < 1e-3 && (high - 4.5075).abs() < 1e-3, "{low} {high}");
    }

    fn run(seed: u64, completion_s: Option<f64>, errors: u64) -> RunResult {
        RunResult {
            seed,
            duration_s: 1.0,
            events: 1,
            flows: vec![FlowResult { completion_s, ..FlowResult::default() }],
            drops: (errors > 0).then(|| ("link-error".to_owned(), errors)).into_iter().collect(),
            ..RunResult::default()
        }
    }

    /// The metrics of the reverse direction are absent without traffic in it.
    #[test]
    fn reverse_metrics_are_summarised_where_present() {
        let names = |back_delivered_bytes| {
            let mut runs = [run(1, None, 0)];
            runs[0].flows[0].back_delivered_bytes = back_delivered_bytes;
            let metrics = summarise(&runs).flows.remove(0).metrics;
            metrics.into_keys().filter(|name| is_optional_metric(name)).collect::<Vec<_>>()
        };
        assert!(names(None).is_empty());
        assert_eq!(names(Some(0)), ["back_delivered_bytes"]);
    }

    #[test]
    fn incomplete_transfers_do_not_count_as_zero() {
        let runs = [run(1, Some(10.0), 4), run(2, None, 0), run(3, Some(20.0), 2)];
        let summary = summarise(&runs);
        let flow = &summary.flows[0];
        assert_eq!(flow.completed, 2);
        let completion = flow.metrics["completion_s"].unwrap();
        assert_eq!((completion.mean, completion.n), (15.0, 2));
        assert_eq!(flow.metrics["rtt_s"], None);
        let errors = summary.drops["link-error"];
        assert_eq!((errors.mean, errors.n), (2.0, 3));
    }
}
