//! Tests of ELFN: yu-2004 §3.1 to §3.3, on the scripted driver.

use std::vec::Vec;

use driftway_base::{Duration, Instant, Seq, SeqRange, SeqRanges, SignalDetails, UnreachableScope};

use super::*;
use crate::Aid;
use crate::kit::standby::AfterStandby;
use crate::kit::{self, standby};
use crate::liveness::{self, TCP_MAX_RTO, random_duration, random_flag};
use crate::scripted::{Event, Response, ScriptedDriver, Tcp};

type Line = ScriptedDriver<Machine<Elfn>>;

/// First sequence number of packet `n` of the paper, in a connection whose first packet is `first`.
fn nth(first: u32, n: u32) -> Seq {
    Tcp::START + 100 * (n - first)
}

fn at(micros: u64) -> Instant {
    Instant::from_micros(micros)
}

/// The second alternative of the paper, with its values.
fn defaults() -> ElfnOptions {
    let standby = StandbyOptions { after: AfterStandby::Defaults, ..StandbyOptions::default() };
    ElfnOptions { standby, ..ElfnOptions::default() }
}

/// A line on which packets `first` to `next` − 1 are sent at `start` with a window of eight, and more
/// data waits.
fn sent_at(options: ElfnOptions, start: Instant, first: u32, next: u32) -> Line {
    let mut line = ScriptedDriver::new(Elfn::new(options));
    line.run_until(start);
    line.tcp.set_cwnd(800);
    line.write(100 * (next - first));
    assert_eq!(sent(&line).last(), Some(&((start.as_nanos() / 1000), nth(first, next - 1))));
    line.record.clear();
    line
}

fn sent(line: &Line) -> Vec<(u64, Seq)> {
    let sent = line.record.iter().filter_map(|(at, event)| match event {
        Event::Sent(segment) | Event::Resent { segment, .. } => {
            Some((at.as_nanos() / 1000, segment.seq))
        }
        _ => None,
    });
    sent.collect()
}

fn timeouts(line: &Line) -> usize {
    let timeout = |event: &Event| matches!(event, Event::Responded(Response::Timeout));
    line.record.iter().filter(|(_, event)| timeout(event)).count()
}

fn notice(line: &mut Line, start: Seq, disposition: PacketDisposition) {
    let mut ranges = SeqRanges::default();
    ranges.push(SeqRange::new(start, start + 100));
    let kind = SignalKind::PacketLost { ranges, disposition };
    line.signal(Signal {
        kind,
        details: SignalDetails { seq: Some(start), ..SignalDetails::default() },
    });
}

const SALVAGED: PacketDisposition = PacketDisposition::Salvaged;
const LOST: PacketDisposition = PacketDisposition::Lost;

/// Packet 39 and seven more are in flight when the route fails; the notification arrives at 101.621079 s, the
/// acknowledgment of the probe at 103.695992 s.
fn section_3_1(options: ElfnOptions) -> Line {
    let mut line = sent_at(options, at(101_607_000), 39, 47);
    line.write(3_000);
    line.run_until(at(101_621_079));
    notice(&mut line, nth(39, 39), SALVAGED);
    assert_eq!((line.aid.state(), line.tcp.deadline()), ("standby", None));
    line.run_until(at(103_695_992));
    assert_eq!(sent(&line), [(103_621_079, nth(39, 39))], "only the probe, after 2 s");
    line.record.clear();
    line.receive_ack(nth(39, 40));
    assert_eq!(line.aid.state(), "active");
    line
}

#[test]
fn section_3_1_with_defaults() {
    let mut line = section_3_1(defaults());
    assert_eq!((line.tcp.cwnd(), line.tcp.rto()), (200, Duration::from_secs(6)));
    assert_eq!(line.tcp.deadline(), Some(at(109_695_992)));
    line.run_until(at(109_695_991));
    assert_eq!(sent(&line), [], "47 is beyond 39 and a window of two");
    line.run_until(at(109_695_992));
    assert_eq!((sent(&line), timeouts(&line)), (std::vec![(109_695_992, nth(39, 40))], 1));

    // §3.2: the local node has no route for packet 40 and starts a route discovery.
    line.record.clear();
    line.run_until(at(109_728_763));
    line.signal(Signal::new(SignalKind::RouteDiscovery));
    assert_eq!(line.aid.state(), "standby");
    // Node 22 salvages the packet, which changes nothing.
    line.run_until(at(109_800_000));
    notice(&mut line, nth(39, 40), SALVAGED);
    line.run_until(at(109_924_568));
    line.receive_ack(nth(39, 41));
    assert_eq!(sent(&line), [(109_924_568, nth(39, 41)), (109_924_568, nth(39, 42))]);
    assert_eq!((line.tcp.cwnd(), line.tcp.rto()), (200, Duration::from_secs(6)));
    // Both are salvaged, and TCP is nevertheless on standby until the acknowledgment of 41.
    line.run_until(at(109_950_000));
    notice(&mut line, nth(39, 41), SALVAGED);
    assert_eq!(line.aid.state(), "standby");
    line.receive_ack(nth(39, 42));
    assert_eq!((line.aid.state(), timeouts(&line)), ("active", 0));
}

#[test]
fn section_3_1_with_previous_values() {
    let line = section_3_1(ElfnOptions::default());
    assert_eq!((line.tcp.cwnd(), line.tcp.rto()), (900, Duration::from_secs(1)));
    let new = [47, 48].map(|n| (103_695_992, nth(39, n)));
    assert_eq!(sent(&line), new, "allowed by the previous window");
    assert_eq!(line.tcp.deadline(), Some(at(104_695_992)));
}

/// §3.3: node 16 salvages packet 409, and later loses 409 and 410.
#[test]
fn section_3_3_an_unreported_loss_waits_for_a_timeout() {
    let run = |options, from| {
        let mut line = sent_at(options, at(120_100_000), from, 412);
        line.write(3_000);
        line.run_until(at(120_140_313));
        notice(&mut line, nth(from, 409), SALVAGED);
        line.run_until(at(120_164_540));
        line.receive_ack(nth(from, 409));
        line
    };
    let mut line = run(defaults(), 404);
    line.run_until(at(126_164_539));
    assert_eq!((sent(&line), timeouts(&line)), (Vec::new(), 0), "idle");
    line.run_until(at(126_164_540));
    assert_eq!(timeouts(&line), 1);
    let line = run(ElfnOptions::default(), 404);
    assert_eq!(sent(&line).first(), Some(&(120_164_540, nth(404, 412))));
}

/// §3.2: standby for packet losses only.
#[test]
fn with_packet_loss_salvaged_packets_cause_no_standby() {
    let options = ElfnOptions { freeze_on: FreezeOn::PacketLoss, ..ElfnOptions::default() };
    let mut line = sent_at(options, at(0), 0, 8);
    notice(&mut line, nth(0, 3), SALVAGED);
    assert_eq!(line.aid.state(), "active");
    notice(&mut line, nth(0, 3), LOST);
    assert_eq!(line.aid.state(), "standby");
    line.receive_ack(nth(0, 1));
    line.signal(Signal::new(SignalKind::RouteDiscovery));
    assert_eq!(line.aid.state(), "standby", "the local node has no route");
}

#[test]
fn probes_continue_until_any_acknowledgment() {
    let mut line = sent_at(ElfnOptions::default(), at(0), 0, 8);
    notice(&mut line, nth(0, 2), LOST);
    line.run_until(at(7_000_000));
    assert_eq!(sent(&line), [2, 4, 6].map(|s| (s * 1_000_000, nth(0, 2))));
    line.receive_ack(nth(0, 0));
    assert_eq!((line.aid.state(), line.tcp.deadline()), ("active", Some(at(8_000_000))));
}

/// Repeated notifications about another packet than the first of the window: the second probe is the first
/// unacknowledged packet.
#[test]
fn without_progress_the_probe_is_the_first_unacknowledged_packet() {
    let mut line = sent_at(ElfnOptions::default(), at(0), 0, 8);
    notice(&mut line, nth(0, 5), LOST);
    line.run_until(at(2_000_000));
    line.receive_ack(nth(0, 0));
    notice(&mut line, nth(0, 5), LOST);
    line.record.clear();
    line.run_until(at(4_000_000));
    assert_eq!(sent(&line), [(4_000_000, nth(0, 0))]);
}

#[test]
fn notifications_count_for_outstanding_packets_only() {
    let unreachable = SignalKind::Unreachable(UnreachableScope::Host);
    for (kind, seq, state) in [
        (unreachable, Some(nth(0, 2)), "standby"),
        (SignalKind::RouteFailed, None, "standby"),
        (SignalKind::RouteDiscovery, None, "standby"),
        (unreachable, Some(nth(0, 9)), "active"),
        (SignalKind::RouteFailed, Some(nth(0, 8)), "active"),
        (SignalKind::SourceQuench, None, "active"),
    ] {
        let mut line = sent_at(ElfnOptions::default(), at(0), 0, 8);
        line.signal(Signal { kind, details: SignalDetails { seq, ..SignalDetails::default() } });
        assert_eq!(line.aid.state(), state, "{kind:?}");
    }
    let mut line = sent_at(ElfnOptions::default(), at(0), 0, 8);
    for seq in [nth(0, 8), nth(0, 900), Tcp::START - 100] {
        notice(&mut line, seq, LOST);
    }
    assert_eq!((line.aid.state(), line.take_events()), ("active", Vec::new()));
    // With nothing outstanding there is no standby.
    line.receive_ack(nth(0, 8));
    line.signal(Signal::new(SignalKind::RouteDiscovery));
    assert_eq!(line.aid.state(), "active");
}

#[test]
fn without_hold_tcp_runs_unassisted() {
    let mut line = sent_at(ElfnOptions::default(), at(0), 0, 8);
    line.refuses = |act| matches!(act, Act::Hold { .. });
    notice(&mut line, nth(0, 0), LOST);
    assert_eq!((line.aid.state(), line.aid.next_timeout()), ("active", None));
}

#[test]
fn the_diagram_is_up_to_date_and_matches_the_paper() {
    kit::assert_diagram_up_to_date::<State>("elfn");
    standby::assert_standby_transitions();
}

fn drawn(random: &mut driftway_base::RandomStream) -> (Machine<Elfn>, Duration) {
    let probe_interval = random_duration(random, 1, 5_000);
    let after = if random_flag(random) { AfterStandby::Previous } else { AfterStandby::Defaults };
    let default_rto = random_duration(random, 1, 9_000);
    let freeze_on = if random_flag(random) { FreezeOn::RouteFailure } else { FreezeOn::PacketLoss };
    let standby =
        StandbyOptions { probe_interval, after, default_rto, ..StandbyOptions::default() };
    let longest = probe_interval + default_rto;
    (Elfn::new(ElfnOptions { standby, freeze_on }), longest)
}

#[test]
fn every_state_recovers() {
    liveness::check_recovery(|random| {
        let (aid, longest) = drawn(random);
        (aid, longest.max(TCP_MAX_RTO))
    });
}

#[test]
fn forged_notifications_do_not_stop_delivery() {
    liveness::check_forged_notices(drawn);
}
