//! Flows over measured links.

use std::fs;
use std::path::PathBuf;

use driftway_scenario::Scenario;
use driftway_sim::results::RunResult;

use crate::common::run;

/// A folder with files, which is removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("driftway-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Runs a scenario of one hop with these keys of its link, and one flow.
    fn run(&self, link: &str, more: &str, flow: &str) -> RunResult {
        let text = format!(
            "name = 'a'\nduration = '60 s'\n[network]\nkind = 'path'\nhops = 1\n[network.link]\n{link}\n{more}\n\
             [[flow]]\nfrom = 0\nto = 1\n{flow}\n"
        );
        fs::write(self.0.join("s.toml"), text).unwrap();
        let scenario = Scenario::load(self.0.join("s.toml"), &[]);
        run(&scenario.unwrap_or_else(|error| panic!("{error}")), 1)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// More than any link here carries: 1400 bytes, 1428 with headers, every 0.5 ms.
const FLOOD: &str =
    "transport = 'udp'\napplication = { cbr = { every = '500 us', size = '1400 B' } }";

/// Times of opportunities with bursts, and pauses of up to 12 s, for 50 s.
fn with_pauses() -> Vec<u32> {
    let mut times = Vec::new();
    let mut at = 3;
    while at < 50_000 {
        let burst = 1 + at % 4;
        times.extend(std::iter::repeat_n(at, burst as usize));
        at += match at % 1013 {
            0..=2 => 12_000,
            3..=9 => 700,
            rest => 1 + rest % 7,
        };
    }
    times
}

#[test]
fn a_saturating_flow_gets_every_opportunity() {
    let folder = Folder::new("flood");
    let times = with_pauses();
    assert!(times.windows(2).any(|pair| pair[1] - pair[0] >= 12_000));
    let lines: Vec<String> = times.iter().map(u32::to_string).collect();
    folder.write("x.down", &(lines.join("\n") + "\n"));
    let capacity = times.len() as u64 * 1500;
    // With the second, 120,000 are sent in a pause, and those that have waited through it count as they arrive.
    for every in ["500 us", "100 us"] {
        let link = "rate = { trace = 'x.down' }\ndelay = '0 s'\nqueue = { packets = 100 }";
        let result = folder.run(link, "", &FLOOD.replace("500 us", every));
        let found = result.flows[0].delivered_bytes / 1400 * 1428;
        assert!(capacity - found <= 1428, "{every}: {found} of {capacity} bytes");
        assert_eq!(result.flows[0].duplicates, Some(0), "{every}");
    }
}

#[test]
fn a_constant_trace_is_the_rate_as_a_number() {
    let folder = Folder::new("constant");
    let each: String = (1..=1000).map(|ms| format!("{ms}\n")).collect();
    folder.write("x.down", &each);
    folder.write("x.csv", "time_s,rate_bps\n0,12000000\n7,12000000\n");
    let rates = [
        "rate = '12 Mbit/s'",
        "rate = { trace = 'x.down', repeat = true }",
        "trace = { file = 'x.csv', repeat = true }",
    ];
    let packets = rates.map(|rate| {
        folder.run(&format!("{rate}\ndelay = '10 ms'"), "", FLOOD).flows[0].delivered_packets
    });
    assert!(packets.iter().all(|found| found.abs_diff(packets[0]) <= 1), "{packets:?}");
    for tcp in ["linux", "sack"] {
        let throughput = rates.map(|rate| {
            let link = format!("{rate}\ndelay = '10 ms'\nqueue = {{ packets = 100 }}");
            let flow = format!("application = 'ftp'\ntcp = {{ preset = '{tcp}' }}");
            folder.run(&link, "", &flow).flows[0].throughput_bps.unwrap()
        });
        assert!(
            throughput.iter().all(|found| (found / throughput[0] - 1.0).abs() < 0.01),
            "{tcp}: {throughput:?}"
        );
    }
}

#[test]
fn the_directions_of_a_link_differ() {
    let folder = Folder::new("reverse");
    let both = |reverse: &str| {
        let flow = "application = { transfer = '1 MB' }\nback = { transfer = '1 MB' }";
        let result =
            folder.run(&format!("rate = '4 Mbit/s'\ndelay = '10 ms'\n{reverse}"), "", flow);
        let flow = &result.flows[0];
        (flow.completion_s.unwrap(), flow.back_completion_s.unwrap())
    };
    let (there, back) = both("reverse = { rate = '1 Mbit/s' }");
    assert!(there < 6.0 && back > 8.0, "{there} {back}");
}

#[test]
fn a_period_of_losses_is_exact() {
    let folder = Folder::new("period");
    let flow = "transport = 'udp'\napplication = { cbr = { every = '10 ms', size = '100 B' } }";
    let result = folder.run("rate = '1 Mbit/s'\ndelay = '1 ms'\nloss = { every = 7 }", "", flow);
    let flow = &result.flows[0];
    let lost = flow.sent_packets / 7;
    assert!(flow.sent_packets > 5000);
    // The last packet may be on its way.
    assert!((flow.sent_packets - lost).abs_diff(flow.delivered_packets) <= 1, "{flow:?}");
    assert_eq!(result.drops["bit-error"], lost);
}

#[test]
fn outages_of_a_file_cut_the_hop() {
    let folder = Folder::new("outages");
    folder.write("out.csv", "start,end\n10,20\n30,35\n15,25\n");
    let cut = |fault: &str| {
        let flow = "transport = 'udp'\napplication = { cbr = { every = '10 ms', size = '100 B' } }";
        let more = format!("[[network.fault]]\n{fault}");
        folder.run("rate = '1 Mbit/s'\ndelay = '1 ms'", &more, flow).flows[0].delivered_packets
    };
    for place in ["hop = 1", "node = 0", "node = 1"] {
        let delivered = cut(&format!("kind = 'outage'\nfile = 'out.csv'\n{place}"));
        // 20 s of 60 s are cut.
        assert!(delivered.abs_diff(4000) <= 2, "{place}: {delivered}");
    }
}
