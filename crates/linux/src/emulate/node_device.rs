//! The device of a node, and its namespace's settings.

use std::io;
use std::net::{IpAddr, Ipv6Addr};

use driftway_base::{Ipv4Addr, NodeId};
use driftway_net::addresses::{IPV6_PREFIX_LEN, address, ipv6_addresses};
use driftway_wire::HardwareAddr;

use crate::{Namespace, Tun};

/// Prefix of all addresses of a network, and of those of networks behind the ends of a path:
/// 10.0.0.0/8.
const PREFIX: u8 = 8;
/// Destinations besides the nodes: multicast, and the broadcast of the link.
const ROUTES_TO_MANY: [(Ipv4Addr, u8); 2] =
    [(Ipv4Addr::new(224, 0, 0, 0), 4), (Ipv4Addr::BROADCAST, 32)];

/// Settings of IPv6: addresses are those that a device is given, and nobody asks for routers, so that there are no more
/// packets than programs send.
const IPV6_SETTINGS: [(&str, &str); 4] =
    [("accept_ra", "0"), ("accept_dad", "0"), ("router_solicitations", "0"), ("disable_ipv6", "0")];
/// Modes of link-local addresses (linux/if_link.h): with frames that of the hardware address, else none.
const ADDRESS_MODES: [(bool, &str); 2] = [(true, "0"), (false, "1")];

/// Creates the device of a node in its namespace, with its addresses. Returns it, and whether it has IPv6, which needs
/// a kernel that has it.
pub fn create(
    namespace: &Namespace,
    node: NodeId,
    mtu: u16,
    is_ethernet: bool,
    wants_ipv6: bool,
) -> io::Result<(Tun, bool)> {
    for which in ["all", "default"] {
        // As in the simulator, the first router is the sending host's own: its messages arrive
        // from outside with the host's own address as source.
        namespace.set_sysctl(&format!("net/ipv4/conf/{which}/accept_local"), "1")?;
        namespace.set_sysctl(&format!("net/ipv4/conf/{which}/rp_filter"), "0")?;
    }
    let has_ipv6 = wants_ipv6 && enable_ipv6(namespace, is_ethernet)?;
    if is_ethernet {
        forward(namespace, has_ipv6)?;
    }
    let own: Vec<IpAddr> = ipv6_of(node, is_ethernet, has_ipv6).map(IpAddr::from).collect();
    let device = namespace.run(|| -> io::Result<Tun> {
        let tun = match is_ethernet {
            true => Tun::open_ethernet(HardwareAddr::of_node(node), address(node), PREFIX, mtu)?,
            false => Tun::open(address(node), PREFIX, mtu)?,
        };
        for (group, prefix) in ROUTES_TO_MANY {
            tun.add_route(Some((group.into(), prefix)))?;
        }
        for address in own {
            tun.add_address(address, IPV6_PREFIX_LEN)?;
        }
        Ok(tun)
    })??;
    Ok((device, has_ipv6))
}

/// The addresses that the device is given.
fn ipv6_of(node: NodeId, is_ethernet: bool, has_ipv6: bool) -> impl Iterator<Item = Ipv6Addr> {
    let count = match (has_ipv6, is_ethernet) {
        (false, _) => 0,
        (true, true) => 1,
        (true, false) => 2,
    };
    ipv6_addresses(node).into_iter().take(count)
}

/// Lets the devices of a namespace have IPv6; returns whether its kernel has it.
fn enable_ipv6(namespace: &Namespace, is_ethernet: bool) -> io::Result<bool> {
    let mode = ADDRESS_MODES.into_iter().find(|(ethernet, _)| *ethernet == is_ethernet);
    let mode = mode.map(|(_, mode)| ("addr_gen_mode", mode));
    for (setting, value) in IPV6_SETTINGS.into_iter().chain(mode) {
        match namespace.set_sysctl(&format!("net/ipv6/conf/default/{setting}"), value) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            result => result?,
        }
    }
    Ok(true)
}

/// Makes a kernel forward packets by its own routes.
fn forward(namespace: &Namespace, has_ipv6: bool) -> io::Result<()> {
    namespace.set_sysctl("net/ipv4/ip_forward", "1")?;
    for which in ["all", "default"] {
        // A packet leaves by the device by which it came.
        namespace.set_sysctl(&format!("net/ipv4/conf/{which}/send_redirects"), "0")?;
        if has_ipv6 {
            namespace.set_sysctl(&format!("net/ipv6/conf/{which}/forwarding"), "1")?;
        }
    }
    Ok(())
}
