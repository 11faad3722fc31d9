//! References of figures, `[figure.reference]`, with which `driftway validate` compares them.

use driftway_scenario::{Error, TomlFile};
use serde::{Deserialize, Serialize};

use super::check::keys;
use super::format::{Figure, Settings};

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
    /// At each point, the ratio of the mean goodputs deviates from 1 by at most this.
    Within(f64),
    /// Over the points, the 90 % interval of the mean logarithm of the ratio lies within ± 10 %.
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

/// Checks a figure's reference.
///
/// # Errors
///
/// The first error.
pub fn check(file: &TomlFile, figure: &Figure, number: usize, arms: usize) -> Result<(), Error> {
    let points = figure.x.iter().flat_map(|axis| &axis.points).enumerate();
    let Some(reference) = &figure.reference else {
        let mut useless = points.filter(|(_, point)| !point.reference.is_empty());
        return useless.next().map_or(Ok(()), |(at, _)| {
            let keys = keys!["figure", number, "x", "points", at, "reference"];
            Err(file.error(&keys, "this figure has no reference\nadd [figure.reference]"))
        });
    };
    let wrong = |key: &str, message: &str| {
        Err(file.error(&keys!["figure", number, "reference", key], message))
    };
    if arms != 1 {
        let message = "a figure with a reference has one arm\nset `arms` to one name";
        return Err(file.error(&keys!["figure", number, "reference"], message));
    }
    match (reference.simulator, reference.formula) {
        (Some(ReferenceSimulator::Ns2), None) if reference.ns2.is_none() => {
            return wrong(
                "simulator",
                "the configuration of ns-2 is missing\nadd [figure.reference.ns2]",
            );
        }
        (Some(_), None) => {}
        (None, Some(_)) if reference.ns2.is_some() => {
            return wrong("ns2", "a formula has no run of ns-2");
        }
        (None, Some(law)) => {
            for (at, point) in points {
                let is_number = |name: &&&str| {
                    let value = point.reference.get(**name);
                    value.is_some_and(|value| value.0.parse::<f64>().is_ok())
                };
                if let Some(name) = law.parameters().iter().find(|name| !is_number(name)) {
                    let keys = keys!["figure", number, "x", "points", at];
                    let help = format!("write reference = {{ {name} = … }}");
                    let message = format!("the formula needs a number `{name}`\n{help}");
                    return Err(file.error(&keys, &message));
                }
            }
        }
        _ => return wrong("judge", "a reference has either `simulator` or `formula`"),
    }
    if let AgreementCriterion::Within(part) = reference.judge
        && !(part > 0.0 && part < 1.0)
    {
        return wrong("judge", "out of range 0–1\nfor example { within = 0.05 } for five per cent");
    }
    if reference.runs == Some(0) {
        return wrong("runs", "at least one run is needed");
    }
    Ok(())
}
