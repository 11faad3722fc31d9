//! DCF configuration, including the differences between the standard and ns-2.35.

use driftway_base::{Duration, Probability, Rate, configuration, named};

use super::phy::Phy;
use crate::FailReason;

/// Passes the options of the DCF to a macro, after what it is given: see [`configuration!`](driftway_base::configuration).
#[macro_export]
macro_rules! dcf_options {
    ($table:ident! { $($head:tt)* }) => { $table! { $($head)* options {
        /// Physical layer: `"dsss"`, or `"erp-ofdm"`, 802.11g without older stations (IEEE 802.11-2007 §19), whose rates
        /// are 6, 9, 12, 18, 24, 36, 48 and 54 Mbit/s and whose frames take whole symbols of 4 µs and 6 µs more. With
        /// `"erp-ofdm"` the defaults are `data_rate = "54 Mbit/s"`, the highest of 6, 12 and 24 Mbit/s up to it as
        /// `basic_rate`, `preamble = "20 us"`, `slot = "9 us"` and `cw_min = 15`.
        phy: Phy as Keyword<Phy> = Phy::Dsss;
        /// Bit rate of unicast data frames.
        data_rate: Rate as BitRate = Rate::from_bps(2_000_000);
        /// Bit rate of RTS, CTS, ACK and broadcast frames.
        basic_rate: Rate as BitRate = Rate::from_bps(1_000_000);
        /// Duration of the PLCP preamble and header before each frame (IEEE 802.11-1999 §15.2.2).
        preamble: Duration as Time [at_most(Time::from_secs(1))] = Duration::from_micros(192);
        /// Slot time (aSlotTime, IEEE 802.11-1999 §15.3.3).
        slot: Duration as Time [positive(), at_most(Time::from_millis(10))]
            = Duration::from_micros(20);
        /// Short interframe space (aSIFSTime, IEEE 802.11-1999 §15.3.3); the DIFS is this plus two
        /// slots.
        sifs: Duration as Time [positive(), at_most(Time::from_millis(10))]
            = Duration::from_micros(10);
        /// Minimum contention window in slots, a power of two minus one (aCWmin, IEEE 802.11-1999
        /// §15.3.3).
        cw_min: u16 = 31;
        /// Maximum contention window in slots, a power of two minus one (aCWmax, IEEE 802.11-1999
        /// §15.3.3).
        cw_max: u16 = 1023;
        /// Frame size, with MAC header and FCS, above which a unicast frame is preceded by RTS and CTS
        /// (dot11RTSThreshold, IEEE 802.11-1999 §9.2.6); `"0 B"`: all unicast frames; no frame is
        /// longer than the default.
        rts_threshold: u32 as Size [range("the frame size in bytes", 0..=4_294_967_295)] = 2347
            => 0,
            "Annex D: dot11RTSThreshold is 2347 by default, so that RTS is not used.",
            "`RTSThreshold_` 0: an RTS precedes every unicast frame.";
        /// Maximum number of attempts for an RTS, or for a frame sent without RTS
        /// (dot11ShortRetryLimit, IEEE 802.11-1999 §9.2.5.3).
        short_retry_limit: u8 [range("the number of attempts", 1..=255)] = 7;
        /// Maximum number of attempts for a frame longer than `network.mac.rts_threshold`
        /// (dot11LongRetryLimit, IEEE 802.11-1999 §9.2.5.3).
        long_retry_limit: u8 [range("the number of attempts", 1..=255)] = 4;
        /// Size of the MAC header and FCS of a data frame (IEEE 802.11-1999 §7.2.2).
        header_bytes: u32 as Size [range("the number of bytes", 0..=1000)] = 28 => 34,
            "§7.2.2: three addresses where there is no distribution system; 24 bytes and the FCS.",
            "Counts a fourth address in every data frame (`sizeof(hdr_mac802_11)`).";
        /// Size of the LLC and SNAP headers in front of a packet (RFC 1042).
        llc_bytes: u32 as Size [range("the number of bytes", 0..=1000)] = 8 => 0,
            "RFC 1042: LLC and SNAP headers precede an IP packet.",
            "Neither.";
        /// The backoff is drawn from 0 to CW inclusive (IEEE 802.11-1999 §9.2.4); false: from 0 to CW −
        /// 1, as in ns-2.35.
        backoff_includes_cw: bool = true => false,
            "§9.2.4: a backoff is drawn from [0, CW], inclusive.",
            "`Random::random() % cw`: [0, CW − 1].";
        /// A DIFS and a backoff precede the first attempt of every frame, as in ns-2.35; false: a frame
        /// that finds the medium idle for a DIFS is sent without backoff (IEEE 802.11-1999 §9.2.5.1).
        backoff_before_first: bool = false => true,
            "§9.2.5.1: a frame that finds the medium idle for a DIFS is sent at once.",
            "Defers for a DIFS and a backoff before every frame.";
        /// A CTS is suppressed whenever the medium is busy for any reason, as in ns-2.35; false: only
        /// the NAV suppresses it (IEEE 802.11-1999 §9.2.5.7).
        cts_needs_idle: bool = false => true,
            "§9.2.5.7: a CTS answers an RTS unless the NAV indicates a busy medium.",
            "A CTS that is due is dropped if the medium is busy for any reason or the NAV is set, \
             also by an EIFS (`check_pktCTRL`): a main cause of false link failures in chains.";
        /// A data frame after a CTS is sent only if the medium is idle, as in ns-2.35; false: it
        /// follows the CTS after a SIFS (IEEE 802.11-1999 §9.2.5.7).
        data_needs_idle: bool = false => true,
            "§9.2.5.7: the data frame follows the CTS after a SIFS, regardless of the medium.",
            "Checks the medium again (`check_pktTx`); if it is busy, the contention window grows \
             and the frame backs off, and no retry is counted.";
        /// A station that has sent a CTS freezes its backoff until the data frame could have ended, as
        /// in ns-2.35.
        cts_holds_backoff: bool = false => true,
            "No such rule: the backoff resumes a DIFS after the CTS.",
            "A station that has sent a CTS freezes its backoff until the data could have ended \
             (`transmit`, timer of the CTS).";
        /// An EIFS sets the NAV, as in ns-2.35; false: it replaces the DIFS after a frame received in
        /// error, and ends with the next correct frame (IEEE 802.11-1999 §9.2.3.4).
        eifs_is_nav: bool = false => true,
            "§9.2.3.4: an EIFS replaces the DIFS after a frame received in error, and the next \
             correct frame ends it.",
            "`set_nav(usec(eifs))`: the DIFS is added, nothing ends it early, and no RTS is \
             answered meanwhile.";
        /// An EIFS also follows a frame that was only sensed, or that began while the station was
        /// transmitting, as in ns-2.35.
        eifs_when_only_sensed: bool = false => true,
            "§9.2.3.4: after a frame that the physical layer indicated; it does not indicate \
             frames that it only senses.",
            "Also after a frame that was only sensed, or began while the station was \
             transmitting.";
        /// The EIFS includes an ACK at 1 Mbit/s even with an OFDM preamble, as in ns-2.35; false: at
        /// the lowest mandatory rate, which is 6 Mbit/s for OFDM (IEEE 802.11-2007 §9.2.3.5).
        eifs_at_1_mbps: bool = false => true,
            "IEEE 802.11-2007 §9.2.3.5: an EIFS includes an ACK at the lowest mandatory rate, \
             which is 6 Mbit/s for OFDM.",
            "At `PLCPDataRate_`, 1 Mbit/s, for every preamble.";
        /// Capture model, with the ratio `radio.capture`: `"stronger"`, the stronger of two overlapping
        /// frames is received; `"sinr"`, a frame is received if it exceeds the sum of all others; or
        /// `"first"`, only the earlier of two, if it is the stronger one, as in ns-2.35.
        capture: CaptureModel as Keyword<CaptureModel> = CaptureModel::Stronger
            => CaptureModel::First,
            "Leaves to the receiver which of two frames it receives; here it is the stronger one.",
            "Only the earlier one can be received, if it is stronger by `CPThresh_`; a stronger \
             later one collides (`recv`).";
        /// A CTS resets the short retry count (IEEE 802.11-1999 §9.2.5.3).
        cts_resets_short_count: bool = true;
        /// The retry counts of a packet carry over to the next one, as in ns-2.35; false: they belong
        /// to one packet (IEEE 802.11-1999 §9.2.5.3).
        counts_outlive_packets: bool = false => true,
            "§9.2.5.3: retry counts belong to a frame.",
            "One pair per station: the counts carry over from one packet to the next (`ssrc_`, \
             `slrc_`).";
        /// A backoff follows the last failed attempt of a packet (IEEE 802.11-1999 §9.2.5.2).
        backoff_after_giving_up: bool = true => false,
            "§9.2.5.2: a backoff follows every transmission, including the last failed one.",
            "Only after a success.";
        /// Timeout for a CTS or ACK: `"preamble"`, until its preamble should have been received (IEEE
        /// 802.11-1999 §9.2.8), or `{ whole-frame = "4 us" }`, until the whole frame should have been
        /// received, with this allowance for the propagation delay of both directions,
        /// as in ns-2.35.
        response_timeout: ResponseTimeout as MacTimeout [at_most(Time::from_millis(10))] = ResponseTimeout::Preamble
            => ResponseTimeout::WholeFrame { propagation: Duration::from_micros(4) },
            "§9.2.8: no response has begun within SIFS, a slot and the delay of the reception \
             indication.",
            "Waits until the response should have ended, plus 2 × 2 µs of propagation delay; \
             neighbours beyond 600 m cannot communicate.";
        /// A DIFS separates a CTS or ACK timeout from the first backoff slot, as in ns-2.35 (IEEE
        /// 802.11-1999 §9.2.5.2: no).
        difs_after_timeout: bool = false => true,
            "§9.2.5.2: the backoff continues if the medium was idle for a DIFS before the \
             timeout.",
            "A DIFS follows each timeout.";
        /// A NAV set by an RTS is reset if no frame follows the RTS (IEEE 802.11-1999 §9.2.5.4).
        rts_nav_ends: bool = true => false,
            "§9.2.5.4: a NAV set by an RTS may be reset if no frame follows.",
            "It is never reset.";
        /// Duration fields are rounded up to whole microseconds (IEEE 802.11-1999 §7.1.3.2); false: to
        /// the nearest one, as in ns-2.35.
        durations_round_up: bool = true => false,
            "§7.1.3.2: a duration is rounded up to a whole microsecond.",
            "It is rounded to the nearest (`usec`).";
        /// Link-layer delay of an outgoing packet before it enters the interface queue.
        delay_down: Duration as Time [at_most(Time::from_secs(1))] = Duration::ZERO
            => Duration::from_micros(25),
            "No delay of a link layer above the MAC.",
            "`LL delay_`: 25 µs before a packet enters the interface queue.";
        /// Link-layer delay of a received packet before it reaches the network layer. It is simulated
        /// together with `network.mac.delay_down` before the packet enters the interface queue, so that
        /// the end-to-end sum is the same.
        delay_up: Duration as Time [at_most(Time::from_secs(1))] = Duration::ZERO
            => Duration::from_micros(25),
            "The same.",
            "25 µs before a received packet reaches the network layer.";
    } } };
}

dcf_options! { configuration! {
    /// Configuration of the distributed coordination function (DCF) of all stations. Sizes are those of a frame from
    /// the end of the PLCP header to the end of the FCS.
    pub struct DcfConfig {
        /// IEEE 802.11-1999 with the DSSS physical layer of its clause 15.
        STANDARD,
        /// `Mac/802_11` of ns-2.35 as configured in published scripts.
        NS2,
    }
    given {
        /// Error probability of a frame that could be decoded, for each receiver.
        frame_error: Probability = Probability::NEVER,
    }
} }

named! {
    /// Capture models: which of the frames that overlap at a receiver is received. Except with `Sinr`,
    /// frames are compared in pairs, and interference power is not summed. The ratio is the radio's
    /// ([`crate::RadioConfig::capture`]).
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
