//! A test aid that records the signals it receives.

use std::sync::{Arc, Mutex};

use driftway_aid::{Aid, Verdict};
use driftway_base::{
    Act, Done, Endpoint, FailedLink, Instant, Ipv4Addr, Known, Seq, Signal, SignalKind, Strength,
    TcpView,
};
use driftway_node::{Host, Socket};
use driftway_tcp::{Config, Connection};
use driftway_wire::TcpSegment;

/// Time (ms), kind, and failed link of a signal.
pub type Heard = (u64, SignalKind, Option<FailedLink>);

/// Records each signal, and the received power of the next hop at that time.
struct Listener {
    heard: Arc<Mutex<Vec<Heard>>>,
    seen: Arc<Mutex<Vec<Known<Strength>>>>,
}

impl Aid for Listener {
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
        let heard = (now.as_millis(), signal.kind, signal.about.failed_link);
        self.heard.lock().unwrap().push(heard);
        self.seen.lock().unwrap().push(view.next_hop);
    }
    fn on_timeout(&mut self, _: Instant, _: &TcpView) {}
    fn on_done(&mut self, _: Instant, _: &Act, _: Done, _: &TcpView) {}
    fn next_timeout(&self) -> Option<Instant> {
        None
    }
    fn poll_act(&mut self) -> Option<Act> {
        None
    }
}

/// The received power of the next hop at each signal.
pub type Seen = Arc<Mutex<Vec<Known<Strength>>>>;

/// Adds a connection to `peer` whose aid records signals; returns the shared records.
pub fn listen(host: &mut Host, peer: Ipv4Addr) -> (Arc<Mutex<Vec<Heard>>>, Seen) {
    let (heard, seen) = (Arc::default(), Seen::default());
    let listener = Listener { heard: Arc::clone(&heard), seen: seen.clone() };
    let ends = [host.address(), peer].map(|address| Endpoint::new(address, 99));
    let config = Config::default();
    let tcp = Connection::connect(&config, ends[0], ends[1], Seq(1), 9, Instant::ZERO);
    host.add(Socket::new(tcp, Some(Box::new(listener))));
    (heard, seen)
}
