//! The differences between driftway's TCP and the kernel's that stay, each with its reason. One that
//! is not listed fails the test, and so does one that is listed and not found.

use super::compare::Aspect::{self, Segments, Time, Window};

/// The place of a difference: the script, what differs, and the time of the step after which it
/// begins (ms).
type Seen = (&'static str, Aspect, u64);

/// Difference between where a difference is listed and where it begins (ms): what the kernel's processing takes decides
/// after which of two close steps a paced segment leaves.
const SLACK: u64 = 10;

/// The listed differences of a script.
pub fn known(script: &str) -> Vec<(Aspect, u64)> {
    let seen = KNOWN.iter().flat_map(|(_, seen)| *seen);
    seen.filter(|(name, ..)| *name == script).map(|(_, aspect, after)| (*aspect, *after)).collect()
}

/// Compares the differences that were found with those that are listed.
pub fn judge(found: &[(Aspect, u64)], known: &[(Aspect, u64)]) -> Result<(), String> {
    let of = |from: &[(Aspect, u64)], others: &[(Aspect, u64)]| {
        let is_same = |one: &(Aspect, u64), other: &(Aspect, u64)| {
            one.0 == other.0 && one.1.abs_diff(other.1) <= SLACK
        };
        let unmatched = |one: &(Aspect, u64)| !others.iter().any(|other| is_same(one, other));
        from.iter().copied().filter(unmatched).collect::<Vec<_>>()
    };
    let (new, gone) = (of(found, known), of(known, found));
    if new.is_empty() && gone.is_empty() {
        return Ok(());
    }
    Err(format!("new differences {new:?}, listed but not found {gone:?}"))
}

/// Names in the list that are not among `scripts`.
pub fn unknown_names(scripts: &[&str]) -> Vec<&'static str> {
    let names = KNOWN.iter().flat_map(|(_, seen)| *seen).map(|(name, ..)| *name);
    names.filter(|name| !scripts.contains(name)).collect()
}

/// Reasons, and where their effects are seen.
const KNOWN: &[(&str, &[Seen])] = &[
    (
        "HyStart ends slow start at another acknowledgment than Linux's.",
        &[("groups_of_four_cubic", Window, 457), ("neighbours_swapped", Window, 455)],
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
            ("random_losses_without_sack", Segments, 234),
            ("random_losses_without_sack", Window, 232),
        ],
    ),
    (
        "Linux takes a timeout for spurious as soon as data that it did not retransmit is \
         acknowledged, also by an acknowledgment that covers the retransmission.",
        &[("undo_of_a_timeout", Segments, 766), ("undo_of_a_timeout", Window, 700)],
    ),
    (
        "After the undo of two timeouts driftway's reordering timer retransmits a segment; \
         Linux only probes the tail.",
        &[("second_rto", Segments, 1614), ("second_rto", Window, 1614)],
    ),
    (
        "After an undo Linux counts a segment that was retransmitted twice as in flight.",
        &[("f_rto_original_then_silence", Window, 800)],
    ),
    (
        "F-RTO when SACK reports originals or new data: Linux decides at the first such \
         report, and does not take new data beyond a gap for originals.",
        &[("f_rto_originals_by_sack", Segments, 802), ("f_rto_originals_by_sack", Window, 804)],
    ),
    (
        "After F-RTO has found a loss, Linux retransmits one segment at once and the next at \
         the next acknowledgment.",
        &[("f_rto_loss_after_all", Segments, 902)],
    ),
    (
        "Beyond an edge that moved left, Linux's tail loss probe is the last segment that it \
         has sent, driftway's what is within the window.",
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
        "Linux acknowledges more often while its receive buffer grows by itself, and announces \
         no window that has not fallen by half.",
        &[("we_close_ours", Segments, 442), ("later_acks", Segments, 206)],
    ),
    (
        "In a simultaneous open Linux answers the second SYN with an acknowledgment of its \
         own and a D-SACK for the SYN.",
        &[("simultaneous_open", Segments, 100)],
    ),
    (
        "After an unacceptable acknowledgment in SYN-SENT Linux sends its SYN again within a \
         few ticks, driftway when its timer expires.",
        &[("wrong_ack_in_syn_sent", Segments, 50)],
    ),
    (
        "Linux recognises a peer that discards what it had reported, and retransmits after a \
         few ticks; driftway waits for the timeout.",
        &[("reneging", Time, 210)],
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
        "Linux reports a repeated FIN by a D-SACK of its sequence number, with the FIN's \
         timestamp.",
        &[
            ("repeated_fin_in_close_wait", Segments, 450),
            ("repeated_fin_in_last_ack", Segments, 300),
            ("repeated_fin_in_closing", Segments, 250),
        ],
    ),
];
