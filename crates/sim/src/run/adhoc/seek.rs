//! What a node asks for on behalf of a connection that sends nothing itself: echoes.
//!
//! A protocol that looks for routes on demand never does for a source that sends nothing. So its node
//! asks the destination for an echo, which makes routing look, and asks again, since an echo can be
//! lost as any packet can.

use driftway_base::{Duration, Instant, Ipv4Addr};

/// Searches of one node.
#[derive(Clone, Debug)]
pub struct Seeker {
    every: Duration,
    most: u32,
    sought: Vec<Sought>,
    /// Of the last echo request.
    sequence: u16,
}

/// A destination that the own host wants to be found.
#[derive(Clone, Copy, Debug)]
struct Sought {
    to: Ipv4Addr,
    /// Echo requests so far.
    asked: u32,
    /// When the next is due; `None` after the last.
    next: Option<Instant>,
    /// One echo request is wanted, and nobody waits after that.
    once: bool,
}

impl Seeker {
    /// One that asks `most` times, and lets `every` go by after each.
    pub const fn new(every: Duration, most: u32) -> Self {
        Self { every, most, sought: Vec::new(), sequence: 0 }
    }

    /// The own host wants it to be found. What is under way goes on, and counts anew if nobody has waited
    /// since (`first`): somebody else had found the route meanwhile.
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

    /// The own host wants one echo. What is under way asks for it.
    pub fn begin_once(&mut self, now: Instant, to: Ipv4Addr) {
        self.sought.retain(|sought| sought.to != to || sought.next.is_some());
        if self.sought.iter().all(|sought| sought.to != to) {
            let asked = self.most.saturating_sub(1);
            self.sought.push(Sought { to, asked, next: Some(now), once: true });
        }
    }

    /// Nobody waits for it any more: it is not sought, unless for one echo. Is it so?
    pub fn give_up(&mut self, to: Ipv4Addr) -> bool {
        let before = self.sought.len();
        self.sought.retain(|sought| sought.to != to || sought.once);
        self.sought.len() < before
    }

    /// When the next echo request is due.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.sought.iter().filter_map(|sought| sought.next).min()
    }

    /// The next destination that is due.
    pub fn due(&self, now: Instant) -> Option<Ipv4Addr> {
        let due = |sought: &&Sought| sought.next.is_some_and(|at| at <= now);
        self.sought.iter().find(due).map(|sought| sought.to)
    }

    /// The sequence number of an echo request that is sent there now; `None` if it was asked for
    /// often enough. Then only what others find ends the search.
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

    /// It is found; was it sought?
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

    /// Each request of the seeker up to `end`, with its sequence number.
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
    fn a_lost_echo_is_followed_by_another_up_to_a_number() {
        let mut seeker = Seeker::new(Duration::from_secs(2), 3);
        assert_eq!(seeker.next_timeout(), None);
        seeker.begin(at(10), THERE, false);
        assert_eq!(
            requests(&mut seeker, at(1000)),
            [(at(10), THERE, 1), (at(12), THERE, 2), (at(14), THERE, 3)]
        );
        assert!(seeker.end(THERE), "it is sought still, for what others find");
        assert!(!seeker.end(THERE));
    }

    #[test]
    fn somebody_who_falls_silent_again_has_all_of_them() {
        let mut seeker = Seeker::new(Duration::from_secs(2), 2);
        seeker.begin(at(0), THERE, true);
        assert_eq!(requests(&mut seeker, at(2)).len(), 2);
        // A relay has told of a route, and it is gone again.
        seeker.begin(at(3), THERE, true);
        assert_eq!(requests(&mut seeker, at(9)), [(at(4), THERE, 3), (at(6), THERE, 4)]);
    }

    #[test]
    fn news_while_it_asks_does_not_hurry_it_and_begins_anew_after_that() {
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
    fn one_echo_is_asked_for_once_and_its_answer_counts() {
        let mut seeker = Seeker::new(Duration::from_secs(2), 9);
        seeker.begin_once(at(1), THERE);
        assert!(!seeker.give_up(THERE), "nobody else waits for it");
        assert_eq!(requests(&mut seeker, at(99)), [(at(1), THERE, 1)]);
        seeker.begin_once(at(99), THERE);
        assert_eq!(requests(&mut seeker, at(199)), [(at(99), THERE, 2)]);
        assert!(seeker.end(THERE));
        // A search goes on as it was, and one that follows is a search.
        seeker.begin(at(200), THERE, true);
        seeker.begin_once(at(201), THERE);
        assert_eq!(requests(&mut seeker, at(202)), [(at(200), THERE, 3), (at(202), THERE, 4)]);
        assert!(seeker.give_up(THERE));
        seeker.begin_once(at(300), THERE);
        seeker.begin(at(300), THERE, true);
        assert_eq!(requests(&mut seeker, at(302)).len(), 2);
    }

    #[test]
    fn destinations_are_sought_side_by_side() {
        let mut seeker = Seeker::new(Duration::from_secs(2), 9);
        seeker.begin(at(0), THERE, false);
        seeker.begin(at(1), ELSEWHERE, false);
        assert_eq!(requests(&mut seeker, at(1)), [(at(0), THERE, 1), (at(1), ELSEWHERE, 2)]);
        assert!(seeker.end(THERE));
        assert_eq!(requests(&mut seeker, at(4)), [(at(3), ELSEWHERE, 3)]);
    }
}
