//! The claim of DSR-Update (yu-2004 §2.2): all reachable nodes that have a broken link in their tables are
//! notified, and no others.

use std::collections::BTreeSet;

use driftway_base::{Duration, FailedLink, Instant, RandomStream};
use driftway_route::{CacheKind, CacheLimits, DsrConfig, UpdateOptions};
use driftway_wire::{DsrErrorKind, RoutedPacket};
use proptest::prelude::*;

use crate::net::{Net, Sent, address, number};

/// Two nodes that hear each other.
type Link = (usize, usize);

fn config(options: UpdateOptions) -> DsrConfig {
    DsrConfig { cache: CacheKind::update(options), promiscuous: false, ..DsrConfig::STANDARD }
}

fn has(net: &Net, node: usize, (a, b): Link) -> bool {
    let link = |from, to| FailedLink { from: address(from), to: address(to) };
    let dsr = &net.nodes[node];
    dsr.has_cached_link(net.now, link(a, b)) || dsr.has_cached_link(net.now, link(b, a))
}

fn holders(net: &Net, link: Link) -> BTreeSet<usize> {
    (0..net.nodes.len()).filter(|node| has(net, *node, link)).collect()
}

fn crosses(route: &[usize], (a, b): Link) -> bool {
    route.windows(2).any(|ends| ends == [a, b] || ends == [b, a])
}

/// The route of a packet, if the packet contains it.
fn source_route(packet: &RoutedPacket) -> Option<Vec<usize>> {
    let route = packet.dsr.as_ref()?.source_route.as_ref()?;
    let ip = &packet.packet.ip;
    let source = (route.salvage == 0).then_some(ip.source);
    let nodes = source.iter().chain(route.route.as_slice()).chain([&ip.destination]);
    Some(nodes.map(|node| number(*node)).collect())
}

/// The route listed in a reply.
fn replied(packet: &RoutedPacket) -> Option<Vec<usize>> {
    let reply = packet.dsr.as_ref()?.reply.as_ref()?;
    let nodes = [packet.packet.ip.destination];
    Some(nodes.iter().chain(reply.route.as_slice()).map(|node| number(*node)).collect())
}

/// The neighbours between which a frame has taught the link, if it contains the link in the part that the
/// receiver learns (of a reply the rest, of a data packet the whole route), and all other links of that part
/// are still up.
fn taught(net: &Net, sent: &Sent, link: Link) -> Option<Link> {
    let to = sent.to.filter(|_| !sent.failed)?;
    let data = source_route(&sent.packet).filter(|_| !sent.packet.is_control());
    let listed = replied(&sent.packet).and_then(|route| {
        let at = route.iter().position(|node| *node == to)?;
        // Data of the same pair includes it in a longer route.
        let grown = net.sent.iter().filter(|later| later.at > sent.at && later.from == to);
        let mut grown = grown.filter(|later| later.to == Some(sent.from) && !later.failed);
        let is_grown = grown.any(|later| {
            !later.packet.is_control() && source_route(&later.packet).as_ref() == Some(&route)
        });
        Some(route[at..].to_vec()).filter(|_| !is_grown)
    });
    let stands = |route: &Vec<usize>| {
        let up = |ends: &[usize]| crosses(ends, link) || net.hears[ends[0]][ends[1]];
        crosses(route, link) && route.windows(2).all(up)
    };
    let has_it = data.iter().chain(&listed).any(stands);
    (has_it && !crosses(&[sent.from, to], link)).then_some((sent.from, to))
}

/// The links that each node had at some time.
type Snapshot = (Instant, BTreeSet<(usize, Link)>);

fn snapshot(net: &Net) -> Snapshot {
    let n = net.nodes.len();
    let links = (0..n).flat_map(|a| (0..n).map(move |b| (a, b)));
    let all = links.flat_map(|link| holders(net, link).into_iter().map(move |node| (node, link)));
    (net.now, all.collect())
}

/// Partitions `nodes` into sets that notices can reach: the nodes have taught each other the link on a route
/// that is still up, and have not removed it since.
fn parts(
    net: &Net,
    nodes: &BTreeSet<usize>,
    link: Link,
    before: &[Snapshot],
) -> Vec<BTreeSet<usize>> {
    let kept = |node: usize, since: Instant| {
        let later = before.iter().filter(|(at, _)| *at >= since);
        nodes.contains(&node) && later.clone().all(|(_, has)| has.contains(&(node, link)))
    };
    let hops: Vec<_> = net
        .sent
        .iter()
        .filter_map(|sent| taught(net, sent, link).map(|(a, b)| (sent.at, a, b)))
        .filter(|(at, a, b)| kept(*a, *at) && kept(*b, *at) && net.hears[*a][*b])
        .map(|(_, a, b)| (a, b))
        .collect();
    let mut left = nodes.clone();
    let mut parts = Vec::new();
    while let Some(first) = left.pop_first() {
        let mut part = BTreeSet::from([first]);
        let mut size = 0;
        while part.len() > size {
            size = part.len();
            for (a, b) in &hops {
                if part.contains(a) || part.contains(b) {
                    part.extend([*a, *b]);
                }
            }
        }
        left.retain(|node| !part.contains(node));
        parts.push(part);
    }
    parts
}

fn is_request(packet: &RoutedPacket) -> bool {
    packet.dsr.is_some_and(|dsr| dsr.request().is_some())
}

/// The node that a notice is for, if this is one: its hop limit is as long as its path.
fn notice_for(packet: &RoutedPacket) -> Option<usize> {
    let dsr = packet.dsr.filter(|dsr| dsr.request().is_none() && packet.is_control())?;
    let error = dsr.errors().next()?;
    let left = dsr.source_route.map_or(0, |route| route.segments_left);
    let is_link = matches!(error.kind, DsrErrorKind::NodeUnreachable(_));
    let ip = &packet.packet.ip;
    (is_link && ip.ttl == left + 1).then(|| number(ip.destination))
}

#[derive(Clone, Copy, Debug)]
struct Case {
    n: usize,
    seed: u64,
    /// Links out of ten possible ones.
    density: u64,
    /// Packets before each failure.
    packets: u64,
    route_to_neighbour: bool,
    truncate: bool,
}

/// A network in which packets are sent, each after the previous one has arrived.
fn network(case: Case, random: &mut RandomStream) -> Net {
    let options = UpdateOptions { truncate: case.truncate, ..UpdateOptions::PAPER };
    let config = DsrConfig { route_to_neighbour: case.route_to_neighbour, ..config(options) };
    let mut net = Net::new(config, case.n, case.seed);
    join(&mut net, case.density, random);
    net
}

/// Each pair of nodes hears each other with probability `density` / 10.
fn join(net: &mut Net, density: u64, random: &mut RandomStream) {
    for a in 0..net.nodes.len() {
        for b in 0..a {
            net.link(a, b, random.uniform_below(10) < density);
        }
    }
}

fn send_some(net: &mut Net, packets: u64, random: &mut RandomStream) {
    let n = net.nodes.len() as u64;
    net.loses = Box::new(|_| false);
    for id in 0..packets {
        let (from, to) = (random.uniform_below(n) as usize, random.uniform_below(n) as usize);
        if from != to {
            net.send(from, to, id as u32);
            net.run(net.now + Duration::from_secs(40));
        }
    }
}

/// A link that a packet would use now, its first node, and the source and destination of the packet.
fn pick(net: &mut Net, random: &mut RandomStream) -> Option<(Link, Link)> {
    let n = net.nodes.len();
    let mut uses = Vec::new();
    for from in 0..n {
        for to in 0..n {
            let mut route = net.route(from, to).unwrap_or_default();
            // A link that has failed before would be found first.
            if route.windows(2).any(|ends| !net.hears[ends[0]][ends[1]]) {
                route.clear();
            }
            uses.extend(route.windows(2).map(|ends| ((ends[0], ends[1]), (from, to))));
        }
    }
    (!uses.is_empty()).then(|| uses[random.uniform_below(uses.len() as u64) as usize])
}

/// A failure, and its consequences.
struct Failure {
    /// The nodes that had the link before.
    holders: BTreeSet<usize>,
    /// Their partition into sets that notices can reach.
    parts: Vec<BTreeSet<usize>>,
    detector: usize,
    /// The other end, if a route to it is left.
    reachable: Option<usize>,
    /// The nodes that received notices.
    notified: Vec<usize>,
    /// The number of frames for that.
    notices: usize,
    /// The number of those that were lost, such as over a link that has failed before.
    lost: usize,
    /// The holders that still have the link.
    left: BTreeSet<usize>,
}

/// The maximum time for notices to spread.
const SPREAD_TIME: Duration = Duration::from_secs(2);

/// Loses `percent` of the frames; all requests if `no_requests`.
fn lose(net: &mut Net, percent: u64, no_requests: bool, random: &mut RandomStream) {
    let mut losses = RandomStream::new(random.uniform_below(u64::MAX), "losses", 0);
    net.loses = Box::new(move |packet| {
        no_requests && is_request(packet) || losses.uniform_below(100) < percent
    });
}

/// A link fails with a packet on it; requests are lost, so that no reply adds it again.
fn fail(
    net: &mut Net,
    loss: u64,
    random: &mut RandomStream,
    before: &[Snapshot],
) -> Option<Failure> {
    let (link, (from, to)) = pick(net, random)?;
    let holders = holders(net, link);
    let (detector, end) = link;
    net.link(detector, end, false);
    let parts = parts(net, &holders, link, before);
    let (frames, drops) = (net.sent.len(), net.dropped.len());
    lose(net, loss, true, random);
    net.send(from, to, 0);
    net.run(net.now + SPREAD_TIME);
    let lost = net.dropped[drops..].iter().filter(|(_, _, packet, _)| notice_for(packet).is_some());
    let lost = lost.count();
    let sent = &net.sent[frames..];
    let notices = sent.iter().filter(|sent| notice_for(&sent.packet).is_some()).count();
    let notified = sent.iter().filter(|sent| !sent.failed && sent.to == notice_for(&sent.packet));
    let notified = notified.filter_map(|sent| sent.to).collect();
    let reachable = net.route(detector, end).map(|_| end);
    let left = self::holders(net, link).intersection(&holders).copied().collect();
    Some(Failure { holders, parts, detector, reachable, notified, notices, lost, left })
}

impl Failure {
    /// The nodes that should have been notified and were not.
    fn missed(&self) -> BTreeSet<usize> {
        let mut missed = BTreeSet::new();
        for part in &self.parts {
            let reached = part.contains(&self.detector)
                || self.reachable.is_some_and(|end| part.contains(&end))
                || part.iter().any(|node| !self.left.contains(node));
            if reached {
                missed.extend(part.intersection(&self.left));
            }
        }
        missed
    }

    /// The nodes that were notified without having the link.
    fn in_vain(&self) -> Vec<usize> {
        let others = self.notified.iter().filter(|node| !self.holders.contains(node));
        others.copied().collect()
    }
}

fn cases() -> impl Strategy<Value = Case> {
    let switches = (any::<bool>(), any::<bool>());
    (3..11usize, any::<u64>(), 2..8u64, 1..14u64, switches).prop_map(
        |(n, seed, density, packets, (route_to_neighbour, truncate))| Case {
            n,
            seed,
            density,
            packets,
            route_to_neighbour,
            truncate,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn exactly_the_reachable_holders_of_a_broken_link_are_notified(case in cases()) {
        let mut random = RandomStream::new(case.seed, "test", 0);
        let mut net = network(case, &mut random);
        send_some(&mut net, case.packets, &mut random);
        if let Some(failure) = fail(&mut net, 0, &mut random, &[]) {
            let (missed, in_vain) = (failure.missed(), failure.in_vain());
            prop_assert!(missed.is_empty(), "{:?} still have the link", missed);
            prop_assert!(in_vain.is_empty(), "{:?} did not have the link", in_vain);
        }
    }
}

/// Links that fail one after another: where the notices of one could not reach both sides of it, a node may
/// later be notified of a link that it has removed.
#[test]
fn after_other_failures_none_is_missed_and_few_notices_are_unnecessary() {
    let (mut failures, mut holders, mut missed, mut notified, mut in_vain) = (0, 0, 0, 0, 0);
    for seed in 0..400 {
        let case =
            Case { n: 10, seed, density: 4, packets: 6, route_to_neighbour: true, truncate: false };
        let mut random = RandomStream::new(seed, "test", 0);
        let mut net = network(case, &mut random);
        let mut snapshots = Vec::new();
        for _ in 0..5 {
            send_some(&mut net, case.packets, &mut random);
            let Some(failure) = fail(&mut net, 0, &mut random, &snapshots) else { break };
            snapshots.push(snapshot(&net));
            notified += failure.notified.len();
            in_vain += failure.in_vain().len();
            // A notice over a link that has failed before is lost.
            if failure.lost == 0 {
                failures += 1;
                holders += failure.holders.len();
                missed += failure.missed().len();
            }
        }
    }
    println!("{failures} failures, {holders} holders, {missed} missed");
    println!("{notified} notified, {in_vain} in vain");
    assert!(failures > 1000 && missed == 0 && in_vain * 50 <= notified);
}

/// Statistics of links that were found broken.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Stale {
    /// Nodes that had the link in their caches.
    holders: usize,
    /// Those that still had it when the notices had spread.
    left: usize,
    /// Those of these that were known to other nodes and reachable.
    missed: usize,
    /// Notices sent, counting each hop.
    notices: usize,
}

impl Stale {
    fn percent(&self) -> usize {
        100 * self.left / self.holders.max(1)
    }
}

/// Statistics over networks with or without promiscuous mode that lose `loss` percent of the frames, without
/// retransmissions.
fn stale(cache: CacheKind, tap: bool, loss: usize) -> Stale {
    let mut all = Stale::default();
    for seed in 0..40 {
        let n = 12;
        let mut random = RandomStream::new(seed, "test", 0);
        let mut net =
            Net::new(DsrConfig { cache, promiscuous: tap, ..DsrConfig::STANDARD }, n, seed);
        join(&mut net, 3, &mut random);
        let mut snapshots = Vec::new();
        for _ in 0..8 {
            lose(&mut net, loss as u64, false, &mut random);
            for id in 0..4 {
                let (from, to) = (
                    random.uniform_below(n as u64) as usize,
                    random.uniform_below(n as u64) as usize,
                );
                for _ in 0..3 {
                    net.send(from, to, id);
                    net.run(net.now + Duration::from_secs(1));
                }
            }
            let Some(failure) = fail(&mut net, loss as u64, &mut random, &snapshots) else { break };
            snapshots.push(snapshot(&net));
            // Otherwise the packet has not got there.
            if !failure.left.contains(&failure.detector) {
                all.holders += failure.holders.len();
                all.left += failure.left.len();
                all.missed += failure.missed().len();
                all.notices += failure.notices;
            }
        }
    }
    all
}

/// The number of tables with a link that keep it after it was found broken: the numbers of the module's
/// documentation. Most of these are beyond it, where no cached route leads.
#[test]
fn fewer_stale_links_are_left_than_without_notices() {
    let paper = UpdateOptions::PAPER;
    let paths = CacheLimits { primary: 30, secondary: 64, timeout: None };
    let variants = [
        ("as it is", CacheKind::update(paper)),
        ("ignore_data", CacheKind::update(UpdateOptions { ignore_data: true, ..paper })),
        ("ignore_replies", CacheKind::update(UpdateOptions { ignore_replies: true, ..paper })),
        ("truncate", CacheKind::update(UpdateOptions { truncate: true, ..paper })),
        ("no secondary", CacheKind::update(UpdateOptions { secondary: 0, ..paper })),
        ("no notices", CacheKind::update(UpdateOptions { notify: false, ..paper })),
        ("paths", CacheKind::paths(paths)),
        ("link-max-life", CacheKind::LINK_MAX_LIFE),
    ];
    // Upper bounds of the percentage of holders that are missed.
    for (tap, loss, missed) in
        [(false, 0, 0), (false, 2, 3), (false, 10, 8), (true, 0, 1), (true, 2, 2), (true, 10, 2)]
    {
        let all = variants.map(|(name, cache)| {
            let stale = stale(cache, tap, loss);
            println!("tap {tap}, loss {loss} %, {name}: {} % left, {stale:?}", stale.percent());
            stale
        });
        let [as_it_is, ignore_data, ignore_replies, truncate, no_secondary, no_notices, ..] = all;
        assert!(as_it_is.percent() + 20 < no_notices.percent(), "{as_it_is:?} {no_notices:?}");
        assert!(as_it_is.missed * 100 <= missed * as_it_is.holders, "{as_it_is:?}");
        for other in [ignore_data, ignore_replies, truncate] {
            assert_ne!(as_it_is, other);
        }
        assert_eq!(as_it_is != no_secondary, tap, "the secondary cache is for overheard routes");
        assert_eq!(no_notices.notices, 0);
    }
}
