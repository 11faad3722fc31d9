//! DCF configuration, including the differences between the standard and ns-2.35.

use driftway_base::{Duration, Probability, Rate, named};

use super::phy::Phy;
use crate::FailReason;

/// Configuration of the distributed coordination function (DCF) of all stations.
///
/// [`DcfConfig::STANDARD`] is IEEE 802.11-1999 with the DSSS physical layer of its clause 15;
/// [`DcfConfig::NS2`] is `Mac/802_11` of ns-2.35 as configured in published scripts. Sizes are those
/// of a frame from the end of the PLCP header to the end of the FCS.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DcfConfig {
    /// Physical layer. The standard and ns-2.35: DSSS.
    pub phy: Phy,
    /// Rate of unicast data frames. The standard: 1 or 2 Mbit/s; ns-2.35: 1 Mbit/s unless a script
    /// sets it, as nearly all do.
    pub data_rate: Rate,
    /// Rate of RTS, CTS, ACK and broadcast frames. The standard and ns-2.35: 1 Mbit/s.
    pub basic_rate: Rate,
    /// Duration of the preamble of each frame: 144 bits of preamble and 48 of PLCP header at 1
    /// Mbit/s. ns-2 before March 2002 had none.
    pub preamble: Duration,
    /// Slot time (§15.3.3: 20 µs).
    pub slot: Duration,
    /// Short interframe space (§15.3.3: 10 µs). A DIFS is this and two slots.
    pub sifs: Duration,
    /// Minimum contention window, a power of two less one (§15.3.3: 31).
    pub cw_min: u16,
    /// Maximum contention window (§15.3.3: 1023).
    pub cw_max: u16,
    /// RTS threshold (bytes, header and FCS included): longer frames are sent after RTS and CTS.
    /// The standard: 2347, so none; ns-2.35: 0, so all. (ns-2.35 also counts 24 bytes of PLCP, and
    /// a frame of exactly this size.)
    pub rts_threshold: u32,
    /// Maximum number of failed attempts of a short frame or an RTS. Both: 7.
    pub short_retry_limit: u8,
    /// Maximum number of failed attempts of a frame above the RTS threshold. Both: 4.
    pub long_retry_limit: u8,
    /// Header and FCS of a data frame (bytes). The standard: 28 with three addresses, as in an
    /// IBSS; ns-2.35: 34, because it always counts a fourth.
    pub header_bytes: u32,
    /// LLC and SNAP headers of a packet (bytes). RFC 1042: 8; ns-2.35: none.
    pub llc_bytes: u32,
    /// Backoffs are drawn from 0 to CW, both included (§9.2.4). ns-2.35 never draws CW itself.
    pub backoff_includes_cw: bool,
    /// A backoff precedes the first attempt of every frame. The standard: no, a frame that finds the
    /// medium idle for a DIFS is sent immediately (§9.2.5.1); ns-2.35: yes.
    pub backoff_before_first: bool,
    /// A station answers an RTS only if its medium is idle. The standard: only its NAV at the end
    /// of the RTS matters (§9.2.5.7). ns-2.35: the CTS is also suppressed by anything that makes
    /// the medium busy when it would start (a NAV, also one set for an EIFS; a frame under
    /// reception), and while the station itself waits for a response.
    pub cts_needs_idle: bool,
    /// Data is sent after a CTS only if the medium is idle. The standard: always (§9.2.5.7).
    /// ns-2.35 checks medium and NAV again; if busy, it doubles the contention window, backs off
    /// and sends another RTS without counting a retry. This is the only case in which a station of
    /// ns-2.35 can find the medium busy when it transmits.
    pub data_needs_idle: bool,
    /// A station that has sent a CTS counts no slots while it waits for the data. The standard has
    /// no such rule, slots are counted again after a DIFS; ns-2.35: until the data could have
    /// ended.
    pub cts_holds_backoff: bool,
    /// EIFS by means of the NAV. The standard: after a reception failure an EIFS replaces the DIFS,
    /// and the next correctly received frame ends it (§9.2.3.4). ns-2.35 sets the NAV for an EIFS:
    /// a DIFS is added to it, nothing ends it, and it prevents answering an RTS.
    pub eifs_is_nav: bool,
    /// An EIFS also follows a frame that was only sensed: too weak to decode, or begun while the
    /// station was transmitting. The standard: no, the physical layer detects no frame then;
    /// ns-2.35: yes.
    pub eifs_when_only_sensed: bool,
    /// An EIFS includes an ACK at 1 Mbit/s, whatever the physical layer. The standard: at the
    /// layer's lowest mandatory rate ([`DcfConfig::lowest_rate`]); ns-2.35: yes.
    pub eifs_at_1_mbps: bool,
    /// Capture: which of the overlapping frames is received.
    pub capture: CaptureModel,
    /// A CTS resets the short retry count (§9.2.5.3). ns-2: since February 2003; before that,
    /// together with `counts_outlive_packets`, every seventh failed RTS cost a packet.
    pub cts_resets_short_count: bool,
    /// Retry counts are kept for the next packet after a packet was discarded, or after an ACK that
    /// resets only the other count. The standard keeps the counts per packet (§9.2.5.3); ns-2.35
    /// has one pair per station.
    pub counts_outlive_packets: bool,
    /// A backoff follows the last failure of a packet, whether or not there is a next packet
    /// (§9.2.5.2). ns-2.35: only after a success; its next frame draws one anyway.
    pub backoff_after_giving_up: bool,
    /// Timeout for a CTS or an ACK.
    pub response_timeout: ResponseTimeout,
    /// A DIFS precedes the first slot of the backoff after a timeout. The standard: no, if the
    /// medium was idle for a DIFS at the timeout (§9.2.5.2); ns-2.35: yes.
    pub difs_after_timeout: bool,
    /// A NAV set by an RTS is reset if no frame follows (§9.2.5.4, optional). ns-2.35: no.
    pub rts_nav_ends: bool,
    /// Duration fields are rounded up to a microsecond (§7.1.3.2). ns-2.35: to the nearest.
    pub durations_round_up: bool,
    /// Error probability of a frame that could be decoded, for each receiver.
    pub frame_error: Probability,
    /// Delay of a packet in the link layer before it enters the interface queue; implemented by the
    /// driver. The standard: none; ns-2.35: 25 µs.
    pub delay_down: Duration,
    /// Delay of a received packet in the link layer before the network layer receives it;
    /// implemented by the driver. The standard: none; ns-2.35: 25 µs.
    pub delay_up: Duration,
}

named! {
    /// Capture models: which of the frames that overlap at a receiver is received. Except with `Sinr`,
    /// frames are compared in pairs, and interference power is not summed. The ratio is the radio's
    /// ([`crate::RadioConfig::capture_ratio`]).
    pub enum CaptureModel {
        /// The stronger frame, if the ratio suffices and the receiver can still lock on to it: it
        /// arrived first, or within the preamble of the earlier one, or the earlier one could not be
        /// decoded anyway. (The standard leaves this open.)
        Stronger = "stronger",
        /// The rule of `Stronger`, but by the ratio to the sum of all other frames at the receiver
        /// (SINR). Noise is accounted for in the receive threshold; signals too weak to be sensed are
        /// not counted.
        Sinr = "sinr",
        /// The rule of ns-2.35: only the frame that arrived first, whether or not it can be decoded. A
        /// weaker frame that it captures over sets the NAV for its airtime and an EIFS. A later frame
        /// is lost whatever its power, and of the two the one that ends last occupies the receiver.
        First = "first",
    }
}

/// Timeout for a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseTimeout {
    /// The time until a preamble should have been received, and if one was, to the end of its frame: SIFS +
    /// slot + preamble after the frame to be answered (§9.2.8, with the value of later editions).
    Preamble,
    /// The time until the response should have ended, with an allowance for propagation, as in ns-2.35.
    WholeFrame {
        /// Round-trip propagation (ns-2.35: 2 × 2 µs, so that neighbours beyond 600 m cannot
        /// communicate).
        propagation: Duration,
    },
}

impl DcfConfig {
    /// IEEE 802.11-1999.
    pub const STANDARD: Self = Self {
        phy: Phy::Dsss,
        data_rate: Rate::from_bps(2_000_000),
        basic_rate: Rate::from_bps(1_000_000),
        preamble: Duration::from_micros(192),
        slot: Duration::from_micros(20),
        sifs: Duration::from_micros(10),
        cw_min: 31,
        cw_max: 1023,
        rts_threshold: 2347,
        short_retry_limit: 7,
        long_retry_limit: 4,
        header_bytes: 28,
        llc_bytes: 8,
        backoff_includes_cw: true,
        backoff_before_first: false,
        cts_needs_idle: false,
        data_needs_idle: false,
        cts_holds_backoff: false,
        eifs_is_nav: false,
        eifs_when_only_sensed: false,
        eifs_at_1_mbps: false,
        capture: CaptureModel::Stronger,
        cts_resets_short_count: true,
        counts_outlive_packets: false,
        backoff_after_giving_up: true,
        response_timeout: ResponseTimeout::Preamble,
        difs_after_timeout: false,
        rts_nav_ends: true,
        durations_round_up: true,
        frame_error: Probability::NEVER,
        delay_down: Duration::ZERO,
        delay_up: Duration::ZERO,
    };

    /// 802.11g without older stations (IEEE 802.11-2007 §19): ERP-OFDM at 54 Mbit/s, control frames at 24 Mbit/s, and
    /// the short slot.
    pub const ERP_OFDM: Self = Self {
        phy: Phy::ErpOfdm,
        data_rate: Rate::from_bps(54_000_000),
        basic_rate: Rate::from_bps(24_000_000),
        preamble: Duration::from_micros(20),
        slot: Duration::from_micros(9),
        cw_min: 15,
        ..Self::STANDARD
    };

    /// ns-2.35.
    pub const NS2: Self = Self {
        rts_threshold: 0,
        header_bytes: 34,
        llc_bytes: 0,
        backoff_includes_cw: false,
        backoff_before_first: true,
        cts_needs_idle: true,
        data_needs_idle: true,
        cts_holds_backoff: true,
        eifs_is_nav: true,
        eifs_when_only_sensed: true,
        eifs_at_1_mbps: true,
        capture: CaptureModel::First,
        counts_outlive_packets: true,
        backoff_after_giving_up: false,
        response_timeout: ResponseTimeout::WholeFrame { propagation: Duration::from_micros(4) },
        difs_after_timeout: true,
        rts_nav_ends: false,
        durations_round_up: false,
        delay_down: Duration::from_micros(25),
        delay_up: Duration::from_micros(25),
        ..Self::STANDARD
    };

    /// DCF interframe space.
    pub const fn difs(&self) -> Duration {
        Duration::from_nanos(self.sifs.as_nanos() + 2 * self.slot.as_nanos())
    }

    /// Returns the lowest mandatory rate of the physical layer, which is identified by its
    /// preamble: 1 Mbit/s for DSSS (§15.1), or 6 Mbit/s for OFDM with its 20 µs (IEEE 802.11-2007
    /// §17.1); at most the basic rate configured here.
    pub const fn lowest_rate(&self) -> Rate {
        let ofdm = self.preamble.as_nanos() < SHORTEST_DSSS_PREAMBLE.as_nanos();
        let lowest = if ofdm { 6_000_000 } else { 1_000_000 };
        let basic = self.basic_rate.as_bps();
        Rate::from_bps(if basic < lowest { basic } else { lowest })
    }

    /// Extended interframe space: a SIFS, an ACK at the lowest mandatory rate, and a DIFS (§9.2.10;
    /// IEEE 802.11-2007 §9.2.3.5).
    pub const fn eifs(&self) -> Duration {
        let dsss = Rate::from_bps(1_000_000);
        let rate = if self.eifs_at_1_mbps { dsss } else { self.lowest_rate() };
        let around = self.sifs.as_nanos() + self.difs().as_nanos();
        Duration::from_nanos(around + self.airtime(ACK_BYTES, rate).as_nanos())
    }

    /// Airtime of a frame.
    pub const fn airtime(&self, bytes: u32, rate: Rate) -> Duration {
        let after = self.phy.after_preamble(bytes, rate);
        Duration::from_nanos(self.preamble.as_nanos() + after.as_nanos())
    }

    /// Size of the data frame that carries a packet.
    pub const fn frame_bytes(&self, packet: u32) -> u32 {
        packet + self.llc_bytes + self.header_bytes
    }

    /// Returns whether the unicast data frame that carries a packet is sent after RTS and CTS.
    pub const fn uses_rts(&self, packet: u32) -> bool {
        self.frame_bytes(packet) > self.rts_threshold
    }

    /// Mean service time of a station that always has packets of this size for one receiver, on an
    /// otherwise unused medium: DIFS, half the minimum contention window, and the exchange.
    pub fn service_time(&self, packet: u32) -> Duration {
        let control = |bytes| self.airtime(bytes, self.basic_rate);
        let most = self.cw_min.saturating_sub(u16::from(!self.backoff_includes_cw));
        let half = Duration::from_nanos(self.slot.as_nanos() * u64::from(most) / 2);
        let data = self.airtime(self.frame_bytes(packet), self.data_rate);
        let plain = self.difs() + half + data + self.sifs + control(ACK_BYTES);
        if self.uses_rts(packet) {
            plain + control(RTS_BYTES) + self.sifs + control(CTS_BYTES) + self.sifs
        } else {
            plain
        }
    }

    /// Number of attempts after which a packet of this size is discarded for this reason.
    pub const fn retry_limit(&self, packet: u32, reason: FailReason) -> u8 {
        match reason {
            FailReason::NoAck if self.uses_rts(packet) => self.long_retry_limit,
            FailReason::NoAck | FailReason::NoCts => self.short_retry_limit,
        }
    }
}

impl Default for DcfConfig {
    fn default() -> Self {
        Self::STANDARD
    }
}

/// The short preamble and header of high-rate DSSS (IEEE 802.11-2007 §18.2.2.2).
const SHORTEST_DSSS_PREAMBLE: Duration = Duration::from_micros(96);

/// Size of an RTS (bytes).
pub(super) const RTS_BYTES: u32 = 20;
/// Size of a CTS (bytes).
pub(super) const CTS_BYTES: u32 = 14;
/// Size of an ACK (bytes).
pub(super) const ACK_BYTES: u32 = 14;

/// Timing constants derived from the configuration, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    pub slot: u64,
    pub sifs: u64,
    pub difs: u64,
    pub eifs: u64,
    /// The time from the end of a failed reception to the first slot.
    pub after_rx_failure: u64,
    /// NAV after a failed reception.
    pub nav_after_rx_failure: u64,
    /// A correct reception ends an EIFS (§9.2.3.4), so that slots may begin earlier than known
    /// before.
    pub eifs_can_end: bool,
    pub preamble: u64,
    pub rts: u64,
    pub cts: u64,
    pub ack: u64,
    /// The time from the end of its RTS to the timeout.
    pub cts_timeout: u64,
    /// The time from the end of its data frame to the timeout.
    pub ack_timeout: u64,
    /// Part of an RTS's duration field besides the data frame.
    pub nav_around_data: u64,
    /// Part of a CTS's duration field after the data: a SIFS and the ACK, less the allowance for
    /// propagation.
    pub nav_after_data: u64,
    /// Time after an RTS within which a frame must follow (§9.2.5.4).
    pub rts_nav_timeout: u64,
}

impl Timing {
    pub fn new(config: &DcfConfig) -> Self {
        let sifs = config.sifs.as_nanos();
        let slot = config.slot.as_nanos();
        let difs = config.difs().as_nanos();
        let eifs = config.eifs().as_nanos();
        let preamble = config.preamble.as_nanos();
        let control = |bytes| config.airtime(bytes, config.basic_rate).as_nanos();
        let (rts, cts, ack) = (control(RTS_BYTES), control(CTS_BYTES), control(ACK_BYTES));
        let (timeout, way) = match config.response_timeout {
            ResponseTimeout::Preamble => (None, 0),
            ResponseTimeout::WholeFrame { propagation } => (Some(sifs), propagation.as_nanos()),
        };
        let timeout_of =
            |answer| timeout.map_or(sifs + slot + preamble, |sifs| sifs + answer + way);
        Self {
            slot,
            sifs,
            difs,
            eifs,
            after_rx_failure: if config.eifs_is_nav { eifs + difs } else { eifs },
            nav_after_rx_failure: if config.eifs_is_nav { eifs } else { 0 },
            eifs_can_end: !config.eifs_is_nav,
            preamble,
            rts,
            cts,
            ack,
            cts_timeout: timeout_of(cts),
            ack_timeout: timeout_of(ack),
            nav_around_data: 3 * sifs + cts + ack,
            nav_after_data: (sifs + ack).saturating_sub(way),
            rts_nav_timeout: 2 * sifs + cts + 2 * slot,
        }
    }
}
