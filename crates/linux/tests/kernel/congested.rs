//! Twenty transfers over a router with a slow output and a short queue (the kernel's token bucket
//! filter): the shim's effect on losses and goodput.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use driftway_linux::{Namespace, RealClock, ShimSettings};
use netlink_packet_core::{NLM_F_ACK, NLM_F_ECHO, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcStats2};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket as Netlink, SocketAddr as NetlinkAddress};
use nix::net::if_::if_nametoindex;
use socket2::{Domain, Socket, Type};

use crate::pair::DEVICE;
use crate::shimmed::RunningShim;
use crate::wired::{self, MAIN, NextHop};

tests![silence_under_congestion_is_no_outage];

const FLOWS: usize = 20;
const RATE: u32 = 300_000 / 8;
const QUEUE: u32 = 20 * 1514;
const SPAN: Duration = Duration::from_secs(30);
const NEAR: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 9, 0, 1), Ipv4Addr::new(10, 9, 0, 2)];
const FAR: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 9, 1, 1), Ipv4Addr::new(10, 9, 1, 2)];

fn at_root(device: &str) -> io::Result<TcMessage> {
    let mut message = TcMessage::with_index(if_nametoindex(device)?.cast_signed());
    message.header.parent = TcHandle::ROOT;
    Ok(message)
}

/// Packets sent and dropped by a device's queue.
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
    for (end, port, [own, gateway]) in [(&near, "left0", NEAR), (&far, "right0", FAR)] {
        wired::cable([(&router, port, gateway), (end, DEVICE, own)])?;
        end.run(|| wired::route(MAIN, None, NextHop::Via(gateway), None))??;
    }
    router.run(|| wired::shape("right0", RATE, QUEUE))??;
    router.set_sysctl("net/ipv4/ip_forward", "1")?;
    for end in [&near, &far] {
        // ECN is negotiated, but this router never marks.
        end.set_sysctl("net/ipv4/tcp_ecn", "1")?;
    }
    Ok([near, router, far])
}

/// Share of packets dropped by the router, and goodput (kbit/s).
fn congest(shim: bool) -> (f64, f64) {
    let [near, router, far] = chain().unwrap();
    let shim = shim.then(|| RunningShim::start(&near, &ShimSettings::default()));
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
    let end = clock.now() + driftway_base::Duration::from_millis(SPAN.as_millis() as u64);
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

/// Each of [`FLOWS`] over 300 kbit/s has two segments in flight, so that losses lead to timeouts.
fn silence_under_congestion_is_no_outage() {
    let arms = [false, true].map(|shim| thread::spawn(move || congest(shim)));
    let [plain, shim] = arms.map(|arm| arm.join().unwrap());
    println!("lost, kbit/s: plain {plain:.3?}, with the shim {shim:.3?}");
    // The precondition of the test.
    assert!(plain.0 > 0.1 && plain.1 > 200.0, "{plain:?}");
    assert!(shim.0 <= plain.0 + 0.08 && shim.1 >= plain.1 * 0.9, "{plain:?}, {shim:?}");
}
