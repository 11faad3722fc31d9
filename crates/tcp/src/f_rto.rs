//! F-RTO (RFC 5682): after a timeout, new data is sent instead of retransmissions. If it is
//! followed by acknowledgments of segments that were not retransmitted, the timeout was spurious.

use driftway_base::Seq;

/// Step of the detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FRto {
    /// The first segment was retransmitted; its acknowledgment is awaited (§2.1, step 2).
    Waiting {
        /// End of that segment.
        resent: Seq,
    },
    /// New data is sent and nothing retransmitted until the next acknowledgment (§2.1, step 3).
    Probing {
        /// Bytes of new data that may still be sent: two segments in all.
        left: u32,
    },
}
