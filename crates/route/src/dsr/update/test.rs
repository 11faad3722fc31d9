//! The rules of DSR-Update, on a time line of events at one node.

use alloc::vec;
use alloc::vec::Vec;

use super::super::config::DsrConfig;
use super::table::RouteEntry;
use super::*;

const NOW: Instant = Instant::ZERO;
/// Packets to neighbours carry a route, too, so that each data packet counts.
const CONFIG: DsrConfig = DsrConfig { route_to_neighbour: true, ..DsrConfig::STANDARD };

fn node(n: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, n)
}

fn path(nodes: &[u8]) -> Path {
    let mut path = Path::EMPTY;
    assert!(nodes.iter().all(|n| path.push(node(*n))));
    path
}

fn numbers(path: &Path) -> Vec<u8> {
    path.as_slice().iter().map(|node| node.octets()[3]).collect()
}

fn link(from: u8, to: u8) -> FailedLink {
    FailedLink { from: node(from), to: node(to) }
}

/// The cache of node 5.
fn cache_with(options: UpdateOptions) -> UpdateCache {
    let me = node(5);
    UpdateCache::new(me, options, &CONFIG.caching_rules())
}

fn cache() -> UpdateCache {
    cache_with(UpdateOptions::PAPER)
}

impl UpdateCache {
    fn replies_to(&mut self, route: &[u8], to: u8) {
        self.on_reply_sent(NOW, &path(route), node(to));
    }

    fn forwards_reply(&mut self, route: &[u8], to: u8) -> bool {
        let listed = SourceRoute { path: path(route), next_position: 0 };
        self.on_route_observed(NOW, &listed, RouteObservation::ForwardedReply { to: node(to) })
    }

    fn gets_reply(&mut self, route: &[u8]) -> bool {
        self.on_route_learned(NOW, &path(route), LearnedBy::Reply)
    }

    fn sends(&mut self, route: &[u8]) {
        self.on_route_used(NOW, &path(route), true);
    }

    /// Forwards or receives a data packet.
    fn data(&mut self, route: &[u8]) -> bool {
        let path = path(route);
        let next = path.position(self.me).unwrap();
        let end = next + 1 == path.len();
        let heard = if end {
            RouteObservation::Received { data: true }
        } else {
            RouteObservation::Forwarded { data: true }
        };
        self.on_route_observed(NOW, &SourceRoute { path, next_position: next }, heard)
    }

    /// Overhears it on its way to the node at index `next`.
    fn overhears(&mut self, route: &[u8], next: usize) -> bool {
        let carried = SourceRoute { path: path(route), next_position: next };
        self.on_route_observed(NOW, &carried, RouteObservation::Overheard { data: true })
    }

    /// Each entry: its route, its pair and its number of data packets.
    fn table(&self) -> Vec<(Vec<u8>, (u8, u8), u8)> {
        let ends = |entry: &RouteEntry| (entry.pair.0.octets()[3], entry.pair.1.octets()[3]);
        self.table.entries().iter().map(|e| (numbers(&e.route), ends(e), e.data_packets)).collect()
    }

    fn records(&self) -> Vec<Vec<u8>> {
        self.replies.routes().map(numbers).collect()
    }

    fn route(&mut self, to: u8) -> Vec<u8> {
        self.lookup(NOW, node(to)).map(|path| numbers(&path)).unwrap_or_default()
    }

    /// The paths of the pending notices, sorted by their ends.
    fn notices(&mut self) -> Vec<Vec<u8>> {
        let notices = core::iter::from_fn(|| self.poll_notice());
        let mut paths: Vec<_> = notices.map(|notice| numbers(&notice.path)).collect();
        paths.sort_by_key(|way| way.last().copied());
        paths
    }

    /// The local link to a node fails with a packet on `route`.
    fn fails(&mut self, to: u8, route: &[u8]) -> Vec<Vec<u8>> {
        let route = path(route);
        self.on_link_failure(
            NOW,
            link(5, to),
            LinkFailureReport::LinkLayer { route: Some(&route) },
        );
        self.notices()
    }

    /// An error of `reporter` about a link arrives from `from`, and is forwarded to `also`.
    fn hears(&mut self, of: (u8, u8), reporter: u8, from: u8, also: Option<u8>) -> Vec<Vec<u8>> {
        self.hear(of, reporter, from, also);
        self.notices()
    }

    fn hear(&mut self, of: (u8, u8), reporter: u8, from: u8, also: Option<u8>) {
        let header = DsrHeader::default();
        let (reporter, from, also) = (node(reporter), node(from), also.map(node));
        let report =
            LinkFailureReport::RouteError { reporter, from, also_sent_to: also, header: &header };
        self.on_link_failure(NOW, link(of.0, of.1), report);
    }
}

const NONE: Vec<Vec<u8>> = Vec::new();

#[test]
fn a_node_that_forwards_a_reply_caches_the_rest_and_records_the_receiver() {
    let mut five = cache();
    assert!(five.forwards_reply(&[1, 4, 5, 6, 9], 4));
    assert_eq!(five.table(), [(vec![5, 6, 9], (1, 9), 0)]);
    assert_eq!(five.records(), [[4, 5, 6, 9]]);
    // A known route is not stored twice, also as a part and in the other direction.
    assert!(!five.forwards_reply(&[2, 3, 5, 6], 3));
    assert!(!five.forwards_reply(&[1, 4, 5, 6, 9], 4));
    five.data(&[8, 7, 5]);
    assert!(!five.forwards_reply(&[2, 3, 5, 7, 8], 3));
    assert_eq!(five.table().len(), 2);
    let records = [vec![4, 5, 6, 9], vec![3, 5, 6], vec![3, 5, 7, 8]];
    assert_eq!(five.records(), records);
}

#[test]
fn replies_from_the_cache_and_own_replies_are_recorded_alike() {
    let mut five = cache();
    five.gets_reply(&[5, 6, 9]);
    five.replies_to(&[1, 4, 5, 6], 4);
    assert_eq!(five.table(), [(vec![5, 6, 9], (5, 9), 0)]);
    assert_eq!(five.records(), [[4, 5, 6]]);
    five.on_route_learned(NOW, &path(&[5, 3, 2]), LearnedBy::OwnReply);
    assert_eq!(five.records(), [vec![4, 5, 6], vec![3, 5]]);
}

#[test]
fn the_initiator_caches_the_route_unless_it_is_known() {
    let mut five = cache();
    assert!(five.gets_reply(&[5, 6, 7, 9]));
    assert!(!five.gets_reply(&[5, 6, 7]));
    assert!(five.gets_reply(&[5, 8, 9]));
    assert_eq!(five.table(), [(vec![5, 6, 7, 9], (5, 9), 0), (vec![5, 8, 9], (5, 9), 0)]);
}

#[test]
fn nothing_is_learned_from_requests() {
    let mut five = cache();
    for by in [LearnedBy::Request, LearnedBy::CachedReply] {
        assert!(!five.on_route_learned(NOW, &path(&[5, 6, 9]), by));
    }
    let control = SourceRoute { path: path(&[4, 5, 6]), next_position: 1 };
    assert!(!five.on_route_observed(NOW, &control, RouteObservation::Forwarded { data: false }));
    five.on_route_used(NOW, &path(&[5, 6, 9]), false);
    assert_eq!((five.table(), five.records()), (vec![], NONE));
}

#[test]
fn a_source_counts_its_data_packets_up_to_two() {
    let mut five = cache();
    five.gets_reply(&[5, 6, 9]);
    for data in [1, 2, 2] {
        five.sends(&[5, 6, 9]);
        assert_eq!(five.table(), [(vec![5, 6, 9], (5, 9), data)]);
    }
    // A part of it is a separate route: the nodes behind have not seen this packet.
    five.sends(&[5, 6]);
    assert_eq!(five.table()[1], (vec![5, 6], (5, 6), 1));
}

/// RFC 4728 §8.1.1: a packet to a neighbour needs no source route.
#[test]
fn a_packet_without_a_route_does_not_count() {
    let config = DsrConfig { route_to_neighbour: false, ..CONFIG };
    let mut five = UpdateCache::new(node(5), UpdateOptions::PAPER, &config.caching_rules());
    five.gets_reply(&[5, 6]);
    five.sends(&[5, 6]);
    assert_eq!(five.table(), [(vec![5, 6], (5, 6), 0)]);
}

#[test]
fn data_makes_the_whole_route_known_and_covers_the_record() {
    let mut five = cache();
    five.forwards_reply(&[1, 4, 5, 6, 9], 4);
    five.forwards_reply(&[2, 3, 5, 6, 9], 3);
    assert!(five.data(&[1, 4, 5, 6, 9]), "4 and 1 are new");
    assert_eq!(five.table(), [(vec![1, 4, 5, 6, 9], (1, 9), 1)]);
    assert_eq!(five.records(), [[3, 5, 6, 9]]);
    assert!(!five.data(&[1, 4, 5, 6, 9]));
    assert!(!five.data(&[1, 4, 5, 6, 9]));
    assert!(five.data(&[2, 3, 5, 6, 9]));
    assert_eq!(five.table(), [(vec![1, 4, 5, 6, 9], (1, 9), 2), (vec![2, 3, 5, 6, 9], (2, 9), 1)]);
    assert_eq!(five.records(), NONE);
}

/// Minimal case: 4 has learned a part of a route, and then all of it by data; when a link behind that part
/// fails, it still has the part. The same holds for a route that it has learned for another source.
#[test]
fn data_on_a_longer_route_or_of_another_source_keeps_the_record() {
    let mut five = cache();
    five.replies_to(&[4, 5, 6], 4);
    five.replies_to(&[4, 5, 6, 8], 4);
    five.data(&[4, 5, 6, 9]);
    assert_eq!(five.hears((6, 9), 6, 6, None), [[5, 4]]);
    five.data(&[1, 4, 5, 6, 8]);
    assert_eq!(five.hears((1, 4), 4, 4, None), [[5, 6]]);
    assert_eq!(five.records(), [vec![4, 5, 6], vec![4, 5, 6, 8]]);
    assert_eq!(five.fails(6, &[5, 6]), [[5, 4]]);
}

/// Minimal case: the reply came from 6, which has the link, too, and is nearer to it, and 3 was informed
/// before.
#[test]
fn the_sender_of_the_reply_is_notified_if_it_did_not_report() {
    let mut five = cache();
    five.gets_reply(&[5, 6, 7, 9]);
    assert_eq!(five.clone().hears((7, 9), 9, 3, None), [[5, 6]]);
    assert_eq!(five.fails(6, &[5, 6]), NONE, "it does not have the link to here");
}

/// A route of its own that carried data is known farther on, whatever fails of another node's packets.
#[test]
fn data_of_another_source_does_not_change_the_own_route() {
    let mut five = cache();
    five.gets_reply(&[5, 6, 9]);
    five.sends(&[5, 6, 9]);
    five.data(&[4, 5, 6, 9]);
    assert_eq!(five.table(), [(vec![5, 6, 9], (5, 9), 1), (vec![4, 5, 6, 9], (4, 9), 1)]);
}

#[test]
fn a_destination_caches_the_route_and_uses_its_reverse() {
    let mut five = cache();
    assert!(five.data(&[1, 2, 3, 5]));
    five.data(&[1, 2, 3, 5]);
    assert_eq!(five.table(), [(vec![1, 2, 3, 5], (1, 5), 2)]);
    assert_eq!(five.route(1), [5, 3, 2, 1]);
    assert_eq!(five.route(2), [5, 3, 2]);
}

#[test]
fn a_salvaged_packet_starts_a_route_at_the_salvager() {
    let mut five = cache();
    five.gets_reply(&[5, 6, 9]);
    assert_eq!(five.select_for_salvage(NOW, node(9)), Some(path(&[5, 6, 9])));
    five.sends(&[5, 6, 9]);
    assert_eq!(five.table(), [(vec![5, 6, 9], (5, 9), 1)]);
}

#[test]
fn a_used_overheard_route_moves_to_the_table() {
    let mut five = cache();
    assert!(five.overhears(&[1, 2, 3, 9], 2));
    assert!(!five.overhears(&[1, 2, 3, 9], 2));
    assert_eq!(five.table(), []);
    assert_eq!(five.route(9), [5, 2, 3, 9], "it is found");
    assert_eq!(five.table(), [], "and is not moved");
    assert_eq!(five.select(NOW, node(3)), Some(path(&[5, 2, 3])));
    assert_eq!(five.table(), [(vec![5, 2, 3], (5, 3), 0)]);
    five.sends(&[5, 2, 3]);
    assert_eq!(five.table(), [(vec![5, 2, 3], (5, 3), 1)]);
    assert_eq!(five.route(9), [], "only what is used");
    // The table has precedence.
    five.gets_reply(&[5, 6, 7, 8]);
    five.overhears(&[6, 4, 8], 1);
    assert_eq!(five.route(8), [5, 6, 7, 8]);
}

#[test]
fn the_oldest_overheard_route_is_evicted() {
    for (most, known) in [(0, [false; 3]), (2, [false, true, true]), (3, [true; 3])] {
        let mut five = cache_with(UpdateOptions { secondary: most, ..UpdateOptions::PAPER });
        // Each is for a route of a single source: one route from here.
        for other in [11, 12, 13] {
            five.on_route_learned(NOW, &path(&[5, other, other + 10]), LearnedBy::Shortening);
        }
        assert_eq!([21, 22, 23].map(|other| !five.route(other).is_empty()), known, "{most}");
    }
}

#[test]
fn the_shortest_route_then_the_more_used_then_the_newest() {
    let mut five = cache();
    five.gets_reply(&[5, 6, 7, 9]);
    five.gets_reply(&[5, 1, 9]);
    five.gets_reply(&[5, 2, 9]);
    assert_eq!(five.route(9), [5, 2, 9], "the newest");
    five.sends(&[5, 1, 9]);
    assert_eq!(five.route(9), [5, 1, 9], "that has carried a packet");
    five.sends(&[5, 2, 9]);
    assert_eq!(five.route(9), [5, 2, 9]);
    (0..2).for_each(|_| five.sends(&[5, 1, 9]));
    assert_eq!(five.route(9), [5, 1, 9]);
    assert_eq!(five.route(5), []);
    assert_eq!(five.route(3), []);
}

#[test]
fn upstream_the_previous_node_is_notified() {
    let mut five = cache();
    five.data(&[1, 4, 5, 6, 7, 9]);
    // By the node behind, which is an end of the link, or not.
    assert_eq!(five.clone().hears((6, 7), 6, 6, None), [[5, 4]]);
    assert_eq!(five.clone().hears((7, 9), 7, 6, None), [[5, 4]]);
    // The ordinary error goes there already.
    assert_eq!(five.clone().hears((6, 7), 6, 6, Some(4)), NONE);
    assert!(
        five.on_link_failure(NOW, link(7, 6), LinkFailureReport::LinkLayer { route: None }),
        "either direction"
    );
    assert_eq!(five.table(), []);
}

/// The report has come around the link to a node between the source and the link's end.
#[test]
fn upstream_the_next_node_is_notified_if_it_did_not_report() {
    let mut five = cache();
    five.data(&[1, 4, 5, 6, 7, 9]);
    assert_eq!(five.hears((6, 7), 7, 3, None), [[5, 4], [5, 6]]);
}

#[test]
fn the_source_of_an_unused_route_notifies_no_node() {
    let mut five = cache();
    five.gets_reply(&[5, 6, 7, 9]);
    assert_eq!(five.hears((6, 7), 6, 6, None), NONE);
    assert_eq!(five.table(), []);
}

#[test]
fn downstream_the_next_node_is_notified() {
    let mut five = cache();
    five.data(&[1, 2, 4, 5, 6, 9]);
    assert_eq!(five.clone().hears((1, 2), 2, 4, None), [[5, 6]]);
    assert_eq!(five.clone().hears((1, 2), 2, 3, None), [[5, 4], [5, 6]]);
    let mut last = cache();
    last.data(&[1, 2, 4, 5]);
    assert_eq!(last.hears((1, 2), 2, 4, None), NONE);
}

#[test]
fn nodes_with_a_reply_record_are_notified() {
    let mut five = cache();
    five.forwards_reply(&[1, 4, 5, 6, 7, 9], 4);
    five.replies_to(&[1, 3, 5, 6, 7], 3);
    five.replies_to(&[1, 2, 5, 6], 2);
    assert_eq!(five.clone().hears((6, 7), 6, 6, None), [[5, 3], [5, 4]]);
    assert_eq!(five.clone().hears((6, 7), 6, 3, None), [[5, 4]], "the reporter needs none");
    five.hears((6, 7), 6, 6, None);
    assert_eq!(five.records(), [[2, 5, 6]], "the others are removed");
    assert_eq!(five.hears((6, 7), 6, 6, None), NONE);
}

/// Minimal case: 4 has learned the link to 5 by 5's own reply, 5 finds it broken by another node's packet,
/// and the record of the rest of the route does not contain it.
#[test]
fn a_record_covers_the_link_to_its_neighbour() {
    let mut five = cache();
    five.on_route_learned(NOW, &path(&[5, 4, 1]), LearnedBy::OwnReply);
    five.gets_reply(&[5, 3, 4]);
    assert_eq!(five.fails(4, &[5, 4, 2]), [[5, 3, 4]], "on another route");
    assert_eq!(five.records(), NONE);
    let mut alone = cache();
    alone.on_route_learned(NOW, &path(&[5, 4, 1]), LearnedBy::OwnReply);
    assert_eq!(alone.fails(4, &[5, 4, 2]), NONE, "no route discovery");
}

/// Minimal case: the entry with which a record was made is removed, because of a link before this node; the
/// route that 3 has learned is still valid.
#[test]
fn a_record_outlives_its_entry() {
    let mut five = cache();
    five.data(&[1, 4, 5, 6, 9]);
    five.replies_to(&[2, 3, 5, 6, 9], 3);
    assert_eq!(five.hears((1, 4), 4, 4, None), [[5, 6]]);
    assert_eq!(five.table(), []);
    assert_eq!(five.hears((6, 9), 6, 6, None), [[5, 3]]);
}

#[test]
fn the_upstream_end_notifies_the_first_reachable_node_beyond_the_link() {
    let mut five = cache();
    (0..2).for_each(|_| {
        five.data(&[1, 4, 5, 6, 7, 9]);
    });
    assert_eq!(five.clone().fails(6, &[1, 4, 5, 6, 7, 9]), [[5, 4]], "there is no route");
    five.gets_reply(&[5, 3, 2, 9]);
    assert_eq!(five.clone().fails(6, &[1, 4, 5, 6, 7, 9]), [vec![5, 4], vec![5, 3, 2, 9]]);
    five.gets_reply(&[5, 3, 7]);
    assert_eq!(five.clone().fails(6, &[1, 4, 5, 6, 7, 9]), [vec![5, 4], vec![5, 3, 7]]);
    // An overheard route counts, too; not one over the link.
    five.overhears(&[2, 6, 8], 1);
    assert_eq!(five.clone().fails(6, &[1, 4, 5, 6, 7, 9]), [vec![5, 4], vec![5, 2, 6]]);
    // The report has come from there.
    assert_eq!(five.hears((5, 6), 7, 3, None), [[5, 4]]);
}

#[test]
fn the_downstream_end_notifies_the_first_reachable_node_beyond_the_link() {
    let mut five = cache();
    five.data(&[1, 2, 4, 5, 6]);
    five.gets_reply(&[5, 3, 2]);
    assert_eq!(five.clone().fails(4, &[5, 4]), [vec![5, 3, 2], vec![5, 6]]);
    assert_eq!(five.hears((4, 5), 4, 3, None), [vec![5, 6]], "4 has reported it");
}

#[test]
fn after_a_failed_first_packet_no_node_beyond_the_link_is_notified() {
    let mut five = cache();
    five.gets_reply(&[5, 3, 7]);
    five.data(&[1, 4, 5, 6, 7]);
    assert_eq!(five.clone().fails(6, &[1, 4, 5, 6, 7]), [[5, 4]]);
    five.data(&[1, 4, 5, 6, 7]);
    assert_eq!(five.fails(6, &[1, 4, 5, 6, 7]), [vec![5, 4], vec![5, 3, 7]]);
}

/// Minimal case: the only packet of a route got past, and later another one fails.
#[test]
fn nodes_beyond_the_link_are_notified_if_a_later_packet_fails() {
    let mut five = cache();
    five.gets_reply(&[5, 3, 7]);
    five.data(&[1, 4, 5, 6, 7]);
    assert_eq!(five.fails(6, &[2, 4, 5, 6]), [vec![5, 4], vec![5, 3, 7]]);
}

#[test]
fn a_source_has_no_previous_node_to_notify() {
    let mut five = cache();
    (0..2).for_each(|_| five.sends(&[5, 6, 7]));
    five.gets_reply(&[5, 3, 7]);
    assert_eq!(five.fails(6, &[5, 6, 7]), [[5, 3, 7]]);
}

#[test]
fn a_node_that_gets_the_ordinary_error_gets_no_notice() {
    let mut five = cache();
    five.data(&[1, 4, 5, 6]);
    let route = path(&[1, 4, 5, 6]);
    five.on_link_failure(NOW, link(5, 6), LinkFailureReport::LinkLayer { route: Some(&route) });
    five.on_error_sent(link(5, 6), node(4), &mut DsrHeader::default());
    assert_eq!(five.notices(), NONE);
}

#[test]
fn a_node_is_notified_once_of_each_link() {
    let mut five = cache();
    five.data(&[1, 4, 5, 6, 7, 9]);
    five.data(&[2, 4, 5, 6, 7]);
    five.forwards_reply(&[3, 4, 5, 6, 7, 8], 4);
    assert_eq!(five.hears((6, 7), 6, 6, None), [[5, 4]]);
    five.data(&[1, 4, 5, 6, 7]);
    five.data(&[1, 4, 5, 8, 9]);
    five.hear((6, 7), 6, 6, None);
    five.hear((8, 9), 8, 8, None);
    assert_eq!(five.notices(), [[5, 4], [5, 4]]);
}

#[test]
fn overheard_routes_over_the_link_are_removed_without_notices() {
    let mut five = cache();
    five.overhears(&[1, 4, 6, 7], 2);
    assert_eq!(five.route(7), [5, 4, 6, 7]);
    assert_eq!(five.hears((7, 6), 7, 3, None), NONE);
    assert_eq!(five.route(7), []);
    assert!(five.overhears(&[1, 4, 6, 7], 2), "it may be added again");
}

#[test]
fn with_ignore_data_both_sides_are_notified() {
    let mut five = cache_with(UpdateOptions { ignore_data: true, ..UpdateOptions::PAPER });
    five.gets_reply(&[5, 3, 7]);
    five.data(&[1, 4, 5, 6, 7]);
    assert_eq!(five.clone().fails(6, &[1, 4, 5, 6, 7]), [vec![5, 4], vec![5, 3, 7]]);
    five.gets_reply(&[5, 8, 9]);
    assert_eq!(five.hears((8, 9), 9, 3, None), [[5, 8]]);
}

#[test]
fn with_ignore_replies_receivers_of_replies_are_not_notified() {
    let mut five = cache_with(UpdateOptions { ignore_replies: true, ..UpdateOptions::PAPER });
    five.forwards_reply(&[1, 4, 5, 6, 7, 9], 4);
    five.data(&[2, 3, 5, 6, 7, 9]);
    assert_eq!(five.hears((6, 7), 6, 6, None), [[5, 3]]);
}

#[test]
fn with_truncate_the_part_before_the_link_is_kept() {
    let mut five = cache_with(UpdateOptions { truncate: true, ..UpdateOptions::PAPER });
    five.data(&[1, 4, 5, 6, 7, 9]);
    five.data(&[1, 4, 5, 6, 7]);
    five.data(&[7, 6, 5]);
    five.forwards_reply(&[2, 3, 5, 6, 7], 3);
    five.overhears(&[8, 6, 7], 1);
    assert_eq!(five.hears((6, 7), 6, 6, None), [[5, 3], [5, 4]]);
    assert_eq!(five.table(), [(vec![1, 4, 5, 6], (1, 9), 1), (vec![6, 5], (7, 5), 1)]);
    assert_eq!(five.records(), [[3, 5, 6]]);
    assert_eq!((five.route(6), five.route(7)), (vec![5, 6], vec![]));
    // Of a link at this node nothing is left on the other side.
    five.hears((5, 6), 6, 3, None);
    assert_eq!(five.table(), [(vec![1, 4, 5], (1, 9), 1)]);
}

#[test]
fn without_notify_it_is_only_a_table() {
    let mut five = cache_with(UpdateOptions { notify: false, ..UpdateOptions::PAPER });
    five.data(&[1, 4, 5, 6, 7, 9]);
    five.forwards_reply(&[2, 3, 5, 6, 7], 3);
    assert_eq!(five.hears((6, 7), 6, 6, None), NONE);
    assert_eq!((five.table(), five.records()), (vec![], NONE));
}

/// A hundred routes, each of which is found again.
#[test]
fn the_table_has_no_limit() {
    let mut five = cache();
    for n in 10..110 {
        assert!(five.gets_reply(&[5, n, n + 100]));
    }
    assert!((10..110).all(|n| five.route(n + 100) == [5, n, n + 100]));
}
