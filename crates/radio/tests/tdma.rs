//! TDMA: slots in turn, frames lost only by distance, or at stations that are disabled.

use driftway_base::{Duration, Instant, PacketId, RandomStream, StationId};
use driftway_radio::dcf::{FrameRecord, ReceptionOutcome};
use driftway_radio::{
    FailReason, MacReport, Mobility, OutgoingPacket, Positions, Propagation, RadioConfig, Tdma,
    TdmaConfig,
};

const A: StationId = StationId::new(0);
const B: StationId = StationId::new(1);
const C: StationId = StationId::new(2);

fn tdma(config: TdmaConfig, places: &[(f64, f64)]) -> Tdma {
    let radio = Propagation::new(&RadioConfig::STANDARD, places.len() as u32, 1).unwrap();
    let positions = Positions::new(Mobility::fixed(places), radio.reach());
    let mut tdma = Tdma::new(config, positions, radio, 1);
    tdma.set_recording(true);
    tdma
}

fn packet(id: u32, to: impl Into<Option<StationId>>, bytes: u32) -> OutgoingPacket {
    OutgoingPacket { id: PacketId::new(id), to: to.into(), bytes, is_control: false }
}

fn run(tdma: &mut Tdma) -> (Vec<MacReport>, Vec<FrameRecord>) {
    let (mut reports, mut frames) = (Vec::new(), Vec::new());
    while tdma.next_timeout().is_some() {
        tdma.run(Instant::from_secs(100), &mut reports);
    }
    tdma.take_recorded(&mut frames);
    (reports, frames)
}

/// 1500 + 36 bytes at 2 Mbit/s with a preamble of 192 µs, and 550 m.
const SLOT: u64 = 192_000 + 1536 * 4_000 + 1_835 + 1;

#[test]
fn stations_transmit_in_turn() {
    let mut tdma = tdma(TdmaConfig::STANDARD, &[(0.0, 0.0), (200.0, 0.0), (400.0, 0.0)]);
    assert!(tdma.send(Instant::ZERO, C, packet(7, B, 100)));
    assert!(tdma.send(Instant::ZERO, A, packet(8, B, 1500)));
    assert!(tdma.send(Instant::ZERO, B, packet(9, None, 40)));
    assert!(!tdma.send(Instant::ZERO, B, packet(1, None, 40)), "one at a time");
    tdma.set_promiscuous(A, true);
    let (reports, frames) = run(&mut tdma);
    let starts: Vec<_> = frames.iter().map(|f| (f.from, f.at.as_nanos())).collect();
    assert_eq!(starts, [(A, 0), (B, SLOT), (C, 2 * SLOT)]);
    let nanos = Instant::from_nanos;
    let end = |frame: &FrameRecord| frame.at + frame.airtime;
    let way = Duration::from_nanos(667);
    assert_eq!(
        reports,
        [
            MacReport::Received {
                station: B,
                from: A,
                id: PacketId::new(8),
                broadcast: false,
                at: nanos(192_000 + 1536 * 4_000 + 667)
            },
            MacReport::Sent { station: A, id: PacketId::new(8), to: Some(B), at: end(&frames[0]) },
            MacReport::Received {
                station: A,
                from: B,
                id: PacketId::new(9),
                broadcast: true,
                at: end(&frames[1]) + way
            },
            MacReport::Received {
                station: C,
                from: B,
                id: PacketId::new(9),
                broadcast: true,
                at: end(&frames[1]) + way
            },
            MacReport::Sent { station: B, id: PacketId::new(9), to: None, at: end(&frames[1]) },
            MacReport::Received {
                station: B,
                from: C,
                id: PacketId::new(7),
                broadcast: false,
                at: end(&frames[2]) + way
            },
            MacReport::Sent { station: C, id: PacketId::new(7), to: Some(B), at: end(&frames[2]) },
        ]
    );
}

#[test]
fn a_missed_slot_recurs_and_distant_stations_go_unnoticed() {
    let mut tdma = tdma(TdmaConfig::STANDARD, &[(0.0, 0.0), (251.0, 0.0)]);
    tdma.send(Instant::from_nanos(1), A, packet(1, B, 100));
    let (reports, frames) = run(&mut tdma);
    assert_eq!(frames[0].at.as_nanos(), 2 * SLOT);
    assert_eq!(frames[0].outcome, ReceptionOutcome::OutOfRange);
    assert!(matches!(reports[..], [MacReport::Sent { station: A, .. }]), "losses are not detected");
}

#[test]
fn a_large_packet_takes_several_slots() {
    let mut tdma = tdma(TdmaConfig::STANDARD, &[(0.0, 0.0), (200.0, 0.0)]);
    tdma.send(Instant::ZERO, B, packet(1, A, 3100));
    let (reports, frames) = run(&mut tdma);
    let sizes: Vec<_> = frames.iter().map(|f| (f.at.as_nanos(), f.bytes)).collect();
    assert_eq!(sizes, [(SLOT, 1536), (3 * SLOT, 1536), (5 * SLOT, 136)]);
    assert_eq!(reports.len(), 2, "received and sent once");
}

#[test]
fn in_ns2_a_round_begins_with_an_announcement() {
    let slot = 192_000 + 1534 * 4_000 + 1_835 + 1;
    let mut tdma = tdma(TdmaConfig::NS2, &[(0.0, 0.0), (200.0, 0.0)]);
    tdma.send(Instant::ZERO, B, packet(1, A, 10));
    tdma.send(Instant::from_nanos(1), A, packet(2, B, 10));
    let (_, frames) = run(&mut tdma);
    let starts: Vec<_> = frames.iter().map(|f| (f.from, f.at.as_nanos())).collect();
    // Station 0 has missed the first announcement by a nanosecond.
    assert_eq!(starts, [(B, 2 * slot), (A, 4 * slot)]);
}

/// Saturated stations share the medium evenly, and their total throughput is a packet's bits over
/// the slots that it takes, less the announcements' share of a round.
#[test]
fn saturated_stations_fill_their_slots() {
    const ROUNDS: u64 = 60;
    for stations in [2u32, 5, 12] {
        for (base, header, announced) in [(TdmaConfig::STANDARD, 36, 0), (TdmaConfig::NS2, 34, 1)] {
            for (slot_bytes, bytes) in [(1500, 1500), (1500, 40), (1500, 3100), (512, 1500)] {
                let places: Vec<_> = (0..stations).map(|n| (10.0 * f64::from(n), 0.0)).collect();
                let mut tdma = tdma(TdmaConfig { slot_bytes, ..base }, &places);
                // Over 550 m, and a nanosecond between slots.
                let slot = 192_000 + u64::from(slot_bytes + header) * 4_000 + 1_835 + 1;
                let round = slot * (u64::from(stations) + announced);
                let end = Instant::from_nanos(ROUNDS * round);
                let refill = |tdma: &mut Tdma, now, station: StationId| {
                    let next = StationId::new((station.number() + 1) % stations);
                    assert!(tdma.send(now, station, packet(station.number(), next, bytes)));
                };
                for station in (0..stations).map(StationId::new) {
                    refill(&mut tdma, Instant::ZERO, station);
                }
                let (mut got, mut now) = (vec![0u64; stations as usize], Instant::ZERO);
                let mut reports = Vec::new();
                while now < end {
                    now = tdma.run(end, &mut reports);
                    for report in reports.drain(..) {
                        match report {
                            MacReport::Received { from, .. } => got[from.index()] += 1,
                            MacReport::Sent { station, .. } => refill(&mut tdma, now, station),
                            other => panic!("{other:?}"),
                        }
                    }
                }
                let each = ROUNDS / u64::from(bytes.div_ceil(slot_bytes));
                assert_eq!(got, vec![each; stations as usize], "{stations} {slot_bytes} {bytes}");
            }
        }
    }
}

/// Runs up to this instant, and no further than needed for each report.
fn run_to(tdma: &mut Tdma, end: u64, reports: &mut Vec<MacReport>) {
    while tdma.run(Instant::from_nanos(end), reports) < Instant::from_nanos(end) {}
}

#[test]
fn a_disabled_receiver_hears_nothing_and_its_slots_pass() {
    let mut tdma = tdma(TdmaConfig::STANDARD, &[(0.0, 0.0), (200.0, 0.0), (0.0, 200.0)]);
    tdma.set_enabled(Instant::ZERO, B, false);
    assert!(!tdma.can_accept(B) && !tdma.is_enabled(B));
    assert!(!tdma.send(Instant::ZERO, B, packet(1, A, 40)));
    assert!(tdma.send(Instant::ZERO, A, packet(2, B, 40)));
    assert!(tdma.send(Instant::ZERO, C, packet(3, None, 40)));
    let (reports, frames) = run(&mut tdma);
    let outcomes: Vec<_> = frames.iter().map(|f| (f.at.as_nanos(), f.outcome)).collect();
    assert_eq!(
        outcomes,
        [(0, ReceptionOutcome::OutOfRange), (2 * SLOT, ReceptionOutcome::Broadcast(1))]
    );
    let sent = |r: &&MacReport| matches!(r, MacReport::Sent { .. });
    assert_eq!((reports.len(), reports.iter().filter(sent).count()), (3, 2));
}

/// The station is disabled before its slot, or during its frame, unicast or broadcast.
#[test]
fn the_packet_of_a_disabled_station_is_reported_at_once() {
    for to in [Some(B), None] {
        for (at, count) in [(SLOT / 2, 1), (SLOT - 1, 0)] {
            let mut tdma = tdma(TdmaConfig::STANDARD, &[(0.0, 0.0), (200.0, 0.0)]);
            let start = if count == 1 { 0 } else { 1 };
            tdma.run(Instant::from_nanos(start), &mut Vec::new());
            tdma.send(Instant::from_nanos(start), A, packet(7, to, 1500));
            let mut reports = Vec::new();
            run_to(&mut tdma, at, &mut reports);
            assert_eq!(reports, []);
            let now = Instant::from_nanos(at);
            tdma.set_enabled(now, A, false);
            tdma.set_enabled(now, A, true);
            assert!(!tdma.can_accept(A), "not before the report");
            assert_eq!((tdma.next_timeout(), tdma.run(now, &mut reports)), (Some(now), now));
            let expected = match to {
                Some(to) => {
                    let reason = FailReason::NoAck;
                    MacReport::Failed { station: A, id: PacketId::new(7), to, reason, at: now }
                }
                None => MacReport::Sent { station: A, id: PacketId::new(7), to, at: now },
            };
            assert_eq!(reports, [expected]);
            assert!(tdma.send(now, A, packet(8, to, 10)));
            let (reports, frames) = run(&mut tdma);
            assert_eq!((frames.len(), reports.len()), (count + 1, 2), "{reports:?}");
            assert_eq!(frames[count].at.as_nanos(), 2 * SLOT);
            assert_eq!(tdma.counters(B).errors, count as u64);
            if count == 1 && to.is_some() {
                assert_eq!(frames[0].outcome, ReceptionOutcome::Damaged);
            }
        }
    }
}

/// A packet in three slots, at a station that misses one of them.
#[test]
fn a_packet_of_which_a_slot_was_missed_is_not_received() {
    for (off, on, is_received) in [
        (SLOT / 2, SLOT / 2 + 1, false),
        (3 * SLOT, 3 * SLOT, false),
        (2 * SLOT, 5 * SLOT, false),
        (6 * SLOT, 7 * SLOT, true),
    ] {
        let mut tdma = tdma(TdmaConfig::STANDARD, &[(0.0, 0.0), (200.0, 0.0)]);
        tdma.send(Instant::ZERO, A, packet(1, B, 3100));
        let mut reports = Vec::new();
        run_to(&mut tdma, off, &mut reports);
        tdma.set_enabled(Instant::from_nanos(off), B, false);
        run_to(&mut tdma, on, &mut reports);
        tdma.set_enabled(Instant::from_nanos(on), B, true);
        reports.extend(run(&mut tdma).0);
        let received = reports.iter().any(|r| matches!(r, MacReport::Received { .. }));
        assert_eq!((received, reports.len()), (is_received, 1 + usize::from(is_received)));
    }
}

/// Stations always have a packet, and are switched at random, often several times at an instant:
/// each packet is reported once, a station sends only in its slots and while it is enabled, and
/// those that stay enabled use all of theirs.
#[test]
fn switching_loses_no_packet_and_stalls_no_station() {
    const STATIONS: u32 = 5;
    const ROUNDS: u64 = 300;
    for seed in 0..200 {
        let mut random = RandomStream::new(seed, "switch", 0);
        let places: Vec<_> = (0..STATIONS).map(|n| (10.0 * f64::from(n), 0.0)).collect();
        let mut tdma = tdma(TdmaConfig::STANDARD, &places);
        let (round, end) = (u64::from(STATIONS) * SLOT, ROUNDS * u64::from(STATIONS) * SLOT);
        let mut pending = [None; STATIONS as usize];
        let (mut next, mut at, mut now) = (0, 0, Instant::ZERO);
        let mut reports = Vec::new();
        loop {
            for report in reports.drain(..) {
                match report {
                    MacReport::Sent { station, id, .. } | MacReport::Failed { station, id, .. } => {
                        assert_eq!(pending[station.index()].take(), Some(id));
                    }
                    MacReport::Received { station, from, id, .. } => {
                        assert!(tdma.is_enabled(station) && pending[from.index()] == Some(id));
                    }
                    other @ MacReport::Overheard { .. } => panic!("{other:?}"),
                }
            }
            for station in (0..STATIONS).map(StationId::new) {
                if tdma.can_accept(station) {
                    next += 1;
                    let bytes = random.uniform_below(3200) as u32;
                    let to =
                        (random.uniform_below(3) > 0).then_some((station.number() + 1) % STATIONS);
                    let to = to.map(StationId::new);
                    assert!(tdma.send(now, station, packet(next, to, bytes)));
                    assert_eq!(pending[station.index()].replace(PacketId::new(next)), None);
                }
            }
            if now >= Instant::from_nanos(end) {
                break;
            }
            now = tdma.run(Instant::from_nanos(at.min(end)), &mut reports);
            if now == Instant::from_nanos(at) {
                // Station 0 stays enabled. Often the switches are at the starts of slots.
                let station = 1 + random.uniform_below(u64::from(STATIONS - 1)) as u32;
                let station = StationId::new(station);
                tdma.set_enabled(now, station, !tdma.is_enabled(station));
                at += match random.uniform_below(3) {
                    0 => 0,
                    1 => random.uniform_below(round),
                    _ => (at / SLOT + 1) * SLOT - at,
                };
            }
        }
        let mut frames = Vec::new();
        tdma.take_recorded(&mut frames);
        for frame in &frames {
            let slot = u64::from(frame.from.number()) * SLOT;
            assert_eq!(frame.at.as_nanos() % round, slot);
        }
        assert!(frames.windows(2).all(|two| two[0].at < two[1].at), "one frame in a slot");
        let of_first = frames.iter().filter(|f| f.from == A).count() as u64;
        assert!(of_first >= ROUNDS - 1, "{of_first}");
    }
}
