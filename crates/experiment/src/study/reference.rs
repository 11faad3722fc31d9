//! `[figure.reference]`: what `driftway validate` holds a figure against.

use driftway_scenario::{Error, TomlFile};
use serde::{Deserialize, Serialize};

use super::check::keys;
use super::format::{Figure, Settings};

/// `[figure.reference]`: another simulator or a formula. The figure has one arm, and an axis with
/// `points`; a point's `reference` is what the other side has to know of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a reference")]
pub struct Reference {
    /// Whose stored numbers; or
    pub simulator: Option<ReferenceSimulator>,
    /// which formula's.
    pub formula: Option<FormulaKind>,
    /// What counts as agreement.
    pub judge: AgreementCriterion,
    /// Runs a point. Default: the study's.
    pub runs: Option<u64>,
    /// How ns-2 runs the same: `[figure.reference.ns2]`.
    pub ns2: Option<Ns2Config>,
}

/// Another simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum ReferenceSimulator {
    /// ns-2.35.
    #[serde(rename = "ns-2")]
    Ns2,
    /// ns-3.
    #[serde(rename = "ns-3")]
    Ns3,
}

impl ReferenceSimulator {
    /// As people write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ns2 => "ns-2.35",
            Self::Ns3 => "ns-3",
        }
    }
}

/// How ns-2 runs what a figure is.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a run of ns-2")]
pub struct Ns2Config {
    /// With its ARP, as in the stored runs.
    pub arp: bool,
    /// Which layers are traced, and counted.
    pub trace: String,
    /// For `case.tcl`; a point's come after them.
    pub arguments: Settings,
}

/// What counts as agreement.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgreementCriterion {
    /// At each point, the ratio of the mean goodputs is one give or take this.
    Within(f64),
    /// Over the points, the 90 % interval of the mean logarithm of the ratio lies within ± 10 %.
    LogRatio,
    /// It is measured and told.
    Reported,
}

/// A formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FormulaKind {
    /// The throughput of TCP over a path that loses packets.
    Padhye,
    /// The throughput of 802.11 stations that always have something to send.
    Bianchi,
    /// The time that one packet takes over one free hop.
    Exchange,
}

impl FormulaKind {
    /// The numbers that it takes of a point: a loss probability, a one-way delay (ms), a count, a
    /// payload (B), 1 with RTS and 0 without, a distance (m).
    pub const fn parameters(self) -> &'static [&'static str] {
        match self {
            Self::Padhye => &["loss", "delay_ms"],
            Self::Bianchi => &["stations", "payload", "rts"],
            Self::Exchange => &["payload", "rts", "metres"],
        }
    }
}

/// What is wrong with a figure's reference, if it has one.
///
/// # Errors
/// What is wrong first.
pub fn check(file: &TomlFile, figure: &Figure, number: usize, arms: usize) -> Result<(), Error> {
    let points = figure.x.iter().flat_map(|axis| &axis.points).enumerate();
    let Some(reference) = &figure.reference else {
        let mut useless = points.filter(|(_, point)| !point.reference.is_empty());
        return useless.next().map_or(Ok(()), |(at, _)| {
            let keys = keys!["figure", number, "x", "points", at, "reference"];
            Err(file.error(&keys, "this figure is held against nothing\nadd [figure.reference]"))
        });
    };
    let wrong = |key: &str, message: &str| {
        Err(file.error(&keys!["figure", number, "reference", key], message))
    };
    if arms != 1 {
        let message = "one arm is held against a reference\nwrite `arms` with one name";
        return Err(file.error(&keys!["figure", number, "reference"], message));
    }
    match (reference.simulator, reference.formula) {
        (Some(ReferenceSimulator::Ns2), None) if reference.ns2.is_none() => {
            return wrong("simulator", "how ns-2 runs it is not there\nadd [figure.reference.ns2]");
        }
        (Some(_), None) => {}
        (None, Some(_)) if reference.ns2.is_some() => {
            return wrong("ns2", "ns-2 runs no formula");
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
                    let message = format!("the formula takes a number `{name}`\n{help}");
                    return Err(file.error(&keys, &message));
                }
            }
        }
        _ => return wrong("judge", "a reference has either `simulator` or `formula`"),
    }
    if let AgreementCriterion::Within(part) = reference.judge
        && !(part > 0.0 && part < 1.0)
    {
        return wrong("judge", "out of range 0–1\n{ within = 0.05 } is five per cent");
    }
    if reference.runs == Some(0) {
        return wrong("runs", "at least one run is made");
    }
    Ok(())
}
