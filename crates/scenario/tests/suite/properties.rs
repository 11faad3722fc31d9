//! Properties that hold for any input.

use driftway_base::{Duration, Rate};
use driftway_scenario::{BitRate, Scenario, Size, Time, flatten, quantity};
use proptest::prelude::*;

const FULL: &str = r#"name = "everything"
description = "each kind of thing once"
duration = "1000 s"

[network]
kind = "path"
hops = 5

[network.link]
rate = "1 Mbit/s"
delay = "5 ms"

[[network.override]]
hop = 2
packet_error_rate = 0.01

[[network.parallel]]
from = 1
to = 3
hops = 3
order = "free"

[[network.fault]]
kind = "partition"
hop = 2
every = "100 s"
lasts = "10 s"

[[network.fault]]
kind = "congestion"
hop = 2
first = "10 s"
lasts = "10 s"

[[network.fault]]
kind = "reordering"
hop = 3
every = "25 s"

[[network.fault]]
kind = "interference"
hop = "intermediate"
every = "125 ms"

[[network.fault]]
kind = "change"
hop = 2
after = "partition"
rate = ["1 Mbit/s", "2 Mbit/s"]
delay = ["1 ms", { mean = "5 ms", spread = 0.1 }]

[[flow]]
from = 0
to = 5
application = { transfer = "1 MB" }
aid = "atcp"

[[flow]]
from = 5
to = 1
application = { cbr = { every = "0.25 s", size = "512 B" } }
transport = "udp"

[[reference]]
source = "a paper"
metric = "completion_s"
x = "network.link.rate"
points = [["1 Mbit/s", 3], [2, 4.5]]
"#;

/// Overrides of keys of [`FULL`], nearly all valid.
fn overrides() -> impl Strategy<Value = Vec<(String, String)>> {
    let time = || (1..10_000_000_000_u64).prop_map(|n| Time(Duration::from_nanos(n)).to_string());
    let rate = || (1..u64::MAX).prop_map(|n| BitRate(Rate::from_bps(n)).to_string());
    let size = || (1460..65_000_u64).prop_map(|n| Size(n).to_string());
    let ratio = || (0.0..=1.0_f64).prop_map(|x| format!("{x:?}"));
    let count = || (1..5_u32).prop_map(|n| n.to_string());
    let yes = || any::<bool>().prop_map(|yes| yes.to_string());
    let word = |words: &'static [&'static str]| {
        prop::sample::select(words).prop_map(|word| word.to_owned())
    };
    let one = prop_oneof![
        (Just("name"), "[a-z \\\\\"'\n\u{7f}#ü]{1,12}.".prop_map(|s| format!("{s:?}"))),
        (Just("network.link.rate"), rate()),
        (Just("network.link.delay"), time()),
        (
            Just("network.link.delay"),
            (time(), ratio()).prop_map(|(t, x)| { format!("{{ mean = \"{t}\", spread = {x} }}") })
        ),
        (
            Just("network.link.delay"),
            time().prop_map(|t| { format!("{{ uniform = [\"0 s\", \"{t}\"] }}") })
        ),
        (Just("network.link.bit_error_rate"), ratio()),
        (Just("network.link.mark_loss"), ratio()),
        (Just("network.link.duplex"), word(&["full", "shared", "per-packet"])),
        (Just("network.link.order"), word(&["full", "free", "fifo"])),
        (Just("network.link.queue.packets"), (20..100_u32).prop_map(|n| n.to_string())),
        (Just("network.link.queue.ecn_threshold"), count()),
        (
            Just("network.override.0.queue.discipline"),
            word(&["red", "drop-tail", "codel", "fq-codel"])
        ),
        (Just("network.override.0.queue.weight"), ratio()),
        (Just("network.override.0.hop"), count()),
        (Just("network.parallel.0.rate"), rate()),
        (Just("network.multipath"), word(&["round-robin", "random"])),
        (Just("network.fault.0.hop"), word(&["random", "2"])),
        (Just("network.fault.0.count"), count()),
        (Just("network.fault.0.queue"), word(&["wait", "drop"])),
        (Just("network.fault.0.signal_loss"), ratio()),
        (Just("network.fault.1.every"), word(&["11 s", "1 min"])),
        (Just("network.fault.1.rate"), rate()),
        (Just("network.fault.1.marks"), yes()),
        (Just("network.fault.2.packets"), count()),
        (Just("network.fault.2.how"), word(&["front", "reverse"])),
        (
            Just("network.fault.2"),
            time().prop_map(|t| {
                let more = "kind = \"reordering\", hop = 3, every = \"25 s\", how = \"reverse\"";
                format!("{{ {more}, at_most = \"{t}\" }}")
            })
        ),
        (Just("network.fault.3.direction"), word(&["forward", "backward", "both"])),
        (Just("network.fault.3.spacing"), word(&["constant", "poisson"])),
        (Just("network.fault.3.hop"), count()),
        (Just("flow.*.start"), time()),
        (Just("flow.0.application"), word(&["ftp", "{ transfer = \"7 B\" }"])),
        (Just("flow.0.back"), word(&["ftp", "{ transfer = \"7 B\" }"])),
        (Just("flow.0.receiver_aid"), word(&["none", "atcp"])),
        (Just("flow.0.aid.backoff"), yes()),
        (Just("flow.0.aid.resend"), word(&["first", "all"])),
        (Just("flow.0.aid.congested_until"), word(&["segment", "new-data"])),
        (Just("flow.0.aid.tick_phase"), time()),
        (Just("flow.0.tcp.max_retries"), count()),
        (Just("flow.0.tcp.msl"), time()),
        (Just("flow.0.tcp.persist_max"), word(&["1 s", "1 min"])),
        (Just("flow.0.tcp"), word(&["linux", "reno-bsd", "{ mss = \"99 B\" }"])),
        (Just("flow.0.tcp.preset"), word(&["tahoe-1988", "newreno", "sack", "linux"])),
        (Just("flow.0.tcp.recovery"), word(&["tahoe", "reno", "newreno", "sack", "rack-tlp"])),
        (Just("flow.0.tcp.growth"), word(&["reno", "cubic"])),
        (Just("flow.0.tcp.window"), prop_oneof![size(), count()]),
        (Just("flow.0.tcp.tick"), time()),
        (Just("flow.0.tcp.tick.phase"), word(&["random", "0 s", "1 ns"])),
        (Just("flow.0.tcp.keep_alive"), time()),
        (Just("flow.0.tcp.delayed_ack"), yes()),
        (Just("flow.0.tcp.limited_transmit"), yes()),
        (Just("flow.0.tcp.window_validation"), yes()),
        (Just("flow.0.tcp.window_scale"), yes()),
        (Just("reference.0.label"), word(&["a line"])),
    ];
    let one = one.prop_map(|(key, value): (&str, String)| (key.to_owned(), value));
    prop::collection::vec(one, 0..12)
}

#[test]
fn the_full_scenario_is_valid() {
    let scenario = Scenario::parse("full", FULL, &[]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scenario.flows.len(), 2);
}

proptest! {
    #[test]
    fn any_text_is_accepted_or_rejected(text in any::<String>()) {
        let _ = Scenario::parse("any", &text, &[]);
        let _ = quantity(&text);
    }

    #[test]
    fn toml_like_text_is_accepted_or_rejected(text in "([\\[\\]{}=.,\"'a-c0-9eE+:_ \n#-]|nan|inf|'''){0,60}") {
        let _ = Scenario::parse("any", &text, &[]);
    }

    #[test]
    fn modified_scenarios_are_accepted_or_rejected(
        at in 0..FULL.len(),
        cut in 0..40_usize,
        put in "[\\[\\]{}=.,\"'a-z0-9 \n#üé-]{0,20}",
    ) {
        let (at, end) = (floor(at), floor((at + cut).min(FULL.len())));
        let text = format!("{}{put}{}", &FULL[..at], &FULL[end.max(at)..]);
        if let Ok(scenario) = Scenario::parse("any", &text, &[]) {
            let shown = scenario.show();
            prop_assert_eq!(Scenario::parse("shown", &shown, &[]), Ok(scenario));
        }
    }

    #[test]
    fn any_override_is_accepted_or_rejected(key in "[a-z_.*0-9]{0,30}", value in any::<String>()) {
        let overrides = [(key, value)];
        if let Err(error) = Scenario::parse("full", FULL, &overrides) {
            let printed = error.to_string();
            prop_assert!(printed.starts_with("--set ") || printed.starts_with("full:"));
        }
    }

    #[test]
    fn output_round_trips(overrides in overrides()) {
        let read = Scenario::parse("full", FULL, &overrides);
        // proptest fails if four in five inputs are rejected.
        prop_assume!(read.is_ok());
        let scenario = read.unwrap();
        let shown = scenario.show();
        let again = Scenario::parse("shown", &shown, &[]);
        prop_assert_eq!(again.as_ref(), Ok(&scenario), "{}", shown);
        prop_assert_eq!(flatten(&again.unwrap()), flatten(&scenario));
    }

    #[test]
    fn quantities_round_trip(number in 1..u64::MAX) {
        let time = Time(Duration::from_nanos(number));
        prop_assert_eq!(time.to_string().parse(), Ok(time));
        let rate = BitRate(Rate::from_bps(number));
        prop_assert_eq!(rate.to_string().parse(), Ok(rate));
        prop_assert_eq!(Size(number).to_string().parse(), Ok(Size(number)));
    }
}

/// The last character boundary at or before `at`.
fn floor(at: usize) -> usize {
    (0..=at).rev().find(|at| FULL.is_char_boundary(*at)).unwrap_or(0)
}
