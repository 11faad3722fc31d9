//! An aid that sends false acknowledgments, between two sockets on a wire without delay or loss. The
//! test compares the acknowledged bytes with the received ones.

use std::collections::VecDeque;

use driftway_aid::atcp::{Atcp, AtcpOptions};
use driftway_aid::{Aid, SegmentVerdict};
use driftway_base::{Act, ActResult, Ecn, Endpoint, Instant, Ipv4Addr, Seq, Signal, TcpView};
use driftway_endpoint::Socket;
use driftway_tcp::{Config, Connection};
use driftway_wire::{TcpFlags, TcpSegment};

const BYTES: u64 = 50_000;

/// Acknowledges everything that TCP has sent.
struct FalseAckAid;

impl Aid for FalseAckAid {
    fn name(&self) -> &'static str {
        "liar"
    }
    fn state(&self) -> &'static str {
        "lying"
    }
    fn on_down(&mut self, _: Instant, _: &TcpSegment, _: &TcpView) -> SegmentVerdict {
        SegmentVerdict::Pass
    }
    fn on_up(&mut self, _: Instant, segment: &TcpSegment, view: &TcpView) -> SegmentVerdict {
        match view.snd_max.value() {
            Some(max) if view.is_synchronized && segment.flags.contains(TcpFlags::ACK) => {
                SegmentVerdict::Replace(TcpSegment { ack: max, ..*segment })
            }
            _ => SegmentVerdict::Pass,
        }
    }
    fn on_signal(&mut self, _: Instant, _: &Signal, _: &TcpView) {}
    fn on_timeout(&mut self, _: Instant, _: &TcpView) {}
    fn on_done(&mut self, _: Instant, _: &Act, _: ActResult, _: &TcpView) {}
    fn next_timeout(&self) -> Option<Instant> {
        None
    }
    fn poll_act(&mut self) -> Option<Act> {
        None
    }
}

fn at(n: u8) -> Endpoint {
    Endpoint::new(Ipv4Addr::new(10, 0, 0, n), 1000)
}

/// Sends [`BYTES`], a segment at a time; returns the maximum by which the bytes that the sender
/// regards as acknowledged exceeded those that the receiver had.
fn max_ack_lead(aid: Option<Box<dyn Aid>>) -> u64 {
    let now = Instant::ZERO;
    let config = Config { mss: 500, delayed_ack: None, ..Config::default() };
    let sender = Connection::connect(&config, at(1), at(2), Seq(1), 0, now);
    let receiver = Connection::listen(&config, at(2), Seq(2), 1);
    let mut ends = [Socket::new(sender, aid), Socket::new(receiver, None)];
    ends[0].tcp_mut().write(BYTES);
    let (mut wire, mut has, mut ahead) = (VecDeque::new(), 0, 0);
    loop {
        for (from, end) in ends.iter_mut().enumerate() {
            while let Some(transmit) = end.poll_transmit(now) {
                // ACKs first: they overtake data in transit.
                let place = if from == 1 { 0 } else { wire.len() };
                wire.insert(place, (from, transmit));
            }
        }
        let Some((from, transmit)) = wire.pop_front() else { break };
        let source = if from == 0 { at(1) } else { at(2) };
        ends[1 - from].on_segment(now, source.address, &transmit.segment, Ecn::NotEct);
        while let Some(part) = ends[1].tcp_mut().read(u32::MAX) {
            has += u64::from(part.len);
        }
        ahead = ahead.max(ends[0].tcp().acknowledged_bytes().saturating_sub(has));
    }
    assert_eq!(has, BYTES, "all data arrive in the end");
    ahead
}

#[test]
fn a_false_acknowledgment_is_detected() {
    assert!(max_ack_lead(Some(Box::new(FalseAckAid))) >= 500);
}

#[test]
fn without_a_false_acknowledgment_nothing_is_detected() {
    assert_eq!(max_ack_lead(None), 0);
    assert_eq!(max_ack_lead(Some(Box::new(Atcp::new(AtcpOptions::default())))), 0);
}
