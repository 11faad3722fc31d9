//! Results of a comparison, as `driftway compare --json` prints them and the page shows them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arms::Reading;

/// The schema version of [`CompareDocument`]. It increases when a reader of the old form would misread the new one.
pub const SCHEMA: u32 = 1;

/// All results. Names end with their units, as in `driftway run --json`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CompareDocument {
    /// The version of this form.
    pub schema: u32,
    /// Version of driftway.
    pub version: &'static str,
    /// The seeds of the runs whose results are shown.
    pub seeds: Vec<u64>,
    /// The seeds of the runs by which recommendations, and the best other aid, were chosen.
    pub choosing_seeds: Vec<u64>,
    /// Only a part was run.
    pub quick: bool,
    /// A description of the networks; `null` for scenarios of the user.
    pub note: Option<String>,
    /// A network with a TCP and an aid each, by network, TCP and aid; then those with a kernel's TCP.
    pub cells: Vec<CompareCell>,
    /// A recommendation for each situation.
    pub recommendations: Vec<Recommendation>,
    /// Networks and TCPs with which `carry`, the aid that driftway recommends, has less than 0.97 of the throughput of the
    /// best other aid or of no aid, the largest difference first.
    pub carry_behind: Vec<CarryBehind>,
    /// The part with the kernel; absent without `--kernel`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelPart>,
    /// Hypotheses that were written before the networks were run; empty unless all of them were.
    pub hypotheses: Vec<HypothesisResult>,
    /// Cost; never compared.
    pub timing: CompareTiming,
}

/// A network with a TCP and an aid.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CompareCell {
    /// Name of the network.
    pub network: String,
    /// The situation of which it is an example.
    pub situation: String,
    /// The TCP, a preset of scenarios.
    pub tcp: String,
    /// The aid, or `none`. With the TCP of a kernel: `tcp-rto-max`, a limit of 1 s on the retransmission timeout, or
    /// `shim`, `driftway shim` at the sender.
    pub aid: String,
    /// The reading of the aid's paper; `null` without an aid, and with a kernel.
    pub reading: Option<Reading>,
    /// The TCP is that of this machine's kernel, in real time, and not the simulator's.
    pub kernel: bool,
    /// Number of runs, each with a seed of its own.
    pub n: u64,
    /// Mean throughput of the compared flow (bit/s).
    pub throughput_bps: f64,
    /// Mean throughput over that of the same TCP without an aid, on the same network and seeds; `null` if that is 0.
    pub relative: Option<f64>,
    /// Lower and upper end of the 90 % confidence interval of `relative`, paired by seed (Student's t); `null` for one run.
    pub ci90: Option<[f64; 2]>,
    /// Lower and upper end of the 95 % confidence interval of `relative`, for figures alone.
    #[serde(skip)]
    pub ci95: Option<[f64; 2]>,
    /// Probability of a `relative` at least this far from 1 by chance, adjusted for all cells of the table by Holm's
    /// procedure; `null` without an aid, for one run, and where all seeds give the same ratio other than 1.
    pub p_holm: Option<f64>,
    /// Number of runs in which the transfer completed; `null` if the flow has no end.
    pub completed: Option<u64>,
    /// Mean completion time (s), to which a transfer that did not complete contributes the time that it had; `null` if the
    /// flow has no end.
    pub completion_s: Option<f64>,
    /// Share of the other flows of TCP in what all of them deliver together; `null` without other flows.
    pub neighbour_share: Option<f64>,
    /// Mean throughput of the other flows of TCP over that beside the same TCP without an aid; `null` without other flows.
    pub neighbour_relative: Option<f64>,
    /// Lower and upper end of the 90 % confidence interval of `neighbour_relative`; `null` for one run.
    pub neighbour_ci90: Option<[f64; 2]>,
}

/// The part of a comparison with this machine's own TCP.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct KernelPart {
    /// The kernel's release.
    pub release: String,
    /// The seeds of the emulated networks.
    pub seeds: Vec<u64>,
    /// Each aid in words.
    pub aids: Vec<KernelAidWords>,
    /// Networks of the comparison that were not run with the kernel.
    pub left_out: Vec<LeftOut>,
    /// Number of runs that count.
    pub runs: u64,
    /// Number of runs whose packets were late each time that they were tried, and that do not count.
    pub late: u64,
    /// Number of runs for which there was no time.
    pub not_started: u64,
    /// Wall-clock time of the runs (s); never compared.
    pub wall_s: f64,
}

/// An aid of a kernel's TCP.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct KernelAidWords {
    /// Its name in cells.
    pub aid: String,
    /// Its description, and how it is set; or why this machine's kernel does not have it.
    pub says: String,
}

/// A network that was not run with the kernel.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LeftOut {
    /// Its name.
    pub network: String,
    /// The reason.
    pub because: String,
}

/// A recommendation for a situation.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Recommendation {
    /// The situation: the title of its networks, or the name of the user's scenario.
    pub network: String,
    /// The recommendation in words.
    pub sentence: String,
    /// The recommended aid, or `none`.
    pub aid: String,
    /// The reading of the aid's paper; `null` without an aid.
    pub reading: Option<Reading>,
    /// The recommended TCP, a preset of scenarios.
    pub tcp: String,
    /// Measurements on which it rests.
    pub evidence: Evidence,
}

/// Throughput of a recommendation over that of Linux's TCP (CUBIC) without an aid, with other seeds than those of the
/// choice.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Evidence {
    /// Geometric mean of the ratios over the networks of the situation; `null` if one has no ratio above 0.
    pub relative: Option<f64>,
    /// Lower and upper end of its 90 % confidence interval over the seeds; `null` for one seed, or without `relative`.
    pub ci90: Option<[f64; 2]>,
    /// Number of seeds.
    pub n: u64,
    /// Names of the networks.
    pub networks: Vec<String>,
    /// The lowest ratio of one of the networks; `null` without any.
    pub lowest: Option<f64>,
    /// The lowest ratio of the other flows' throughput to that beside Linux's TCP without an aid; `null` without other
    /// flows.
    pub lowest_neighbour: Option<f64>,
}

/// A network and a TCP with which `carry` has less throughput than another aid, or than no aid.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CarryBehind {
    /// Name of the network.
    pub network: String,
    /// The TCP, a preset of scenarios.
    pub tcp: String,
    /// The aid with more throughput, or `none`.
    pub aid: String,
    /// The reading of its paper; `null` without an aid.
    pub reading: Option<Reading>,
    /// Throughput with `carry` over that with this aid.
    pub carry_relative: f64,
    /// Lower and upper end of its 90 % confidence interval, paired by seed; `null` for one run.
    pub ci90: Option<[f64; 2]>,
    /// The interval excludes 1.
    pub certain: bool,
    /// The cause; `null` where none is known.
    pub because: Option<String>,
    /// The command that shows it.
    pub shown_by: Option<String>,
}

/// An expectation of a ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Expectation {
    /// Above 1.
    Gain,
    /// The interval lies below 1.
    Loss,
    /// Its 90 % interval lies in 0.97 to 1.03.
    Equal,
}

/// A hypothesis and its verdict.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HypothesisResult {
    /// Its name.
    pub id: String,
    /// The hypothesis in words.
    pub says: String,
    /// The expectation.
    pub expects: Expectation,
    /// Geometric mean of the ratios over its networks; `null` if one of them has no ratio above 0.
    pub ratio: Option<f64>,
    /// Lower and upper end of its 90 % confidence interval over the seeds; `null` for one seed, or without `ratio`.
    pub ci90: Option<[f64; 2]>,
    /// Number of seeds.
    pub n: u64,
    /// Probability of such a ratio by chance, adjusted for all hypotheses by Holm's procedure; `null` for an expected
    /// equality, which the interval decides.
    pub p_holm: Option<f64>,
    /// The hypothesis holds; `null`: undecided.
    pub holds: Option<bool>,
}

/// Cost of the runs.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct CompareTiming {
    /// Wall-clock time (s).
    pub wall_s: f64,
    /// Number of runs.
    pub runs: u64,
    /// Number of runs in parallel.
    pub jobs: u64,
}
