//! F-RTO (RFC 5682): after a timeout, new data instead of old. If what comes back then speaks of
//! segments that did not go again, the timeout was spurious.

use driftway_base::Seq;

/// How far the detection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FRto {
    /// The first segment went again; its acknowledgment is waited for (§2.1, step 2).
    AwaitingFirstAck {
        /// Where that segment ends.
        retransmission_end: Seq,
    },
    /// New data goes, and nothing again, until the next acknowledgment (§2.1, step 3).
    AwaitingSecondAck {
        /// How many bytes of new data may still go: two segments in all.
        new_data_left: u32,
    },
}
