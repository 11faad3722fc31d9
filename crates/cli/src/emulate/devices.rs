//! The options about devices: an uplink, attached interfaces, Ethernet, further addresses.

use std::net::IpAddr;
use std::path::Path;

use driftway_base::NodeId;
use driftway_linux::node_count;
use driftway_scenario::{Routing, Scenario, nearest};

use super::node_argument::read_node;
use crate::args::EmulateArgs;
use crate::failure::Failure;

const LOOPBACK: &str = "lo";

/// The devices of an emulation besides one for each node with programs.
#[derive(Debug)]
pub struct Devices {
    /// The node with an uplink, and the interface of the host.
    pub uplink: Option<(NodeId, String)>,
    /// Nodes that are what is behind interfaces of the host.
    pub attached: Vec<(NodeId, String)>,
    /// Further addresses of nodes.
    pub addresses: Vec<(NodeId, IpAddr)>,
    /// True if kernels exchange Ethernet frames with their neighbours.
    pub is_ethernet: bool,
}

impl Devices {
    /// Reads the options.
    ///
    /// # Errors
    /// A node, an interface or an address that does not exist or has two uses, or a network that cannot carry frames.
    pub fn new(args: &EmulateArgs, scenario: &Scenario) -> Result<Self, Failure> {
        let interface_of = |option, (node, interface): &(String, String)| {
            let node = read_node(option, node, scenario)?;
            require_interface(option, interface)?;
            Ok((node, interface.clone()))
        };
        let uplink =
            args.uplink.as_ref().map(|given| interface_of("--uplink", given)).transpose()?;
        let attached = args.attach.iter().map(|given| interface_of("--attach", given));
        let attached = attached.collect::<Result<Vec<_>, Failure>>()?;
        require_one_use(&uplink, &attached)?;
        let addresses = args.address.iter().map(|(node, address)| {
            let node = read_node("--address", node, scenario)?;
            let address = address.parse().map_err(|_| {
                let help = "it has to be an address, as in 5=192.168.7.1 or 5=fd01::1";
                Failure::Input(format!("--address {node}={address}: {help}"))
            });
            Ok((node, address?))
        });
        let addresses = addresses.collect::<Result<Vec<_>, Failure>>()?;
        let is_ethernet = is_ethernet(args, scenario)?;
        Ok(Self { uplink, attached, addresses, is_ethernet })
    }

    /// Returns the interface behind which a node is.
    pub fn attached_to(&self, node: NodeId) -> Option<&str> {
        let found = self.attached.iter().find(|(attached, _)| *attached == node);
        found.map(|(_, interface)| interface.as_str())
    }
}

/// Returns whether kernels exchange frames: the option says so, or the network has no routing, so that they have to name
/// their next hop.
fn is_ethernet(args: &EmulateArgs, scenario: &Scenario) -> Result<bool, Failure> {
    let mut airs = scenario.network.radio_networks();
    let routing = airs.find_map(|air| match &air.routing {
        Routing::None(_) => None,
        other => Some(other.label()),
    });
    let has_none = routing.is_none() && scenario.network.radio_networks().next().is_some();
    if !args.ethernet && !has_none {
        return Ok(false);
    }
    if let Some(routing) = routing {
        let key = match scenario.network {
            driftway_scenario::Network::Mixed(_) => "network.air.routing",
            _ => "network.routing",
        };
        return Err(Failure::Input(format!(
            "--ethernet: frames reach neighbours only and are not routed by the network, which has {routing} over the \
             air: leave --ethernet out, or leave routing to the nodes (--set {key}=none)"
        )));
    }
    if scenario.network.nodes() as usize > node_count(scenario) {
        let why = "parallel routes consist of routers, which read no frames";
        return Err(Failure::Input(format!("--ethernet: {why}; leave network.parallel out")));
    }
    Ok(true)
}

fn require_interface(option: &str, name: &str) -> Result<(), Failure> {
    // The name is a part of a path.
    let is_name = !name.is_empty() && name != LOOPBACK && !name.contains(['/', '\0']);
    if is_name && name != "." && name != ".." && Path::new("/sys/class/net").join(name).exists() {
        return Ok(());
    }
    let names = std::fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name != LOOPBACK).collect();
    names.sort();
    let near = nearest(name, names.iter().map(String::as_str));
    let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
    let names = if names.is_empty() { "none but lo".to_owned() } else { names.join(", ") };
    Err(Failure::Input(format!(
        "{option} {name}: the host has no such interface; it has {names}{near}"
    )))
}

fn require_one_use(
    uplink: &Option<(NodeId, String)>,
    attached: &[(NodeId, String)],
) -> Result<(), Failure> {
    for (number, (node, interface)) in attached.iter().enumerate() {
        let (before, is_uplink) = (&attached[..number], uplink.as_ref());
        let wrong =
            |why: String| Err(Failure::Input(format!("--attach {node}={interface}: {why}")));
        if before.iter().any(|(_, other)| other == interface)
            || is_uplink.is_some_and(|(_, other)| other == interface)
        {
            return wrong(format!("{interface} is given twice"));
        }
        if let Some((_, other)) = before.iter().find(|(other, _)| other == node) {
            return wrong(format!("node {node} is behind {other} already"));
        }
        if is_uplink.is_some_and(|(other, _)| other == node) {
            return wrong(format!(
                "node {node} has the uplink, which needs a namespace of its own"
            ));
        }
    }
    Ok(())
}
