//! Faults that could be harmful only with a shim, on networks built from the kernel's own devices.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;

use driftway_linux::ShimSettings;
use netlink_packet_route::rule::RuleAttribute;
use nix::sys::signal::Signal;
use socket2::Socket;

use super::{Outcome, Row, ShimTotals, carry, carry_over, nap, steadily};
use crate::on_path::{PacketCapture, forge_unreachable, forger};
use crate::shimmed::ShimProcess;
use crate::wired::{self, Cut, HERE, SECOND, SERVER, SIDES, TwoLinkNetwork, UPLINKS};

pub const ROWS: [Row; 5] = [
    ("policy routing by mark, cuts by ICMP", marked),
    ("two links, one or the other out", two_links),
    ("stopped, and ended by its watchdog", stopped),
    ("smaller MTU after a cut, and back", smaller_mtu),
    ("forged ICMP, 5 a second for each", forged),
];

const MARK: u32 = 7;
/// 200 Mbit/s, and 500 packets, as on the emulated paths (bytes/s, bytes).
const RATE: u32 = 25_000_000;
const QUEUE: u32 = 750_000;

fn network() -> TwoLinkNetwork {
    TwoLinkNetwork::with_rate(RATE, QUEUE).expect("the requirements are met")
}

/// One shim at the host, while `meanwhile` is repeated; each time there is an outage, real or not.
fn under(
    net: &TwoLinkNetwork,
    bytes: u64,
    prepare: impl Fn(u64, &Socket) -> io::Result<()> + Sync,
    meanwhile: impl FnMut() + Send,
) -> Outcome {
    let outcome = carry_over([&net.host, &net.server], SERVER, bytes, prepare, |ready, done| {
        steadily(&net.host, &ShimSettings::default(), ready, done, meanwhile)
    });
    assert!(outcome.kept.counted.is_some_and(|[survived, _]| survived > 0), "no outage");
    outcome
}

/// All connections are routed over the second link, which is cut.
fn marked(bytes: u64) -> Outcome {
    let net = network();
    let rule = || wired::rule(RuleAttribute::FwMark(MARK), SECOND);
    net.host.run(rule).expect("the path is running").expect("the rule is accepted");
    let watch = PacketCapture::start(&net.routers[0].namespace).expect("the requirements are met");
    let mut outcome = under(
        &net,
        bytes,
        |_, socket| socket.set_mark(MARK),
        || {
            nap(500);
            net.routers[1].block(Cut::Notified);
            nap(1000);
            net.routers[1].unblock(Cut::Notified);
            nap(1500);
        },
    );
    outcome.astray = watch.data().count();
    outcome
}

/// Half of the connections over each link.
fn two_links(bytes: u64) -> Outcome {
    let net = network();
    let rule = || wired::rule(RuleAttribute::Source(HERE[1].into()), SECOND);
    net.host.run(rule).expect("the path is running").expect("the rule is accepted");
    let bind = |n: u64, socket: &Socket| {
        socket.bind(&SocketAddr::from((HERE[n as usize % HERE.len()], 0)).into())
    };
    under(&net, bytes, bind, || {
        for way in [0, 1] {
            nap(500);
            net.plug(way, false);
            nap(1500);
            net.plug(way, true);
            nap(1000);
        }
    })
}

/// A sequence of shims, each stopped for three seconds, of which its watchdog tolerates 0.7.
fn stopped(bytes: u64) -> Outcome {
    let net = network();
    carry([&net.host, &net.server], SERVER, bytes, |ready, done| {
        let mut kept = ShimTotals::default();
        while !done.load(Ordering::Relaxed) {
            kept.begun += 1;
            let shim = ShimProcess::start_watched(&net.host);
            ready.send(()).expect("the receiver exists");
            nap(2000);
            shim.signal(Signal::SIGSTOP);
            nap(3000);
            // If it was not killed, it would end in an orderly way.
            shim.signal(Signal::SIGCONT);
            assert_eq!(shim.ended_by(), Some(Signal::SIGKILL));
        }
        kept
    })
}

/// First the host's own link has a smaller MTU, later the router's next one.
fn smaller_mtu(bytes: u64) -> Outcome {
    const SMALLER: u32 = 900;
    const ETHERNET: u32 = 1500;
    let net = network();
    let links = [(&net.host, UPLINKS[0]), (&net.routers[0].namespace, SIDES[1])];
    let changes = links.map(|link| [SMALLER, ETHERNET].map(|mtu| (link, mtu)));
    let mut changes = changes.as_flattened().iter().cycle();
    under(
        &net,
        bytes,
        |_, _| Ok(()),
        || {
            let ((namespace, name), mtu) = changes.next().expect("the iterator is infinite");
            nap(500);
            net.routers[0].block(Cut::Notified);
            nap(500);
            namespace
                .run(|| wired::mtu(name, *mtu))
                .expect("the path is running")
                .expect("the MTU is accepted");
            if *mtu == ETHERNET {
                // The host would keep the learned path MTU for ten minutes.
                net.host
                    .set_sysctl("net/ipv4/route/flush", "1")
                    .expect("the route cache is flushed");
            }
            nap(500);
            net.routers[0].unblock(Cut::Notified);
            nap(1500);
        },
    )
}

/// An on-path attacker reports the server of each connection as unreachable, five times a second.
fn forged(bytes: u64) -> Outcome {
    let net = network();
    let on_path = &net.routers[0].namespace;
    let watch = PacketCapture::start(on_path).expect("the requirements are met");
    let forger = forger(on_path).expect("the requirements are met");
    under(
        &net,
        bytes,
        |_, _| Ok(()),
        || {
            nap(195);
            // Only packets in flight now have valid numbers.
            watch.data().for_each(drop);
            nap(5);
            // Of each connection, by its ports after an IP header without options.
            let newest: BTreeMap<_, _> =
                watch.data().map(|packet| (packet[20..24].to_vec(), packet)).collect();
            newest.values().for_each(|packet| forge_unreachable(&forger, packet));
        },
    )
}
