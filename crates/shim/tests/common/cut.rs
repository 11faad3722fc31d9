//! The outage with which most time lines begin.

use driftway_shim::{PacketAction, UntouchedReason};

use super::timeline::{Timeline, ack, nth_segment};

pub const ICMP_REJECTED: PacketAction = PacketAction::Untouched(UntouchedReason::IcmpRejected);

/// Segments 0 to 3 leave at 200 ms, a router reports host unreachable at 250 ms; the local TCP
/// times out at 400 ms, and sends one more new segment. Probes leave at 450 and 650 ms.
pub fn begin_outage(line: &mut Timeline) {
    line.at(200);
    line.sends(0..4);
    line.at(250);
    line.cut(0);
    line.at(400);
    line.passes(nth_segment(0).not_capable());
    line.stores(nth_segment(4));
    line.at(749);
    line.emits(["450 net 1+1000 a1 t400/400", "650 net 1+1000 a1 t400/400"]);
}

/// The probe of 650 ms is answered at 750 ms.
pub const REPAIR: [&str; 4] = [
    "750 net 1001+1000 a1 t400/400",
    "756 net 2001+1000 a1 t400/400",
    "763 net 3001+1000 a1 t400/400",
    "770 net 4001+1000 a1 t400/400 ect",
];

/// The peer acknowledges the whole repair, at 850 to 870 ms.
pub fn answer_repair(line: &mut Timeline) {
    for (at, number, echo) in [(850, 2001, 200), (857, 3001, 200), (864, 4001, 200)] {
        line.at(at);
        line.peer_is_held(ack(number, echo));
    }
    line.at(871);
    line.peer_is_held(ack(5001, 400));
}
