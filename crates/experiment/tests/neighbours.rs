//! `studies/neighbours.toml` is written from the grid and the rule below: every 37th point.

use std::fmt::Write;
use std::path::Path;

use driftway_experiment::study::plan::plan;
use driftway_experiment::study::source::Source;

/// A prime, so that the points step through the values of every factor.
const STRIDE: usize = 37;

const RATES_MBPS: [u64; 5] = [1, 4, 10, 40, 100];
const RTTS_MS: [u64; 5] = [5, 20, 40, 100, 200];
const LOSSES: [f64; 5] = [0.0, 0.001, 0.003, 0.01, 0.03];
const NEIGHBOURS: [u32; 4] = [1, 2, 5, 20];
const GROWTHS: [&str; 2] = ["cubic", "reno"];
/// Neighbours with a model of the path, which are not in the grid.
const MODELS: [&str; 2] = ["bbr", "bbr3"];
const DROP_TAIL_BDP: [f64; 7] = [0.02, 0.05, 0.1, 0.3, 1.0, 2.0, 4.0];

/// Shorter pipes have no queue of a fraction of their length.
const MIN_BDP: f64 = 5.0;

const HEAD: &str = r#"# One flow with the aid carry, or without, beside 1 to 20 plain flows at one bottleneck:
# `driftway sweep studies/neighbours.toml --out results`. Written by
# `DRIFTWAY_BLESS=1 cargo test -p driftway-experiment --test neighbours`, which has the grid and the rule.

title = "One flow with carry beside plain neighbours"
note = "A flow of Linux's TCP (CUBIC) with the aid carry shares a bottleneck with plain neighbours, CUBIC or Reno with Linux's recovery; the same flow without the aid is the reference. Ratios are paired by seed: neighbours' throughput (their mean) beside carry ÷ beside plain; packets dropped by queues; throughput of all flows; the flow's own throughput. A queue of 1 BDP holds rate × round-trip time of propagation. Figures f-… are 1/{stride} of a grid of {all} points, which are numbered in the order queue and use of ECN, loss 0, 0.1, 0.3, 1, 3 %, round trip 5, 20, 40, 100, 200 ms, rate 1, 4, 10, 40, 100 Mbit/s, 1, 2, 5, 20 neighbours, CUBIC, Reno: every {stride}th point from the {first}th on. Not in the grid: pipes of fewer than five packets, and queues of less than half a packet. ECN is absent, agreed in vain (the queue does not mark), or used. Figures one-… are all queues at 40 ms beside one neighbour without other loss, figures bbr-… the same with BBR (version 1, as in Linux) or BBR 3 as the neighbour's congestion control. Figures alone-… are the gain: no neighbour, 1 % of random loss. The rule of carry was chosen with other seeds."
runs = {runs}
first_seed = 5001
scenario = "neighbours-path.toml"
y = [
  { metric = "throughput_bps", of = "others", compare = "ratio", label = "neighbours" },
  { metric = "queue_drops", compare = "ratio", label = "queue drops" },
  { metric = "throughput_bps", of = "sum", compare = "ratio", label = "all flows" },
  { metric = "throughput_bps", compare = "ratio", label = "own" },
]

[quick]
runs = 4
figures = ["one-no-ecn", "one-ecn-in-vain", "one-ecn-used", "bbr-no-ecn", "bbr-ecn-in-vain", "bbr-ecn-used", "alone-ecn-in-vain", "alone-ecn-used"]

[[arm]]
name = "plain"
label = "plain"
set = { "flow.0.aid" = "none" }

[[arm]]
name = "carry"
label = "carry"
set = { "flow.0.aid" = "carry" }
against = "plain"

[[arm]]
name = "keeps-reductions"
label = "carry that undoes nothing"
set = { "flow.0.aid" = { name = "carry", undo_losses = false } }
against = "plain"
"#;

/// Runs per point.
const RUNS: u32 = 10;

#[derive(Clone, Copy, PartialEq)]
enum Queue {
    /// Length in BDP.
    DropTail(f64),
    Red,
    Codel,
    /// Drop-tail of one BDP that marks from a quarter of it on.
    Threshold,
}

#[derive(Clone, Copy, PartialEq)]
enum Ecn {
    Absent,
    InVain,
    Used,
}

#[derive(Clone, Copy)]
struct Point {
    loss: f64,
    rtt_ms: u64,
    rate_mbps: u64,
    neighbours: u32,
    growth: &'static str,
}

impl Point {
    /// Packets of 1500 bytes in a round trip of propagation.
    fn bdp(self) -> f64 {
        (self.rate_mbps * self.rtt_ms) as f64 / 12.0
    }

    fn exists_with(self, queue: Queue) -> bool {
        let bdp = self.bdp();
        bdp >= MIN_BDP
            && match queue {
                Queue::DropTail(length) => (bdp * length).round() >= 1.0,
                _ => true,
            }
    }

    fn name(self) -> String {
        let Self { loss, rtt_ms, rate_mbps, neighbours, growth } = self;
        let growth = match growth {
            "cubic" => "CUBIC",
            "reno" => "Reno",
            "bbr" => "BBR",
            _ => "BBR 3",
        };
        let loss = if loss > 0.0 { format!(", {} % loss", loss * 100.0) } else { String::new() };
        format!("{rate_mbps} Mbit/s, {rtt_ms} ms{loss}, {neighbours} {growth}")
    }

    fn settings(self, queue: Queue, ecn: Ecn) -> String {
        let Self { neighbours, growth, .. } = self;
        format!(
            "{}, \"flow.1.copies\" = {neighbours}, \"flow.1.tcp.growth\" = \"{growth}\"",
            self.link_settings(queue, ecn)
        )
    }

    fn link_settings(self, queue: Queue, ecn: Ecn) -> String {
        let Self { loss, rtt_ms, rate_mbps, .. } = self;
        let one_way_us = rtt_ms * 1000 / 2;
        let upper_us = one_way_us + 12_000 / rate_mbps;
        format!(
            "\"network.link.rate\" = \"{rate_mbps} Mbit/s\", \
             \"network.link.delay\" = {{ uniform = [\"{one_way_us} us\", \"{upper_us} us\"] }}, \
             \"network.link.packet_error_rate\" = {loss:?}, \
             \"network.link.queue\" = {}",
            queue.table(self.bdp(), ecn)
        )
    }
}

impl Queue {
    fn name(self) -> String {
        match self {
            Self::DropTail(length) => format!("{length} BDP"),
            Self::Red => "RED".to_owned(),
            Self::Codel => "CoDel".to_owned(),
            Self::Threshold => "threshold".to_owned(),
        }
    }

    /// Its table in a scenario, at a path of `bdp` packets.
    fn table(self, bdp: f64, ecn: Ecn) -> String {
        let packets = |length: f64, least: f64| (bdp * length).round().max(least);
        let marks = ecn == Ecn::Used;
        match self {
            Self::DropTail(length) => format!("{{ packets = {} }}", packets(length, 1.0)),
            // Floyd & Jacobson 1993 §V: a maximum of at least twice the minimum.
            Self::Red => format!(
                "{{ packets = {}, discipline = \"red\", min_threshold = {:.1}, max_threshold = {:.1}, ecn = {marks} }}",
                packets(1.0, 12.0),
                packets(1.0, 12.0) / 6.0,
                packets(1.0, 12.0) / 2.0,
            ),
            Self::Codel => format!(
                "{{ packets = {}, discipline = \"codel\", ecn = {marks} }}",
                packets(4.0, 50.0)
            ),
            Self::Threshold => format!(
                "{{ packets = {}, ecn_threshold = {} }}",
                packets(1.0, 8.0),
                packets(0.25, 2.0)
            ),
        }
    }
}

impl Ecn {
    fn name(self) -> &'static str {
        match self {
            Self::Absent => "no ECN",
            Self::InVain => "ECN in vain",
            Self::Used => "ECN used",
        }
    }

    fn settings(self) -> String {
        let agreed = self != Self::Absent;
        format!("\"flow.*.tcp.ecn\" = {agreed}")
    }
}

/// The queues, each with the uses of ECN that it permits.
fn combinations() -> Vec<(Queue, Ecn)> {
    let drop_tail = DROP_TAIL_BDP.map(Queue::DropTail);
    let mut all: Vec<_> =
        drop_tail.iter().flat_map(|q| [(*q, Ecn::Absent), (*q, Ecn::InVain)]).collect();
    for queue in [Queue::Red, Queue::Codel] {
        all.extend([(queue, Ecn::Absent), (queue, Ecn::InVain), (queue, Ecn::Used)]);
    }
    all.push((Queue::Threshold, Ecn::Used));
    all
}

fn grid() -> Vec<(Queue, Ecn, Point)> {
    let mut all = Vec::new();
    for (queue, ecn) in combinations() {
        for loss in LOSSES {
            for rtt_ms in RTTS_MS {
                for rate_mbps in RATES_MBPS {
                    for neighbours in NEIGHBOURS {
                        for growth in GROWTHS {
                            let point = Point { loss, rtt_ms, rate_mbps, neighbours, growth };
                            if point.exists_with(queue) {
                                all.push((queue, ecn, point));
                            }
                        }
                    }
                }
            }
        }
    }
    all
}

fn figure(id: &str, title: &str, more: &str, points: &[(String, String)]) -> String {
    let mut text = format!("\n[[figure]]\nid = \"{id}\"\ntitle = \"{title}\"\n{more}");

    text += "x = { label = \"network\", points = [\n";
    for (number, (name, set)) in points.iter().enumerate() {
        let at = number + 1;
        let _ = writeln!(text, "  {{ at = {at}, name = \"{name}\", set = {{ {set} }} }},");
    }
    text + "] }\n"
}

/// All queues with this use of ECN at 40 ms, beside one neighbour without other loss.
fn one_neighbour(growths: [&'static str; 2], id: &str, who: &str, ecn: Ecn) -> String {
    let mut points = Vec::new();
    for (queue, _) in combinations().iter().filter(|(_, of)| *of == ecn) {
        for rate_mbps in [10, 40] {
            for growth in growths {
                let point = Point { loss: 0.0, rtt_ms: 40, rate_mbps, neighbours: 1, growth };
                let name = format!("{}, {}", queue.name(), point.name());
                points.push((name, point.settings(*queue, ecn)));
            }
        }
    }
    let id = format!("{id}-{}", ecn.name().to_lowercase().replace(' ', "-"));
    let set = format!("set = {{ {} }}\n", ecn.settings());
    figure(&id, &format!("{who}, 40 ms, {}", ecn.name()), &set, &points)
}

fn study() -> String {
    let grid = grid();
    let first = STRIDE / 2;
    let mut text = HEAD.to_owned();
    for (name, value) in [
        ("{stride}", STRIDE.to_string()),
        ("{all}", grid.len().to_string()),
        ("{first}", first.to_string()),
        ("{runs}", RUNS.to_string()),
    ] {
        text = text.replace(name, &value);
    }
    let chosen: Vec<_> = grid.iter().skip(first - 1).step_by(STRIDE).collect();
    let slug = |queue: Queue, ecn: Ecn| {
        let words = format!("{} {}", queue.name(), ecn.name()).to_lowercase();
        words.replace(' ', "-")
    };
    let of_queue = |queue: Queue, ecn: Ecn| format!("{}, {}", queue.name(), ecn.name());

    for (queue, ecn) in combinations() {
        let own = chosen.iter().filter(|(q, e, _)| (*q, *e) == (queue, ecn));
        let points: Vec<_> =
            own.map(|(_, _, point)| (point.name(), point.settings(queue, ecn))).collect();
        let id = format!("f-{}", slug(queue, ecn));
        let set = format!("arms = [\"plain\", \"carry\"]\nset = {{ {} }}\n", ecn.settings());
        text += &figure(&id, &of_queue(queue, ecn), &set, &points);
    }

    for (growths, id, who) in
        [(GROWTHS, "one", "one neighbour"), (MODELS, "bbr", "one neighbour with BBR")]
    {
        for ecn in [Ecn::Absent, Ecn::InVain, Ecn::Used] {
            text += &one_neighbour(growths, id, who, ecn);
        }
    }
    for ecn in [Ecn::InVain, Ecn::Used] {
        let mut points = Vec::new();
        for (queue, _) in combinations().iter().filter(|(_, of)| *of == ecn) {
            if matches!(queue, Queue::DropTail(length) if *length < 1.0) {
                continue;
            }
            for rate_mbps in [10, 40] {
                let point =
                    Point { loss: 0.01, rtt_ms: 40, rate_mbps, neighbours: 1, growth: "cubic" };
                let name = format!("{}, {rate_mbps} Mbit/s", queue.name());
                points.push((name, point.link_settings(*queue, ecn)));
            }
        }
        let id = format!("alone-{}", ecn.name().to_lowercase().replace(' ', "-"));
        let title = format!("the gain: no neighbour, 40 ms, 1 % loss, {}", ecn.name());
        let more = format!(
            "arms = [\"plain\", \"carry\"]\nset = {{ flow = 1, {} }}\n\
             y = [\n  {{ metric = \"throughput_bps\", compare = \"ratio\", label = \"own\" }},\n  \
             {{ metric = \"queue_drops\", compare = \"ratio\", label = \"queue drops\" }},\n]\n",
            ecn.settings()
        );
        text += &figure(&id, &title, &more, &points);
    }
    text
}

#[test]
fn the_points_are_those_of_the_rule() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/neighbours.toml");
    let study = study();
    if std::env::var_os("DRIFTWAY_BLESS").is_some() {
        std::fs::write(&path, &study).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == study, "studies/neighbours.toml differs; DRIFTWAY_BLESS=1 writes it");
    let plan = plan(Source::from_file(&path).unwrap()).unwrap();
    assert_eq!(plan.study.first_seed, 5001, "the rule was chosen with seeds below");
    let jobs: Vec<_> = plan.jobs.iter().map(|job| job.scenario.flows.len()).collect();
    assert!(jobs.contains(&21) && jobs.contains(&1));
}
