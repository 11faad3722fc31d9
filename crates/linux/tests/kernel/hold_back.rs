//! A receiver at the edge of a path: held-back acknowledgments make a Linux sender without a shim
//! resume.

use std::io;
use std::net::SocketAddrV4;
use std::thread;

use driftway_base::{Duration, Instant};
use driftway_linux::{KernelTimer, Namespace, RealClock, ShimSettings, kernel_tcp};
use netlink_packet_route::route::RouteMetric;

use crate::pair::{DEVICE, HERE, THERE, join};
use crate::shim_daemon::{millis, secs};
use crate::shimmed::{RunningShim, Transfer, Until};
use crate::wired;

tests![held_back_acknowledgments_make_a_sender_resume];

/// Near and far end with a bridge between them, so that the near end does not notice a failure of
/// the far link. 10 Mbit/s, and a queue that holds the receiver's whole window: an RTT of about 60
/// ms.
struct Bridged {
    near: Namespace,
    far: Namespace,
    _bridge: Namespace,
}

impl Bridged {
    /// `quick`: the far end delays no acknowledgment. One delayed until the link's failure would
    /// leave when the link is back, held back or not, and make the sender resume.
    fn new(quick: bool) -> io::Result<Self> {
        let [near, far, bridge] = [Namespace::new()?, Namespace::new()?, Namespace::new()?];
        bridge.run(|| wired::bridge("bridge0"))??;
        for (namespace, port, address) in [(&near, "port0", HERE), (&far, "port1", THERE)] {
            bridge.run(|| {
                join(port, namespace)?;
                wired::raise(port, Some("bridge0"))
            })??;
            namespace.run(|| {
                wired::address(DEVICE, address, 24)?;
                wired::raise(DEVICE, None)
            })??;
        }
        bridge.run(|| wired::shape("port1", 1_250_000, 200_000))??;
        far.set_sysctl("net/ipv4/tcp_rmem", "4096 131072 131072")?;
        if quick {
            // It acknowledges each segment at once.
            far.run(|| wired::metrics(HERE, DEVICE, vec![RouteMetric::QuickAck(1)]))??;
        }
        Ok(Self { near, far, _bridge: bridge })
    }
}

/// Result for a sender.
#[derive(Clone, Copy, Debug)]
struct WakeUpResult {
    /// Idle time of the sender after the receiver's link was back, and the time that was left on
    /// its own timer.
    idle: Duration,
    left: Duration,
    /// Bytes received but not acknowledged to the sender.
    in_hand: u64,
}

fn measure_wake_up(hold_back: bool) -> WakeUpResult {
    let net = Bridged::new(!hold_back).unwrap();
    let mut settings = ShimSettings::default();
    settings.config.hold_back = hold_back;
    let shim = RunningShim::start(&net.far, &settings);
    let clock = RealClock::start();
    let nap = |millis| thread::sleep(std::time::Duration::from_millis(millis));
    let to = SocketAddrV4::new(THERE, 7000);
    let until = Until::Time(Instant::ZERO + secs(10));
    let transfer = Transfer::between([&net.near, &net.far], to, clock, "cubic", until);
    // A new cable takes up to a second until it has a carrier.
    let flow = (0..1000).find_map(|_| {
        nap(10);
        shim.snapshot().flows.first().map(|flow| flow.key)
    });
    let flow = flow.expect("the transfer starts");
    nap(1000);
    net.far.run(|| wired::plug(DEVICE, false)).unwrap().unwrap();
    let sender = SocketAddrV4::new(flow.destination.address, flow.destination.port);
    // Its timer was just set to more than three seconds, which takes as long to reach.
    let known = (0..600).find_map(|_| {
        nap(10);
        let kernel = net.near.run(|| kernel_tcp(sender, to)).unwrap().unwrap();
        match kernel.timer {
            Some(KernelTimer::Retransmission { left, .. }) if left > secs(3) => {
                // The count includes its SYN.
                Some((left, kernel.info.bytes_acked - 1))
            }
            _ => None,
        }
    });
    let (left, acknowledged) = known.expect("the sender times out repeatedly");
    net.far.run(|| wired::plug(DEVICE, true)).unwrap().unwrap();
    let back = clock.now();
    let arrived = transfer.finish();
    let counts = shim.stop().counts;
    assert_eq!(counts.held_back > 0, hold_back, "{counts:?}");
    let in_hand = arrived.bytes_by(back).saturating_sub(acknowledged);
    WakeUpResult { idle: arrived.first_after(back), left, in_hand }
}

fn held_back_acknowledgments_make_a_sender_resume() {
    // The kernel takes up to a second to report a restored link; on a busy machine longer.
    let with = [(); 8].map(|()| thread::spawn(|| measure_wake_up(true)));
    // On a busy machine the link may fail between a segment and its acknowledgment.
    let without = (0..5).map(|_| measure_wake_up(false)).find(|woken| woken.in_hand == 0);
    let with = with.map(|run| run.join().unwrap());
    // On a busy machine no data may have arrived for 40 ms before the cut, after which everything
    // is acknowledged.
    let (holding, given): (Vec<_>, Vec<_>) = with.into_iter().partition(|run| run.in_hand > 0);
    assert!(given.len() <= 4, "{given:?}");
    for woken in &holding {
        assert!(woken.idle + millis(1000) < woken.left, "{holding:?}");
    }
    let without = without.expect("all was acknowledged before the cut");
    assert!(without.idle + millis(500) > without.left, "it is woken up by anything: {without:?}");
}
