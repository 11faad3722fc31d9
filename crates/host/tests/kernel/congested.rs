//! Twenty transfers over a router whose way out is slow and has a short queue (the kernel's token
//! bucket filter): what the shim adds to the losses, and takes from the goodput.

use std::io;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use host::{Namespace, RealClock, Settings};
use netlink_packet_core::{
    DefaultNla, NLM_F_ACK, NLM_F_CREATE, NLM_F_ECHO, NLM_F_EXCL, NLM_F_REQUEST, NetlinkMessage,
    NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcOption, TcStats2};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket as Netlink, SocketAddr as NetlinkAddress};
use nix::net::if_::if_nametoindex;
use socket2::{Domain, Socket, Type};

use crate::pair::{DEVICE, join, tell};
use crate::shimmed::Shimmed;

tests![silence_under_congestion_is_no_outage];

const FLOWS: usize = 20;
const RATE: u32 = 300_000 / 8;
const QUEUE: u32 = 20 * 1514;
const SPAN: Duration = Duration::from_secs(30);
const NEAR: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 9, 0, 1), Ipv4Addr::new(10, 9, 0, 2)];
const FAR: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 9, 1, 1), Ipv4Addr::new(10, 9, 1, 2)];

/// Brings a device of the calling thread's namespace up, with an address; no packet is larger than
/// its MTU.
fn up(device: &str, address: Ipv4Addr) -> io::Result<()> {
    let index = if_nametoindex(device)?;
    let mut own = AddressMessage::default();
    own.header.family = AddressFamily::Inet;
    own.header.prefix_len = 24;
    own.header.index = index;
    own.attributes.push(AddressAttribute::Local(IpAddr::V4(address)));
    own.attributes.push(AddressAttribute::Address(IpAddr::V4(address)));
    tell(RouteNetlinkMessage::NewAddress(own), NLM_F_CREATE | NLM_F_EXCL)?;
    let mut link = LinkMessage::default();
    link.header.index = index;
    link.header.flags = LinkFlags::Up;
    link.header.change_mask = LinkFlags::Up;
    link.attributes.push(LinkAttribute::GsoMaxSegs(1));
    tell(RouteNetlinkMessage::SetLink(link), 0)
}

/// The default route of the calling thread's namespace.
fn route_by(gateway: Ipv4Addr) -> io::Result<()> {
    let mut route = RouteMessage::default();
    route.header.address_family = AddressFamily::Inet;
    route.header.table = 254;
    route.header.protocol = RouteProtocol::Static;
    route.header.scope = RouteScope::Universe;
    route.header.kind = RouteType::Unicast;
    route.attributes.push(RouteAttribute::Gateway(RouteAddress::Inet(gateway)));
    tell(RouteNetlinkMessage::NewRoute(route), NLM_F_CREATE | NLM_F_EXCL)
}

/// Has a device of the calling thread's namespace send at [`RATE`], with a queue that drops at its
/// tail: `struct tc_tbf_qopt` and TCA_TBF_BURST (linux/pkt_sched.h).
fn slow_down(device: &str) -> io::Result<()> {
    const PARMS: u16 = 1;
    const BURST: u16 = 6;
    const ETHERNET: u8 = 1;
    let mut parms = vec![0, ETHERNET, 0, 0, 0, 0, 0, 0];
    parms.extend(RATE.to_ne_bytes());
    // No peak rate; the length of the queue; the burst follows in bytes, the MTU is not asked for.
    parms.extend([0; 12]);
    parms.extend(QUEUE.to_ne_bytes());
    parms.extend([0; 8]);
    let mut message = at_root(device)?;
    message.attributes.push(TcAttribute::Kind("tbf".into()));
    message.attributes.push(TcAttribute::Options(vec![
        TcOption::Other(DefaultNla::new(PARMS, parms)),
        TcOption::Other(DefaultNla::new(BURST, 2000_u32.to_ne_bytes().to_vec())),
    ]));
    tell(RouteNetlinkMessage::NewQueueDiscipline(message), NLM_F_CREATE | NLM_F_EXCL)
}

fn at_root(device: &str) -> io::Result<TcMessage> {
    let mut message = TcMessage::with_index(if_nametoindex(device)?.cast_signed());
    message.header.parent = TcHandle::ROOT;
    Ok(message)
}

/// Packets that the queue of a device has sent, and dropped.
fn counts(device: &str) -> io::Result<[u32; 2]> {
    let mut asked = NetlinkMessage::from(RouteNetlinkMessage::GetQueueDiscipline(at_root(device)?));
    asked.header.flags = NLM_F_REQUEST | NLM_F_ECHO | NLM_F_ACK;
    asked.finalize();
    let mut bytes = vec![0; asked.buffer_len()];
    asked.serialize(&mut bytes);
    let mut socket = Netlink::new(NETLINK_ROUTE)?;
    socket.bind_auto()?;
    socket.connect(&NetlinkAddress::new(0, 0))?;
    socket.send(&bytes, 0)?;
    let (answer, _) = socket.recv_from_full()?;
    let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer)
        .map_err(|error| io::Error::other(format!("{error:?}")))?;
    let NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewQueueDiscipline(queue)) =
        answer.payload
    else {
        return Err(io::Error::other("another answer"));
    };
    let mut counts = [0; 2];
    for attribute in queue.attributes {
        let TcAttribute::Stats2(all) = attribute else { continue };
        for stats in all {
            match stats {
                TcStats2::Basic(basic) => counts[0] = basic.packets,
                TcStats2::Queue(queue) => counts[1] = queue.drops,
                _ => {}
            }
        }
    }
    Ok(counts)
}

/// A sender, a router and a receiver.
fn chain() -> io::Result<[Namespace; 3]> {
    let [near, router, far] = [Namespace::new()?, Namespace::new()?, Namespace::new()?];
    router.run(|| join("left0", &near))??;
    router.run(|| join("right0", &far))??;
    near.run(|| up(DEVICE, NEAR[0]).and_then(|()| route_by(NEAR[1])))??;
    far.run(|| up(DEVICE, FAR[0]).and_then(|()| route_by(FAR[1])))??;
    router.run(|| up("left0", NEAR[1]).and_then(|()| up("right0", FAR[1])))??;
    router.run(|| slow_down("right0"))??;
    router.set("net/ipv4/ip_forward", "1")?;
    for end in [&near, &far] {
        // Agreed on, in vain: this router never marks.
        end.set("net/ipv4/tcp_ecn", "1")?;
    }
    Ok([near, router, far])
}

/// What came of it: the share of packets that the router has dropped, and kbit/s.
fn congest(shim: bool) -> (f64, f64) {
    let [near, router, far] = chain().unwrap();
    let shim = shim.then(|| Shimmed::start(&near, &Settings::default()));
    let to = SocketAddrV4::new(FAR[0], 7000);
    let listener = far.run(|| TcpListener::bind(to)).unwrap().unwrap();
    let pairs: Vec<[TcpStream; 2]> = (0..FLOWS)
        .map(|_| {
            let open = || Socket::new(Domain::IPV4, Type::STREAM, None);
            let socket = near.run(open).unwrap().unwrap();
            socket.set_tcp_congestion(b"cubic").unwrap();
            socket.connect(&SocketAddr::V4(to).into()).unwrap();
            [socket.into(), listener.accept().unwrap().0]
        })
        .collect();
    pairs.iter().flatten().for_each(|stream| stream.set_nonblocking(true).unwrap());
    let (clock, mut arrived, mut buffer) = (RealClock::start(), 0, [7; 16_384]);
    let end = clock.now() + base::Duration::from_millis(SPAN.as_millis() as u64);
    while clock.now() < end {
        for [near, far] in &pairs {
            let (mut near, mut far) = (near, far);
            while near.write(&buffer).is_ok() {}
            while let Ok(len @ 1..) = far.read(&mut buffer) {
                arrived += len;
            }
        }
        thread::sleep(Duration::from_millis(20));
    }
    let [sent, dropped] = router.run(|| counts("right0")).unwrap().unwrap();
    if let Some(shim) = shim {
        let stood = shim.stop();
        assert_eq!(stood.counts.flows, FLOWS as u64, "{stood:?}");
    }
    let rate = arrived as f64 * 8.0 / SPAN.as_secs_f64() / 1000.0;
    (f64::from(dropped) / f64::from(sent + dropped), rate)
}

/// Of [`FLOWS`] that share 300 kbit/s each has two segments on their way, and what TCP notices of
/// losses are timeouts.
fn silence_under_congestion_is_no_outage() {
    let arms = [false, true].map(|shim| thread::spawn(move || congest(shim)));
    let [plain, shim] = arms.map(|arm| arm.join().unwrap());
    println!("lost, kbit/s: plain {plain:.3?}, with the shim {shim:.3?}");
    // That is what it is about.
    assert!(plain.0 > 0.1 && plain.1 > 200.0, "{plain:?}");
    assert!(shim.0 <= plain.0 + 0.08 && shim.1 >= plain.1 * 0.9, "{plain:?}, {shim:?}");
}
