//! TCP presets: their keys, and the precedence of written keys.

use driftway_scenario::{Scenario, Tcp, flatten};

fn read(tcp: &str, overrides: &[(&str, &str)]) -> Result<Scenario, String> {
    let text = format!(
        "name = \"presets\"\nduration = \"1 s\"\n\
         [network]\nkind = \"path\"\nhops = 1\nlink = {{ rate = \"1 Mbit/s\", delay = \"1 ms\" }}\n\
         [[flow]]\nfrom = 0\nto = 1\napplication = \"ftp\"\n{tcp}\n"
    );
    let overrides: Vec<_> =
        overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Scenario::parse("test.toml", &text, &overrides).map_err(|error| error.to_string())
}

fn tcp(tcp: &str, overrides: &[(&str, &str)]) -> Tcp {
    let scenario = read(tcp, overrides).unwrap_or_else(|error| panic!("{error}"));
    scenario.flows[0].tcp.clone().unwrap()
}

/// One key of `scenario` as `check --show` prints it.
fn shown(tcp: &Scenario, key: &str) -> String {
    let pairs = flatten(tcp);
    let found = pairs.iter().find(|(name, _)| name == &format!("flow.0.tcp.{key}"));
    found.unwrap_or_else(|| panic!("{key} is not shown: {pairs:?}")).1.clone()
}

const NAMES: [&str; 8] =
    ["tahoe-1988", "reno-bsd", "newreno", "sack", "linux", "linux-bbr", "bbr3", "ns-2"];

#[test]
fn a_preset_name_is_short_for_a_table() {
    for name in NAMES {
        let short = read(&format!("tcp = \"{name}\""), &[]).unwrap();
        let long = read(&format!("tcp = {{ preset = \"{name}\" }}"), &[]).unwrap();
        assert_eq!(short, long);
        assert_eq!(shown(&short, "preset"), name);
        let again = Scenario::parse("shown", &short.show(), &[]).unwrap();
        assert_eq!(again, short, "{name} reads back as it shows");
    }
}

#[test]
fn presets_have_their_characteristic_values() {
    let of = |name: &str| read(&format!("tcp = \"{name}\""), &[]).unwrap();
    for (name, key, value) in [
        ("tahoe-1988", "recovery", "tahoe"),
        ("tahoe-1988", "initial_window", "1"),
        ("reno-bsd", "recovery", "reno"),
        ("reno-bsd", "tick.timer", "500 ms"),
        ("reno-bsd", "initial_rto", "6 s"),
        ("reno-bsd", "min_rto", "1 s"),
        ("reno-bsd", "limited_transmit", "false"),
        ("tahoe-1988", "window_validation", "false"),
        ("reno-bsd", "window_validation", "false"),
        ("ns-2", "window_validation", "false"),
        ("newreno", "window_validation", "true"),
        ("sack", "window_validation", "true"),
        ("linux", "window_validation", "true"),
        ("linux", "growth", "cubic"),
        ("linux-bbr", "growth", "bbr"),
        ("linux-bbr", "recovery", "rack-tlp"),
        ("linux-bbr", "initial_window", "10"),
        ("bbr3", "growth", "bbr3"),
        ("bbr3", "timestamps", "true"),
        ("newreno", "recovery", "newreno"),
        ("sack", "recovery", "sack"),
        ("sack", "timestamps", "false"),
        ("ns-2", "recovery", "reno"),
        ("ns-2", "initial_window", "2"),
        ("ns-2", "tick.timer", "10 ms"),
        ("ns-2", "max_retries", "1000000"),
        ("ns-2", "max_syn_retries", "1000000"),
        ("reno-bsd", "max_syn_retries", "3"),
        ("linux", "max_syn_retries", "6"),
        ("linux", "recovery", "rack-tlp"),
        ("linux", "prr", "true"),
        ("linux", "dsack", "true"),
        ("linux", "eifel", "true"),
        ("linux", "f_rto", "true"),
        ("linux", "lcd", "true"),
        ("linux", "linux_rto", "true"),
        ("sack", "linux_rto", "false"),
        ("sack", "dsack", "false"),
        ("linux", "growth", "cubic"),
        ("linux", "timestamps", "true"),
        ("linux", "window_scale", "true"),
        ("linux", "min_rto", "200 ms"),
        ("linux", "max_rto", "120 s"),
        ("linux", "delayed_ack_timeout", "40 ms"),
    ] {
        assert_eq!(shown(&of(name), key), value, "{name}: {key}");
    }
    let all: Vec<_> = NAMES.map(of).iter().map(Scenario::show).collect();
    for (n, one) in all.iter().enumerate() {
        assert!(!all[..n].contains(one), "{} is like another", NAMES[n]);
    }
}

#[test]
fn written_keys_take_precedence_in_any_order() {
    for text in [
        r#"tcp = { preset = "linux", mss = "100 B", min_rto = "1 s" }"#,
        r#"tcp = { min_rto = "1 s", mss = "100 B", preset = "linux" }"#,
    ] {
        let tcp = tcp(text, &[]);
        assert_eq!((tcp.mss.0, tcp.min_rto.to_string()), (100, "1 s".into()));
        assert_eq!(tcp.max_rto.to_string(), "120 s");
    }
    // Inside a table too: the phase is the scenario's, the ticks are the preset's.
    let tcp = tcp(r#"tcp = { preset = "reno-bsd", tick = { phase = "100 ms" } }"#, &[]);
    assert_eq!(tcp.tick.timer.to_string(), "500 ms");
}

const FILE: &str = "[flow.tcp]\nrecovery = \"reno\"\nmss = \"100 B\"\ntick = \"500 ms\"";

#[test]
fn a_preset_override_keeps_other_keys() {
    let over = tcp(FILE, &[("flow.0.tcp.preset", "linux")]);
    assert_eq!((over.growth.name(), over.mss.0), ("cubic", 100));
    assert_eq!((over.tick.timer.to_string(), over.tick.wheel), ("4 ms".into(), true));
    let all = tcp(FILE, &[("flow.0.tcp", "linux")]);
    assert_eq!((all.growth.name(), all.mss.0), ("cubic", 1460));
    // Other overrides take precedence over the preset, before or after it.
    for sets in [
        [("flow.0.tcp.min_rto", "3 s"), ("flow.*.tcp.preset", "linux")],
        [("flow.*.tcp.preset", "linux"), ("flow.0.tcp.min_rto", "3 s")],
        [("flow.0.tcp", "linux"), ("flow.0.tcp.min_rto", "3 s")],
    ] {
        let tcp = tcp(FILE, &sets);
        assert_eq!((tcp.min_rto.to_string(), tcp.growth.name()), ("3 s".into(), "cubic"));
    }
    let named = "tcp = \"linux\"";
    assert_eq!(tcp(named, &[("flow.0.tcp.mss", "100 B")]).mss.0, 100);
    assert_eq!(tcp(named, &[("flow.0.tcp.preset", "newreno")]).growth.name(), "reno");
}

#[test]
fn unknown_presets_get_a_suggestion() {
    let known = "available: tahoe-1988, reno-bsd, newreno, sack, linux, linux-bbr, bbr3, ns-2";
    let wrong = |text: &str| read(text, &[]).unwrap_err();
    assert_eq!(
        wrong(r#"tcp = "linus""#),
        format!("test.toml:11:7: unknown value `linus`\nhelp: did you mean `linux`? {known}")
    );
    assert_eq!(
        wrong("tcp = { preset = 1 }"),
        "test.toml:11:18: this is not the name of a preset\n\
         help: presets are tahoe-1988, reno-bsd, newreno, sack, linux, linux-bbr, bbr3, ns-2"
    );
    assert_eq!(
        read("", &[("flow.0.tcp", "solaris")]).unwrap_err(),
        format!("--set flow.0.tcp: unknown value `solaris`\nhelp: {known}")
    );
}
