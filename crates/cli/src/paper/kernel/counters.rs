//! TCP counters of the kernel in a network namespace.

use std::collections::BTreeMap;
use std::{fs, io};

use driftway_host::Namespace;

/// Names of the counters, each with the kernel's counters whose sum it is. A counter that the kernel
/// lacks is zero.
const COUNTERS: [(&str, &[&str]); 7] = [
    ("retransmissions", &["Tcp.RetransSegs"]),
    ("timeouts", &["TcpExt.TCPTimeouts"]),
    ("loss_probes", &["TcpExt.TCPLossProbes"]),
    ("fast_recoveries", &["TcpExt.TCPSackRecovery", "TcpExt.TCPRenoRecovery"]),
    (
        "undone",
        &[
            "TcpExt.TCPFullUndo",
            "TcpExt.TCPPartialUndo",
            "TcpExt.TCPDSACKUndo",
            "TcpExt.TCPLossUndo",
        ],
    ),
    ("spurious_timeouts", &["TcpExt.TCPSpuriousRTOs"]),
    ("delivered_marked", &["TcpExt.TCPDeliveredCE"]),
];

/// Reads the counters of [`COUNTERS`] in a namespace.
pub fn read_counters(namespace: &Namespace) -> io::Result<BTreeMap<&'static str, u64>> {
    let text = |table| fs::read_to_string(format!("/proc/thread-self/net/{table}"));
    let both = || Ok::<_, io::Error>(text("snmp")? + &text("netstat")?);
    let values = parse(&namespace.run(both)??);
    let sum = |names: &[&str]| names.iter().filter_map(|name| values.get(*name)).sum();
    Ok(COUNTERS.iter().map(|(ours, theirs)| (*ours, sum(theirs))).collect())
}

/// Parses tables of two lines, one of names and one of numbers, that both start with the table's name.
fn parse(text: &str) -> BTreeMap<String, u64> {
    let lines: Vec<&str> = text.lines().collect();
    let mut values = BTreeMap::new();
    for pair in lines.chunks_exact(2) {
        let mut names = pair[0].split_whitespace();
        let about = names.next().unwrap_or_default().trim_end_matches(':');
        for (name, number) in names.zip(pair[1].split_whitespace().skip(1)) {
            // MaxConn can be negative; it is not needed.
            if let Ok(number) = number.parse() {
                values.insert(format!("{about}.{name}"), number);
            }
        }
    }
    values
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn tables_are_read_by_name() {
        let values = parse(
            "Tcp: MaxConn RetransSegs\nTcp: -1 17\nTcpExt: TCPTimeouts TCPLossProbes\nTcpExt: 3 4\n",
        );
        assert_eq!(values.get("Tcp.RetransSegs"), Some(&17));
        assert_eq!(values.get("TcpExt.TCPLossProbes"), Some(&4));
        assert_eq!(values.len(), 3);
    }
}
