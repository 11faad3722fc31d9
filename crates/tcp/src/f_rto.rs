//! F-RTO (RFC 5682): after a timeout, new data is sent instead of retransmissions. If it is
//! followed by acknowledgments of segments that were not retransmitted, the timeout was spurious.

use driftway_base::Seq;

/// Step of the detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FRto {
    /// The first segment was retransmitted; its acknowledgment is awaited (§2.1, step 2).
    AwaitingFirstAck {
        /// End of that segment.
        retransmission_end: Seq,
    },
    /// New data is sent and nothing retransmitted until the next acknowledgment (§2.1, step 3).
    AwaitingSecondAck {
        /// Bytes of new data that may still be sent: two segments in all.
        new_data_left: u32,
    },
}
