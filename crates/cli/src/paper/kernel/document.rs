//! JSON document of `driftway paper --kernel`.

use driftway_scenario::Time;
use schemars::JsonSchema;
use serde::Serialize;

use super::arms::Stack;
use super::emulated_run::EmulatedRun;
use super::kernel_plan::{KernelPlan, PlannedRun};
use crate::kernel::machine::kernel_release;
use driftway_experiment::study::document::{self, FigureResult, PointResult, Timing};
use driftway_experiment::study::measure::ratio;
use driftway_experiment::study::outcome::{StudyOutcome, censored, point_result};
use driftway_experiment::study::results::Results;
use driftway_experiment::study::statement::Cell;

/// Results: a paper's document with simulated and kernel arms, and details of the kernel's runs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct KernelDocument {
    #[serde(flatten)]
    pub paper: document::StudyDocument,
    /// Details of the kernel's runs.
    pub kernel: KernelResults,
}

/// Results of the kernel's runs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct KernelResults {
    /// Kernel release.
    pub release: String,
    /// Size to which longer transfers were cut (bytes); `null` if none was.
    pub transfer_bytes: Option<u64>,
    /// Duration to which longer runs without an end were cut (s); `null` if none was.
    pub duration_s: Option<f64>,
    /// Ratios of the mean time, or throughput, with the shim or with the paper's aid to the mean
    /// without, paired by seed.
    pub ratios: Vec<MeanRatio>,
    /// Every run.
    pub runs: Vec<KernelRun>,
}

/// Ratio of an arm's time or throughput to that of the arm without shim or aid.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MeanRatio {
    /// The figure.
    pub figure: String,
    /// The arm.
    pub arm: String,
    /// The arm with which it is compared.
    pub against: String,
    /// The ratios, one entry per point.
    pub points: Vec<PointResult>,
}

/// One run, with its figure, point and seed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct KernelRun {
    /// The figure.
    pub figure: String,
    /// Value on the x axis in base units; `null` without an axis.
    pub x: Option<f64>,
    /// The seed.
    pub seed: u64,
    #[serde(flatten)]
    pub stack: Stack,
    #[serde(flatten)]
    pub result: EmulatedRun,
}

impl KernelDocument {
    /// Builds the document from the results of the simulator and of the kernel.
    pub fn new(
        work: &KernelPlan,
        results: &Results,
        ran: Vec<(PlannedRun, EmulatedRun)>,
        jobs: u64,
        wall_s: f64,
    ) -> Self {
        let (plan, selection) = (&work.plan, &work.selection);
        let outcome = StudyOutcome { plan, selection, results };
        let runs = results.runs + ran.len() as u64;
        let timing = Timing { wall_s, runs, jobs, events_per_s: None };
        let each = ran.into_iter().map(|(run, result)| KernelRun {
            figure: run.figure,
            x: run.x,
            seed: run.seed,
            stack: run.stack,
            result,
        });
        let figures = 0..plan.figures.len();
        let ratios = figures.flat_map(|figure| {
            let outcome = &outcome;
            (0..plan.figures[figure].arms.len())
                .filter_map(move |row| mean_ratio(outcome, figure, row))
        });
        Self {
            kernel: KernelResults {
                release: kernel_release(),
                transfer_bytes: work.transfer_limit,
                duration_s: work.duration_limit.map(|Time(limit)| limit.as_secs_f64()),
                ratios: ratios.collect(),
                runs: each.collect(),
            },
            paper: outcome.document(timing),
        }
    }

    /// Ratio of an arm in a figure.
    pub fn ratio(&self, figure: &FigureResult, arm: &str) -> Option<&MeanRatio> {
        let here = |ratio: &&MeanRatio| ratio.figure == figure.figure && ratio.arm == arm;
        self.kernel.ratios.iter().find(here)
    }
}

/// Ratio of an arm's time or throughput to that of the arm that it is compared with.
fn mean_ratio(outcome: &StudyOutcome, figure: usize, row: usize) -> Option<MeanRatio> {
    let planned = &outcome.plan.figures[figure];
    let other = planned.against(row)?;
    let points = outcome.selection.points(planned).iter().map(|&x| {
        let cell = |arm| Cell { figure, measure: 0, arm, x };
        let (of, with) = (outcome.samples(cell(row)), outcome.samples(cell(other)));
        let late = censored(&of) + censored(&with);
        point_result(planned.points[x].value, ratio(&of, &with), late)
    });
    let [arm, against] = [row, other].map(|row| planned.arms[row].arm.name.clone());
    Some(MeanRatio { figure: planned.figure.id.clone(), arm, against, points: points.collect() })
}

#[cfg(test)]
mod test {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_document_is_documented() {
        let point =
            PointResult { x: None, mean: None, ci90: None, ci95: None, n: 0, incomplete: 0 };
        let ratio = MeanRatio {
            figure: "8".to_owned(),
            arm: "kernel-cubic-shim".to_owned(),
            against: "kernel-cubic".to_owned(),
            points: vec![point],
        };
        let run = KernelRun {
            figure: "8".to_owned(),
            x: None,
            seed: 1,
            stack: Stack {
                congestion_control: "cubic".to_owned(),
                shim: true,
                aid: Some("carry".to_owned()),
            },
            result: EmulatedRun {
                completion_s: None,
                throughput_bps: None,
                received_bytes: 0,
                refused: None,
                trusted: true,
                because: Vec::new(),
                attempts: 1,
                late_p99_s: 0.0,
                tolerated_s: 0.0,
                marks: 0,
                drops: BTreeMap::new(),
                tcp_counts: BTreeMap::new(),
                shim_counts: None,
            },
        };
        let kernel = KernelResults {
            release: String::new(),
            transfer_bytes: None,
            duration_s: None,
            ratios: vec![ratio],
            runs: vec![run],
        };
        let document = BTreeMap::from([("kernel", kernel)]);
        crate::results_reference::assert_documented("driftway-paper---kernel", &document);
    }
}
