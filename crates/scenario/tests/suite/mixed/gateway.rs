//! The table `[network.gateway]`.

use driftway_base::Duration;
use driftway_scenario::{Flow, Gateway, Size, Time};

use super::{RIGHT, network, parse};

/// [`RIGHT`] with these keys of the gateway.
fn with(keys: &str) -> String {
    let table = format!("[network.gateway]\n{keys}\n[network.air]");
    RIGHT.replacen("[network.air]", &table, 1)
}

fn gateway(keys: &str) -> Gateway {
    let scenario = parse(&with(keys), &[]).unwrap_or_else(|error| panic!("{error}"));
    network(&scenario).gateway.clone().unwrap()
}

#[test]
fn a_gateway_splits_only_if_it_is_asked_to() {
    assert_eq!(network(&parse(RIGHT, &[]).unwrap()).gateway, None);
    let plain = gateway("node = \"base\"");
    assert_eq!((plain.node, plain.split, plain.buffer), (2, false, Size(64_000)));
    assert_eq!(plain.wireless.aid.name(), None);
    assert_eq!(plain.wired.tcp, None);
}

#[test]
fn each_leg_has_its_own_tcp_and_aid() {
    let of = gateway(
        "node = \"base\"\nsplit = true\nbuffer = \"16 kB\"\nwireless = { aid = \"atcp\" }\n\
         wired = { tcp = \"linux\" }",
    );
    assert_eq!((of.split, of.buffer), (true, Size(16_000)));
    assert_eq!((of.wireless.aid.name(), of.wired.aid.name()), (Some("atcp"), None));
    let linux = of.wired.tcp.unwrap();
    assert_eq!(linux.preset.as_deref(), Some("linux"));
    assert_eq!(linux.min_rto, Time(Duration::from_millis(200)));
    let table = gateway("node = 2\nwireless.tcp = { preset = \"sack\", ecn = true, window = 8 }");
    let tcp = table.wireless.tcp.unwrap();
    assert!(tcp.ecn && tcp.window_scale.is_some());
}

#[test]
fn connections_between_air_and_wires_are_split() {
    let is_split = |keys: &str, from: &str, to: &str, transport: &str| {
        let flow = [("flow.0.from", from), ("flow.0.to", to), ("flow.0.transport", transport)];
        let cbr = "{ cbr = { every = \"1 s\", size = \"100 B\" } }";
        let scenario =
            parse(&with(keys), &[&flow[..], &[("flow.0.application", cbr)]].concat()).unwrap();
        let flow: &Flow = &scenario.flows[0];
        scenario.network.is_split(flow)
    };
    let splits = "node = \"base\"\nsplit = true";
    for (from, to, split) in [
        ("server", "m1", true),
        ("m1", "server", true),
        ("m1", "router", true),
        ("m1", "base", false),
        ("base", "server", false),
        ("server", "router", false),
        ("m1", "m2", false),
    ] {
        assert_eq!(is_split(splits, from, to, "tcp"), split, "{from} {to}");
        assert!(!is_split(splits, from, to, "udp"), "{from} {to}");
        assert!(!is_split("node = \"base\"", from, to, "tcp"), "{from} {to}");
    }
}

#[test]
fn output_has_the_name_of_the_gateway() {
    let text = with("node = \"base\"\nsplit = true\nwired = { tcp = \"reno-bsd\" }");
    let scenario = parse(&text, &[]).unwrap();
    for shown in [scenario.show(), scenario.show_documented()] {
        assert!(shown.contains("node = \"base\"\n"), "{shown}");
        assert_eq!(parse(&shown, &[]).as_ref(), Ok(&scenario), "{shown}");
    }
}

/// Keys, and the error about them.
const WRONG: &[(&str, &str)] = &[
    (
        "split = true",
        "test.toml:18:1: the key `node` is missing\nhelp: add `node = …` to this table",
    ),
    (
        "node = \"bases\"",
        "test.toml:19:8: there is no node `bases`\nhelp: did you mean `base`? the nodes are server, router, base, m1, m2, m3",
    ),
    (
        "node = \"router\"",
        "test.toml:19:8: node router has no radio, so it is no gateway\nhelp: a gateway has a radio (network.air.radios) and a wire ([[network.wire]])",
    ),
    (
        "node = \"m1\"\nsplit = true",
        "test.toml:19:8: node m1 has no wire, so it is no gateway\nhelp: a gateway has a radio (network.air.radios) and a wire ([[network.wire]])",
    ),
    (
        "node = \"base\"\nbuffer = \"0 B\"",
        "test.toml:20:10: a buffer in bytes of 0 out of range 1–1073741824",
    ),
    (
        "node = \"base\"\nsplit = true\nbuffer = \"1 kB\"",
        "test.toml:21:10: a buffer of 1 kB is smaller than one segment of 1460 B\nhelp: the minimum is one mss",
    ),
    (
        "node = \"base\"\nwireless = { tcp = { mss = \"8 kB\" } }",
        "test.toml:20:28: packets of 8040 B with 8 B of LLC are 8048 B\nhelp: 802.11 carries 2304 B in a frame",
    ),
    (
        "node = \"base\"\nwired = { tcp = { window = \"100 B\" } }",
        "test.toml:20:28: a window of 100 B is smaller than one segment of 1460 B\nhelp: the minimum is one mss",
    ),
    (
        "node = \"base\"\nwired = { aid = \"atpc\" }",
        "test.toml:20:17: unknown value `atpc`\nhelp: did you mean `atcp`?",
    ),
    (
        "node = \"base\"\nwired = { aids = \"atcp\" }",
        "test.toml:20:11: unknown key `aids`\nhelp: did you mean `aid`? the keys of this table are tcp, aid",
    ),
    (
        "node = \"base\"\nsplits = true",
        "test.toml:20:1: unknown key `splits`\nhelp: did you mean `split`? the keys of this table are node, split, buffer, wireless, wired",
    ),
];

#[test]
fn errors_have_their_messages() {
    let mut failed = String::new();
    for (keys, says) in WRONG {
        let found = parse(&with(keys), &[]).map_or_else(|error| error, |_| "nothing".to_owned());
        if !found.starts_with(says) {
            failed += &format!("## {keys}\n{found}\n");
        }
    }
    assert!(failed.is_empty(), "\n{failed}");
}

/// A connection could move to another gateway, which does not know it.
#[test]
fn a_network_that_splits_has_one_gateway() {
    let wire =
        "[[network.wire]]\nbetween = [\"router\", \"m3\"]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n";
    let text = |split: bool| {
        with(&format!("node = \"base\"\nsplit = {split}\n")).replacen(
            "[network.gateway]",
            &format!("{wire}[network.gateway]"),
            1,
        )
    };
    assert!(parse(&text(false), &[]).is_ok());
    let error = parse(&text(true), &[]).unwrap_err();
    assert_eq!(
        error,
        "test.toml:24:9: connections are split at base, but m3 is a gateway, too\n\
         help: a connection that moved to another gateway could not go on there; split only where one \
         node has a radio and a wire"
    );
}
