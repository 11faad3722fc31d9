//! The kernel's own counters of a network namespace.

use std::fs;

use driftway_linux::Namespace;

/// A counter of a group (`Tcp`, `TcpExt`, `MPTcpExt`) in `/proc/net/snmp` or `/proc/net/netstat`;
/// 0 if the kernel lacks it.
pub fn kernel_counter(namespace: &Namespace, group: &str, name: &str) -> u64 {
    let read = |file| fs::read_to_string(format!("/proc/thread-self/net/{file}"));
    let text = namespace.run(|| ["snmp", "netstat"].map(|file| read(file).unwrap()).concat());
    let (text, prefix) = (text.unwrap(), format!("{group}: "));
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(&prefix));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return 0 };
    let mut counters = names.split(' ').zip(values.split(' '));
    counters.find(|(known, _)| *known == name).map_or(0, |(_, value)| value.parse().unwrap())
}
