//! Link-MaxLife (RFC 4728 App. A): links with a lifetime each, and the best route through them.

use alloc::vec::Vec;

use base::{Duration, Instant, Ipv4Addr};

use super::path::{NODES_MAX, Path};

/// RFC 4728 App. A: what is thought of a node at first.
const INIT_STABILITY: Duration = Duration::from_secs(25);
/// What each second between two uses of a link adds to the stability of its ends.
const INCREASE: u64 = 4;
/// What is left of it when a link of theirs breaks: a half.
const DECREASE: u64 = 2;
/// The shortest lifetime of a link.
const MIN_LIFETIME: Duration = Duration::from_secs(1);
/// What a use leaves it at least.
const USE_EXTENDS: Duration = Duration::from_secs(120);

/// Bounds, so that a big network doesn't fill a node.
const NODES: usize = 256;
const LINKS: usize = 1024;

#[derive(Clone, Debug)]
pub(crate) struct LinkCache {
    me: Ipv4Addr,
    nodes: Vec<Node>,
    /// Numbers of nodes, by address.
    by_address: Vec<u16>,
    /// By `from`, then by `to`.
    links: Vec<Link>,
    /// How each node is best reached, good until a link of these ends; `None` if links have changed.
    reached: Vec<Reached>,
    good_until: Option<Instant>,
    /// What a search works on.
    level: Vec<u16>,
    next_level: Vec<u16>,
    /// What making room works on.
    ends: Vec<Instant>,
    numbers: Vec<Option<u16>>,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    address: Ipv4Addr,
    stability: Duration,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    from: u16,
    to: u16,
    until: Instant,
    used: Instant,
}

/// How a node is reached.
#[derive(Clone, Copy, Debug)]
struct Reached {
    hops: u16,
    /// When the first of the links to it ends.
    until: Instant,
    /// The place of the last link.
    link: u16,
}

const UNREACHED: Reached = Reached { hops: u16::MAX, until: Instant::ZERO, link: 0 };

impl LinkCache {
    pub fn new(me: Ipv4Addr) -> Self {
        let mut cache = Self {
            me,
            nodes: Vec::new(),
            by_address: Vec::new(),
            links: Vec::new(),
            reached: Vec::new(),
            good_until: None,
            level: Vec::new(),
            next_level: Vec::new(),
            ends: Vec::new(),
            numbers: Vec::new(),
        };
        cache.node(me);
        cache
    }

    /// Adds a link, or hears of one again; is it new?
    pub fn add(&mut self, now: Instant, from: Ipv4Addr, to: Ipv4Addr) -> bool {
        let full = self.links.len() >= LINKS;
        if full || self.number(from).is_none() || self.number(to).is_none() {
            self.make_room(now);
        }
        let (Some(from), Some(to)) = (self.node(from), self.node(to)) else { return false };
        let lifetime = self.stability(from).min(self.stability(to)).max(MIN_LIFETIME);
        let until = now + lifetime;
        match self.place(from, to) {
            Ok(place) => {
                let Some(link) = self.links.get_mut(place) else { return false };
                let was_over = link.until <= now;
                link.until = until.max(link.until);
                if was_over {
                    self.good_until = None;
                }
                was_over
            }
            Err(place) => {
                self.links.insert(place, Link { from, to, until, used: now });
                self.good_until = None;
                true
            }
        }
    }

    /// The shortest route, of those the one that lasts longest.
    pub fn find(&mut self, now: Instant, destination: Ipv4Addr, used: bool) -> Option<Path> {
        if self.good_until.is_none_or(|until| until <= now) {
            self.search(now);
        }
        let mut path = Path::EMPTY;
        let mut at = self.number(destination)?;
        for _ in 0..NODES_MAX {
            path.push(self.nodes.get(usize::from(at))?.address);
            let reached = *self.reached.get(usize::from(at))?;
            match reached.hops {
                0 => return Some(path.reversed()),
                u16::MAX => return None,
                _ => {}
            }
            let link = self.links.get_mut(usize::from(reached.link))?;
            at = link.from;
            if used {
                let gained = now.since(link.used).times(INCREASE);
                link.used = now;
                link.until = link.until.max(now + USE_EXTENDS);
                for end in [link.from, link.to] {
                    if let Some(node) = self.nodes.get_mut(usize::from(end)) {
                        node.stability = node.stability + gained;
                    }
                }
            }
        }
        None
    }

    /// The link does not carry.
    pub fn remove(&mut self, from: Ipv4Addr, to: Ipv4Addr) -> bool {
        let (Some(from), Some(to)) = (self.number(from), self.number(to)) else { return false };
        let Ok(place) = self.place(from, to) else { return false };
        self.links.remove(place);
        self.good_until = None;
        for end in [from, to] {
            if let Some(node) = self.nodes.get_mut(usize::from(end)) {
                node.stability = node.stability.over(DECREASE);
            }
        }
        true
    }

    /// Breadth first; within one distance the longest life wins, and of equals the node that was
    /// known first.
    fn search(&mut self, now: Instant) {
        let mut good_until = Instant::FAR_FUTURE;
        self.reached.clear();
        self.reached.resize(self.nodes.len(), UNREACHED);
        self.level.clear();
        if let Some(me) = self.number(self.me)
            && let Some(reached) = self.reached.get_mut(usize::from(me))
        {
            *reached = Reached { hops: 0, until: Instant::FAR_FUTURE, link: 0 };
            self.level.push(me);
        }
        let mut hops = 0;
        while !self.level.is_empty() && usize::from(hops) + 1 < NODES_MAX {
            hops += 1;
            self.next_level.clear();
            for node in &self.level {
                let so_far = self.reached.get(usize::from(*node)).copied().unwrap_or(UNREACHED);
                let start = self.links.partition_point(|link| link.from < *node);
                let links = self.links.iter().enumerate().skip(start);
                for (place, link) in links.take_while(|(_, link)| link.from == *node) {
                    let until = so_far.until.min(link.until);
                    let Some(known) = self.reached.get_mut(usize::from(link.to)) else { continue };
                    if link.until <= now || known.hops < hops {
                        continue;
                    }
                    if known.hops > hops {
                        self.next_level.push(link.to);
                    } else if until <= known.until {
                        continue;
                    }
                    *known = Reached { hops, until, link: place as u16 };
                }
            }
            for node in &self.next_level {
                let until = self.reached.get(usize::from(*node)).map(|reached| reached.until);
                good_until = until.map_or(good_until, |until| until.min(good_until));
            }
            core::mem::swap(&mut self.level, &mut self.next_level);
        }
        self.good_until = Some(good_until);
    }

    fn place(&self, from: u16, to: u16) -> Result<usize, usize> {
        self.links.binary_search_by_key(&(from, to), |link| (link.from, link.to))
    }

    fn stability(&self, node: u16) -> Duration {
        self.nodes.get(usize::from(node)).map_or(INIT_STABILITY, |node| node.stability)
    }

    fn place_of(&self, address: Ipv4Addr) -> Result<usize, usize> {
        let known = |number: &u16| self.nodes.get(usize::from(*number)).map(|node| node.address);
        self.by_address.binary_search_by(|number| known(number).cmp(&Some(address)))
    }

    fn number(&self, address: Ipv4Addr) -> Option<u16> {
        self.by_address.get(self.place_of(address).ok()?).copied()
    }

    /// The number of a node, which may be a new one.
    fn node(&mut self, address: Ipv4Addr) -> Option<u16> {
        match self.place_of(address) {
            Ok(place) => self.by_address.get(place).copied(),
            Err(place) if self.nodes.len() < NODES => {
                let number = self.nodes.len() as u16;
                self.nodes.push(Node { address, stability: INIT_STABILITY });
                self.by_address.insert(place, number);
                Some(number)
            }
            Err(_) => None,
        }
    }

    /// Forgets links that are over and nodes without a link when there are as many as may be; if
    /// that is not enough, the links that end first.
    fn make_room(&mut self, now: Instant) {
        if self.nodes.len() + 2 <= NODES && self.links.len() < LINKS {
            return;
        }
        self.ends.clear();
        self.ends.extend(self.links.iter().map(|link| link.until));
        self.ends.sort_unstable();
        let ends_first = self.ends.get(self.ends.len() / 4).copied().unwrap_or(now);
        let from_when = ends_first.max(now);
        self.links.retain(|link| link.until > from_when);
        self.good_until = None;
        // Nodes that stay get new numbers, in the order of the old ones: links stay sorted.
        self.numbers.clear();
        self.numbers.resize(self.nodes.len(), None);
        let mine = self.number(self.me);
        for end in self.links.iter().flat_map(|link| [link.from, link.to]).chain(mine) {
            if let Some(number) = self.numbers.get_mut(usize::from(end)) {
                *number = Some(0);
            }
        }
        for (new, number) in (0..).zip(self.numbers.iter_mut().flatten()) {
            *number = new;
        }
        let new = |old: u16| self.numbers.get(usize::from(old)).copied().flatten();
        for end in self.links.iter_mut().flat_map(|link| [&mut link.from, &mut link.to]) {
            *end = new(*end).unwrap_or(0);
        }
        self.by_address.retain_mut(|number| {
            let stays = new(*number);
            *number = stays.unwrap_or(0);
            stays.is_some()
        });
        let mut stays = self.numbers.iter();
        self.nodes.retain(|_| stays.next().is_some_and(Option::is_some));
    }
}

#[cfg(test)]
mod test {
    use super::*;

    fn node(n: u32) -> Ipv4Addr {
        Ipv4Addr::from_bits(0x0a00_0000 + n)
    }

    fn at(s: u64) -> Instant {
        Instant::from_secs(s)
    }

    fn cache(now: Instant, links: &[(u32, u32)]) -> LinkCache {
        let mut cache = LinkCache::new(node(1));
        for (from, to) in links {
            cache.add(now, node(*from), node(*to));
        }
        cache
    }

    fn find(cache: &mut LinkCache, now: Instant, to: u32) -> Vec<u32> {
        let path = cache.find(now, node(to), false).unwrap_or(Path::EMPTY);
        path.as_slice().iter().map(|node| node.to_bits() & 0xff_ffff).collect()
    }

    #[test]
    fn the_shortest_route_and_of_equals_the_one_that_lasts() {
        let mut cache = cache(at(0), &[(1, 2), (2, 9), (1, 3), (3, 9), (9, 4), (4, 5), (2, 5)]);
        assert_eq!(find(&mut cache, at(0), 5), [1, 2, 5]);
        assert_eq!(find(&mut cache, at(0), 9), [1, 2, 9], "a tie");
        cache.add(at(5), node(1), node(3));
        cache.add(at(5), node(3), node(9));
        cache.add(at(5), node(3), node(8));
        assert_eq!(find(&mut cache, at(5), 9), [1, 3, 9], "that has been heard of later");
    }

    #[test]
    fn links_carry_in_the_direction_that_was_heard_of() {
        let mut cache = cache(at(0), &[(1, 2), (3, 2)]);
        assert_eq!(find(&mut cache, at(0), 3), []);
        cache.add(at(0), node(2), node(3));
        assert_eq!(find(&mut cache, at(0), 3), [1, 2, 3]);
        assert!(cache.remove(node(1), node(2)));
        assert!(!cache.remove(node(1), node(2)));
        assert_eq!(find(&mut cache, at(0), 3), []);
    }

    #[test]
    fn a_link_lives_as_long_as_its_less_stable_end_and_longer_when_used() {
        let mut unused = cache(at(0), &[(1, 2), (2, 3)]);
        assert_eq!(find(&mut unused, at(24), 3), [1, 2, 3]);
        assert_eq!(find(&mut unused, at(25), 3), []);

        let mut used = cache(at(0), &[(1, 2), (2, 3)]);
        assert!(used.find(at(10), node(3), true).is_some());
        assert_eq!(find(&mut used, at(129), 3), [1, 2, 3], "120 s after its use");
        assert_eq!(find(&mut used, at(130), 3), []);
        // The use after 10 s has made 25 s + 4 × 10 s of it, for node 2 twice.
        used.add(at(200), node(2), node(3));
        assert_eq!(used.links[1].until, at(265));

        let mut broken = cache(at(0), &[(1, 2), (2, 3)]);
        broken.remove(node(2), node(3));
        broken.add(at(0), node(2), node(3));
        assert_eq!(broken.links[1].until.as_millis(), 12_500, "half as stable");
        for _ in 0..20 {
            broken.remove(node(2), node(3));
            broken.add(at(0), node(2), node(3));
        }
        assert_eq!(broken.links[1].until, at(1), "the shortest lifetime");
    }

    #[test]
    fn a_big_network_does_not_fill_it() {
        let mut cache = LinkCache::new(node(1));
        for n in 0..5_000u32 {
            let now = Instant::from_millis(u64::from(n));
            cache.add(now, node(1 + n * 7 % 400), node(1 + n * 13 % 911));
            assert!(cache.nodes.len() <= NODES && cache.links.len() <= LINKS);
            assert!(cache.links.is_sorted_by_key(|link| (link.from, link.to)));
            assert!(
                cache.by_address.iter().map(|n| cache.nodes[usize::from(*n)].address).is_sorted()
            );
            assert_eq!(cache.by_address.len(), cache.nodes.len());
        }
        cache.add(at(5), node(1), node(7000));
        assert_eq!(find(&mut cache, at(5), 7000), [1, 7000], "there is room for what is new");
    }
}
