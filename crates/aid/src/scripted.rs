//! The scripted driver: an aid, a connection of the crate `tcp`, and a test that plays the network.
//!
//! The test says what happens (the application writes, a segment arrives, a signal arrives, time
//! passes) and reads in the record what came of it, in order. The driver keeps the contract of
//! [`Aid`]: acts before the segment, aid timers before TCP timers.

mod tcp;

use alloc::vec::Vec;
use driftway_base::{Act, ActResult, Duration, Endpoint, FlowKey, Instant, Ipv4Addr, Seq, Signal};
use driftway_wire::{Payload, TcpFlags, TcpSegment};

pub use self::tcp::{Response, Tcp};
use crate::{Aid, Verdict};

/// What came of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// TCP sent it, and the aid let it through.
    Sent(TcpSegment),
    /// Sent for an act, before or behind the sender's own queue.
    Resent {
        /// What was sent.
        segment: TcpSegment,
        /// Before the queue?
        ahead: bool,
    },
    /// TCP sent it, and the aid swallowed it.
    DroppedOutgoing(TcpSegment),
    /// It arrived, and TCP got it.
    Delivered(TcpSegment),
    /// It arrived, and the aid dropped it.
    Dropped(TcpSegment),
    /// The aid asked for it.
    Requested(Act, ActResult),
    /// TCP responded to loss or congestion by itself.
    Responded(Response),
    /// The aid is in this state now.
    Entered(&'static str),
}

#[derive(Clone, Copy, Debug)]
enum Direction {
    Down,
    Up,
}

/// An aid between a TCP and a test.
pub struct ScriptedDriver<A> {
    /// The aid.
    pub aid: A,
    /// The connection.
    pub tcp: Tcp,
    /// Which acts the driver refuses; none at first.
    pub refuses: fn(&Act) -> bool,
    /// What happened, in order.
    pub record: Vec<(Instant, Event)>,
    now: Instant,
    state: &'static str,
    held_segments: Vec<(Direction, TcpSegment)>,
}

impl<A: Aid> ScriptedDriver<A> {
    /// `aid` below a connection that was just established, at time zero.
    pub fn new(aid: A) -> Self {
        Self::with(aid, Tcp::established(Tcp::START, true))
    }
    /// The same, without ECN.
    pub fn without_ecn(aid: A) -> Self {
        Self::with(aid, Tcp::established(Tcp::START, false))
    }
    /// The same, with a first byte of this number.
    pub fn from(start: Seq, aid: A) -> Self {
        Self::with(aid, Tcp::established(start, true))
    }
    /// `aid` below a connection whose SYN has not been answered.
    pub fn opening(aid: A) -> Self {
        Self::with(aid, Tcp::opening(Tcp::START, true))
    }

    fn with(aid: A, tcp: Tcp) -> Self {
        let state = aid.state();
        Self {
            aid,
            tcp,
            refuses: |_| false,
            record: Vec::new(),
            now: Instant::ZERO,
            state,
            held_segments: Vec::new(),
        }
    }

    /// What time it is.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// The record so far, which starts anew.
    pub fn take_events(&mut self) -> Vec<Event> {
        core::mem::take(&mut self.record).into_iter().map(|(_, event)| event).collect()
    }

    /// The application writes so many bytes.
    pub fn write(&mut self, bytes: u32) {
        self.tcp.write(bytes);
        self.run_until_idle();
    }

    /// The application closes.
    pub fn close(&mut self) {
        self.tcp.close();
        self.run_until_idle();
    }

    /// The application writes its last bytes.
    pub fn write_last(&mut self, bytes: u32) {
        self.tcp.write(bytes);
        self.close();
    }

    /// A segment arrives from the network.
    pub fn receive(&mut self, segment: TcpSegment) {
        self.offer(Direction::Up, segment);
        self.run_until_idle();
    }

    /// TCP sends something by itself that [`Tcp`] would not.
    pub fn send(&mut self, segment: TcpSegment) {
        self.offer(Direction::Down, segment);
        self.run_until_idle();
    }

    /// An acknowledgment arrives: of all before `ack`, with the window of those before.
    pub fn receive_ack(&mut self, ack: Seq) {
        self.receive(self.peer_ack(ack));
    }

    /// What an acknowledgment from the peer looks like now.
    pub fn peer_ack(&self, ack: Seq) -> TcpSegment {
        TcpSegment {
            source_port: Tcp::PEER_PORT,
            destination_port: Tcp::PORT,
            seq: self.tcp.rcv_nxt(),
            ack,
            flags: TcpFlags::ACK,
            window: Tcp::WINDOW,
            payload: Payload::EMPTY,
            ..TcpSegment::default()
        }
    }

    /// What an acknowledgment from TCP looks like now.
    pub fn pure_ack(&self) -> TcpSegment {
        self.tcp.pure_ack()
    }

    /// A signal arrives.
    pub fn signal(&mut self, signal: Signal) {
        let view = self.tcp.view();
        let end = |host, port| Endpoint::new(Ipv4Addr::new(10, 0, 0, host), port);
        let flow = FlowKey { source: end(1, Tcp::PORT), destination: end(2, Tcp::PEER_PORT) };
        if signal.concerns(flow, &view) {
            self.aid.on_signal(self.now, &signal, &view);
        }
        self.apply_acts();
        self.run_until_idle();
    }

    /// Time passes.
    pub fn advance(&mut self, span: Duration) {
        self.run_until(self.now + span);
    }

    /// Time passes until `end`, with what happens at `end` itself.
    pub fn run_until(&mut self, end: Instant) {
        while let Some(next) = self.next_timeout().filter(|next| *next <= end) {
            self.now = self.now.max(next);
            if self.aid.next_timeout().is_some_and(|at| at <= self.now) {
                self.aid.on_timeout(self.now, &self.tcp.view());
                self.apply_acts();
            }
            if self.tcp.next_timeout().is_some_and(|at| at <= self.now) {
                self.tcp.on_timeout(self.now);
            }
            self.run_until_idle();
        }
        self.now = self.now.max(end);
    }

    /// Time passes until `end`, and timers that are due then wait: something else comes first.
    pub fn wait_until(&mut self, end: Instant) {
        self.now = self.now.max(end);
    }

    /// When something happens by itself.
    pub fn next_timeout(&self) -> Option<Instant> {
        [self.aid.next_timeout(), self.tcp.next_timeout()].into_iter().flatten().min()
    }

    /// Offers what was kept back once more, and sends what TCP may send.
    fn run_until_idle(&mut self) {
        for (way, segment) in core::mem::take(&mut self.held_segments) {
            self.offer(way, segment);
        }
        loop {
            self.send_for_acts();
            let before = self.tcp.view();
            let Some(segment) = self.tcp.poll_transmit(self.now) else { break };
            self.offer_with(Direction::Down, segment, &before);
        }
        self.record_responses();
    }

    fn offer(&mut self, way: Direction, segment: TcpSegment) {
        let view = self.tcp.view();
        self.offer_with(way, segment, &view);
    }

    fn offer_with(&mut self, way: Direction, segment: TcpSegment, view: &driftway_base::TcpView) {
        let verdict = match way {
            Direction::Down => self.aid.on_down(self.now, &segment, view),
            Direction::Up => self.aid.on_up(self.now, &segment, view),
        };
        self.apply_acts();
        let passed = match verdict {
            Verdict::Pass => segment,
            Verdict::Replace(other) => other,
            Verdict::Drop => {
                return self.record_event(match way {
                    Direction::Down => Event::DroppedOutgoing(segment),
                    Direction::Up => Event::Dropped(segment),
                });
            }
            Verdict::Hold => return self.held_segments.push((way, segment)),
        };
        match way {
            Direction::Down => self.record_event(Event::Sent(passed)),
            Direction::Up => {
                self.record_event(Event::Delivered(passed));
                self.tcp.on_segment(self.now, &passed);
                self.record_responses();
                if self.aid.wants_processed() {
                    self.aid.on_processed(self.now, &self.tcp.view());
                    self.apply_acts();
                }
            }
        }
    }

    fn apply_acts(&mut self) {
        if self.aid.state() != self.state {
            self.state = self.aid.state();
            self.record_event(Event::Entered(self.state));
        }
        while let Some(act) = self.aid.poll_act() {
            let refused = (self.refuses)(&act);
            let done =
                if refused { ActResult::Unsupported } else { self.tcp.apply(self.now, &act) };
            self.record_event(Event::Requested(act, done));
            self.send_for_acts();
            self.aid.on_done(self.now, &act, done, &self.tcp.view());
        }
        if self.aid.state() != self.state {
            self.state = self.aid.state();
            self.record_event(Event::Entered(self.state));
        }
    }

    fn send_for_acts(&mut self) {
        while let Some((segment, ahead)) = self.tcp.poll_resend() {
            self.record_event(Event::Resent { segment, ahead });
        }
    }

    fn record_responses(&mut self) {
        while let Some(response) = self.tcp.poll_response() {
            self.record_event(Event::Responded(response));
        }
    }

    fn record_event(&mut self, event: Event) {
        self.record.push((self.now, event));
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use driftway_base::TcpView;

    /// Keeps each acknowledgment back until it is offered the second time, and takes the push bit
    /// from what goes down.
    #[derive(Default)]
    struct DelaysAcks {
        offered: Vec<Seq>,
        timer: Option<Instant>,
    }

    impl Aid for DelaysAcks {
        fn name(&self) -> &'static str {
            "late"
        }
        fn state(&self) -> &'static str {
            "only"
        }
        fn on_down(&mut self, _: Instant, segment: &TcpSegment, _: &TcpView) -> Verdict {
            Verdict::Replace(TcpSegment { flags: segment.flags.with(TcpFlags::PSH), ..*segment })
        }
        fn on_up(&mut self, now: Instant, segment: &TcpSegment, _: &TcpView) -> Verdict {
            if self.offered.contains(&segment.ack) {
                return Verdict::Pass;
            }
            self.offered.push(segment.ack);
            self.timer = Some(now + Duration::from_millis(10));
            Verdict::Hold
        }
        fn on_signal(&mut self, _: Instant, _: &Signal, _: &TcpView) {}
        fn on_timeout(&mut self, _: Instant, _: &TcpView) {
            self.timer = None;
        }
        fn on_done(&mut self, _: Instant, _: &Act, _: ActResult, _: &TcpView) {}
        fn next_timeout(&self) -> Option<Instant> {
            self.timer
        }
        fn poll_act(&mut self) -> Option<Act> {
            None
        }
    }

    fn sent_by(line: &ScriptedDriver<DelaysAcks>) -> Vec<(u64, u32)> {
        let sent = line.record.iter().filter_map(|(at, event)| match event {
            Event::Sent(segment) => Some((at.as_millis(), segment.sequence_len())),
            _ => None,
        });
        sent.collect()
    }

    #[test]
    fn what_is_kept_back_is_offered_again() {
        let mut line = ScriptedDriver::new(DelaysAcks::default());
        line.write(100);
        assert!(matches!(line.take_events()[..], [Event::Sent(segment)]
            if segment.flags.contains(TcpFlags::PSH)));
        // Offered again when the segment is dealt with, and passed then.
        let ack = line.peer_ack(Tcp::START + 100);
        line.receive(ack);
        assert_eq!(line.take_events(), [Event::Delivered(ack)]);
        assert!(line.tcp.outstanding().is_empty());
    }

    #[test]
    fn tcp_times_out_and_backs_off() {
        let mut line = ScriptedDriver::new(DelaysAcks::default());
        line.write(100);
        line.run_until(Instant::from_secs(10));
        assert_eq!(sent_by(&line), [(0, 100), (1_000, 100), (3_000, 100), (7_000, 100)]);
        assert_eq!((line.tcp.cwnd(), line.tcp.ssthresh()), (100, 200));
    }

    #[test]
    fn tcp_probes_a_closed_window() {
        let mut line = ScriptedDriver::new(DelaysAcks::default());
        line.write(100);
        line.receive(TcpSegment { window: 0, ..line.peer_ack(Tcp::START + 100) });
        line.write(100);
        line.receive(TcpSegment { window: 0, ..line.peer_ack(Tcp::START + 100) });
        line.run_until(Instant::from_secs(20));
        assert_eq!(sent_by(&line), [(0, 100), (5_000, 1), (15_000, 1)]);
    }
}
