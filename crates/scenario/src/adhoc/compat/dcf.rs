//! Deviations of 802.11 in ns-2.35 (mac/mac-802_11.cc) from IEEE 802.11-1999, and of its TDMA
//! (mac/mac-tdma.cc), for which there is no standard.

use super::deviation::{Deviation, DeviationScope};

const fn key(
    key: &'static str,
    [standard, ns2]: [&'static str; 2],
    standard_says: &'static str,
    ns2_does: &'static str,
) -> Deviation {
    Deviation { key, scope: DeviationScope::Dcf, standard, ns2, standard_says, ns2_does }
}

pub(super) const DCF: &[Deviation] = &[
    key(
        "mac.rts_threshold",
        [r#""2347 B""#, r#""0 B""#],
        "Annex D: dot11RTSThreshold is 2347 by default, so that RTS is not used.",
        "`RTSThreshold_` 0: an RTS precedes every unicast frame.",
    ),
    key(
        "mac.header_bytes",
        [r#""28 B""#, r#""34 B""#],
        "§7.2.2: three addresses where there is no distribution system; 24 bytes and the FCS.",
        "Counts a fourth address in every data frame (`sizeof(hdr_mac802_11)`).",
    ),
    key(
        "mac.llc_bytes",
        [r#""8 B""#, r#""0 B""#],
        "RFC 1042: LLC and SNAP headers precede an IP packet.",
        "Neither.",
    ),
    key(
        "mac.backoff_includes_cw",
        ["true", "false"],
        "§9.2.4: a backoff is drawn from [0, CW], inclusive.",
        "`Random::random() % cw`: [0, CW − 1].",
    ),
    key(
        "mac.backoff_before_first",
        ["false", "true"],
        "§9.2.5.1: a frame that finds the medium idle for a DIFS is sent at once.",
        "Defers for a DIFS and a backoff before every frame.",
    ),
    key(
        "mac.cts_needs_idle",
        ["false", "true"],
        "§9.2.5.7: a CTS answers an RTS unless the NAV indicates a busy medium.",
        "A CTS that is due is dropped if the medium is busy for any reason or the NAV is set, also by \
         an EIFS (`check_pktCTRL`): a main cause of false link failures in chains.",
    ),
    key(
        "mac.data_needs_idle",
        ["false", "true"],
        "§9.2.5.7: the data frame follows the CTS after a SIFS, regardless of the medium.",
        "Checks the medium again (`check_pktTx`); if it is busy, the contention window grows and \
         the frame backs off, and no retry is counted.",
    ),
    key(
        "mac.cts_holds_backoff",
        ["false", "true"],
        "No such rule: the backoff resumes a DIFS after the CTS.",
        "A station that has sent a CTS freezes its backoff until the data could have ended \
         (`transmit`, timer of the CTS).",
    ),
    key(
        "mac.eifs_is_nav",
        ["false", "true"],
        "§9.2.3.4: an EIFS replaces the DIFS after a frame received in error, and the next \
         correct frame ends it.",
        "`set_nav(usec(eifs))`: the DIFS is added, nothing ends it early, and no RTS is answered \
         meanwhile.",
    ),
    key(
        "mac.eifs_when_only_sensed",
        ["false", "true"],
        "§9.2.3.4: after a frame that the physical layer indicated; it does not indicate frames \
         that it only senses.",
        "Also after a frame that was only sensed, or began while the station was transmitting.",
    ),
    key(
        "mac.eifs_at_1_mbps",
        ["false", "true"],
        "IEEE 802.11-2007 §9.2.3.5: an EIFS includes an ACK at the lowest mandatory rate, which \
         is 6 Mbit/s for OFDM.",
        "At `PLCPDataRate_`, 1 Mbit/s, for every preamble.",
    ),
    key(
        "mac.capture",
        [r#""stronger""#, r#""first""#],
        "Leaves to the receiver which of two frames it receives; here it is the stronger one.",
        "Only the earlier one can be received, if it is stronger by `CPThresh_`; a stronger \
         later one collides (`recv`).",
    ),
    key(
        "mac.counts_outlive_packets",
        ["false", "true"],
        "§9.2.5.3: retry counts belong to a frame.",
        "One pair per station: the counts carry over from one packet to the next (`ssrc_`, \
         `slrc_`).",
    ),
    key(
        "mac.backoff_after_giving_up",
        ["true", "false"],
        "§9.2.5.2: a backoff follows every transmission, including the last failed one.",
        "Only after a success.",
    ),
    key(
        "mac.response_timeout",
        [r#""preamble""#, r#"{ whole-frame = "4 us" }"#],
        "§9.2.8: no response has begun within SIFS, a slot and the delay of the reception \
         indication.",
        "Waits until the response should have ended, plus 2 × 2 µs of propagation delay; \
         neighbours beyond 600 m cannot communicate.",
    ),
    key(
        "mac.difs_after_timeout",
        ["false", "true"],
        "§9.2.5.2: the backoff continues if the medium was idle for a DIFS before the timeout.",
        "A DIFS follows each timeout.",
    ),
    key(
        "mac.rts_nav_ends",
        ["true", "false"],
        "§9.2.5.4: a NAV set by an RTS may be reset if no frame follows.",
        "It is never reset.",
    ),
    key(
        "mac.durations_round_up",
        ["true", "false"],
        "§7.1.3.2: a duration is rounded up to a whole microsecond.",
        "It is rounded to the nearest (`usec`).",
    ),
    key(
        "mac.delay_down",
        [r#""0 s""#, r#""25 us""#],
        "No delay of a link layer above the MAC.",
        "`LL delay_`: 25 µs before a packet enters the interface queue.",
    ),
    key(
        "mac.delay_up",
        [r#""0 s""#, r#""25 us""#],
        "The same.",
        "25 µs before a received packet reaches the network layer.",
    ),
];

const fn tdma(
    key: &'static str,
    [standard, ns2]: [&'static str; 2],
    ns2_does: &'static str,
) -> Deviation {
    let standard_says = "There is no standard; here the minimum is implemented.";
    Deviation { key, scope: DeviationScope::Tdma, standard, ns2, standard_says, ns2_does }
}

pub(super) const TDMA: &[Deviation] = &[
    tdma(
        "mac.header_bytes",
        [r#""36 B""#, r#""34 B""#],
        "The header of its 802.11, without LLC and SNAP. Its slots do not include the header's \
         airtime, so that full frames overlap the next slot (mac/mac-tdma.cc); this is not \
         reproduced.",
    ),
    tdma(
        "mac.announced",
        ["false", "true"],
        "A round begins with a slot in which nodes announce their transmissions; packets that \
         arrive later wait for the next round.",
    ),
    tdma(
        "mac.delay_down",
        [r#""0 s""#, r#""25 us""#],
        "`LL delay_`: 25 µs before a packet enters the interface queue.",
    ),
    tdma(
        "mac.delay_up",
        [r#""0 s""#, r#""25 us""#],
        "25 µs before a received packet reaches the network layer.",
    ),
];
