//! References of figures, `[figure.reference]`, with which `driftway validate` compares them.

use driftway_scenario::Distance;
use serde::{Deserialize, Serialize};

use super::number::Settings;
use super::table::table;

table! {
    /// Reference of a figure, `[figure.reference]`: another simulator, a formula, or published values. The
    /// figure has one arm, and an axis with `points`; a point's `reference` has the parameters of the
    /// simulator or formula, or the published value, `{ value = 1.7e6 }`, in the base unit of the measure
    /// (bit/s, s, B, or none). With `judge = "reported"` a point may be without a value.
    pub struct Reference expecting "a table with the keys of a reference" {
        /// The simulator whose stored results are the reference. Alternative to `formula`.
        simulator: Option<ReferenceSimulator>,
        /// The formula. Alternative to `simulator`.
        formula: Option<FormulaKind>,
        /// Publication of the formula, or of the values if neither `simulator` nor `formula` is given:
        /// authors, title, year, and table or figure.
        source: Option<String>,
        /// Measure of published values.
        measure: Option<PublishedMeasure> => "the figure's only `y`",
        /// Criterion of agreement.
        judge: AgreementCriterion,
        /// Runs per point.
        runs: Option<u64> => "the study's",
        /// The corresponding run of ns-2: `[figure.reference.ns2]`.
        ns2: Option<Ns2Config>,
    }
}

/// Another simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, schemars::JsonSchema)]
pub enum ReferenceSimulator {
    /// ns-2.35.
    #[serde(rename = "ns-2")]
    Ns2,
    /// ns-3.
    #[serde(rename = "ns-3")]
    Ns3,
}

impl ReferenceSimulator {
    /// Name for readers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ns2 => "ns-2.35",
            Self::Ns3 => "ns-3",
        }
    }
}

table! {
    /// Configuration of the corresponding run of ns-2.
    pub struct Ns2Config expecting "a table with the keys of a run of ns-2" {
        /// Uses ns-2's ARP, as in the stored runs.
        arp: bool,
        /// The layers that are traced and counted.
        trace: String,
        /// Arguments for `case.tcl`; those of a point follow them.
        arguments: Settings,
    }
}

/// Criterion of agreement.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AgreementCriterion {
    /// The ratio of the mean goodputs deviates from 1 by at most this at each point.
    Within(f64),
    /// The 90 % interval of the mean logarithm of the ratio, over the points, lies within ± 10 %.
    LogRatio,
    /// Measured and reported, but not judged.
    Reported,
}

/// A measure of published values that no run reports by itself.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", expecting = "\"share-of-best\" or { link-changes = \"250 m\" }")]
pub enum PublishedMeasure {
    /// The figure's `y`, divided by its largest mean over the points: 1 at the best point.
    ShareOfBest,
    /// Number of times that two nodes of an ad hoc network come within this distance of each other or
    /// leave it, over all pairs and the duration of the run, from the movement alone; each pair is
    /// looked at four times a second.
    LinkChanges(Distance),
}

/// A formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FormulaKind {
    /// Throughput of TCP over a lossy path.
    Padhye,
    /// Throughput of TCP that loses one segment of a fixed number (mathis-1997).
    Mathis,
    /// The same of CUBIC (RFC 9438 §5.1).
    Cubic,
    /// Saturation throughput of 802.11 stations.
    Bianchi,
    /// The same with the parameters of bianchi-2000, Table II (FHSS, 1 Mbit/s).
    BianchiFhss,
    /// Maximum throughput of one 802.11 station (jun-2003).
    Jun,
    /// Duration of the exchange of one packet over one idle hop.
    Exchange,
}

impl FormulaKind {
    /// Parameters at a point: a loss probability, a one-way delay (ms), a count, a payload (B), 1
    /// with RTS and 0 without, a distance (m), the smallest window (slots) and how often it doubles,
    /// a bit rate (Mbit/s).
    pub const fn parameters(self) -> &'static [&'static str] {
        match self {
            Self::Padhye | Self::Mathis | Self::Cubic => &["loss", "delay_ms"],
            Self::Bianchi => &["stations", "payload", "rts"],
            Self::BianchiFhss => &["stations", "payload", "window", "doublings", "rts"],
            Self::Jun => &["mbps", "payload", "rts"],
            Self::Exchange => &["payload", "rts", "metres"],
        }
    }
}
