//! Route probes: echo requests that a node sends on behalf of a connection that sends nothing itself.
//!
//! An on-demand routing protocol never discovers a route for a source that does not send. So the
//! source's node sends an ICMP echo request to the destination, which starts a route discovery, and
//! repeats it, because an echo request or reply can be lost like any packet.

use driftway_base::{Duration, Instant, Ipv4Addr};

/// The route probes of one node.
#[derive(Clone, Debug)]
pub struct Seeker {
    every: Duration,
    most: u32,
    sought: Vec<Sought>,
    /// The sequence number of the last echo request.
    sequence: u16,
}

/// A destination that is being probed for the local host.
#[derive(Clone, Copy, Debug)]
struct Sought {
    to: Ipv4Addr,
    /// The number of echo requests sent so far.
    asked: u32,
    /// The time of the next request; `None` after the last.
    next: Option<Instant>,
    /// A single request was asked for, and no connection waits after it.
    once: bool,
}

impl Seeker {
    /// A prober that sends at most `most` requests to a destination, at intervals of `every`.
    pub const fn new(every: Duration, most: u32) -> Self {
        Self { every, most, sought: Vec::new(), sequence: 0 }
    }

    /// Starts probing a destination for the local host. A probe that is under way continues. Its count
    /// starts again if `first` is set: no connection has waited since, because the route had been
    /// found otherwise.
    pub fn begin(&mut self, now: Instant, to: Ipv4Addr, first: bool) {
        let anew = Sought { to, asked: 0, next: Some(now), once: false };
        match self.sought.iter_mut().find(|sought| sought.to == to) {
            Some(sought) if sought.next.is_some() && !sought.once => {
                if first {
                    sought.asked = 0;
                }
            }
            Some(sought) => *sought = anew,
            None => self.sought.push(anew),
        }
    }

    /// Starts a probe of a single echo request, unless one is under way.
    pub fn begin_once(&mut self, now: Instant, to: Ipv4Addr) {
        self.sought.retain(|sought| sought.to != to || sought.next.is_some());
        if self.sought.iter().all(|sought| sought.to != to) {
            let asked = self.most.saturating_sub(1);
            self.sought.push(Sought { to, asked, next: Some(now), once: true });
        }
    }

    /// Ends a probe that no connection waits for, except a single request; `true` if there was one.
    pub fn give_up(&mut self, to: Ipv4Addr) -> bool {
        let before = self.sought.len();
        self.sought.retain(|sought| sought.to != to || sought.once);
        self.sought.len() < before
    }

    /// The time of the next echo request.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.sought.iter().filter_map(|sought| sought.next).min()
    }

    /// The next destination whose echo request is due.
    pub fn due(&self, now: Instant) -> Option<Ipv4Addr> {
        let due = |sought: &&Sought| sought.next.is_some_and(|at| at <= now);
        self.sought.iter().find(due).map(|sought| sought.to)
    }

    /// The sequence number for an echo request that is sent now; `None` after the last allowed
    /// request. From then on only a route found otherwise ends the probe.
    pub fn ask(&mut self, now: Instant, to: Ipv4Addr) -> Option<u16> {
        let sought = self.sought.iter_mut().find(|sought| sought.to == to)?;
        if sought.asked >= self.most {
            sought.next = None;
            return None;
        }
        sought.asked += 1;
        sought.next = Some(now + self.every);
        self.sequence = self.sequence.wrapping_add(1);
        Some(self.sequence)
    }

    /// Ends the probe of a destination that was reached; `true` if there was one.
    pub fn end(&mut self, to: Ipv4Addr) -> bool {
        let before = self.sought.len();
        self.sought.retain(|sought| sought.to != to);
        self.sought.len() < before
    }
}

#[cfg(test)]
mod test {
    use super::*;

    const THERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 9);
    const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 8);

    fn at(seconds: u64) -> Instant {
        Instant::from_secs(seconds)
    }

    /// Each request of the prober up to `end`, with its sequence number.
    fn requests(seeker: &mut Seeker, end: Instant) -> Vec<(Instant, Ipv4Addr, u16)> {
        let mut sent = Vec::new();
        while let Some(now) = seeker.next_timeout().filter(|at| *at <= end) {
            while let Some(to) = seeker.due(now) {
                sent.extend(seeker.ask(now, to).map(|sequence| (now, to, sequence)));
            }
        }
        sent
    }

    #[test]
    fn requests_are_repeated_up_to_a_maximum() {
        let mut seeker = Seeker::new(Duration::from_secs(2), 3);
        assert_eq!(seeker.next_timeout(), None);
        seeker.begin(at(10), THERE, false);
        assert_eq!(
            requests(&mut seeker, at(1000)),
            [(at(10), THERE, 1), (at(12), THERE, 2), (at(14), THERE, 3)]
        );
        assert!(seeker.end(THERE), "the probe stays until a route is found otherwise");
        assert!(!seeker.end(THERE));
    }

    #[test]
    fn a_new_wait_restarts_the_count() {
        let mut seeker = Seeker::new(Duration::from_secs(2), 2);
        seeker.begin(at(0), THERE, true);
        assert_eq!(requests(&mut seeker, at(2)).len(), 2);
        // A router has reported a route, and the route has failed again.
        seeker.begin(at(3), THERE, true);
        assert_eq!(requests(&mut seeker, at(9)), [(at(4), THERE, 3), (at(6), THERE, 4)]);
    }

    #[test]
    fn a_second_start_does_not_hasten_a_probe_but_restarts_a_finished_one() {
        let mut seeker = Seeker::new(Duration::from_secs(2), 2);
        for now in [0, 1] {
            seeker.begin(at(now), THERE, false);
            assert_eq!(requests(&mut seeker, at(now)).len(), usize::from(now == 0));
        }
        assert_eq!(requests(&mut seeker, at(9)), [(at(2), THERE, 2)]);
        seeker.begin(at(9), THERE, false);
        assert_eq!(requests(&mut seeker, at(10)), [(at(9), THERE, 3)]);
    }

    #[test]
    fn a_single_request_is_not_repeated_and_its_reply_ends_the_probe() {
        let mut seeker = Seeker::new(Duration::from_secs(2), 9);
        seeker.begin_once(at(1), THERE);
        assert!(!seeker.give_up(THERE), "a single request is not cancelled");
        assert_eq!(requests(&mut seeker, at(99)), [(at(1), THERE, 1)]);
        seeker.begin_once(at(99), THERE);
        assert_eq!(requests(&mut seeker, at(199)), [(at(99), THERE, 2)]);
        assert!(seeker.end(THERE));
        // A probe is not changed by a single request, and one that follows is a full probe.
        seeker.begin(at(200), THERE, true);
        seeker.begin_once(at(201), THERE);
        assert_eq!(requests(&mut seeker, at(202)), [(at(200), THERE, 3), (at(202), THERE, 4)]);
        assert!(seeker.give_up(THERE));
        seeker.begin_once(at(300), THERE);
        seeker.begin(at(300), THERE, true);
        assert_eq!(requests(&mut seeker, at(302)).len(), 2);
    }

    #[test]
    fn destinations_are_probed_independently() {
        let mut seeker = Seeker::new(Duration::from_secs(2), 9);
        seeker.begin(at(0), THERE, false);
        seeker.begin(at(1), ELSEWHERE, false);
        assert_eq!(requests(&mut seeker, at(1)), [(at(0), THERE, 1), (at(1), ELSEWHERE, 2)]);
        assert!(seeker.end(THERE));
        assert_eq!(requests(&mut seeker, at(4)), [(at(3), ELSEWHERE, 3)]);
    }
}
