//! Test fixtures of links: a default configuration, and a driver that records events with their
//! times.

use driftway_base::{DropReason, Duration, Instant, LinkId, PacketId, Rate};
use driftway_link::{
    Delay, DeliveryOrder, Discipline, Duplex, EnqueueOutcome, ErrorModel, Frame, LinkConfig,
    LinkDirections, LinkEvent, PathLink, QueueConfig, QueuePosition, Side,
};

pub const ACCEPTED: EnqueueOutcome = EnqueueOutcome::Accepted { mark: false, evicted: None };

/// 32 kbit/s, so that 140 bytes take 35 ms, and a delay of 20 ms: the testbed of liu-singh-2001.
pub fn default_config() -> LinkConfig {
    LinkConfig {
        rate: Rate::from_bps(32_000),
        delay: Delay::Fixed(Duration::from_millis(20)),
        errors: ErrorModel::None,
        queue: QueueConfig {
            limit: 50,
            discipline: Discipline::DropTail { ecn_threshold: None },
            max_bytes: None,
            mark_loss: 0.0,
        },
        duplex: Duplex::Full,
        order: DeliveryOrder::Fifo,
    }
}

pub fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

pub const fn data(id: u32) -> Frame {
    Frame { id: PacketId::new(id), bytes: 140, ecn_capable: false, flow: 0 }
}

pub const fn arrived(from: Side, id: u32) -> LinkEvent {
    LinkEvent::Arrived { from, id: PacketId::new(id) }
}

pub const fn lost(from: Side, id: u32, reason: DropReason) -> LinkEvent {
    LinkEvent::Lost { from, id: PacketId::new(id), reason }
}

/// A link and its events.
pub struct LinkHarness {
    pub link: PathLink,
    pub log: Vec<(Instant, LinkEvent)>,
}

impl LinkHarness {
    pub fn new(config: impl Into<LinkDirections>) -> Self {
        Self { link: PathLink::new(config, 1, LinkId::new(0)), log: Vec::new() }
    }

    fn drain(&mut self, now: Instant) {
        while let Some(event) = self.link.poll(now) {
            self.log.push((now, event));
        }
    }

    /// Advances time from timeout to timeout.
    pub fn until(&mut self, now: Instant) {
        while let Some(at) = self.link.next_timeout().filter(|at| *at <= now) {
            self.link.on_timeout(at);
            self.drain(at);
        }
    }

    /// Runs until no work is left.
    pub fn finish(&mut self) {
        self.until(Instant::FAR_FUTURE);
        assert_eq!(self.link.next_timeout(), None);
    }

    pub fn put(
        &mut self,
        now: Instant,
        side: Side,
        frame: Frame,
        place: QueuePosition,
    ) -> EnqueueOutcome {
        self.until(now);
        let verdict = self.link.enqueue(now, side, frame, place);
        self.drain(now);
        verdict
    }

    /// Sends a default frame at the tail of a side's queue.
    pub fn send(&mut self, millis: u64, side: Side, id: u32) -> EnqueueOutcome {
        self.put(ms(millis), side, data(id), QueuePosition::Tail)
    }

    /// Executes a command at a time.
    pub fn at(&mut self, now: Instant, command: impl FnOnce(&mut PathLink)) {
        self.until(now);
        command(&mut self.link);
        self.drain(now);
    }

    /// Returns the ends of frames as (milliseconds, handle, delivered?).
    pub fn events(&self) -> Vec<(u64, u32, bool)> {
        let outcome = |(at, event): &(Instant, LinkEvent)| match *event {
            LinkEvent::Arrived { id, .. } => Some((at.as_millis(), id.number(), true)),
            LinkEvent::Lost { id, .. } => Some((at.as_millis(), id.number(), false)),
            LinkEvent::Marked { .. } | LinkEvent::Sent { .. } => None,
        };
        self.log.iter().filter_map(outcome).collect()
    }
}
