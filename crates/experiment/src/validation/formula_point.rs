//! Comparison of a point with a formula.

use driftway_scenario::Scenario;
use driftway_sim::results::{Estimate, RunResult};

use super::cases::{FormulaCase, Point};
use super::dcf_formula::{
    FhssNetwork, bianchi_fhss_throughput, bianchi_throughput, exchange_time, jun_throughput,
};
use super::formula::padhye_rate;
use super::response_function::{cubic_window, mathis_window};
use super::simulate::{PointRuns, flow_seconds};
use crate::error::Error;
use crate::study::reference::FormulaKind;
use crate::summary::estimate;

/// The measurement at one point, and the value of the formula.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct FormulaPoint {
    /// Name of the point.
    pub name: String,
    /// The metric, with its unit, as in `driftway run --json`.
    pub metric: &'static str,
    /// The measured value over the runs; this and the next fields are `null` if no run has a value.
    pub measured: Option<Estimate>,
    /// The value of the formula; the mean, if it depends on measurements of each run.
    pub formula: Option<f64>,
    /// The measured value divided by that of the formula, run by run.
    pub ratio: Option<Estimate>,
    /// The same ratio with the formula evaluated for the parameters of the scenario only, if
    /// possible.
    pub ratio_as_set: Option<Estimate>,
}

/// Propagation delay per metre (s).
const SECONDS_PER_METRE: f64 = 1.0 / 299_792_458.0;

/// Compares a point's runs with the formula.
///
/// # Errors
///
/// The point lacks a parameter of the formula.
pub fn compare_with_formula(
    of: &FormulaCase,
    point: &Point,
    ran: &PointRuns,
) -> Result<FormulaPoint, Error> {
    let scenario = &point.job.scenario;
    let given = |key: &str| -> Result<f64, Error> {
        point.reference.get(key).and_then(|value| value.0.parse().ok()).ok_or_else(|| {
            Error::refused(format!("{}: a point has no number `{key}`", of.about.name))
        })
    };
    let seconds = flow_seconds(scenario);
    let (metric, values): (_, Vec<[f64; 3]>) = match of.formula {
        FormulaKind::Padhye => {
            let link = PathParameters { loss: given("loss")?, rtt: 2e-3 * given("delay_ms")? };
            let of = |(run, _): &(RunResult, f64)| padhye_rates(scenario, run, &link, seconds);
            ("send_bps", ran.ours.iter().filter_map(of).collect())
        }
        FormulaKind::Mathis | FormulaKind::Cubic => {
            let (loss, rtt) = (given("loss")?, 2e-3 * given("delay_ms")?);
            let window = match of.formula {
                FormulaKind::Mathis => mathis_window(loss),
                _ => cubic_window(loss, rtt),
            };
            let mss = scenario.flows.first().and_then(|flow| flow.tcp.as_ref());
            let law = mss.map_or(0.0, |tcp| window * tcp.mss.0 as f64 * 8.0 / rtt);
            delivered(ran, seconds, law)
        }
        FormulaKind::Bianchi => {
            let (payload, rts) = (given("payload")?, given("rts")? > 0.0);
            let law = bianchi_throughput(given("stations")? as u32, payload, rts);
            delivered(ran, seconds, law)
        }
        FormulaKind::BianchiFhss => {
            let network = FhssNetwork {
                stations: given("stations")? as u32,
                payload: given("payload")?,
                window: given("window")?,
                doublings: given("doublings")? as i32,
                rts: given("rts")? > 0.0,
            };
            delivered(ran, seconds, bianchi_fhss_throughput(network))
        }
        FormulaKind::Jun => {
            let law = jun_throughput(given("mbps")?, given("payload")?, given("rts")? > 0.0);
            delivered(ran, seconds, law)
        }
        FormulaKind::Exchange => {
            let (packet, rts) = (given("payload")? + 28.0, given("rts")? > 0.0);
            let law = exchange_time(packet, rts, given("metres")? * SECONDS_PER_METRE);
            let delay = |(run, _): &(RunResult, f64)| run.flows.first()?.delay_s;
            ("delay_s", ran.ours.iter().filter_map(delay).map(|s| [s, law, law]).collect())
        }
    };
    let column =
        |read: fn(&[f64; 3]) -> f64| estimate(&values.iter().map(read).collect::<Vec<_>>());
    Ok(FormulaPoint {
        name: point.name.clone(),
        metric,
        measured: column(|[measured, ..]| *measured),
        formula: column(|[_, law, _]| *law).map(|law| law.mean),
        ratio: column(|[measured, law, _]| measured / law),
        ratio_as_set: (of.formula == FormulaKind::Padhye)
            .then(|| column(|[measured, _, as_set]| measured / as_set))
            .flatten(),
    })
}

/// The payload delivered per second in each run, over all flows, beside the formula's value (bit/s).
fn delivered(ran: &PointRuns, seconds: f64, law: f64) -> (&'static str, Vec<[f64; 3]>) {
    let rate = |run: &RunResult| -> f64 {
        run.flows.iter().map(|flow| flow.delivered_bytes as f64 * 8.0 / seconds).sum()
    };
    ("throughput_bps", ran.ours.iter().map(|(run, _)| [rate(run), law, law]).collect())
}

/// Parameters of the path in the scenario.
struct PathParameters {
    loss: f64,
    /// (s)
    rtt: f64,
}

/// The rate at which data was sent, the formula's rate for the measured losses and round-trip times
/// of the run, and its rate for the parameters of the path (bit/s).
// padhye-1998 §III also takes the rate of loss indications from a trace: the retransmissions that
// begin a recovery, divided by the packets sent. A sequence of timeouts is one indication, and has
// 1/(1 − p) timeouts.
fn padhye_rates(
    scenario: &Scenario,
    run: &RunResult,
    path: &PathParameters,
    seconds: f64,
) -> Option<[f64; 3]> {
    let (flow, tcp) = (run.flows.first()?, scenario.flows.first()?.tcp.as_ref()?);
    let segments = flow.segments_sent as f64;
    let bits = tcp.mss.0 as f64 * 8.0;
    let window = tcp.window_bytes() as f64 / tcp.mss.0 as f64;
    let timeout = tcp.min_rto.0.as_secs_f64();
    let sequences = flow.timeouts? as f64 * (1.0 - path.loss);
    let loss = (flow.fast_retransmits? as f64 + sequences) / segments;
    let rate = |loss: f64, rtt: f64| bits * padhye_rate(loss, rtt, timeout, window, 1.0);
    Some([segments * bits / seconds, rate(loss, flow.rtt_s?), rate(path.loss, path.rtt)])
}
