//! Error messages: each has the location, the error and a hint.

use driftway_aid::registry::AIDS;
use driftway_scenario::Scenario;
use driftway_tcp::{ControlKind, RecoveryKind};

const RIGHT: &str = r#"name = "a test"
duration = "100 s"

[network]
kind = "path"
hops = 4

[network.link]
rate = "32 kbit/s"
delay = "20 ms"

[[network.override]]
hop = 3

[[network.fault]]
kind = "partition"
hop = 2
every = "30 s"
lasts = "6 s"

[[flow]]
from = 0
to = 4
application = { transfer = "1 MB" }
tcp = { recovery = "reno" }
"#;

/// Description; text to find in [`RIGHT`]; its replacement; the expected message, in which `{aids}`
/// stands for the names of all aids and `{pairs}` for the valid pairs of loss recovery and window
/// growth.
const WRONG: &[(&str, &str, &str, &str)] = &[
    (
        "an unknown key",
        r#"rate = "32 kbit/s""#,
        r#"rte = "32 kbit/s""#,
        "test.toml:9:1: unknown key `rte`\nhelp: did you mean `rate`? the keys of this table are rate, delay, bit_error_rate, packet_error_rate, burst, loss, trace, queue, reverse, duplex, order, mark_loss",
    ),
    (
        "an unknown key without a suggestion",
        "hops = 4",
        "hops = 4\nzzzzzz = 1",
        "test.toml:7:1: unknown key `zzzzzz`\nhelp: the keys of this table are hops, multipath, link, routers, override, parallel, fault",
    ),
    (
        "an unknown key of an override",
        "hop = 3",
        r#"hop = 3
rat = "1 Mbit/s""#,
        "test.toml:14:1: unknown key `rat`\nhelp: did you mean `rate`? the keys of this table are hop, rate, delay, bit_error_rate, packet_error_rate, burst, loss, trace, queue, reverse, duplex, order, mark_loss",
    ),
    (
        "an override without its hop",
        "hop = 3",
        "mark_loss = 0.1",
        "test.toml:12:1: the key `hop` is missing\nhelp: add `hop = …` to this table",
    ),
    (
        "a wrong unit",
        r#"delay = "20 ms""#,
        r#"delay = "20 msec""#,
        "test.toml:10:9: `msec` is not a known unit\nhelp: did you mean `ms`? known units: ns, us, ms, s, min, h",
    ),
    (
        "a unit of another kind",
        r#"rate = "32 kbit/s""#,
        r#"rate = "32 kB""#,
        "test.toml:9:8: `kB` is not a known unit\nhelp: known units: bit/s, kbit/s, Mbit/s, Gbit/s",
    ),
    (
        "a bare number",
        r#"delay = "20 ms""#,
        "delay = 20",
        r#"test.toml:10:9: expected a time: "20 ms", { uniform = ["10 ms", "30 ms"] }, { mean = "20 ms", spread = 0.5 } or { steps = ["20 ms", "35 ms"], every = "15 s" }, found the bare number 20"#,
    ),
    (
        "a bare number as text",
        r#"delay = "20 ms""#,
        r#"delay = "20""#,
        "test.toml:10:9: `20` has no unit\nhelp: known units: ns, us, ms, s, min, h",
    ),
    (
        "a negative rate",
        r#"rate = "32 kbit/s""#,
        r#"rate = "-32 kbit/s""#,
        r#"test.toml:9:8: `-32 kbit/s` is negative
help: a valid value is, for example, "32 kbit/s""#,
    ),
    (
        "a rate of zero",
        r#"rate = "32 kbit/s""#,
        r#"rate = "0 bit/s""#,
        r#"test.toml:9:8: a rate of 0 bit/s
help: to interrupt a hop, use a fault of kind "partition""#,
    ),
    (
        "a rate that overflows",
        r#"rate = "32 kbit/s""#,
        r#"rate = "99999999999 Gbit/s""#,
        "test.toml:9:8: `99999999999 Gbit/s` is too large",
    ),
    (
        "a time below the resolution",
        r#"delay = "20 ms""#,
        r#"delay = "0.3 ns""#,
        "test.toml:10:9: `0.3 ns` is finer than 1 ns, the smallest step",
    ),
    (
        "not a number",
        r#"rate = "32 kbit/s""#,
        r#"rate = "32 kbit/s"
mark_loss = nan"#,
        "test.toml:10:13: this is not a finite number",
    ),
    (
        "infinity",
        r#"rate = "32 kbit/s""#,
        r#"rate = "32 kbit/s"
bit_error_rate = inf"#,
        "test.toml:10:18: this is not a finite number",
    ),
    (
        "a probability above one",
        r#"rate = "32 kbit/s""#,
        r#"rate = "32 kbit/s"
bit_error_rate = 1.5"#,
        "test.toml:10:18: 1.5 is not a probability\nhelp: probabilities are from 0 to 1",
    ),
    (
        "two error rates",
        r#"rate = "32 kbit/s""#,
        r#"rate = "32 kbit/s"
bit_error_rate = 1e-5
packet_error_rate = 0.01"#,
        "test.toml:11:21: both bit_error_rate and packet_error_rate\nhelp: a link has one or the other",
    ),
    (
        "a delay in two forms",
        r#"delay = "20 ms""#,
        r#"delay = { mean = "20 ms", uniform = ["1 ms", "2 ms"] }"#,
        "test.toml:10:9: `mean` cannot be combined with `uniform`\nhelp: its keys are uniform, correlation",
    ),
    (
        "a reversed delay range",
        r#"delay = "20 ms""#,
        r#"delay = { uniform = ["30 ms", "10 ms"] }"#,
        "test.toml:10:9: 30 ms is longer than 10 ms\nhelp: the shorter one comes first",
    ),
    (
        "a delay range of three values",
        r#"delay = "20 ms""#,
        r#"delay = { uniform = ["1 ms", "2 ms", "3 ms"] }"#,
        "test.toml:10:38: too many values: expected 2",
    ),
    (
        "a spread above one",
        r#"delay = "20 ms""#,
        r#"delay = { mean = "20 ms", spread = 2 }"#,
        "test.toml:10:36: a spread of 2\nhelp: spreads are fractions of the mean, from 0 to 1",
    ),
    (
        "a negative number of hops",
        "hops = 4",
        "hops = -1",
        "test.toml:6:8: expected a whole number from 0 to 4294967295, found the bare number -1",
    ),
    ("no hops", "hops = 4", "hops = 0", "test.toml:6:8: the number of hops 0 out of range 1–64"),
    (
        "a fractional number of hops",
        "hops = 4",
        "hops = 2.5",
        "test.toml:6:8: expected a whole number from 0 to 4294967295, found the bare number 2.5",
    ),
    (
        "a duplicate key",
        "hops = 4",
        "hops = 4\nhops = 5",
        "test.toml:7:1: duplicate key `hops`\nhelp: remove one of them",
    ),
    (
        "a duplicate table",
        "[[flow]]",
        "[network.link]\n\n[[flow]]",
        "test.toml:21:10: duplicate key `link`\nhelp: remove one of them",
    ),
    (
        "an unterminated string",
        r#"name = "a test""#,
        r#"name = "a test"#,
        r#"test.toml:1:15: invalid basic string, expected `"`"#,
    ),
    (
        "a missing key",
        r#"duration = "100 s""#,
        "",
        "test.toml:1:1: the key `duration` is missing\nhelp: add `duration = …` to this table",
    ),
    (
        "a network without a kind",
        r#"kind = "path""#,
        "",
        "test.toml:4:1: the key `kind` is missing\nhelp: add `kind = …` to this table",
    ),
    (
        "a key of the other kind of network",
        r#"kind = "path""#,
        r#"kind = "adhoc""#,
        "test.toml:6:1: unknown key `hops`\nhelp: the keys of this table are nodes, area, mobility, radio, mac, queue, arp, routing, feedback, icmp_rate, route_probe, link_signals, link_retry, compat, fault",
    ),
    (
        "an unknown kind of network",
        r#"kind = "path""#,
        r#"kind = "pth""#,
        "test.toml:5:8: unknown value `pth`\nhelp: did you mean `path`? available: path, adhoc, mixed",
    ),
    (
        "an unknown value",
        "hop = 3",
        r#"hop = 3
duplex = "half""#,
        "test.toml:14:10: unknown value `half`\nhelp: available: full, shared, per-packet",
    ),
    (
        "an unknown value with a suggestion",
        "hop = 3",
        r#"hop = 3
queue = { discipline = "droptail" }"#,
        "test.toml:14:24: unknown value `droptail`\nhelp: did you mean `drop-tail`? available: drop-tail, red, codel, fq-codel, pie",
    ),
    (
        "RED's key without RED",
        "hop = 3",
        "hop = 3\nqueue = { weight = 0.1 }",
        r#"test.toml:14:20: `weight` without RED
help: add discipline = "red""#,
    ),
    (
        "a threshold with RED",
        "hop = 3",
        r#"hop = 3
queue = { discipline = "red", ecn_threshold = 5 }"#,
        "test.toml:14:47: `ecn_threshold` without drop-tail\nhelp: with RED, CoDel and PIE use ecn = true",
    ),
    (
        "marks of a queue that drops at its tail",
        "hop = 3",
        "hop = 3\nqueue = { ecn = true }",
        "test.toml:14:17: `ecn` without RED, CoDel or PIE\nhelp: with drop-tail use `ecn_threshold`",
    ),
    (
        "CoDel's key without CoDel",
        "hop = 3",
        r#"hop = 3
queue = { discipline = "red", target = "5 ms" }"#,
        "test.toml:14:40: `target` without CoDel or PIE\nhelp: add discipline = \"codel\" or \"pie\"",
    ),
    (
        "a target of CoDel that is no shorter than its interval",
        "hop = 3",
        r#"hop = 3
queue = { discipline = "codel", interval = "5 ms" }"#,
        "test.toml:14:44: interval 5 ms with target 5 ms\nhelp: required: target < interval",
    ),
    (
        "a target of CoDel of nothing",
        "hop = 3",
        r#"hop = 3
queue = { discipline = "codel", target = "0 s" }"#,
        "test.toml:14:42: a target of 0\nhelp: it is a waiting time that is accepted: above 0",
    ),
    (
        "reversed RED thresholds",
        "hop = 3",
        r#"hop = 3
queue = { discipline = "red", min_threshold = 20, max_threshold = 5 }"#,
        "test.toml:14:67: max_threshold 5 with min_threshold 20 and 50 packets\nhelp: required: min_threshold < max_threshold ≤ packets",
    ),
    (
        "a threshold above the limit",
        "hop = 3",
        "hop = 3\nqueue = { packets = 10, ecn_threshold = 11 }",
        "test.toml:14:41: the threshold 11 out of range 1–10",
    ),
    (
        "a hop out of range",
        "hop = 3",
        "hop = 7",
        "test.toml:13:7: hop 7 out of range 1–4\nhelp: hop 1 joins node 0 and node 1",
    ),
    (
        "a fault's hop out of range",
        "hop = 2",
        "hop = 7",
        "test.toml:17:7: hop 7 out of range 1–4\nhelp: hop 1 joins node 0 and node 1",
    ),
    (
        "an unknown word for a fault's hop",
        "hop = 2",
        r#"hop = "randum""#,
        r#"test.toml:17:7: expected the number of a hop, or "random", found the text "randum""#,
    ),
    (
        "a fault without a schedule",
        r#"every = "30 s""#,
        "",
        r#"test.toml:15:1: this fault has no schedule
help: add every = "300 s", first = "60 s", or both, or hop = "random" and `count`"#,
    ),
    (
        "a fault of an unknown kind",
        r#"kind = "partition""#,
        r#"kind = "partitions""#,
        "test.toml:16:8: unknown value `partitions`\nhelp: did you mean `partition`? available: partition, congestion, reordering, interference, change, radio-down, fading, outage",
    ),
    (
        "a key of another kind of fault",
        r#"kind = "partition""#,
        r#"kind = "partition"
size = "100 B""#,
        "test.toml:17:1: unknown key `size`\nhelp: the keys of this table are hop, every, first, jitter, lasts, count, queue, signal, signal_loss, lead",
    ),
    (
        "a jitter that reaches the next partition",
        r#"lasts = "6 s""#,
        "lasts = \"6 s\"\njitter = \"24 s\"",
        "test.toml:20:10: a jitter of 24 s and a duration of 6 s with a period of 30 s\nhelp: `lasts` and `jitter` together must be shorter than `every`",
    ),
    (
        "a jitter of partitions at random times",
        "hop = 2\nevery = \"30 s\"",
        "hop = \"random\"\ncount = 2\njitter = \"1 s\"",
        "test.toml:19:10: these partitions start at random times\nhelp: remove `jitter`, or add every = \"300 s\" or first = \"60 s\"",
    ),
    (
        "a duration of a partition that may reach the next one",
        r#"lasts = "6 s""#,
        r#"lasts = { uniform = ["6 s", "30 s"] }"#,
        "test.toml:19:9: a duration of 30 s with a period of 30 s\nhelp: `lasts` must be shorter than `every`",
    ),
    (
        "a duration of a partition with its ends exchanged",
        r#"lasts = "6 s""#,
        r#"lasts = { uniform = ["6 s", "3 s"] }"#,
        "test.toml:19:9: 6 s is longer than 3 s\nhelp: the shorter one comes first",
    ),
    (
        "a duration of a partition that may be nothing",
        r#"lasts = "6 s""#,
        r#"lasts = { mean = "6 s", spread = 1.0 }"#,
        "test.toml:19:9: this must be longer than 0 s",
    ),
    (
        "a negative jitter",
        r#"lasts = "6 s""#,
        "lasts = \"6 s\"\njitter = \"-1 s\"",
        "test.toml:20:10: `-1 s` is negative\nhelp: a valid value is, for example, \"20 ms\"",
    ),
    (
        "a false warning of no link",
        "kind = \"partition\"\nhop = 2\nevery = \"30 s\"\nlasts = \"6 s\"",
        "kind = \"fading\"\nevery = \"30 s\"\nlead = \"1 s\"",
        "test.toml:15:1: this warning needs exactly one link\nhelp: write either hop = 1, or node = 0 for that of a radio",
    ),
    (
        "a false warning of a radio on a path",
        "kind = \"partition\"\nhop = 2\nevery = \"30 s\"\nlasts = \"6 s\"",
        "kind = \"fading\"\nnode = 2\nevery = \"30 s\"\nlead = \"1 s\"",
        "test.toml:17:8: the nodes of a path have no radios\nhelp: use hop = 1",
    ),
    (
        "a false warning of a hop that does not exist",
        "kind = \"partition\"\nhop = 2\nevery = \"30 s\"\nlasts = \"6 s\"",
        "kind = \"fading\"\nhop = 5\nevery = \"30 s\"\nlead = \"1 s\"",
        "test.toml:17:7: hop 5 out of range 1–4\nhelp: hop 1 joins node 0 and node 1",
    ),
    (
        "a false warning without a schedule",
        "kind = \"partition\"\nhop = 2\nevery = \"30 s\"\nlasts = \"6 s\"",
        "kind = \"fading\"\nhop = 2\nlead = \"1 s\"",
        "test.toml:15:1: this fault has no schedule\nhelp: add every = \"300 s\", first = \"60 s\", or both",
    ),
    (
        "a false warning with a jitter as long as its period",
        "kind = \"partition\"\nhop = 2\nevery = \"30 s\"\nlasts = \"6 s\"",
        "kind = \"fading\"\nhop = 2\nevery = \"30 s\"\njitter = \"30 s\"\nlead = \"1 s\"",
        "test.toml:19:10: a jitter of 30 s with a period of 30 s\nhelp: `jitter` must be shorter than `every`",
    ),
    (
        "a false warning that never occurs",
        "kind = \"partition\"\nhop = 2\nevery = \"30 s\"\nlasts = \"6 s\"",
        "kind = \"fading\"\nhop = 2\nevery = \"30 s\"\ncount = 0\nlead = \"1 s\"",
        "test.toml:19:9: this fault never occurs",
    ),
    (
        "a fault as long as its period",
        r#"lasts = "6 s""#,
        r#"lasts = "30 s""#,
        "test.toml:19:9: a duration of 30 s with a period of 30 s\nhelp: `lasts` must be shorter than `every`",
    ),
    (
        "an unknown signal",
        r#"lasts = "6 s""#,
        r#"lasts = "6 s"
signal = "elfn""#,
        "test.toml:20:10: unknown value `elfn`\nhelp: did you mean `rfn`? available: icmp-unreachable, rfn, link, none",
    ),
    (
        "a warning without link signals",
        r#"lasts = "6 s""#,
        r#"lasts = "6 s"
lead = "1 s""#,
        "test.toml:20:8: only the hosts at the ends of the hop can be warned of a partition\nhelp: add signal = \"link\"",
    ),
    (
        "too many partitions",
        r#"hop = 2
every = "30 s""#,
        r#"hop = "random"
count = 100"#,
        "test.toml:18:9: 100 partitions of 6 s do not fit into 100 s\nhelp: reduce their number or duration",
    ),
    (
        "a change without values",
        "[[flow]]",
        r#"[[network.fault]]
kind = "change"
hop = 2
after = "partition"

[[flow]]"#,
        r#"test.toml:21:1: this change has neither rates nor delays
help: add rate = ["16 kbit/s"] or delay = ["50 ms"]"#,
    ),
    (
        "a change without a time",
        "[[flow]]",
        r#"[[network.fault]]
kind = "change"
hop = 2
rate = ["1 Mbit/s"]

[[flow]]"#,
        r#"test.toml:21:1: this change needs exactly one time
help: write either after = "partition" or at = "100 s""#,
    ),
    (
        "a change after no partition",
        "[[flow]]",
        r#"[[network.fault]]
kind = "change"
hop = 4
after = "partition"
rate = ["1 Mbit/s"]

[[flow]]"#,
        "test.toml:24:9: there is no partition of hop 4\nhelp: add one, or use `at`",
    ),
    (
        "zero copies of a flow",
        "to = 4",
        "to = 4\ncopies = 0",
        "test.toml:24:10: the number of copies 0 out of range 1–60000",
    ),
    (
        "cross traffic on a hop without queueing",
        "hop = 3",
        r#"hop = 3
duplex = "per-packet"

[[network.fault]]
kind = "congestion"
hop = 3
every = "30 s"
lasts = "6 s""#,
        "test.toml:18:7: packets on hop 3 do not queue for the link (duplex = \"per-packet\"), so this fault would have no effect\nhelp: use a hop with duplex = \"full\" or \"shared\", or remove the fault",
    ),
    (
        "a hold time with the wrong reordering",
        "[[flow]]",
        r#"[[network.fault]]
kind = "reordering"
hop = 2
first = "3 s"
at_most = "2 s"

[[flow]]"#,
        "test.toml:25:11: `at_most` applies only to packets that are held back\nhelp: add how = \"reverse\"",
    ),
    (
        "an unknown reordering",
        "[[flow]]",
        r#"[[network.fault]]
kind = "reordering"
hop = 2
first = "3 s"
how = "reversed"

[[flow]]"#,
        "test.toml:25:7: unknown value `reversed`\nhelp: did you mean `reverse`? available: front, reverse",
    ),
    (
        "a hold time of zero",
        "[[flow]]",
        r#"[[network.fault]]
kind = "reordering"
hop = 2
first = "3 s"
how = "reverse"
at_most = "0 s"

[[flow]]"#,
        "test.toml:26:11: this must be longer than 0 s",
    ),
    (
        "reverse data over UDP",
        r#"application = { transfer = "1 MB" }
tcp = { recovery = "reno" }"#,
        r#"application = { cbr = { every = "1 s", size = "99 B" } }
transport = "udp"
back = "ftp""#,
        "test.toml:26:8: `back` with transport = \"udp\"\nhelp: only TCP connections are bidirectional; add a second [[flow]] instead",
    ),
    (
        "a constant bit rate in reverse direction",
        r#"tcp = { recovery = "reno" }"#,
        r#"back = { cbr = { every = "1 s", size = "99 B" } }"#,
        "test.toml:25:8: `back` is neither a transfer nor \"ftp\"\nhelp: use { transfer = \"1 MB\" } or \"ftp\"; for others add a second [[flow]]",
    ),
    (
        "an empty reverse transfer",
        r#"tcp = { recovery = "reno" }"#,
        r#"back = { transfer = "0 B" }"#,
        "test.toml:25:8: a transfer of 0 B\nhelp: leave out `back`",
    ),
    (
        "a parallel route in reverse direction",
        "[[flow]]",
        "[[network.parallel]]\nfrom = 3\nto = 1\nhops = 2\n\n[[flow]]",
        "test.toml:23:6: this route goes from node 3 to node 1\nhelp: `from` comes before `to`",
    ),
    (
        "no flow",
        r#"[[flow]]
from = 0
to = 4
application = { transfer = "1 MB" }
tcp = { recovery = "reno" }"#,
        "",
        "test.toml:1:1: no flow, so there is nothing to measure\nhelp: add a [[flow]] with from, to and application",
    ),
    (
        "a flow to its own sender",
        "to = 4",
        "to = 0",
        "test.toml:23:6: this flow goes from node 0 to itself\nhelp: `from` and `to` must differ",
    ),
    (
        "a node out of range",
        "to = 4",
        "to = 5",
        "test.toml:23:6: node 5 out of range 0–4\nhelp: a path of 4 hops ends at node 4",
    ),
    (
        "a start after the end of the run",
        "to = 4",
        r#"to = 4
start = "2 min""#,
        "test.toml:24:9: this flow starts at 120 s, but the run ends at 100 s\nhelp: start it before `duration`",
    ),
    (
        "a string for a number",
        "to = 4",
        r#"to = "4""#,
        r#"test.toml:23:6: expected a whole number from 0 to 4294967295, found the text "4""#,
    ),
    (
        "an unknown application",
        r#"{ transfer = "1 MB" }"#,
        r#""ftpp""#,
        "test.toml:24:15: unknown value `ftpp`\nhelp: did you mean `ftp`? available: transfer, ftp, cbr, poisson, on-off, request-response",
    ),
    (
        "a transfer without a size",
        r#"{ transfer = "1 MB" }"#,
        r#""transfer""#,
        "test.toml:24:15: `transfer` needs a value\nhelp: write { transfer = … }",
    ),
    (
        "a value for ftp",
        r#"{ transfer = "1 MB" }"#,
        "{ ftp = 1 }",
        r#"test.toml:24:15: `ftp` has no value
help: write "ftp""#,
    ),
    (
        "two applications",
        r#"{ transfer = "1 MB" }"#,
        r#"{ transfer = "1 MB", cbr = { every = "1 s", size = "1 B" } }"#,
        "test.toml:24:15: expected one of transfer, ftp, cbr, poisson, on-off, request-response, found 2 keys",
    ),
    (
        "an application that is a number",
        r#"{ transfer = "1 MB" }"#,
        "7",
        r#"test.toml:24:15: expected { transfer = "1 MB" }, "ftp", { cbr = { every = "0.25 s", size = "512 B" } }, { poisson = { … } }, { on-off = { … } } or { request-response = { … } }, found the bare number 7"#,
    ),
    (
        "a transfer over UDP",
        "to = 4",
        r#"to = 4
transport = "udp""#,
        r#"test.toml:25:15: this application needs TCP
help: with UDP use { cbr = { every = "0.25 s", size = "512 B" } }"#,
    ),
    (
        "a TCP configuration with UDP",
        r#"application = { transfer = "1 MB" }"#,
        r#"application = { cbr = { every = "1 s", size = "1 B" } }
transport = "udp""#,
        r#"test.toml:26:7: `tcp` with transport = "udp"
help: leave out one of them"#,
    ),
    (
        "an aid with UDP",
        r#"application = { transfer = "1 MB" }
tcp = { recovery = "reno" }"#,
        r#"application = { cbr = { every = "1 s", size = "1 B" } }
transport = "udp"
aid = "atcp""#,
        r#"test.toml:26:7: an aid with transport = "udp"
help: aids need TCP; leave out one of them"#,
    ),
    (
        "an invalid pair of recovery and growth",
        r#"recovery = "reno""#,
        r#"recovery = "reno", growth = "cubic""#,
        r#"test.toml:25:37: recovery "reno" cannot be combined with growth "cubic"
help: valid pairs: {pairs}"#,
    ),
    (
        "an unknown recovery",
        r#"recovery = "reno""#,
        r#"recovery = "new-reno""#,
        "test.toml:25:20: unknown value `new-reno`\nhelp: did you mean `newreno`? available: tahoe, reno, newreno, sack, rack-tlp, segment-timers",
    ),
    (
        "a window smaller than a segment",
        r#"recovery = "reno""#,
        r#"window = "1 kB""#,
        "test.toml:25:18: a window of 1 kB is smaller than one segment of 1460 B\nhelp: the minimum is one mss",
    ),
    (
        "a window of zero segments",
        r#"recovery = "reno""#,
        "window = 0",
        "test.toml:25:18: a window of 0 B is smaller than one segment of 1460 B\nhelp: the minimum is one mss",
    ),
    (
        "a window that needs scaling",
        r#"recovery = "reno""#,
        r#"window = "1 MB", window_scale = false"#,
        "test.toml:25:18: a window of 1 MB without window_scale\nhelp: the maximum without it is 65535 B",
    ),
    (
        "a window above TCP's maximum",
        r#"recovery = "reno""#,
        r#"window = "2 GB""#,
        "test.toml:25:18: a window of 2 GB\nhelp: the maximum of TCP is 1073741823 B",
    ),
    (
        "an mss too small",
        r#"recovery = "reno""#,
        r#"mss = "10 B""#,
        "test.toml:25:15: an mss of 10 out of range 48–65495",
    ),
    (
        "reversed timeouts",
        r#"recovery = "reno""#,
        r#"min_rto = "2 s", max_rto = "1 s""#,
        "test.toml:25:19: `min_rto` of 2 s is longer than max_rto, 1 s",
    ),
    (
        "a tick of zero",
        r#"recovery = "reno""#,
        r#"tick = "0 s""#,
        "test.toml:25:16: this must be longer than 0 s",
    ),
    (
        "a phase longer than the tick",
        r#"recovery = "reno""#,
        r#"tick = { timer = "1 ms", phase = "2 ms" }"#,
        "test.toml:25:42: a phase of 2 ms in a tick of 1 ms\nhelp: phases are shorter than the tick",
    ),
    (
        "a string for a boolean",
        r#"recovery = "reno""#,
        r#"ecn = "yes""#,
        r#"test.toml:25:15: expected true or false, found the text "yes""#,
    ),
    (
        "an unknown aid",
        r#"tcp = { recovery = "reno" }"#,
        r#"aid = "actp""#,
        "test.toml:25:7: unknown value `actp`\nhelp: did you mean `atcp`? available: {aids}",
    ),
    (
        "an aid without its name",
        r#"tcp = { recovery = "reno" }"#,
        r#"aid = { tick = "1 s" }"#,
        "test.toml:25:7: the key `name` is missing\nhelp: add `name = …` to this table",
    ),
    (
        "an unknown option of an aid",
        r#"tcp = { recovery = "reno" }"#,
        r#"aid = { name = "atcp", persist = "1 s" }"#,
        "test.toml:25:24: unknown key `persist`\nhelp: did you mean `persist_max`? the keys of this table are tick, tick_phase, persist_min, persist_max, resend, retransmission, leave_loss, backoff, congested_until, echo, restore, duplicates, pull_back",
    ),
    (
        "an option without an aid",
        r#"tcp = { recovery = "reno" }"#,
        r#"aid = { name = "none", tick = "1 s" }"#,
        "test.toml:25:24: unknown key `tick`\nhelp: this table has no keys",
    ),
    (
        "reversed persist times of an aid",
        r#"tcp = { recovery = "reno" }"#,
        r#"aid = { name = "atcp", persist_max = "1 s" }"#,
        "test.toml:25:38: persist_max of 1 s is shorter than persist_min, 2 s",
    ),
    (
        "an aid that is a number",
        r#"tcp = { recovery = "reno" }"#,
        r#"aid = 3"#,
        r#"test.toml:25:7: expected the name of an aid ({aids}), or a table with the key `name`, found the bare number 3"#,
    ),
    (
        "a name of an aid that is a number",
        r#"tcp = { recovery = "reno" }"#,
        r#"aid = { name = 3 }"#,
        r#"test.toml:25:16: expected the name of an aid ({aids}), found the bare number 3"#,
    ),
    (
        "an unknown aid without a suggestion",
        r#"tcp = { recovery = "reno" }"#,
        r#"aid = "zzzz""#,
        r#"test.toml:25:7: unknown value `zzzz`
help: available: {aids}"#,
    ),
    (
        "an unknown value of an option",
        r#"tcp = { recovery = "reno" }"#,
        r#"aid = { name = "atcp", leave_loss = "acks" }"#,
        r#"test.toml:25:37: unknown value `acks`
help: did you mean `ack`? available: ack, ack-or-data"#,
    ),
    (
        "a number for an enumeration",
        r#"tcp = { recovery = "reno" }"#,
        r#"aid = { name = "atcp", resend = 1.5 }"#,
        r#"test.toml:25:33: expected one of "first", "all", found the bare number 1.5"#,
    ),
    (
        "a word for a time",
        r#"tcp = { recovery = "reno" }"#,
        r#"aid = { name = "atcp", tick = "often" }"#,
        r#"test.toml:25:31: `often` does not begin with a number
help: a valid value is, for example, "20 ms""#,
    ),
    (
        "a word for a boolean",
        r#"tcp = { recovery = "reno" }"#,
        r#"aid = { name = "atcp", backoff = "yes" }"#,
        r#"test.toml:25:34: expected true or false, found the text "yes""#,
    ),
    (
        "a tick of an aid that is too short",
        r#"tcp = { recovery = "reno" }"#,
        r#"receiver_aid = { name = "atcp", tick = "0.5 ms" }"#,
        r#"test.toml:25:40: `tick` of 500 us
help: the minimum is 1 ms"#,
    ),
    (
        "descending times",
        r#"tcp = { recovery = "reno" }"#,
        r#"unreachable_at = ["5 s", "2 s"]"#,
        "test.toml:25:18: 2 s comes after 5 s\nhelp: write the times in ascending order",
    ),
    (
        "notifications of link failures on a path",
        r#"tcp = { recovery = "reno" }"#,
        r#"unreachable_until = "5 s""#,
        r#"test.toml:25:21: `unreachable_until` in a network of kind "path"
help: link failures are reported in ad hoc networks only; here use `unreachable_at`"#,
    ),
    (
        "PRR without SACK",
        r#"recovery = "reno""#,
        r#"recovery = "reno", prr = true"#,
        r#"test.toml:25:34: `prr` needs selective acknowledgments, and recovery "reno" has none
help: set recovery to sack or rack-tlp or segment-timers, or prr to false"#,
    ),
    (
        "duplicates reported without SACK",
        r#"recovery = "reno""#,
        r#"recovery = "reno", dsack = true"#,
        r#"test.toml:25:36: `dsack` needs selective acknowledgments, and recovery "reno" has none
help: set recovery to sack or rack-tlp or segment-timers, or dsack to false"#,
    ),
    (
        "Eifel without timestamps",
        r#"recovery = "reno""#,
        r#"preset = "linux", timestamps = false"#,
        r#"test.toml:25:18: `eifel` needs timestamps, and they are off
help: set timestamps to true, or eifel to false"#,
    ),
    (
        "reversed persist times of TCP",
        r#"recovery = "reno""#,
        r#"recovery = "reno", persist_min = "2 s", persist_max = "1 s""#,
        r#"test.toml:25:63: persist_max of 1 s is shorter than persist_min, 2 s"#,
    ),
    (
        "a persist interval of zero",
        r#"recovery = "reno""#,
        r#"recovery = "reno", persist_min = "0 s""#,
        r#"test.toml:25:42: this must be longer than 0 s"#,
    ),
    (
        "a number of retries with a unit",
        r#"recovery = "reno""#,
        r#"recovery = "reno", max_retries = "15 s""#,
        r#"test.toml:25:42: expected a whole number from 0 to 4294967295, found the text "15 s""#,
    ),
    (
        "a segment limit of zero",
        r#"tcp = { recovery = "reno" }"#,
        r#"aid = { name = "cwnd-limit", segments = 0 }"#,
        r#"test.toml:25:41: `segments` of 0 out of range 1–1048576"#,
    ),
    (
        "a fractional segment limit",
        r#"tcp = { recovery = "reno" }"#,
        r#"aid = { name = "cwnd-limit", segments = 0.5 }"#,
        r#"test.toml:25:41: expected a whole number, found the bare number 0.5"#,
    ),
    (
        "a route failure timeout of zero",
        r#"tcp = { recovery = "reno" }"#,
        r#"aid = { name = "tcp-f", route_failure_timeout = "0 s" }"#,
        "test.toml:25:49: `route_failure_timeout` of 0 s\nhelp: the minimum is 1 ms",
    ),
    (
        "an unknown key of routers",
        "hops = 4",
        "hops = 4\nrouters = { buffers = 20 }",
        "test.toml:7:13: unknown key `buffers`\nhelp: did you mean `buffer`? the keys of this table are rfn_lifetime, buffer",
    ),
    (
        "a buffer of zero packets",
        "hops = 4",
        "hops = 4\nrouters = { buffer = { packets = 0 } }",
        "test.toml:7:34: the number of packets 0 out of range 1–1000000",
    ),
    (
        "a buffer without a size",
        "hops = 4",
        r#"hops = 4
routers = { buffer = { flush = "rrn" } }"#,
        "test.toml:7:22: the key `packets` is missing\nhelp: add `packets = …` to this table",
    ),
    (
        "an unknown flush trigger",
        "hops = 4",
        r#"hops = 4
routers = { buffer = { packets = 9, flush = "rfn" } }"#,
        "test.toml:7:45: unknown value `rfn`\nhelp: did you mean `rrn`? available: route, rrn",
    ),
    (
        "an RFN lifetime of zero",
        "hops = 4",
        r#"hops = 4
routers = { rfn_lifetime = "0 s" }"#,
        "test.toml:7:28: this must be longer than 0 s",
    ),
    (
        "a string for standby",
        "[[network.override]]",
        r#"[[network.parallel]]
from = 1
to = 3
hops = 2
standby = "yes"

[[network.override]]"#,
        r#"test.toml:16:11: expected true or false, found the text "yes""#,
    ),
    (
        "standby in an override",
        "hop = 3",
        "hop = 3\nstandby = true",
        "test.toml:14:1: unknown key `standby`\nhelp: the keys of this table are hop, rate, delay, bit_error_rate, packet_error_rate, burst, loss, trace, queue, reverse, duplex, order, mark_loss",
    ),
    (
        "the node of a partition",
        "hop = 2\nevery",
        "node = 2\nevery",
        "test.toml:17:1: unknown key `node`\nhelp: the keys of this table are hop, every, first, jitter, lasts, count, queue, signal, signal_loss, lead",
    ),
    (
        "an outage of the radio of a node on a path",
        "kind = \"partition\"\nhop = 2",
        "kind = \"radio-down\"\nnode = 2",
        "test.toml:16:8: a fault of kind \"radio-down\", but the nodes of a path have no radios\nhelp: to interrupt a hop, use kind = \"partition\"",
    ),
    (
        "the name of a node of a path",
        "to = 4",
        "to = \"server\"",
        "test.toml:23:6: expected a whole number from 0 to 4294967295, found the text \"server\"",
    ),
    (
        "a reference without a quantity",
        r#"tcp = { recovery = "reno" }"#,
        r#"
[[reference]]
source = "a paper"
metric = "completion_s"
x = "network.link.delay"
points = [["soon", 1]]"#,
        r#"test.toml:30:12: `soon` is not a quantity
help: a valid value is, for example, "10 ms""#,
    ),
    (
        "a date",
        r#"name = "a test""#,
        "name = 2001-07-01",
        "test.toml:1:8: expected a string, found a date",
    ),
    ("an empty name", r#"name = "a test""#, r#"name = """#, "test.toml:1:8: the name is empty"),
];

#[test]
fn the_valid_scenario_is_accepted() {
    assert!(Scenario::parse("test.toml", RIGHT, &[]).is_ok());
}

#[test]
fn errors_have_their_messages() {
    let aids = AIDS.iter().map(|aid| aid.name);
    let aids = std::iter::once("none").chain(aids).collect::<Vec<_>>().join(", ");
    let pairs = RecoveryKind::ALL.iter().map(|(name, recovery)| {
        let growths: Vec<_> = recovery.controls().map(ControlKind::name).collect();
        format!("{name} with {}", growths.join(" or "))
    });
    let pairs = pairs.collect::<Vec<_>>().join("; ");
    assert!(pairs.starts_with("tahoe with reno; reno with reno; newreno with reno or cubic"));
    let mut failed = String::new();
    for (what, find, put, says) in WRONG {
        assert!(RIGHT.contains(find), "{what}: `{find}` is not there");
        let found = match Scenario::parse("test.toml", &RIGHT.replacen(find, put, 1), &[]) {
            Ok(_) => "nothing".to_owned(),
            Err(error) => error.to_string(),
        };
        if found != says.replace("{aids}", &aids).replace("{pairs}", &pairs) {
            failed += &format!("## {what}\n{found}\n");
        }
    }
    assert!(failed.is_empty(), "\n{failed}");
}
