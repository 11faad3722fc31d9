//! The shim below this kernel's TCP, over paths of the simulator.

use driftway_shim::FlowState;
use std::net::{SocketAddr, SocketAddrV4, SocketAddrV6, TcpStream, UdpSocket};
use std::thread;

use driftway_base::{Duration, Instant};
use driftway_linux::{Namespace, PathEnd, RealClock, ShimDaemon, ShimSettings};
use driftway_scenario::Scenario;
use nix::libc;
use nix::net::if_::if_nametoindex;
use socket2::{Domain, Protocol, Socket, Type};

use crate::emulate::scenario;
use crate::pair::{DEVICE, THERE, pair, plug};
use crate::shimmed::{RunningPath, RunningShim, ShimProcess, Transfer, Until};
use crate::wired;

tests![
    losses_do_not_slow_reno_down,
    losses_do_not_slow_cubic_down,
    a_transfer_survives_cuts,
    a_killed_shim_leaves_plain_tcp_in_a_cut,
    a_killed_shim_leaves_plain_tcp_at_any_time,
    a_restored_link_is_used_at_once,
    a_restored_link_is_used_at_once_by_large_packets,
    a_clean_path_stays_as_fast,
    untracked_packets_pass,
    one_shim_per_namespace_and_nothing_left,
];

pub fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// Two hops of 10 Mbit/s and 20 ms RTT each, with queues that mark.
pub fn marking(more_of_link: &str, more: &str) -> Scenario {
    let link = "rate = \"10 Mbit/s\"\ndelay = \"10 ms\"\n\
                queue = { packets = 200, ecn_threshold = 20 }";
    scenario(2, &format!("{link}\n{more_of_link}"), more)
}

pub fn cut(first: &str, lasts: &str) -> String {
    format!(
        "[[network.fault]]\nkind = \"partition\"\nhop = 2\nfirst = \"{first}\"\n\
         lasts = \"{lasts}\"\n"
    )
}

fn a_transfer_survives_cuts() {
    // Long enough to make the load of the machine irrelevant.
    let round_trip = millis(160);
    let cuts = [(secs(1), secs(1)), (secs(4), secs(3)), (secs(9), secs(5))];
    let faults = cut("1 s", "1 s") + &cut("4 s", "3 s") + &cut("9 s", "5 s");
    let link = "rate = \"10 Mbit/s\"\ndelay = \"40 ms\"\nqueue = { packets = 200 }";
    let path = RunningPath::start(&scenario(2, link, &faults), 1, true);
    // The peer's window does not fill the path: no congestion, which would prevent an undo. (A
    // limit on the send buffer does not hold during an outage.)
    path.running.end(PathEnd::Far).set_sysctl("net/ipv4/tcp_rmem", "4096 65536 131072").unwrap();
    let shim = RunningShim::start(path.near(), &ShimSettings::default());
    let transfer = Transfer::start(&path, "cubic", Until::Time(Instant::ZERO + secs(16)));
    let arrived = transfer.finish();
    let stood = shim.stop();
    for (at, lasts) in cuts {
        let back = Instant::ZERO + at + lasts;
        let first = arrived.first_after(back);
        assert!(first <= round_trip.times(3), "after {lasts:?}: {first:?} {stood:?}");
        // The window is the previous one.
        let in_a_second = |from: Instant| arrived.bytes_by(from + secs(1)) - arrived.bytes_by(from);
        let before = in_a_second(Instant::ZERO + at - secs(1));
        let after = in_a_second(back + millis(500));
        assert!(after * 2 > before, "after {lasts:?}: {before} {after} {stood:?}");
    }
    assert_eq!((stood.counts.outages, stood.counts.survived), (3, 3), "{stood:?}");
    path.running.stop().unwrap();
}

/// Bytes that arrive in six seconds with a loss rate of 1 %, without and with the shim, at the same
/// time.
fn with_losses(congestion_control: &'static str, seed: u64) -> [u64; 2] {
    let lossy = marking("packet_error_rate = 0.005", "");
    let end = Instant::ZERO + secs(6);
    let arms = [false, true].map(|shimmed| {
        let lossy = lossy.clone();
        // Too short for a trial to show it.
        let mut settings = ShimSettings::default();
        settings.config.queues_mark = true;
        thread::spawn(move || {
            let path = RunningPath::start(&lossy, seed, true);
            let shim = shimmed.then(|| RunningShim::start(path.near(), &settings));
            let transfer = Transfer::start(&path, congestion_control, Until::Time(end));
            let arrived = transfer.finish();
            if let Some(shim) = shim {
                let stood = shim.stop();
                assert!(stood.counts.undone > 0, "{stood:?}");
            }
            path.running.stop().unwrap();
            arrived.bytes_by(end)
        })
    });
    arms.map(|arm| arm.join().unwrap())
}

fn losses_do_not_slow_reno_down() {
    let [plain, shimmed] = with_losses("reno", 2);
    assert!(shimmed > plain * 3 / 2, "{plain} {shimmed}");
}

fn losses_do_not_slow_cubic_down() {
    let [plain, shimmed] = with_losses("cubic", 3);
    assert!(shimmed > plain * 3 / 2, "{plain} {shimmed}");
}

/// Ratio of a transfer's duration with the shim to that without it, at the same time.
fn slowdown_on_a_clean_path() -> f64 {
    let link = "rate = \"4 Mbit/s\"\ndelay = \"10 ms\"\n\
                queue = { packets = 200, ecn_threshold = 20 }";
    let arms = [false, true].map(|shimmed| {
        let clean = scenario(2, link, "");
        thread::spawn(move || {
            let path = RunningPath::start(&clean, 1, true);
            let shim = shimmed.then(|| RunningShim::start(path.near(), &ShimSettings::default()));
            let arrived = Transfer::start(&path, "cubic", Until::Bytes(1_000_000)).finish();
            if let Some(shim) = shim {
                let counts = shim.stop().counts;
                assert_eq!((counts.flows, counts.tracking_lost, counts.outages), (1, 0, 0));
            }
            path.running.stop().unwrap();
            arrived.end().since(arrived.log[0].0).as_secs_f64()
        })
    });
    let [plain, shimmed] = arms.map(|arm| arm.join().unwrap());
    shimmed / plain
}

fn a_clean_path_stays_as_fast() {
    // Other work on the machine hits one arm more than the other; a shim that costs goodput does so
    // each time.
    let slow: Vec<f64> = (0..4)
        .map(|_| slowdown_on_a_clean_path())
        .take_while(|slower| *slower > 1.0 / 0.95)
        .collect();
    assert!(slow.len() < 4, "{slow:?}");
}

fn a_killed_shim_leaves_plain_tcp_at_any_time() {
    let path = RunningPath::start(&marking("packet_error_rate = 0.005", ""), 4, true);
    let transfer = Transfer::start(&path, "cubic", Until::Bytes(3_000_000));
    // The first one meets a connection older than itself.
    for n in 1..=4 {
        let process = ShimProcess::start(path.near());
        let mine = Transfer::start_at(&path, 7000 + n, "reno", Until::Bytes(500_000));
        path.sleep_until(millis(700).times(n.into()));
        process.kill();
        assert!(
            !path.near().run(ShimDaemon::remove_leftovers).unwrap().unwrap(),
            "nothing is left"
        );
        mine.finish();
    }
    transfer.finish();
    path.running.stop().unwrap();
}

fn a_killed_shim_leaves_plain_tcp_in_a_cut() {
    // Killed during the outage, at its end, and a little later; or stopped during it.
    let arms = [2500, 3010, 3060, 3150, 2000].map(|kill_at| {
        thread::spawn(move || {
            let path = RunningPath::start(&marking("", &cut("1 s", "2 s")), 5, true);
            let process = ShimProcess::start(path.near());
            let transfer = Transfer::start(&path, "cubic", Until::Bytes(2_500_000));
            path.sleep_until(millis(kill_at));
            match kill_at {
                2000 => process.end(),
                _ => process.kill(),
            }
            let arrived = transfer.finish();
            path.running.stop().unwrap();
            arrived.end()
        })
    });
    for arm in arms {
        // Plain TCP resumes after up to the length of the cut.
        let end = arm.join().unwrap();
        assert!(end < Instant::ZERO + secs(15), "{end:?}");
    }
}

/// The index of a namespace's device.
fn device(namespace: &Namespace) -> u32 {
    namespace.run(|| if_nametoindex("tun0")).unwrap().unwrap()
}

fn a_restored_link_is_used_at_once() {
    restored_link(false);
}

/// Packets of 64 KB of the local TCP are sent again in segments.
fn a_restored_link_is_used_at_once_by_large_packets() {
    restored_link(true);
}

fn restored_link(offload: bool) {
    let [near, far] = pair(offload).unwrap();
    // The bucket cuts large packets, behind the shim. A faster one would slow other tests down.
    near.run(|| wired::shape(DEVICE, 12_500_000, 200_000)).unwrap().unwrap();
    let shim = RunningShim::start(&near, &ShimSettings::default());
    let clock = RealClock::start();
    let until = Until::Time(Instant::ZERO + secs(7));
    let to = SocketAddrV4::new(THERE, 7000);
    let transfer = Transfer::between([&near, &far], to, clock, "cubic", until);
    let nap = |span: Duration| thread::sleep(std::time::Duration::from_nanos(span.as_nanos()));
    // A new cable takes up to a second until it has a carrier.
    let flows = |shim: &RunningShim, state: FlowState| {
        let seen = (0..300).any(|_| {
            nap(millis(10));
            shim.snapshot().flows.iter().any(|flow| flow.state == state && flow.srtt.is_some())
        });
        assert!(seen, "{state:?}: {:?}", shim.snapshot());
    };
    flows(&shim, FlowState::Open);
    nap(millis(300));
    far.run(|| plug(false)).unwrap().unwrap();
    // The kernel may take up to a second to report its loss.
    flows(&shim, FlowState::Disconnected);
    // By now plain TCP would wait for longer than is allowed below.
    nap(secs(2));
    far.run(|| plug(true)).unwrap().unwrap();
    let back = clock.now();
    let arrived = transfer.finish();
    let stood = shim.stop();
    let first = arrived.first_after(back);
    assert!(first <= millis(300), "{first:?} {stood:?}");
    assert_eq!((stood.counts.outages, stood.counts.survived), (1, 1), "{stood:?}");
    assert!(stood.counts.originals_sent > 0, "{stood:?}");
}

fn untracked_packets_pass() {
    let path = RunningPath::start(&marking("", ""), 7, true);
    let near = path.near();
    near.set_sysctl("net/ipv6/conf/tun0/disable_ipv6", "0").unwrap();
    let older = Transfer::start(&path, "cubic", Until::Bytes(1_000_000));
    path.sleep_until(millis(300));
    let shim = RunningShim::start(near, &ShimSettings::default());
    older.finish();
    // The last segments.
    thread::sleep(std::time::Duration::from_millis(300));
    let stood = shim.snapshot();
    assert!(stood.counts.preexisting > 0 && stood.flows.is_empty(), "{stood:?}");

    // UDP, fragmented in both directions.
    let [here, there] = path.addresses;
    let udp = |end, address| {
        let bind = || UdpSocket::bind((address, 9000));
        path.running.end(end).run(bind).unwrap().unwrap()
    };
    let (here, far) = (udp(PathEnd::Near, here), udp(PathEnd::Far, there));
    here.send_to(&[7; 4000], (there, 9000)).unwrap();
    let mut buffer = [0; 5000];
    let (len, from) = far.recv_from(&mut buffer).unwrap();
    far.send_to(&buffer[..len], from).unwrap();
    assert_eq!(here.recv(&mut buffer).unwrap(), 4000);
    assert_eq!(shim.snapshot().daemon_counts, stood.daemon_counts, "no packet was intercepted");

    // A TCP fragment.
    let piece = || {
        let socket = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(libc::IPPROTO_RAW)));
        let socket = socket.unwrap();
        let mut packet = [0; 60];
        (packet[0], packet[8], packet[9]) = (0x45, 64, libc::IPPROTO_TCP as u8);
        packet[6] = 0x20;
        let [near, far] = path.addresses;
        packet[12..16].copy_from_slice(&near.octets());
        packet[16..20].copy_from_slice(&far.octets());
        socket.send_to(&packet, &SocketAddr::V4(SocketAddrV4::new(far, 0)).into()).unwrap();
    };
    near.run(piece).unwrap();

    // IPv6 leaves by the device, not intercepted.
    let link_local = SocketAddrV6::new("fe80::77".parse().unwrap(), 80, 0, device(near));
    let connect =
        || TcpStream::connect_timeout(&link_local.into(), std::time::Duration::from_millis(1200));
    near.run(connect).unwrap().unwrap_err();
    let last = shim.stop();
    assert_eq!(last.counts.fragments, 1, "{last:?}");
    assert_eq!(
        (last.counts.not_ipv4, last.daemon_counts.outgoing),
        (0, stood.daemon_counts.outgoing + 1)
    );
    let report = path.running.stop().unwrap();
    assert!(report.counts.drops["unknown-destination"] > 0, "{report:?}");
}

fn one_shim_per_namespace_and_nothing_left() {
    let namespace = Namespace::new().unwrap();
    let other = Namespace::new().unwrap();
    let shim = RunningShim::start(&namespace, &ShimSettings::default());
    let second = || ShimDaemon::start(&ShimSettings::default()).map(drop).unwrap_err().kind();
    assert_eq!(namespace.run(second).unwrap(), std::io::ErrorKind::AddrInUse);
    let undo = || ShimDaemon::remove_leftovers().unwrap_err().kind();
    assert_eq!(namespace.run(undo).unwrap(), std::io::ErrorKind::AddrInUse);
    RunningShim::start(&other, &ShimSettings::default()).stop();
    shim.stop();
    assert!(!namespace.run(ShimDaemon::remove_leftovers).unwrap().unwrap());
    RunningShim::start(&namespace, &ShimSettings::default()).stop();
}
