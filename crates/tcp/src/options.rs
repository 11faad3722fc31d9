//! The options of TCP, one entry each.

use driftway_base::Duration;

/// The table of TCP's options: passes all entries to the macro `$table`. Whatever has a field, a key
/// or a line for each option is made from it, so that an option is added here and where it is used.
///
/// An entry is the option's meaning, its name, and its kind with the default:
///
/// | kind | is | default |
/// |---|---|---|
/// | `flag` | on or off | `true`, `false` |
/// | `dependent_flag` | on or off; in a scenario, other options decide where it is left out | `true`, `false` |
/// | `count` | a number of things | `10` |
/// | `time` | a span of time | `200 ms`, `1 s` |
/// | `optional_count`, `optional_time` | the same, or nothing | `never` |
///
/// The options that a scenario writes otherwise than a connection has them are not in it: loss
/// recovery, window growth, the largest segment, the receive buffer, the clock and delayed
/// acknowledgments stand in [`Config`](crate::Config) itself.
#[macro_export]
macro_rules! options {
    ($table:ident) => {
        $table! {
            /// Explicit congestion notification (RFC 3168).
            ecn: flag(false),
            /// Timestamps (RFC 7323).
            timestamps: flag(false),
            /// Window scaling (RFC 7323). Default in a scenario: only if the window is larger than
            /// 65535 B; written there once the scenario is read.
            window_scale: dependent_flag(false),
            /// Nagle's algorithm: small segments wait while data is outstanding (RFC 896, RFC 9293
            /// §3.7.4).
            nagle: flag(true),
            /// New segments on the first two duplicate ACKs (RFC 3042). Default in a scenario: false
            /// for tahoe and reno, true for all others; written there once the scenario is read.
            limited_transmit: dependent_flag(true),
            /// Whether the congestion window grows only while it is used: in congestion avoidance
            /// while it is full, in slow start up to twice what was outstanding in the last round
            /// trip; and whether it falls half the way to what is used after each RTO in which it
            /// was not full and the application had no more to send, with three quarters of it
            /// kept as ssthresh. Linux does so (RFC 2861). RFC 7661 §4 asks for the first, lets the
            /// window grow while at least half of it is used, and keeps it for five minutes
            /// instead; that is not built. Without it the window grows with each acknowledgment,
            /// as in 4.4BSD and ns-2 (CUBIC's has a rule of its own, RFC 9438 §5.8). Default in a
            /// scenario: false for tahoe and reno, true for all others; written there once the
            /// scenario is read.
            window_validation: dependent_flag(true),
            /// Whether slow start opens the window by all that an acknowledgment covers, up to
            /// ssthresh, as Linux does (RFC 3465 without its limit L), and not by a segment at the
            /// most (RFC 5681 §3.1, equation 2).
            slow_start_by_bytes: flag(false),
            /// Whether ssthresh after a loss is a part of cwnd, as in Linux, and not of FlightSize
            /// (RFC 5681 §3.1, equation 4; RFC 9438 §4.6).
            ssthresh_from_cwnd: flag(false),
            /// Whether a timeout in fast recovery leaves ssthresh as that has set it, as in Linux;
            /// RFC 5681 §3.1 lowers it again.
            recovery_keeps_ssthresh: flag(false),
            /// Whether duplicates of what a timeout or a recovery has sent again may not start another fast
            /// retransmit (RFC 6582 §3.2, recover). The Reno of 4.4BSD had no such guard.
            recover_guard: flag(true),
            /// The same where an aid has taken the sender back to SND.UNA: duplicates of what goes twice start no
            /// fast retransmit. The partial ATCP of westin-2003 §4.8.1 had no such guard.
            step_back_guard: flag(true),
            /// Whether an echo of a congestion mark leads to slow start from one segment, with ssthresh as
            /// it is, and not to half the window (RFC 3168 §6.1.2).
            ece_slow_start: flag(false),
            /// Whether fast recovery sends in proportion to what arrives (RFC 9937); needs SACK.
            prr: flag(false),
            /// Whether the receiver reports what it gets twice (RFC 2883), and the sender takes its
            /// response to a loss back when all that it sent again was reported (RFC 3708); needs
            /// SACK.
            dsack: flag(false),
            /// Whether the sender takes its response to a loss back when the first acknowledgment
            /// after it echoes an older timestamp than the retransmission's (RFC 3522, RFC 4015).
            eifel: flag(false),
            /// Whether the sender finds out with new data if a timeout was spurious (RFC 5682).
            f_rto: flag(false),
            /// Whether that is tried again when the timer goes off again, as in Linux.
            f_rto_again: flag(false),
            /// Whether a router that says it has no route (ICMP net or host unreachable) takes back
            /// one doubling of the retransmission timeout (RFC 6069, TCP-LCD).
            lcd: flag(false),
            /// The initial congestion window in segments (RFC 6928).
            initial_window: count(10),
            /// The retransmission timeout before the first round trip is measured (RFC 6298).
            initial_rto: time(1 s),
            /// The shortest retransmission timeout.
            min_rto: time(1 s),
            /// Whether the timeout is as Linux computes it: the minimum bounds four times the variation
            /// and not the sum, the variation is the largest of the last round trips and falls by a
            /// quarter in each, and every sample counts in full. RFC 6298 §2 otherwise.
            linux_rto: flag(false),
            /// Whether the timeout is twice the smoothed round-trip time, as before Jacobson (RFC 793
            /// §3.7: ALPHA 7/8, BETA 2, between the minimum and the maximum); `linux_rto` comes before it.
            rfc_793_rto: flag(false),
            /// Whether the retransmission timer starts anew when fast recovery sends the segment at
            /// SND.UNA, as in Linux; RFC 6675 §6 leaves that open.
            rearm_with_head: flag(false),
            /// The longest retransmission timeout, back-off included.
            max_rto: time(64 s),
            /// The shortest gap between probes of a zero window (RFC 9293 §3.8.6.1).
            persist_min: time(1 s),
            /// The longest gap between probes of a zero window.
            persist_max: time(60 s),
            /// Timeouts of one segment, or zero-window probes and keep-alives without an answer,
            /// before the connection is given up (RFC 9293 §3.8.3). While an aid holds the
            /// connection, that is the aid's to decide.
            max_retries: count(15),
            /// Timeouts of a SYN before the attempt to connect is given up (RFC 9293 §3.8.3).
            max_syn_retries: count(6),
            /// Maximum segment lifetime: TIME-WAIT lasts twice that (RFC 9293 §3.4.2).
            msl: time(30 s),
            /// Probe an idle connection this often (RFC 9293 §3.8.4).
            keep_alive: optional_time(never),
            /// Whether an ICMP source quench cuts the window to one segment, as in 4.4BSD; RFC 6633
            /// says that it must not.
            source_quench: flag(false),
            /// Whether an acknowledgment that is older than any window is answered with one
            /// (RFC 5961 §5.2).
            challenge_old_acks: flag(true),
            /// Whether an acknowledgment without data that others have overtaken counts, though its
            /// timestamp is older than theirs, by the timeout at the most; as in Linux. RFC 7323 §5.3
            /// refuses it.
            disordered_acks: flag(false),
            /// After so many timeouts in a row the next measurement counts as the first: what was
            /// known of the path is from before an outage (RFC 6298 §5, a MAY). 4.4BSD
            /// (`tcp_timer.c`: `TCP_MAXRXTSHIFT / 4`) and ns-2.35 (tcp/tcp.cc `rtt_backoff`): 4.
            clear_srtt_after: optional_count(never),
        }
    };
}

/// What an option's documentation says of its default.
#[macro_export]
#[doc(hidden)]
macro_rules! option_default_doc {
    (dependent_flag $($default:tt)+) => {
        ""
    };
    ($kind:ident $($default:tt)+) => {
        concat!("Default: ", stringify!($($default)+), ".")
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

/// An option's default.
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
    ($value:literal) => {
        $value
    };
}
/// Makes [`Options`] of the table.
macro_rules! data {
    ($($(#[$doc:meta])* $name:ident: $kind:ident($($default:tt)+),)*) => {
        /// The options of the table as plain data: what a loss recovery or a window growth is made with.
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
