//! The steady state allocates nothing: neither for segments and acknowledgments, nor for losses,
//! nor for an outage like an earlier one.

mod common;

use allocation_counter::measure;
use common::timeline::{Timeline, ack, nth_segment};
use driftway_base::{Instant, Signal, SignalKind};
use driftway_shim::{Config, Shim};
use driftway_wire::{TcpFlags, Timestamps};

const FLIGHT: u32 = 40;

struct Bulk {
    shim: Shim,
    now: u64,
    /// Number of the next segment.
    next: u32,
    packet: Vec<u8>,
    allocated: u64,
}

impl Bulk {
    /// Passes a packet, polls, and counts the allocations.
    fn show(&mut self, out: bool, bytes: &mut [u8]) {
        let now = Instant::from_millis(self.now);
        let allocated = measure(|| {
            if self.shim.next_timeout().is_some_and(|at| at <= now) {
                self.shim.on_timeout(now);
            }
            match out {
                true => self.shim.on_outgoing(now, bytes),
                false => self.shim.on_incoming(now, bytes),
            };
            while self.shim.poll(now, &mut self.packet).is_some() {}
        });
        self.allocated += allocated.count_total;
    }
    fn local(&mut self, n: u32) {
        let stamps = Some(Timestamps { value: 0, echo: self.now as u32 });
        let says = nth_segment(n).options(|options| options.timestamps = stamps);
        self.show(true, &mut says.bytes(Instant::from_millis(self.now)));
    }
    fn peer(&mut self, says: common::timeline::TestSegment) {
        self.show(false, &mut says.bytes(Instant::from_millis(self.now)));
    }

    /// Sends a flight; its first segment is lost, in an `outage` all of it.
    fn round(&mut self, outage: bool) {
        let (first, end) = (self.next, self.next + FLIGHT);
        let number = |n: u32| n * 1000 + 1;
        let sent = self.now as u32;
        let mut answered = sent;
        (first..end).for_each(|n| self.local(n));
        if outage {
            self.shim
                .on_signal(Instant::from_millis(self.now), &Signal::new(SignalKind::RouteFailed));
            for _ in 0..30 {
                self.now += 100;
                self.local(first);
            }
            self.shim
                .on_signal(Instant::from_millis(self.now), &Signal::new(SignalKind::RouteRestored));
        } else {
            self.now += 100;
            for n in first + 1..end {
                self.peer(ack(number(first), sent).sack(&[(number(first + 1), number(n + 1))]));
            }
            answered = self.now as u32;
            self.local(first);
        }
        // After a loss, all that follows it has arrived.
        let acknowledged = if outage { first + 1..=end } else { end..=end };
        for n in acknowledged {
            self.now += 5;
            self.peer(ack(number(n), answered));
        }
        // Beyond the RTT of pacing that follows a repair.
        self.now += 400;
        self.next = end;
    }
}

#[test]
fn the_steady_state_allocates_nothing() {
    let mut line = Timeline::established_by(Config::default());
    line.at(200);
    let shim = std::mem::replace(&mut line.shim, Shim::new(Config::default()));
    let packet = Vec::with_capacity(2000);
    let mut bulk = Bulk { shim, now: 200, next: 0, packet, allocated: 0 };
    // The path marks.
    bulk.peer(ack(1, 200).with(TcpFlags::ECE));
    for n in 0..20 {
        bulk.round(n % 10 == 5);
    }
    let counts = *bulk.shim.counts();
    assert!(bulk.allocated > 0, "allocations are counted");
    bulk.allocated = 0;
    for n in 0..40 {
        bulk.round(n % 10 == 5);
    }
    assert_eq!(bulk.allocated, 0);
    let after = bulk.shim.counts();
    assert_eq!((after.survived - counts.survived, after.outages - counts.outages), (4, 4));
    assert!(after.undone - counts.undone >= 36 && after.tracking_lost == 0);
    assert_eq!(bulk.shim.flows().next().map(|flow| flow.outstanding), Some(0));
}
