//! TCP counters of the kernel in a network namespace.

use std::collections::BTreeMap;
use std::{fs, io};

use driftway_linux::Namespace;

/// A counter.
pub struct Counter {
    /// Name in results.
    pub name: &'static str,
    /// Description.
    #[cfg_attr(not(test), expect(dead_code, reason = "only the reference of results has it"))]
    pub about: &'static str,
    /// The kernel's counters whose sum it is. A counter that the kernel lacks is zero.
    pub sum_of: &'static [&'static str],
}

/// The counters.
pub const COUNTERS: [Counter; 7] = [
    Counter {
        name: "retransmissions",
        about: "Segments retransmitted.",
        sum_of: &["Tcp.RetransSegs"],
    },
    Counter {
        name: "timeouts",
        about: "Retransmission timeouts.",
        sum_of: &["TcpExt.TCPTimeouts"],
    },
    Counter {
        name: "loss_probes",
        about: "Tail loss probes sent.",
        sum_of: &["TcpExt.TCPLossProbes"],
    },
    Counter {
        name: "fast_recoveries",
        about: "Loss recoveries that began without a timeout.",
        sum_of: &["TcpExt.TCPSackRecovery", "TcpExt.TCPRenoRecovery"],
    },
    Counter {
        name: "undone",
        about: "Reductions of the congestion window that the kernel undid.",
        sum_of: &[
            "TcpExt.TCPFullUndo",
            "TcpExt.TCPPartialUndo",
            "TcpExt.TCPDSACKUndo",
            "TcpExt.TCPLossUndo",
        ],
    },
    Counter {
        name: "spurious_timeouts",
        about: "Timeouts that F-RTO found spurious.",
        sum_of: &["TcpExt.TCPSpuriousRTOs"],
    },
    Counter {
        name: "delivered_marked",
        about: "Segments delivered with an ECN congestion mark.",
        sum_of: &["TcpExt.TCPDeliveredCE"],
    },
];

/// Reads the counters of [`COUNTERS`] in a namespace.
pub fn read_counters(namespace: &Namespace) -> io::Result<BTreeMap<&'static str, u64>> {
    let text = |table| fs::read_to_string(format!("/proc/thread-self/net/{table}"));
    let both = || Ok::<_, io::Error>(text("snmp")? + &text("netstat")?);
    let values = parse(&namespace.run(both)??);
    let sum = |names: &[&str]| names.iter().filter_map(|name| values.get(*name)).sum();
    Ok(COUNTERS.iter().map(|of| (of.name, sum(of.sum_of))).collect())
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
