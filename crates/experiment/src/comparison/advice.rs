//! Recommendations, one for each situation.
//!
//! The choice is among the TCPs that Linux has, without an aid and with each: the highest geometric mean, over the networks
//! of the situation, of throughput over that of Linux's TCP without an aid. An arm beside which another flow has less than
//! 0.9 of what it has beside that TCP on one of the networks is out. Within 3 % of the best the recommended aid comes
//! first, and before it no aid. The choice is made with some seeds, and other seeds have to confirm it: the 90 % interval of
//! the same mean lies above 1, and no other flow has less than 0.9. What is not confirmed is not recommended.

use super::arms::{ComparedArm, DEFAULT_TCP, RECOMMENDED_AID, arms};
use super::cells::{chosen_mean, of_neighbours, throughputs};
use super::document::{Evidence, Recommendation};
use super::network::ComparedNetwork;
use super::runs::{ArmRuns, RunSample};
use crate::study::measure::{geometric_mean, ratio};
use crate::summary::estimate;

/// Least throughput of others, over that beside Linux's TCP without an aid.
const NEIGHBOUR_LEAST: f64 = 0.9;

/// Ratio to the best within which something simpler is recommended.
const NEARLY: f64 = 0.97;

/// The recommendations, in the order of the situations.
pub fn recommendations(
    networks: &[ComparedNetwork],
    results: &[Vec<ArmRuns>],
) -> Vec<Recommendation> {
    let mut situations: Vec<&str> = networks.iter().map(|of| of.situation.as_str()).collect();
    situations.dedup();
    situations
        .iter()
        .map(|situation| {
            let of = networks.iter().zip(results).filter(|(of, _)| of.situation == *situation);
            let (networks, results): (Vec<_>, Vec<&[ArmRuns]>) =
                of.map(|(network, runs)| (network, runs.as_slice())).unzip();
            recommend(situation, &networks, &results)
        })
        .collect()
}

fn recommend(
    situation: &str,
    networks: &[&ComparedNetwork],
    results: &[&[ArmRuns]],
) -> Recommendation {
    let all = arms();
    let plain = plain(&all);
    let chosen = choose(&all, results);
    let evidence = |arm: usize| evidence(networks, results, (arm, plain));
    let of_chosen = evidence(chosen);
    let is_confirmed = chosen != plain && of_chosen.confirms();
    let (arm, evidence) = match is_confirmed {
        true => (&all[chosen], of_chosen.clone()),
        false => (&all[plain], evidence(plain)),
    };
    let sentence = match is_confirmed {
        true => sentence(arm, &evidence),
        false => leave((chosen != plain).then_some((&all[chosen], &of_chosen))),
    };
    Recommendation {
        network: situation.to_owned(),
        sentence,
        aid: arm.aid_name().to_owned(),
        reading: arm.reading(),
        tcp: arm.tcp.name.to_owned(),
        evidence,
    }
}

impl Evidence {
    /// Returns whether it confirms a choice.
    fn confirms(&self) -> bool {
        // One seed has no interval.
        self.ci90.is_some_and(|[low, _]| low > 1.0)
            && self.lowest_neighbour.is_none_or(|lowest| lowest >= NEIGHBOUR_LEAST)
    }
}

/// Index of Linux's TCP without an aid.
fn plain(all: &[ComparedArm]) -> usize {
    all.iter().position(|arm| arm.tcp.name == DEFAULT_TCP && arm.aid.is_none()).unwrap_or(0)
}

/// Index of the recommended arm.
fn choose(all: &[ComparedArm], results: &[&[ArmRuns]]) -> usize {
    let plain = plain(all);
    let score = |arm: usize| -> Option<f64> {
        let harms = results.iter().any(|runs| {
            let of = |runs: &ArmRuns| of_neighbours(&runs.choosing);
            ratio(&of(&runs[arm]), &of(&runs[plain])).is_some_and(|of| of.mean < NEIGHBOUR_LEAST)
        });
        let ratios: Vec<f64> = results
            .iter()
            .map(|runs| (chosen_mean(&runs[arm]), chosen_mean(&runs[plain])))
            // A network over which nothing passes decides nothing.
            .filter(|(own, plain)| *own > 0.0 || *plain > 0.0)
            .map(|(own, plain)| own / plain.max(1.0))
            .collect();
        (!harms && all[arm].tcp.linux.is_some())
            .then(|| geometric_mean(&ratios).map_or(0.0, |(mean, _)| mean))
    };
    let scores: Vec<Option<f64>> = (0..all.len()).map(score).collect();
    let best = scores.iter().flatten().copied().fold(0.0, f64::max);
    let is_near = |arm: &usize| scores[*arm].is_some_and(|score| score >= NEARLY * best);
    let simplicity = |arm: &usize| match all[*arm].aid_name() {
        _ if *arm == plain => 3,
        _ if all[*arm].aid.is_none() => 2,
        RECOMMENDED_AID => 1,
        _ => 0,
    };
    let order = |one: &usize, other: &usize| {
        let by_score = scores[*one].unwrap_or(0.0).total_cmp(&scores[*other].unwrap_or(0.0));
        simplicity(one).cmp(&simplicity(other)).then(by_score).then(other.cmp(one))
    };
    (0..all.len()).filter(is_near).max_by(order).unwrap_or(plain)
}

/// The geometric mean over networks of the ratios of one arm to another, seed by seed: its mean and its 90 % interval over
/// the seeds. `None` if a ratio is not above zero.
pub fn mean_ratio(
    cells: &[(&[RunSample], &[RunSample])],
    read: impl Fn(&RunSample) -> Option<f64>,
) -> Option<(f64, Option<[f64; 2]>, Option<f64>)> {
    let seeds = cells.iter().map(|(own, _)| own.len()).min()?;
    let of_seed = |seed: usize| -> Option<f64> {
        let ratios: Option<Vec<f64>> = cells
            .iter()
            .map(|(own, plain)| Some(read(&own[seed])? / read(&plain[seed])?))
            .collect();
        let ratios = ratios.filter(|ratios| ratios.iter().all(|ratio| ratio.is_finite()))?;
        Some(libm::log(geometric_mean(&ratios)?.0))
    };
    let logs: Option<Vec<f64>> = (0..seeds).map(of_seed).collect();
    let logs = estimate(&logs?)?;
    let interval = logs.ci90.map(|ends| ends.map(libm::exp));
    // Standard error of the mean logarithm.
    let freedom = logs.n.saturating_sub(1) as f64;
    let error = logs.ci90.and_then(|[low, high]| {
        Some((high - low) / 2.0 / crate::summary::student_t_quantile(0.90, freedom)?)
    });
    Some((libm::exp(logs.mean), interval, error))
}

fn evidence(
    networks: &[&ComparedNetwork],
    results: &[&[ArmRuns]],
    (arm, plain): (usize, usize),
) -> Evidence {
    let cells: Vec<_> =
        results.iter().map(|runs| (&runs[arm].shown[..], &runs[plain].shown[..])).collect();
    let mean = mean_ratio(&cells, |run| Some(run.throughput_bps));
    let ratios =
        cells.iter().filter_map(|(own, plain)| ratio(&throughputs(own), &throughputs(plain)));
    let beside =
        cells.iter().filter_map(|(own, plain)| ratio(&of_neighbours(own), &of_neighbours(plain)));
    Evidence {
        relative: mean.map(|(mean, ..)| mean),
        ci90: mean.and_then(|(_, interval, _)| interval),
        n: cells.first().map_or(0, |(own, _)| own.len() as u64),
        networks: networks.iter().map(|of| of.name.clone()).collect(),
        lowest: ratios.map(|of| of.mean).reduce(f64::min),
        lowest_neighbour: beside.map(|of| of.mean).reduce(f64::min),
    }
}

/// The TCP and the aid in words.
fn arm_words(arm: &ComparedArm) -> String {
    let tcp = arm.tcp.label;
    match arm.aid {
        None => format!("{tcp} and no aid"),
        Some(aid) => format!("{tcp} with the aid {}", aid.label()),
    }
}

/// The ratio in words: `1.20 times (1.10 to 1.31)`.
fn ratio_words(evidence: &Evidence) -> String {
    match (evidence.relative, evidence.ci90) {
        (Some(ratio), Some([low, high])) => format!("{ratio:.2} times ({low:.2} to {high:.2})"),
        (Some(ratio), None) => format!("{ratio:.2} times"),
        (None, _) => "no measurable multiple of".to_owned(),
    }
}

/// The recommendation of Linux's TCP without an aid, and what was not confirmed.
fn leave(rejected: Option<(&ComparedArm, &Evidence)>) -> String {
    let keep = "Leave TCP as it is";
    let Some((arm, evidence)) = rejected else {
        return format!(
            "{keep}: no other TCP of Linux and no aid has over 3 % more throughput without taking it from others."
        );
    };
    let (arm, ratio) = (arm_words(arm), ratio_words(evidence));
    let found = format!(
        "{keep}: {arm} did best with some seeds; with others it has {ratio} the throughput of Linux (CUBIC) without an aid"
    );
    match evidence.lowest_neighbour {
        Some(lowest) if lowest < NEIGHBOUR_LEAST => {
            format!("{found}, but a flow beside it keeps {lowest:.2} of its own.")
        }
        _ => format!("{found}, which does not confirm it."),
    }
}

fn sentence(arm: &ComparedArm, evidence: &Evidence) -> String {
    let mut text = format!(
        "Use {}: {} the throughput of Linux (CUBIC) without an aid",
        arm_words(arm),
        ratio_words(evidence)
    );
    if let Some(lowest) = evidence.lowest.filter(|_| evidence.networks.len() > 1) {
        text += &format!(", and {lowest:.2} where it does least");
    }
    text += &match evidence.lowest_neighbour {
        Some(others) => format!("; another flow has {others:.2} of what it has beside that."),
        None => "; it is alone here, so that nothing is known of what others lose.".to_owned(),
    };
    text
}

#[cfg(test)]
mod test {
    use super::super::cells::test::{network, results, runs};
    use super::*;

    fn recommended(others: &[(&str, ArmRuns)]) -> Recommendation {
        let networks = [network("a", "A")];
        let all = [results(&runs(10.0, &[10.0, 11.0]), others)];
        recommendations(&networks, &all).remove(0)
    }

    #[test]
    fn the_choice_is_of_some_seeds_and_the_evidence_of_others() {
        let found = recommended(&[
            ("linux/atcp/recommended", runs(18.0, &[12.0, 13.2])),
            ("linux/elfn/recommended", runs(11.0, &[15.0, 16.5])),
            ("bbr3/none", runs(19.0, &[19.0, 19.0])),
        ]);
        assert_eq!((found.tcp.as_str(), found.aid.as_str()), ("linux", "atcp"));
        assert!((found.evidence.relative.unwrap() - 1.2).abs() < 1e-12);
        assert!(
            found.sentence.starts_with("Use Linux (CUBIC) with the aid atcp: 1.20 times"),
            "{}",
            found.sentence
        );
    }

    #[test]
    fn what_takes_from_others_is_out() {
        let found = recommended(&[("linux-bbr/none", runs(30.0, &[30.0, 30.0]))]);
        assert_eq!((found.tcp.as_str(), found.aid.as_str()), ("linux", "none"));
        assert!(found.sentence.starts_with("Leave TCP as it is: no other TCP"));
        // With other seeds only.
        let found = recommended(&[("linux-bbr/none", runs(18.0, &[30.0, 33.0]))]);
        assert_eq!(found.tcp, "linux");
        assert!(found.sentence.contains("a flow beside it keeps 0.77"), "{}", found.sentence);
    }

    #[test]
    fn what_other_seeds_do_not_confirm_is_not_recommended() {
        let found = recommended(&[("linux/atcp/recommended", runs(18.0, &[9.0, 13.0]))]);
        assert_eq!((found.tcp.as_str(), found.aid.as_str()), ("linux", "none"));
        assert_eq!(found.evidence.relative, Some(1.0));
        assert!(found.sentence.contains("atcp did best with some seeds"), "{}", found.sentence);
    }

    #[test]
    fn nearly_the_best_is_enough_for_something_simpler() {
        let found = recommended(&[
            ("linux/atcp/recommended", runs(18.0, &[18.0, 19.8])),
            ("linux/carry/recommended", runs(17.8, &[17.8, 19.58])),
        ]);
        assert_eq!(found.aid, "carry");
        let found = recommended(&[("linux/carry/recommended", runs(10.2, &[10.2, 10.2]))]);
        assert_eq!(found.aid, "none");
    }
}
