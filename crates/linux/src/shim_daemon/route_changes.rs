//! Changes of links, addresses, routes and rules, and the flows whose routes they may concern.
//!
//! An event that concerns no flow must cost nothing, because some hosts have dozens a second (a
//! routing daemon, containers), and each flow that is asked for its route costs several packets.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use driftway_base::{FlowKey, Ipv4Addr};
use netlink_packet_core::{NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::LinkFlags;
use netlink_packet_route::route::{RouteAddress, RouteAttribute, RouteMessage};

/// Number of prefixes from which on they are to be looked at without delay (a routing daemon that
/// starts has hundreds of thousands).
const PREFIXES_MAX: usize = 4096;
const PREFIX_LEN_MAX: u8 = 32;

/// Changes since the last review.
#[derive(Debug, Default)]
pub struct RouteChanges {
    links: LinkStates,
    /// A link has gone down, come up or disappeared.
    pub link_changed: bool,
    /// Anything may have changed.
    all: bool,
    /// First and last address of each prefix to which a route has changed.
    prefixes: BTreeSet<(Ipv4Addr, Ipv4Addr)>,
    interfaces: BTreeSet<u32>,
    /// There was an event, whatever it was about.
    any: bool,
}

impl RouteChanges {
    /// Records an event, as the kernel sends it.
    pub fn record(&mut self, event: &[u8]) {
        self.any = true;
        if let Some(link) = link_state(event) {
            if let Some(index) = self.links.record(link) {
                self.link_changed = true;
                self.interfaces.insert(index);
            }
        } else {
            match NetlinkMessage::deserialize(event).map(|message| message.payload) {
                Ok(NetlinkPayload::InnerMessage(message)) => self.record_message(&message),
                // Truncated, or not understood.
                _ => self.all = true,
            }
        }
    }

    /// Records that events were lost.
    pub fn record_loss(&mut self) {
        (self.any, self.all) = (true, true);
    }

    fn record_message(&mut self, message: &RouteNetlinkMessage) {
        match message {
            RouteNetlinkMessage::NewRoute(route) | RouteNetlinkMessage::DelRoute(route) => {
                match prefix_of(route) {
                    Some(prefix) => drop(self.prefixes.insert(prefix)),
                    None => self.all = true,
                }
            }
            RouteNetlinkMessage::NewAddress(address) => self.record_address(address),
            // Routes that prefer this source vanish without an event of their own.
            RouteNetlinkMessage::DelAddress(address) => {
                self.record_address(address);
                self.interfaces.insert(address.header.index);
            }
            // A rule may select any flow.
            _ => self.all = true,
        }
    }

    fn record_address(&mut self, message: &AddressMessage) {
        let addresses = message.attributes.iter().filter_map(|attribute| match attribute {
            AddressAttribute::Local(IpAddr::V4(own))
            | AddressAttribute::Address(IpAddr::V4(own)) => Some((*own, *own)),
            _ => None,
        });
        self.prefixes.extend(addresses);
    }

    /// Returns whether there were events since the last call of [`take_concerned`].
    ///
    /// [`take_concerned`]: Self::take_concerned
    pub fn is_pending(&self) -> bool {
        self.any
    }

    /// Returns whether there are so many changes that they have to be looked at.
    pub fn is_full(&self) -> bool {
        self.prefixes.len() >= PREFIXES_MAX
    }

    /// Returns whether an interface is known to be down.
    pub fn is_down(&self, interface: u32) -> bool {
        self.links.0.get(&interface) == Some(&false)
    }

    /// The flows whose routes the changes may concern. `uses` returns whether a flow may leave by
    /// one of these interfaces.
    pub fn take_concerned(
        &mut self,
        flows: impl Iterator<Item = FlowKey> + Clone,
        uses: impl Fn(FlowKey, &BTreeSet<u32>) -> bool,
    ) -> Vec<FlowKey> {
        let all = std::mem::take(&mut self.all);
        let prefixes = std::mem::take(&mut self.prefixes);
        let interfaces = std::mem::take(&mut self.interfaces);
        (self.any, self.link_changed) = (false, false);
        if all {
            return flows.collect();
        }
        let touched = if prefixes.is_empty() {
            Vec::new()
        } else {
            // Few peers have many connections, and there may be more prefixes than flows.
            let addresses = |flow: FlowKey| [flow.source.address, flow.destination.address];
            let mut ends = Vec::from_iter(flows.clone().flat_map(addresses));
            ends.sort_unstable();
            ends.dedup();
            addresses_within(&ends, &prefixes)
        };
        if touched.is_empty() && interfaces.is_empty() {
            return Vec::new();
        }
        let has = |address| touched.binary_search(&address).is_ok();
        flows
            .filter(|flow| {
                has(flow.destination.address)
                    || has(flow.source.address)
                    || !interfaces.is_empty() && uses(*flow, &interfaces)
            })
            .collect()
    }
}

/// Those of the sorted addresses that are within one of the prefixes, sorted.
fn addresses_within(
    sorted: &[Ipv4Addr],
    prefixes: &BTreeSet<(Ipv4Addr, Ipv4Addr)>,
) -> Vec<Ipv4Addr> {
    let mut within = Vec::new();
    for (first, last) in prefixes {
        let start = sorted.partition_point(|address| address < first);
        let rest = sorted.get(start..).unwrap_or_default();
        within.extend(rest.iter().take_while(|address| *address <= last));
    }
    within.sort_unstable();
    within.dedup();
    within
}

/// First and last destination of a route; `None` if it is not understood.
fn prefix_of(route: &RouteMessage) -> Option<(Ipv4Addr, Ipv4Addr)> {
    let len = route.header.destination_prefix_length;
    let network = route.attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Destination(RouteAddress::Inet(network)) => Some(*network),
        _ => None,
    });
    let first = match (network, len) {
        (Some(network), _) => u32::from(network),
        (None, 0) => 0,
        (None, _) => return None,
    };
    let hosts = u32::MAX.checked_shr(len.min(PREFIX_LEN_MAX).into()).unwrap_or(0);
    Some((Ipv4Addr::from(first & !hosts), Ipv4Addr::from(first | hosts)))
}

/// The interfaces' states in the events so far: up, with a carrier.
#[derive(Debug, Default)]
struct LinkStates(BTreeMap<u32, bool>);

impl LinkStates {
    /// Records an event. Returns the interface if it has gone down, come up or disappeared; of one
    /// that was not known the state before is not known either.
    fn record(&mut self, (index, state): (u32, Option<bool>)) -> Option<u32> {
        let changed = match state {
            Some(is_up) => self.0.insert(index, is_up) != Some(is_up),
            None => {
                self.0.remove(&index);
                true
            }
        };
        changed.then_some(index)
    }
}

/// Index of an event's interface, and whether that is up with a carrier; `None` instead of it: it has
/// disappeared. `None` for an event about anything else. Read from the fixed headers (linux/netlink.h,
/// linux/rtnetlink.h), because the attributes of a link are long.
fn link_state(event: &[u8]) -> Option<(u32, Option<bool>)> {
    const NEW_LINK: u16 = 16;
    const DELETED_LINK: u16 = 17;
    let kind = u16::from_ne_bytes(*event.get(4..)?.first_chunk()?);
    let index = u32::from_ne_bytes(*event.get(20..)?.first_chunk()?);
    let flags = LinkFlags::from_bits_retain(u32::from_ne_bytes(*event.get(24..)?.first_chunk()?));
    match kind {
        NEW_LINK => Some((index, Some(flags.contains(LinkFlags::Up | LinkFlags::LowerUp)))),
        DELETED_LINK => Some((index, None)),
        _ => None,
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use driftway_base::Endpoint;
    use netlink_packet_core::NetlinkHeader;
    use netlink_packet_route::AddressFamily;
    use netlink_packet_route::link::LinkMessage;
    use netlink_packet_route::rule::RuleMessage;

    fn event(message: RouteNetlinkMessage) -> Vec<u8> {
        let payload = NetlinkPayload::InnerMessage(message);
        let mut message = NetlinkMessage::new(NetlinkHeader::default(), payload);
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        bytes
    }

    fn link(index: u32, flags: LinkFlags) -> LinkMessage {
        let mut link = LinkMessage::default();
        (link.header.index, link.header.flags) = (index, flags);
        link
    }

    fn route(network: [u8; 4], len: u8) -> RouteMessage {
        let mut route = RouteMessage::default();
        route.header.address_family = AddressFamily::Inet;
        route.header.destination_prefix_length = len;
        if len > 0 {
            let network = RouteAddress::Inet(network.into());
            route.attributes.push(RouteAttribute::Destination(network));
        }
        route
    }

    fn address(index: u32, own: [u8; 4]) -> AddressMessage {
        let mut message = AddressMessage::default();
        (message.header.family, message.header.index) = (AddressFamily::Inet, index);
        message.attributes.push(AddressAttribute::Local(IpAddr::V4(own.into())));
        message
    }

    /// Two flows: from 10.0.0.1 by interface 3 to 192.0.2.1, and from 10.0.1.1 by interface 4 to
    /// 198.51.100.1.
    fn flows() -> [FlowKey; 2] {
        [([10, 0, 0, 1], [192, 0, 2, 1]), ([10, 0, 1, 1], [198, 51, 100, 1])].map(|(from, to)| {
            let end = |address: [u8; 4], port| Endpoint::new(Ipv4Addr::from(address), port);
            FlowKey { source: end(from, 4000), destination: end(to, 80) }
        })
    }

    /// Indices of the flows that an event concerns.
    fn concerned(changes: &mut RouteChanges, message: RouteNetlinkMessage) -> Vec<usize> {
        changes.record(&event(message));
        let place = |flow| flows().iter().position(|one| *one == flow).unwrap();
        let uses = |flow, interfaces: &BTreeSet<u32>| interfaces.contains(&[3, 4][place(flow)]);
        changes.take_concerned(flows().into_iter(), uses).into_iter().map(place).collect()
    }

    #[test]
    fn a_route_concerns_the_flows_within_its_prefix() {
        let mut changes = RouteChanges::default();
        let mut new = |prefix, len| {
            concerned(&mut changes, RouteNetlinkMessage::NewRoute(route(prefix, len)))
        };
        assert_eq!(new([203, 0, 113, 0], 24), [0_usize; 0]);
        assert_eq!(new([192, 0, 2, 0], 24), [0]);
        assert_eq!(new([192, 0, 2, 2], 31), [0_usize; 0]);
        assert_eq!(new([198, 51, 100, 1], 32), [1]);
        assert_eq!(new([192, 0, 0, 0], 3), [0, 1]);
        assert_eq!(new([0; 4], 0), [0, 1]);
        // The table of local addresses.
        assert_eq!(new([10, 0, 1, 1], 32), [1]);
        let gone = RouteNetlinkMessage::DelRoute(route([192, 0, 2, 0], 24));
        assert_eq!(concerned(&mut changes, gone), [0]);
        // A destination is missing.
        let mut unclear = route([192, 0, 2, 0], 24);
        unclear.attributes.clear();
        assert_eq!(concerned(&mut changes, RouteNetlinkMessage::NewRoute(unclear)), [0, 1]);
    }

    #[test]
    fn an_address_concerns_the_flows_that_have_it_and_those_of_its_interface() {
        let mut changes = RouteChanges::default();
        let new = RouteNetlinkMessage::NewAddress(address(3, [10, 0, 1, 1]));
        assert_eq!(concerned(&mut changes, new), [1]);
        let new = RouteNetlinkMessage::NewAddress(address(3, [10, 7, 7, 7]));
        assert_eq!(concerned(&mut changes, new), [0_usize; 0]);
        let gone = RouteNetlinkMessage::DelAddress(address(3, [10, 7, 7, 7]));
        assert_eq!(concerned(&mut changes, gone), [0]);
    }

    #[test]
    fn lost_events_and_rules_concern_all_flows() {
        let mut changes = RouteChanges::default();
        let rule = RouteNetlinkMessage::NewRule(RuleMessage::default());
        assert_eq!(concerned(&mut changes, rule), [0, 1]);
        assert!(!changes.is_pending());
        changes.record_loss();
        assert!(changes.is_pending());
        assert_eq!(changes.take_concerned(flows().into_iter(), |_, _| false), flows());
        changes.record(&event(RouteNetlinkMessage::NewRoute(route([192, 0, 2, 0], 24)))[..30]);
        assert_eq!(changes.take_concerned(flows().into_iter(), |_, _| false), flows());
    }

    #[test]
    fn changes_of_links_are_recognized() {
        let up = LinkFlags::Up | LinkFlags::LowerUp | LinkFlags::Running;
        let mut changes = RouteChanges::default();
        let new = |index, flags| RouteNetlinkMessage::NewLink(link(index, flags));
        assert_eq!(concerned(&mut changes, new(3, up)), [0]);
        // Running follows later, and other attributes change.
        assert_eq!(
            concerned(&mut changes, new(3, LinkFlags::Up | LinkFlags::LowerUp)),
            [0_usize; 0]
        );
        assert_eq!(concerned(&mut changes, new(3, LinkFlags::Up)), [0]);
        assert!(changes.is_down(3) && !changes.is_down(4));
        assert_eq!(concerned(&mut changes, new(3, LinkFlags::Up)), [0_usize; 0]);
        assert_eq!(concerned(&mut changes, new(5, up)), [0_usize; 0]);
        assert_eq!(concerned(&mut changes, new(3, up)), [0]);
        let gone = RouteNetlinkMessage::DelLink(link(4, up));
        assert_eq!(concerned(&mut changes, gone), [1]);
        for len in 0..32 {
            changes.record(&event(new(5, up))[..len.min(27)]);
        }
    }
}
