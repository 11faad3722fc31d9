//! The files of a node in place of the host's: names of all nodes, and no resolver.

use std::fmt::Write;
use std::net::Ipv4Addr;

use driftway_base::NodeId;
use driftway_linux::NodeFiles;

use super::programs::Names;

/// The longest name of a host (bytes; sethostname(2)).
const HOST_NAME_MAX: usize = 64;

/// Returns the files of a node.
pub fn node_files(node: NodeId, names: &Names) -> NodeFiles {
    let name = names.of(node);
    let host_name = if name.len() > HOST_NAME_MAX { numbered(node.index()) } else { name };
    NodeFiles { host_name, hosts: hosts(names), resolv_conf: RESOLV_CONF.to_owned() }
}

/// Queries fail at once: nothing answers at the default, port 53 of the node itself.
const RESOLV_CONF: &str = "# This network has no resolver; the nodes' names are in /etc/hosts.\n\
                           options timeout:1 attempts:1\n";

/// Name of a node by its number, which is no number by itself for a resolver.
pub fn numbered(node: usize) -> String {
    format!("n{node}")
}

/// Content of `/etc/hosts`: each node by its name, and by its number unless another node has that for a
/// name.
fn hosts(names: &Names) -> String {
    let mut text = "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost\n".to_owned();
    for (node, address) in names.addresses.iter().enumerate() {
        // Writing to a string does not fail.
        let _ = write_host(&mut text, *address, &names.of(NodeId::from(node)), node, names);
    }
    text
}

fn write_host(
    text: &mut String,
    address: Ipv4Addr,
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
    fn every_node_has_a_name_and_a_number() {
        let addresses = [1, 2, 3].map(|last| Ipv4Addr::new(10, 0, 0, last)).to_vec();
        let names = Names { addresses, names: ["host", "1", "n0"].map(str::to_owned).to_vec() };
        let files = node_files(NodeId::new(1), &names);
        assert_eq!(files.host_name, "n1");
        let lines: Vec<&str> = files.hosts.lines().skip(2).collect();
        assert_eq!(lines, ["10.0.0.1\thost", "10.0.0.2\tn1", "10.0.0.3\tn0 n2"]);
    }
}
