//! What stations count.

use core::ops::AddAssign;

use driftway_base::Duration;

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What a station has counted, or all together. Frames count as they go on the air.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Counters {
            $($(#[$doc])* pub $name: u64,)*
            /// Time on the air of all its frames, preambles included.
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
    /// RTS sent.
    rts,
    /// CTS sent.
    cts,
    /// Data frames to one station sent.
    data,
    /// ACKs sent.
    acks,
    /// Data frames to all sent.
    broadcasts,
    /// RTS to which no CTS came.
    cts_timeouts,
    /// Data frames to which no ACK came.
    ack_timeouts,
    /// RTS and data frames sent again.
    retries,
    /// Packets acknowledged.
    acknowledged,
    /// Packets given up because no CTS came.
    failed_no_cts,
    /// Packets given up because no ACK came.
    failed_no_ack,
    /// Frames for this station, or for all, that another one spoilt here.
    collisions,
    /// Frames for this station, or for all, that came while it was sending.
    missed_while_transmitting,
    /// Frames for this station, or for all, that had an error.
    errors,
    /// Packets received again, and not passed on.
    duplicates,
    /// RTS for this station that it did not answer, because of its NAV or the medium.
    cts_refused,
    /// Data held back after a CTS, as the medium was busy ([`super::DcfConfig::data_needs_idle`]).
    data_held_back,
}
