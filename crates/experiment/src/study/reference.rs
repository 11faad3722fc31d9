//! References of figures, `[figure.reference]`, with which `driftway validate` compares them.

use serde::{Deserialize, Serialize};

use super::number::Settings;

/// Reference of a figure, `[figure.reference]`: another simulator or a formula. The figure has one
/// arm, and an axis with `points`; a point's `reference` has the parameters of the simulator or
/// formula.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a reference")]
pub struct Reference {
    /// The simulator whose stored results are the reference. Alternative to `formula`.
    pub simulator: Option<ReferenceSimulator>,
    /// The formula. Alternative to `simulator`.
    pub formula: Option<FormulaKind>,
    /// Criterion of agreement.
    pub judge: AgreementCriterion,
    /// Runs per point. Default: the study's.
    pub runs: Option<u64>,
    /// The corresponding run of ns-2: `[figure.reference.ns2]`.
    pub ns2: Option<Ns2Config>,
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

/// Configuration of the corresponding run of ns-2.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a run of ns-2")]
pub struct Ns2Config {
    /// Uses ns-2's ARP, as in the stored runs.
    pub arp: bool,
    /// The layers that are traced and counted.
    pub trace: String,
    /// Arguments for `case.tcl`; those of a point follow them.
    pub arguments: Settings,
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

/// A formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FormulaKind {
    /// Throughput of TCP over a lossy path.
    Padhye,
    /// Saturation throughput of 802.11 stations.
    Bianchi,
    /// Duration of the exchange of one packet over one idle hop.
    Exchange,
}

impl FormulaKind {
    /// Parameters at a point: a loss probability, a one-way delay (ms), a count, a payload (B), 1
    /// with RTS and 0 without, a distance (m).
    pub const fn parameters(self) -> &'static [&'static str] {
        match self {
            Self::Padhye => &["loss", "delay_ms"],
            Self::Bianchi => &["stations", "payload", "rts"],
            Self::Exchange => &["payload", "rts", "metres"],
        }
    }
}
