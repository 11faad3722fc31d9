//! Interface queues that inspect TCP segments (westin-2003 §5.2).

use std::cmp::Ordering;

use driftway_link::{Enqueued, Item};
use driftway_wire::{Body, Packet, Routed};

use super::AdhocAtWork;
use crate::books::{Drop, Packets};
use crate::run::Run;

/// The treatment of TCP segments in an interface queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Order {
    /// A segment is put before those of its connection that come later in the stream.
    pub sorted: bool,
    /// A segment is dropped if a copy of it is queued.
    pub discards: bool,
}

impl Order {
    pub fn of(queue: &driftway_scenario::Queue) -> Self {
        let [sorted, discards] =
            [queue.sorted, queue.discards_repeated].map(Option::unwrap_or_default);
        Self { sorted, discards }
    }

    /// True if the queue inspects segments at all.
    pub const fn looks(self) -> bool {
        self.sorted || self.discards
    }
}

/// The position of a segment in its stream relative to another segment of the same connection and
/// direction; `None` if they belong to different streams or one of them has no data.
fn compare(one: &Packet, other: &Packet) -> Option<Ordering> {
    let (Body::Tcp(a), Body::Tcp(b)) = (&one.body, &other.body) else { return None };
    let ends = |packet: &Packet| (packet.ip.source, packet.ip.destination);
    let same = ends(one) == ends(other)
        && (a.source_port, a.destination_port) == (b.source_port, b.destination_port)
        && a.sequence_len() > 0
        && b.sequence_len() > 0;
    same.then(|| match () {
        () if a.seq.before(b.seq) => Ordering::Less,
        () if a.seq == b.seq => Ordering::Equal,
        () => Ordering::Greater,
    })
}

fn is_copy(one: &Packet, other: &Packet) -> bool {
    let len = |packet: &Packet| match &packet.body {
        Body::Tcp(segment) => segment.sequence_len(),
        _ => 0,
    };
    compare(one, other) == Some(Ordering::Equal) && len(one) == len(other)
}

/// The packet of a queue entry.
fn packet_of(packets: &mut Packets<Routed>, item: &Item) -> Option<Packet> {
    packets.get(item.id).map(|routed| routed.packet)
}

impl Run<'_, AdhocAtWork> {
    /// Puts a packet into a queue that inspects segments; `None` if it was dropped as a duplicate.
    pub(super) fn put_in_order(&mut self, node: usize, item: Item) -> Option<Enqueued> {
        let Order { sorted, discards } = self.net.order;
        let own = packet_of(&mut self.packets, &item);
        let Self { packets, net, now, .. } = self;
        let queue = &mut net.nodes[node].queue;
        let mut compared = |other: &Item, is_so: fn(&Packet, &Packet) -> bool| {
            own.zip(packet_of(packets, other)).is_some_and(|(own, other)| is_so(&own, &other))
        };
        if discards && queue.iter().any(|other| compared(&other, is_copy)) {
            self.overflow(node, item.id, item.next_hop, Drop::Repeated);
            return None;
        }
        let is_before = |own: &Packet, other: &Packet| compare(own, other) == Some(Ordering::Less);
        Some(match sorted {
            true => queue.enqueue_before(*now, item, |other| compared(other, is_before)),
            false => queue.enqueue(*now, item),
        })
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use driftway_base::{Ipv4Addr, Seq};
    use driftway_wire::{IpHeader, Payload, TcpFlags, TcpSegment};

    fn segment(seq: u32, len: u32, port: u16) -> Packet {
        let segment = TcpSegment {
            source_port: port,
            destination_port: 9,
            seq: Seq(seq),
            flags: TcpFlags::ACK,
            payload: Payload::new(0, 0, len),
            ..TcpSegment::default()
        };
        let (source, destination) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        Packet { ip: IpHeader::new(source, destination), body: Body::Tcp(segment) }
    }

    #[test]
    fn segments_of_one_connection_are_compared_around_the_wrap() {
        let first = segment(u32::MAX - 50, 100, 7);
        assert_eq!(compare(&first, &segment(49, 100, 7)), Some(Ordering::Less));
        assert_eq!(compare(&segment(49, 100, 7), &first), Some(Ordering::Greater));
        assert_eq!(compare(&first, &segment(49, 100, 8)), None, "another connection");
        assert_eq!(compare(&first, &segment(49, 0, 7)), None, "an acknowledgment");
        assert!(is_copy(&first, &first) && !is_copy(&first, &segment(u32::MAX - 50, 99, 7)));
        let ack = segment(49, 0, 7);
        assert!(!is_copy(&ack, &ack), "a duplicate acknowledgment is none");
    }
}
