//! The steady state allocates nothing.

use std::collections::VecDeque;

use allocation_counter::measure;
use driftway_base::{Duration, Endpoint, Instant, Ipv4Addr, Seq};
use driftway_tcp::{Config, Connection, Transmit, recovery_control_pairs};

/// Both ends of a transfer over a wire of 20 ms that drops every 97th data segment.
struct Transfer {
    ends: [Connection; 2],
    wire: VecDeque<(Instant, usize, Transmit)>,
    now: Instant,
    count: u64,
    read: u64,
}

impl Transfer {
    fn new(config: &Config) -> Self {
        let at = |n| Endpoint::new(Ipv4Addr::new(10, 0, 0, n), 1000);
        let now = Instant::ZERO;
        let client = Connection::connect(config, at(1), at(2), Seq(1), 1, now);
        let server = Connection::listen(config, at(2), Seq(2), 2);
        let wire = VecDeque::with_capacity(4096);
        Self { ends: [client, server], wire, now, count: 0, read: 0 }
    }

    fn drain(&mut self) {
        for from in 0..2 {
            while self.ends[from].poll_event().is_some() {}
            while let Some(part) = self.ends[from].read(u32::MAX) {
                self.read += u64::from(part.len);
            }
            while let Some(transmit) = self.ends[from].poll_transmit(self.now) {
                self.count += u64::from(!transmit.segment.payload.is_empty());
                if transmit.segment.payload.is_empty() || !self.count.is_multiple_of(97) {
                    let at = self.now + Duration::from_millis(20);
                    self.wire.push_back((at, 1 - from, transmit));
                }
            }
        }
    }

    fn run_until_read(&mut self, bytes: u64) {
        while self.read < bytes {
            self.drain();
            let timer = self.ends.iter().filter_map(Connection::next_timeout).min();
            let arrival = self.wire.front().map(|(at, ..)| *at);
            self.now = [timer, arrival].into_iter().flatten().min().expect("an event");
            if arrival == Some(self.now) {
                let (_, to, transmit) = self.wire.pop_front().expect("an arrival");
                let from = self.ends[1 - to].local().address;
                self.ends[to].on_segment(self.now, from, &transmit.segment, transmit.ecn);
            } else {
                for end in &mut self.ends {
                    end.on_timeout(self.now);
                }
            }
        }
    }
}

#[test]
fn the_steady_state_allocates_nothing() {
    for (recovery, growth) in recovery_control_pairs() {
        for (sack, timestamps) in [(false, false), (true, true), (true, false)] {
            let config = Config {
                recovery,
                growth,
                sack,
                timestamps,
                prr: timestamps,
                dsack: timestamps,
                eifel: timestamps,
                f_rto: timestamps,
                lcd: timestamps,
                ..Config::default()
            };
            let mut transfer = None;
            let made = measure(|| transfer = Some(Transfer::new(&config)));
            assert!(made.count_total > 0, "allocations are counted");
            let mut transfer = transfer.unwrap();
            for end in &mut transfer.ends {
                end.write(1 << 40);
            }
            transfer.run_until_read(5_000_000);
            let steady = measure(|| transfer.run_until_read(25_000_000));
            assert_eq!(steady.count_total, 0, "{config:?}");
            assert!(transfer.ends[0].stats().retransmissions > 20);
        }
    }
}
