//! The files of a node in place of the host's: names of all nodes, and no resolver.

use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr};

use driftway_base::NodeId;
use driftway_linux::NodeFiles;

use super::programs::{Names, numbered};

/// The longest name of a host (bytes; sethostname(2)).
const HOST_NAME_MAX: usize = 64;

/// Returns the files of a node; `resolvers` are those that it reaches.
pub fn node_files(node: NodeId, names: &Names, resolvers: &[Ipv4Addr]) -> NodeFiles {
    let name = names.of(node);
    let host_name = if name.len() > HOST_NAME_MAX { numbered(node.index()) } else { name };
    let (hosts, resolv_conf) = (hosts(names), resolv_conf(resolvers));
    NodeFiles { host_name, hosts, resolv_conf, gai_conf: GAI_CONF.to_owned() }
}

/// The resolvers of the host that a node with an uplink reaches too: those that are not the host itself.
pub fn host_resolvers() -> Vec<Ipv4Addr> {
    // systemd-resolved listens at the host only, and lists those that it asks.
    ["/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"]
        .into_iter()
        .map(|file| resolvers(&std::fs::read_to_string(file).unwrap_or_default()))
        .find(|found| !found.is_empty())
        .unwrap_or_default()
}

fn resolvers(resolv_conf: &str) -> Vec<Ipv4Addr> {
    let address = |line: &str| line.trim().strip_prefix("nameserver")?.trim().parse().ok();
    let addresses = resolv_conf.lines().filter_map(address);
    addresses.filter(|address: &Ipv4Addr| !address.is_loopback()).collect()
}

fn resolv_conf(resolvers: &[Ipv4Addr]) -> String {
    if resolvers.is_empty() {
        return RESOLV_CONF.to_owned();
    }
    resolvers.iter().map(|address| format!("nameserver {address}\n")).collect()
}

/// Queries fail at once: nothing answers at the default, port 53 of the node itself.
const RESOLV_CONF: &str = "# This network has no resolver; the nodes' names are in /etc/hosts.\n\
                           options timeout:1 attempts:1\n";

/// Makes programs take the address of IPv4 of two that a name has (RFC 6724 §2.1): every network carries it.
const GAI_CONF: &str = "precedence ::ffff:0:0/96 100\n";

/// Content of `/etc/hosts`: each node by its name, and by its number unless another node has that for a
/// name.
fn hosts(names: &Names) -> String {
    let mut text = "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost\n".to_owned();
    let ipv4 = names.addresses.iter().map(|address| IpAddr::from(*address)).enumerate();
    let ipv6 = names.ipv6_addresses.iter().map(|address| IpAddr::from(*address)).enumerate();
    for (node, address) in ipv4.chain(ipv6) {
        // Writing to a string does not fail.
        let _ = write_host(&mut text, address, &names.of(NodeId::from(node)), node, names);
    }
    text
}

fn write_host(
    text: &mut String,
    address: IpAddr,
    name: &str,
    node: usize,
    names: &Names,
) -> std::fmt::Result {
    write!(text, "{address}\t{name}")?;
    let number = numbered(node);
    if names.names.iter().all(|other| *other != number) && number != name {
        write!(text, " {number}")?;
    }
    writeln!(text)
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn resolvers_are_those_outside_of_the_host() {
        let text = "# a\nnameserver 127.0.0.53\nnameserver 10.255.255.53\nnameserver ::1\n";
        assert_eq!(resolvers(text), [Ipv4Addr::new(10, 255, 255, 53)]);
        assert_eq!(resolv_conf(&resolvers(text)), "nameserver 10.255.255.53\n");
    }

    #[test]
    fn every_node_has_a_name_and_a_number() {
        let addresses = [1, 2, 3].map(|last| Ipv4Addr::new(10, 0, 0, last)).to_vec();
        let ipv6_addresses = vec!["fd00::1".parse().unwrap()];
        let names = ["host", "1", "n0"].map(str::to_owned).to_vec();
        let names = Names { addresses, ipv6_addresses, names };
        let files = node_files(NodeId::new(1), &names, &[]);
        assert!(files.resolv_conf.contains("no resolver"));
        assert_eq!(files.host_name, "n1");
        let lines: Vec<&str> = files.hosts.lines().skip(2).collect();
        assert_eq!(lines, ["10.0.0.1\thost", "10.0.0.2\tn1", "10.0.0.3\tn0 n2", "fd00::1\thost"]);
    }
}
