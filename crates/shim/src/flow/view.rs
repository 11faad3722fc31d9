//! The aid's view of a connection, and the segments it sees.

use driftway_base::{Known, TcpView};
use driftway_wire::{Payload, TcpSegment};

use super::{Flow, State};
use crate::packet::Segment;

impl Flow {
    /// The local TCP's state, inferred from its packets. Acknowledgments withheld from the local
    /// TCP are not in it.
    pub(super) fn view(&self) -> TcpView {
        let scaled = |window: u16, shift: u8| u32::from(window) << shift;
        let peer_window =
            self.negotiated.peer_window_shift.map(|shift| scaled(self.peer.window, shift));
        TcpView {
            is_synchronized: true,
            mss: self.negotiated.mss.map_or(Known::Unknown, |mss| Known::Estimated(mss.into())),
            snd_una: Known::Exact(self.local_una),
            // A TCP that pulls SND.NXT back shows by its retransmissions.
            snd_nxt: Known::Exact(self.retransmission_queue.max),
            snd_max: Known::Exact(self.retransmission_queue.max),
            peer_window: peer_window.map_or(Known::Unknown, Known::Estimated),
            rto: Known::Estimated(self.rtt.rto()),
            srtt: Known::Exact(self.rtt.srtt()),
            is_persisting: match self.state {
                State::Disconnected(_) => Known::Exact(true),
                State::Resuming(..) => Known::Exact(false),
                State::Open => Known::Estimated(self.peer.window == 0),
            },
            is_ecn_negotiated: Known::Exact(self.negotiated.ecn),
            // The local TCP may have received more than it has acknowledged.
            rcv_nxt: Known::Estimated(self.local.ack),
            advertised_window: Known::Exact(scaled(
                self.local.window,
                self.negotiated.window_shift,
            )),
            // Window and timer are known only to the kernel.
            ..TcpView::default()
        }
    }
}

/// A segment as aids see it: the payload has a length, and no position in a stream.
pub(crate) fn aid_segment(segment: &Segment) -> TcpSegment {
    TcpSegment {
        source_port: segment.flow.source.port,
        destination_port: segment.flow.destination.port,
        seq: segment.seq,
        ack: segment.ack,
        flags: segment.flags,
        window: segment.window,
        urgent: 0,
        options: segment.options,
        payload: Payload::new(0, 0, segment.payload_len),
    }
}
