//! Measurements: means, ratios of means and paired differences, with their 90 % and 95 % intervals.
//!
//! A transfer that did not complete counts with the time that it had. A result that depends on it
//! is a bound instead of a value (censored); such runs are never omitted.

use driftway_scenario::{Scenario, Time};
use driftway_sim::network_metric;
use driftway_sim::results::{FLOW_METRICS, RunResult};

use super::check::COMPLETION_METRIC;
use super::format::{FlowSelector, Measure};
use super::statement::{Cell, Quantity};
use crate::summary::estimate;

/// The result of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The value; `None`: the run has none.
    pub value: Option<f64>,
    /// The value is a lower bound: a transfer did not complete.
    pub is_censored: bool,
}

/// Reads a measure from the results of a run.
pub fn read_sample(measure: &Measure, scenario: &Scenario, run: &RunResult) -> Sample {
    let value = read_value(&measure.metric, &measure.of, scenario, run);
    let Some(over) = &measure.over else { return value };
    let divisor = read_value(&over.metric, over.of.as_ref().unwrap_or(&measure.of), scenario, run);
    quotient(&value, &divisor)
}

fn read_value(metric: &str, of: &FlowSelector, scenario: &Scenario, run: &RunResult) -> Sample {
    if let Some(value) = network_metric(metric, run) {
        return Sample { value, is_censored: false };
    }
    let reading = FLOW_METRICS.iter().find(|(name, _)| *name == metric).map(|(_, read)| read);
    let mut is_censored = false;
    let values = of.flows(scenario).into_iter().filter_map(|flow| {
        let result = run.flows.get(flow)?;
        let value = reading.and_then(|read| read(result));
        if value.is_none() && metric == COMPLETION_METRIC {
            is_censored = true;
            let Time(duration) = scenario.duration;
            return Some(duration.as_secs_f64() - result.start_s);
        }
        value
    });
    let values: Vec<f64> = values.collect();
    Sample { value: of.take(&values), is_censored }
}

/// The ratio of two values of a run; no value where the divisor is zero.
fn quotient(above: &Sample, below: &Sample) -> Sample {
    let values = above.value.zip(below.value).filter(|(_, below)| *below != 0.0);
    Sample {
        value: values.map(|(above, below)| above / below),
        is_censored: above.is_censored || below.is_censored,
    }
}

/// Directions in which the true value may differ from the measured one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Censoring {
    /// It may be greater.
    pub above: bool,
    /// It may be less.
    pub below: bool,
}

/// A mean, a ratio or a difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measurement {
    /// The estimate.
    pub mean: f64,
    /// Its 90 % interval (Student's t); `None` for fewer than two runs.
    pub ci90: Option<[f64; 2]>,
    /// Its 95 % interval.
    pub ci95: Option<[f64; 2]>,
    /// Number of runs.
    pub n: u64,
    /// Number of runs without a value.
    pub missing: u64,
    /// Directions in which it is only a bound.
    pub censoring: Censoring,
}

/// Measures `quantity`; `read` returns the samples of a cell, one per seed and in the same order
/// for all cells. `None`: no run has a value, or the denominator of a ratio is zero.
pub fn measure(quantity: &Quantity, read: impl Fn(Cell) -> Vec<Sample>) -> Option<Measurement> {
    match quantity {
        Quantity::Mean(cell) => mean(&read(*cell)),
        Quantity::Ratio(above, below) => ratio(&read(*above), &read(*below)),
        Quantity::Difference { plus, minus } => {
            let read = |cells: &[_]| cells.iter().map(|cell| read(*cell)).collect::<Vec<_>>();
            difference(&read(plus), &read(minus))
        }
        Quantity::RatioDifference { higher, lower } => {
            let of = |[above, below]: [Cell; 2]| ratios_by_seed(&read(above), &read(below));
            let (higher, lower) = (vec![of(*higher)], vec![of(*lower)]);
            let measured = difference(&higher, &lower)?;
            // A bound in a denominator has the opposite direction: the direction is not determined.
            let open = any_censored(&higher) || any_censored(&lower);
            Some(Measurement { censoring: Censoring { above: open, below: open }, ..measured })
        }
    }
}

/// One ratio per seed; no value where the denominator is zero.
fn ratios_by_seed(above: &[Sample], below: &[Sample]) -> Vec<Sample> {
    above.iter().zip(below).map(|(above, below)| quotient(above, below)).collect()
}

/// The mean of samples.
pub fn mean(samples: &[Sample]) -> Option<Measurement> {
    difference(&[samples.to_vec()], &[])
}

/// The sum of `plus` minus the sum of `minus`, seed by seed.
pub fn difference(plus: &[Vec<Sample>], minus: &[Vec<Sample>]) -> Option<Measurement> {
    let seeds = plus.iter().chain(minus).map(Vec::len).min()?;
    let sum = |cells: &[Vec<Sample>], seed: usize| -> Option<f64> {
        cells.iter().map(|samples| samples[seed].value).sum()
    };
    let paired = |seed: usize| Some(sum(plus, seed)? - sum(minus, seed)?);
    let values: Vec<f64> = (0..seeds).filter_map(paired).collect();
    let estimate = estimate(&values)?;
    Some(Measurement {
        mean: estimate.mean,
        ci90: estimate.ci90,
        ci95: estimate.ci95,
        n: estimate.n,
        missing: (seeds - values.len()) as u64,
        censoring: Censoring { above: any_censored(plus), below: any_censored(minus) },
    })
}

fn any_censored(cells: &[Vec<Sample>]) -> bool {
    cells.iter().flatten().any(|sample| sample.is_censored)
}

/// The ratio of two means. Its interval is that of the mean of a − r·b over the seeds, divided by
/// the mean of b: both arms used the same seeds, so that common variation cancels.
pub fn ratio(above: &[Sample], below: &[Sample]) -> Option<Measurement> {
    let pairs: Vec<(f64, f64)> =
        above.iter().zip(below).filter_map(|(a, b)| Some((a.value?, b.value?))).collect();
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let (a, b) = (estimate(&a)?.mean, estimate(&b)?.mean);
    if b == 0.0 {
        return None;
    }
    let ratio = a / b;
    let rests: Vec<f64> = pairs.iter().map(|(a, b)| a - ratio * b).collect();
    let around = |[low, high]: [f64; 2]| {
        let half = (high - low) / 2.0 / b.abs();
        [ratio - half, ratio + half]
    };
    let rest = estimate(&rests)?;
    let (of_above, of_below) = (any_censored(&[above.to_vec()]), any_censored(&[below.to_vec()]));
    Some(Measurement {
        mean: ratio,
        ci90: rest.ci90.map(around),
        ci95: rest.ci95.map(around),
        n: pairs.len() as u64,
        missing: (above.len().min(below.len()) - pairs.len()) as u64,
        censoring: Censoring { above: of_above, below: of_below },
    })
}

/// The geometric mean of ratios, and the lowest and the highest; `None` if there are none, or if one
/// is not above zero.
pub fn geometric_mean(ratios: &[f64]) -> Option<(f64, [f64; 2])> {
    let logs: Option<Vec<f64>> =
        ratios.iter().map(|ratio| (*ratio > 0.0).then(|| libm::log(*ratio))).collect();
    let logs = logs.filter(|logs| !logs.is_empty())?;
    let mean = libm::exp(logs.iter().sum::<f64>() / logs.len() as f64);
    let lowest = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some((mean, [lowest, highest]))
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::study::format::{ChosenFlows, Divisor, Take};
    use driftway_sim::results::FlowResult;

    fn samples(values: &[f64]) -> Vec<Sample> {
        values.iter().map(|&v| Sample { value: Some(v), is_censored: false }).collect()
    }

    #[test]
    fn a_difference_is_paired() {
        // The seeds differ far more than the arms: only pairing shows the difference.
        let (a, b) = (samples(&[10.0, 20.0, 30.0]), samples(&[9.0, 19.2, 28.8]));
        let measured = difference(&[a], &[b]).unwrap();
        let [low, high] = measured.ci90.unwrap();
        assert!((measured.mean - 1.0).abs() < 1e-12 && low > 0.6 && high < 1.4, "{low} {high}");
        assert_eq!((measured.n, measured.censoring), (3, Censoring::default()));
    }

    #[test]
    fn a_ratio_is_of_means_and_paired() {
        // (10 + 20 + 60) / (5 + 10 + 15)
        let ratio_of = |a: &[f64], b: &[f64]| ratio(&samples(a), &samples(b));
        let measured = ratio_of(&[10.0, 20.0, 60.0], &[5.0, 10.0, 15.0]).unwrap();
        assert_eq!(measured.mean, 3.0);
        // Rests −5, −10, 15: mean 0, s = √175 = 13.229, t(0.95, 2) = 2.920, 2.920·s/√3 = 22.302
        let [low, high] = measured.ci90.unwrap();
        assert!((high - 3.0 - 2.2302).abs() < 1e-3 && (3.0 - low - 2.2302).abs() < 1e-3);
        // Values that are proportional in every seed leave no spread.
        let exact = ratio_of(&[10.0, 20.0], &[5.0, 10.0]).unwrap();
        assert_eq!((exact.mean, exact.ci90, exact.ci95), (2.0, Some([2.0, 2.0]), Some([2.0, 2.0])));
        assert_eq!(ratio_of(&[1.0, 2.0], &[0.0, 0.0]), None);
    }

    #[test]
    fn ratios_have_a_geometric_mean() {
        let (mean, range) = geometric_mean(&[0.5, 2.0, 8.0]).unwrap();
        assert!((mean - 2.0).abs() < 1e-12);
        assert_eq!(range, [0.5, 8.0]);
        assert_eq!((geometric_mean(&[]), geometric_mean(&[1.0, 0.0])), (None, None));
    }

    #[test]
    fn ratios_are_paired_by_seed() {
        let cells = [[20.0, 60.0], [10.0, 20.0], [30.0, 20.0], [20.0, 20.0]];
        let cell = |arm| Cell { figure: 0, measure: 0, arm, x: 0 };
        let quantity =
            Quantity::RatioDifference { higher: [cell(0), cell(1)], lower: [cell(2), cell(3)] };
        let measured = measure(&quantity, |cell| samples(&cells[cell.arm])).unwrap();
        // 20/10 − 30/20 and 60/20 − 20/20
        assert_eq!((measured.mean, measured.n), (1.25, 2));
    }

    #[test]
    fn incomplete_transfers_censor_the_result() {
        let (done, mut late) = (samples(&[10.0, 12.0]), samples(&[20.0, 30.0]));
        late[1].is_censored = true;
        let open = |above, below| Censoring { above, below };
        assert_eq!(mean(&late).unwrap().censoring, open(true, false));
        let diff = |plus: &[Sample], minus: &[Sample]| {
            difference(&[plus.to_vec()], &[minus.to_vec()]).unwrap().censoring
        };
        assert_eq!(diff(&late, &done), open(true, false));
        assert_eq!(diff(&done, &late), open(false, true));
        assert_eq!(diff(&late, &late), open(true, true));
        assert_eq!(ratio(&done, &late).unwrap().censoring, open(false, true));
    }

    #[test]
    fn pairs_without_a_value_are_counted() {
        let mut gap = samples(&[1.0, 2.0, 3.0]);
        gap[1].value = None;
        let measured = difference(&[samples(&[2.0, 3.0, 4.0])], &[gap.clone()]).unwrap();
        assert_eq!((measured.mean, measured.n, measured.missing), (1.0, 2, 1));
        gap.iter_mut().for_each(|sample| sample.value = None);
        assert_eq!(mean(&gap), None);
    }

    fn scenario() -> Scenario {
        let flow =
            "[[flow]]\nfrom = 0\nto = 1\nstart = '2 s'\napplication = { transfer = '1 MB' }\n";
        let text = format!(
            "name = 'two'\nduration = '100 s'\n[network]\nkind = 'path'\nhops = 1\n\
             link = {{ rate = '1 Mbit/s', delay = '1 ms' }}\n{flow}{flow}"
        );
        Scenario::parse("two.toml", &text, &[]).unwrap()
    }

    #[test]
    fn flows_are_aggregated_as_selected() {
        let flow = |completion_s: Option<f64>, start_s, timeouts| FlowResult {
            completion_s,
            start_s,
            timeouts: Some(timeouts),
            ..FlowResult::default()
        };
        let flows = vec![flow(Some(30.0), 2.0, 1), flow(None, 2.0, 3)];
        let drops = [("red".to_owned(), 4)].into();
        let run = RunResult { flows, drops, ..RunResult::default() };
        let read = |metric: &str, of| {
            let measure = Measure { metric: metric.into(), of, ..Measure::default() };
            read_sample(&measure, &scenario(), &run)
        };
        for (of, value) in [
            (FlowSelector::Flow(0), 1.0),
            (FlowSelector::Flow(1), 3.0),
            (FlowSelector::Sum, 4.0),
            (FlowSelector::Mean, 2.0),
            (FlowSelector::Others, 3.0),
            (FlowSelector::Least, 1.0),
            (FlowSelector::Most, 3.0),
        ] {
            assert_eq!(read("timeouts", of), Sample { value: Some(value), is_censored: false });
        }
        // The second had 98 s.
        assert_eq!(
            read(COMPLETION_METRIC, FlowSelector::Flow(0)),
            Sample { value: Some(30.0), is_censored: false }
        );
        assert_eq!(
            read(COMPLETION_METRIC, FlowSelector::Most),
            Sample { value: Some(98.0), is_censored: true }
        );
        assert_eq!(
            read("rtt_s", FlowSelector::Flow(0)),
            Sample { value: None, is_censored: false }
        );
        let chosen = FlowSelector::Chosen(ChosenFlows {
            transport: Some(driftway_scenario::Transport::Udp),
            name: None,
            take: Take::Sum,
        });
        assert_eq!(read("timeouts", chosen), Sample { value: None, is_censored: false });
        assert_eq!(
            read("drops", FlowSelector::Flow(0)),
            Sample { value: Some(4.0), is_censored: false }
        );
    }

    /// The ratio is that of each run: (3 + 1)/(4 + 4), and for the first flow alone 3/4.
    #[test]
    fn a_measure_can_be_a_ratio_of_two() {
        let flow = |delivered_packets, sent_packets| FlowResult {
            delivered_packets,
            sent_packets,
            ..FlowResult::default()
        };
        let run = RunResult { flows: vec![flow(3, 4), flow(1, 4)], ..RunResult::default() };
        let ratio = |of: FlowSelector, over: &str, over_of| Measure {
            metric: "delivered_packets".into(),
            of,
            over: Some(Divisor { metric: over.into(), of: over_of }),
            ..Measure::default()
        };
        let value = |measure: &Measure| read_sample(measure, &scenario(), &run).value;
        let all = ratio(FlowSelector::Sum, "sent_packets", None);
        assert_eq!(value(&all), Some(0.5));
        assert_eq!(all.name(), "delivered_packets/sent_packets");
        assert_eq!(value(&ratio(FlowSelector::Flow(0), "sent_packets", None)), Some(0.75));
        let own = ratio(FlowSelector::Flow(0), "delivered_packets", Some(FlowSelector::Sum));
        assert_eq!(value(&own), Some(0.75));
        assert_eq!(value(&ratio(FlowSelector::Sum, "drops", None)), None, "nothing was dropped");
    }
}
