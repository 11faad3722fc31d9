//! Counters of the stations.

use core::ops::AddAssign;

use driftway_base::Duration;

use crate::FailReason;

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counters of a station, or of all together. Frames are counted when their transmission
        /// begins.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Counters {
            $($(#[$doc])* pub $name: u64,)*
            /// Airtime of all its frames, including preambles.
            pub airtime: Duration,
        }

        impl AddAssign for Counters {
            fn add_assign(&mut self, other: Self) {
                $(self.$name += other.$name;)*
                self.airtime = self.airtime + other.airtime;
            }
        }
    };
}

counters! {
    /// RTS frames sent.
    rts,
    /// CTS frames sent.
    cts,
    /// Unicast data frames sent.
    data,
    /// ACK frames sent.
    acks,
    /// Broadcast data frames sent.
    broadcasts,
    /// Data frames among `data` and `broadcasts` with a message of routing or ARP.
    control_data,
    /// RTS frames without a CTS response.
    cts_timeouts,
    /// Data frames without an ACK response.
    ack_timeouts,
    /// RTS and data frames retransmitted.
    retries,
    /// Packets acknowledged.
    acknowledged,
    /// Packets reported as failed with [`FailReason::NoCts`].
    failed_no_cts,
    /// Packets reported as failed with [`FailReason::NoAck`].
    failed_no_ack,
    /// Unicast frames for this station and broadcasts lost here in collisions.
    collisions,
    /// Unicast frames for this station and broadcasts that arrived while it was transmitting.
    missed_while_transmitting,
    /// Unicast frames for this station and broadcasts received with an error.
    errors,
    /// Duplicate packets received and discarded.
    duplicates,
    /// RTS frames for this station not answered because of its NAV or a busy medium.
    cts_refused,
    /// Data frames held back after a CTS because the medium was busy
    /// ([`super::DcfConfig::data_needs_idle`]).
    data_held_back,
}

impl Counters {
    pub(crate) fn count_failure(&mut self, reason: FailReason) {
        match reason {
            FailReason::NoCts => self.failed_no_cts += 1,
            FailReason::NoAck => self.failed_no_ack += 1,
        }
    }
}
