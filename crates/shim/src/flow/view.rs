//! What an aid sees of a connection that is known from below: its view, and the segments that pass.

use driftway_base::{Known, TcpView};
use driftway_wire::{Payload, TcpSegment};

use super::{Flow, State};
use crate::packet::Segment;

impl Flow {
    /// The local TCP, as it is known from the packets that it sends and gets. What the peer has
    /// acknowledged and the local TCP was not told is not in it.
    pub(super) fn view(&self) -> TcpView {
        let scaled = |window: u16, shift: u8| u32::from(window) << shift;
        let peer_window = self.negotiated.peer_window_shift.map(|shift| scaled(self.peer.window, shift));
        TcpView {
            is_synchronized: true,
            mss: self.negotiated.mss.map_or(Known::Unknown, |mss| Known::Estimated(mss.into())),
            snd_una: Known::Exact(self.local_una),
            // A TCP that goes back is seen by what it sends again.
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
            // It may have taken more than it has acknowledged.
            rcv_nxt: Known::Estimated(self.local.ack),
            advertised_window: Known::Exact(scaled(self.local.window, self.negotiated.window_shift)),
            // Only the kernel knows its windows, and its timer.
            ..TcpView::default()
        }
    }
}

/// A segment as aids see it: its payload has a length, and no place in a stream.
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
