//! Growth of the congestion window: slow start and HyStart, congestion avoidance, pacing.

use crate::scripted::receiver::{CLEAN, Path};
use crate::scripted::script::Script;
use crate::scripted::segment::{ack, acks, growing_block};

pub fn scripts() -> Vec<Script> {
    vec![
        slow_start(),
        slow_start_delayed_acks(),
        initial_burst(),
        stretched_ack(),
        hystart_by_delay(),
        hystart_by_train(),
        reno_avoidance(),
        cubic_avoidance(),
        cubic_between_losses(),
        reno_between_losses(),
        losses_with_delayed_acks(),
        paced_slow_start(),
        paced_avoidance(),
        paced_burst(),
        bbr_start(),
        bbr_paced_burst(),
        bbr_transfer(),
        bbr_loss(),
        nagle(),
    ]
}

fn slow_start() -> Script {
    Script::new("slow_start", "one more segment for each acknowledgment; no pacing without fq")
        .established()
        .receiver(CLEAN)
        .writes(60_000)
        .at(600)
}

fn slow_start_delayed_acks() -> Script {
    Script::new("slow_start_delayed_acks", "acknowledgments of two segments each")
        .established()
        .receiver(Path { delays_acks: true, ..CLEAN })
        .writes(60_000)
        .at(600)
}

fn initial_burst() -> Script {
    Script::new("initial_burst", "ten segments at once: RFC 6928").in_flight(40).later(50)
}

fn stretched_ack() -> Script {
    Script::new("stretched_ack", "one acknowledgment of the whole window: RFC 3465")
        .in_flight(60)
        .at(200)
        .receives(ack(10001))
        .at(300)
        .receives(ack(30001))
        .later(20)
}

fn hystart_by_delay() -> Script {
    // 60 segments at 1.5 ms: the queue grows to 90 ms.
    Script::new("hystart_by_delay", "the round trip grows with the window")
        .established()
        .receiver(Path { rtt: 40, serialisation: 1.5, ..CLEAN })
        .writes(160_000)
        .at(700)
}

fn hystart_by_train() -> Script {
    Script::new("hystart_by_train", "a train of acknowledgments as long as half a round trip")
        .established()
        .receiver(CLEAN)
        .writes(320_000)
        .at(900)
}

/// A loss in the initial window, then congestion avoidance without further losses.
fn avoidance(script: Script) -> Script {
    script
        .established()
        .receiver(Path { rtt: 50, serialisation: 1.0, lost: &[4], ..CLEAN })
        .writes(150_000)
        .at(1500)
}

fn reno_avoidance() -> Script {
    avoidance(Script::new("reno_avoidance", "one segment in each round trip: RFC 5681 §3.1").reno())
}

fn cubic_avoidance() -> Script {
    avoidance(Script::new("cubic_avoidance", "RFC 9438, in its Reno-friendly region"))
}

/// A loss early, and another when the window has grown.
fn between_losses(script: Script) -> Script {
    script
        .established()
        .receiver(Path { rtt: 51, lost: &[14, 300], ..CLEAN })
        .writes(450_000)
        .at(2500)
}

fn reno_between_losses() -> Script {
    between_losses(Script::new("reno_between_losses", "a second and more without a loss").reno())
}

fn cubic_between_losses() -> Script {
    between_losses(Script::new("cubic_between_losses", "a second and more of RFC 9438's curve"))
}

fn losses_with_delayed_acks() -> Script {
    let lost = &[20, 90, 91, 160, 230, 232];
    Script::new("losses_with_delayed_acks", "every second segment is acknowledged")
        .established()
        .receiver(Path { rtt: 51, lost, delays_acks: true, ..CLEAN })
        .writes(400_000)
        .at(3500)
}

fn paced_slow_start() -> Script {
    Script::new("paced_slow_start", "CUBIC with pacing: twice the window in a round trip")
        .paced()
        .established()
        .receiver(CLEAN)
        .writes(60_000)
        .at(600)
}

fn paced_avoidance() -> Script {
    Script::new("paced_avoidance", "Reno with pacing: 1.2 times the window in a round trip")
        .reno()
        .paced()
        .established()
        .receiver(Path { rtt: 50, serialisation: 1.0, lost: &[4], ..CLEAN })
        .writes(60_000)
        .at(700)
}

fn paced_burst() -> Script {
    Script::new("paced_burst", "one acknowledgment of the window: the next leaves at the rate")
        .paced()
        .in_flight(60)
        .at(200)
        .receives(ack(10001))
        .at(300)
        .receives(ack(30001))
        .at(390)
}

fn bbr_start() -> Script {
    Script::new("bbr_start", "BBR paces from the tenth segment on, by the handshake's round trip")
        .bbr()
        .in_flight(40)
        .at(200)
        .receives_all(acks(1, 10001))
        .at(290)
}

fn bbr_paced_burst() -> Script {
    Script::new("bbr_paced_burst", "one acknowledgment of the window: the next is paced")
        .bbr()
        .in_flight(40)
        .at(200)
        .receives(ack(10001))
        .at(300)
        .receives(ack(20001))
        .at(390)
}

fn bbr_transfer() -> Script {
    Script::new("bbr_transfer", "STARTUP, DRAIN and PROBE_BW over a path of 5 ms a segment")
        .bbr()
        .established()
        .receiver(Path { rtt: 62, serialisation: 5.0, ..CLEAN })
        .writes(200_000)
        .at(1500)
}

fn bbr_loss() -> Script {
    Script::new("bbr_loss", "the first of ten segments is lost: no reduction by a half")
        .bbr()
        .in_flight(40)
        .at(200)
        .receives_all(growing_block(1, 1001, 10001))
        .at(302)
        .receives(ack(1).sack(&[(1001, 11001)]))
        .receives(ack(12001))
        .at(390)
}

fn nagle() -> Script {
    Script::new("nagle", "a small segment waits for the acknowledgment: RFC 896")
        .established()
        .writes(300)
        .later(10)
        .writes(200)
        .later(10)
        .writes(100)
        .at(200)
        .receives(ack(301))
        .later(10)
        .writes(1500)
        .at(310)
        .receives_all(acks(601, 1601))
        .receives(ack(2101))
        .later(20)
}
