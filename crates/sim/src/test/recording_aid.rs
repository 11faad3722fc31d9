//! A test aid that records the signals it receives.

use std::sync::{Arc, Mutex};

use driftway_aid::{Aid, SegmentVerdict};
use driftway_base::{
    Act, ActResult, Endpoint, FailedLink, FlowId, Instant, Ipv4Addr, Known, ReceivedPower, Seq,
    Signal, SignalKind, TcpView,
};
use driftway_endpoint::{Host, Socket};
use driftway_tcp::{Config, Connection};
use driftway_wire::TcpSegment;

use crate::sockets::SocketId;

/// Time (ms), kind, and failed link of a signal.
pub type ReceivedSignal = (u64, SignalKind, Option<FailedLink>);

/// Records each signal, and the received power of the next hop at that time.
struct RecordingAid {
    signals: Arc<Mutex<Vec<ReceivedSignal>>>,
    powers: Arc<Mutex<Vec<Known<ReceivedPower>>>>,
}

impl Aid for RecordingAid {
    fn name(&self) -> &'static str {
        "listener"
    }
    fn state(&self) -> &'static str {
        "listening"
    }
    fn on_down(&mut self, _: Instant, _: &TcpSegment, _: &TcpView) -> SegmentVerdict {
        SegmentVerdict::Pass
    }
    fn on_up(&mut self, _: Instant, _: &TcpSegment, _: &TcpView) -> SegmentVerdict {
        SegmentVerdict::Pass
    }
    fn on_signal(&mut self, now: Instant, signal: &Signal, view: &TcpView) {
        let heard = (now.as_millis(), signal.kind, signal.details.failed_link);
        self.signals.lock().unwrap().push(heard);
        self.powers.lock().unwrap().push(view.next_hop_power);
    }
    fn on_timeout(&mut self, _: Instant, _: &TcpView) {}
    fn on_done(&mut self, _: Instant, _: &Act, _: ActResult, _: &TcpView) {}
    fn next_timeout(&self) -> Option<Instant> {
        None
    }
    fn poll_act(&mut self) -> Option<Act> {
        None
    }
}

/// The received power of the next hop at each signal.
pub type NextHopPowers = Arc<Mutex<Vec<Known<ReceivedPower>>>>;

/// Adds a connection to `peer` whose aid records signals; returns the shared records.
pub fn add_recording_aid(
    host: &mut Host<SocketId>,
    peer: Ipv4Addr,
) -> (Arc<Mutex<Vec<ReceivedSignal>>>, NextHopPowers) {
    let (heard, seen) = (Arc::default(), NextHopPowers::default());
    let listener = RecordingAid { signals: Arc::clone(&heard), powers: seen.clone() };
    let ends = [host.address(), peer].map(|address| Endpoint::new(address, 99));
    let config = Config::default();
    let tcp = Connection::connect(&config, ends[0], ends[1], Seq(1), 9, Instant::ZERO);
    let unused = SocketId::sender(FlowId::new(9));
    host.add_socket(Socket::new(tcp, Some(Box::new(listener))), unused);
    (heard, seen)
}
