//! Saturation throughput, compared with the fixed point of bianchi-2000 ("Performance Analysis of
//! the IEEE 802.11 Distributed Coordination Function").
//!
//! Two things differ from the model. It decrements every counter by one in each busy period, while
//! stations keep theirs, so that the first slot after a DIFS is available only to those that drew
//! zero there. And stations that took no part in a collision wait for an EIFS after it, those that
//! did for their timeout. The first is inherent (it limits the tolerance); for the second the
//! duration of a collision is that seen by the many listening stations.

use driftway_base::{Instant, PacketId, StationId};
use driftway_radio::{
    Dcf, DcfConfig, MacReport, Mobility, OutgoingPacket, Positions, Propagation, RadioConfig,
};

use crate::air::WITH_RTS;

const PAYLOAD: u32 = 1000;

/// Durations of the model's slots (µs).
struct Times {
    slot: f64,
    success: f64,
    collision: f64,
}

fn times(config: &DcfConfig) -> Times {
    let airtime = |bytes, rate| config.airtime(bytes, rate).as_nanos() as f64 / 1e3;
    let data = airtime(config.frame_bytes(PAYLOAD), config.data_rate);
    let (rts, short) = (airtime(20, config.basic_rate), airtime(14, config.basic_rate));
    let sifs = config.sifs.as_nanos() as f64 / 1e3;
    let difs = config.difs().as_nanos() as f64 / 1e3;
    let eifs = config.eifs().as_nanos() as f64 / 1e3;
    let slot = config.slot.as_nanos() as f64 / 1e3;
    if config.rts_threshold == 0 {
        let success = rts + short + data + short + 3.0 * sifs + difs;
        Times { slot, success, collision: rts + eifs }
    } else {
        Times { slot, success: data + sifs + short + difs, collision: data + eifs }
    }
}

/// bianchi-2000, equations 7 and 9: the probability τ that a station transmits in a slot, from p =
/// 1 − (1 − τ)ⁿ⁻¹, by bisection.
fn attempt(config: &DcfConfig, n: u32) -> f64 {
    let window = f64::from(config.cw_min + 1);
    let stages = libm::log2(f64::from(config.cw_max + 1) / window);
    let tau_of = |p: f64| {
        let grown = p * window * (1.0 - libm::pow(2.0 * p, stages));
        2.0 * (1.0 - 2.0 * p) / ((1.0 - 2.0 * p) * (window + 1.0) + grown)
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..100 {
        let tau = 0.5 * (low + high);
        let p = 1.0 - libm::pow(1.0 - tau, f64::from(n - 1));
        // p = ½ is a removable singularity, which no bisection step hits exactly.
        if tau_of(p) > tau {
            low = tau;
        } else {
            high = tau;
        }
    }
    low
}

/// bianchi-2000, equations 10 to 13: payload throughput (bit/s).
fn model(config: &DcfConfig, n: u32) -> f64 {
    let tau = attempt(config, n);
    let times = times(config);
    let none = libm::pow(1.0 - tau, f64::from(n));
    let one = f64::from(n) * tau * libm::pow(1.0 - tau, f64::from(n - 1));
    let more = 1.0 - none - one;
    let slot = none * times.slot + one * times.success + more * times.collision;
    one * f64::from(PAYLOAD) * 8.0 / slot * 1e6
}

/// The same for simulated co-located stations, each of which sends to the next.
fn measured(config: DcfConfig, n: u32, seconds: u64) -> f64 {
    let radio = Propagation::new(&RadioConfig::STANDARD, n, 1).unwrap();
    let places = vec![(0.0, 0.0); n as usize];
    let positions = Positions::new(Mobility::fixed(&places), radio.reach());
    let mut dcf = Dcf::new(config, positions, radio, 7);
    let packet = |station: StationId| {
        let next = StationId::new((station.number() + 1) % n);
        OutgoingPacket { id: PacketId::new(0), to: Some(next), bytes: PAYLOAD, is_control: false }
    };
    for station in (0..n).map(StationId::new) {
        dcf.send(Instant::ZERO, station, packet(station));
    }
    let (mut reports, mut received) = (Vec::new(), 0_u64);
    let end = Instant::from_secs(seconds);
    loop {
        let now = dcf.run(end, &mut reports);
        for report in reports.drain(..) {
            match report {
                MacReport::Received { .. } => received += 1,
                MacReport::Sent { station, .. } => assert!(dcf.send(now, station, packet(station))),
                other => panic!("{other:?}"),
            }
        }
        if now >= end {
            return (received * u64::from(PAYLOAD) * 8) as f64 / seconds as f64;
        }
    }
}

#[test]
fn saturation_throughput_matches_bianchi() {
    // The model has unlimited retries.
    let patient =
        DcfConfig { short_retry_limit: 255, long_retry_limit: 255, ..DcfConfig::STANDARD };
    for config in [patient, DcfConfig { rts_threshold: WITH_RTS.rts_threshold, ..patient }] {
        for n in [2, 5, 10, 20, 50] {
            let (model, measured) = (model(&config, n), measured(config, n, 60));
            // Without RTS −0.2 … +2.5 % (50 stations), with RTS ± 0.3 %.
            let tolerance = if n == 50 { 0.03 } else { 0.01 };
            let off = measured / model - 1.0;
            assert!(off.abs() < tolerance, "{n} stations: {measured} instead of {model} bit/s");
        }
    }
}
