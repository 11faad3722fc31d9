//! The differences between driftway's TCP and the kernel's that stay, each with its reason. One that
//! is not listed fails the test, and so does one that is listed and not found.

use super::compare::Aspect::{self, Segments, Time, Window};

/// Where a difference is seen: the script, what differs, and the time of the step after which it
/// begins (ms).
type Seen = (&'static str, Aspect, u64);

/// The listed differences of a script.
pub fn known(script: &str) -> Vec<(Aspect, u64)> {
    let seen = KNOWN.iter().flat_map(|(_, seen)| *seen);
    seen.filter(|(name, ..)| *name == script).map(|(_, aspect, after)| (*aspect, *after)).collect()
}

/// Names in the list that are not among `scripts`.
pub fn unknown_names(scripts: &[&str]) -> Vec<&'static str> {
    let names = KNOWN.iter().flat_map(|(_, seen)| *seen).map(|(name, ..)| *name);
    names.filter(|name| !scripts.contains(name)).collect()
}

/// Reasons, and where their effects are seen.
const KNOWN: &[(&str, &[Seen])] = &[
    (
        "The window grows by data that SACK has reported before, and by a whole gap at once. \
         Linux counts each packet once, when it is delivered, and none of those that SACK \
         reports while reordering or loss is suspected.",
        &[
            ("second_and_third", Segments, 204),
            ("second_and_third", Window, 204),
            ("second_and_third_without_sack", Segments, 204),
            ("second_and_third_without_sack", Window, 204),
            ("groups_of_four", Segments, 206),
            ("groups_of_four", Window, 206),
            ("groups_of_four_without_sack", Segments, 206),
            ("groups_of_four_without_sack", Window, 206),
            ("neighbours_swapped", Segments, 204),
            ("neighbours_swapped", Window, 204),
        ],
    ),
    (
        "Linux's proportional rate reduction divides by cwnd before the reduction (RFC 9937: \
         the data in flight, more by limited transmit), in whole segments: it sends at other \
         acknowledgments.",
        &[
            ("rto_in_recovery", Segments, 206),
            ("rto_in_recovery", Window, 204),
            ("one_loss", Segments, 206),
            ("one_loss", Window, 204),
            ("one_loss_reno", Segments, 208),
            ("one_loss_reno", Window, 204),
            ("one_loss_without_timestamps", Segments, 206),
            ("one_loss_without_timestamps", Window, 204),
            ("two_losses", Window, 204),
            ("lost_retransmission", Segments, 206),
            ("lost_retransmission", Window, 204),
            ("limited_transmit", Segments, 236),
            ("limited_transmit", Window, 224),
            ("after_recovery", Segments, 318),
            ("after_recovery", Window, 316),
            ("late_by_six", Segments, 206),
            ("late_by_six", Window, 204),
            ("undo_by_timestamps", Segments, 206),
            ("undo_by_timestamps", Window, 204),
            ("undo_by_duplicate_report", Segments, 206),
            ("undo_by_duplicate_report", Window, 204),
            ("undo_after_recovery", Segments, 206),
            ("undo_after_recovery", Window, 204),
            ("loss_then_ece", Segments, 206),
            ("loss_then_ece", Window, 204),
            ("reno_avoidance", Segments, 162),
            ("reno_avoidance", Window, 160),
            ("cubic_avoidance", Segments, 161),
            ("cubic_avoidance", Window, 160),
        ],
    ),
    (
        "Without SACK Linux reduces the window as with SACK, one segment counting as \
         delivered for each duplicate; driftway has the recovery of RFC 6582, which inflates \
         the window.",
        &[
            ("one_loss_without_sack", Segments, 208),
            ("one_loss_without_sack", Window, 206),
            ("two_losses_without_sack", Segments, 208),
            ("two_losses_without_sack", Window, 206),
            ("limited_transmit_without_sack", Window, 236),
        ],
    ),
    (
        "The acknowledgment that shows a timeout to be spurious restores the window, and in \
         Linux also makes it grow.",
        &[
            ("rto_then_recovery", Segments, 810),
            ("rto_then_recovery", Window, 810),
            ("rto_without_timestamps", Segments, 810),
            ("rto_without_timestamps", Window, 810),
            ("f_rto_spurious", Segments, 802),
            ("f_rto_spurious", Window, 802),
            ("f_rto_spurious_without_sack", Segments, 802),
            ("f_rto_spurious_without_sack", Window, 802),
            ("ecn_timeout", Segments, 810),
            ("ecn_timeout", Window, 810),
        ],
    ),
    (
        "Linux takes a timeout for spurious as soon as data that it did not retransmit is \
         acknowledged, also by an acknowledgment that covers the retransmission.",
        &[
            ("rto_without_sack", Segments, 810),
            ("rto_without_sack", Window, 810),
            ("second_rto", Segments, 1500),
            ("second_rto", Window, 1500),
            ("f_rto_spurious_with_one_ack", Segments, 800),
            ("f_rto_spurious_with_one_ack", Window, 800),
            ("undo_of_a_timeout", Segments, 766),
            ("undo_of_a_timeout", Window, 700),
        ],
    ),
    (
        "F-RTO without timestamps, when SACK reports originals or new data: Linux decides at \
         the first such report, and does not take new data beyond a gap for originals.",
        &[
            ("f_rto_loss_shown_by_sack", Segments, 902),
            ("f_rto_loss_shown_by_sack", Window, 902),
            ("f_rto_originals_by_sack", Segments, 804),
            ("f_rto_originals_by_sack", Window, 800),
        ],
    ),
    (
        "After F-RTO has found a loss, Linux retransmits one segment at once and the next at \
         the next acknowledgment.",
        &[("f_rto_loss_after_all", Segments, 902)],
    ),
    (
        "The congestion response to a mark sets cwnd to ssthresh at once. Linux reduces \
         proportionally (PRR) during one round trip.",
        &[
            ("ece_ten_in_flight", Segments, 200),
            ("ece_ten_in_flight", Window, 200),
            ("ece_ten_in_flight_reno", Segments, 200),
            ("ece_ten_in_flight_reno", Window, 200),
            ("ece_once", Segments, 202),
            ("ece_once", Window, 202),
            ("ece_in_the_next_window", Segments, 200),
            ("ece_in_the_next_window", Window, 200),
            ("ece_then_loss", Segments, 200),
            ("ece_then_loss", Window, 200),
        ],
    ),
    (
        "A window that closes with data in flight: Linux goes on with the retransmission \
         timer and segments of data, and keeps what it has sent; driftway probes with a byte \
         and begins again at SND.UNA.",
        &[
            ("closes_with_data_in_flight", Segments, 200),
            ("closes_with_data_in_flight", Window, 200),
            ("closes_and_discards", Segments, 200),
            ("closes_and_discards", Window, 200),
        ],
    ),
    (
        "A probe of a closed window carries a byte. Linux probes with an empty segment one \
         below SND.UNA.",
        &[
            ("probes", Segments, 250),
            ("probe_is_answered", Segments, 250),
            ("probe_is_answered", Window, 1500),
        ],
    ),
    (
        "Beyond an edge that moved left, Linux retransmits the last segment that it has sent, \
         and driftway what is within the window.",
        &[("shrinks", Segments, 244)],
    ),
    (
        "A timeout of a segment that the peer's window limited does not reduce cwnd.",
        &[("small_window", Window, 200)],
    ),
    (
        "The window is validated when the application writes: Linux does so when data is \
         acknowledged, and not below what was used.",
        &[("application_limited", Segments, 1670), ("application_limited", Window, 570)],
    ),
    (
        "Linux acknowledges the first segments of a connection at once (up to half of the \
         window in segments, 16 at most), and delays acknowledgments by an adaptive time \
         later.",
        &[
            ("data_with_the_handshake", Time, 100),
            ("marks_are_echoed", Segments, 150),
            ("marks_are_echoed", Time, 222),
            ("we_close_ours", Segments, 102),
            ("first_acks", Segments, 102),
            ("later_acks", Segments, 102),
            ("later_acks", Time, 522),
            ("ping_pong", Segments, 102),
            ("small_segments", Segments, 102),
            ("gap", Segments, 102),
            ("duplicate_data", Segments, 102),
            ("partly_duplicate_data", Segments, 102),
            ("beyond_the_window", Time, 102),
            ("acks_with_data", Segments, 102),
            ("acks_with_data", Time, 206),
            ("unacceptable_ack", Time, 204),
            ("old_timestamp", Time, 102),
            ("echo_of_delayed_ack", Segments, 102),
            ("echo_over_a_gap", Segments, 102),
            ("echo_over_a_gap", Time, 138),
            ("reset_with_an_old_timestamp", Time, 102),
            ("data_in_fin_wait_2", Segments, 202),
        ],
    ),
    (
        "No HyStart: slow start does not end by delay or by a train of acknowledgments.",
        &[
            ("long_idle_restart", Window, 558),
            ("hystart_by_delay", Segments, 207),
            ("hystart_by_delay", Window, 207),
            ("hystart_by_train", Segments, 558),
            ("hystart_by_train", Window, 558),
        ],
    ),
    (
        "Linux repeats a SYN four times at the initial timeout before it backs off \
         (tcp_syn_linear_timeouts).",
        &[("syn_series", Segments, 0), ("syn_series", Time, 0)],
    ),
    (
        "One lost SYN does not reduce the initial window in Linux, two do; RFC 6928 §2 lets \
         one do so.",
        &[
            ("syn_retransmitted", Segments, 1102),
            ("syn_retransmitted", Window, 1100),
            ("syn_ack_retransmitted", Segments, 1102),
            ("syn_ack_retransmitted", Window, 1100),
        ],
    ),
    (
        "In a simultaneous open Linux answers the second SYN with an acknowledgment of its \
         own and a D-SACK for the SYN.",
        &[("simultaneous_open", Segments, 100)],
    ),
    (
        "After an unacceptable acknowledgment in SYN-SENT Linux sends its SYN again within \
         two ticks, driftway when its timer expires.",
        &[("wrong_ack_in_syn_sent", Segments, 50)],
    ),
    (
        "The SACK of a tail loss probe does not count for RACK, because its TSecr is older \
         than the probe (RFC 8985 §6.2, step 2). Linux only compares the round trip with the \
         minimum.",
        &[("probe_reveals_losses", Time, 620), ("probe_reveals_losses", Window, 620)],
    ),
    (
        "Linux recognises a peer that discards what it had reported, and retransmits after a \
         few ticks; driftway waits for the timeout.",
        &[("reneging", Time, 210)],
    ),
    (
        "A pure acknowledgment with an old timestamp is dropped (RFC 7323 §5.3); Linux \
         accepts one that others have overtaken. The preset sets `disordered_acks`.",
        &[("old_timestamp_of_an_ack", Segments, 202), ("old_timestamp_of_an_ack", Window, 202)],
    ),
    (
        "Linux aborts a connection attempt for any ICMP unreachable, driftway for hard errors \
         only (RFC 5461).",
        &[("icmp_host_in_syn_sent", Segments, 50), ("icmp_host_in_syn_sent", Window, 50)],
    ),
    (
        "Resets carry no timestamps; Linux adds them (RFC 7323 §3.2, SHOULD).",
        &[("aborts", Segments, 200), ("aborts_with_data_in_flight", Segments, 150)],
    ),
    (
        "An acknowledgment older than any window with new data: Linux sends a challenge ACK \
         and takes the data; driftway drops the segment (RFC 5961 §5.2).",
        &[("old_ack", Segments, 212)],
    ),
    (
        "A probe of a closed window carries a byte; the window is validated at another time.",
        &[("fin_with_a_closed_window", Segments, 202), ("fin_with_a_closed_window", Window, 1200)],
    ),
];
