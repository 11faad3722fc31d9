//! An aid below a TCP that is not driftway's: here a sender of eighty lines with a fixed window, one
//! timer, and go-back-N, over a path that is cut for 18 s.
//!
//! The driver shows the aid each segment in both directions with a view of the connection, passes on what
//! the network reports, and applies the acts that it supports. TCP-F needs two, [`Act::Hold`] and
//! [`Act::Resume`]; all others are answered with [`ActResult::Unsupported`].

use std::collections::VecDeque;

use driftway::aid::registry;
use driftway::base::{Act, ActResult, Known, Seq, SignalKind};
use driftway::wire::{Payload, TcpFlags, TcpSegment};
use driftway::{Aid, Duration, Instant, SegmentVerdict, Signal, TcpView};

const MSS: u32 = 1000;
const WINDOW: u32 = 8 * MSS;
const BYTES: u32 = 2_000_000;
const ONE_WAY: Duration = Duration::from_millis(50);
const CUT: (Instant, Instant) =
    (Instant::from_nanos(5_000_000_000), Instant::from_nanos(23_000_000_000));

/// The sender: sequence numbers start at 0.
struct OwnTcp {
    una: u32,
    nxt: u32,
    rto: Duration,
    deadline: Option<Instant>,
    is_held: bool,
}

impl OwnTcp {
    const MIN_RTO: Duration = Duration::from_secs(1);

    fn view(&self) -> TcpView {
        TcpView {
            is_synchronized: true,
            mss: Known::Exact(MSS),
            snd_una: Known::Exact(Seq(self.una)),
            snd_nxt: Known::Exact(Seq(self.nxt)),
            snd_max: Known::Exact(Seq(self.nxt)),
            cwnd: Known::Exact(WINDOW),
            retransmission_deadline: Known::Exact(self.deadline),
            rto: Known::Exact(Self::MIN_RTO),
            is_persisting: Known::Exact(self.is_held),
            ..TcpView::default()
        }
    }

    fn next_segment(&mut self, now: Instant) -> Option<TcpSegment> {
        let may_send = !self.is_held && self.nxt < BYTES && self.nxt - self.una < WINDOW;
        may_send.then(|| {
            let segment = TcpSegment {
                seq: Seq(self.nxt),
                flags: TcpFlags::ACK,
                payload: Payload::new(0, self.nxt.into(), MSS),
                ..TcpSegment::default()
            };
            self.nxt += MSS;
            self.deadline.get_or_insert(now + self.rto);
            segment
        })
    }

    fn on_ack(&mut self, now: Instant, ack: u32) {
        if ack > self.una {
            self.una = ack;
            self.nxt = self.nxt.max(ack);
            self.rto = Self::MIN_RTO;
            self.deadline = (self.una < self.nxt && !self.is_held).then(|| now + self.rto);
        }
    }

    fn on_timeout(&mut self) {
        self.nxt = self.una;
        self.rto = self.rto.times(2);
        self.deadline = None;
    }

    /// Applies an act of the aid, if this TCP can.
    fn apply(&mut self, now: Instant, act: &Act) -> ActResult {
        match *act {
            Act::Hold { .. } => {
                self.is_held = true;
                self.deadline = None;
            }
            Act::Resume { .. } => {
                self.is_held = false;
                self.nxt = self.una;
                self.rto = Self::MIN_RTO;
                self.deadline = Some(now + self.rto);
            }
            _ => return ActResult::Unsupported,
        }
        ActResult::Done
    }
}

/// Reports an event to the aid, and applies its acts before anything else happens.
fn report(
    aid: &mut dyn Aid,
    tcp: &mut OwnTcp,
    now: Instant,
    event: impl FnOnce(&mut dyn Aid, &TcpView) -> SegmentVerdict,
) -> SegmentVerdict {
    let verdict = event(aid, &tcp.view());
    while let Some(act) = aid.poll_act() {
        let result = tcp.apply(now, &act);
        aid.on_done(now, &act, result, &tcp.view());
    }
    verdict
}

/// Transfers all bytes and returns the time it took, and the number of timeouts.
fn transfer(name: &str) -> (Duration, u32) {
    let none: &[(&str, driftway::aid::options::OptionValue)] = &[];
    let mut aid = registry::find(name).and_then(|entry| entry.build(none).ok());
    let mut tcp = OwnTcp { una: 0, nxt: 0, rto: OwnTcp::MIN_RTO, deadline: None, is_held: false };
    let mut acks: VecDeque<(Instant, u32)> = VecDeque::new();
    let (mut received, mut timeouts, mut was_cut) = (0, 0, false);
    let mut now = Instant::ZERO;
    while tcp.una < BYTES {
        let is_cut = CUT.0 <= now && now < CUT.1;
        if was_cut
            && !is_cut
            && let Some(aid) = &mut aid
        {
            // The router at the cut has a route again.
            report(aid.as_mut(), &mut tcp, now, |aid, view| {
                aid.on_signal(now, &Signal::new(SignalKind::RouteRestored), view);
                SegmentVerdict::Pass
            });
        }
        was_cut = is_cut;
        while let Some(&(_, ack)) = acks.front().filter(|(at, _)| *at <= now) {
            acks.pop_front();
            let segment =
                TcpSegment { ack: Seq(ack), flags: TcpFlags::ACK, ..TcpSegment::default() };
            let verdict = aid.as_mut().map_or(SegmentVerdict::Pass, |aid| {
                report(aid.as_mut(), &mut tcp, now, |aid, view| aid.on_up(now, &segment, view))
            });
            if verdict == SegmentVerdict::Pass {
                tcp.on_ack(now, ack);
            }
        }
        if let Some(aid) = &mut aid
            && aid.next_timeout().is_some_and(|at| at <= now)
        {
            report(aid.as_mut(), &mut tcp, now, |aid, view| {
                aid.on_timeout(now, view);
                SegmentVerdict::Pass
            });
        }
        if tcp.deadline.is_some_and(|at| at <= now) {
            tcp.on_timeout();
            timeouts += 1;
        }
        while let Some(segment) = tcp.next_segment(now) {
            let verdict = aid.as_mut().map_or(SegmentVerdict::Pass, |aid| {
                report(aid.as_mut(), &mut tcp, now, |aid, view| aid.on_down(now, &segment, view))
            });
            if verdict != SegmentVerdict::Pass {
                continue;
            }
            if is_cut {
                // The router before the cut drops the packet, and reports that the route has failed.
                if let Some(aid) = &mut aid {
                    report(aid.as_mut(), &mut tcp, now, |aid, view| {
                        aid.on_signal(now, &Signal::new(SignalKind::RouteFailed), view);
                        SegmentVerdict::Pass
                    });
                }
            } else if segment.seq == Seq(received) {
                received += segment.payload.len;
                acks.push_back((now + ONE_WAY.times(2), received));
            }
        }
        now += Duration::from_millis(1);
    }
    (now.since(Instant::ZERO), timeouts)
}

fn main() {
    for name in ["none", "tcp-f"] {
        let (took, timeouts) = transfer(name);
        println!("{name:>5}: {:.1} s, {timeouts} timeouts", took.as_secs_f64());
    }
    let (plain, aided) = (transfer("none").0, transfer("tcp-f").0);
    assert!(aided < plain, "TCP-F resumes as soon as the route is restored");
}
