//! A mobile host that is connected again: the time to the next new byte, in which direction, with which aid,
//! loss recovery, duration and phase of the disconnection.
//!
//! The tables list what each aid promises, and where it does not keep it: the cases are those of
//! singh-iyer-2002, and new means the next byte that is delivered in order.

use crate::common::{parse, run};

/// Durations of the disconnection: from 50 ms to 10 min (ms).
const LENGTHS: [u64; 7] = [50, 200, 500, 1_000, 4_000, 60_000, 600_000];
/// Starts of the disconnection within a round trip (ms).
const PHASES: [u64; 3] = [0, 13, 37];
/// Two round trips, each with the serialisation of a segment on two links, and the serialisation of two
/// further segments, without which there are no three duplicates (s).
const TWO_ROUND_TRIPS: f64 = 0.105_2;
/// The shortest timeout of these TCPs (ms).
const MIN_RTO: u64 = 200;

const RECOVERIES: [&str; 6] = ["tahoe", "reno", "newreno", "sack", "rack-tlp", "segment-timers"];
/// Those that count duplicate acknowledgments.
const COUNTING: [&str; 5] = ["tahoe", "reno", "newreno", "sack", "rack-tlp"];

/// A mobile host (node 0), and a fixed host (node 3).
#[derive(Clone, Copy)]
struct Case {
    /// The mobile host sends.
    up: bool,
    /// Segments on their way are lost when the host is disconnected.
    cuts_link: bool,
    application: &'static str,
    recovery: &'static str,
    aid: &'static str,
    lead: &'static str,
    phases: &'static [u64],
}

const BULK: &str = "\"ftp\"";
/// Less than the window.
const TELEMETRY: &str = "{ cbr = { every = \"10 ms\", size = \"1000 B\" } }";

const CASE: Case = Case {
    up: true,
    cuts_link: true,
    application: BULK,
    recovery: "reno",
    aid: "\"mobile-host\"",
    lead: "",
    phases: &PHASES,
};

impl Case {
    /// The time from the connection to the next new byte (s).
    fn delay(&self, length: u64, phase: u64) -> f64 {
        let (from, to) = if self.up { (0, 3) } else { (3, 0) };
        let free = if self.cuts_link { 3 } else { 1 };
        let key = if self.up { "aid" } else { "receiver_aid" };
        let Self { application, recovery, aid, lead, .. } = self;
        let text = format!(
            r#"
name = "reconnection"
duration = "{} ms"
[network]
kind = "path"
hops = 3
link = {{ rate = "10 Mbit/s", delay = "12.5 ms", queue = {{ packets = 100 }} }}
override = [{{ hop = {free}, rate = "100 Gbit/s", delay = "0 s" }}]
[[network.fault]]
kind = "partition"
hop = 1
first = "{} ms"
lasts = "{length} ms"
signal = "link"
{lead}
[[flow]]
from = {from}
to = {to}
application = {application}
{key} = {aid}
[flow.tcp]
recovery = "{recovery}"
mss = "1000 B"
window = 20
min_rto = "{MIN_RTO} ms"
max_retries = 100
"#,
            5_000 + phase + length + 1_000,
            5_000 + phase,
        );
        let result = run(&parse(&text), 1);
        result.flows[0].longest_delivery_resume_s.expect("there was a disconnection")
    }

    /// The lengths at which some phase takes longer than two round trips, and the worst delay (s).
    fn late(&self, lengths: &[u64]) -> Vec<(u64, f64)> {
        let worst = |length: &u64| {
            let delays = self.phases.iter().map(|phase| self.delay(*length, *phase));
            (*length, delays.fold(0.0, f64::max))
        };
        lengths.iter().map(worst).filter(|(_, delay)| *delay > TWO_ROUND_TRIPS).collect()
    }
}

/// New data, and the first unacknowledged segment. If others were lost, duplicates report them, which the
/// TCP of chandran-1998 does not count.
#[test]
fn a_sender_with_an_open_window_continues_at_once() {
    for (cuts_link, recoveries) in [(false, &RECOVERIES[..]), (true, &COUNTING[..])] {
        for recovery in recoveries {
            let case = Case { recovery, cuts_link, application: TELEMETRY, ..CASE };
            assert_eq!(case.late(&LENGTHS), [], "{recovery}, link: {cuts_link}");
        }
    }
    let waits = Case { recovery: "segment-timers", application: TELEMETRY, ..CASE };
    assert_eq!(waits.late(&LENGTHS).len(), LENGTHS.len());
}

#[test]
fn a_sender_with_a_closed_window_continues_at_once_after_a_timeout() {
    let long: Vec<u64> = LENGTHS.into_iter().filter(|length| *length > 2 * MIN_RTO).collect();
    for recovery in RECOVERIES {
        for cuts_link in [false, true] {
            let case = Case { recovery, cuts_link, ..CASE };
            assert_eq!(case.late(&long), [], "{recovery}, link: {cuts_link}");
        }
    }
}

/// The acknowledgments are new to the peer, whether it has timed out or not; the closed window lets it begin
/// again with the first segment that is not acknowledged, as in 4.4BSD.
#[test]
fn a_receiver_with_a_pending_acknowledgment_restarts_each_tcp() {
    for recovery in RECOVERIES {
        for cuts_link in [false, true] {
            let case = Case { up: false, recovery, cuts_link, ..CASE };
            assert_eq!(case.late(&LENGTHS), [], "{recovery}, link: {cuts_link}");
        }
    }
}

#[test]
fn a_right_prediction_restarts_each_tcp() {
    for recovery in RECOVERIES {
        for cuts_link in [false, true] {
            let (aid, lead) = ("\"freeze-tcp\"", "lead = \"60 ms\"");
            let case = Case { up: false, recovery, cuts_link, aid, lead, ..CASE };
            assert_eq!(case.late(&LENGTHS), [], "{recovery}, link: {cuts_link}");
        }
    }
}

/// Three duplicate acknowledgments, at phases at which acknowledgments are on the link when it fails: the
/// first one is new to the peer. The TCP of chandran-1998 counts no duplicates, and waits.
#[test]
fn three_acknowledgments_restart_a_tcp_whose_acknowledgments_were_lost() {
    for recovery in COUNTING {
        let phases = &[20, 30, 40];
        let case = Case { up: false, recovery, phases, aid: "\"three-dupacks\"", ..CASE };
        assert_eq!(case.late(&LENGTHS), [], "{recovery}");
    }
}

/// Cases without a promise: with a closed window and no timeout yet, the sender waits for it; three duplicate
/// acknowledgments do not reach a TCP that has timed out and whose acknowledgments had all arrived.
#[test]
fn other_cases_wait_for_a_timeout() {
    let closed = Case { ..CASE };
    assert_eq!(closed.late(&[50]).len(), 1);
    let three = Case { up: false, cuts_link: false, aid: "\"three-dupacks\"", ..CASE };
    assert!(three.late(&LENGTHS).len() >= 4);
    let plain = Case { aid: "\"none\"", ..CASE };
    assert_eq!(plain.late(&LENGTHS).len(), LENGTHS.len());
}
