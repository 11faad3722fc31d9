//! The rejected alternative: a TUN device and policy routing.
//!
//! A rule routes the host's packets to the device, and a raw socket sends them on with a mark that
//! another rule lets pass. For received packets a rule has to precede that for local addresses,
//! which therefore has to move; the host becomes a router that forwards to the device, and they are
//! written back.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::BorrowedFd;

use driftway_base::Duration;
use driftway_linux::Tun;
use netlink_packet_core::{DefaultNla, NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use nix::net::if_::if_nametoindex;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use socket2::{Domain, Protocol, Socket, Type};

use crate::network::{DEVICE, HERE, netlink_request};

const TABLE: u32 = 100;
const LOCAL: u32 = 255;
const MAIN: u32 = 254;
const MARK: u32 = 1;
const RAW: i32 = 255;

fn rule(priority: u32, table: u32, asks: &[RuleAttribute]) -> RuleMessage {
    let mut rule = RuleMessage::default();
    rule.header.family = AddressFamily::Inet;
    rule.header.action = RuleAction::ToTable;
    rule.header.table = table as u8;
    rule.attributes.push(RuleAttribute::Priority(priority));
    rule.attributes.extend_from_slice(asks);
    rule
}

/// Creates the device and the rules in the calling thread's namespace.
fn set_up() -> io::Result<Tun> {
    for (setting, value) in [
        ("ip_forward", "1"),
        // A packet that has found its socket early is not forwarded.
        ("ip_early_demux", "0"),
        ("conf/all/rp_filter", "0"),
        ("conf/default/rp_filter", "0"),
        (&format!("conf/{DEVICE}/rp_filter"), "0"),
    ] {
        std::fs::write(format!("/proc/sys/net/ipv4/{setting}"), value)?;
    }
    let tun = Tun::open(Ipv4Addr::new(10, 99, 0, 1), 30, 1500)?;
    let index = if_nametoindex(tun.name()?.as_str())?;
    let mut route = RouteMessage::default();
    route.header.address_family = AddressFamily::Inet;
    route.header.table = TABLE as u8;
    route.header.protocol = RouteProtocol::Static;
    route.header.scope = RouteScope::Link;
    route.header.kind = RouteType::Unicast;
    route.attributes.push(RouteAttribute::Oif(index));
    route.attributes.push(RouteAttribute::PrefSource(RouteAddress::Inet(HERE)));
    netlink_request(RouteNetlinkMessage::NewRoute(route), NLM_F_CREATE | NLM_F_EXCL)?;
    // FRA_IP_PROTO, whose type is private in the crate.
    let tcp = RuleAttribute::Other(DefaultNla::new(22, vec![6]));
    let comes_in = |name: &str| RuleAttribute::Iifname(name.to_owned());
    for rule in [
        rule(5, MAIN, &[RuleAttribute::FwMark(MARK), RuleAttribute::FwMask(MARK)]),
        rule(10, TABLE, &[comes_in("lo"), tcp.clone()]),
        rule(11, TABLE, &[comes_in(DEVICE), tcp]),
        rule(12, LOCAL, &[]),
    ] {
        netlink_request(RouteNetlinkMessage::NewRule(rule), NLM_F_CREATE | NLM_F_EXCL)?;
    }
    netlink_request(RouteNetlinkMessage::DelRule(rule(0, LOCAL, &[])), 0)?;
    Ok(tun)
}

/// Passes every packet, until `stop` is readable.
pub fn run(ready: impl FnOnce(), stop: BorrowedFd<'_>) -> io::Result<()> {
    let tun = set_up()?;
    let raw = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(RAW)))?;
    raw.set_mark(MARK)?;
    raw.set_nonblocking(true)?;
    ready();
    let mut buffer = vec![0; 65_536];
    loop {
        while let Some(len) = tun.receive(&mut buffer)? {
            let packet = &buffer[..len];
            let address = |at: usize| packet[at..].first_chunk().map(|b| Ipv4Addr::from(*b));
            if address(12) == Some(HERE) {
                let to = SocketAddrV4::new(address(16).expect("the packet has a header"), 0);
                // A full queue drops packets.
                let _ = raw.send_to(packet, &SocketAddr::V4(to).into());
            } else {
                tun.send(packet)?;
            }
        }
        if !tun.wait(Duration::from_millis(100))? {
            let mut watched = [PollFd::new(stop, PollFlags::POLLIN)];
            if poll(&mut watched, PollTimeout::ZERO)? > 0 {
                return Ok(());
            }
        }
    }
}
