//! Route probes: echo requests that a node sends on behalf of a connection that sends nothing itself.
//!
//! An on-demand routing protocol never discovers a route for a source that does not send. So the
//! source's node sends an ICMP echo request to the destination, which starts a route discovery, and
//! repeats it, because an echo request or reply can be lost like any packet.

use driftway_base::{Duration, Instant, Ipv4Addr};

/// The route probes of one node.
#[derive(Clone, Debug)]
pub struct RouteProber {
    interval: Duration,
    max_requests: u32,
    destinations: Vec<ProbedDestination>,
    /// The sequence number of the last echo request.
    sequence: u16,
}

/// A destination that is being probed for the local host.
#[derive(Clone, Copy, Debug)]
struct ProbedDestination {
    to: Ipv4Addr,
    /// The number of echo requests sent so far.
    requests_sent: u32,
    /// The time of the next request; `None` after the last.
    next_request: Option<Instant>,
    /// A single request was asked for, and no connection waits after it.
    is_single: bool,
}

impl RouteProber {
    /// A prober that sends at most `max_requests` requests to a destination, at this interval.
    pub const fn new(interval: Duration, max_requests: u32) -> Self {
        Self { interval, max_requests, destinations: Vec::new(), sequence: 0 }
    }

    /// Starts probing a destination for the local host. A probe that is under way continues. Its count
    /// starts again if `first` is set: no connection has waited since, because the route had been
    /// found otherwise.
    pub fn start(&mut self, now: Instant, to: Ipv4Addr, first: bool) {
        let anew =
            ProbedDestination { to, requests_sent: 0, next_request: Some(now), is_single: false };
        match self.destinations.iter_mut().find(|sought| sought.to == to) {
            Some(sought) if sought.next_request.is_some() && !sought.is_single => {
                if first {
                    sought.requests_sent = 0;
                }
            }
            Some(sought) => *sought = anew,
            None => self.destinations.push(anew),
        }
    }

    /// Starts a probe of a single echo request, unless one is under way.
    pub fn start_single(&mut self, now: Instant, to: Ipv4Addr) {
        self.destinations.retain(|sought| sought.to != to || sought.next_request.is_some());
        if self.destinations.iter().all(|sought| sought.to != to) {
            let requests_sent = self.max_requests.saturating_sub(1);
            let next_request = Some(now);
            let single = ProbedDestination { to, requests_sent, next_request, is_single: true };
            self.destinations.push(single);
        }
    }

    /// Ends a probe that no connection waits for, except a single request; `true` if there was one.
    pub fn cancel(&mut self, to: Ipv4Addr) -> bool {
        let before = self.destinations.len();
        self.destinations.retain(|sought| sought.to != to || sought.is_single);
        self.destinations.len() < before
    }

    /// The time of the next echo request.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.destinations.iter().filter_map(|sought| sought.next_request).min()
    }

    /// The next destination whose echo request is due.
    pub fn due_destination(&self, now: Instant) -> Option<Ipv4Addr> {
        let due = |sought: &&ProbedDestination| sought.next_request.is_some_and(|at| at <= now);
        self.destinations.iter().find(due).map(|sought| sought.to)
    }

    /// The sequence number for an echo request that is sent now; `None` after the last allowed
    /// request. From then on only a route found otherwise ends the probe.
    pub fn on_request_sent(&mut self, now: Instant, to: Ipv4Addr) -> Option<u16> {
        let sought = self.destinations.iter_mut().find(|sought| sought.to == to)?;
        if sought.requests_sent >= self.max_requests {
            sought.next_request = None;
            return None;
        }
        sought.requests_sent += 1;
        sought.next_request = Some(now + self.interval);
        self.sequence = self.sequence.wrapping_add(1);
        Some(self.sequence)
    }

    /// Ends the probe of a destination that was reached; `true` if there was one.
    pub fn on_found(&mut self, to: Ipv4Addr) -> bool {
        let before = self.destinations.len();
        self.destinations.retain(|sought| sought.to != to);
        self.destinations.len() < before
    }
}

#[cfg(test)]
mod test {
    use super::*;

    const DESTINATION: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 9);
    const OTHER_DESTINATION: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 8);

    fn at(seconds: u64) -> Instant {
        Instant::from_secs(seconds)
    }

    /// Each request of the prober up to `end`, with its sequence number.
    fn requests(prober: &mut RouteProber, end: Instant) -> Vec<(Instant, Ipv4Addr, u16)> {
        let mut sent = Vec::new();
        while let Some(now) = prober.next_timeout().filter(|at| *at <= end) {
            while let Some(to) = prober.due_destination(now) {
                sent.extend(prober.on_request_sent(now, to).map(|sequence| (now, to, sequence)));
            }
        }
        sent
    }

    #[test]
    fn requests_are_repeated_up_to_a_maximum() {
        let mut prober = RouteProber::new(Duration::from_secs(2), 3);
        assert_eq!(prober.next_timeout(), None);
        prober.start(at(10), DESTINATION, false);
        assert_eq!(
            requests(&mut prober, at(1000)),
            [(at(10), DESTINATION, 1), (at(12), DESTINATION, 2), (at(14), DESTINATION, 3)]
        );
        assert!(prober.on_found(DESTINATION), "the probe stays until a route is found otherwise");
        assert!(!prober.on_found(DESTINATION));
    }

    #[test]
    fn a_new_wait_restarts_the_count() {
        let mut prober = RouteProber::new(Duration::from_secs(2), 2);
        prober.start(at(0), DESTINATION, true);
        assert_eq!(requests(&mut prober, at(2)).len(), 2);
        // A router has reported a route, and the route has failed again.
        prober.start(at(3), DESTINATION, true);
        assert_eq!(
            requests(&mut prober, at(9)),
            [(at(4), DESTINATION, 3), (at(6), DESTINATION, 4)]
        );
    }

    #[test]
    fn a_second_start_does_not_hasten_a_probe_but_restarts_a_finished_one() {
        let mut prober = RouteProber::new(Duration::from_secs(2), 2);
        for now in [0, 1] {
            prober.start(at(now), DESTINATION, false);
            assert_eq!(requests(&mut prober, at(now)).len(), usize::from(now == 0));
        }
        assert_eq!(requests(&mut prober, at(9)), [(at(2), DESTINATION, 2)]);
        prober.start(at(9), DESTINATION, false);
        assert_eq!(requests(&mut prober, at(10)), [(at(9), DESTINATION, 3)]);
    }

    #[test]
    fn a_single_request_is_not_repeated_and_its_reply_ends_the_probe() {
        let mut prober = RouteProber::new(Duration::from_secs(2), 9);
        prober.start_single(at(1), DESTINATION);
        assert!(!prober.cancel(DESTINATION), "a single request is not cancelled");
        assert_eq!(requests(&mut prober, at(99)), [(at(1), DESTINATION, 1)]);
        prober.start_single(at(99), DESTINATION);
        assert_eq!(requests(&mut prober, at(199)), [(at(99), DESTINATION, 2)]);
        assert!(prober.on_found(DESTINATION));
        // A probe is not changed by a single request, and one that follows is a full probe.
        prober.start(at(200), DESTINATION, true);
        prober.start_single(at(201), DESTINATION);
        assert_eq!(
            requests(&mut prober, at(202)),
            [(at(200), DESTINATION, 3), (at(202), DESTINATION, 4)]
        );
        assert!(prober.cancel(DESTINATION));
        prober.start_single(at(300), DESTINATION);
        prober.start(at(300), DESTINATION, true);
        assert_eq!(requests(&mut prober, at(302)).len(), 2);
    }

    #[test]
    fn destinations_are_probed_independently() {
        let mut prober = RouteProber::new(Duration::from_secs(2), 9);
        prober.start(at(0), DESTINATION, false);
        prober.start(at(1), OTHER_DESTINATION, false);
        assert_eq!(
            requests(&mut prober, at(1)),
            [(at(0), DESTINATION, 1), (at(1), OTHER_DESTINATION, 2)]
        );
        assert!(prober.on_found(DESTINATION));
        assert_eq!(requests(&mut prober, at(4)), [(at(3), OTHER_DESTINATION, 3)]);
    }
}
