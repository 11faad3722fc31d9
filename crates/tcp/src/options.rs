//! The table of TCP's options, one entry each.

use driftway_base::Duration;

/// The table of TCP's options: passes all entries to the macro `$table`. Everything that has a
/// field, a key or a line for each option is generated from it, so that an option is added here and
/// where it is used.
///
/// An entry consists of the option's documentation, its name, and its kind with the default:
///
/// | kind | meaning | default |
/// |---|---|---|
/// | `flag` | on or off | `true`, `false` |
/// | `dependent_flag` | on or off; in a scenario, the default depends on other options, as the text says | `true, "text"` |
/// | `count` | a number of things | `10` |
/// | `time` | a time span | `200 ms`, `1 s` |
/// | `optional_count`, `optional_time` | the same, or nothing | `never` |
///
/// Rules for its value in a scenario, such as its range, may follow in brackets.
///
/// The options that a scenario writes in another form are not in the table: loss recovery,
/// congestion control, HyStart, the maximum segment size, the receive buffer, the clock and delayed acknowledgments are
/// fields of [`Config`](crate::Config).
#[macro_export]
macro_rules! options {
    ($table:ident) => {
        $table! {
            /// Explicit congestion notification (RFC 3168).
            ecn: flag(false),
            /// Timestamps (RFC 7323).
            timestamps: flag(false),
            /// Window scaling (RFC 7323).
            window_scale: dependent_flag(
                false, "true if `flow.tcp.window` is larger than 65535 B, otherwise false"
            ),
            /// Nagle's algorithm: small segments are delayed while data is outstanding (RFC 896,
            /// RFC 9293 §3.7.4).
            nagle: flag(true),
            /// Limited transmit: new segments on the first two duplicate ACKs (RFC 3042).
            limited_transmit: dependent_flag(
                true, "false for tahoe, reno and segment-timers, true for all others"
            ),
            /// Congestion window validation: the congestion window grows only while it is used: in
            /// congestion avoidance while it is full, in slow start up to twice the data
            /// outstanding in the last round trip. It falls half of the way to the used part after
            /// each RTO in which it was not full and the application had no more to send, with
            /// three quarters of it kept as ssthresh, as in Linux (RFC 2861). Of RFC 7661, §4's
            /// first rule is the same; that the window grows while at least half of it is used, and
            /// is kept for five minutes, is not implemented. Without validation the window grows
            /// with each acknowledgment, as in 4.4BSD and ns-2 (CUBIC has a rule of its own, RFC
            /// 9438 §5.8).
            window_validation: dependent_flag(
                true, "false for tahoe, reno and segment-timers, true for all others"
            ),
            /// Slow start grows the window by all bytes that an acknowledgment covers, up to
            /// ssthresh, as in Linux (RFC 3465 without its limit L), instead of by at most one
            /// segment (RFC 5681 §3.1, equation 2).
            slow_start_by_bytes: flag(false),
            /// The window grows as in Linux: by data that is delivered, each segment once and not
            /// where SACK has reported it before a gap was filled, in whole segments, also with the
            /// acknowledgment that ends a recovery; CUBIC in Linux' arithmetic, with RFC 9438's
            /// α < 1 also beyond the previous window, and at least a segment per 20 acknowledged
            /// ones while no maximum is known; and it halves for each retransmission timeout of an
            /// idle period, down to the initial one. Otherwise it grows by what an acknowledgment
            /// covers (RFC 5681 §3.1, RFC 9438), and an idle period of one timeout leaves the
            /// initial window (RFC 5681 §4.1).
            linux_growth: flag(false),
            /// Data leaves at twice the window per round trip in slow start, 1.2 times outside of
            /// it, in bursts of a millisecond or two segments, from the tenth segment on, as in Linux
            /// with pacing. BBR is always paced, at a rate of its own.
            pacing: flag(false),
            /// Computes ssthresh after a loss from cwnd, as in Linux, instead of FlightSize (RFC
            /// 5681 §3.1, equation 4; RFC 9438 §4.6); PRR is then in proportion to cwnd, too, and in
            /// whole segments.
            ssthresh_from_cwnd: flag(false),
            /// A timeout in fast recovery leaves ssthresh unchanged, as in Linux; RFC 5681 §3.1
            /// lowers it again.
            recovery_keeps_ssthresh: flag(false),
            /// Duplicates of data that a timeout or a recovery has retransmitted start no other
            /// fast retransmit (RFC 6582 §3.2, recover). The Reno of 4.4BSD had no such guard.
            recover_guard: flag(true),
            /// Duplicates of data that is retransmitted because an aid has set SND.NXT back to
            /// SND.UNA start no fast retransmit. The partial ATCP of westin-2003 §4.8.1 had no such
            /// guard.
            step_back_guard: flag(true),
            /// An ECN echo leads to slow start from one segment with ssthresh unchanged, instead of
            /// halving the window (RFC 3168 §6.1.2).
            ece_slow_start: flag(false),
            /// Proportional rate reduction in fast recovery, which needs SACK, and after an ECN
            /// echo (RFC 9937).
            prr: flag(false),
            /// D-SACK: the receiver reports duplicate segments (RFC 2883), and the sender undoes
            /// its response to a loss when all its retransmissions were reported as duplicates (RFC
            /// 3708); needs SACK.
            dsack: flag(false),
            /// Eifel: the sender undoes its response to a loss when the first acknowledgment after
            /// it echoes an older timestamp than the retransmission's (RFC 3522, RFC 4015); needs
            /// `flow.tcp.timestamps`.
            eifel: flag(false),
            /// F-RTO: the sender detects spurious timeouts by sending new data (RFC 5682).
            f_rto: flag(false),
            /// F-RTO as in Linux: tried again when the timer expires again, and with an answer as soon
            /// as data arrives that was sent once.
            f_rto_again: flag(false),
            /// TCP-LCD: an ICMP net or host unreachable message reverts one back-off of the
            /// retransmission timeout (RFC 6069).
            lcd: flag(false),
            /// Initial congestion window in segments (RFC 6928).
            initial_window: count(10) [range("an initial window of", 1..=1000)],
            /// Retransmission timeout before the first round-trip measurement (RFC 6298).
            initial_rto: time(1 s) [positive()],
            /// Minimum retransmission timeout.
            min_rto: time(1 s) [positive()],
            /// Linux's retransmission timeout: the minimum bounds four times the variation instead
            /// of the sum, the variation is the largest of the last round trips and decays by a
            /// quarter in each, and every sample counts in full. Otherwise RFC 6298 §2.
            linux_rto: flag(false),
            /// RFC 793's retransmission timeout: twice the smoothed round-trip time, between the
            /// minimum and the maximum (RFC 793 §3.7: ALPHA 7/8, BETA 2). `flow.tcp.linux_rto` takes
            /// precedence.
            rfc_793_rto: flag(false),
            /// The retransmission timer restarts when fast recovery retransmits the segment at
            /// SND.UNA, as in Linux; RFC 6675 §6 leaves that open.
            rearm_with_head: flag(false),
            /// Maximum retransmission timeout, back-off included.
            max_rto: time(64 s),
            /// Minimum interval between zero-window probes (RFC 9293 §3.8.6.1).
            persist_min: time(1 s) [positive()],
            /// Maximum interval between zero-window probes.
            persist_max: time(60 s),
            /// A closed window as in Linux: while data is outstanding, the retransmission timer goes
            /// on, its retransmissions of one segment are the probes, each is a timeout, and a window
            /// that opens is used after the next; with nothing outstanding, probes have no data.
            /// Otherwise, as in 4.4BSD, probes of a byte replace the timeouts, and sending restarts
            /// from SND.UNA when the window opens.
            linux_persist: flag(false),
            /// Timeouts of one segment, or unanswered zero-window probes and keep-alives, before
            /// the connection is aborted (RFC 9293 §3.8.3). While an aid holds the connection, the
            /// aid decides.
            max_retries: count(15),
            /// Timeouts of a SYN before the attempt to connect is aborted (RFC 9293 §3.8.3).
            max_syn_retries: count(6),
            /// Timeouts of a SYN without back-off (Linux: `tcp_syn_linear_timeouts`).
            syn_linear_timeouts: count(0),
            /// Maximum segment lifetime: TIME-WAIT lasts twice as long (RFC 9293 §3.4.2).
            msl: time(30 s),
            /// Interval after which an idle connection is probed by a keep-alive (RFC 9293 §3.8.4).
            keep_alive: optional_time(never) [positive()],
            /// An ICMP source quench reduces the window to one segment, as in 4.4BSD; RFC 6633
            /// forbids that.
            source_quench: flag(false),
            /// A segment that the host's own interface drops because it has no carrier counts as a mark of
            /// congestion, whose reduction is final, as in Linux (tcp_enter_cwr).
            local_drops: flag(false),
            /// An acknowledgment that is older than any window is answered with a challenge ACK
            /// (RFC 5961 §5.2).
            challenge_old_acks: flag(true),
            /// Acknowledgments as in Linux: up to 16 segments at the start, after a pause of more than
            /// the retransmission timeout, and two after a duplicate or a mark, are acknowledged at
            /// once; the delay follows the interval between segments, from `flow.tcp.delayed_ack_timeout`
            /// to 200 ms.
            quick_acks: flag(false),
            /// A pure acknowledgment that others have overtaken is accepted although its timestamp
            /// is older than theirs by at most the retransmission timeout, and any segment if by one
            /// tick, as in Linux. RFC 7323 §5.3 drops them.
            disordered_acks: flag(false),
            /// Consecutive timeouts after which the next measurement counts as the first, because
            /// the estimate predates an outage (RFC 6298 §5, MAY). 4.4BSD (`tcp_timer.c`:
            /// `TCP_MAXRXTSHIFT / 4`) and ns-2.35 (tcp/tcp.cc `rtt_backoff`): 4.
            clear_srtt_after: optional_count(never),
        }
    };
}

/// The default in an option's documentation.
#[macro_export]
#[doc(hidden)]
macro_rules! option_default_doc {
    (dependent_flag $default:literal, $text:literal) => {
        concat!("Default: ", $text, ".")
    };
    ($kind:ident never) => {
        "Default: never."
    };
    ($kind:ident $($default:tt)+) => {
        concat!("Default ", stringify!($($default)+), ".")
    };
}

/// The default of an option of a scenario in words; `None`: it is a value.
#[macro_export]
#[doc(hidden)]
macro_rules! option_default_text {
    (dependent_flag $default:literal, $text:literal) => {
        Some($text)
    };
    ($kind:ident never) => {
        Some("never")
    };
    ($kind:ident $($default:tt)+) => {
        None::<&str>
    };
}

/// The type of an option's field.
macro_rules! field {
    (flag) => { bool };
    (dependent_flag) => { bool };
    (count) => { u32 };
    (time) => { Duration };
    (optional_count) => { Option<u32> };
    (optional_time) => { Option<Duration> };
}

/// The default of an option.
macro_rules! default {
    (never) => {
        None
    };
    ($count:literal s) => {
        Duration::from_secs($count)
    };
    ($count:literal ms) => {
        Duration::from_millis($count)
    };
    ($value:literal $(, $text:literal)?) => {
        $value
    };
}
/// Generates [`Options`] from the table.
macro_rules! data {
    ($($(#[$doc:meta])* $name:ident: $kind:ident($($default:tt)+) $([$($rule:tt)*])?,)*) => {
        /// The options of the table as plain data, for the constructors of loss recoveries and
        /// window growths.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Options {
            $(
                $(#[$doc])*
                #[doc = option_default_doc!($kind $($default)+)]
                pub $name: field!($kind),
            )*
        }
    };
}
options!(data);
