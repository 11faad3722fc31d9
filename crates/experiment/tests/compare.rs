//! `studies/compare.toml` and its traces are written from the grid and the rule below: of each kind of networks some points
//! are drawn, so that all values of a factor are taken equally often.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use driftway_base::RandomStream;
use driftway_experiment::study::plan::plan;
use driftway_experiment::study::source::Source;

const RATES_KBPS: [u64; 7] = [32, 256, 1000, 4000, 10_000, 40_000, 100_000];
const RTTS_MS: [u64; 5] = [5, 40, 100, 300, 600];
const LOSSES: [f64; 4] = [0.0, 0.001, 0.01, 0.03];
const OUTAGES_S: [f64; 4] = [0.5, 4.0, 15.0, 60.0];

/// Bits that a link could carry in a run: longer runs take too much time.
const BITS_MAX: f64 = 5e9;

/// Kinds of networks: name, title, kind of outage, losses or none, points taken.
const KINDS: [(&str, &str, Option<Notice>, bool, usize); 6] = [
    ("clean", "Neither losses nor outages", None, false, 4),
    ("losses", "Random losses, no outages", None, true, 5),
    ("icmp", "Outages that a router reports by ICMP", Some(Notice::Icmp), true, 4),
    ("link", "Outages of the host's own link, which it notices", Some(Notice::Link), true, 4),
    ("rfn", "Outages that routers report by RFN and RRN", Some(Notice::Rfn), true, 3),
    ("silent", "Outages that nobody reports", Some(Notice::Silent), true, 5),
];

#[derive(Clone, Copy, PartialEq)]
enum Notice {
    Icmp,
    Link,
    Rfn,
    Silent,
}

#[derive(Clone, Copy)]
struct Point {
    loss: f64,
    rtt_ms: u64,
    rate_kbps: u64,
    outage_s: Option<f64>,
    is_short: bool,
    has_neighbour: bool,
    /// Absent, agreed in vain, used.
    ecn: &'static str,
}

/// Values in random order, all of them before any comes again.
struct Deck {
    count: u64,
    rest: Vec<u64>,
    random: RandomStream,
}

impl Deck {
    fn new(factor: &str, count: usize) -> Self {
        Self { count: count as u64, rest: Vec::new(), random: RandomStream::new(1, factor, 0) }
    }

    fn draw(&mut self) -> usize {
        if self.rest.is_empty() {
            self.rest = (0..self.count).collect();
        }
        let at = self.random.uniform_below(self.rest.len() as u64) as usize;
        self.rest.remove(at) as usize
    }
}

/// A deck for each factor.
struct Decks([Deck; 7]);

impl Decks {
    fn new() -> Self {
        Self([
            Deck::new("rate", RATES_KBPS.len()),
            Deck::new("round trip", RTTS_MS.len()),
            Deck::new("loss", LOSSES.len()),
            Deck::new("outage", OUTAGES_S.len()),
            Deck::new("short", 2),
            Deck::new("neighbour", 2),
            Deck::new("ecn", 3),
        ])
    }

    /// A point of a kind of networks; those that take too long are left out.
    fn point(&mut self, notice: Option<Notice>, with_losses: bool) -> Point {
        loop {
            let [rate, rtt, loss, outage, short, neighbour, ecn] =
                self.0.each_mut().map(|deck| deck.draw());
            let loss = match (notice, with_losses) {
                (Some(_), _) => LOSSES[loss],
                (None, true) => LOSSES[loss.max(1)],
                (None, false) => 0.0,
            };
            let point = Point {
                loss,
                rtt_ms: RTTS_MS[rtt],
                rate_kbps: RATES_KBPS[rate],
                outage_s: notice.map(|_| OUTAGES_S[outage]),
                is_short: short == 1,
                has_neighbour: neighbour == 1,
                ecn: ["no", "vain", "used"][ecn],
            };
            if point.bits() <= BITS_MAX {
                return point;
            }
        }
    }
}

impl Point {
    /// Three outages, each followed by as long and 10 s without; slow links have five minutes, fast ones 20 s without outages.
    fn duration_s(self) -> f64 {
        match (self.outage_s, self.rate_kbps) {
            (None, ..1000) => 300.0,
            (None, ..40_000) => 40.0,
            (None, _) => 20.0,
            (Some(lasts), rate) => {
                let outages = 5.0 + 3.0 * (2.0 * lasts + 10.0);
                if rate < 1000 { outages.max(300.0) } else { outages }
            }
        }
    }

    fn bits(self) -> f64 {
        self.duration_s() * self.rate_kbps as f64 * 1000.0
    }

    /// Packets of 1500 bytes in a round trip of propagation.
    fn bdp(self) -> f64 {
        (self.rate_kbps * self.rtt_ms) as f64 / 12_000.0
    }

    fn name(self, kind: &str) -> String {
        let Self { rtt_ms, rate_kbps, loss, .. } = self;
        let rate = match rate_kbps {
            below if below < 1000 => format!("{below}k"),
            other => format!("{}M", other / 1000),
        };
        let mut name = format!("{kind}-");
        if let Some(lasts) = self.outage_s {
            let _ = write!(name, "{lasts}s-");
        }
        let _ = write!(name, "{rate}-{rtt_ms}ms");
        if loss > 0.0 {
            let _ = write!(name, "-{}pct", loss * 100.0);
        }
        name += if self.is_short { "-short" } else { "-bulk" };
        if self.has_neighbour {
            name += "-beside";
        }
        match self.ecn {
            "no" => name,
            ecn => name + "-ecn-" + ecn,
        }
    }

    fn settings(self, notice: Option<Notice>) -> String {
        let Self { rtt_ms, rate_kbps, loss, .. } = self;
        let one_way_us = rtt_ms * 1000 / 2 - 500;
        let upper_us = one_way_us + 12_000_000 / rate_kbps;
        let packets = self.bdp().round().max(10.0);
        let mark = match self.ecn {
            "used" => format!(", ecn_threshold = {}", (packets / 4.0).round().max(2.0)),
            _ => String::new(),
        };
        let mut set = format!(
            "duration = \"{} s\", \"network.link.rate\" = \"{rate_kbps} kbit/s\", \
             \"network.link.delay\" = {{ uniform = [\"{one_way_us} us\", \"{upper_us} us\"] }}, \
             \"network.link.packet_error_rate\" = {loss:?}, \
             \"network.link.queue\" = {{ packets = {packets}{mark} }}, \"flow.*.tcp.ecn\" = {}",
            self.duration_s(),
            self.ecn != "no",
        );
        if !self.has_neighbour {
            set += ", flow = 1";
        }
        if self.is_short {
            set +=
                ", \"flow.0.application\" = { transfer = \"200 kB\" }, \"flow.0.start\" = \"5 s\"";
        }
        if let (Some(notice), Some(lasts)) = (notice, self.outage_s) {
            let _ = write!(set, ", \"network.fault\" = [{}]", self.fault(notice, lasts));
        }
        set
    }

    /// The first outage begins within two seconds from 5 s on, so that it hits a short flow.
    fn fault(self, notice: Notice, lasts: f64) -> String {
        let (hop, how) = match notice {
            Notice::Icmp => (2, "kind = \"partition\", signal = \"icmp-unreachable\""),
            Notice::Rfn => (2, "kind = \"partition\", signal = \"rfn\""),
            Notice::Link => (1, "kind = \"partition\", signal = \"link\", lead = \"500 ms\""),
            Notice::Silent => (2, "kind = \"outage\""),
        };
        let every = 2.0 * lasts + 10.0;
        format!(
            "{{ {how}, hop = {hop}, first = \"5 s\", every = \"{every} s\", jitter = \"2 s\", lasts = \"{lasts} s\" }}"
        )
    }
}

const HEAD: &str = r#"# The networks of `driftway compare`. Written by `DRIFTWAY_BLESS=1 cargo test -p driftway-experiment --test compare`,
# which has the grid and the rule, and which writes the traces as well.

title = "What helps on which network"
note = "{taken} points of a grid (rate 32 kbit/s to 100 Mbit/s, round trip 5 to 600 ms, loss 0 to 3 %, outages of 0.5 to 60 s, bulk or 200 kB, alone or beside a plain flow of Linux's TCP, ECN absent, agreed in vain, or used: 420 points without losses and outages, 1260 with losses, 6720 for each kind of outage), drawn so that all values of a factor are taken equally often, but for runs of over 5 Gbit. Besides them two directions of a cellular link and a train with tunnels (both generated, in the form of logs), a satellite, handoffs, testbeds of three papers, ad hoc networks, and five simple networks. A name has the outage's length, rate, round trip, loss."
runs = 8
first_seed = 2001
y = [{ metric = "throughput_bps", label = "throughput" }]

[quick]
runs = 6
figures = ["simple-losses", "simple-icmp", "simple-silent", "simple-link", "simple-beside"]
"#;

/// Networks that are not of the grid: kind, title, points of (name, scenario, settings).
const OTHERS: &str = r#"
[[figure]]
id = "logs"
title = "Links that vary"
scenario = "compare-drive.toml"
x = { label = "network", points = [
  { at = 1, name = "drive-up", set = {} },
  { at = 2, name = "drive-down", set = { "flow.0.from" = 2, "flow.0.to" = 0 } },
] }

[[figure]]
id = "tunnels"
title = "A train with tunnels"
scenario = "compare-train.toml"
x = { label = "network", points = [{ at = 1, name = "train", set = {} }] }

[[figure]]
id = "satellite"
title = "A satellite link whose path changes every 15 s"
scenario = "compare-path.toml"
x = { label = "network", points = [
  { at = 1, name = "satellite", set = { "network.link.rate" = "20 Mbit/s", "network.link.delay" = { steps = ["22 ms", "35 ms", "28 ms"], every = "15 s" }, "network.link.queue" = { packets = 100 }, "network.link.packet_error_rate" = 0.002, "network.fault" = [{ kind = "outage", hop = 1, first = "15 s", every = "15 s", lasts = { uniform = ["50 ms", "400 ms"] } }], flow = 1 } },
] }

[[figure]]
id = "handoffs"
title = "Handoffs between base stations"
scenario = "compare-handoff.toml"
x = { label = "network", points = [
  { at = 1, name = "handoff-up", set = {} },
  { at = 2, name = "handoff-down", set = { "flow.0.from" = "server", "flow.0.to" = "mobile" } },
] }

[[figure]]
id = "testbeds"
title = "Testbeds of the papers"
scenario = "compare-path.toml"
set = { flow = 1 }
x = { label = "network", points = [
  { at = 1, name = "liu-singh-losses", set = { duration = "6000 s", "flow.0.to" = 4, "flow.0.application" = { transfer = "1 MB" }, "flow.0.tcp.mss" = "100 B", "flow.0.tcp.window" = "16 kB", "flow.0.tcp.ecn" = true, network = { kind = "path", hops = 4, link = { rate = "32 kbit/s", delay = { mean = "50 ms", spread = 0.5 }, bit_error_rate = 1e-5, queue = { packets = 300 }, duplex = "shared" } } } },
  { at = 2, name = "liu-singh-partitions", set = { duration = "3000 s", "flow.0.to" = 4, "flow.0.tcp.mss" = "512 B", "flow.0.tcp.window" = "16 kB", network = { kind = "path", hops = 4, link = { rate = "32 kbit/s", delay = { mean = "50 ms", spread = 0.5 }, queue = { packets = 300 } }, fault = [{ kind = "partition", hop = 2, every = "300 s", jitter = "30 s", lasts = "60 s", signal = "icmp-unreachable" }] } } },
  { at = 3, name = "chandran-route-failures", set = { duration = "200 s", "flow.0.to" = 10, "flow.0.tcp.mss" = "160 B", "flow.0.tcp.window" = 20, network = { kind = "path", hops = 10, link = { rate = "12.8 kbit/s", delay = { uniform = ["0 s", "1 ms"] }, queue = { packets = 50 } }, fault = [{ kind = "partition", hop = "random", first = "10 s", every = "20 s", lasts = "2 s", queue = "drop", signal = "rfn" }] } } },
  { at = 4, name = "singh-iyer-disconnections", set = { duration = "100 s", "flow.0.to" = 3, "flow.0.tcp.mss" = "1000 B", "flow.0.tcp.window" = 20, network = { kind = "path", hops = 3, link = { rate = "10 Mbit/s", delay = { uniform = ["0.75 ms", "1 ms"] }, queue = { packets = 100 } }, fault = [{ kind = "partition", hop = 1, every = "10 s", jitter = "1 s", lasts = "4 s", queue = "drop", signal = "link" }] } } },
] }

[[figure]]
id = "adhoc"
title = "Ad hoc networks whose nodes move"
scenario = "compare-adhoc.toml"
x = { label = "network", points = [
  { at = 1, name = "adhoc-aodv", set = {} },
  { at = 2, name = "adhoc-dsr", set = { "network.routing" = { protocol = "dsr" } } },
] }

[[figure]]
id = "simple-losses"
title = "One packet in a hundred lost, before a queue that marks (ECN)"
scenario = "compare-path.toml"
x = { label = "network", points = [
  { at = 1, name = "simple-losses", set = { duration = "30 s", flow = 1, "network.link.rate" = "4 Mbit/s", "network.link.packet_error_rate" = 0.01, "network.link.queue" = { packets = 14, ecn_threshold = 4 }, "flow.*.tcp.ecn" = true } },
] }

[[figure]]
id = "simple-icmp"
title = "Outages of 4 s that a router reports"
scenario = "compare-path.toml"
x = { label = "network", points = [
  { at = 1, name = "simple-icmp", set = { duration = "50 s", flow = 1, "network.link.rate" = "2 Mbit/s", "network.fault" = [{ kind = "partition", hop = 2, first = "5 s", every = "18 s", jitter = "2 s", lasts = "4 s", signal = "icmp-unreachable" }] } },
] }

[[figure]]
id = "simple-silent"
title = "Outages of 4 s that nobody reports"
scenario = "compare-path.toml"
x = { label = "network", points = [
  { at = 1, name = "simple-silent", set = { duration = "50 s", flow = 1, "network.link.rate" = "2 Mbit/s", "network.fault" = [{ kind = "outage", hop = 2, first = "5 s", every = "18 s", jitter = "2 s", lasts = "4 s" }] } },
] }

[[figure]]
id = "simple-link"
title = "Outages of 4 s of the host's own link"
scenario = "compare-path.toml"
x = { label = "network", points = [
  { at = 1, name = "simple-link", set = { duration = "50 s", flow = 1, "network.link.rate" = "2 Mbit/s", "network.fault" = [{ kind = "partition", hop = 1, first = "5 s", every = "18 s", jitter = "2 s", lasts = "4 s", signal = "link", lead = "500 ms" }] } },
] }

[[figure]]
id = "simple-beside"
title = "Rare losses beside a plain flow"
scenario = "compare-path.toml"
x = { label = "network", points = [
  { at = 1, name = "simple-beside", set = { duration = "30 s", "network.link.rate" = "4 Mbit/s", "network.link.packet_error_rate" = 0.003 } },
] }
"#;

fn study() -> String {
    let (mut figures, mut taken, mut decks) = (String::new(), 0, Decks::new());
    for (id, title, notice, with_losses, count) in KINDS {
        taken += count;
        let _ = write!(
            figures,
            "\n[[figure]]\nid = \"{id}\"\ntitle = \"{title}\"\nscenario = \"compare-path.toml\"\n\
             x = {{ label = \"network\", points = [\n"
        );
        for at in 1..=count {
            let point = decks.point(notice, with_losses);
            let (name, set) = (point.name(id), point.settings(notice));
            let _ = writeln!(figures, "  {{ at = {at}, name = \"{name}\", set = {{ {set} }} }},");
        }
        figures += "] }\n";
    }
    HEAD.replace("{taken}", &taken.to_string()) + &figures + OTHERS
}

/// Opportunities to send 1500 bytes: a rate that changes every half second by up to a third, between 0.15 and 3 Mbit/s,
/// and pauses of 1.1, 8 and 3 s.
fn opportunities(purpose: &str, start_kbps: f64) -> String {
    let mut random = RandomStream::new(1, purpose, 0);
    let pauses = [(31_000, 32_100), (58_000, 66_000), (95_000, 98_000)];
    let (mut text, mut rate, mut credit) = (String::new(), start_kbps, 0.0);
    for ms in 1..=120_000_u32 {
        if ms % 500 == 0 {
            rate = (rate * (0.75 + 0.6 * random.uniform_f64())).clamp(150.0, 3000.0);
        }
        if pauses.iter().any(|(from, to)| (*from..*to).contains(&ms)) {
            continue;
        }
        credit += rate / 12_000.0;
        while credit >= 1.0 {
            let _ = writeln!(text, "{ms}");
            credit -= 1.0;
        }
    }
    text
}

/// A log of a train's link, a row for each second.
fn train() -> String {
    let mut random = RandomStream::new(1, "train", 0);
    let mut text = "time_s,rate_bps,delay_s,packet_error_rate\n".to_owned();
    for second in 0..180 {
        let rate = 1_000_000 + random.uniform_below(7_000_000);
        let delay_ms = 25 + random.uniform_below(40);
        let loss = if random.uniform_below(5) == 0 { 0.02 } else { 0.001 };
        let _ = writeln!(text, "{second},{rate},0.{delay_ms:03},{loss}");
    }
    text
}

fn files() -> Vec<(&'static str, String)> {
    vec![
        ("compare.toml", study()),
        ("compare-drive.up", opportunities("up", 800.0)),
        ("compare-drive.down", opportunities("down", 2000.0)),
        ("compare-train.csv", train()),
        ("compare-tunnels.csv", "start,end\n20.5,23\n61,68.2\n110,111.1\n140,152\n".to_owned()),
    ]
}

fn studies() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies")
}

#[test]
fn the_networks_are_those_of_the_rule() {
    for (name, text) in files() {
        let path = studies().join(name);
        if std::env::var_os("DRIFTWAY_BLESS").is_some() {
            fs::write(&path, &text).unwrap();
        }
        let written = fs::read_to_string(&path).unwrap_or_default();
        assert!(written == text, "studies/{name} differs; DRIFTWAY_BLESS=1 writes it");
    }
    let plan = plan(Source::from_file(&studies().join("compare.toml")).unwrap()).unwrap();
    let points = plan.figures.iter().flat_map(|figure| &figure.points);
    let mut names: Vec<_> = points.map(|point| point.title().to_owned()).collect();
    let count = names.len();
    assert!(count > 35, "{count}");
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count, "a name stands twice");
}
