//! Results of an aid's acts on the workspace's own TCP.

use std::sync::{Arc, Mutex};

use driftway_aid::{Aid, SegmentVerdict};
use driftway_base::{
    Act, ActResult, Assign, Ecn, Endpoint, HeldTimers, Instant, Ipv4Addr, Release, Seq, Signal,
    TcpView,
};
use driftway_endpoint::Socket;
use driftway_tcp::{Config, Connection};
use driftway_wire::{TcpFlags, TcpSegment};

/// Time and result of an act, and whether TCP was persisting then.
type Answers = Arc<Mutex<Vec<(Instant, ActResult, Option<bool>)>>>;

/// Requests a hold at its timeout, and a resume when that is done.
struct Holder {
    asks: Option<Act>,
    answers: Answers,
}

const HOLD: Act = Act::Hold {
    probe: None,
    rewind_snd_nxt: false,
    timers: HeldTimers::Stop,
    cwnd: Assign::Keep,
    release: Release::Resume,
};
const RESUME: Act = Act::Resume { cwnd: Assign::Keep, ssthresh: Assign::Keep, rto: Assign::Keep };

impl Aid for Holder {
    fn name(&self) -> &'static str {
        "holder"
    }
    fn state(&self) -> &'static str {
        "only"
    }
    fn on_down(&mut self, _: Instant, _: &TcpSegment, _: &TcpView) -> SegmentVerdict {
        SegmentVerdict::Pass
    }
    fn on_up(&mut self, _: Instant, _: &TcpSegment, _: &TcpView) -> SegmentVerdict {
        SegmentVerdict::Pass
    }
    fn on_signal(&mut self, _: Instant, _: &Signal, _: &TcpView) {}
    fn on_timeout(&mut self, _: Instant, _: &TcpView) {
        self.asks = Some(HOLD);
    }
    fn on_done(&mut self, now: Instant, act: &Act, done: ActResult, view: &TcpView) {
        self.asks = (*act == HOLD && done == ActResult::Done).then_some(RESUME);
        let mut answers = self.answers.lock().expect("one thread");
        answers.push((now, done, view.is_persisting.value()));
    }
    fn next_timeout(&self) -> Option<Instant> {
        None
    }
    fn poll_act(&mut self) -> Option<Act> {
        self.asks.take()
    }
}

#[test]
fn the_result_of_an_act_comes_with_the_view_after_it() {
    let end = |host| Endpoint::new(Ipv4Addr::new(10, 0, 0, host), 1000);
    let tcp = Connection::connect(&Config::default(), end(1), end(2), Seq(0), 0, Instant::ZERO);
    let answers = Answers::default();
    let holder = Holder { asks: None, answers: Arc::clone(&answers) };
    let mut socket = Socket::new(tcp, Some(Box::new(holder)));
    let syn = socket.poll_transmit(Instant::ZERO).expect("a SYN").segment;
    let answer = TcpSegment {
        source_port: syn.destination_port,
        destination_port: syn.source_port,
        ack: syn.seq + 1,
        flags: TcpFlags::SYN.with(TcpFlags::ACK),
        window: 1000,
        ..TcpSegment::default()
    };
    socket.on_segment(Instant::from_millis(1), end(2).address, &answer, Ecn::NotEct);
    let now = Instant::from_millis(2);
    socket.on_aid_timeout(now);
    let expected = [(now, ActResult::Done, Some(true)), (now, ActResult::Done, Some(false))];
    assert_eq!(*answers.lock().expect("one thread"), expected);
}
