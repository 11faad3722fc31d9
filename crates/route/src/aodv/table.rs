//! The routing table.

use alloc::vec::Vec;

use driftway_base::{Duration, Instant, Ipv4Addr, Seq};

/// The hop count of a route that is not known.
pub(super) const HOPS_UNKNOWN: u8 = 255;

/// The state of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RouteState {
    /// It can forward packets.
    Valid,
    /// It broke here and is being repaired locally (RFC 3561 §6.12).
    Repairing,
    /// Only its sequence number is kept.
    Invalid,
}

/// A routing table entry (RFC 3561 §2), with its route discovery.
#[derive(Clone, Debug)]
pub(super) struct Route {
    /// The highest known sequence number of the destination, incremented when a route is lost: no route with
    /// a lower one is accepted.
    pub(super) seq: Option<Seq>,
    /// The valid sequence number flag (RFC 3561 §2): the number belongs to the route. Cleared when the route
    /// is set up by a message of the neighbour itself.
    pub(super) seq_is_valid: bool,
    /// Hop count, while there is a route.
    pub(super) hops: u8,
    /// Hop count when the route was last lost.
    pub(super) last_hop_count: u8,
    pub(super) next_hop: Ipv4Addr,
    pub(super) state: RouteState,
    /// The expiry of a valid route; the deletion time of an invalid one.
    pub(super) until: Instant,
    pub(super) precursors: Precursors,
    pub(super) search: Search,
    /// The node had a packet for this destination, so route changes are reported.
    pub(super) has_traffic: bool,
}

/// The route discovery of one destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Search {
    /// The awaited event.
    pub(super) phase: Phase,
    /// The deadline of that event; 0 if no request was sent since the last reply.
    pub(super) until: Instant,
    /// Time to live of the last request; after a reply, its hop count.
    pub(super) ttl: u8,
    /// Network-wide requests so far.
    pub(super) network_wide_requests: u8,
    /// The instant of the last request.
    pub(super) requested_at: Instant,
    /// The round-trip latency per hop in the last three searches; 0 if unknown.
    pub(super) hop_latencies: [Duration; 3],
    pub(super) next_latency: u8,
}

/// The event that a search waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// No search.
    Idle,
    /// A route reply.
    AwaitingReply,
    /// The RREQ rate limit (RFC 3561 §6.3).
    RateLimited,
}

impl Search {
    const NONE: Self = Self {
        phase: Phase::Idle,
        until: Instant::ZERO,
        ttl: 0,
        network_wide_requests: 0,
        requested_at: Instant::ZERO,
        hop_latencies: [Duration::ZERO; 3],
        next_latency: 0,
    };

    /// Ends the search with a reply over `hops` hops.
    pub(super) const fn complete(&mut self, hops: u8) {
        self.phase = Phase::Idle;
        self.until = Instant::ZERO;
        self.network_wide_requests = 0;
        self.ttl = hops;
    }

    /// Records the latency per hop of a reply.
    pub(super) fn record_latency(&mut self, latency: Duration) {
        if let Some(slot) = self.hop_latencies.get_mut(usize::from(self.next_latency)) {
            *slot = latency;
        }
        self.next_latency = (self.next_latency + 1) % 3;
    }

    /// The mean of the recorded latencies.
    pub(super) fn mean_latency(&self) -> Option<Duration> {
        let (mut sum, mut count) = (0u64, 0);
        for latency in self.hop_latencies.iter().filter(|latency| !latency.is_zero()) {
            sum = sum.saturating_add(latency.as_nanos());
            count += 1;
        }
        (count > 0).then(|| Duration::from_nanos(sum).over(count))
    }
}

impl Route {
    const fn unknown() -> Self {
        Self {
            seq: None,
            seq_is_valid: false,
            hops: HOPS_UNKNOWN,
            last_hop_count: HOPS_UNKNOWN,
            next_hop: Ipv4Addr::UNSPECIFIED,
            state: RouteState::Invalid,
            until: Instant::ZERO,
            precursors: Precursors::NONE,
            search: Search::NONE,
            has_traffic: false,
        }
    }

    pub(super) fn is_valid(&self) -> bool {
        self.state == RouteState::Valid
    }

    /// Returns true if there is a route. `repairing_is_valid`: one under repair counts.
    pub(super) fn is_usable(&self, repairing_is_valid: bool) -> bool {
        match self.state {
            RouteState::Valid => true,
            RouteState::Repairing => repairing_is_valid,
            RouteState::Invalid => false,
        }
    }

    /// Returns true if a route of `hops` hops with this sequence number replaces this one (RFC 3561 §6.2,
    /// §6.7): if it is newer, or as new and this one is invalid, has more hops, or has no valid number.
    ///
    /// RFC 3561 would accept any number while that of the route is not valid. But a node that has offered a
    /// route with a number may hear it return from a node that still uses that offer, which would form a loop
    /// (van Glabbeek et al., "Sequence numbers do not guarantee loop freedom", 2013). So a lower number is
    /// accepted only by [`Self::accepts_previous_seq`].
    pub(super) fn is_replaced_by(&self, seq: Seq, hops: u8, repairing_is_valid: bool) -> bool {
        let Some(known) = self.seq else { return true };
        let none = !self.is_usable(repairing_is_valid);
        let equal = none || !self.seq_is_valid || hops < self.hops;
        seq.after(known) || (seq == known && equal)
    }

    /// Returns true if the number stated by the destination itself is one less than the number here, which
    /// was incremented for a lost route. Accepting it is safe: the next loss increments it again, and no
    /// route that this node has offered has a higher one.
    pub(super) fn accepts_previous_seq(&self, seq: Seq, repairing_is_valid: bool) -> bool {
        let none = !self.is_usable(repairing_is_valid);
        (none || !self.seq_is_valid) && self.seq == Some(seq + 1)
    }

    /// Installs a route with this sequence number.
    pub(super) const fn install(&mut self, seq: Seq, hops: u8, next_hop: Ipv4Addr, until: Instant) {
        self.seq = Some(seq);
        self.seq_is_valid = true;
        self.install_path(hops, next_hop, until);
    }

    /// Installs a route to a neighbour that was heard, whose sequence number is unknown (RFC 3561 §6.2). The
    /// number of a route that was valid holds for a shorter one as well.
    pub(super) fn install_neighbour(&mut self, neighbour: Ipv4Addr, until: Instant) {
        self.seq_is_valid &= self.is_valid();
        self.install_path(1, neighbour, until);
    }

    const fn install_path(&mut self, hops: u8, next_hop: Ipv4Addr, until: Instant) {
        self.hops = hops;
        self.next_hop = next_hop;
        self.until = until;
        self.state = RouteState::Valid;
    }

    /// Invalidates the route. `seq` is the number that is kept of the destination.
    pub(super) const fn invalidate(&mut self, seq: Option<Seq>, until: Instant) {
        self.last_hop_count = self.hops;
        self.hops = HOPS_UNKNOWN;
        self.state = RouteState::Invalid;
        self.seq = seq;
        self.until = until;
    }

    /// The sequence number plus one, so that a node with the lost route cannot offer it. An invalid number is
    /// not incremented (RFC 3561 §6.11): no node was offered that route.
    pub(super) fn incremented_seq(&self) -> Option<Seq> {
        if self.seq_is_valid { self.seq.map(|seq| seq + 1) } else { self.seq }
    }

    /// The sequence number of the route, if it is valid.
    pub(super) const fn valid_seq(&self) -> Option<Seq> {
        if self.seq_is_valid { self.seq } else { None }
    }
}

/// The precursors of a route (RFC 3561 §6.2). The distinction is between none, one and several; beyond eight
/// only an overflow is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Precursors {
    list: [Ipv4Addr; 8],
    len: u8,
    more: bool,
}

impl Precursors {
    pub(super) const NONE: Self = Self { list: [Ipv4Addr::UNSPECIFIED; 8], len: 0, more: false };

    pub(super) fn as_slice(&self) -> &[Ipv4Addr] {
        self.list.get(..usize::from(self.len)).unwrap_or_default()
    }
    pub(super) const fn is_empty(&self) -> bool {
        self.len == 0 && !self.more
    }
    /// Returns true if there are more than [`Self::as_slice`] has.
    pub(super) const fn overflowed(&self) -> bool {
        self.more
    }
    pub(super) fn insert(&mut self, neighbour: Ipv4Addr) {
        if self.as_slice().contains(&neighbour) {
            return;
        }
        match self.list.get_mut(usize::from(self.len)) {
            Some(slot) => {
                *slot = neighbour;
                self.len += 1;
            }
            None => self.more = true,
        }
    }
    pub(super) fn remove(&mut self, neighbour: Ipv4Addr) {
        if let Some(at) = self.as_slice().iter().position(|one| *one == neighbour) {
            let last = usize::from(self.len) - 1;
            self.list.swap(at, last);
            self.len -= 1;
        }
    }
    pub(super) const fn clear(&mut self) {
        *self = Self::NONE;
    }
}

/// The routes, by destination.
#[derive(Clone, Debug, Default)]
pub(super) struct RoutingTable {
    /// Separate from the routes, so that a lookup touches few cache lines.
    keys: Vec<Ipv4Addr>,
    routes: Vec<Route>,
}

impl RoutingTable {
    pub(super) fn get(&self, destination: Ipv4Addr) -> Option<&Route> {
        self.routes.get(self.keys.binary_search(&destination).ok()?)
    }
    pub(super) fn get_mut(&mut self, destination: Ipv4Addr) -> Option<&mut Route> {
        self.routes.get_mut(self.keys.binary_search(&destination).ok()?)
    }

    /// The entry of `destination`, created if there is none; `None` if the table has `limit` routes in use.
    pub(super) fn entry(&mut self, destination: Ipv4Addr, limit: usize) -> Option<&mut Route> {
        let at = match self.keys.binary_search(&destination) {
            Ok(at) => at,
            Err(at) if self.keys.len() < limit => self.insert(at, destination),
            Err(_) => {
                self.evict()?;
                let at = self.keys.partition_point(|key| *key < destination);
                self.insert(at, destination)
            }
        };
        self.routes.get_mut(at)
    }

    fn insert(&mut self, at: usize, destination: Ipv4Addr) -> usize {
        self.keys.insert(at, destination);
        self.routes.insert(at, Route::unknown());
        at
    }

    /// Removes the invalid route with the earliest deletion time.
    fn evict(&mut self) -> Option<()> {
        let old = |route: &&(usize, &Route)| {
            route.1.state == RouteState::Invalid && route.1.search.phase == Phase::Idle
        };
        let all = self.routes.iter().enumerate();
        let (at, _) = all.filter(|route| old(&route)).min_by_key(|(_, route)| route.until)?;
        self.keys.remove(at);
        self.routes.remove(at);
        Some(())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Ipv4Addr, &Route)> {
        self.keys.iter().copied().zip(&self.routes)
    }
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }
    /// The destination and route at an index, in order of destination.
    pub(super) fn at_mut(&mut self, at: usize) -> Option<(Ipv4Addr, &mut Route)> {
        self.keys.get(at).copied().zip(self.routes.get_mut(at))
    }
    /// Removes all routes for which `keep` returns false.
    pub(super) fn retain(&mut self, keep: impl Fn(&Route) -> bool) {
        if self.routes.iter().all(&keep) {
            return;
        }
        let mut keys = self.routes.iter();
        self.keys.retain(|_| keys.next().is_some_and(&keep));
        self.routes.retain(keep);
    }
}

#[cfg(test)]
mod test {
    use super::*;

    fn address(n: u32) -> Ipv4Addr {
        Ipv4Addr::from_bits(n)
    }

    #[test]
    fn a_full_table_evicts_the_oldest_invalid_route() {
        let mut table = RoutingTable::default();
        for n in [5, 1, 3] {
            let route = table.entry(address(n), 3).unwrap();
            route.install(Seq(1), 1, address(n), Instant::from_secs(9));
        }
        assert!(table.entry(address(2), 3).is_none());
        for (n, until) in [(1, 20), (5, 10)] {
            let route = table.get_mut(address(n)).unwrap();
            route.invalidate(Some(Seq(2)), Instant::from_secs(until));
        }
        assert!(table.entry(address(9), 3).is_some());
        let keys: Vec<_> = table.iter().map(|(key, _)| key.to_bits()).collect();
        assert_eq!(keys, [1, 3, 9]);
        table.retain(|route| route.state == RouteState::Valid);
        let keys: Vec<_> = table.iter().map(|(key, _)| key.to_bits()).collect();
        assert_eq!(keys, [3]);
    }

    #[test]
    fn a_route_is_replaced_by_a_newer_or_shorter_one_or_if_invalid() {
        let mut route = Route::unknown();
        assert!(route.is_replaced_by(Seq(0), 200, false), "the number is unknown");
        route.install(Seq(7), 3, address(1), Instant::from_secs(1));
        assert!(route.is_replaced_by(Seq(8), 9, false));
        assert!(route.is_replaced_by(Seq(7), 2, false));
        assert!(!route.is_replaced_by(Seq(7), 3, false));
        assert!(!route.is_replaced_by(Seq(6), 1, false));
        assert!(
            !route.is_replaced_by(Seq(7u32.wrapping_sub(1 << 31) + 1), 1, false),
            "numbers wrap"
        );
        route.state = RouteState::Repairing;
        assert!(route.is_replaced_by(Seq(7), 3, false));
        assert!(!route.is_replaced_by(Seq(7), 3, true));
        route.invalidate(route.incremented_seq(), Instant::from_secs(2));
        assert!(!route.is_replaced_by(Seq(7), 1, false));
        assert!(route.is_replaced_by(Seq(8), 9, true));
        assert_eq!(route.last_hop_count, 3);
    }

    #[test]
    fn precursors_are_none_one_or_many() {
        let mut precursors = Precursors::NONE;
        for n in [1, 2, 1, 3] {
            precursors.insert(address(n));
        }
        assert_eq!(precursors.as_slice(), [address(1), address(2), address(3)]);
        precursors.remove(address(1));
        precursors.remove(address(7));
        assert_eq!(precursors.as_slice(), [address(3), address(2)]);
        for n in 10..17 {
            precursors.insert(address(n));
        }
        assert!(precursors.overflowed() && precursors.as_slice().len() == 8);
        precursors.clear();
        assert!(precursors.is_empty());
    }

    #[test]
    fn latencies_are_averaged_over_three() {
        let mut search = Search::NONE;
        assert_eq!(search.mean_latency(), None);
        for ms in [10, 20] {
            search.record_latency(Duration::from_millis(ms));
        }
        assert_eq!(search.mean_latency(), Some(Duration::from_millis(15)));
        for ms in [30, 40] {
            search.record_latency(Duration::from_millis(ms));
        }
        assert_eq!(search.mean_latency(), Some(Duration::from_millis(30)));
    }
}
