//! A point held against a formula.

use driftway_scenario::Scenario;
use driftway_sim::results::{Estimate, RunResult};

use super::cases::{FormulaCase, Point};
use super::formula::{bianchi_throughput, exchange_time, padhye_rate};
use super::simulate::{PointRuns, flow_seconds};
use crate::error::Error;
use crate::study::reference::FormulaKind;
use crate::summary::estimate;

/// What was measured at one point, and what the formula says.
#[derive(Clone, Debug, serde::Serialize)]
pub struct FormulaPoint {
    /// What the point is called.
    pub name: String,
    /// What is measured, with its unit, as in `driftway run --json`.
    pub metric: &'static str,
    /// Over the runs.
    pub measured: Option<Estimate>,
    /// The formula's value; where it rests on what each run measured, the mean.
    pub formula: Option<f64>,
    /// What was measured over the formula, run by run.
    pub ratio: Option<Estimate>,
    /// The same ratio where the formula rests on what the scenario says alone, if it can.
    pub ratio_as_set: Option<Estimate>,
}

/// Where packets are as far apart as a chain of metres, a signal takes this (s).
const SECONDS_PER_METRE: f64 = 1.0 / 299_792_458.0;

/// Holds a point's runs against the formula.
///
/// # Errors
/// The point lacks what the formula takes.
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
        FormulaKind::Bianchi => {
            let (payload, rts) = (given("payload")?, given("rts")? > 0.0);
            let law = bianchi_throughput(given("stations")? as u32, payload, rts);
            let rate = |run: &RunResult| -> f64 {
                run.flows.iter().map(|flow| flow.delivered_bytes as f64 * 8.0 / seconds).sum()
            };
            ("throughput_bps", ran.ours.iter().map(|(run, _)| [rate(run), law, law]).collect())
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

/// What the scenario says of the path.
struct PathParameters {
    loss: f64,
    /// (s)
    rtt: f64,
}

/// The rate at which data was sent, what the formula makes of the losses and round trips that the
/// run had, and what it makes of the path (bit/s).
// padhye-1998 §III takes the rate of loss indications from a trace, too: all retransmissions that
// began something, over the packets sent. A sequence of timeouts is one of them, and has 1/(1 − p)
// timeouts.
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
