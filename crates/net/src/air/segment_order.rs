//! Interface queues that inspect TCP segments (westin-2003 §5.2).

use std::cmp::Ordering;

use driftway_wire::{Body, Packet};

/// The treatment of TCP segments in an interface queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct SegmentQueueing {
    /// A segment is put before those of its connection that come later in the stream.
    pub sorted: bool,
    /// A segment is dropped if a copy of it is queued.
    pub discards_duplicates: bool,
}

impl SegmentQueueing {
    pub fn from_scenario(queue: &driftway_scenario::Queue) -> Self {
        let [sorted, discards_duplicates] =
            [queue.sorted, queue.discards_repeated].map(Option::unwrap_or_default);
        Self { sorted, discards_duplicates }
    }

    /// True if the queue inspects segments at all.
    pub const fn inspects_segments(self) -> bool {
        self.sorted || self.discards_duplicates
    }
}

/// The position of a segment in its stream relative to another segment of the same connection and
/// direction; `None` if they belong to different streams or one of them has no data.
fn compare_segments(one: &Packet, other: &Packet) -> Option<Ordering> {
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

/// True if two segments carry the same data of the same connection.
pub fn is_duplicate(one: &Packet, other: &Packet) -> bool {
    let len = |packet: &Packet| match &packet.body {
        Body::Tcp(segment) => segment.sequence_len(),
        _ => 0,
    };
    compare_segments(one, other) == Some(Ordering::Equal) && len(one) == len(other)
}

/// True if a segment comes earlier in its stream than another of the same connection.
pub fn is_before(own: &Packet, other: &Packet) -> bool {
    compare_segments(own, other) == Some(Ordering::Less)
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
        assert_eq!(compare_segments(&first, &segment(49, 100, 7)), Some(Ordering::Less));
        assert_eq!(compare_segments(&segment(49, 100, 7), &first), Some(Ordering::Greater));
        assert_eq!(compare_segments(&first, &segment(49, 100, 8)), None, "another connection");
        assert_eq!(compare_segments(&first, &segment(49, 0, 7)), None, "an acknowledgment");
        assert!(
            is_duplicate(&first, &first) && !is_duplicate(&first, &segment(u32::MAX - 50, 99, 7))
        );
        let ack = segment(49, 0, 7);
        assert!(!is_duplicate(&ack, &ack), "a duplicate acknowledgment is none");
    }
}
