//! For tests: an aid that writes down what it hears.

use std::sync::{Arc, Mutex};

use driftway_aid::{Aid, Verdict};
use driftway_base::{
    Act, ActResult, Endpoint, FailedLink, Instant, Ipv4Addr, Known, Seq, Signal, SignalKind, ReceivedPower,
    TcpView,
};
use driftway_node::{Host, Socket};
use driftway_tcp::{Config, Connection};
use driftway_wire::TcpSegment;

/// When (ms), what, and about which link.
pub type ReceivedSignal = (u64, SignalKind, Option<FailedLink>);

/// What an aid hears, and what it sees of the next hop then.
struct RecordingAid {
    signals: Arc<Mutex<Vec<ReceivedSignal>>>,
    strengths: Arc<Mutex<Vec<Known<ReceivedPower>>>>,
}

impl Aid for RecordingAid {
    fn name(&self) -> &'static str {
        "listener"
    }
    fn state(&self) -> &'static str {
        "listening"
    }
    fn on_down(&mut self, _: Instant, _: &TcpSegment, _: &TcpView) -> Verdict {
        Verdict::Pass
    }
    fn on_up(&mut self, _: Instant, _: &TcpSegment, _: &TcpView) -> Verdict {
        Verdict::Pass
    }
    fn on_signal(&mut self, now: Instant, signal: &Signal, view: &TcpView) {
        let heard = (now.as_millis(), signal.kind, signal.details.failed_link);
        self.signals.lock().unwrap().push(heard);
        self.strengths.lock().unwrap().push(view.next_hop_power);
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

/// What an aid sees of the next hop, with each signal.
pub type NextHopStrengths = Arc<Mutex<Vec<Known<ReceivedPower>>>>;

/// Adds a connection to `peer` whose aid looks and listens; gives what it will have heard and seen.
pub fn add_recording_aid(host: &mut Host, peer: Ipv4Addr) -> (Arc<Mutex<Vec<ReceivedSignal>>>, NextHopStrengths) {
    let (heard, seen) = (Arc::default(), NextHopStrengths::default());
    let listener = RecordingAid { signals: Arc::clone(&heard), strengths: seen.clone() };
    let ends = [host.address(), peer].map(|address| Endpoint::new(address, 99));
    let config = Config::default();
    let tcp = Connection::connect(&config, ends[0], ends[1], Seq(1), 9, Instant::ZERO);
    host.add_socket(Socket::new(tcp, Some(Box::new(listener))));
    (heard, seen)
}
