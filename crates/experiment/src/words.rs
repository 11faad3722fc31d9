//! Numbers of things, and lists of them, in sentences.

/// `1 run`, `2 runs`
pub fn count(n: u64, thing: &str) -> String {
    if n == 1 { format!("1 {thing}") } else { format!("{n} {thing}s") }
}

/// `1`, `1 and 2`, `1, 2 and 3`; from the sixth on only how many more there are.
pub fn list(items: &[String]) -> String {
    let (shown, more) = items.split_at(items.len().min(6));
    match shown {
        _ if !more.is_empty() => format!("{} and {} more", shown.join(", "), more.len()),
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// What people call a value that a key of a scenario is set to: `AODV`, `TCP-F`, `window 8`.
pub fn value(key: &str, value: &str) -> String {
    let known = [
        ("aodv", "AODV"),
        ("dsr", "DSR"),
        ("static", "given routes"),
        ("atcp", "ATCP"),
        ("tcp-f", "TCP-F"),
        ("cwnd-limit", "limited window"),
        ("tahoe", "Tahoe"),
        ("reno", "Reno"),
        ("newreno", "NewReno"),
        ("sack", "SACK"),
        ("rack-tlp", "RACK-TLP"),
        ("cubic", "CUBIC"),
        ("dcf", "802.11"),
        ("tdma", "TDMA"),
        ("tcp", "TCP"),
        ("udp", "UDP"),
    ];
    let last = key.rsplit('.').next().unwrap_or(key);
    // A table is called by what it is about: { protocol = "dsr", … }.
    if let Ok(toml::Value::Table(table)) = value.parse::<toml::Value>()
        && let Some(toml::Value::String(name)) =
            ["protocol", "kind", "name", "model"].iter().find_map(|word| table.get(*word))
    {
        return self::value(key, name);
    }
    match known.iter().find(|(word, _)| *word == value) {
        Some((_, name)) => (*name).to_owned(),
        None if last == "aid" && value == "none" => "no aid".to_owned(),
        None => format!("{} {}", self::key(key), value.trim_matches('"')),
    }
}

/// What people call a key of a scenario: `pause`, `link delay`, `queue packets`.
pub fn key(key: &str) -> String {
    let parts: Vec<&str> = key.split('.').filter(|part| part.parse::<u64>().is_err()).collect();
    // These say too little alone.
    let vague = ["mean", "every", "lasts", "packets", "delay", "rate", "first", "size", "kind"];
    let shown = match parts[..] {
        [.., before, last] if vague.contains(&last) && before != "*" => vec![before, last],
        [.., last] => vec![last],
        [] => vec![key],
    };
    shown.join(" ").replace('_', " ")
}

/// What people call a metric.
pub fn metric(name: &str) -> String {
    match name {
        "completion_s" => "completion time".into(),
        "throughput_bps" => "throughput".into(),
        "delivered_bytes" => "delivered".into(),
        "goodput_ratio" => "goodput ratio".into(),
        "rtt_s" => "TCP's round trips".into(),
        "delay_s" => "delay".into(),
        "routing.packets_sent" => "routing packets".into(),
        "drops" => "packets dropped".into(),
        other => {
            let bare =
                ["_s", "_bps", "_bytes", "_us"].iter().find_map(|end| other.strip_suffix(end));
            bare.unwrap_or(other).replace(['_', '.', '-'], " ")
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn keys_and_values_are_called_as_people_call_them() {
        assert_eq!(value("network.routing.protocol", "aodv"), "AODV");
        assert_eq!(value("flow.0.tcp.window", "8"), "window 8");
        assert_eq!(value("flow.*.aid", "none"), "no aid");
        assert_eq!(value("network.routing", "{ protocol = \"dsr\", salvage = false }"), "DSR");
        assert_eq!(key("network.mobility.pause"), "pause");
        assert_eq!(key("network.link.delay.mean"), "delay mean");
        assert_eq!(key("network.link.bit_error_rate"), "bit error rate");
        assert_eq!(metric("mac.failed_no_cts"), "mac failed no cts");
        assert_eq!(metric("rto_max_s"), "rto max");
    }
}
