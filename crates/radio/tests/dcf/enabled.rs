//! Stations that are disabled and enabled.

use driftway_base::{Duration, Instant, PacketId, StationId};
use driftway_radio::dcf::ReceptionOutcome;
use driftway_radio::{DcfConfig, FailReason, MacReport};
use proptest::prelude::*;

use crate::air::*;
use crate::properties::{Case, cases};

const MILLI: u64 = 1_000_000;
/// RTS and data of 1000 bytes, as in `exchange`.
const RTS_TIME: u64 = 352_000;
const DATA_TIME: u64 = 192_000 + 1036 * 4_000;
const DIFS: u64 = 50_000;
/// A SIFS, an ACK at 1 Mbit/s, and a DIFS.
const EIFS: u64 = 10_000 + 304_000 + DIFS;

#[test]
fn a_disabled_receiver_is_as_one_out_of_range() {
    for (config, reason) in
        [(WITH_RTS, FailReason::NoCts), (DcfConfig::STANDARD, FailReason::NoAck)]
    {
        let mut air = medium(config, &row(2));
        let (lost, received) = (air.send(1_000, 0, 1, 1000), air.send(500_000, 0, 1, 1000));
        air.dcf.set_enabled(Instant::ZERO, StationId::new(1), false);
        air.switch(400 * MILLI, 1, true);
        let frames = air.run(600);
        assert_eq!(summary(&frames)[..7], [(frames[0].kind, 0, ReceptionOutcome::OutOfRange); 7]);
        let failed: Vec<_> = air.failed().iter().map(|f| (f.0, f.1)).collect();
        assert_eq!(failed, [(lost, reason)]);
        assert_eq!((air.sent(), air.received()), (vec![received], vec![(1, received)]));
    }
}

#[test]
fn a_broadcast_passes_a_disabled_station() {
    let mut air = medium(DcfConfig::STANDARD, &row(4));
    air.dcf.set_enabled(Instant::ZERO, StationId::new(2), false);
    let id = air.send(1_000, 1, None, 100);
    let frames = air.run(100);
    assert_eq!(summary(&frames), [(DATA, 1, ReceptionOutcome::Broadcast(1))]);
    assert_eq!(air.received(), [(0, id)]);
}

#[test]
fn a_disabled_station_accepts_nothing() {
    let mut air = medium(DcfConfig::STANDARD, &row(2));
    let id = air.send(1_000, 0, 1, 100);
    let (off, on) = (StationId::new(0), StationId::new(1));
    air.dcf.set_enabled(Instant::ZERO, off, false);
    assert!(!air.dcf.can_accept(off) && air.dcf.can_accept(on) && !air.dcf.is_enabled(off));
    assert_eq!(air.run(100), []);
    air.switch(100 * MILLI, 0, true);
    assert_eq!(air.run(200).len(), 2);
    assert_eq!(air.sent(), [id]);
}

/// The packet waits for a CTS, or an ACK, or it is a broadcast.
#[test]
fn the_packet_of_a_disabled_station_is_reported_at_once() {
    let at = Instant::from_micros(1_100);
    for (config, to, reason) in [
        (WITH_RTS, Some(1), Some(FailReason::NoCts)),
        (DcfConfig::STANDARD, Some(1), Some(FailReason::NoAck)),
        (DcfConfig::STANDARD, None, None),
    ] {
        let mut air = medium(config, &row(2));
        let id = air.send(1_000, 0, to, 1000);
        air.switch(at.as_nanos(), 0, false);
        let frames = air.run(100);
        let (station, id) = (StationId::new(0), PacketId::new(id));
        let expected = match (to.map(StationId::new), reason) {
            (Some(to), Some(reason)) => MacReport::Failed { station, id, to, reason, at },
            _ => MacReport::Sent { station, id, to: None, at },
        };
        assert_eq!(air.reports, [expected]);
        let outcome =
            if to.is_some() { ReceptionOutcome::Damaged } else { ReceptionOutcome::Broadcast(0) };
        assert_eq!(frames.iter().map(|f| f.outcome).collect::<Vec<_>>(), [outcome]);
        assert_eq!(air.counters(1).errors, 1, "cut");
        let counted = air.counters(0);
        assert_eq!(
            (counted.failed_no_cts, counted.failed_no_ack),
            (
                u64::from(reason == Some(FailReason::NoCts)),
                u64::from(reason == Some(FailReason::NoAck))
            )
        );
    }
}

/// Stations that could decode a frame that is cut are busy to its announced end, and an EIFS
/// longer.
#[test]
fn a_cut_frame_keeps_the_medium_busy() {
    let mut air = medium(DcfConfig::STANDARD, &row(2));
    air.send(1_000, 0, 1, 1000);
    air.switch(1_100_000, 0, false);
    air.send(1_200, 1, None, 10);
    let frames = air.run(100);
    let free = 1_000_000 + DATA_TIME + 667 + EIFS;
    let waited = frames[1].at.since(Instant::from_nanos(free)).as_nanos();
    assert!(waited.is_multiple_of(20_000) && waited <= 31 * 20_000, "{waited}");
}

/// It decodes neither the frame that it was receiving nor what follows, and sends no ACK.
#[test]
fn a_receiver_disabled_for_a_moment_loses_the_frame() {
    let mut air = medium(WITH_RTS, &row(2));
    air.send(1_000, 0, 1, 1000);
    let data = 1_000_000 + RTS_TIME + 304_000 + 2 * 10_677;
    air.switch(data + 1_000, 1, false);
    air.switch(data + 1_001, 1, true);
    let frames = air.run(100);
    let first: Vec<_> = summary(&frames).into_iter().take(3).collect();
    assert_eq!(
        first,
        [
            (RTS, 0, ReceptionOutcome::Received),
            (CTS, 1, ReceptionOutcome::Received),
            (DATA, 0, ReceptionOutcome::OutOfRange)
        ]
    );
    assert_eq!(air.received().len(), 1, "from the next attempt");
    assert_eq!(air.sent().len(), 1);
    let counted = air.counters(1);
    assert_eq!((counted.collisions, counted.errors, counted.missed_while_transmitting), (0, 0, 0));
}

/// A station that is enabled during a frame waits for its end, otherwise for a DIFS.
#[test]
fn an_enabled_station_senses_what_is_on_the_air() {
    let airtime = 192_000 + 520 * 8_000;
    for (on, free) in [(2 * MILLI, MILLI + airtime + 667), (90 * MILLI, 90 * MILLI)] {
        let mut air = medium(DcfConfig::STANDARD, &row(2));
        air.dcf.set_enabled(Instant::ZERO, StationId::new(1), false);
        air.send(1_000, 0, None, 520 - 36);
        air.switch(on, 1, true);
        air.send(on / 1_000, 1, None, 10);
        let frames = air.run(200);
        assert_eq!(frames[0].airtime.as_nanos(), airtime);
        assert_eq!(frames[0].outcome, ReceptionOutcome::Broadcast(0));
        let waited = frames[1].at.since(Instant::from_nanos(free + DIFS)).as_nanos();
        assert!(waited.is_multiple_of(20_000) && waited <= 31 * 20_000, "{waited}");
    }
}

/// A response that was pending is not sent by the station that is enabled again.
#[test]
fn a_pending_response_is_forgotten() {
    let mut air = medium(WITH_RTS, &row(2));
    air.send(1_000, 0, 1, 1000);
    air.switch(1_000_000 + RTS_TIME + 5_000, 1, false);
    air.switch(1_000_000 + RTS_TIME + 6_000, 1, true);
    let frames = air.run(100);
    assert_eq!((frames[0].kind, frames[1].kind), (RTS, RTS));
    assert_eq!(air.sent().len(), 1);
}

#[test]
fn sequence_numbers_and_promiscuous_mode_continue() {
    let mut air = medium(DcfConfig::STANDARD, &row(3));
    air.dcf.set_promiscuous(StationId::new(2), true);
    air.send(1_000, 0, 1, 100);
    air.send(20_000, 1, 0, 100);
    for station in 0..3 {
        air.switch(50 * MILLI, station, false);
        air.switch(60 * MILLI, station, true);
    }
    air.send(70_000, 1, 0, 100);
    let frames = air.run(100);
    let sequences: Vec<_> = frames
        .iter()
        .filter(|f| f.kind == DATA && f.from == StationId::new(1))
        .map(|f| f.sequence)
        .collect();
    assert_eq!(sequences, [1, 2]);
    let overheard = |report: &&MacReport| matches!(report, MacReport::Overheard { station, .. } if station.number() == 2);
    assert_eq!(air.reports.iter().filter(overheard).count(), 2);
}

#[test]
fn what_is_so_already_changes_nothing() {
    let run = |redundant: bool| {
        let mut air = medium(DcfConfig::NS2, &row(3));
        for station in 0..3 {
            air.send(1_000, station, (station + 1) % 3, 700);
            if redundant {
                (0..40).for_each(|at| air.switch(at * MILLI / 4, station, true));
            }
        }
        (air.run(200), air.reports)
    };
    assert_eq!(run(true), run(false));
}

fn switched() -> impl Strategy<Value = (Case, Vec<(u64, u32, bool)>)> {
    let switch = (0u64..60_000_000, any::<prop::sample::Index>(), any::<bool>());
    // Several within few nanoseconds, at a time with packets.
    let close = (1_000_000u64..1_000_500, any::<prop::sample::Index>(), any::<bool>());
    let switches = prop::collection::vec(prop_oneof![2 => switch, 1 => close], 1..60);
    (cases(), switches).prop_map(|(case, switches)| {
        let stations = case.places.len();
        let switches = switches.into_iter().map(|(at, n, on)| (at, n.index(stations) as u32, on));
        (case, switches.collect())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Each packet is reported once; a station that is disabled receives nothing and begins no
    /// frame; and in the end all are idle and can communicate as those of a new network.
    #[test]
    fn no_packet_is_lost_and_no_station_stalls((case, switches) in switched()) {
        let stations = case.places.len() as u32;
        let mut air = seeded(case.config, &case.places, case.seed);
        let mut to_of = vec![None];
        for &(at, from, to, bytes) in &case.packets {
            let to = (to < stations && to != from).then_some(to);
            air.send(at, from, to, bytes);
            to_of.push(to);
        }
        for &(at, station, enabled) in &switches {
            air.switch(at, station, enabled);
        }
        (0..stations).for_each(|station| air.switch(30_000 * MILLI, station, true));
        let frames = air.run(60_000);
        prop_assert_eq!(air.dcf.next_timeout().filter(|at| *at < Instant::from_secs(60)), None);

        // Off from the first to the second instant, both included: calls at one instant come in
        // order.
        let mut off = vec![Vec::new(); stations as usize];
        let mut since = vec![None; stations as usize];
        let mut in_order = switches.clone();
        in_order.sort_by_key(|(at, ..)| *at);
        for &(at, station, enabled) in &in_order {
            let since: &mut Option<u64> = &mut since[station as usize];
            match (*since, enabled) {
                (None, false) => *since = Some(at),
                (Some(from), true) => {
                    off[station as usize].push((from, at));
                    *since = None;
                }
                _ => {}
            }
        }
        for (station, since) in since.iter().enumerate() {
            off[station].extend(since.map(|from| (from, 30_000 * MILLI)));
        }
        let is_off = |station: StationId, at: Instant| {
            off[station.index()].iter().any(|&(from, to)| from < at.as_nanos() && at.as_nanos() < to)
        };
        let mut ended = vec![0; to_of.len()];
        for report in &air.reports {
            match *report {
                MacReport::Sent { id, .. } | MacReport::Failed { id, .. } => ended[id.index()] += 1,
                MacReport::Received { station, id, at, .. } => {
                    prop_assert_eq!(ended[id.index()], 0, "received before its sender's report");
                    prop_assert!(!is_off(station, at), "received while disabled");
                }
                MacReport::Overheard { .. } => prop_assert!(false, "no station is promiscuous"),
            }
        }
        prop_assert!(ended[1..].iter().all(|&count| count == 1), "{:?}", ended);
        for frame in &frames {
            prop_assert!(!is_off(frame.from, frame.at), "sent while disabled");
        }

        // A station and its nearest neighbour, with the medium to themselves.
        air.reports.clear();
        let distance = |a: u32, b: u32| {
            let ((ax, ay), (bx, by)) = (case.places[a as usize], case.places[b as usize]);
            (ax - bx).abs().max((ay - by).abs())
        };
        for station in 0..stations {
            let others = (0..stations).filter(|&other| other != station);
            let nearest = others.min_by(|&a, &b| distance(station, a).total_cmp(&distance(station, b)));
            if let Some(nearest) = nearest.filter(|&nearest| distance(station, nearest) < 170.0) {
                air.reports.clear();
                // Frame errors may cost a packet all its attempts.
                let start = 61_000 + 1_000 * u64::from(station);
                (0..5).for_each(|_| {
                    air.send(1_000 * start, station, nearest, 500);
                });
                air.run(start + 1_000);
                prop_assert_eq!(air.sent().len() + air.failed().len(), 5);
                prop_assert!(!air.sent().is_empty());
            }
        }
    }
}

/// A pair of stations carries as much while a third one is switched on and off as without it.
#[test]
fn a_station_that_flaps_does_not_slow_down_others() {
    let packets = |flaps: bool| {
        let mut air = medium(WITH_RTS, &row(3));
        air.dcf.set_enabled(Instant::ZERO, StationId::new(2), false);
        (0..2_000).for_each(|_| {
            air.send(0, 0, 1, 1000);
        });
        if flaps {
            (0..2_000).for_each(|at| air.switch(at * MILLI, 2, at % 2 == 1));
        }
        air.run(2_000);
        air.sent().len()
    };
    assert_eq!(packets(true), packets(false));
    let exchange = Duration::from_nanos(RTS_TIME + DATA_TIME + 2 * 304_000);
    assert!(packets(true) as u64 * exchange.as_nanos() > 1_500 * MILLI);
}
