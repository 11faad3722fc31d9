//! Measured links: where their files are found, what is refused, and what a link makes of them.

use std::fs;

use driftway_base::{Duration, Instant, Rate};
use driftway_link::{Capacity, DelayProcess, ErrorModel, LinkDirections};
use driftway_scenario::{Fault, Network, OutagePlace, PartitionQueue, PartitionSignal, Scenario};

/// Files beside the scenario.
const FILES: &[(&str, &str)] = &[
    ("x.down", "1\n2\n4\n"),
    ("x.up", "10\n"),
    (
        "x.csv",
        "time_s,rate_bps,delay_s,packet_error_rate\n0,1e6,0.02,0\n10,0,0.03,0.5\n20,2e6,0.04,0\n",
    ),
    ("delay.csv", "time_s,delay_s\n0,0.02\n"),
    ("out.csv", "start,end\n10,12\n11,15\n20,21\n"),
    ("log.csv", "start,end\n2026-03-01T08:00:10Z,2026-03-01T08:00:12Z\n"),
    ("descending", "5\n4\n"),
    ("empty", ""),
    ("zero.csv", "time_s,rate_bps\n0,0\n1,0\n"),
    ("end.csv", "time_s,rate_bps\n0,0\n1,5\n"),
];

/// Loads a path of two hops with these keys of its link, and more tables.
fn load(name: &str, link: &str, more: &str) -> Result<Scenario, String> {
    let folder = std::env::temp_dir().join(format!("driftway-{}-{name}", std::process::id()));
    fs::create_dir_all(folder.join("traces")).unwrap();
    for (file, content) in FILES {
        fs::write(folder.join("traces").join(file), content).unwrap();
    }
    let text = format!(
        "name = 'a'\nduration = '60 s'\n[network]\nkind = 'path'\nhops = 2\n[network.link]\n{link}\n{more}\n\
         [[flow]]\nfrom = 0\nto = 2\napplication = 'ftp'\n"
    );
    fs::write(folder.join("s.toml"), text).unwrap();
    let scenario = Scenario::load(folder.join("s.toml"), &[]);
    let prefix = format!("{}/", folder.display());
    fs::remove_dir_all(&folder).unwrap();
    scenario.map_err(|error| error.to_string().replace(&prefix, ""))
}

fn link(name: &str, link: &str) -> LinkDirections {
    let scenario = load(name, link, "").unwrap_or_else(|error| panic!("{error}"));
    let Network::Path(path) = &scenario.network else { panic!() };
    path.hop_link(1).config()
}

fn times(capacity: &Capacity) -> (Vec<u32>, bool) {
    let Capacity::Opportunities(trace) = capacity else { panic!("{capacity:?}") };
    (trace.times().to_vec(), trace.repeats())
}

#[test]
fn each_direction_has_its_opportunities() {
    let both = link(
        "down-up",
        "rate = { trace = 'traces/x.down', repeat = true }\ndelay = '20 ms'\n\
         reverse = { rate = { trace = 'traces/x.up' }, delay = '5 ms', burst = { rate = 0.1, mean_length = 2 } }",
    );
    assert_eq!(times(&both.forward.capacity), (vec![1, 2, 4], true));
    assert_eq!(times(&both.backward.capacity), (vec![10], false));
    assert_eq!(both.forward.burst, None);
    assert!(both.backward.burst.is_some_and(|burst| burst.mean_length == 2.0));
    let same = link("same", "rate = { trace = 'traces/x.down' }\ndelay = '20 ms'");
    assert_eq!(same.forward, same.backward);
}

#[test]
fn each_direction_has_its_periodic_losses() {
    let periods = |keys: &str| {
        let both = link("loss", &format!("rate = '1 Mbit/s'\ndelay = '1 ms'\n{keys}"));
        (both.forward.loss_period, both.backward.loss_period)
    };
    assert_eq!(periods(""), (0, 0));
    assert_eq!(periods("loss = { every = 100 }"), (100, 100));
    assert_eq!(periods("loss = { every = 100 }\nreverse = { loss = { every = 0 } }"), (100, 0));
    assert_eq!(periods("reverse = { loss = { every = 7 } }"), (0, 7));
}

#[test]
fn rows_need_no_rate_and_no_delay_beside_them() {
    let both = link(
        "rows",
        "trace = { file = 'traces/x.csv', repeat = true }\nreverse = { rate = '64 kbit/s', packet_error_rate = 0.25 }",
    );
    let rows = both.forward.trace.as_ref().unwrap().rows().clone();
    assert_eq!(rows.rates, [1_000_000, 0, 2_000_000]);
    assert_eq!(rows.delays[1], Duration::from_millis(30));
    // What the direction back says takes the place of the columns.
    let back = both.backward.trace.as_ref().unwrap().rows().clone();
    assert!(back.rates.is_empty() && back.errors.is_empty());
    assert_eq!(back.delays, rows.delays);
    assert_eq!(both.backward.capacity, Capacity::Rate(Rate::from_bps(64_000)));
    assert_eq!(both.backward.errors, ErrorModel::FrameErrorRate(0.25));
}

#[test]
fn an_override_replaces_columns() {
    let scenario = load(
        "override",
        "trace = { file = 'traces/x.csv' }",
        "[[network.override]]\nhop = 2\nrate = '1 Mbit/s'\ndelay = { steps = ['20 ms', '35 ms'], every = '15 s' }",
    );
    let scenario = scenario.unwrap();
    let Network::Path(path) = &scenario.network else { panic!() };
    let second = path.hop_link(2).config().forward;
    assert!(second.trace.is_some_and(|trace| trace.rows().rates.is_empty()));
    assert!(
        matches!(second.delay, DelayProcess::Steps { every, .. } if every == Duration::from_secs(15))
    );
    assert_eq!(path.hop_link(1).mean_rate(), Rate::from_bps(500_000));
}

#[test]
fn delays_may_be_correlated() {
    let delay = |text: &str| {
        link("correlated", &format!("rate = '1 Mbit/s'\ndelay = {text}")).forward.delay
    };
    let uniform = delay("{ uniform = ['10 ms', '30 ms'], correlation = 0.9 }");
    assert!(matches!(uniform, DelayProcess::Correlated { correlation: 0.9, .. }));
    let spread = delay("{ mean = '20 ms', spread = 0.5 }");
    assert!(matches!(spread, DelayProcess::Independent(_)));
}

#[test]
fn a_queue_may_be_limited_in_bytes_or_in_time() {
    let bytes = |queue: &str| {
        let keys = format!("rate = '8 Mbit/s'\ndelay = '1 ms'\nqueue = {queue}");
        let queue = link("limits", &keys).forward.queue;
        (queue.limit, queue.max_bytes)
    };
    assert_eq!(bytes("{ packets = 9 }"), (9, None));
    assert_eq!(bytes("{ bytes = '64 kB' }"), (50, Some(64_000)));
    assert_eq!(bytes("{ packets = 900, time = '200 ms' }"), (900, Some(200_000)));
    assert_eq!(bytes("{ bytes = '64 kB', time = '10 ms' }"), (50, Some(10_000)));
    assert_eq!(bytes("{ time = '1 us' }"), (50, Some(1500)));
    let pie = link(
        "pie",
        "rate = '8 Mbit/s'\ndelay = '1 ms'\nqueue = { discipline = 'pie', ecn = true }",
    );
    let driftway_link::Discipline::Pie(pie) = pie.forward.queue.discipline else { panic!() };
    assert_eq!((pie.target.as_millis(), pie.interval.as_millis(), pie.ecn), (15, 15, true));
}

#[test]
fn an_outage_drops_and_notifies_nobody() {
    let outage = |more: &str| {
        let fault = format!("[[network.fault]]\nkind = 'outage'\n{more}");
        let scenario = load("outage", "rate = '1 Mbit/s'\ndelay = '20 ms'", &fault).unwrap();
        let [Fault::Outage(outage)] = scenario.network.faults() else { panic!() };
        outage.clone()
    };
    let scheduled = outage("hop = 2\nevery = '10 s'\nlasts = '2 s'");
    assert_eq!(
        (scheduled.queue(), scheduled.signal()),
        (PartitionQueue::Drop, PartitionSignal::None)
    );
    assert_eq!(scheduled.places, [OutagePlace::Hop(2)]);
    let measured = outage("node = 1\nfile = 'traces/out.csv'\nqueue = 'wait'");
    assert_eq!(measured.queue(), PartitionQueue::Wait);
    assert_eq!(measured.places, [OutagePlace::Hop(1), OutagePlace::Hop(2)]);
    let [from, until] = [10, 15].map(Instant::from_secs);
    assert_eq!(measured.outages.unwrap()[0], (from, until), "overlaps are merged");
    let dated = outage("hop = 1\nfile = 'traces/log.csv'\norigin = '2026-03-01T08:00:00Z'");
    assert_eq!(dated.outages.unwrap()[..], [(Instant::from_secs(10), Instant::from_secs(12))]);
}

/// Keys of a link, more tables, and the message.
const WRONG: &[(&str, &str, &str)] = &[
    (
        "delay = '1 ms'",
        "",
        "s.toml:6:1: the key `rate` is missing\nhelp: add `rate = …` to this table",
    ),
    (
        "rate = '1 Mbit/s'",
        "",
        "s.toml:6:1: the key `delay` is missing\nhelp: add `delay = …` to this table",
    ),
    ("rate = { trace = 'x.down' }\ndelay = '1 ms'", "", "s.toml:7:18: x.down: "),
    ("rate = { trace = 'traces' }\ndelay = '1 ms'", "", "s.toml:7:18: traces: this is a directory"),
    (
        "rate = { trace = 'traces/descending' }\ndelay = '1 ms'",
        "",
        "traces/descending:2: 4 ms comes after 5 ms",
    ),
    (
        "rate = { trace = 'traces/empty' }\ndelay = '1 ms'",
        "",
        "traces/empty:1: this trace is empty",
    ),
    (
        "rate = { trace = 'traces/x.down', repeats = true }\ndelay = '1 ms'",
        "",
        "s.toml:7:35: unknown key `repeats`\nhelp: did you mean `repeat`?",
    ),
    ("rate = 7\ndelay = '1 ms'", "", "s.toml:7:8: "),
    (
        "trace = { file = 'traces/zero.csv' }\ndelay = '1 ms'",
        "",
        "traces/zero.csv:3: all rates of this trace are 0",
    ),
    (
        "trace = { file = 'traces/end.csv', repeat = true }\ndelay = '1 ms'",
        "",
        "s.toml:7:18: traces/end.csv: only the last row has a rate",
    ),
    ("trace = { file = 'traces/delay.csv' }", "", "s.toml:6:1: the key `rate` is missing"),
    (
        "rate = { trace = 'traces/x.down' }\ntrace = { file = 'traces/x.csv' }",
        "",
        "s.toml:8:9: the rate is measured twice: by `rate = { trace = … }` and by the column rate_bps of `trace`",
    ),
    (
        "rate = '1 Mbit/s'\ndelay = '1 ms'\nduplex = 'shared'\nreverse = { delay = '2 ms' }",
        "",
        "s.toml:10:11: both directions share one rate (duplex = \"shared\"), so that they cannot differ",
    ),
    (
        "rate = { trace = 'traces/x.down' }\ndelay = '1 ms'\nduplex = 'shared'",
        "",
        "s.toml:7:8: `rate` is a trace of one direction, but duplex = \"shared\"",
    ),
    (
        "rate = '1 Mbit/s'\ndelay = '1 ms'\nreverse = { rat = '2 Mbit/s' }",
        "",
        "s.toml:9:13: unknown key `rat`\nhelp: did you mean `rate`?",
    ),
    (
        "rate = '1 Mbit/s'\ndelay = '1 ms'\nreverse = { packet_error_rate = 2 }",
        "",
        "s.toml:9:33: 2 is not a probability",
    ),
    (
        "rate = '1 Mbit/s'\ndelay = '1 ms'\nburst = { rate = 0.9, mean_length = 2 }",
        "",
        "s.toml:9:18: a rate of 0.9 with bursts of 2 packets",
    ),
    (
        "rate = '1 Mbit/s'\ndelay = '1 ms'\nburst = { rate = 0.1, mean_length = 0.5 }",
        "",
        "s.toml:9:37: a mean length of 0.5 packets",
    ),
    (
        "rate = '1 Mbit/s'\ndelay = '1 ms'\nloss = { every = 1 }",
        "",
        "s.toml:9:18: every packet is lost",
    ),
    (
        "rate = '1 Mbit/s'\ndelay = '1 ms'\nreverse = { loss = { every = 1 } }",
        "",
        "s.toml:9:30: every packet is lost",
    ),
    ("rate = '1 Mbit/s'\ndelay = '1 ms'\nloss = { every = -5 }", "", "s.toml:9:18: "),
    ("rate = '1 Mbit/s'\ndelay = { steps = [], every = '1 s' }", "", "s.toml:8:19: no step"),
    (
        "rate = '1 Mbit/s'\ndelay = { steps = ['1 ms'], every = '0 s' }",
        "",
        "s.toml:8:37: this must be longer than 0 s",
    ),
    (
        "rate = '1 Mbit/s'\ndelay = { uniform = ['1 ms', '2 ms'], correlation = 2 }",
        "",
        "s.toml:8:53: a correlation of 2",
    ),
    (
        "rate = { trace = 'traces/x.down' }\ndelay = '1 ms'",
        "[[network.fault]]\nkind = 'change'\nhop = 1\nat = '5 s'\nrate = ['1 Mbit/s']",
        "s.toml:13:8: the rate of hop 1 is measured",
    ),
    (
        "rate = '1 Mbit/s'\ndelay = '1 ms'\nqueue = { bytes = '100 B' }",
        "",
        "s.toml:9:19: fewer bytes than a packet has",
    ),
    (
        "rate = '1 Mbit/s'\ndelay = '1 ms'\nqueue = { time = '0 s' }",
        "",
        "s.toml:9:18: this must be longer than 0 s",
    ),
    (
        "rate = '1 Mbit/s'\ndelay = '1 ms'\nqueue = { discipline = 'pie', interval = '0 s' }",
        "",
        "s.toml:9:42: this must be longer than 0 s",
    ),
    ("rate = '1 Mbit/s'\ndelay = '1 ms'\nqueue = { discipline = 'pia' }", "", "s.toml:9:24: "),
    (
        "rate = '1 Mbit/s'\ndelay = '1 ms'",
        "[[network.fault]]\nkind = 'outage'\nfile = 'traces/out.csv'",
        "s.toml:9:1: this outage needs exactly one place",
    ),
    (
        "rate = '1 Mbit/s'\ndelay = '1 ms'",
        "[[network.fault]]\nkind = 'outage'\nhop = 1",
        "s.toml:9:1: the key `lasts` is missing",
    ),
    (
        "rate = '1 Mbit/s'\ndelay = '1 ms'",
        "[[network.fault]]\nkind = 'outage'\nhop = 1\nfile = 'traces/out.csv'\nlasts = '1 s'",
        "s.toml:13:9: both `file` and `lasts`",
    ),
    (
        "rate = '1 Mbit/s'\ndelay = '1 ms'",
        "[[network.fault]]\nkind = 'outage'\nhop = 1\nfile = 'traces/log.csv'",
        "traces/log.csv:2: `start` is a date\nhelp: add the key `origin`",
    ),
    (
        "rate = '1 Mbit/s'\ndelay = '1 ms'",
        "[[network.fault]]\nkind = 'outage'\nhop = 1\nevery = '5 s'\nlasts = '1 s'\nsignal = 'rfn'",
        "s.toml:14:10: signal = \"rfn\" with kind = \"outage\"",
    ),
];

#[test]
fn errors_are_located() {
    for (keys, more, expected) in WRONG {
        let error = load("wrong", keys, more).map(|_| ()).unwrap_err();
        assert!(error.starts_with(expected), "{keys}\n{more}\n{error}");
    }
}

#[test]
fn a_trace_of_over_64_mib_is_refused() {
    let folder = std::env::temp_dir().join(format!("driftway-{}-large", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let file = fs::File::create(folder.join("x.down")).unwrap();
    file.set_len((64 << 20) + 1).unwrap();
    let text = "name = 'a'\nduration = '60 s'\n[network]\nkind = 'path'\nhops = 1\n\
                link = { rate = { trace = 'x.down' }, delay = '1 ms' }\n\
                [[flow]]\nfrom = 0\nto = 1\napplication = 'ftp'\n";
    fs::write(folder.join("s.toml"), text).unwrap();
    let error = Scenario::load(folder.join("s.toml"), &[]).unwrap_err();
    fs::remove_dir_all(&folder).unwrap();
    assert!(error.message().ends_with("x.down: this file is larger than 64 MiB"), "{error}");
}
