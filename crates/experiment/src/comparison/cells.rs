//! The cells of a comparison: each arm over each network against the same TCP without an aid, paired by seed.

use super::arms::{ARMS_PER_TCP, ComparedArm, RECOMMENDED_AID, arms};
use super::document::{CarryBehind, CompareCell};
use super::holm::{holm, p_value};
use super::network::ComparedNetwork;
use super::runs::{ArmRuns, RunSample};
use crate::study::measure::{Measurement, Sample, ratio};
use crate::summary::estimate;

/// Ratio of throughputs below which `carry` is behind.
pub const BEHIND: f64 = 0.97;

/// The cells of all networks, with probabilities adjusted for all of them.
pub fn cells(networks: &[ComparedNetwork], results: &[Vec<ArmRuns>]) -> Vec<CompareCell> {
    let (mut cells, mut probabilities) = (Vec::new(), Vec::new());
    for (network, of_network) in networks.iter().zip(results) {
        for of_tcp in arms().chunks(ARMS_PER_TCP).zip(of_network.chunks(ARMS_PER_TCP)) {
            let (arms, runs) = of_tcp;
            for (arm, own) in arms.iter().zip(runs) {
                let (cell, p) = cell(network, arm, (&own.shown, &runs[0].shown));
                cells.push(cell);
                probabilities.push(p);
            }
        }
    }
    for (cell, p) in cells.iter_mut().zip(holm(&probabilities)) {
        cell.p_holm = p;
    }
    cells
}

fn cell(
    network: &ComparedNetwork,
    arm: &ComparedArm,
    (own, plain): (&[RunSample], &[RunSample]),
) -> (CompareCell, Option<f64>) {
    let all =
        |runs: &[RunSample]| -> Vec<Option<RunSample>> { runs.iter().copied().map(Some).collect() };
    let (cell, p) = cell_of(network, &all(own), &all(plain), arm.aid.is_none());
    let cell = CompareCell {
        tcp: arm.tcp.name.to_owned(),
        aid: arm.aid_name().to_owned(),
        reading: arm.reading(),
        ..cell
    };
    (cell, p)
}

/// The cell of runs over a network against those without an aid, seed by seed, and the probability of its ratio by
/// chance, which a cell without an aid does not have. It is the caller's to name its arm.
pub fn cell_of(
    network: &ComparedNetwork,
    own: &[Option<RunSample>],
    plain: &[Option<RunSample>],
    is_plain: bool,
) -> (CompareCell, Option<f64>) {
    let samples =
        |runs: &[Option<RunSample>], read: fn(&RunSample) -> Option<f64>| -> Vec<Sample> {
            runs.iter().map(|run| of_value(run.as_ref().and_then(read))).collect()
        };
    let relative = |read| ratio(&samples(own, read), &samples(plain, read));
    let (throughput, neighbours) =
        (relative(|run| Some(run.throughput_bps)), relative(|run| run.neighbours_bps));
    let own: Vec<&RunSample> = own.iter().flatten().collect();
    let of_own = |read: &dyn Fn(&RunSample) -> Option<f64>| {
        mean(&own.iter().filter_map(|run| read(run)).collect::<Vec<_>>())
    };
    let cell = CompareCell {
        network: network.name.clone(),
        situation: network.situation.clone(),
        tcp: String::new(),
        aid: String::new(),
        reading: None,
        kernel: false,
        n: own.len() as u64,
        throughput_bps: of_own(&|run| Some(run.throughput_bps)).unwrap_or(0.0),
        relative: throughput.as_ref().map(|of| of.mean),
        ci90: throughput.as_ref().and_then(|of| of.ci90),
        ci95: throughput.as_ref().and_then(|of| of.ci95),
        p_holm: None,
        completed: network
            .is_transfer
            .then(|| own.iter().filter(|run| run.completion_s.is_some()).count() as u64),
        completion_s: network
            .is_transfer
            .then(|| of_own(&|run| Some(run.completion_s.unwrap_or(run.available_s))))
            .flatten(),
        neighbour_share: of_own(&|run| run.neighbour_share),
        neighbour_relative: neighbours.as_ref().map(|of| of.mean),
        neighbour_ci90: neighbours.and_then(|of| of.ci90),
    };
    (cell, throughput.as_ref().filter(|_| !is_plain).and_then(p_value))
}

fn mean(values: &[f64]) -> Option<f64> {
    estimate(values).map(|of| of.mean)
}

fn of_value(value: Option<f64>) -> Sample {
    Sample { value, is_censored: false }
}

/// Throughputs as samples of a study.
pub fn throughputs(runs: &[RunSample]) -> Vec<Sample> {
    runs.iter().map(|run| of_value(Some(run.throughput_bps))).collect()
}

/// The neighbours' throughputs as samples of a study.
pub fn of_neighbours(runs: &[RunSample]) -> Vec<Sample> {
    runs.iter().map(|run| of_value(run.neighbours_bps)).collect()
}

/// Networks and TCPs with which `carry` is behind the best other arm. That arm is chosen with the seeds for choosing, and
/// the ratio is of the others; no aid is compared as well, whichever the best arm is.
pub fn carry_behind(networks: &[ComparedNetwork], results: &[Vec<ArmRuns>]) -> Vec<CarryBehind> {
    let mut behind = Vec::new();
    for (network, of_network) in networks.iter().zip(results) {
        for (arms, runs) in arms().chunks(ARMS_PER_TCP).zip(of_network.chunks(ARMS_PER_TCP)) {
            let Some(carry) = arms.iter().position(|arm| arm.aid_name() == RECOMMENDED_AID) else {
                continue;
            };
            let ratio_to = |other: usize| -> Option<(usize, Measurement)> {
                let of = ratio(&throughputs(&runs[carry].shown), &throughputs(&runs[other].shown))?;
                (of.mean < BEHIND).then_some((other, of))
            };
            let best = (0..arms.len()).filter(|other| *other != carry).max_by(|one, other| {
                chosen_mean(&runs[*one]).total_cmp(&chosen_mean(&runs[*other])).then(other.cmp(one))
            });
            let worst = [best, Some(0)].into_iter().flatten().filter_map(ratio_to);
            let worst = worst.min_by(|(_, one), (_, other)| one.mean.total_cmp(&other.mean));
            behind.extend(worst.map(|(other, of)| CarryBehind {
                network: network.name.clone(),
                tcp: arms[other].tcp.name.to_owned(),
                aid: arms[other].aid_name().to_owned(),
                reading: arms[other].reading(),
                carry_relative: of.mean,
                ci90: of.ci90,
                certain: of.ci90.is_some_and(|[_, high]| high < 1.0),
                because: None,
                shown_by: None,
            }));
        }
    }
    behind.sort_by(|one, other| one.carry_relative.total_cmp(&other.carry_relative));
    behind
}

/// Mean throughput with the seeds by which is chosen (bit/s).
pub fn chosen_mean(runs: &ArmRuns) -> f64 {
    mean(&runs.choosing.iter().map(|run| run.throughput_bps).collect::<Vec<_>>()).unwrap_or(0.0)
}

#[cfg(test)]
pub(super) mod test {
    use super::*;

    /// A network without jobs.
    pub fn network(name: &str, situation: &str) -> ComparedNetwork {
        ComparedNetwork {
            name: name.to_owned(),
            situation: situation.to_owned(),
            figure: situation.to_owned(),
            jobs: Vec::new(),
            flow: 0,
            is_transfer: false,
        }
    }

    /// Runs with these throughputs, for choosing and for showing; the neighbour has the rest of 100.
    pub fn runs(choosing: f64, shown: &[f64]) -> ArmRuns {
        let run = |throughput_bps: f64| RunSample {
            throughput_bps,
            completion_s: None,
            available_s: 9.0,
            neighbours_bps: Some(100.0 - throughput_bps),
            neighbour_share: Some(1.0 - throughput_bps / 100.0),
        };
        ArmRuns { choosing: vec![run(choosing)], shown: shown.iter().map(|of| run(*of)).collect() }
    }

    /// The same runs for all arms, but for some by their names.
    pub fn results(all: &ArmRuns, others: &[(&str, ArmRuns)]) -> Vec<ArmRuns> {
        let of = |arm: &ComparedArm| {
            let own = others.iter().find(|(name, _)| *name == arm.name());
            own.map_or_else(|| all.clone(), |(_, runs)| runs.clone())
        };
        arms().iter().map(of).collect()
    }

    #[test]
    fn an_aid_is_compared_with_the_same_tcp_without() {
        let networks = [network("a", "A")];
        let twice = runs(20.0, &[20.0, 22.0, 18.0]);
        let all = [results(&runs(10.0, &[10.0, 11.0, 9.0]), &[("linux/carry/recommended", twice)])];
        let cells = cells(&networks, &all);
        assert_eq!(cells.len(), arms().len());
        let of = |aid: &str| cells.iter().find(|of| of.tcp == "linux" && of.aid == aid).unwrap();
        let plain = of("none");
        assert_eq!((plain.relative, plain.ci90), (Some(1.0), Some([1.0, 1.0])));
        assert_eq!((plain.p_holm, plain.reading, plain.completed), (None, None, None));
        let carry = of("carry");
        assert_eq!((carry.relative, carry.n, carry.throughput_bps), (Some(2.0), 3, 20.0));
        // The same ratio with every seed is no sample; an equal one is no evidence.
        assert_eq!((carry.p_holm, of("atcp").p_holm), (None, Some(1.0)));
        assert_eq!(carry.neighbour_relative, Some(80.0 / 90.0));
        assert!((carry.neighbour_share.unwrap() - 0.8).abs() < 1e-12);
    }

    #[test]
    fn the_arm_that_carry_is_behind_is_chosen_with_other_seeds() {
        let networks = [network("a", "A")];
        let others = [
            ("linux/carry/recommended", runs(15.0, &[15.0, 15.2])),
            // Best where nobody looks, and best by the choice.
            ("linux/elfn/recommended", runs(10.0, &[40.0, 40.0])),
            ("linux/atcp/recommended", runs(30.0, &[20.0, 20.1])),
            ("sack/carry/recommended", runs(8.0, &[8.0, 9.0])),
        ];
        let behind = carry_behind(&networks, &[results(&runs(10.0, &[10.0, 11.0]), &others)]);
        let found: Vec<_> = behind.iter().map(|of| (of.tcp.as_str(), of.aid.as_str())).collect();
        assert_eq!(found, [("linux", "atcp"), ("sack", "none")]);
        assert!(behind[0].certain && (behind[0].carry_relative - 30.2 / 40.1).abs() < 1e-12);
    }
}
