//! The retransmission timeout (RFC 6298) and tail loss probes (RFC 8985 §7).

use crate::scripted::receiver::{CLEAN, Path};
use crate::scripted::script::Script;
use crate::scripted::segment::{ack, acks, growing_block};

pub fn scripts() -> Vec<Script> {
    vec![
        rto_series(),
        rto_series_of_one_segment(),
        rto_then_all(),
        rto_then_recovery(),
        rto_without_timestamps(),
        rto_without_sack(),
        second_rto(),
        rto_in_recovery(),
        outage(),
        long_outage(),
        tail_loss(),
        probe_of_one_segment(),
        probe_with_new_data(),
        probe_reveals_losses(),
        probe_was_needless(),
        probe_repaired_a_loss(),
        probe_after_lost_acks(),
    ]
}

fn rto_series() -> Script {
    Script::new("rto_series", "nothing arrives any more: RFC 6298 §5.5").in_flight(10).at(10_500)
}

fn rto_series_of_one_segment() -> Script {
    Script::new("rto_series_of_one_segment", "one segment, a short round trip, no answer")
        .in_flight(1)
        .at(112)
        .receives(ack(1001))
        .at(150)
        .writes(1000)
        .at(3500)
}

fn rto_then_all() -> Script {
    Script::new("rto_then_all", "after a timeout the retransmission closes the only gap")
        .in_flight(10)
        .at(200)
        .receives(ack(1001))
        .at(1100)
        .receives(ack(2001))
        .later(50)
        .receives(ack(3001))
        .receives(ack(4001))
        .later(100)
        .receives(ack(10001))
        .later(20)
}

/// A timeout of the first of ten segments, and slow start after it.
fn slow_start_after_timeout(script: Script) -> Script {
    script
        .in_flight(40)
        .at(700)
        .receives(ack(1001))
        .at(810)
        .receives_all(acks(1001, 3001))
        .at(920)
        .receives_all(acks(3001, 7001))
        .at(1030)
        .receives_all(acks(7001, 14001))
        .later(30)
}

fn rto_then_recovery() -> Script {
    let about = "after a timeout everything is retransmitted in slow start";
    slow_start_after_timeout(Script::new("rto_then_recovery", about))
}

fn rto_without_timestamps() -> Script {
    let about = "the same without timestamps: RFC 6298 §3, Karn's rule";
    slow_start_after_timeout(Script::new("rto_without_timestamps", about).without_timestamps())
}

fn rto_without_sack() -> Script {
    slow_start_after_timeout(
        Script::new("rto_without_sack", "the same without SACK").without_sack(),
    )
}

fn second_rto() -> Script {
    Script::new("second_rto", "two timeouts, then half of the window is acknowledged")
        .in_flight(40)
        .at(1500)
        .receives(ack(5001))
        .at(1610)
        .receives_all(acks(5001, 8001))
        .at(3000)
}

fn rto_in_recovery() -> Script {
    Script::new("rto_in_recovery", "the retransmission and all after it are lost")
        .in_flight(20)
        .at(200)
        .receives_all(growing_block(1, 1001, 6001))
        .at(1500)
        .receives(ack(6001))
        .at(1610)
        .receives(ack(7001))
        .receives(ack(8001))
        .at(1720)
        .receives(ack(14001))
        .later(20)
}

fn outage() -> Script {
    Script::new("outage", "nothing arrives for a second")
        .established()
        .receiver(Path { outage: Some((260, 1100)), ..CLEAN })
        .writes(100_000)
        .at(3000)
}

fn long_outage() -> Script {
    Script::new("long_outage", "nothing arrives for four seconds")
        .established()
        .receiver(Path { outage: Some((260, 4300)), ..CLEAN })
        .writes(60_000)
        .at(7000)
}

fn tail_loss() -> Script {
    Script::new("tail_loss", "the last segment is lost, and the probes are not answered")
        .in_flight(10)
        .at(200)
        .receives(ack(9001))
        .at(2000)
}

fn probe_of_one_segment() -> Script {
    Script::new("probe_of_one_segment", "one in flight: the probe waits for a delayed ACK")
        .in_flight(1)
        .at(1500)
}

fn probe_with_new_data() -> Script {
    Script::new("probe_with_new_data", "the probe is new data where there is some")
        .in_flight(10)
        .at(150)
        .writes(10_000)
        .at(400)
        .receives(ack(1).sack(&[(10001, 11001)]))
        .at(640)
}

fn probe_reveals_losses() -> Script {
    Script::new("probe_reveals_losses", "the probe's SACK reveals that two before it are lost")
        .in_flight(10)
        .at(200)
        .receives_all(acks(1, 7001))
        .at(620)
        .receives(ack(7001).sack(&[(9001, 10001)]))
        .at(730)
        .receives(ack(10001))
        .later(20)
}

fn probe_was_needless() -> Script {
    Script::new("probe_was_needless", "the original and the probe arrive: RFC 8985 §7.4.2")
        .in_flight(10)
        .at(340)
        .receives(ack(10001).of_first())
        .later(90)
        .receives(ack(10001).sack(&[(9001, 10001)]))
        .later(10)
        .writes(20_000)
        .later(20)
}

fn probe_repaired_a_loss() -> Script {
    Script::new("probe_repaired_a_loss", "only the probe arrives: a congestion response is due")
        .in_flight(10)
        .at(200)
        .receives(ack(9001))
        .at(620)
        .receives(ack(10001))
        .later(10)
        .writes(20_000)
        .later(20)
}

/// RACK waits as long as the covered segment took, so that those sent soon after it are not lost at once.
fn probe_after_lost_acks() -> Script {
    Script::new(
        "probe_after_lost_acks",
        "a probe is SACKed, with an acknowledgment that was lost before",
    )
    .established()
    .writes(5_000)
    .later(80)
    .writes(35_000)
    .at(430)
    .receives(ack(4001).sack(&[(10_001, 11_001)]).of_first())
    .later(400)
}
