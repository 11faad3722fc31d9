//! Error messages for ad hoc networks.

use driftway_scenario::Scenario;

use super::RIGHT;

const MOBILITY: &str =
    r#"mobility = { model = "random-waypoint", speed = ["9 m/s", "11 m/s"], pause = "0 s" }"#;
const RADIO: &str =
    r#"radio = { propagation = "two-ray", receive_range = "250 m", sense_range = "550 m" }"#;
const MAC: &str = r#"mac = { kind = "dcf", data_rate = "2 Mbit/s", basic_rate = "1 Mbit/s", rts_threshold = "0 B" }"#;
const ROUTING: &str = r#"routing = { protocol = "dsr", promiscuous = true }"#;

/// Description; text to find in [`RIGHT`]; its replacement; the expected message.
const WRONG: &[(&str, &str, &str, &str)] = &[
    (
        "an unknown kind",
        "kind = \"adhoc\"",
        "kind = \"ad-hoc\"",
        "test.toml:5:8: unknown value `ad-hoc`\nhelp: did you mean `adhoc`? available: path, adhoc, mixed",
    ),
    (
        "a key of a path",
        "nodes = 50",
        "hops = 50",
        "test.toml:6:1: unknown key `hops`\nhelp: the keys of this table are nodes, area, mobility, radio, mac, queue, arp, routing, feedback, icmp_rate, route_probe, link_signals, link_retry, compat, fault",
    ),
    (
        "no nodes",
        "nodes = 50\n",
        "",
        "test.toml:4:1: the key `nodes` is missing\nhelp: add `nodes = …` to this table",
    ),
    (
        "one node",
        "nodes = 50",
        "nodes = 1",
        "test.toml:6:9: the number of nodes 1 out of range 2–65000",
    ),
    (
        "a quantity of nodes",
        "nodes = 50",
        "nodes = \"50\"",
        r#"test.toml:6:9: expected a whole number from 0 to 4294967295, found the text "50""#,
    ),
    (
        "an area of one side",
        r#"area = ["1500 m", "1000 m"]"#,
        r#"area = ["1500 m"]"#,
        "test.toml:7:8: expected an array of two values, found 1 values",
    ),
    (
        "an area in seconds",
        r#"area = ["1500 m", "1000 m"]"#,
        r#"area = ["1500 m", "3 s"]"#,
        "test.toml:7:19: `s` is not a known unit\nhelp: known units: mm, cm, m, km",
    ),
    (
        "an area without units",
        r#"area = ["1500 m", "1000 m"]"#,
        "area = [1500, 1000]",
        r#"test.toml:7:9: expected a distance with its unit, such as "250 m", found the bare number 1500"#,
    ),
    (
        "a negative area side",
        r#"area = ["1500 m", "1000 m"]"#,
        r#"area = ["1500 m", "-1 m"]"#,
        "test.toml:7:19: an area of 1500 m × -1 m\nhelp: sides are longer than 0 m",
    ),
    (
        "no area",
        "area = [\"1500 m\", \"1000 m\"]\n",
        "",
        r#"test.toml:4:1: this model of mobility needs an area
help: add `area = ["1000 m", "1000 m"]`"#,
    ),
    (
        "no mobility",
        MOBILITY,
        "",
        "test.toml:4:1: the key `mobility` is missing\nhelp: add `mobility = …` to this table",
    ),
    (
        "a string for mobility",
        MOBILITY,
        r#"mobility = "random-waypoint""#,
        r#"test.toml:8:12: expected mobility: { file = "x.mov" }, { model = "random-waypoint", speed = ["1 m/s", "10 m/s"] }, { model = "constant-velocity", positions = [["0 m", "0 m"]], velocities = [["1 m/s", "0 m/s"]] }, { positions = [["0 m", "0 m"]] } or { chain = "200 m" }, found the text "random-waypoint""#,
    ),
    (
        "an empty mobility",
        MOBILITY,
        "mobility = {}",
        r#"test.toml:8:12: expected mobility: { file = "x.mov" }, { model = "random-waypoint", speed = ["1 m/s", "10 m/s"] }, { model = "constant-velocity", positions = [["0 m", "0 m"]], velocities = [["1 m/s", "0 m/s"]] }, { positions = [["0 m", "0 m"]] } or { chain = "200 m" }"#,
    ),
    (
        "an unknown model",
        MOBILITY,
        r#"mobility = { model = "random-walk" }"#,
        "test.toml:8:22: unknown value `random-walk`\nhelp: did you mean `random-waypoint`? available: random-waypoint, constant-velocity, gauss-markov, manhattan, reference-point-group",
    ),
    (
        "a group that is wider than the area",
        MOBILITY,
        r#"mobility = { model = "reference-point-group", radius = "500 m" }"#,
        "test.toml:8:56: 500 m in an area of 1500 m × 1000 m\nhelp: less than half of each side of `area`",
    ),
    (
        "streets with a minimum speed over the maximum",
        MOBILITY,
        r#"mobility = { model = "manhattan", min_speed = "20 m/s" }"#,
        "test.toml:8:47: 20 m/s is more than max_speed, 15 m/s\nhelp: at most `max_speed`",
    ),
    (
        "an impossible fading",
        "radio = { propagation = \"two-ray\",",
        "radio = { fading = { nakagami = 0.4 }, propagation = \"two-ray\",",
        "test.toml:9:20: a shape m of 0.4\nhelp: 0.5 to 1000; 1 is Rayleigh",
    ),
    (
        "fading of a unit disk",
        "radio = { propagation = \"two-ray\",",
        "radio = { fading = \"rayleigh\", propagation = \"range\",",
        "test.toml:9:20: fading with the range model, which has no received power\nhelp: another model of propagation",
    ),
    (
        "a rate that is not one of 802.11g",
        "data_rate = \"2 Mbit/s\", basic_rate = \"1 Mbit/s\"",
        "phy = \"erp-ofdm\", data_rate = \"11 Mbit/s\"",
        "test.toml:10:53: 11 Mbit/s with OFDM\nhelp: its rates are 6, 9, 12, 18, 24, 36, 48 and 54 Mbit/s",
    ),
    (
        "a model without speed",
        MOBILITY,
        r#"mobility = { model = "random-waypoint" }"#,
        r#"test.toml:8:12: model "random-waypoint" needs `speed`
help: add `speed = …`"#,
    ),
    (
        "a misspelt key",
        MOBILITY,
        r#"mobility = { model = "random-waypoint", sped = "5 m/s" }"#,
        "test.toml:8:41: unknown key `sped`\nhelp: did you mean `speed`? the keys of this table are model, speed, pause, steady_state, positions, velocities, file, format, start, origin, offset, chain",
    ),
    (
        "a reversed speed range",
        MOBILITY,
        r#"mobility = { model = "random-waypoint", speed = ["9 m/s", "3 m/s"] }"#,
        "test.toml:8:49: no speed lies between 9 m/s and 3 m/s\nhelp: the lower first, the higher over 0",
    ),
    (
        "three speeds",
        MOBILITY,
        r#"mobility = { model = "random-waypoint", speed = ["1 m/s", "3 m/s", "5 m/s"] }"#,
        "test.toml:8:68: too many values: expected 2",
    ),
    (
        "one speed in an array",
        MOBILITY,
        r#"mobility = { model = "random-waypoint", speed = ["1 m/s"] }"#,
        "test.toml:8:49: expected a value with its unit, or an array of two, minimum and maximum, found 1 values",
    ),
    (
        "a negative speed",
        MOBILITY,
        r#"mobility = { model = "random-waypoint", speed = "-1 m/s" }"#,
        "test.toml:8:49: no speed lies between -1 m/s and -1 m/s\nhelp: the lower first, the higher over 0",
    ),
    (
        "speeds from zero in the steady state",
        MOBILITY,
        r#"mobility = { model = "random-waypoint", speed = ["0 m/s", "3 m/s"] }"#,
        "test.toml:8:49: speeds down to 0 have no steady state: the mean speed falls for ever\nhelp: a lowest speed above 0 m/s",
    ),
    (
        "a model and a chain",
        MOBILITY,
        r#"mobility = { model = "random-waypoint", speed = "5 m/s", chain = "200 m" }"#,
        r#"test.toml:8:12: `chain` cannot be combined with model "random-waypoint"
help: its keys are model, speed, pause, steady_state"#,
    ),
    (
        "a file and a pause",
        MOBILITY,
        r#"mobility = { file = "x.mov", pause = "1 s" }"#,
        "test.toml:8:12: `pause` cannot be combined with `file`\nhelp: its keys are file, format, start, origin, offset",
    ),
    (
        "an unknown movement format",
        MOBILITY,
        r#"mobility = { file = "x.mov", format = "ns2" }"#,
        "test.toml:8:39: unknown value `ns2`\nhelp: did you mean `ns-2`? available: ns-2, bonnmotion, sumo-fcd, gpx, csv",
    ),
    (
        "an origin outside of the globe",
        MOBILITY,
        r#"mobility = { file = "x.gpx", origin = ["24 deg", "181 deg"] }"#,
        "test.toml:8:12: `origin` is 24 deg, 181 deg\nhelp: the latitude from -90 deg to 90 deg, then the longitude from -180 deg to 180 deg",
    ),
    (
        "an offset that is too far",
        MOBILITY,
        r#"mobility = { file = "x.mov", offset = ["0 m", "-2e6 km"] }"#,
        "test.toml:8:12: `offset` is 0 m, -2000000000 m\nhelp: at most 1000000 km",
    ),
    (
        "no movement files",
        MOBILITY,
        "mobility = { file = [] }",
        "test.toml:8:21: a list of no files\nhelp: name at least one file",
    ),
    (
        "positions for other nodes",
        MOBILITY,
        r#"mobility = { positions = [["0 m", "0 m"], ["1 m", "0 m"]] }"#,
        "test.toml:6:9: 50 nodes, but `mobility` has 2\nhelp: leave `nodes` out",
    ),
    (
        "a position of one coordinate",
        MOBILITY,
        r#"mobility = { positions = [["0 m"]] }"#,
        "test.toml:8:27: expected an array of two values, found 1 values",
    ),
    (
        "a position outside the area",
        "nodes = 50\narea = [\"1500 m\", \"1000 m\"]\nmobility = { model = \"random-waypoint\", speed = [\"9 m/s\", \"11 m/s\"], pause = \"0 s\" }",
        r#"area = ["9 m", "9 m"]
mobility = { positions = [["0 m", "0 m"], ["1 m", "10 m"]] }"#,
        "test.toml:7:43: a node at (1 m, 10 m) is outside\nhelp: x is from 0 m to 9 m, y from 0 m to 9 m",
    ),
    (
        "velocities of other nodes",
        MOBILITY,
        r#"mobility = { model = "constant-velocity", positions = [["0 m", "0 m"], ["1 m", "1 m"]], velocities = [] }"#,
        "test.toml:6:9: 50 nodes, but `mobility` has 2\nhelp: leave `nodes` out",
    ),
    (
        "a chain without spacing",
        MOBILITY,
        r#"mobility = { chain = "0 m" }"#,
        "test.toml:8:22: a spacing of 0 m\nhelp: spacings are above 0 m",
    ),
    (
        "a chain beyond the area",
        MOBILITY,
        r#"mobility = { chain = "200 m" }"#,
        "test.toml:8:22: a node at (9800 m, 0 m) is outside\nhelp: x is from 0 m to 1500 m, y from 0 m to 1000 m",
    ),
    (
        "an unknown propagation",
        RADIO,
        r#"radio = { propagation = "tworay" }"#,
        "test.toml:9:25: unknown value `tworay`\nhelp: did you mean `two-ray`? available: two-ray, friis, range, log-distance",
    ),
    (
        "a range and a threshold",
        RADIO,
        r#"radio = { receive_range = "250 m", receive_threshold = "-64 dBm" }"#,
        "test.toml:9:56: both receive_range and receive_threshold\nhelp: leave out one of them",
    ),
    (
        "the energy of an unknown radio",
        RADIO,
        r#"radio = { energy = "wavlan" }"#,
        "test.toml:9:20: `wavlan` is no radio whose energy is known\nhelp: did you mean `wavelan`? known: ns-2, wavelan; or a table with the keys transmit, receive, idle and off",
    ),
    (
        "energy without a state",
        RADIO,
        r#"radio = { energy = { transmit = "1 W", receive = "1 W" } }"#,
        "test.toml:9:20: the key `idle` is missing\nhelp: add `idle = …` to this table",
    ),
    (
        "a negative power",
        RADIO,
        r#"radio = { energy = { transmit = "1 W", receive = "-1 W", idle = "0 W" } }"#,
        "test.toml:9:50: a power of -1 W\nhelp: it is at least 0 W",
    ),
    (
        "a range by power",
        RADIO,
        r#"radio = { propagation = "range", receive_threshold = "-64 dBm", sense_threshold = "-78 dBm" }"#,
        "test.toml:9:54: the range model has no received power\nhelp: a distance",
    ),
    (
        "a sense range below the receive range",
        RADIO,
        r#"radio = { receive_range = "250 m", sense_range = "200 m" }"#,
        "test.toml:9:50: frames are sensed up to 200 m but decoded up to 250 m\nhelp: a sense range of at least the receive range",
    ),
    (
        "a sense threshold above the receive threshold",
        RADIO,
        r#"radio = { receive_threshold = "-64 dBm", sense_threshold = "-60 dBm" }"#,
        "test.toml:9:60: frames are sensed up to 194.3529799528896 m but decoded up to 244.6759053206151 m\nhelp: a sense range of at least the receive range",
    ),
    (
        "a receive threshold without a sense threshold",
        RADIO,
        r#"radio = { receive_threshold = "-64 dBm" }"#,
        "test.toml:9:31: receive_threshold without sense_threshold\nhelp: add sense_threshold",
    ),
    (
        "a level of no power",
        RADIO,
        r#"radio = { power = "0 W" }"#,
        "test.toml:9:19: 0 is out of range\nhelp: a number above 0",
    ),
    (
        "a level beyond measure",
        RADIO,
        r#"radio = { power = "99999 dBm" }"#,
        "test.toml:9:19: inf is out of range\nhelp: a number above 0",
    ),
    (
        "a power without a unit",
        RADIO,
        r#"radio = { power = 20 }"#,
        r#"test.toml:9:19: expected a power with its unit, such as "-64.4 dBm", found the bare number 20"#,
    ),
    (
        "shadowing without log-distance",
        RADIO,
        r#"radio = { shadowing = "4 dB" }"#,
        r#"test.toml:9:23: `shadowing` without log-distance
help: add propagation = "log-distance""#,
    ),
    (
        "decorrelation without shadowing",
        RADIO,
        r#"radio = { propagation = "log-distance", decorrelation = "20 m" }"#,
        r#"test.toml:9:57: `decorrelation` without shadowing
help: add shadowing = "6 dB", or another deviation"#,
    ),
    (
        "shadowing that changes at once",
        RADIO,
        r#"radio = { propagation = "log-distance", shadowing = "6 dB", decorrelation = "0 m" }"#,
        "test.toml:9:77: a decorrelation distance of 0 m\nhelp: 0.1 m to 1000 km",
    ),
    (
        "a steep exponent",
        RADIO,
        r#"radio = { propagation = "log-distance", exponent = 11 }"#,
        "test.toml:9:52: 11 is not a valid path loss exponent\nhelp: 1 to 10; 2 in free space",
    ),
    (
        "an antenna in the ground",
        RADIO,
        r#"radio = { antenna_height = "0 m" }"#,
        "test.toml:9:28: 0 is out of range\nhelp: a number above 0",
    ),
    (
        "a frequency of zero",
        RADIO,
        r#"radio = { frequency = "0 Hz" }"#,
        "test.toml:9:23: a frequency must be above 0 Hz",
    ),
    (
        "a capture ratio without a unit",
        RADIO,
        r#"radio = { capture = 10 }"#,
        r#"test.toml:9:21: expected a ratio with its unit, such as "10 dB", or "none", found the bare number 10"#,
    ),
    (
        "a negative capture ratio",
        RADIO,
        r#"radio = { capture = "-3 dB" }"#,
        "test.toml:9:21: a capture ratio of 0.5011872336272722\nhelp: a factor of 1 or more",
    ),
    (
        "a probability above one",
        RADIO,
        r#"radio = { packet_error_rate = 1.5 }"#,
        "test.toml:9:31: 1.5 is not a probability\nhelp: probabilities are from 0 to 1",
    ),
    (
        "a mac without kind",
        MAC,
        r#"mac = { data_rate = "2 Mbit/s" }"#,
        "test.toml:10:7: the key `kind` is missing\nhelp: add `kind = …` to this table",
    ),
    (
        "an unknown mac",
        MAC,
        r#"mac = { kind = "aloha" }"#,
        "test.toml:10:16: unknown value `aloha`\nhelp: available: dcf, tdma",
    ),
    (
        "a retry limit of zero",
        MAC,
        r#"mac = { kind = "dcf", short_retry_limit = 0 }"#,
        "test.toml:10:43: the number of attempts 0 out of range 1–255",
    ),
    (
        "reversed contention windows",
        MAC,
        r#"mac = { kind = "dcf", cw_min = 63, cw_max = 31 }"#,
        "test.toml:10:45: cw_max 31 is below cw_min, 63",
    ),
    (
        "a slot time of zero",
        MAC,
        r#"mac = { kind = "dcf", slot = "0 s" }"#,
        "test.toml:10:30: this must be longer than 0 s",
    ),
    (
        "a key of the other mac",
        MAC,
        r#"mac = { kind = "tdma", cw_min = 31 }"#,
        "test.toml:10:24: unknown key `cw_min`\nhelp: the keys of this table are data_rate, preamble, slot_bytes, header_bytes, announced, delay_down, delay_up",
    ),
    (
        "DSR over TDMA with mobile nodes",
        MAC,
        r#"mac = { kind = "tdma" }"#,
        "test.toml:10:7: DSR over TDMA with mobile nodes: broken links would not be detected\nhelp: TDMA has no acknowledgments; add routing.confirm = \"network-layer\", or use mac.kind = \"dcf\", static nodes, or AODV, which sends hello messages over TDMA",
    ),
    (
        "flow state with network-layer confirmation",
        ROUTING,
        r#"routing = { protocol = "dsr", confirm = "network-layer", flow_state = { timeout = "60 s", establish = 3, refresh = "5 s" } }"#,
        "test.toml:12:71: flow state needs confirmation by the link layer\nhelp: remove it, or routing.confirm = \"network-layer\"",
    ),
    (
        "an unknown confirmation",
        ROUTING,
        r#"routing = { protocol = "dsr", confirm = "passive" }"#,
        "test.toml:12:41: unknown value `passive`\nhelp: available: link-layer, network-layer",
    ),
    (
        "a passive acknowledgment timeout of zero",
        ROUTING,
        r#"routing = { protocol = "dsr", passive_ack_timeout = "0 s" }"#,
        "test.toml:12:53: this must be longer than 0 s",
    ),
    (
        "an unknown priority",
        "queue = { packets = 50 }",
        r#"queue = { priority = "high" }"#,
        "test.toml:11:22: unknown value `high`\nhelp: available: none, routing-first, classes",
    ),
    (
        "routing without protocol",
        ROUTING,
        "routing = { promiscuous = true }",
        "test.toml:12:11: the key `protocol` is missing\nhelp: add `protocol = …` to this table",
    ),
    (
        "an unknown protocol",
        ROUTING,
        r#"routing = { protocol = "adov" }"#,
        "test.toml:12:24: unknown value `adov`\nhelp: did you mean `aodv`? available: aodv, dsr, static, none",
    ),
    (
        "an unknown protocol by its name alone",
        ROUTING,
        r#"routing = "non""#,
        "test.toml:12:11: unknown value `non`\nhelp: did you mean `none`? available: aodv, dsr, static, none",
    ),
    (
        "a number for routing",
        ROUTING,
        "routing = 3",
        "test.toml:12:11: expected a table with the key `protocol`, found the bare number 3",
    ),
    (
        "a key of another protocol",
        ROUTING,
        r#"routing = { protocol = "aodv", promiscuous = true }"#,
        "test.toml:12:32: unknown key `promiscuous`\nhelp: the keys of this table are active_route_timeout, my_route_timeout, node_traversal_time, net_diameter, ttl_start, ttl_increment, ttl_threshold, timeout_buffer, rreq_retries, search, rreq_rate, rerr_rate, request_memory, reverse_route_life, delete_period, expiry_interval, refresh, neighbour_routes, local_repair, reroute_queued, elfn, epln, bead, errors, purge_on_error, jitter, release_spacing, buffer_packets, buffer_timeout, data_ttl, gratuitous, destination_only, ack_replies, blacklist_timeout, avoid_fading, hello, link_layer_detection, control_detection, whole_seconds, repairing_is_valid, answer_next_hop, even_numbers, udp, timestamps, table_size",
    ),
    (
        "static routing with a key",
        ROUTING,
        r#"routing = { protocol = "static", ttl = 5 }"#,
        "test.toml:12:34: unknown key `ttl`\nhelp: the keys of this table are tcp_padding",
    ),
    (
        "a string for arp",
        ROUTING,
        "arp = \"on\"\nrouting = { protocol = \"dsr\" }",
        r#"test.toml:12:7: expected true, false, or a table with the keys of ARP, found the text "on""#,
    ),
    (
        "an ARP queue of zero",
        ROUTING,
        "arp = { hold = 0 }\nrouting = { protocol = \"dsr\" }",
        "test.toml:12:16: the number of packets 0 out of range 1–1000",
    ),
    (
        "unknown feedback",
        ROUTING,
        "feedback = \"rnf\"\nrouting = { protocol = \"dsr\" }",
        "test.toml:12:12: unknown value `rnf`\nhelp: did you mean `rfn`? available: icmp-unreachable, rfn, none",
    ),
    (
        "an unknown compat",
        r#"compat = "standard""#,
        r#"compat = "ns2""#,
        "test.toml:13:10: unknown value `ns2`\nhelp: did you mean `ns-2`? available: standard, ns-2, ns-2.1b",
    ),
    (
        "a number for compat",
        r#"compat = "standard""#,
        "compat = 2",
        "test.toml:13:10: expected a word, found the bare number 2",
    ),
    (
        "a contention window that is not a power of two minus one",
        MAC,
        r#"mac = { kind = "dcf", cw_min = 30 }"#,
        "test.toml:10:32: a contention window of 30\nhelp: it is a power of two minus one: 15, 31, … 32767",
    ),
    (
        "an unknown value with several alternatives",
        ROUTING,
        r#"routing = { protocol = "dsr", reply_from_cache = "often" }"#,
        "test.toml:12:50: unknown value `often`\nhelp: available: never, ring-zero, always",
    ),
    (
        "a boolean for an enumeration",
        ROUTING,
        r#"routing = { protocol = "dsr", reply_from_cache = true }"#,
        r#"test.toml:12:50: expected one of "never", "ring-zero", "always", found true"#,
    ),
    (
        "a path cache without a limit",
        ROUTING,
        r#"routing = { protocol = "dsr", cache = { paths = { primary = 3 } } }"#,
        "test.toml:12:49: the key `secondary` is missing\nhelp: add `secondary = …` to this table",
    ),
    (
        "an unknown cache",
        ROUTING,
        r#"routing = { protocol = "dsr", cache = "updates" }"#,
        "test.toml:12:39: unknown value `updates`\nhelp: did you mean `update`? available: link-max-life, paths, update",
    ),
    (
        "an unknown cache with options",
        ROUTING,
        r#"routing = { protocol = "dsr", cache = { stash = { notify = true } } }"#,
        "test.toml:12:41: unknown value `stash`\nhelp: available: link-max-life, paths, update",
    ),
    (
        "an unknown option of an update cache",
        ROUTING,
        r#"routing = { protocol = "dsr", cache = { update = { ignore_dat = true } } }"#,
        "test.toml:12:52: unknown key `ignore_dat`\nhelp: did you mean `ignore_data`? the keys of this table are ignore_data, ignore_replies, truncate, notify, secondary",
    ),
    (
        "a number for a boolean option",
        ROUTING,
        r#"routing = { protocol = "dsr", cache = { update = { notify = 1 } } }"#,
        "test.toml:12:61: expected true or false, found the bare number 1",
    ),
    (
        "a path cache without options",
        ROUTING,
        r#"routing = { protocol = "dsr", cache = "paths" }"#,
        "test.toml:12:39: `paths` needs a value\nhelp: write { paths = … }",
    ),
    (
        "options for a cache without options",
        ROUTING,
        r#"routing = { protocol = "dsr", cache = { link-max-life = 3 } }"#,
        "test.toml:12:39: `link-max-life` has no value\nhelp: write \"link-max-life\"",
    ),
    (
        "a route longer than the header",
        ROUTING,
        r#"routing = { protocol = "dsr", max_nodes = 18 }"#,
        "test.toml:12:43: the number of nodes 18 out of range 2–17",
    ),
    (
        "a fractional flow timeout",
        ROUTING,
        r#"routing = { protocol = "dsr", flow_state = { timeout = "1.5 s", establish = 3, refresh = "5 s" } }"#,
        "test.toml:12:56: a timeout of 1500 ms\nhelp: the header encodes whole seconds, 1 s to 65535 s",
    ),
    (
        "a number for a time or none",
        ROUTING,
        r#"routing = { protocol = "dsr", scan = 30 }"#,
        r#"test.toml:12:38: expected a time with its unit, such as "20 ms", found the bare number 30"#,
    ),
    (
        "a count out of the range of its type",
        ROUTING,
        r#"routing = { protocol = "aodv", net_diameter = 256 }"#,
        "test.toml:12:47: expected a whole number from 0 to 255, found the bare number 256",
    ),
    (
        "a time of zero",
        ROUTING,
        r#"routing = { protocol = "aodv", active_route_timeout = "0 s" }"#,
        "test.toml:12:55: this must be longer than 0 s",
    ),
    (
        "a time above the maximum",
        ROUTING,
        r#"routing = { protocol = "aodv", my_route_timeout = "5000000 h" }"#,
        "test.toml:12:51: 18000000000 s is too long\nhelp: the maximum is 100000000 s",
    ),
    (
        "local repair without max_hops",
        ROUTING,
        r#"routing = { protocol = "aodv", local_repair = { near = { add_ttl = 2 } } }"#,
        "test.toml:12:56: the key `max_hops` is missing\nhelp: add `max_hops = …` to this table",
    ),
    (
        "local repair without a table",
        ROUTING,
        r#"routing = { protocol = "aodv", local_repair = "near" }"#,
        "test.toml:12:47: `near` needs a value\nhelp: write { near = … }",
    ),
    (
        "a CBR jitter of one",
        r#"application = "ftp""#,
        r#"application = { cbr = { every = "1 s", size = "9 B", jitter = 1 } }"#,
        "test.toml:19:63: a jitter of 1\nhelp: jitter is a fraction of the interval, from 0 to below 1",
    ),
    (
        "a fault in an ad hoc network",
        "[[flow]]",
        "[[network.fault]]\nkind = \"partition\"\nhop = 2\nevery = \"30 s\"\nlasts = \"6 s\"\n\n[[flow]]",
        "test.toml:16:8: a fault of kind \"partition\", but an ad hoc network has no hops\nhelp: its faults are of kind \"radio-down\", \"fading\" or \"outage\"",
    ),
    (
        "a radio outage of an unknown node",
        "[[flow]]",
        "[[network.fault]]\nkind = \"radio-down\"\nnode = 50\nevery = \"30 s\"\nlasts = \"6 s\"\n\n[[flow]]",
        "test.toml:17:8: node 50 out of range 0–49\nhelp: the 50 nodes are numbered from 0",
    ),
    (
        "a radio outage of a named node",
        "[[flow]]",
        "[[network.fault]]\nkind = \"radio-down\"\nnode = \"a\"\nevery = \"30 s\"\nlasts = \"6 s\"\n\n[[flow]]",
        "test.toml:17:8: expected a whole number from 0 to 4294967295, found the text \"a\"",
    ),
    (
        "a radio outage without a schedule",
        "[[flow]]",
        "[[network.fault]]\nkind = \"radio-down\"\nnode = 5\nlasts = \"6 s\"\n\n[[flow]]",
        "test.toml:15:1: this fault has no schedule\nhelp: add every = \"300 s\", first = \"60 s\", or both",
    ),
    (
        "a radio outage as long as its period",
        "[[flow]]",
        "[[network.fault]]\nkind = \"radio-down\"\nnode = 5\nevery = \"6 s\"\nlasts = \"6 s\"\n\n[[flow]]",
        "test.toml:19:9: a duration of 6 s with a period of 6 s\nhelp: `lasts` must be shorter than `every`",
    ),
    (
        "a radio outage of zero time",
        "[[flow]]",
        "[[network.fault]]\nkind = \"radio-down\"\nnode = 5\nfirst = \"6 s\"\nlasts = \"0 s\"\n\n[[flow]]",
        "test.toml:19:9: this must be longer than 0 s",
    ),
    (
        "a radio outage that never occurs",
        "[[flow]]",
        "[[network.fault]]\nkind = \"radio-down\"\nnode = 5\nevery = \"9 s\"\nlasts = \"6 s\"\ncount = 0\n\n[[flow]]",
        "test.toml:20:9: this fault never occurs",
    ),
    (
        "a jitter of a radio outage that reaches the next one",
        "[[flow]]",
        "[[network.fault]]\nkind = \"radio-down\"\nnode = 5\nevery = \"9 s\"\nlasts = \"6 s\"\njitter = \"3 s\"\n\n[[flow]]",
        "test.toml:20:10: a jitter of 3 s and a duration of 6 s with a period of 9 s\nhelp: `lasts` and `jitter` together must be shorter than `every`",
    ),
    (
        "a warning of a radio outage for no host",
        "[[flow]]",
        "[[network.fault]]\nkind = \"radio-down\"\nnode = 5\nevery = \"9 s\"\nlasts = \"6 s\"\nlead = \"3 s\"\n\n[[flow]]",
        "test.toml:20:8: only the host at the node can be warned of an outage of its radio\nhelp: add signal = \"link\"",
    ),
    (
        "an unknown signal of a radio outage",
        "[[flow]]",
        "[[network.fault]]\nkind = \"radio-down\"\nnode = 5\nevery = \"9 s\"\nlasts = \"6 s\"\nsignal = \"rfn\"\n\n[[flow]]",
        "test.toml:20:10: unknown value `rfn`\nhelp: available: link, none",
    ),
    (
        "a missing warning with an impossible probability",
        "[[flow]]",
        "[[network.fault]]\nkind = \"radio-down\"\nnode = 5\nevery = \"9 s\"\nlasts = \"6 s\"\nsignal_loss = 1.5\n\n[[flow]]",
        "test.toml:20:15: 1.5 is not a probability\nhelp: probabilities are from 0 to 1",
    ),
    (
        "a false warning of a hop without hops",
        "[[flow]]",
        "[[network.fault]]\nkind = \"fading\"\nhop = 1\nevery = \"9 s\"\nlead = \"1 s\"\n\n[[flow]]",
        "test.toml:17:7: an ad hoc network has no hops\nhelp: use node = 0",
    ),
    (
        "a false warning of an unknown node",
        "[[flow]]",
        "[[network.fault]]\nkind = \"fading\"\nnode = 50\nevery = \"9 s\"\nlead = \"1 s\"\n\n[[flow]]",
        "test.toml:17:8: node 50 out of range 0–49\nhelp: the 50 nodes are numbered from 0",
    ),
    (
        "a hop of a radio outage",
        "[[flow]]",
        "[[network.fault]]\nkind = \"radio-down\"\nhop = 5\nevery = \"9 s\"\nlasts = \"6 s\"\n\n[[flow]]",
        "test.toml:17:1: unknown key `hop`\nhelp: the keys of this table are node, every, first, jitter, lasts, count, queue, signal, signal_loss, lead",
    ),
    (
        "route probes without RFNs",
        "compat = \"standard\"",
        "route_probe = { most = 3 }",
        "test.toml:13:15: `route_probe` without RFNs\nhelp: add feedback = \"rfn\"",
    ),
    (
        "a link signal without lead time",
        "compat = \"standard\"",
        "link_signals = { lead = \"0 s\" }",
        "test.toml:13:25: this must be longer than 0 s",
    ),
    (
        "a link retry limit of zero",
        "compat = \"standard\"",
        "link_retry = { most = 0 }",
        "test.toml:13:23: the number of retries 0 out of range 1–1000",
    ),
    (
        "a link retry condition of zero time",
        "compat = \"standard\"",
        "link_retry = { heard_within = \"0 s\" }",
        "test.toml:13:31: this must be longer than 0 s",
    ),
    (
        "a route probe interval of zero",
        "compat = \"standard\"",
        "feedback = \"rfn\"\nroute_probe = { every = \"0 s\" }",
        "test.toml:14:25: this must be longer than 0 s",
    ),
    (
        "a route probe limit of zero",
        "compat = \"standard\"",
        "feedback = \"rfn\"\nroute_probe = { most = 0 }",
        "test.toml:14:24: the number of echo requests 0 out of range 1–1000000",
    ),
    (
        "an OFDM rate with a DSSS preamble",
        r#"data_rate = "2 Mbit/s""#,
        r#"data_rate = "54 Mbit/s""#,
        "test.toml:10:35: 54 Mbit/s after a preamble of 192 us\nhelp: the maximum of 802.11b is 11 Mbit/s; those of 802.11g need phy = \"erp-ofdm\"",
    ),
    (
        "segments larger than a frame",
        "mss = \"1460 B\"",
        "mss = \"2200 B\"",
        "test.toml:20:34: packets of 2240 B with 68 B of a source route and 8 B of LLC are 2316 B\nhelp: 802.11 carries 2304 B in a frame",
    ),
    (
        "datagrams larger than a frame",
        "application = \"ftp\"",
        "transport = \"udp\"\napplication = { cbr = { every = \"1 s\", size = \"4 kB\" } }",
        "test.toml:20:47: packets of 4028 B with 68 B of a source route and 8 B of LLC are 4104 B\nhelp: 802.11 carries 2304 B in a frame",
    ),
    (
        "a flow to an unknown node",
        "to = 1",
        "to = 50",
        "test.toml:17:6: node 50 out of range 0–49\nhelp: the 50 nodes are numbered from 0",
    ),
];

#[test]
fn errors_have_their_messages() {
    let mut failed = String::new();
    for (what, find, put, says) in WRONG {
        assert!(RIGHT.contains(find), "{what}: `{find}` is not there");
        let found = match Scenario::parse("test.toml", &RIGHT.replacen(find, put, 1), &[]) {
            Ok(_) => "nothing".to_owned(),
            Err(error) => error.to_string(),
        };
        if found != *says {
            failed += &format!("## {what}\n{found}\n");
        }
    }
    assert!(failed.is_empty(), "\n{failed}");
}

#[test]
fn queues_of_links_have_no_priorities() {
    let text = r#"
name = "x"
duration = "1 s"
[network]
kind = "path"
hops = 1
link = { rate = "1 Mbit/s", delay = "1 ms", queue = { priority = "classes" } }
[[flow]]
from = 0
to = 1
application = "ftp"
"#;
    assert_eq!(
        Scenario::parse("x.toml", text, &[]).unwrap_err().to_string(),
        "x.toml:7:66: the queue of a link has no key `priority`\n\
         help: it exists in networks of kind \"adhoc\""
    );
}
