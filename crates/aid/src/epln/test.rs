//! Tests of algorithm 2 of yu-2004, step by step.

use std::vec::Vec;

use driftway_base::{Duration, Instant, SeqRanges, SignalDetails, UnreachableScope};

use super::*;
use crate::Aid;
use crate::kit::standby::AfterStandby;
use crate::kit::{self, standby};
use crate::liveness::{self, TCP_MAX_RTO, random_duration, random_flag};
use crate::scripted::{Event, ScriptedDriver, Tcp};

type Line = ScriptedDriver<Machine<Epln>>;

fn nth(n: u32) -> Seq {
    Tcp::START + 100 * n
}

fn at_ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// Packets 0 to 7 were sent at 0, and more data waits for the window.
fn eight_sent(options: EplnOptions) -> Line {
    let mut line = ScriptedDriver::new(Epln::new(options));
    line.tcp.set_cwnd(800);
    line.write(5_000);
    line.take_events();
    line
}

fn line() -> Line {
    let mut line = eight_sent(EplnOptions::default());
    line.advance(Duration::from_millis(100));
    line
}

const LOST: PacketDisposition = PacketDisposition::Lost;
const SALVAGED: PacketDisposition = PacketDisposition::Salvaged;

fn notice(line: &mut Line, n: u32, disposition: PacketDisposition) {
    let mut ranges = SeqRanges::default();
    ranges.push(SeqRange::new(nth(n), nth(n + 1)));
    let kind = SignalKind::PacketLost { ranges, disposition };
    line.signal(Signal {
        kind,
        details: SignalDetails { seq: Some(nth(n)), ..SignalDetails::default() },
    });
}

/// Retransmissions: time (ms) and packet number.
fn resent(line: &Line) -> Vec<(u64, u32)> {
    let resent = line.record.iter().filter_map(|(at, event)| match event {
        Event::Resent { segment, ahead_of_queue: false } => {
            Some((at.as_millis(), (segment.seq - Tcp::START.0).0 / 100))
        }
        _ => None,
    });
    resent.collect()
}

fn sent(line: &Line) -> Vec<u32> {
    let sent = line.record.iter().filter_map(|(_, event)| match event {
        Event::Sent(segment) => Some((segment.seq - Tcp::START.0).0 / 100),
        _ => None,
    });
    sent.collect()
}

/// Step 2: TCP goes on standby, and a lost packet is retransmitted at once.
#[test]
fn the_first_loss_notification_retransmits_the_packet() {
    let mut line = line();
    notice(&mut line, 3, LOST);
    assert_eq!((line.aid.state(), line.tcp.deadline()), ("standby", None));
    assert_eq!(resent(&line), [(100, 3)]);
    // The probe is the same packet.
    line.run_until(at_ms(4_500));
    assert_eq!(resent(&line), [(100, 3), (2_100, 3), (4_100, 3)]);
    assert_eq!((sent(&line), line.tcp.cwnd()), (Vec::new(), 800));
}

/// Step 2: a salvaged packet is retransmitted only as a probe.
#[test]
fn a_salvaged_packet_is_only_probed() {
    let mut line = line();
    notice(&mut line, 3, SALVAGED);
    assert_eq!((line.aid.state(), resent(&line)), ("standby", Vec::new()));
    line.run_until(at_ms(2_100));
    assert_eq!(resent(&line), [(2_100, 3)]);
}

/// Step 3: a packet with a lower number becomes the probe, and is retransmitted if lost.
#[test]
fn a_lower_packet_becomes_the_probe() {
    let mut line = line();
    notice(&mut line, 5, SALVAGED);
    notice(&mut line, 3, LOST);
    assert_eq!(resent(&line), [(100, 3)]);
    notice(&mut line, 3, LOST);
    assert_eq!(resent(&line), [(100, 3), (100, 3)]);
    notice(&mut line, 2, SALVAGED);
    line.run_until(at_ms(2_100));
    assert_eq!(resent(&line)[2..], [(2_100, 2)]);
}

/// The same with `respond_to = "first-notice"`: only the first loss notification of the standby is answered at
/// once. The lower packet becomes the probe, and both are retransmitted with the first acknowledgment.
#[test]
fn only_the_first_notification_of_a_standby_is_answered() {
    let options = EplnOptions { respond_to: RespondTo::FirstNotice, ..EplnOptions::default() };
    let mut line = eight_sent(options);
    line.advance(Duration::from_millis(100));
    notice(&mut line, 3, LOST);
    assert_eq!((line.aid.state(), resent(&line)), ("standby", [(100, 3)].to_vec()));
    // The retransmission is lost, too, and an earlier packet.
    notice(&mut line, 3, LOST);
    notice(&mut line, 1, LOST);
    notice(&mut line, 1, LOST);
    line.run_until(at_ms(2_099));
    assert_eq!(resent(&line), [(100, 3)]);
    line.run_until(at_ms(2_200));
    assert_eq!(resent(&line)[1..], [(2_100, 1)]);
    line.receive_ack(nth(2));
    assert_eq!(line.aid.state(), "active");
    assert_eq!(resent(&line)[2..], [(2_200, 3)]);
    // The next standby has a first notification of its own.
    line.run_until(at_ms(2_300));
    notice(&mut line, 4, LOST);
    notice(&mut line, 2, LOST);
    assert_eq!(resent(&line)[3..], [(2_300, 4)]);
}

/// A standby that a salvaged packet or a route discovery has begun: the first loss that is reported in it is
/// answered, and further ones wait for the probe.
#[test]
fn the_first_loss_of_a_standby_is_answered_whatever_began_it() {
    let options = EplnOptions { respond_to: RespondTo::FirstNotice, ..EplnOptions::default() };
    for discovery in [false, true] {
        let mut line = eight_sent(options);
        line.advance(Duration::from_millis(100));
        if discovery {
            line.signal(Signal::new(SignalKind::RouteDiscovery));
        } else {
            notice(&mut line, 0, SALVAGED);
        }
        assert_eq!(resent(&line), []);
        notice(&mut line, 5, LOST);
        notice(&mut line, 0, LOST);
        notice(&mut line, 0, LOST);
        line.run_until(at_ms(2_099));
        assert_eq!(resent(&line), [(100, 0)]);
        line.run_until(at_ms(2_200));
        assert_eq!(resent(&line)[1..], [(2_100, 0)]);
        line.receive_ack(nth(1));
        assert_eq!(resent(&line)[2..], [(2_200, 5)]);
    }
}

/// Step 4: a packet with a higher number is recorded once, and retransmitted with the first acknowledgment
/// unless that covers it.
#[test]
fn other_lost_packets_are_retransmitted_with_the_first_acknowledgment() {
    let mut line = line();
    notice(&mut line, 1, LOST);
    for n in [2, 4, 6, 4, 2] {
        notice(&mut line, n, LOST);
    }
    notice(&mut line, 7, SALVAGED);
    assert_eq!(resent(&line), [(100, 1)]);
    line.run_until(at_ms(500));
    line.record.clear();
    line.receive_ack(nth(3));
    assert_eq!(line.aid.state(), "active");
    assert_eq!(resent(&line), [(500, 4), (500, 6)]);
    // The previous window, and the timeout of a new transmission.
    assert_eq!(sent(&line), [8, 9, 10, 11]);
    assert_eq!((line.tcp.cwnd(), line.tcp.deadline()), (900, Some(at_ms(1_500))));
    // No recorded packets remain.
    notice(&mut line, 4, SALVAGED);
    line.record.clear();
    line.receive_ack(nth(3));
    assert_eq!(resent(&line), []);
}

/// Step 1.
#[test]
fn packets_not_outstanding_are_ignored() {
    let mut line = line();
    line.receive_ack(nth(2));
    let before = (line.tcp.view(), line.aid.state());
    line.take_events();
    for n in [0, 1, 11, 12, 4_000] {
        notice(&mut line, n, LOST);
    }
    assert_eq!((before, line.take_events()), ((line.tcp.view(), line.aid.state()), Vec::new()));
}

/// yu-2004 §3.3, where ELFN stays idle: 409 and 410 are lost after a salvage.
#[test]
fn section_3_3_with_loss_notifications() {
    // Packet 0 is packet 404 of the paper.
    let mut line = line();
    notice(&mut line, 5, SALVAGED);
    line.run_until(at_ms(164));
    line.receive_ack(nth(5));
    line.record.clear();
    line.run_until(at_ms(239));
    notice(&mut line, 5, LOST);
    notice(&mut line, 6, LOST);
    assert_eq!(resent(&line), [(239, 5)]);
    line.run_until(at_ms(300));
    line.receive_ack(nth(6));
    assert_eq!(resent(&line), [(239, 5), (300, 6)]);
    assert!(!line.record.iter().any(|(_, event)| matches!(event, Event::Responded(_))));
}

#[test]
fn route_discovery_and_other_notifications_cause_a_standby() {
    for kind in [
        SignalKind::RouteDiscovery,
        SignalKind::RouteFailed,
        SignalKind::Unreachable(UnreachableScope::Host),
    ] {
        let mut line = line();
        line.signal(Signal::new(kind));
        assert_eq!((line.aid.state(), resent(&line)), ("standby", Vec::new()));
        line.run_until(at_ms(2_100));
        assert_eq!(resent(&line), [(2_100, 0)]);
    }
    let mut line = line();
    line.signal(Signal::new(SignalKind::SourceQuench));
    assert_eq!(line.aid.state(), "active");
}

#[test]
fn without_hold_tcp_runs_unassisted() {
    let mut line = line();
    line.refuses = |act| matches!(act, Act::Hold { .. });
    notice(&mut line, 0, LOST);
    assert_eq!((line.aid.state(), line.aid.next_timeout()), ("active", None));
}

#[test]
fn closing_the_connection_ends_the_standby() {
    let mut line = line();
    notice(&mut line, 0, LOST);
    notice(&mut line, 1, LOST);
    line.tcp.close_silently();
    line.signal(Signal::new(SignalKind::RouteDiscovery));
    assert_eq!((line.aid.state(), line.aid.next_timeout()), ("active", None));
    assert!(line.aid.protocol.lost.is_empty());
}

/// The aid neither acknowledges, creates nor drops data (liu-singh-2001 §III-B).
#[test]
fn all_segments_pass_in_both_states() {
    for stands_by in [false, true] {
        let mut line = line();
        if stands_by {
            notice(&mut line, 3, LOST);
        }
        line.receive_ack(nth(2));
        line.send(line.peer_ack(nth(0)));
        let passes =
            |event: &Event| !matches!(event, Event::DroppedOutgoing(_) | Event::Dropped(_));
        assert!(line.record.iter().all(|(_, event)| passes(event)));
    }
}

#[test]
fn the_diagram_is_up_to_date_and_matches_the_paper() {
    kit::assert_diagram_up_to_date::<State>("epln");
    standby::assert_standby_transitions();
}

fn drawn(random: &mut driftway_base::RandomStream) -> (Machine<Epln>, Duration) {
    let probe_interval = random_duration(random, 1, 5_000);
    let after = if random_flag(random) { AfterStandby::Previous } else { AfterStandby::Defaults };
    let default_rto = random_duration(random, 1, 9_000);
    let standby =
        StandbyOptions { probe_interval, after, default_rto, ..StandbyOptions::default() };
    let respond_to =
        if random_flag(random) { RespondTo::FirstNotice } else { RespondTo::EachNotice };
    (Epln::new(EplnOptions { standby, respond_to }), probe_interval + default_rto)
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
