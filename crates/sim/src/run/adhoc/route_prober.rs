//! What a node asks for on behalf of a connection that sends nothing itself: echoes.
//!
//! A protocol that looks for routes on demand never does for a source that sends nothing. So its node
//! asks the destination for an echo, which makes routing look, and asks again, since an echo can be
//! lost as any packet can.

use driftway_base::{Duration, Instant, Ipv4Addr};

/// Searches of one node.
#[derive(Clone, Debug)]
pub struct RouteProber {
    interval: Duration,
    max_requests: u32,
    destinations: Vec<ProbedDestination>,
    /// Of the last echo request.
    sequence: u16,
}

/// A destination that the own host wants to be found.
#[derive(Clone, Copy, Debug)]
struct ProbedDestination {
    to: Ipv4Addr,
    /// Echo requests so far.
    requests_sent: u32,
    /// When the next is due; `None` after the last.
    next_request: Option<Instant>,
    /// One echo request is wanted, and nobody waits after that.
    is_single: bool,
}

impl RouteProber {
    /// One that asks `most` times, and lets `every` go by after each.
    pub const fn new(every: Duration, most: u32) -> Self {
        Self { interval: every, max_requests: most, destinations: Vec::new(), sequence: 0 }
    }

    /// The own host wants it to be found. What is under way goes on, and counts anew if nobody has waited
    /// since (`first`): somebody else had found the route meanwhile.
    pub fn start(&mut self, now: Instant, to: Ipv4Addr, first: bool) {
        let anew = ProbedDestination { to, requests_sent: 0, next_request: Some(now), is_single: false };
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

    /// The own host wants one echo. What is under way asks for it.
    pub fn start_single(&mut self, now: Instant, to: Ipv4Addr) {
        self.destinations.retain(|sought| sought.to != to || sought.next_request.is_some());
        if self.destinations.iter().all(|sought| sought.to != to) {
            let asked = self.max_requests.saturating_sub(1);
            self.destinations.push(ProbedDestination { to, requests_sent: asked, next_request: Some(now), is_single: true });
        }
    }

    /// Nobody waits for it any more: it is not sought, unless for one echo. Is it so?
    pub fn cancel(&mut self, to: Ipv4Addr) -> bool {
        let before = self.destinations.len();
        self.destinations.retain(|sought| sought.to != to || sought.is_single);
        self.destinations.len() < before
    }

    /// When the next echo request is due.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.destinations.iter().filter_map(|sought| sought.next_request).min()
    }

    /// The next destination that is due.
    pub fn due_destination(&self, now: Instant) -> Option<Ipv4Addr> {
        let due = |sought: &&ProbedDestination| sought.next_request.is_some_and(|at| at <= now);
        self.destinations.iter().find(due).map(|sought| sought.to)
    }

    /// The sequence number of an echo request that is sent there now; `None` if it was asked for
    /// often enough. Then only what others find ends the search.
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

    /// It is found; was it sought?
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

    /// Each request of the seeker up to `end`, with its sequence number.
    fn requests(seeker: &mut RouteProber, end: Instant) -> Vec<(Instant, Ipv4Addr, u16)> {
        let mut sent = Vec::new();
        while let Some(now) = seeker.next_timeout().filter(|at| *at <= end) {
            while let Some(to) = seeker.due_destination(now) {
                sent.extend(seeker.on_request_sent(now, to).map(|sequence| (now, to, sequence)));
            }
        }
        sent
    }

    #[test]
    fn a_lost_echo_is_followed_by_another_up_to_a_number() {
        let mut seeker = RouteProber::new(Duration::from_secs(2), 3);
        assert_eq!(seeker.next_timeout(), None);
        seeker.start(at(10), DESTINATION, false);
        assert_eq!(
            requests(&mut seeker, at(1000)),
            [(at(10), DESTINATION, 1), (at(12), DESTINATION, 2), (at(14), DESTINATION, 3)]
        );
        assert!(seeker.on_found(DESTINATION), "it is sought still, for what others find");
        assert!(!seeker.on_found(DESTINATION));
    }

    #[test]
    fn somebody_who_falls_silent_again_has_all_of_them() {
        let mut seeker = RouteProber::new(Duration::from_secs(2), 2);
        seeker.start(at(0), DESTINATION, true);
        assert_eq!(requests(&mut seeker, at(2)).len(), 2);
        // A relay has told of a route, and it is gone again.
        seeker.start(at(3), DESTINATION, true);
        assert_eq!(requests(&mut seeker, at(9)), [(at(4), DESTINATION, 3), (at(6), DESTINATION, 4)]);
    }

    #[test]
    fn news_while_it_asks_does_not_hurry_it_and_begins_anew_after_that() {
        let mut seeker = RouteProber::new(Duration::from_secs(2), 2);
        for now in [0, 1] {
            seeker.start(at(now), DESTINATION, false);
            assert_eq!(requests(&mut seeker, at(now)).len(), usize::from(now == 0));
        }
        assert_eq!(requests(&mut seeker, at(9)), [(at(2), DESTINATION, 2)]);
        seeker.start(at(9), DESTINATION, false);
        assert_eq!(requests(&mut seeker, at(10)), [(at(9), DESTINATION, 3)]);
    }

    #[test]
    fn one_echo_is_asked_for_once_and_its_answer_counts() {
        let mut seeker = RouteProber::new(Duration::from_secs(2), 9);
        seeker.start_single(at(1), DESTINATION);
        assert!(!seeker.cancel(DESTINATION), "nobody else waits for it");
        assert_eq!(requests(&mut seeker, at(99)), [(at(1), DESTINATION, 1)]);
        seeker.start_single(at(99), DESTINATION);
        assert_eq!(requests(&mut seeker, at(199)), [(at(99), DESTINATION, 2)]);
        assert!(seeker.on_found(DESTINATION));
        // A search goes on as it was, and one that follows is a search.
        seeker.start(at(200), DESTINATION, true);
        seeker.start_single(at(201), DESTINATION);
        assert_eq!(requests(&mut seeker, at(202)), [(at(200), DESTINATION, 3), (at(202), DESTINATION, 4)]);
        assert!(seeker.cancel(DESTINATION));
        seeker.start_single(at(300), DESTINATION);
        seeker.start(at(300), DESTINATION, true);
        assert_eq!(requests(&mut seeker, at(302)).len(), 2);
    }

    #[test]
    fn destinations_are_sought_side_by_side() {
        let mut seeker = RouteProber::new(Duration::from_secs(2), 9);
        seeker.start(at(0), DESTINATION, false);
        seeker.start(at(1), OTHER_DESTINATION, false);
        assert_eq!(requests(&mut seeker, at(1)), [(at(0), DESTINATION, 1), (at(1), OTHER_DESTINATION, 2)]);
        assert!(seeker.on_found(DESTINATION));
        assert_eq!(requests(&mut seeker, at(4)), [(at(3), OTHER_DESTINATION, 3)]);
    }
}
