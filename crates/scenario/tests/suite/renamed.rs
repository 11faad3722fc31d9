//! Keys that were renamed: the error of each old key, and what the inverted ones mean.

use driftway_scenario::{Network, Scenario};

const PATH: &str = r#"name = "a path"
duration = "9 s"
[network]
kind = "path"
hops = 1
link = { rate = "1 Mbit/s", delay = "1 ms", queue = {} }
[[flow]]
from = 0
to = 1
application = { cbr = { every = "1 s", size = "9 B" } }
transport = "udp"
"#;

const ADHOC: &str = r#"name = "an ad hoc network"
duration = "9 s"
[network]
kind = "adhoc"
mobility = { chain = "200 m" }
mac = { kind = "dcf" }
queue = { packets = 50 }
arp = { hold = 1 }
routing = { protocol = "aodv" }
nodes = 2
[[flow]]
from = 0
to = 1
application = "ftp"
"#;

fn error(text: &str, overrides: &[(String, String)]) -> String {
    Scenario::parse("test.toml", text, overrides).expect_err(text).to_string()
}

/// Scenario; text to find in it; its replacement, which has an old key; line and column of that key; the key;
/// and the hint.
const OLD: &[(&str, &str, &str, &str, &str, &str)] = &[
    (ADHOC, "hold = 1", r#"hold = 1, again = "1 s""#, "8:19", "again", "its name is now `retry`"),
    (
        ADHOC,
        "packets = 50",
        "packets = 50, last_place = true",
        "7:25",
        "last_place",
        "its name is now `count_arriving`, with the inverted meaning: `last_place = true` is `count_arriving = false`",
    ),
    (
        PATH,
        "queue = {}",
        "queue = { last_place = false }",
        "6:55",
        "last_place",
        "its name is now `count_arriving`, with the inverted meaning: `last_place = true` is `count_arriving = false`",
    ),
    (
        ADHOC,
        r#"kind = "dcf""#,
        r#"kind = "dcf", first_at_once = false"#,
        "6:23",
        "first_at_once",
        "its name is now `backoff_before_first`, with the inverted meaning: `first_at_once = true` is `backoff_before_first = false`",
    ),
    (
        ADHOC,
        r#"protocol = "aodv""#,
        r#"protocol = "aodv", rescue = false"#,
        "9:32",
        "rescue",
        "its name is now `reroute_queued`",
    ),
    (
        PATH,
        r#"size = "9 B""#,
        r#"size = "9 B", spread = 0.5"#,
        "10:54",
        "spread",
        "its name is now `jitter`",
    ),
    (
        PATH,
        "hops = 1",
        "hops = 1\nspread = \"random\"",
        "6:1",
        "spread",
        "its name is now `multipath`",
    ),
];

#[test]
fn an_old_key_is_an_error_that_names_the_new_one() {
    for (text, old, replacement, at, key, help) in OLD {
        assert_eq!(text.matches(old).count(), 1, "{old}");
        let text = text.replace(old, replacement);
        let expected = format!("test.toml:{at}: unknown key `{key}`\nhelp: {help}");
        assert_eq!(error(&text, &[]), expected);
    }
}

#[test]
fn an_old_key_in_an_override_is_one_too() {
    let overrides = [("network.spread".to_owned(), "random".to_owned())];
    assert_eq!(
        error(PATH, &overrides),
        "--set network.spread: unknown key `spread`\nhelp: its name is now `multipath`"
    );
}

/// `spread` is still a key of delays, and other tables with the key `jitter` never had it.
#[test]
fn tables_that_never_had_the_key_do_not_suggest_it() {
    let aodv = ADHOC.replace(r#""aodv""#, r#""aodv", spread = 1"#);
    assert!(!error(&aodv, &[]).contains("its name is now"), "{}", error(&aodv, &[]));
    let delay = PATH.replace(r#""1 ms""#, r#"{ mean = "1 ms", spread = 0.5 }"#);
    Scenario::parse("test.toml", &delay, &[]).unwrap();
}

fn adhoc(key: &str, value: &str) -> driftway_scenario::Adhoc {
    let overrides = [(key.to_owned(), value.to_owned())];
    match Scenario::parse("test.toml", ADHOC, &overrides).unwrap().network {
        Network::Adhoc(adhoc) => adhoc,
        Network::Path(_) | Network::Mixed(_) => panic!("it says adhoc"),
    }
}

/// `last_place = true`, the default, was a queue that holds `packets` packets.
#[test]
fn a_queue_that_counts_the_arriving_packet_holds_one_less() {
    let limit = |value| adhoc("network.queue.count_arriving", value).queue.limit();
    assert_eq!((limit("false"), limit("true")), (50, 49));
    assert_eq!(adhoc("network.queue.packets", "50").queue.limit(), 50);
}

/// `first_at_once = true`, the default, was a frame without backoff on an idle medium.
#[test]
fn the_backoff_before_the_first_attempt_reaches_the_mac() {
    let backs_off = |value| {
        let network = adhoc("network.mac.backoff_before_first", value);
        network.dcf().unwrap().backoff_before_first
    };
    assert_eq!((backs_off("false"), backs_off("true")), (false, true));
    assert!(!adhoc("network.queue.packets", "50").dcf().unwrap().backoff_before_first);
}
