//! Scripted driver: an aid, a connection of the crate `tcp`, and a test in the role of the network.
//!
//! The test specifies the input (writes of the application, incoming segments, signals, passing time) and
//! checks the recorded events in order. The driver follows the contract of [`Aid`]: acts before the segment,
//! aid timers before TCP timers.

mod tcp;

use alloc::vec::Vec;
use driftway_base::{Act, ActResult, Duration, Endpoint, FlowKey, Instant, Ipv4Addr, Seq, Signal};
use driftway_tcp::Transmit;
use driftway_wire::{Payload, TcpFlags, TcpSegment};

pub use self::tcp::{Response, Tcp};
use crate::{Aid, SegmentVerdict};

/// A recorded event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// TCP sent a segment, and the aid passed it.
    Sent(TcpSegment),
    /// A segment was sent for an act.
    Resent {
        /// The segment.
        segment: TcpSegment,
        /// It was enqueued at the head of the interface queue.
        ahead_of_queue: bool,
    },
    /// TCP sent a segment, and the aid dropped it.
    DroppedOutgoing(TcpSegment),
    /// A segment arrived and was delivered to TCP.
    Delivered(TcpSegment),
    /// A segment arrived, and the aid dropped it.
    Dropped(TcpSegment),
    /// The aid requested an act.
    Requested(Act, ActResult),
    /// TCP responded to loss or congestion by itself.
    Responded(Response),
    /// The aid entered this state.
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
    /// Acts that the driver does not support; none initially.
    pub refuses: fn(&Act) -> bool,
    /// Recorded events in order.
    pub record: Vec<(Instant, Event)>,
    now: Instant,
    state: &'static str,
    held_segments: Vec<(Direction, TcpSegment)>,
}

impl<A: Aid> ScriptedDriver<A> {
    /// `aid` below a connection that is established at time zero.
    pub fn new(aid: A) -> Self {
        Self::with(aid, Tcp::established(Tcp::START, true))
    }
    /// Creates a driver as [`new`](Self::new) does, without ECN.
    pub fn without_ecn(aid: A) -> Self {
        Self::with(aid, Tcp::established(Tcp::START, false))
    }
    /// Creates a driver as [`new`](Self::new) does, with first sequence number `start`.
    pub fn from(start: Seq, aid: A) -> Self {
        Self::with(aid, Tcp::established(start, true))
    }
    /// `aid` below a connection in SYN-SENT.
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

    /// Present time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Removes and returns the recorded events.
    pub fn take_events(&mut self) -> Vec<Event> {
        core::mem::take(&mut self.record).into_iter().map(|(_, event)| event).collect()
    }

    /// The application writes `bytes` bytes.
    pub fn write(&mut self, bytes: u32) {
        self.tcp.write(bytes);
        self.run_until_idle();
    }

    /// The application closes the connection.
    pub fn close(&mut self) {
        self.tcp.close();
        self.run_until_idle();
    }

    /// The application writes its last bytes and closes the connection.
    pub fn write_last(&mut self, bytes: u32) {
        self.tcp.write(bytes);
        self.close();
    }

    /// A segment arrives from the network.
    pub fn receive(&mut self, segment: TcpSegment) {
        self.offer(Direction::Up, segment);
        self.run_until_idle();
    }

    /// TCP sends a segment that [`Tcp`] would not send.
    pub fn send(&mut self, segment: TcpSegment) {
        self.offer(Direction::Down, segment);
        self.run_until_idle();
    }

    /// A cumulative acknowledgment of `ack` arrives, with an unchanged window.
    pub fn receive_ack(&mut self, ack: Seq) {
        self.receive(self.peer_ack(ack));
    }

    /// An acknowledgment from the peer.
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

    /// An acknowledgment from TCP.
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

    /// Advances the time by `span`.
    pub fn advance(&mut self, span: Duration) {
        self.run_until(self.now + span);
    }

    /// Advances the time to `end`, including events at `end`.
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

    /// Advances the time to `end` without running timers, so that another event at `end` precedes them.
    pub fn wait_until(&mut self, end: Instant) {
        self.now = self.now.max(end);
    }

    /// Time of the next timer.
    pub fn next_timeout(&self) -> Option<Instant> {
        [self.aid.next_timeout(), self.tcp.next_timeout()].into_iter().flatten().min()
    }

    /// Offers held segments again, and sends what TCP may send.
    fn run_until_idle(&mut self) {
        for (way, segment) in core::mem::take(&mut self.held_segments) {
            self.offer(way, segment);
        }
        loop {
            self.send_for_acts();
            let before = self.tcp.view();
            let Some(Transmit { segment, requested_by_aid, ahead_of_queue, .. }) =
                self.tcp.poll_transmit(self.now)
            else {
                break;
            };
            match requested_by_aid {
                true => self.record_event(Event::Resent { segment, ahead_of_queue }),
                false => self.offer_with(Direction::Down, segment, &before),
            }
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
            SegmentVerdict::Pass => segment,
            SegmentVerdict::Replace(other) => other,
            SegmentVerdict::Drop => {
                return self.record_event(match way {
                    Direction::Down => Event::DroppedOutgoing(segment),
                    Direction::Up => Event::Dropped(segment),
                });
            }
            SegmentVerdict::Hold => return self.held_segments.push((way, segment)),
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
        while let Some((segment, ahead_of_queue)) = self.tcp.poll_resend() {
            self.record_event(Event::Resent { segment, ahead_of_queue });
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

    /// Holds each acknowledgment until it is offered again, and sets the PSH flag of outgoing segments.
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
        fn on_down(&mut self, _: Instant, segment: &TcpSegment, _: &TcpView) -> SegmentVerdict {
            SegmentVerdict::Replace(TcpSegment {
                flags: segment.flags.with(TcpFlags::PSH),
                ..*segment
            })
        }
        fn on_up(&mut self, now: Instant, segment: &TcpSegment, _: &TcpView) -> SegmentVerdict {
            if self.offered.contains(&segment.ack) {
                return SegmentVerdict::Pass;
            }
            self.offered.push(segment.ack);
            self.timer = Some(now + Duration::from_millis(10));
            SegmentVerdict::Hold
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
    fn held_segments_are_offered_again() {
        let mut line = ScriptedDriver::new(DelaysAcks::default());
        line.write(100);
        assert!(matches!(line.take_events()[..], [Event::Sent(segment)]
            if segment.flags.contains(TcpFlags::PSH)));
        // Offered again after the segment was handled, and passed then.
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
