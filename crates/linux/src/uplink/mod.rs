//! An uplink of a node: a way from its namespace over a real interface of the host.

mod nat;

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;

use driftway_base::Ipv4Addr;
use nix::net::if_::if_nametoindex;

use crate::Namespace;
use crate::netlink::{add_address, add_route, add_veth, link_up};
use nat::Masquerade;

/// Name of the interface in the node.
const INSIDE: &str = "uplink0";
/// The network of the transfer links between nodes and their hosts, of four addresses each: part of that
/// for benchmarks (RFC 2544), which no host has.
const TRANSFER_NETWORK: u32 = 0xc612_0000;
const TRANSFER_LINKS: u32 = 1 << 15;
const TRANSFER_PREFIX: u8 = 30;

/// An uplink. When it is dropped, or its process ends, nothing of it is left but the host's forwarding of
/// its interface, if that was off: see [`Uplink::forwarding`].
#[derive(Debug)]
pub struct Uplink {
    interface: String,
    /// True if forwarding was off.
    is_to_be_restored: bool,
    /// Address translation at the host, and in the node.
    _nat: [Masquerade; 2],
}

impl Uplink {
    /// Connects a namespace with `interface` of the calling thread's namespace, the host: with a default
    /// route, and routes to these addresses even if they belong to the namespace's own network. The kernel
    /// translates addresses.
    ///
    /// # Errors
    /// There is no such interface, or any error of the kernel.
    pub fn open(namespace: &Namespace, interface: &str, further: &[Ipv4Addr]) -> io::Result<Self> {
        if_nametoindex(interface).map_err(|errno| named(interface, errno.into()))?;
        let id = std::process::id();
        let first = Ipv4Addr::from(TRANSFER_NETWORK + 4 * (id % TRANSFER_LINKS) + 1);
        let second = Ipv4Addr::from(first.to_bits() + 1);
        let (outside, table) = (format!("dw{id}"), format!("driftway-uplink-{id}"));
        add_veth(&outside, INSIDE, namespace.as_fd().as_raw_fd())?;
        // It disappears with the namespace, at the other end.
        let index = if_nametoindex(outside.as_str())?;
        add_address(index, first.into(), TRANSFER_PREFIX)?;
        link_up(index)?;
        let host_nat = Masquerade::install(&table, interface, Some(second));
        let host_nat = host_nat.map_err(|error| named("address translation", error))?;
        let node_nat = namespace.run(|| -> io::Result<Masquerade> {
            let index = if_nametoindex(INSIDE)?;
            add_address(index, second.into(), TRANSFER_PREFIX)?;
            link_up(index)?;
            add_route(None, Some(first), index)?;
            for address in further {
                add_route(Some(((*address).into(), 32)), Some(first), index)?;
            }
            Masquerade::install(&table, INSIDE, None)
        })??;
        namespace.set_sysctl("net/ipv4/ip_forward", "1")?;
        for which in ["all", "default"] {
            // Packets of other nodes that turn around here are to get no redirect.
            namespace.set_sysctl(&format!("net/ipv4/conf/{which}/send_redirects"), "0")?;
        }
        fs::write(forwarding_of(&outside), "1").map_err(|e| named(&outside, e))?;
        let is_off = fs::read_to_string(forwarding_of(interface))?.trim() == "0";
        if is_off {
            fs::write(forwarding_of(interface), "1").map_err(|e| named(interface, e))?;
        }
        let nat = [host_nat, node_nat];
        Ok(Self { interface: interface.to_owned(), is_to_be_restored: is_off, _nat: nat })
    }

    /// The interface whose forwarding is to be switched off when the uplink has ended.
    pub fn forwarding(&self) -> Option<&str> {
        self.is_to_be_restored.then_some(&*self.interface)
    }
}

impl Drop for Uplink {
    fn drop(&mut self) {
        if let Some(interface) = self.forwarding() {
            // The guardian does so, too.
            let _ = stop_forwarding(interface);
        }
    }
}

/// Switches the forwarding of packets from an interface off, if the interface is still there.
///
/// # Errors
/// Any error of the kernel.
pub fn stop_forwarding(interface: &str) -> io::Result<()> {
    match fs::write(forwarding_of(interface), "0") {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

fn forwarding_of(interface: &str) -> PathBuf {
    // A dot in a name is a slash there, but not as a directory.
    PathBuf::from("/proc/sys/net/ipv4/conf").join(interface).join("forwarding")
}

fn named(what: &str, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}
