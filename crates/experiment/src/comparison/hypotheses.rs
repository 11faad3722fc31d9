//! Hypotheses about the networks of `studies/compare.toml`, which were written before these were run, and their verdicts.

use serde::Deserialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::advice::mean_ratio;
use super::arms::{ARMS_PER_TCP, ComparedArm, arms};
use super::document::{Expectation, HypothesisResult};
use super::holm::holm;
use super::network::ComparedNetwork;
use super::runs::{ArmRuns, RunSample};
use crate::error::Error;
use crate::words;

/// Half of the width of what counts as equal.
const EQUAL: f64 = 0.03;

/// Level of significance.
const LEVEL: f64 = 0.05;

/// The file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct HypothesisFile {
    hypothesis: Vec<Hypothesis>,
}

/// The measure of a hypothesis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum HypothesisMeasure {
    /// Throughput of the compared flow.
    #[default]
    Throughput,
    /// Throughput of the others.
    Neighbour,
}

/// A hypothesis.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hypothesis {
    id: String,
    says: String,
    /// The figures of the study whose networks it is about.
    figures: Vec<String>,
    /// The arm, which is compared with its TCP without an aid.
    arm: String,
    #[serde(default)]
    measure: HypothesisMeasure,
    expects: Expectation,
}

/// Reads hypotheses from the text of their file.
///
/// # Errors
///
/// It is invalid, or names an arm that does not exist.
pub fn parse(text: &str) -> Result<Vec<Hypothesis>, Error> {
    let refused =
        |what: &dyn std::fmt::Display| Error::refused(format!("compare-hypotheses.toml: {what}"));
    let file: HypothesisFile = toml::from_str(text).map_err(|error| refused(&error))?;
    let names: Vec<String> = arms().iter().map(ComparedArm::name).collect();
    match file.hypothesis.iter().find(|of| !names.contains(&of.arm)) {
        None => Ok(file.hypothesis),
        Some(wrong) => {
            let near = words::available(&wrong.arm, &names);
            Err(refused(&format!("{}: there is no arm `{}`\n{near}", wrong.id, wrong.arm)))
        }
    }
}

/// The verdicts, if the networks of every hypothesis were run; else none.
pub fn judge(
    hypotheses: &[Hypothesis],
    networks: &[ComparedNetwork],
    results: &[Vec<ArmRuns>],
) -> Vec<HypothesisResult> {
    let is_run = |of: &Hypothesis| {
        of.figures.iter().all(|figure| networks.iter().any(|network| network.figure == *figure))
    };
    if !hypotheses.iter().all(is_run) {
        return Vec::new();
    }
    let measured: Vec<_> =
        hypotheses.iter().map(|hypothesis| measure(hypothesis, networks, results)).collect();
    let tests: Vec<Option<f64>> = hypotheses
        .iter()
        .zip(&measured)
        .map(|(of, (ratio, n))| ratio.and_then(|ratio| one_sided(of.expects, ratio, *n)))
        .collect();
    let adjusted = holm(&tests);
    hypotheses
        .iter()
        .zip(measured)
        .zip(adjusted)
        .map(|((of, (ratio, n)), p_holm)| HypothesisResult {
            id: of.id.clone(),
            says: of.says.clone(),
            expects: of.expects,
            ratio: ratio.map(|(mean, ..)| mean),
            ci90: ratio.and_then(|(_, interval, _)| interval),
            n,
            p_holm,
            holds: ratio.and_then(|ratio| verdict(of.expects, ratio, p_holm)),
        })
        .collect()
}

/// A mean ratio with its 90 % interval and the standard error of its logarithm.
type Ratio = (f64, Option<[f64; 2]>, Option<f64>);

fn measure(
    of: &Hypothesis,
    networks: &[ComparedNetwork],
    results: &[Vec<ArmRuns>],
) -> (Option<Ratio>, u64) {
    let all = arms();
    let arm = all.iter().position(|arm| arm.name() == of.arm).unwrap_or(0);
    let plain = arm - arm % ARMS_PER_TCP;
    let cells: Vec<(&[RunSample], &[RunSample])> = networks
        .iter()
        .zip(results)
        .filter(|(network, _)| of.figures.contains(&network.figure))
        .map(|(_, runs)| (&runs[arm].shown[..], &runs[plain].shown[..]))
        .collect();
    let ratio = mean_ratio(&cells, |run| match of.measure {
        HypothesisMeasure::Throughput => Some(run.throughput_bps),
        HypothesisMeasure::Neighbour => run.neighbours_bps,
    });
    (ratio, cells.first().map_or(0, |(own, _)| own.len() as u64))
}

/// The probability of a mean logarithm at least this far in the expected direction if the true one is 0.
fn one_sided(expects: Expectation, (mean, _, error): Ratio, n: u64) -> Option<f64> {
    let log = match expects {
        Expectation::Gain => libm::log(mean),
        Expectation::Loss => -libm::log(mean),
        Expectation::Equal => return None,
    };
    let error = error.filter(|error| *error > 1e-12);
    let Some(error) = error else { return (log.abs() < 1e-12).then_some(1.0) };
    Some(StudentsT::new(0.0, 1.0, n.checked_sub(1)? as f64).ok()?.sf(log / error))
}

fn verdict(expects: Expectation, (mean, interval, _): Ratio, p_holm: Option<f64>) -> Option<bool> {
    let [low, high] = interval?;
    match expects {
        Expectation::Equal if low >= 1.0 - EQUAL && high <= 1.0 + EQUAL => Some(true),
        Expectation::Equal => (high < 1.0 - EQUAL || low > 1.0 + EQUAL).then_some(false),
        _ if p_holm.is_some_and(|p| p < LEVEL) => Some(true),
        // The interval is on the other side.
        Expectation::Gain => (high < 1.0 || (low == high && mean == 1.0)).then_some(false),
        Expectation::Loss => (low > 1.0 || (low == high && mean == 1.0)).then_some(false),
    }
}

#[cfg(test)]
mod test {
    use super::super::cells::test::{network, results, runs};
    use super::*;

    fn judged(shown: &[f64], expects: &str) -> HypothesisResult {
        let text = format!(
            "[[hypothesis]]\nid = 'h'\nsays = 's'\nfigures = ['A']\narm = 'linux/carry/recommended'\nexpects = '{expects}'\n"
        );
        let networks = [network("a", "A")];
        let carry = [("linux/carry/recommended", runs(1.0, shown))];
        let all = [results(&runs(1.0, &[10.0, 10.0, 10.0, 10.0]), &carry)];
        judge(&parse(&text).unwrap(), &networks, &all).remove(0)
    }

    #[test]
    fn a_gain_is_more_than_chance() {
        let gain = judged(&[20.0, 22.0, 21.0, 20.5], "gain");
        assert_eq!(gain.holds, Some(true));
        assert!(gain.p_holm.unwrap() < 0.001 && gain.n == 4);
        assert_eq!(judged(&[20.0, 22.0, 21.0, 20.5], "loss").holds, Some(false));
        assert_eq!(judged(&[8.0, 14.0, 11.0, 9.5], "gain").holds, None);
    }

    #[test]
    fn equality_is_an_interval() {
        assert_eq!(judged(&[10.0, 10.1, 9.9, 10.0], "equal").holds, Some(true));
        assert_eq!(judged(&[11.0, 11.1, 10.9, 11.0], "equal").holds, Some(false));
        assert_eq!(judged(&[9.0, 12.0, 10.0, 10.5], "equal").holds, None);
    }

    #[test]
    fn all_networks_of_a_hypothesis_are_needed() {
        let text = include_str!("../../studies/compare-hypotheses.toml");
        let hypotheses = parse(text).unwrap();
        assert!(hypotheses.len() >= 8);
        assert!(judge(&hypotheses, &[network("a", "A")], &[Vec::new()]).is_empty());
    }

    #[test]
    fn an_unknown_arm_is_refused() {
        let text = "[[hypothesis]]\nid = 'h'\nsays = 's'\nfigures = []\narm = 'linux/cary/recommended'\nexpects = 'gain'\n";
        let error = parse(text).unwrap_err().to_string();
        assert!(error.contains("did you mean `linux/carry/recommended`?"), "{error}");
    }
}
