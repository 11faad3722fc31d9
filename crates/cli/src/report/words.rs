//! Values of a scenario's keys, as a researcher calls them.

/// Values with a name of their own.
const VALUES: [(&str, &str); 26] = [
    ("adhoc", "ad hoc"),
    ("aodv", "AODV"),
    ("atcp", "ATCP"),
    ("cubic", "CUBIC"),
    ("cwnd-limit", "cwnd limit"),
    ("dcf", "802.11 DCF"),
    ("dsr", "DSR"),
    ("fifo", "FIFO"),
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
    ("tahoe", "Tahoe"),
    ("tahoe-1988", "Tahoe of 1988"),
    ("tcp", "TCP"),
    ("tcp-f", "TCP-F"),
    ("tdma", "TDMA"),
    ("two-ray", "two-ray"),
    ("udp", "UDP"),
];

/// `value` as it is called: `AODV`, `random waypoint`. What has no such name stays as it is.
pub fn value_name(value: &str) -> String {
    if let Some((_, name)) = VALUES.iter().find(|(of, _)| *of == value) {
        return (*name).to_owned();
    }
    let is_words = value.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    if is_words { value.replace('-', " ") } else { value.to_owned() }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn values_have_the_capitals_of_the_field() {
        for (value, name) in [
            ("aodv", "AODV"),
            ("newreno", "NewReno"),
            ("tcp-f", "TCP-F"),
            ("random-waypoint", "random waypoint"),
            ("moves/rwp-50.mov", "moves/rwp-50.mov"),
            ("10 ms", "10 ms"),
        ] {
            assert_eq!(value_name(value), name);
        }
    }

    #[test]
    fn every_table_is_sorted_and_has_no_name_twice() {
        assert!(VALUES.is_sorted_by(|a, b| a.0 < b.0));
    }
}
