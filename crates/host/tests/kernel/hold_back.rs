//! As a receiver, at the edge of a path: does it wake up a sender of Linux's that has no shim?

use std::io;
use std::net::SocketAddrV4;
use std::thread;

use base::{Duration, Instant};
use host::{KernelTimer, Namespace, RealClock, Settings, kernel_tcp};
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{InfoKind, LinkAttribute, LinkFlags, LinkInfo, LinkMessage};
use nix::net::if_::if_nametoindex;

use crate::field::{millis, secs};
use crate::pair::{HERE, THERE, join, plug, tell, up};
use crate::shimmed::{Shimmed, Transfer, Until};

tests![a_sender_is_woken_up_by_what_was_held_back];

/// Near and far, and a bridge between them, so that the near end does not notice that the far one
/// has pulled its cable.
struct Bridged {
    near: Namespace,
    far: Namespace,
    _bridge: Namespace,
}

impl Bridged {
    fn new() -> io::Result<Self> {
        let [near, far, bridge] = [Namespace::new()?, Namespace::new()?, Namespace::new()?];
        bridge.run(|| {
            let mut link = LinkMessage::default();
            link.attributes.push(LinkAttribute::IfName("bridge0".into()));
            link.attributes.push(LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Bridge)]));
            tell(RouteNetlinkMessage::NewLink(link), NLM_F_CREATE | NLM_F_EXCL)?;
            raise("bridge0", None)
        })??;
        for (namespace, port, address) in [(&near, "port0", HERE), (&far, "port1", THERE)] {
            bridge.run(|| {
                join(port, namespace)?;
                raise(port, Some(if_nametoindex("bridge0")?))
            })??;
            namespace.run(|| up(address, false))??;
        }
        Ok(Self { near, far, _bridge: bridge })
    }
}

/// Brings an interface up, as a port of another.
fn raise(name: &str, of: Option<u32>) -> io::Result<()> {
    let mut link = LinkMessage::default();
    link.header.index = if_nametoindex(name)?;
    link.header.flags = LinkFlags::Up;
    link.header.change_mask = LinkFlags::Up;
    link.attributes.extend(of.map(LinkAttribute::Controller));
    tell(RouteNetlinkMessage::SetLink(link), 0)
}

/// How long the sender is idle after its receiver has its link back, and how long it would have been
/// by its own timer.
fn idle(hold_back: bool) -> [Duration; 2] {
    let net = Bridged::new().unwrap();
    // A path of so little delay must not carry more than a test can bear.
    net.far.set("net/ipv4/tcp_rmem", "4096 8192 16384").unwrap();
    let mut settings = Settings::default();
    settings.shim.hold_back = hold_back;
    let shim = Shimmed::start(&net.far, &settings);
    let clock = RealClock::start();
    let nap = |millis| thread::sleep(std::time::Duration::from_millis(millis));
    let to = SocketAddrV4::new(THERE, 7000);
    let until = Until::Time(Instant::ZERO + secs(9));
    let transfer = Transfer::between([&net.near, &net.far], to, clock, "cubic", until);
    nap(1000);
    net.far.run(|| plug(false)).unwrap().unwrap();
    let flow = shim.look().flows[0].key;
    let sender = SocketAddrV4::new(flow.destination.address, flow.destination.port);
    // With its timer just set for more than three seconds, which takes as long.
    let left = (0..600).find_map(|_| {
        nap(10);
        match net.near.run(|| kernel_tcp(sender, to)).unwrap().unwrap().timer {
            Some(KernelTimer::Retransmission { left, .. }) if left > secs(3) => Some(left),
            _ => None,
        }
    });
    let left = left.expect("it times out again and again");
    net.far.run(|| plug(true)).unwrap().unwrap();
    let back = clock.now();
    let arrived = transfer.finish();
    let counts = shim.stop().counts;
    assert_eq!(counts.held_back > 0, hold_back, "{counts:?}");
    [arrived.first_after(back), left]
}

fn a_sender_is_woken_up_by_what_was_held_back() {
    // The kernel takes up to a second until it tells that a link is back; on a busy machine more.
    let with = [(); 2].map(|()| thread::spawn(|| idle(true)));
    // Now and then the last acknowledgment is lost with the link, and then it is news without that.
    let without = (0..5).map(|_| idle(false)).find(|[idle, left]| *idle + millis(500) > *left);
    let with = with.map(|run| run.join().unwrap());
    for [idle, left] in with {
        assert!(idle + millis(1000) < left, "{with:?}");
    }
    assert!(without.is_some(), "it is woken up by anything: {with:?}");
}
