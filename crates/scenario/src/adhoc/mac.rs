//! The table `mac`: medium access control.

use driftway_base::Probability;
use driftway_radio::dcf::{CaptureModel, Phy, ResponseTimeout};
use driftway_radio::{DcfConfig, TdmaConfig};
use serde::{Deserialize, Serialize};

use crate::file_value::{FileValue, Keyword};
use crate::rules::{RuledValue, table};
use crate::tagged::tagged;
use crate::{BitRate, Size, Time};

tagged! {
    /// Medium access control; the key `kind` selects the variant.
    pub enum Mac by "kind",
    /// Values of `kind`.
    pub enum MacKind {
        /// The distributed coordination function of IEEE 802.11.
        Dcf(Dcf) = "dcf",
        /// Time division: each node has its own slot.
        Tdma(Tdma) = "tdma",
    }
}

table! {
    /// IEEE 802.11-1999 DCF with the DSSS physical layer: the table `mac` with `kind = "dcf"`.
    /// Defaults are those of the standard. The deviations of ns-2.35 are listed in `docs/ns-2.md`.
    Dcf of DcfConfig = DcfConfig::STANDARD, "a table with the keys of a DCF";
    /// Physical layer: `"dsss"`, or `"erp-ofdm"`, 802.11g without older stations (IEEE 802.11-2007 §19), whose rates
    /// are 6, 9, 12, 18, 24, 36, 48 and 54 Mbit/s and whose frames take whole symbols of 4 µs and 6 µs more. With
    /// `"erp-ofdm"` the defaults are `data_rate = "54 Mbit/s"`, the highest of 6, 12 and 24 Mbit/s up to it as
    /// `basic_rate`, `preamble = "20 us"`, `slot = "9 us"` and `cw_min = 15`.
    phy: Keyword<Phy>,
    /// Bit rate of unicast data frames.
    data_rate: BitRate,
    /// Bit rate of RTS, CTS, ACK and broadcast frames.
    basic_rate: BitRate,
    /// Duration of the PLCP preamble and header before each frame (IEEE 802.11-1999 §15.2.2).
    preamble: Time [at_most(Time::from_secs(1))],
    /// Slot time (aSlotTime, IEEE 802.11-1999 §15.3.3).
    slot: Time [positive(), at_most(Time::from_millis(10))],
    /// Short interframe space (aSIFSTime, IEEE 802.11-1999 §15.3.3); the DIFS is this plus two
    /// slots.
    sifs: Time [positive(), at_most(Time::from_millis(10))],
    /// Minimum contention window in slots, a power of two minus one (aCWmin, IEEE 802.11-1999
    /// §15.3.3).
    cw_min: u16,
    /// Maximum contention window in slots, a power of two minus one (aCWmax, IEEE 802.11-1999
    /// §15.3.3).
    cw_max: u16,
    /// Frame size, with MAC header and FCS, above which a unicast frame is preceded by RTS and CTS
    /// (dot11RTSThreshold, IEEE 802.11-1999 §9.2.6); `"0 B"`: all unicast frames; no frame is
    /// longer than the default.
    rts_threshold: Size [range("the frame size in bytes", 0..=4_294_967_295), ns2(
        "Annex D: dot11RTSThreshold is 2347 by default, so that RTS is not used.",
        "`RTSThreshold_` 0: an RTS precedes every unicast frame.",
    )],
    /// Maximum number of attempts for an RTS, or for a frame sent without RTS
    /// (dot11ShortRetryLimit, IEEE 802.11-1999 §9.2.5.3).
    short_retry_limit: u8 [range("the number of attempts", 1..=255)],
    /// Maximum number of attempts for a frame longer than `network.mac.rts_threshold`
    /// (dot11LongRetryLimit, IEEE 802.11-1999 §9.2.5.3).
    long_retry_limit: u8 [range("the number of attempts", 1..=255)],
    /// Size of the MAC header and FCS of a data frame (IEEE 802.11-1999 §7.2.2).
    header_bytes: Size [range("the number of bytes", 0..=1000), ns2(
        "§7.2.2: three addresses where there is no distribution system; 24 bytes and the FCS.",
        "Counts a fourth address in every data frame (`sizeof(hdr_mac802_11)`).",
    )],
    /// Size of the LLC and SNAP headers in front of a packet (RFC 1042).
    llc_bytes: Size [range("the number of bytes", 0..=1000), ns2(
        "RFC 1042: LLC and SNAP headers precede an IP packet.",
        "Neither.",
    )],
    /// The backoff is drawn from 0 to CW inclusive (IEEE 802.11-1999 §9.2.4); false: from 0 to CW −
    /// 1, as in ns-2.35.
    backoff_includes_cw: bool [ns2(
        "§9.2.4: a backoff is drawn from [0, CW], inclusive.",
        "`Random::random() % cw`: [0, CW − 1].",
    )],
    /// A DIFS and a backoff precede the first attempt of every frame, as in ns-2.35; false: a frame
    /// that finds the medium idle for a DIFS is sent without backoff (IEEE 802.11-1999 §9.2.5.1).
    backoff_before_first: bool [ns2(
        "§9.2.5.1: a frame that finds the medium idle for a DIFS is sent at once.",
        "Defers for a DIFS and a backoff before every frame.",
    )],
    /// A CTS is suppressed whenever the medium is busy for any reason, as in ns-2.35; false: only
    /// the NAV suppresses it (IEEE 802.11-1999 §9.2.5.7).
    cts_needs_idle: bool [ns2(
        "§9.2.5.7: a CTS answers an RTS unless the NAV indicates a busy medium.",
        "A CTS that is due is dropped if the medium is busy for any reason or the NAV is set, \
         also by an EIFS (`check_pktCTRL`): a main cause of false link failures in chains.",
    )],
    /// A data frame after a CTS is sent only if the medium is idle, as in ns-2.35; false: it
    /// follows the CTS after a SIFS (IEEE 802.11-1999 §9.2.5.7).
    data_needs_idle: bool [ns2(
        "§9.2.5.7: the data frame follows the CTS after a SIFS, regardless of the medium.",
        "Checks the medium again (`check_pktTx`); if it is busy, the contention window grows and \
         the frame backs off, and no retry is counted.",
    )],
    /// A station that has sent a CTS freezes its backoff until the data frame could have ended, as
    /// in ns-2.35.
    cts_holds_backoff: bool [ns2(
        "No such rule: the backoff resumes a DIFS after the CTS.",
        "A station that has sent a CTS freezes its backoff until the data could have ended \
         (`transmit`, timer of the CTS).",
    )],
    /// An EIFS sets the NAV, as in ns-2.35; false: it replaces the DIFS after a frame received in
    /// error, and ends with the next correct frame (IEEE 802.11-1999 §9.2.3.4).
    eifs_is_nav: bool [ns2(
        "§9.2.3.4: an EIFS replaces the DIFS after a frame received in error, and the next \
         correct frame ends it.",
        "`set_nav(usec(eifs))`: the DIFS is added, nothing ends it early, and no RTS is answered \
         meanwhile.",
    )],
    /// An EIFS also follows a frame that was only sensed, or that began while the station was
    /// transmitting, as in ns-2.35.
    eifs_when_only_sensed: bool [ns2(
        "§9.2.3.4: after a frame that the physical layer indicated; it does not indicate frames \
         that it only senses.",
        "Also after a frame that was only sensed, or began while the station was transmitting.",
    )],
    /// The EIFS includes an ACK at 1 Mbit/s even with an OFDM preamble, as in ns-2.35; false: at
    /// the lowest mandatory rate, which is 6 Mbit/s for OFDM (IEEE 802.11-2007 §9.2.3.5).
    eifs_at_1_mbps: bool [ns2(
        "IEEE 802.11-2007 §9.2.3.5: an EIFS includes an ACK at the lowest mandatory rate, which \
         is 6 Mbit/s for OFDM.",
        "At `PLCPDataRate_`, 1 Mbit/s, for every preamble.",
    )],
    /// Capture model, with the ratio `radio.capture`: `"stronger"`, the stronger of two overlapping
    /// frames is received; `"sinr"`, a frame is received if it exceeds the sum of all others; or
    /// `"first"`, only the earlier of two, if it is the stronger one, as in ns-2.35.
    capture: Keyword<CaptureModel> [ns2(
        "Leaves to the receiver which of two frames it receives; here it is the stronger one.",
        "Only the earlier one can be received, if it is stronger by `CPThresh_`; a stronger later \
         one collides (`recv`).",
    )],
    /// A CTS resets the short retry count (IEEE 802.11-1999 §9.2.5.3).
    cts_resets_short_count: bool,
    /// The retry counts of a packet carry over to the next one, as in ns-2.35; false: they belong
    /// to one packet (IEEE 802.11-1999 §9.2.5.3).
    counts_outlive_packets: bool [ns2(
        "§9.2.5.3: retry counts belong to a frame.",
        "One pair per station: the counts carry over from one packet to the next (`ssrc_`, \
         `slrc_`).",
    )],
    /// A backoff follows the last failed attempt of a packet (IEEE 802.11-1999 §9.2.5.2).
    backoff_after_giving_up: bool [ns2(
        "§9.2.5.2: a backoff follows every transmission, including the last failed one.",
        "Only after a success.",
    )],
    /// Timeout for a CTS or ACK: `"preamble"`, until its preamble should have been received (IEEE
    /// 802.11-1999 §9.2.8), or `{ whole-frame = "4 us" }`, until the whole frame should have been
    /// received, with this allowance for the propagation delay of both directions,
    /// as in ns-2.35.
    response_timeout: MacTimeout [at_most(Time::from_millis(10)), ns2(
        "§9.2.8: no response has begun within SIFS, a slot and the delay of the reception \
         indication.",
        "Waits until the response should have ended, plus 2 × 2 µs of propagation delay; \
         neighbours beyond 600 m cannot communicate.",
    )],
    /// A DIFS separates a CTS or ACK timeout from the first backoff slot, as in ns-2.35 (IEEE
    /// 802.11-1999 §9.2.5.2: no).
    difs_after_timeout: bool [ns2(
        "§9.2.5.2: the backoff continues if the medium was idle for a DIFS before the timeout.",
        "A DIFS follows each timeout.",
    )],
    /// A NAV set by an RTS is reset if no frame follows the RTS (IEEE 802.11-1999 §9.2.5.4).
    rts_nav_ends: bool [ns2(
        "§9.2.5.4: a NAV set by an RTS may be reset if no frame follows.",
        "It is never reset.",
    )],
    /// Duration fields are rounded up to whole microseconds (IEEE 802.11-1999 §7.1.3.2); false: to
    /// the nearest one, as in ns-2.35.
    durations_round_up: bool [ns2(
        "§7.1.3.2: a duration is rounded up to a whole microsecond.",
        "It is rounded to the nearest (`usec`).",
    )],
    /// Link-layer delay of an outgoing packet before it enters the interface queue.
    delay_down: Time [at_most(Time::from_secs(1)), ns2(
        "No delay of a link layer above the MAC.",
        "`LL delay_`: 25 µs before a packet enters the interface queue.",
    )],
    /// Link-layer delay of a received packet before it reaches the network layer. It is simulated
    /// together with `network.mac.delay_down` before the packet enters the interface queue, so that
    /// the end-to-end sum is the same.
    delay_up: Time [at_most(Time::from_secs(1)), ns2(
        "The same.",
        "25 µs before a received packet reaches the network layer.",
    )],
    // Set from `radio.packet_error_rate`.
    ; given frame_error = Probability::NEVER,
}

/// Timeout for a CTS or ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", expecting = "\"preamble\" or { whole-frame = \"4 us\" }")]
pub enum MacTimeout {
    /// `"preamble"`: until its preamble should have been received.
    Preamble,
    /// `{ whole-frame = "4 us" }`: until it should have ended, with this allowance for the
    /// propagation delay of both directions.
    WholeFrame(Time),
}

impl FileValue<ResponseTimeout> for MacTimeout {
    fn from_config(value: ResponseTimeout) -> Self {
        match value {
            ResponseTimeout::Preamble => Self::Preamble,
            ResponseTimeout::WholeFrame { propagation } => Self::WholeFrame(Time(propagation)),
        }
    }
    fn to_config(&self) -> ResponseTimeout {
        match *self {
            Self::Preamble => ResponseTimeout::Preamble,
            Self::WholeFrame(Time(propagation)) => ResponseTimeout::WholeFrame { propagation },
        }
    }
}

impl RuledValue for MacTimeout {
    fn time(&self) -> Option<Time> {
        match self {
            Self::Preamble => None,
            Self::WholeFrame(time) => Some(*time),
        }
    }
}

table! {
    /// Time division multiple access: the table `mac` with `kind = "tdma"`. Nodes transmit in turn
    /// in the order of their numbers, wherever they are. There are no acknowledgments, so that no
    /// link failures are reported to the routing protocol: by default AODV sends hello messages,
    /// and DSR requires static nodes or `confirm = "network-layer"`.
    Tdma of TdmaConfig = TdmaConfig::STANDARD, "a table with the keys of a TDMA";
    /// Bit rate of all frames.
    #[serde(rename = "data_rate")]
    rate: BitRate,
    /// Duration of the preamble before each frame.
    preamble: Time [at_most(Time::from_secs(1))],
    /// Size of the largest packet that fits into one slot; a larger one takes several of its node's
    /// slots.
    slot_bytes: Size [range("a slot for packets of", 100..=65_535)],
    /// Size of the link-layer header of a packet.
    header_bytes: Size [range("the number of bytes", 0..=1000), ns2(
        "There is no standard; here the minimum is implemented.",
        "The header of its 802.11, without LLC and SNAP. Its slots do not include the header's \
         airtime, so that full frames overlap the next slot (mac/mac-tdma.cc); this is not \
         reproduced.",
    )],
    /// Each frame of slots begins with a slot in which nodes announce their transmissions, as in
    /// ns-2.35; packets that arrive later wait for the next one.
    announced: bool [ns2(
        "There is no standard; here the minimum is implemented.",
        "A round begins with a slot in which nodes announce their transmissions; packets that \
         arrive later wait for the next round.",
    )],
    /// Link-layer delay of an outgoing packet before it enters the interface queue.
    delay_down: Time [at_most(Time::from_secs(1)), ns2(
        "There is no standard; here the minimum is implemented.",
        "`LL delay_`: 25 µs before a packet enters the interface queue.",
    )],
    /// Link-layer delay of a received packet before it reaches the network layer. It is simulated
    /// together with `network.mac.delay_down` before the packet enters the interface queue, so that
    /// the end-to-end sum is the same.
    delay_up: Time [at_most(Time::from_secs(1)), ns2(
        "There is no standard; here the minimum is implemented.",
        "25 µs before a received packet reaches the network layer.",
    )],
    // Set from `radio.packet_error_rate`.
    ; given frame_error = Probability::NEVER,
}

impl Default for Mac {
    fn default() -> Self {
        Self::Dcf(Dcf::default())
    }
}
