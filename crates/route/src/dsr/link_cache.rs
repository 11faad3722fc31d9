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
const MEMOS: usize = 16;

#[derive(Clone, Debug)]
pub(crate) struct LinkCache {
    me: Ipv4Addr,
    nodes: Vec<Node>,
    /// Numbers of nodes, by address.
    by_address: Vec<u16>,
    /// By `from`, then by `to`.
    links: Vec<Link>,
    memos: Vec<Memo>,
    next_memo: usize,
    /// What a search works on.
    reached: Vec<Reached>,
    level: Vec<u16>,
    next_level: Vec<u16>,
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

/// How a search has come to a node.
#[derive(Clone, Copy, Debug)]
struct Reached {
    hops: u16,
    /// When the first of the links to it ends.
    until: Instant,
    by: u16,
}

const UNREACHED: Reached = Reached { hops: u16::MAX, until: Instant::ZERO, by: 0 };

/// A route that was worked out, good until a link of it ends or there are other links.
#[derive(Clone, Copy, Debug)]
struct Memo {
    destination: Ipv4Addr,
    path: Path,
    /// Where its links are.
    links: [u16; NODES_MAX],
    until: Instant,
}

impl LinkCache {
    pub fn new(me: Ipv4Addr) -> Self {
        let mut cache = Self {
            me,
            nodes: Vec::new(),
            by_address: Vec::new(),
            links: Vec::new(),
            memos: Vec::new(),
            next_memo: 0,
            reached: Vec::new(),
            level: Vec::new(),
            next_level: Vec::new(),
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
                    self.memos.clear();
                }
                was_over
            }
            Err(place) => {
                self.links.insert(place, Link { from, to, until, used: now });
                self.memos.clear();
                true
            }
        }
    }

    /// The shortest route, of those the one that lasts longest.
    pub fn find(&mut self, now: Instant, destination: Ipv4Addr, used: bool) -> Option<Path> {
        let known = self.memos.iter().position(|memo| memo.destination == destination);
        let known = known.filter(|at| self.memos.get(*at).is_some_and(|memo| now < memo.until));
        let at = match known {
            Some(at) => at,
            None => {
                let memo = self.search(now, destination)?;
                self.memos.retain(|memo| memo.destination != destination);
                self.next_memo = (self.next_memo + 1) % MEMOS;
                let at = if self.memos.len() < MEMOS { self.memos.len() } else { self.next_memo };
                match self.memos.get_mut(at) {
                    Some(slot) => *slot = memo,
                    None => self.memos.push(memo),
                }
                at
            }
        };
        if used {
            self.use_route(now, at);
        }
        self.memos.get(at).map(|memo| memo.path)
    }

    /// The link does not carry.
    pub fn remove(&mut self, from: Ipv4Addr, to: Ipv4Addr) -> bool {
        let (Some(from), Some(to)) = (self.number(from), self.number(to)) else { return false };
        let Ok(place) = self.place(from, to) else { return false };
        self.links.remove(place);
        self.memos.clear();
        for end in [from, to] {
            if let Some(node) = self.nodes.get_mut(usize::from(end)) {
                node.stability = node.stability.over(DECREASE);
            }
        }
        true
    }

    fn use_route(&mut self, now: Instant, at: usize) {
        let Some(memo) = self.memos.get_mut(at) else { return };
        let mut until = Instant::FAR_FUTURE;
        let hops = memo.path.len().saturating_sub(1);
        for place in memo.links.iter().take(hops) {
            let Some(link) = self.links.get_mut(usize::from(*place)) else { continue };
            let gained = now.since(link.used).times(INCREASE);
            link.used = now;
            link.until = link.until.max(now + USE_EXTENDS);
            until = until.min(link.until);
            for end in [link.from, link.to] {
                if let Some(node) = self.nodes.get_mut(usize::from(end)) {
                    node.stability = node.stability + gained;
                }
            }
        }
        memo.until = until;
    }

    /// Breadth first; within one distance the longest life wins, and of equals the lower address.
    fn search(&mut self, now: Instant, destination: Ipv4Addr) -> Option<Memo> {
        let target = self.number(destination)?;
        let me = self.number(self.me)?;
        self.reached.clear();
        self.reached.resize(self.nodes.len(), UNREACHED);
        *self.reached.get_mut(usize::from(me))? =
            Reached { hops: 0, until: Instant::FAR_FUTURE, by: me };
        self.level.clear();
        self.level.push(me);
        let mut hops = 0;
        while !self.level.is_empty() && usize::from(hops) + 1 < NODES_MAX {
            hops += 1;
            self.next_level.clear();
            for node in &self.level {
                let so_far = self.reached.get(usize::from(*node)).map(|reached| reached.until)?;
                let start = self.links.partition_point(|link| link.from < *node);
                let links = self.links.get(start..).unwrap_or_default();
                for link in links.iter().take_while(|link| link.from == *node) {
                    let until = so_far.min(link.until);
                    let Some(known) = self.reached.get_mut(usize::from(link.to)) else { continue };
                    if link.until <= now || known.hops < hops {
                        continue;
                    }
                    if known.hops > hops {
                        self.next_level.push(link.to);
                    } else if until <= known.until {
                        continue;
                    }
                    *known = Reached { hops, until, by: *node };
                }
            }
            core::mem::swap(&mut self.level, &mut self.next_level);
            if self.reached.get(usize::from(target)).is_some_and(|r| r.hops == hops) {
                return self.walk_back(target, destination);
            }
        }
        None
    }

    fn walk_back(&self, target: u16, destination: Ipv4Addr) -> Option<Memo> {
        let (mut path, mut links) = (Path::EMPTY, [0; NODES_MAX]);
        let mut at = target;
        let end = self.reached.get(usize::from(target))?;
        loop {
            let reached = self.reached.get(usize::from(at))?;
            path.push(self.nodes.get(usize::from(at))?.address);
            let Some(hop) = reached.hops.checked_sub(1) else { break };
            let place = self.place(reached.by, at).ok()?;
            *links.get_mut(usize::from(hop))? = place as u16;
            at = reached.by;
        }
        Some(Memo { destination, path: path.reversed(), links, until: end.until })
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
        let mut by_end: Vec<Instant> = self.links.iter().map(|link| link.until).collect();
        by_end.sort_unstable();
        let ends_first = by_end.get(by_end.len() / 4).copied().unwrap_or(now);
        let from_when = ends_first.max(now);
        self.links.retain(|link| link.until > from_when);
        self.memos.clear();
        let mut linked = alloc::vec![false; self.nodes.len()];
        let mine = self.number(self.me);
        let ends = self.links.iter().flat_map(|link| [link.from, link.to]).chain(mine);
        for end in ends {
            if let Some(linked) = linked.get_mut(usize::from(end)) {
                *linked = true;
            }
        }
        // Nodes that stay get new numbers, in the order of the old ones: links stay sorted.
        let mut new = Vec::with_capacity(self.nodes.len());
        let mut kept = 0u16;
        for is_linked in &linked {
            new.push(kept);
            kept += u16::from(*is_linked);
        }
        let renumber = |number: &mut u16| {
            *number = new.get(usize::from(*number)).copied().unwrap_or(0);
        };
        for link in &mut self.links {
            renumber(&mut link.from);
            renumber(&mut link.to);
        }
        self.by_address.retain(|n| linked.get(usize::from(*n)).copied().unwrap_or(false));
        self.by_address.iter_mut().for_each(renumber);
        let mut stays = linked.iter();
        self.nodes.retain(|_| stays.next().copied().unwrap_or(false));
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
