//! Properties that hold for any positions and traffic.

use driftway_base::{Duration, Instant, Probability, Rate, StationId};
use driftway_radio::dcf::{CaptureModel, ResponseTimeout};
use driftway_radio::{DcfConfig, MacReport};
use proptest::prelude::*;

use crate::air::*;

#[derive(Clone, Debug)]
pub struct Case {
    pub config: DcfConfig,
    pub seed: u64,
    pub places: Vec<(f64, f64)>,
    /// Time (µs), sender, receiver (the number of stations: broadcast), bytes.
    pub packets: Vec<(u64, u32, u32, u32)>,
}

fn configs() -> impl Strategy<Value = DcfConfig> {
    let bools = prop::array::uniform13(any::<bool>());
    let rts = prop_oneof![Just(0u32), Just(500), Just(3000)];
    // Normal frames, frames shorter than a SIFS, and shorter than the propagation delay to the next
    // station.
    let speed =
        prop_oneof![3 => Just(None), 1 => Just(Some(40_000_000)), 1 => Just(Some(10_000_000_000))];
    let sifs = prop_oneof![4 => Just(10_000), 1 => Just(1)];
    (bools, rts, 0u8..3, speed, sifs).prop_map(|(on, rts, whole, speed, sifs)| {
        let base = if whole == 0 { DcfConfig::NS2 } else { DcfConfig::STANDARD };
        let rate = |usual| speed.map_or(usual, Rate::from_bps);
        DcfConfig {
            data_rate: rate(base.data_rate),
            basic_rate: rate(base.basic_rate),
            preamble: if speed.is_some() { Duration::ZERO } else { base.preamble },
            sifs: Duration::from_nanos(sifs),
            rts_threshold: rts,
            backoff_includes_cw: on[0],
            backoff_before_first: !on[1],
            cts_needs_idle: on[2],
            data_needs_idle: on[3],
            cts_holds_backoff: on[4],
            eifs_is_nav: on[5],
            eifs_when_only_sensed: on[6],
            capture: match (on[7], on[12]) {
                (true, _) => CaptureModel::First,
                (false, true) => CaptureModel::Sinr,
                (false, false) => CaptureModel::Stronger,
            },
            counts_outlive_packets: on[8],
            difs_after_timeout: on[9],
            rts_nav_ends: on[10],
            response_timeout: if whole == 2 {
                ResponseTimeout::Preamble
            } else {
                DcfConfig::NS2.response_timeout
            },
            frame_error: Probability::from_f64(if on[11] { 0.05 } else { 0.0 }),
            ..base
        }
    })
}

pub fn cases() -> impl Strategy<Value = Case> {
    (2u32..12, 100.0..1500.0f64).prop_flat_map(|(stations, side)| {
        let place = (0.0..side, 0.0..side);
        let at = prop_oneof![0u64..60_000, 1_000u64..1_020];
        let packet = (at, 0..stations, 0..=stations, 0u32..1500);
        (
            configs(),
            any::<u64>(),
            prop::collection::vec(place, stations as usize),
            prop::collection::vec(packet, 1..60),
        )
            .prop_map(|(config, seed, places, packets)| Case {
                config,
                seed,
                places,
                packets,
            })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn each_packet_ends_once_and_no_station_transmits_two_frames_at_a_time(case in cases()) {
        let stations = case.places.len() as u32;
        let mut air = seeded(case.config, &case.places, case.seed);
        let mut to_of = vec![None];
        for &(at, from, to, bytes) in &case.packets {
            let to = (to < stations && to != from).then_some(to);
            air.send(at, from, to, bytes);
            to_of.push(to.map(StationId::new));
        }
        // Sixty packets of at most seven attempts, of at most 25 ms with the longest backoff each.
        let frames = air.run(60_000);
        prop_assert_eq!(air.dcf.next_timeout().filter(|at| *at < Instant::from_secs(60)), None);

        let mut ended = vec![0; to_of.len()];
        let mut got = std::collections::BTreeMap::new();
        for report in &air.reports {
            match *report {
                MacReport::Sent { id, .. } | MacReport::Failed { id, .. } => ended[id.index()] += 1,
                MacReport::Received { station, id, broadcast, .. } => {
                    prop_assert_eq!(ended[id.index()], 0, "received before its sender's report");
                    prop_assert_eq!(to_of[id.index()].is_none(), broadcast);
                    prop_assert!(broadcast || to_of[id.index()] == Some(station));
                    *got.entry((station, id)).or_insert(0) += 1;
                }
                MacReport::Overheard { .. } => prop_assert!(false, "no station is promiscuous"),
            }
        }
        prop_assert!(ended[1..].iter().all(|&count| count == 1), "{:?}", ended);
        prop_assert!(got.values().all(|&count| count == 1), "{:?}", got);
        for report in &air.reports {
            if let MacReport::Sent { id, .. } = *report
                && let Some(to) = to_of[id.index()]
            {
                prop_assert!(got.contains_key(&(to, id)), "acknowledged, so received");
            }
        }

        let mut until = vec![Instant::ZERO; stations as usize];
        let mut last = Instant::ZERO;
        for frame in &frames {
            prop_assert!(frame.at >= last, "in order of time");
            last = frame.at;
            let own = &mut until[frame.from.index()];
            prop_assert!(frame.at >= *own, "station {} sends two frames at a time", frame.from);
            *own = frame.at + frame.airtime;
        }
        let counted = air.dcf.total_counters();
        let all = counted.rts + counted.cts + counted.data + counted.acks + counted.broadcasts;
        prop_assert_eq!((all, air.dcf.frames_sent()), (frames.len() as u64, frames.len() as u64));
    }

    #[test]
    fn a_run_is_a_function_of_its_input(case in cases()) {
        let run = |recorded| {
            let mut air = seeded(case.config, &case.places, case.seed);
            air.dcf.set_recording(recorded);
            for &(at, from, to, bytes) in &case.packets {
                let to = (to < case.places.len() as u32 && to != from).then_some(to);
                air.send(at, from, to, bytes);
            }
            air.run(60_000);
            air.reports
        };
        prop_assert_eq!(run(true), run(false));
    }
}
