//! Labels of scenario keys, their values, and metrics.

use driftway_scenario::Unit;

use crate::units;

/// Labels of values.
const VALUES: [(&str, &str); 29] = [
    ("adhoc", "ad hoc"),
    ("aodv", "AODV"),
    ("atcp", "ATCP"),
    ("codel", "CoDel"),
    ("cubic", "CUBIC"),
    ("cwnd-limit", "cwnd limit"),
    ("dcf", "802.11 DCF"),
    ("dsr", "DSR"),
    ("fifo", "FIFO"),
    ("fq-codel", "FQ-CoDel"),
    ("ftp", "FTP"),
    ("icmp-unreachable", "ICMP unreachable"),
    ("linux", "Linux"),
    ("newreno", "NewReno"),
    ("ns-2", "ns-2"),
    ("rack-tlp", "RACK-TLP"),
    ("red", "RED"),
    ("reno", "Reno"),
    ("reno-bsd", "BSD's Reno"),
    ("rfn", "RFN"),
    ("sack", "SACK"),
    ("segment-timers", "a timer for each segment"),
    ("tahoe", "Tahoe"),
    ("tahoe-1988", "Tahoe of 1988"),
    ("tcp", "TCP"),
    ("tcp-f", "TCP-F"),
    ("tdma", "TDMA"),
    ("two-ray", "two-ray"),
    ("udp", "UDP"),
];

/// Labels of keys whose last component alone is ambiguous, by their last components; and the unit
/// of their bare numbers.
const KEYS: [(&str, &str, &str); 43] = [
    ("aid", "aid", ""),
    ("aid.tick", "aid's tick", ""),
    ("application.cbr.every", "packet interval", ""),
    ("application.cbr.jitter", "jitter of packet intervals", ""),
    ("application.cbr.size", "packet size", ""),
    ("application.transfer", "transfer size", ""),
    ("area.0", "width of the area", ""),
    ("area.1", "height of the area", ""),
    ("back.transfer", "reverse transfer size", ""),
    ("compat", "compatibility", ""),
    ("delay.mean", "mean delay", ""),
    ("delay.spread", "spread of the delay", ""),
    ("delay.uniform.0", "shortest delay", ""),
    ("delay.uniform.1", "longest delay", ""),
    ("fault.every", "time from fault to fault", ""),
    ("fault.first", "time of the first fault", ""),
    ("fault.jitter", "jitter of faults", ""),
    ("fault.lasts", "length of a fault", ""),
    ("fault.lead", "warning before a fault", ""),
    ("fault.signal_loss", "probability of a lost signal", ""),
    ("flow.from", "sender", ""),
    ("flow.start", "start of the flow", ""),
    ("flow.to", "receiver", ""),
    ("initial_window", "initial window", "segments"),
    ("kind", "kind", ""),
    ("link.delay", "link delay", ""),
    ("link.rate", "link rate", ""),
    ("mac.kind", "MAC", ""),
    ("mobility.chain", "distance between neighbours", ""),
    ("mobility.file", "movement file", ""),
    ("mobility.model", "mobility", ""),
    ("mobility.speed.0", "lowest speed", ""),
    ("mobility.speed.1", "highest speed", ""),
    ("network.kind", "network", ""),
    ("queue.discipline", "queue discipline", ""),
    ("queue.packets", "queue length", "packets"),
    ("queue.priority", "queue priority", ""),
    ("receiver_aid", "receiver's aid", ""),
    ("routing.protocol", "routing", ""),
    ("tcp.preset", "TCP", ""),
    ("tick.rtt", "tick of the RTT clock", ""),
    ("tick.timer", "tick of timers", ""),
    ("window", "window", "segments"),
];

/// Last components that are ambiguous without the preceding one.
const AMBIGUOUS: [&str; 14] = [
    "capture", "count", "delay", "every", "first", "hop", "kind", "lasts", "mean", "packets",
    "rate", "size", "spread", "timeout",
];

/// Abbreviations, written in capitals.
const ABBREVIATIONS: [&str; 24] = [
    "ack", "aodv", "arp", "cbr", "cts", "difs", "dsack", "dsr", "ecn", "eifs", "icmp", "ip", "lcd",
    "llc", "mac", "mss", "msl", "nav", "prr", "rto", "rts", "rtt", "tcp", "ttl",
];

/// Label of a value: `AODV`, `random waypoint`. A value without a label is returned unchanged.
pub fn value_label(value: &str) -> String {
    if let Some((_, name)) = VALUES.iter().find(|(of, _)| *of == value) {
        return (*name).to_owned();
    }
    let is_words = value.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    if is_words { value.replace('-', " ") } else { value.to_owned() }
}

/// The components of a key without the indices of flows, faults and hops.
fn key_parts(key: &str) -> Vec<&str> {
    let all: Vec<&str> = key.split('.').collect();
    let is_number = |name: &str| name.bytes().all(|b| b.is_ascii_digit());
    let last = all.len() - 1;
    let kept = |(at, name): (usize, &&str)| at == last || !is_number(name);
    all.iter().enumerate().filter(|&of| kept(of)).map(|(_, name)| *name).collect()
}

fn find_key(key: &str) -> Option<&'static (&'static str, &'static str, &'static str)> {
    let names = key_parts(key);
    // The longest suffix comes first.
    (0..names.len()).find_map(|from| {
        let end = names[from..].join(".");
        KEYS.iter().find(|(of, _, _)| *of == end)
    })
}

/// Label of a key: `pause`, `bit error rate`, `RTS threshold`.
pub fn key_label(key: &str) -> String {
    if let Some((_, name, _)) = find_key(key) {
        return (*name).to_owned();
    }
    let names = key_parts(key);
    let last = names.last().copied().unwrap_or_default();
    let is_vague = AMBIGUOUS.contains(&last) || last.bytes().all(|b| b.is_ascii_digit());
    let from = names.len().saturating_sub(if is_vague { 2 } else { 1 });
    let words: Vec<String> =
        names[from..].iter().flat_map(|name| name.split('_')).map(key_word).collect();
    words.join(" ")
}

fn key_word(word: &str) -> String {
    if ABBREVIATIONS.contains(&word) { word.to_uppercase() } else { word.to_owned() }
}

/// Label of a key's value, as the name of an arm: `AODV`, `no aid`, `window 8`. A table is labelled
/// by its tag: `{ protocol = "dsr", … }`.
pub fn setting_label(key: &str, value: &str) -> String {
    if let Ok(toml::Value::Table(table)) = value.parse::<toml::Value>()
        && let Some(toml::Value::String(name)) =
            ["protocol", "kind", "name", "model"].iter().find_map(|word| table.get(*word))
    {
        return setting_label(key, name);
    }
    let bare = value.trim_matches('"');
    let is_word = bare.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
        && bare.starts_with(|c: char| c.is_ascii_alphabetic());
    match bare {
        "none" => format!("no {}", key_label(key)),
        "true" => key_label(key),
        "false" => format!("no {}", key_label(key)),
        _ if is_word => value_label(bare),
        _ => format!("{} {bare}", key_label(key)),
    }
}

/// Label of a metric of a flow or of the network.
pub fn metric_label(name: &str) -> String {
    match name {
        "completion_s" => "completion time".into(),
        "back_completion_s" => "completion time in reverse direction".into(),
        "back_delivered_bytes" => "delivered in reverse direction".into(),
        "back_throughput_bps" => "throughput in reverse direction".into(),
        "cwnd_reductions" => "congestion window reductions".into(),
        "cwnd_after_fast_retransmit_ratio" => "window left after a fast retransmit".into(),
        "cwnd_after_timeout_ratio" => "window left after a timeout".into(),
        "rtt_s" => "round-trip time of TCP".into(),
        "rto_max_s" => "longest RTO".into(),
        "rto_backed_off_s" => "time with the RTO backed off".into(),
        "delay_p50_s" => "median delay".into(),
        "delay_p95_s" => "95th percentile of the delay".into(),
        "delay_p99_s" => "99th percentile of the delay".into(),
        "jitter_rfc3550_s" => "jitter (RFC 3550)".into(),
        "jitter_mean_s" => "mean jitter".into(),
        "sent_packets" => "packets sent".into(),
        "delivered_packets" => "packets delivered".into(),
        "mean_hops" => "hops".into(),
        "shortest_hops" => "fewest possible hops".into(),
        "recovery_s" => "recovery time after outages".into(),
        "routing.normalised_load" => "normalised routing load".into(),
        "mac.normalised_load" => "normalised MAC load".into(),
        "mac.airtime_ratio" => "airtime over time".into(),
        "jain_index" => "Jain's index".into(),
        "energy_j" => "energy (J)".into(),
        "disconnected_s" => "time disconnected".into(),
        "falsely_disconnected_s" => "time falsely disconnected".into(),
        "routing.vain_link_retries" => "link retries out of range".into(),
        "resume_s" => "time from end of partition to data".into(),
        "delivery_resume_s" => "time from end of outage to delivery".into(),
        "longest_delivery_resume_s" => "longest time from end of outage to delivery".into(),
        "routing.packets_sent" => "routing packets".into(),
        "drops" => "packets dropped".into(),
        "queue_drops" => "packets dropped by queues".into(),
        "fairness" => "fairness (Jain's index)".into(),
        other => {
            let bare = units::without_suffix(other);
            bare.strip_suffix("_us").unwrap_or(bare).replace(['_', '.', '-'], " ")
        }
    }
}

/// Unit of the bare number of a key, where the key's label does not contain it: `packets`.
pub fn counted_unit(key: &str, unit: Unit) -> &'static str {
    find_key(key).filter(|_| unit == Unit::One).map_or("", |(_, _, counted)| counted)
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn values_are_capitalised() {
        for (value, name) in [
            ("aodv", "AODV"),
            ("newreno", "NewReno"),
            ("tcp-f", "TCP-F"),
            ("random-waypoint", "random waypoint"),
            ("moves/rwp-50.mov", "moves/rwp-50.mov"),
            ("10 ms", "10 ms"),
        ] {
            assert_eq!(value_label(value), name);
        }
    }

    #[test]
    fn keys_are_words_without_dots() {
        for (key, name) in [
            ("network.mobility.pause", "pause"),
            ("network.mobility.speed.1", "highest speed"),
            ("network.link.bit_error_rate", "bit error rate"),
            ("network.link.delay", "link delay"),
            ("network.link.delay.mean", "mean delay"),
            ("network.override.0.rate", "override rate"),
            ("network.fault.0.every", "time from fault to fault"),
            ("network.mac.rts_threshold", "RTS threshold"),
            ("network.mac.data_rate", "data rate"),
            ("network.nodes", "nodes"),
            ("network.arp.timeout", "ARP timeout"),
            ("flow.0.tcp.mss", "MSS"),
            ("flow.3.application.transfer", "transfer size"),
            ("flows", "flows"),
        ] {
            assert_eq!(key_label(key), name);
        }
    }

    #[test]
    fn arms_are_labelled_by_their_overrides() {
        for (key, value, name) in [
            ("network.routing.protocol", "aodv", "AODV"),
            ("network.routing", "{ protocol = \"dsr\", salvage = false }", "DSR"),
            ("flow.*.aid", "none", "no aid"),
            ("flow.0.tcp.sack", "false", "no sack"),
            ("flow.0.tcp.window", "8", "window 8"),
            ("network.link.delay", "\"5 ms\"", "link delay 5 ms"),
        ] {
            assert_eq!(setting_label(key, value), name);
        }
        assert_eq!(metric_label("mac.failed_no_cts"), "mac failed no cts");
        assert_eq!(metric_label("goodput_ratio"), "goodput ratio");
    }

    #[test]
    fn tables_are_sorted_and_unique() {
        assert!(VALUES.is_sorted_by(|a, b| a.0 < b.0));
        assert!(KEYS.is_sorted_by(|a, b| a.0 < b.0));
        assert!(AMBIGUOUS.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn bare_numbers_have_a_unit() {
        assert_eq!(counted_unit("flow.0.tcp.window", Unit::One), "segments");
        assert_eq!(counted_unit("flow.0.tcp.window", Unit::Byte), "");
        assert_eq!(counted_unit("network.nodes", Unit::One), "");
    }
}
