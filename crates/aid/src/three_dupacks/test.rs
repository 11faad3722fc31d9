//! Tests of three duplicate acknowledgments, on the scripted driver.

use std::vec::Vec;

use driftway_base::{Instant, Seq, SignalKind};
use driftway_wire::Payload;

use super::*;
use crate::kit;
use crate::liveness;
use crate::scripted::{Event, ScriptedDriver, Tcp};

type Line = ScriptedDriver<Machine<ThreeDupacks>>;

fn outage(line: &mut Line, ends: u64) {
    line.signal(Signal::new(SignalKind::LinkDown));
    line.run_until(Instant::from_millis(ends));
    line.take_events();
    line.signal(Signal::new(SignalKind::LinkUp));
}

/// The segments sent since the last call: sequence number and acknowledgment.
fn sent(line: &mut Line) -> Vec<(Seq, u32)> {
    let sent = line.take_events().into_iter().filter_map(|event| match event {
        Event::Sent(segment) | Event::Resent { segment, .. } => {
            Some((segment.seq, segment.ack.since(Seq(7_000))))
        }
        _ => None,
    });
    sent.collect()
}

fn receive_data(line: &mut Line) {
    let peer = line.peer_ack(Tcp::START);
    line.receive(TcpSegment { payload: Payload::new(1, 0, 500), ..peer });
}

#[test]
fn a_receiver_sends_three_acknowledgments() {
    for copies in [3, 5] {
        let mut line = ScriptedDriver::new(ThreeDupacks::new(ThreeDupacksOptions { copies }));
        receive_data(&mut line);
        outage(&mut line, 2_000);
        assert_eq!(sent(&mut line), std::vec![(Tcp::START, 500); copies as usize]);
        line.signal(Signal::new(SignalKind::LinkUp));
        assert_eq!(sent(&mut line), [], "once");
    }
}

#[test]
fn a_host_without_data_sends_nothing() {
    let mut line = ScriptedDriver::new(ThreeDupacks::new(ThreeDupacksOptions::default()));
    outage(&mut line, 2_000);
    assert_eq!(sent(&mut line), []);
}

#[test]
fn a_sender_retransmits_at_once_with_half_the_window() {
    let mut line = ScriptedDriver::new(ThreeDupacks::new(ThreeDupacksOptions::default()));
    line.write(3_000);
    outage(&mut line, 500);
    assert_eq!(sent(&mut line), [(Tcp::START, 0)]);
    assert_eq!((line.tcp.cwnd(), line.tcp.ssthresh()), (500, 500));
}

#[test]
fn data_is_delivered_soon_after_the_path_works() {
    liveness::check_recovery(|random| {
        let copies = 1 + random.uniform_below(9) as u32;
        let options = ThreeDupacksOptions { copies };
        (ThreeDupacks::new(options), liveness::TCP_MAX_RTO)
    });
}

#[test]
fn the_diagram_is_up_to_date() {
    kit::assert_diagram_up_to_date::<State>("three_dupacks");
}
