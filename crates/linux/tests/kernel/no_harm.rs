//! No harm: cases in which a shim could lose a connection that plain TCP keeps, on networks built
//! by the kernel alone.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::thread;

use driftway_aid::registry::find;
use driftway_base::{Duration, Instant};
use driftway_linux::{RealClock, ShimDaemon, ShimSettings};
use driftway_shim::{Config, Counts, Shim};
use netlink_packet_route::rule::{RuleAttribute, RuleUidRange};
use socket2::Socket;

use crate::filter::{
    self, Expression, FORWARD, INPUT, OUTPUT, OUTPUT_MANGLE, OUTPUT_NAT, POSTROUTING_NAT,
};
use crate::on_path::{PacketCapture, forge_unreachable, forger};
use crate::shim_daemon::{millis, secs};
use crate::shimmed::{ReceivedStream, RunningShim, Transfer, Until};
use crate::wired::{
    self, Cut, GATEWAYS, HERE, MAIN, NextHop, PORT, SECOND, SERVER, SIDES, TwoLinkNetwork, UPLINKS,
};

tests![
    routing_by_mark_is_kept,
    routing_by_device_is_kept,
    routing_by_a_rules_mark_is_kept,
    routing_by_owner_is_kept,
    help_reaches_packets_that_a_rule_classifies,
    a_translated_connection_resumes,
    a_strict_firewall_costs_nothing,
    the_other_link_by_source_is_not_disturbed,
    the_other_link_by_mark_is_not_disturbed,
    the_other_link_by_device_is_not_disturbed,
    the_other_link_by_owner_is_not_disturbed,
    a_transparent_proxy_is_not_disturbed,
    a_connection_without_injection_continues,
    a_smaller_mtu_of_a_restored_cable,
    a_smaller_mtu_of_the_own_link_after_a_cut,
    a_smaller_mtu_of_the_route_after_a_cut,
    a_smaller_mtu_behind_a_router_after_a_cut,
    a_black_hole_after_a_cut,
    carry_outlives_forged_notifications,
    atcp_outlives_forged_notifications,
];

/// A user whose traffic a rule may match.
const USER: u32 = 4711;
const MARK: u32 = 7;
const TCP: u8 = 6;

fn nap(span: Duration) {
    thread::sleep(std::time::Duration::from_nanos(span.as_nanos()));
}

fn at(millis_from_start: u64) -> Instant {
    Instant::ZERO + millis(millis_from_start)
}

/// Runs both arms at once: without the shim and with it.
fn arms<T: Send>(arm: impl Fn(bool) -> T + Sync) -> [T; 2] {
    thread::scope(|scope| {
        let arms = [false, true].map(|shimmed| {
            let arm = &arm;
            scope.spawn(move || arm(shimmed))
        });
        let [plain, shimmed] = arms.map(|arm| arm.join());
        let shimmed = shimmed.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        [plain.expect("plain TCP passes"), shimmed]
    })
}

/// A socket in the host's namespace.
fn connected_socket(
    net: &TwoLinkNetwork,
    uid: u32,
    prepare: impl FnOnce(&Socket) + Send,
) -> Socket {
    let make = || {
        let socket = wired::socket(uid)?;
        prepare(&socket);
        Ok::<_, std::io::Error>(socket)
    };
    net.host.run(make).unwrap().unwrap()
}

/// Effect of a cut on a transfer.
#[derive(Debug)]
struct Resumed {
    /// Time from the end of the cut to the first data.
    first: Duration,
    counts: Option<Counts>,
}

impl Resumed {
    /// Asserts that the shim carried it over the outage.
    fn assert_carried(&self) {
        let counts = self.counts.expect("the arm has a shim");
        assert!(counts.outages > 0 && counts.originals_sent > 0, "{self:?}");
        assert_eq!(counts.no_carrier, 0, "{self:?}");
    }
}

/// A transfer over a link that is cut, of which the router notifies by ICMP.
fn cut_for(
    lasts: Duration,
    net: &TwoLinkNetwork,
    way: usize,
    (socket, to): (Socket, Ipv4Addr),
    shimmed: bool,
) -> Resumed {
    let shim = shimmed.then(|| RunningShim::start(&net.host, &ShimSettings::default()));
    let clock = RealClock::start();
    let (to, until) = (SocketAddrV4::new(to, PORT), Until::Time(at(2500) + lasts));
    let transfer = Transfer::over(socket, net.listen(PORT), to, clock, "cubic", until).connected();
    nap(millis(1000));
    net.routers[way].block(Cut::Notified);
    nap(lasts);
    net.routers[way].unblock(Cut::Notified);
    let back = clock.now();
    let first = transfer.finish().first_after(back);
    Resumed { first, counts: shim.map(|shim| shim.stop().counts) }
}

/// The connection is routed over the second link, which is cut.
fn keeps_to_the_second_way(lay: impl Fn(&TwoLinkNetwork) -> Socket + Sync) {
    let [plain, shimmed] = arms(|shimmed| {
        let net = TwoLinkNetwork::new().unwrap();
        let socket = lay(&net);
        let watch = PacketCapture::start(&net.routers[0].namespace).unwrap();
        let resumed = cut_for(secs(4), &net, 1, (socket, SERVER), shimmed);
        assert_eq!(watch.data().count(), 0, "over the first link: {resumed:?}");
        resumed
    });
    shimmed.assert_carried();
    assert!(shimmed.first < plain.first + millis(500), "{shimmed:?} {plain:?}");
}

fn routing_by_mark_is_kept() {
    keeps_to_the_second_way(|net| {
        let rule = || wired::rule(RuleAttribute::FwMark(MARK), SECOND);
        net.host.run(rule).unwrap().unwrap();
        connected_socket(net, 0, |socket| socket.set_mark(MARK).unwrap())
    });
}

fn routing_by_device_is_kept() {
    keeps_to_the_second_way(|net| {
        // A route for sockets bound to that device.
        let rule = || wired::rule(RuleAttribute::Oifname(UPLINKS[1].into()), SECOND);
        net.host.run(rule).unwrap().unwrap();
        connected_socket(net, 0, |socket| socket.bind_device(Some(UPLINKS[1].as_bytes())).unwrap())
    });
}

/// One user's traffic has a tunnel of its own.
fn routing_by_a_rules_mark_is_kept() {
    keeps_to_the_second_way(|net| {
        let rules = || {
            wired::rule(RuleAttribute::FwMark(MARK), SECOND)?;
            let marks = [Expression::Uid(USER), Expression::SetMark(MARK)];
            filter::install("marks", OUTPUT_MANGLE, &[&marks])?;
            let masks = [Expression::To(UPLINKS[1]), Expression::Masquerade];
            filter::install("masks", POSTROUTING_NAT, &[&masks])
        };
        net.host.run(rules).unwrap().unwrap();
        connected_socket(net, USER, |_| {})
    });
}

/// Packets have a class of a queue discipline, set by a rule.
fn help_reaches_packets_that_a_rule_classifies() {
    keeps_to_the_second_way(|net| {
        let rules = || {
            wired::rule(RuleAttribute::FwMark(MARK), SECOND)?;
            let marks = [Expression::SetPriority(0x0001_0002), Expression::SetMark(MARK)];
            filter::install("classes", OUTPUT_MANGLE, &[&marks])
        };
        net.host.run(rules).unwrap().unwrap();
        connected_socket(net, USER, |_| {})
    });
}

fn routing_by_owner_is_kept() {
    keeps_to_the_second_way(|net| {
        let range = RuleUidRange { start: USER, end: USER };
        net.host.run(|| wired::rule(RuleAttribute::UidRange(range), SECOND)).unwrap().unwrap();
        connected_socket(net, USER, |_| {})
    });
}

fn a_translated_connection_resumes() {
    const ALIAS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
    let run = |to: Ipv4Addr| {
        let net = TwoLinkNetwork::new().unwrap();
        let rules = || {
            filter::install(
                "alias",
                OUTPUT_NAT,
                &[&[Expression::Protocol(TCP), Expression::Dnat(SERVER)]],
            )?;
            let masks = [Expression::To(UPLINKS[0]), Expression::Masquerade];
            filter::install("masks", POSTROUTING_NAT, &[&masks])
        };
        if to == ALIAS {
            net.host.run(rules).unwrap().unwrap();
        }
        let socket = connected_socket(&net, 0, |_| {});
        // Well before its own timer expires: it must receive the injected segments.
        cut_for(millis(6750), &net, 0, (socket, to), true)
    };
    let translated = [ALIAS; 3].map(|to| thread::spawn(move || run(to)));
    let plain = run(SERVER);
    for translated in translated {
        let translated = translated.join().unwrap();
        translated.assert_carried();
        assert!(translated.first < plain.first + secs(1), "{translated:?} {plain:?}");
    }
}

fn a_strict_firewall_costs_nothing() {
    let [plain, shimmed] = arms(|shimmed| {
        let net = TwoLinkNetwork::new().unwrap();
        let rules = || {
            use Expression::{Accept, Drop, Invalid, Uid};
            filter::install("inward", INPUT, &[&[Invalid, Drop]])?;
            // Only this user's programs may use the network.
            filter::install("outward", OUTPUT, &[&[Invalid, Drop], &[Uid(USER), Accept], &[Drop]])
        };
        net.host.run(rules).unwrap().unwrap();
        cut_for(secs(4), &net, 0, (connected_socket(&net, USER, |_| {}), SERVER), shimmed)
    });
    // No packet of the shim leaves: both arms wait for TCP's own timer.
    assert!(shimmed.first < plain.first + secs(1), "{shimmed:?} {plain:?}");
    assert_eq!(shimmed.counts.expect("the arm has a shim").no_carrier, 1, "{shimmed:?}");
}

/// Effect of a link failure.
#[derive(Debug)]
struct OtherLinkStall {
    /// The longest time without data of the flow over the other link.
    healthy: [Duration; 2],
    /// Time from the recovery of a flow's own link to its first data.
    first: [Duration; 2],
}

/// Two flows to one server, one over each link; first the second link fails, later the first.
fn the_other_way_goes_on(
    policy: Option<RuleAttribute>,
    uid: u32,
    prepare: impl Fn(&Socket) + Sync,
) {
    let [plain, shimmed] = arms(|shimmed| {
        let net = TwoLinkNetwork::new().unwrap();
        let policy = policy.clone();
        net.host.run(|| policy.map_or(Ok(()), |rule| wired::rule(rule, SECOND))).unwrap().unwrap();
        let shim = shimmed.then(|| RunningShim::start(&net.host, &ShimSettings::default()));
        let clock = RealClock::start();
        let sockets = [connected_socket(&net, 0, |_| {}), connected_socket(&net, uid, &prepare)];
        let mut ports = PORT..;
        let transfers = sockets.map(|socket| {
            let port = ports.next().unwrap();
            let to = SocketAddrV4::new(SERVER, port);
            // The second link is back at 7.5 s, when a kernel's RTO has reached 3 s.
            let until = Until::Time(at(11_500));
            Transfer::over(socket, net.listen(port), to, clock, "cubic", until).connected()
        });
        let mut spans = [1, 0].map(|way| {
            nap(millis(1000));
            let from = clock.now();
            net.plug(way, false);
            nap(millis(2500));
            net.plug(way, true);
            let back = clock.now();
            nap(millis(500));
            (from, back)
        });
        let [first, second] = transfers.map(Transfer::finish);
        drop(shim.map(RunningShim::stop));
        let healthy = |arrived: &ReceivedStream, (from, back): (Instant, Instant)| {
            arrived.longest_gap(from, back + millis(500))
        };
        let [away, then] = &mut spans;
        OtherLinkStall {
            healthy: [healthy(&first, *away), healthy(&second, *then)],
            first: [first.first_after(then.1), second.first_after(away.1)],
        }
    });
    for (shimmed, plain) in shimmed.healthy.into_iter().zip(plain.healthy) {
        assert!(shimmed < plain + secs(1), "a pause of {shimmed:?}, else {plain:?}");
    }
    for (shimmed, plain) in shimmed.first.into_iter().zip(plain.first) {
        // A packet may have to wait for an ARP reply; requests are sent once a second.
        assert!(shimmed < plain + millis(1300), "resumed after {shimmed:?}, else {plain:?}");
    }
}

fn the_other_link_by_source_is_not_disturbed() {
    let bind = |socket: &Socket| {
        socket.bind(&SocketAddr::from((HERE[1], 0)).into()).unwrap();
    };
    the_other_way_goes_on(Some(RuleAttribute::Source(HERE[1].into())), 0, bind);
}

fn the_other_link_by_mark_is_not_disturbed() {
    let mark = |socket: &Socket| socket.set_mark(MARK).unwrap();
    the_other_way_goes_on(Some(RuleAttribute::FwMark(MARK)), 0, mark);
}

fn the_other_link_by_device_is_not_disturbed() {
    let bind = |socket: &Socket| socket.bind_device(Some(UPLINKS[1].as_bytes())).unwrap();
    the_other_way_goes_on(Some(RuleAttribute::Oifname(UPLINKS[1].into())), 0, bind);
}

fn the_other_link_by_owner_is_not_disturbed() {
    let range = RuleUidRange { start: USER, end: USER };
    the_other_way_goes_on(Some(RuleAttribute::UidRange(range)), USER, |_| {});
}

/// A transparent proxy sends from its clients' addresses, which do not belong to this host; a link
/// that it does not use fails and recovers.
fn a_transparent_proxy_is_not_disturbed() {
    const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 5, 5, 5);
    const INWARD: u8 = 100;
    let [plain, shimmed] = arms(|shimmed| {
        let net = TwoLinkNetwork::new().unwrap();
        let inward = || {
            wired::route(INWARD, Some((CLIENT, 32)), NextHop::Local, None)?;
            wired::rule(RuleAttribute::Iifname(UPLINKS[0].into()), INWARD)
        };
        net.host.run(inward).unwrap().unwrap();
        let back = |via| move || wired::route(MAIN, Some((CLIENT, 32)), NextHop::Via(via), None);
        net.routers[0].namespace.run(back(HERE[0])).unwrap().unwrap();
        net.server.run(back(Ipv4Addr::new(10, 1, 1, 1))).unwrap().unwrap();
        let shim = shimmed.then(|| RunningShim::start(&net.host, &ShimSettings::default()));
        let clock = RealClock::start();
        let socket = connected_socket(&net, 0, |socket| {
            socket.set_ip_transparent_v4(true).unwrap();
            socket.bind(&SocketAddr::from((CLIENT, 0)).into()).unwrap();
        });
        let (to, until) = (SocketAddrV4::new(SERVER, PORT), Until::Time(at(4500)));
        let transfer =
            Transfer::over(socket, net.listen(PORT), to, clock, "cubic", until).connected();
        nap(millis(1000));
        net.plug(1, false);
        nap(millis(2500));
        net.plug(1, true);
        let arrived = transfer.finish();
        drop(shim.map(RunningShim::stop));
        arrived.longest_gap(at(1000), at(4400))
    });
    assert!(shimmed < plain + secs(1), "a pause of {shimmed:?}, else {plain:?}");
}

/// A socket is bound to one interface and has the address of another: injected segments arrive by
/// the latter, and no socket accepts them. The kernel answers with a reset, which the peer of an
/// idle connection would accept.
fn a_connection_without_injection_continues() {
    const OWN: Ipv4Addr = Ipv4Addr::new(10, 5, 5, 5);
    let net = TwoLinkNetwork::new().unwrap();
    net.host.run(|| wired::address("lo", OWN, 32)).unwrap().unwrap();
    let back = |via| move || wired::route(MAIN, Some((OWN, 32)), NextHop::Via(via), None);
    net.routers[0].namespace.run(back(HERE[0])).unwrap().unwrap();
    net.server.run(back(Ipv4Addr::new(10, 1, 1, 1))).unwrap().unwrap();
    let shim = RunningShim::start(&net.host, &ShimSettings::default());
    let socket = connected_socket(&net, 0, |socket| {
        socket.bind_device(Some(UPLINKS[0].as_bytes())).unwrap();
        socket.bind(&SocketAddr::from((OWN, 0)).into()).unwrap();
        socket.set_read_timeout(Some(std::time::Duration::from_secs(5))).unwrap();
    });
    let listener = net.listen(PORT);
    socket.connect(&SocketAddr::from((SERVER, PORT)).into()).unwrap();
    let (mut near, (mut far, _)) = (TcpStream::from(socket), listener.accept().unwrap());
    let mut exchange = || {
        near.write_all(b"here")?;
        far.read_exact(&mut [0; 4])?;
        far.write_all(b"there")?;
        near.read_exact(&mut [0; 5])
    };
    exchange().expect("the sockets are connected");
    // A young connection passes by.
    nap(millis(1100));
    exchange().expect("the sockets are connected");
    // Another link fails and recovers, which starts a route review.
    net.plug(1, false);
    nap(millis(1500));
    net.plug(1, true);
    nap(millis(1500));
    exchange().expect("the sockets are still connected");
    let stood = shim.stop();
    assert!(stood.daemon_counts.injected > 0 && stood.counts.own_resets > 0, "{stood:?}");
}

/// MTU of the restored path, 600 bytes less than before.
const SMALLER: u16 = 900;
/// Bytes that have to arrive before data count as flowing again: more than a window.
const FLOWING: u64 = 100_000;

/// A cut of three seconds with ICMP notification, after which the path has a smaller MTU. The time
/// at which data flow again depends on the local TCP's next retransmission, and on the router's
/// messages, one a second: the arms may differ by that, and by half a second.
fn a_smaller_mtu_after_a_cut(own: bool, shrink: impl Fn(&TwoLinkNetwork) + Sync) {
    let [plain, shimmed] = arms(|shimmed| {
        let net = TwoLinkNetwork::new().unwrap();
        // RFC 4821 must work as well as ICMP.
        net.host.set_sysctl("net/ipv4/tcp_mtu_probing", "1").unwrap();
        let shim = shimmed.then(|| RunningShim::start(&net.host, &ShimSettings::default()));
        let clock = RealClock::start();
        let (to, until) = (SocketAddrV4::new(SERVER, PORT), Until::Time(at(10_000)));
        let socket = connected_socket(&net, 0, |_| {});
        let transfer =
            Transfer::over(socket, net.listen(PORT), to, clock, "cubic", until).connected();
        nap(millis(1000));
        if own {
            net.plug(0, false);
        } else {
            net.routers[0].block(Cut::Notified);
        }
        nap(millis(1500));
        shrink(&net);
        nap(millis(1500));
        if own {
            net.plug(0, true);
        } else {
            net.routers[0].unblock(Cut::Notified);
        }
        let back = clock.now();
        let arrived = transfer.finish();
        let stood = shim.map(RunningShim::stop);
        assert!(stood.is_none_or(|stood| stood.counts.outages > 0), "it takes no part");
        arrived.reached_after(back, FLOWING)
    });
    assert!(shimmed < plain + millis(1500), "{shimmed:?}, else {plain:?}");
}

fn a_smaller_mtu_of_a_restored_cable() {
    a_smaller_mtu_after_a_cut(true, |net| {
        net.host.run(|| wired::mtu(UPLINKS[0], SMALLER.into())).unwrap().unwrap();
    });
}

fn a_smaller_mtu_of_the_own_link_after_a_cut() {
    a_smaller_mtu_after_a_cut(false, |net| {
        net.host.run(|| wired::mtu(UPLINKS[0], SMALLER.into())).unwrap().unwrap();
    });
}

fn a_smaller_mtu_of_the_route_after_a_cut() {
    a_smaller_mtu_after_a_cut(false, |net| {
        let way = NextHop::Via(GATEWAYS[0]);
        let route = || wired::route(MAIN, None, way, Some(SMALLER.into()));
        net.host.run(route).unwrap().unwrap();
    });
}

fn a_smaller_mtu_behind_a_router_after_a_cut() {
    a_smaller_mtu_after_a_cut(false, |net| {
        let inside = &net.routers[0].namespace;
        inside.run(|| wired::mtu(SIDES[1], SMALLER.into())).unwrap().unwrap();
    });
}

/// Longer packets are dropped silently: only the local TCP's timeouts find the MTU, and doublings
/// of its RTO must be reverted where the shim's probes have drawn the router's messages.
fn a_black_hole_after_a_cut() {
    a_smaller_mtu_after_a_cut(false, |net| {
        let rules: &[&[Expression]] = &[&[Expression::Longer(SMALLER), Expression::Drop]];
        let install = || filter::install("hole", FORWARD, rules);
        net.routers[0].namespace.run(install).unwrap().unwrap();
    });
}

/// An on-path attacker, who sees the sequence numbers, reports the server as unreachable five times
/// a second.
fn outlives_forged_notifications(aid: &str) {
    let net = TwoLinkNetwork::new().unwrap();
    let listed = find(aid).expect("the aid is registered");
    let shim = RunningShim::start_with(&net.host, || {
        let make = move || listed.build(&[]).expect("the aid has defaults");
        ShimDaemon::start_with_shim(&[], Shim::with_aid(Config::default(), make))
    });
    let on_the_path = &net.routers[0].namespace;
    let watch = PacketCapture::start(on_the_path).unwrap();
    let forger = forger(on_the_path).unwrap();
    let clock = RealClock::start();
    let (to, until) = (SocketAddrV4::new(SERVER, PORT), Until::Time(at(9000)));
    let socket = connected_socket(&net, 0, |_| {});
    let transfer = Transfer::over(socket, net.listen(PORT), to, clock, "cubic", until).connected();
    nap(millis(1000));
    let mut newest = None;
    for _ in 0..25 {
        newest = watch.data().last().or(newest);
        forge_unreachable(&forger, newest.as_ref().expect("the transfer sends data"));
        nap(millis(200));
    }
    let last = clock.now();
    let first = transfer.finish().first_after(last);
    let stood = shim.stop();
    assert!(stood.counts.outages > 0, "no report was accepted: {stood:?}");
    assert!(first < secs(2), "{first:?} {stood:?}");
}

fn carry_outlives_forged_notifications() {
    outlives_forged_notifications("carry");
}

fn atcp_outlives_forged_notifications() {
    outlives_forged_notifications("atcp");
}
