//! No harm: what a host loses by the shim that plain TCP would have kept, on networks that the kernel
//! alone makes.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::thread;

use driftway_aid::registry::find;
use driftway_base::{Duration, Instant};
use driftway_host::{ShimDaemon, RealClock, ShimSettings};
use driftway_shim::{Config, Counts, Shim};
use netlink_packet_route::rule::{RuleAttribute, RuleUidRange};
use socket2::Socket;

use crate::shim_daemon::{millis, secs};
use crate::filter::{
    self, Expression, FORWARD, INPUT, OUTPUT, OUTPUT_MANGLE, OUTPUT_NAT, POSTROUTING_NAT,
};
use crate::on_path::{PacketCapture, forge_unreachable, forger};
use crate::shimmed::{ReceivedStream, RunningShim, Transfer, Until};
use crate::wired::{
    self, Cut, GATEWAYS, HERE, MAIN, PORT, SECOND, SERVER, SIDES, TwoLinkNetwork, UPLINKS, NextHop,
};

tests![
    what_has_a_mark_keeps_to_its_way,
    what_is_bound_to_a_device_keeps_to_its_way,
    what_a_rule_marks_by_its_owner_keeps_to_its_way,
    what_is_routed_by_its_owner_keeps_to_its_way,
    a_translated_connection_resumes_as_any_other,
    a_strict_firewall_costs_nothing,
    the_other_way_of_two_by_source_goes_on,
    the_other_way_of_two_by_mark_goes_on,
    the_other_way_of_two_by_device_goes_on,
    the_other_way_of_two_by_owner_goes_on,
    what_is_sent_for_another_host_goes_on,
    what_nothing_of_the_shims_reaches_goes_on,
    a_smaller_mtu_of_a_cable_that_comes_back,
    a_smaller_mtu_of_the_own_link_after_a_cut,
    a_smaller_mtu_of_the_route_after_a_cut,
    a_smaller_mtu_behind_a_router_after_a_cut,
    a_black_hole_after_a_cut,
    carry_outlives_forged_notifications,
    atcp_outlives_forged_notifications,
];

/// A user whose traffic a rule may single out.
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
        [plain.expect("plain TCP can do it"), shimmed]
    })
}

/// A socket in the host's namespace.
fn connected_socket(net: &TwoLinkNetwork, uid: u32, prepare: impl FnOnce(&Socket) + Send) -> Socket {
    let make = || {
        let socket = wired::socket(uid)?;
        prepare(&socket);
        Ok::<_, std::io::Error>(socket)
    };
    net.host.run(make).unwrap().unwrap()
}

/// What a cut did to a transfer.
#[derive(Debug)]
struct Resumed {
    /// From its end to the first data.
    first: Duration,
    counts: Option<Counts>,
}

impl Resumed {
    /// It was the shim that carried it over the outage.
    fn assert_carried(&self) {
        let counts = self.counts.expect("there was one");
        assert!(counts.outages > 0 && counts.originals_sent > 0, "{self:?}");
        assert_eq!(counts.no_carrier, 0, "{self:?}");
    }
}

/// A transfer over a way that is cut, of which the router notifies by ICMP.
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

/// The connection belongs on the second way, and that one is cut.
fn keeps_to_the_second_way(lay: impl Fn(&TwoLinkNetwork) -> Socket + Sync) {
    let [plain, shimmed] = arms(|shimmed| {
        let net = TwoLinkNetwork::new().unwrap();
        let socket = lay(&net);
        let watch = PacketCapture::start(&net.routers[0].namespace).unwrap();
        let resumed = cut_for(secs(4), &net, 1, (socket, SERVER), shimmed);
        assert_eq!(watch.data().count(), 0, "by the first way: {resumed:?}");
        resumed
    });
    shimmed.assert_carried();
    assert!(shimmed.first < plain.first + millis(500), "{shimmed:?} {plain:?}");
}

fn what_has_a_mark_keeps_to_its_way() {
    keeps_to_the_second_way(|net| {
        let rule = || wired::rule(RuleAttribute::FwMark(MARK), SECOND);
        net.host.run(rule).unwrap().unwrap();
        connected_socket(net, 0, |socket| socket.set_mark(MARK).unwrap())
    });
}

fn what_is_bound_to_a_device_keeps_to_its_way() {
    keeps_to_the_second_way(|net| {
        // A way by that device, which others do not take.
        let rule = || wired::rule(RuleAttribute::Oifname(UPLINKS[1].into()), SECOND);
        net.host.run(rule).unwrap().unwrap();
        connected_socket(net, 0, |socket| socket.bind_device(Some(UPLINKS[1].as_bytes())).unwrap())
    });
}

/// One user's traffic has a tunnel of its own.
fn what_a_rule_marks_by_its_owner_keeps_to_its_way() {
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

fn what_is_routed_by_its_owner_keeps_to_its_way() {
    keeps_to_the_second_way(|net| {
        let range = RuleUidRange { start: USER, end: USER };
        net.host.run(|| wired::rule(RuleAttribute::UidRange(range), SECOND)).unwrap().unwrap();
        connected_socket(net, USER, |_| {})
    });
}

fn a_translated_connection_resumes_as_any_other() {
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
        // Well before its own timer would send again: it must hear what the shim says.
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
    // Nothing of the shim's leaves: both wait for TCP's own timer.
    assert!(shimmed.first < plain.first + secs(1), "{shimmed:?} {plain:?}");
    assert_eq!(shimmed.counts.expect("there was one").no_carrier, 1, "{shimmed:?}");
}

/// What the loss of a link did.
#[derive(Debug)]
struct OtherLinkStall {
    /// The longest time without data, of the flow over the other link.
    healthy: [Duration; 2],
    /// From the return of a flow's own link to its first data.
    first: [Duration; 2],
}

/// Two flows to one server, one over each link; then first the second link is gone, later the first.
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
            // The second way is back at 7.5 s, and a kernel's timeouts have doubled to 3 s by then.
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
        // A packet may have to wait for the answer to an ARP request, of which there is one a second.
        assert!(shimmed < plain + millis(1300), "resumed after {shimmed:?}, else {plain:?}");
    }
}

fn the_other_way_of_two_by_source_goes_on() {
    let bind = |socket: &Socket| {
        socket.bind(&SocketAddr::from((HERE[1], 0)).into()).unwrap();
    };
    the_other_way_goes_on(Some(RuleAttribute::Source(HERE[1].into())), 0, bind);
}

fn the_other_way_of_two_by_mark_goes_on() {
    let mark = |socket: &Socket| socket.set_mark(MARK).unwrap();
    the_other_way_goes_on(Some(RuleAttribute::FwMark(MARK)), 0, mark);
}

fn the_other_way_of_two_by_device_goes_on() {
    let bind = |socket: &Socket| socket.bind_device(Some(UPLINKS[1].as_bytes())).unwrap();
    the_other_way_goes_on(Some(RuleAttribute::Oifname(UPLINKS[1].into())), 0, bind);
}

fn the_other_way_of_two_by_owner_goes_on() {
    let range = RuleUidRange { start: USER, end: USER };
    the_other_way_goes_on(Some(RuleAttribute::UidRange(range)), USER, |_| {});
}

/// A transparent proxy sends from its clients' addresses, which are none of this host's; a link that it
/// does not use comes and goes.
fn what_is_sent_for_another_host_goes_on() {
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

/// A socket is bound to one interface and has the address of another: what the shim makes up for it comes in
/// by that one, and no socket takes it. The kernel answers with a reset, which the peer of an idle connection
/// would believe.
fn what_nothing_of_the_shims_reaches_goes_on() {
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
    exchange().expect("they are connected");
    // Another way goes and comes, so that it is looked where packets leave.
    net.plug(1, false);
    nap(millis(1500));
    net.plug(1, true);
    nap(millis(1500));
    exchange().expect("they still are");
    let stood = shim.stop();
    assert!(stood.daemon_counts.injected > 0 && stood.counts.resets_of_own > 0, "{stood:?}");
}

/// The longest packet of a path that has come back, 600 bytes less than before.
const SMALLER: u16 = 900;
/// So much has to arrive before data flow again: more than a window.
const FLOWING: u64 = 100_000;

/// A cut of three seconds, of which the router notifies, at whose end the path takes only smaller
/// packets. When data flow again depends on when the local TCP next sends again, and that on when the
/// router sends its messages, one a second: the two arms may differ by that, and by half a second.
fn a_smaller_mtu_after_a_cut(own: bool, shrink: impl Fn(&TwoLinkNetwork) + Sync) {
    let [plain, shimmed] = arms(|shimmed| {
        let net = TwoLinkNetwork::new().unwrap();
        // RFC 4821: a host of which more is asked than to heed ICMP.
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

fn a_smaller_mtu_of_a_cable_that_comes_back() {
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

/// Longer packets vanish, and nobody says so: only the local TCP's timeouts find the length, and the
/// doublings of those that the shim's probes have drawn a router's messages from must not stand.
fn a_black_hole_after_a_cut() {
    a_smaller_mtu_after_a_cut(false, |net| {
        let rules: &[&[Expression]] = &[&[Expression::Longer(SMALLER), Expression::Drop]];
        let install = || filter::install("hole", FORWARD, rules);
        net.routers[0].namespace.run(install).unwrap().unwrap();
    });
}

/// Somebody on the path, who sees the numbers, says five times a second, and falsely, that the server
/// cannot be reached.
fn outlives_forged_notifications(aid: &str) {
    let net = TwoLinkNetwork::new().unwrap();
    let listed = find(aid).expect("it is in the list");
    let shim = RunningShim::start_with(&net.host, || {
        let make = move || listed.build(&[]).expect("it has defaults");
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
        forge_unreachable(&forger, newest.as_ref().expect("it sends"));
        nap(millis(200));
    }
    let last = clock.now();
    let first = transfer.finish().first_after(last);
    let stood = shim.stop();
    assert!(stood.counts.outages > 0, "it was believed at first: {stood:?}");
    assert!(first < secs(2), "{first:?} {stood:?}");
}

fn carry_outlives_forged_notifications() {
    outlives_forged_notifications("carry");
}

fn atcp_outlives_forged_notifications() {
    outlives_forged_notifications("atcp");
}
