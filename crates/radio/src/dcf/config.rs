//! What a station does, and where the standard and ns-2.35 differ.

use driftway_base::{Probability, Duration, Rate};

use crate::FailReason;

/// How the distributed coordination function (DCF) of every station is set.
///
/// [`DcfConfig::STANDARD`] is IEEE 802.11-1999 with the DSSS physical layer of its clause 15;
/// [`DcfConfig::NS2`] is `Mac/802_11` of ns-2.35 as the field's scripts use it. Sizes are those of a
/// frame between the PLCP header and the end of the FCS.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DcfConfig {
    /// Of data frames to one station. The standard: 1 or 2 Mbit/s; ns-2.35: 1 Mbit/s unless a
    /// script says otherwise, which nearly all do.
    pub data_rate: Rate,
    /// Of RTS, CTS, ACK and of every frame to all. The standard and ns-2.35: 1 Mbit/s.
    pub basic_rate: Rate,
    /// What precedes each frame: 144 bits of preamble and 48 of PLCP header at 1 Mbit/s. ns-2
    /// before March 2002 had none.
    pub preamble: Duration,
    /// A slot (§15.3.3: 20 µs).
    pub slot: Duration,
    /// Short interframe space (§15.3.3: 10 µs). DIFS is this and two slots.
    pub sifs: Duration,
    /// The first contention window, a power of two less one (§15.3.3: 31).
    pub cw_min: u16,
    /// The last contention window (§15.3.3: 1023).
    pub cw_max: u16,
    /// Frames longer than this many bytes, header and FCS counted, are sent after RTS and CTS. The
    /// standard: 2347, so none; ns-2.35: 0, so all. (ns-2.35 also counts 24 bytes of PLCP, and a
    /// frame of just this size.)
    pub rts_threshold: u32,
    /// So many attempts that a short frame or an RTS may fail. Both: 7.
    pub short_retry_limit: u8,
    /// So many attempts that a frame above the RTS threshold may fail. Both: 4.
    pub long_retry_limit: u8,
    /// Header and FCS of a data frame (bytes). The standard: 28 with three addresses, as in an
    /// independent network; ns-2.35: 34, because it always counts a fourth.
    pub header_bytes: u32,
    /// LLC and SNAP in front of a packet (bytes). RFC 1042: 8; ns-2.35: none.
    pub llc_bytes: u32,
    /// A back-off is drawn from 0 to CW, both included (§9.2.4). ns-2.35 never draws CW itself.
    pub backoff_includes_cw: bool,
    /// A frame that finds the medium idle for a DIFS goes at once (§9.2.5.1). ns-2.35 backs off
    /// before every frame.
    pub first_at_once: bool,
    /// What keeps a station from answering an RTS. The standard: its NAV at the end of the RTS
    /// (§9.2.5.7), and nothing else. ns-2.35: anything that makes the medium busy when the CTS is
    /// to start (a NAV, also one set for an EIFS; a frame under reception), or that it waits for an
    /// answer itself.
    pub cts_needs_idle: bool,
    /// After a CTS, data follows whatever the medium does (§9.2.5.7). ns-2.35 looks at medium and
    /// NAV once more; if busy, it doubles the contention window, backs off and sends another RTS,
    /// without counting a retry. This is the one place where a station of ns-2.35 can find the
    /// medium busy at the moment of sending.
    pub data_needs_idle: bool,
    /// Who has sent a CTS waits for the data and counts no slots meanwhile. The standard: no such
    /// rule, slots count again after a DIFS; ns-2.35: until the data could have ended.
    pub cts_holds_backoff: bool,
    /// EIFS by way of the NAV. The standard: an extended space after a frame that was not
    /// understood replaces the DIFS, and the next frame that is understood ends it (§9.2.3.4).
    /// ns-2.35 sets the NAV for an EIFS, to which the DIFS comes on top, which nothing ends and
    /// which keeps it from answering an RTS.
    pub eifs_is_nav: bool,
    /// An EIFS also after a frame that was only sensed: too weak to decode, or begun while the
    /// station was sending. The standard: no, the physical layer then announces no frame; ns-2.35:
    /// yes.
    pub eifs_when_only_sensed: bool,
    /// An EIFS leaves room for an ACK at 1 Mbit/s, whatever the physical layer. The standard: at the
    /// layer's lowest mandatory rate ([`DcfConfig::lowest_rate`]); ns-2.35: yes.
    pub eifs_at_1_mbps: bool,
    /// Which of two frames that overlap is received.
    pub capture: CaptureModel,
    /// A CTS resets the short retry count (§9.2.5.3). ns-2 does this since February 2003; before,
    /// together with `counts_outlive_packets`, every seventh RTS that failed cost a packet.
    pub cts_resets_short_count: bool,
    /// The retry counts of a packet that was given up, or that an ACK ended for the other count
    /// only, are there for the next. The standard keeps the counts that end a packet for each
    /// packet alone (§9.2.5.3); ns-2.35 has one pair a station.
    pub counts_outlive_packets: bool,
    /// After the last failure of a packet a back-off runs, whether or not there is a next packet
    /// (§9.2.5.2). ns-2.35: only after a success; its next frame draws one anyhow.
    pub backoff_after_giving_up: bool,
    /// How long a station waits for CTS or ACK.
    pub response_timeout: ResponseTimeout,
    /// A DIFS lies between a timeout and the first slot of the back-off after it. The standard: no,
    /// if the medium was idle for a DIFS when the timeout came (§9.2.5.2); ns-2.35: yes.
    pub difs_after_timeout: bool,
    /// A NAV set by an RTS ends if nothing follows the RTS (§9.2.5.4, which permits it).
    /// ns-2.35: no.
    pub rts_nav_ends: bool,
    /// Duration fields are rounded up to a microsecond (§7.1.3.2). ns-2.35: to the nearest.
    pub durations_round_up: bool,
    /// The probability that a frame which could be decoded has an error, for each receiver.
    pub frame_error: Probability,
    /// How long a packet stays in the link layer above the interface queue, before it enters it.
    /// Whoever drives the air keeps to it. The standard: nothing; ns-2.35: 25 µs.
    pub delay_down: Duration,
    /// How long a received packet stays in the link layer, before the network layer gets it.
    /// Whoever drives the air keeps to it. The standard: nothing; ns-2.35: 25 µs.
    pub delay_up: Duration,
}

/// Which of the frames that overlap at a receiver is received. Where it is not `Sinr`, frames are
/// compared in pairs, and power is not summed. The ratio is the radio's
/// ([`crate::RadioConfig::capture`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureModel {
    /// The stronger one, if it is so by the ratio and the receiver can still turn to it: it came
    /// first, or within the preamble of the one before it, or what came before it could not be
    /// decoded anyhow. (The standard leaves this open.)
    Stronger,
    /// As `Stronger`, but by the ratio to all other frames at the receiver together: the ratio of
    /// signal to interference. Noise is in the receive threshold; what is too weak to be sensed adds
    /// nothing.
    Sinr,
    /// As ns-2.35: only the one that came first, whether or not it can be decoded. What it
    /// outshouts sets the NAV for its airtime and an EIFS. A frame that comes second is lost however
    /// strong it is, and of both the one that ends last occupies the receiver.
    First,
}

/// How long a station waits for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseTimeout {
    /// Until a preamble should have been received, and if one was, to the end of its frame: SIFS +
    /// slot + preamble after the end of the own frame (§9.2.8, with the value that later editions
    /// spell out).
    Preamble,
    /// As ns-2.35: until the answer should have ended, with this much for the way there and back.
    WholeFrame {
        /// Both ways (ns-2.35: 2 × 2 µs, so neighbours beyond 600 m cannot talk).
        propagation: Duration,
    },
}

impl DcfConfig {
    /// IEEE 802.11-1999.
    pub const STANDARD: Self = Self {
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
        first_at_once: true,
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

    /// ns-2.35.
    pub const NS2: Self = Self {
        rts_threshold: 0,
        header_bytes: 34,
        llc_bytes: 0,
        backoff_includes_cw: false,
        first_at_once: false,
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

    /// The lowest rate that every station with this physical layer has, which its preamble gives away:
    /// DSSS's 1 Mbit/s (§15.1), or OFDM's 6 Mbit/s after 20 µs (IEEE 802.11-2007 §17.1). No higher
    /// than the rate that answers have here.
    pub const fn lowest_rate(&self) -> Rate {
        let ofdm = self.preamble.as_nanos() < SHORTEST_DSSS_PREAMBLE.as_nanos();
        let lowest = if ofdm { 6_000_000 } else { 1_000_000 };
        let basic = self.basic_rate.as_bps();
        Rate::from_bps(if basic < lowest { basic } else { lowest })
    }

    /// Extended interframe space: as long as an ACK at the lowest mandatory rate would take after the
    /// frame, and a DIFS (§9.2.10; IEEE 802.11-2007 §9.2.3.5).
    pub const fn eifs(&self) -> Duration {
        let dsss = Rate::from_bps(1_000_000);
        let rate = if self.eifs_at_1_mbps { dsss } else { self.lowest_rate() };
        let ack = rate.transmission_time(ACK_BYTES);
        let around = self.sifs.as_nanos() + self.difs().as_nanos();
        Duration::from_nanos(around + self.preamble.as_nanos() + ack.as_nanos())
    }

    /// How long a frame is on the air.
    pub const fn airtime(&self, bytes: u32, rate: Rate) -> Duration {
        Duration::from_nanos(self.preamble.as_nanos() + rate.transmission_time(bytes).as_nanos())
    }

    /// The size of the data frame that carries a packet.
    pub const fn frame_bytes(&self, packet: u32) -> u32 {
        packet + self.llc_bytes + self.header_bytes
    }

    /// Is the data frame that carries a packet to one station sent after RTS and CTS?
    pub const fn uses_rts(&self, packet: u32) -> bool {
        self.frame_bytes(packet) > self.rts_threshold
    }

    /// How long a station that always has packets of this size for one other needs for each, on a
    /// medium that it has for itself: DIFS, half the first contention window, and the exchange.
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

    /// After so many attempts a packet of this size is given up for this reason.
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

/// Size of an RTS.
pub(super) const RTS_BYTES: u32 = 20;
/// Size of a CTS.
pub(super) const CTS_BYTES: u32 = 14;
/// Size of an ACK.
pub(super) const ACK_BYTES: u32 = 14;

/// The configuration in nanoseconds, with everything that is the same for every frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    pub slot: u64,
    pub sifs: u64,
    pub difs: u64,
    pub eifs: u64,
    /// From the end of what was not understood to the first slot.
    pub after_rx_failure: u64,
    /// The NAV that what was not understood leaves behind.
    pub nav_after_rx_failure: u64,
    /// What is understood ends an EIFS (§9.2.3.4): slots may count earlier than was known before.
    pub eifs_can_end: bool,
    pub preamble: u64,
    pub rts: u64,
    pub cts: u64,
    pub ack: u64,
    /// From the end of an own RTS to the timeout.
    pub cts_timeout: u64,
    /// From the end of an own data frame to the timeout.
    pub ack_timeout: u64,
    /// What an RTS protects besides the data frame.
    pub nav_around_data: u64,
    /// What of a CTS's duration field is not the data: a SIFS and the ACK, less the time allowed
    /// for the way there and back.
    pub nav_after_data: u64,
    /// After an RTS, so long until something must have followed it (§9.2.5.4).
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
