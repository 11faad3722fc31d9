//! A path with a bottleneck, over which tests drive a control with a model alone.

use alloc::collections::VecDeque;

use driftway_base::{Duration, Instant, Seq, SeqRange};

use super::contract::{
    AckedData, CongestionControl, CongestionWindow, Established, LostSegment, MAX_WINDOW, SentData,
};
use super::test::acked;
use crate::delivery_rate::{DeliveryRate, SendSnapshot};
use crate::pacing::Pacing;
use crate::recovery_phase::RecoveryPhase;

/// Segment size (bytes).
pub(super) const MSS: u32 = 1000;
/// Initial window (bytes).
const INITIAL: u32 = 10 * MSS;

#[derive(Clone, Copy)]
struct Packet {
    number: u32,
    sent_at: Instant,
    snapshot: SendSnapshot,
    /// Arrival of its acknowledgment; `None`: it is lost.
    acked_at: Option<Instant>,
}

/// The path, the sender and its control.
pub(super) struct TestPath<C> {
    pub control: C,
    pub window: CongestionWindow,
    pub now: Instant,
    /// Rate of the bottleneck (bytes per second), its queue (packets), the round-trip time.
    pub rate: f64,
    pub queue: u64,
    pub rtt: Duration,
    /// Each n-th packet is lost; 0: none.
    pub loses_each: u32,
    /// Rate of the application (bytes per second); `None`: it has always data.
    pub application: Option<f64>,
    pub phase: RecoveryPhase,
    pub lost: u64,
    pub delivered: u64,
    packets: VecDeque<Packet>,
    busy_until: Instant,
    delivery: DeliveryRate,
    pacing: Pacing,
    written_at: Instant,
    sent: u32,
}

impl<C: CongestionControl> TestPath<C> {
    /// A path of a megabyte per second and 40 ms, with a queue of 1000 packets.
    pub fn new(mut control: C) -> Self {
        let window = CongestionWindow { cwnd: INITIAL, ssthresh: MAX_WINDOW };
        let rtt = Duration::from_millis(40);
        let start = Instant::from_secs(100);
        control.on_established(start, &window, Established { mss: MSS, rtt: Some(rtt) });
        Self {
            control,
            window,
            now: start,
            rate: 1e6,
            queue: 1000,
            rtt,
            loses_each: 0,
            application: None,
            phase: RecoveryPhase::Open,
            lost: 0,
            delivered: 0,
            packets: VecDeque::new(),
            busy_until: start,
            delivery: DeliveryRate::default(),
            pacing: Pacing::default(),
            written_at: start,
            sent: 0,
        }
    }

    /// Bytes in flight.
    pub fn in_flight(&self) -> u32 {
        self.packets.len() as u32 * MSS
    }

    /// Runs for `ms`; `each` sees the path after each acknowledgment.
    pub fn run(&mut self, ms: u64, mut each: impl FnMut(&Self)) {
        let end = self.now + Duration::from_millis(ms);
        loop {
            let sends = self.next_transmission();
            let arrives = self.packets.iter().find_map(|packet| packet.acked_at);
            let Some(next) = [sends, arrives].into_iter().flatten().min().filter(|at| *at <= end)
            else {
                break;
            };
            self.now = self.now.max(next);
            if sends == Some(next) && arrives != Some(next) {
                self.send();
            } else {
                self.acknowledge();
                each(self);
            }
        }
        self.now = end;
    }

    /// Runs until `is_there`, for a minute at most.
    pub fn run_until(&mut self, is_there: impl Fn(&Self) -> bool) {
        for _ in 0..60_000 {
            if is_there(self) {
                return;
            }
            self.run(1, |_| {});
        }
        panic!("it does not get there");
    }

    fn next_transmission(&mut self) -> Option<Instant> {
        if self.in_flight() + MSS > self.window.cwnd {
            return None;
        }
        let paced = self.pacing.waits_until(self.now).unwrap_or(self.now);
        let Some(rate) = self.application else { return Some(paced) };
        let ready = self.written_at + Duration::from_nanos((f64::from(MSS) / rate * 1e9) as u64);
        if ready > self.now {
            self.delivery.on_app_limited(self.in_flight());
        }
        Some(paced.max(ready))
    }

    fn send(&mut self) {
        let in_flight = self.in_flight();
        self.sent += 1;
        self.written_at = self.now;
        self.delivery.set_lost(self.lost);
        let snapshot = self.delivery.on_sent(self.now, in_flight, MSS);
        let spent = |bytes: f64| Duration::from_nanos((bytes / self.rate * 1e9) as u64);
        let waiting = self.busy_until.since(self.now).as_secs_f64() * self.rate / f64::from(MSS);
        let is_lost = waiting > self.queue as f64
            || (self.loses_each > 0 && self.sent.is_multiple_of(self.loses_each));
        let mut acked_at = None;
        if !is_lost {
            self.busy_until = self.busy_until.max(self.now) + spent(f64::from(MSS));
            acked_at = Some(self.busy_until + self.rtt);
        }
        let (number, sent_at) = (self.sent, self.now);
        self.packets.push_back(Packet { number, sent_at, snapshot, acked_at });
        let after_idle = in_flight == 0 && self.delivery.is_app_limited();
        let sent = SentData { bytes: MSS, in_flight, after_idle };
        self.control.on_sent(self.now, &mut self.window, sent);
        if let Some(rate) = self.control.pacing_rate() {
            self.pacing.on_sent(self.now, MSS, MSS, rate);
        }
    }

    fn acknowledge(&mut self) {
        let prior_in_flight = self.in_flight();
        let before = self.lost;
        // All lost packets in front of one that arrives are found lost by it.
        while let Some(packet) = self.packets.pop_front() {
            let range = SeqRange::new(Seq(packet.number * MSS), Seq((packet.number + 1) * MSS));
            let Some(_) = packet.acked_at else {
                self.lost += u64::from(MSS);
                let lost = LostSegment {
                    range,
                    sent_in_flight: packet.snapshot.in_flight,
                    lost: self.lost - packet.snapshot.lost,
                    delivered: self.delivery.delivered(),
                    app_limited: packet.snapshot.app_limited,
                };
                if self.phase == RecoveryPhase::Open {
                    self.control.on_loss(self.now, &self.window, prior_in_flight, MSS);
                }
                // Until what is lost now has arrived, if it is sent again at once.
                self.phase = RecoveryPhase::Recovery { point: Seq(self.sent * MSS) };
                self.control.on_segment_lost(self.now, &self.window, &lost);
                continue;
            };
            self.delivered += u64::from(MSS);
            let (number, at) = (u64::from(packet.number), packet.sent_at);
            self.delivery.on_delivered(self.now, MSS, number, at, packet.snapshot);
            if let RecoveryPhase::Recovery { point } = self.phase
                && range.start.at_or_after(point)
                && self.lost == before
            {
                self.phase = RecoveryPhase::Open;
            }
            self.report(prior_in_flight, self.now.since(packet.sent_at), self.lost - before);
            return;
        }
    }

    fn report(&mut self, prior_in_flight: u32, rtt: Duration, lost: u64) {
        self.delivery.set_lost(self.lost);
        let wait =
            self.pacing.waits_until(self.now).map_or(Duration::ZERO, |at| at.since(self.now));
        let acked = AckedData {
            rtt: Some(rtt),
            srtt: Some(rtt),
            phase: self.phase,
            prior_in_flight,
            in_flight: self.in_flight(),
            lost: lost as u32,
            rate: self.delivery.take_sample(self.now, Some(self.rtt)),
            pacing_wait: wait,
            ..acked(MSS)
        };
        let limited = self.control.limits_itself();
        self.control.on_ack(self.now, &mut self.window, &acked);
        if limited || self.control.limits_itself() {
            self.delivery.on_app_limited(self.in_flight());
        }
    }
}
