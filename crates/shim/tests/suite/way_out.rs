//! Bounded recovery: data flow soon after the path works, whatever was signalled before, truly or
//! not.

use crate::common::net::{ForgedSignal, MS, Path, TestNetwork, like_linux};
use crate::common::paths::path;
use crate::common::timeline::{IN_REPAIR, Offers, Timeline, ack, config, nth_segment};
use driftway_aid::Aid;
use driftway_aid::options::{OptionKind, OptionValue};
use driftway_aid::registry::{AIDS, AidEntry};
use driftway_aid::tcp_f::{ResumeFrom, TcpF, TcpFOptions};
use driftway_base::{Duration, Instant, Signal, SignalKind};
use driftway_shim::{Config, CwndAfterOutage, FlowState, PacketAction, Shim};
use driftway_tcp::ControlKind;
use driftway_wire::UnreachableCode;
use proptest::prelude::*;

const OFFERS: Offers = Offers { ecn: true, sack: true };

fn with(listed: &'static AidEntry, config: Config) -> Option<Shim> {
    Some(Shim::with_aid(config, || listed.build(&[]).expect("no options are needed")))
}

/// A forged message during the repair, and everything is acknowledged before an acknowledgment
/// counts as evidence of a path. No original is left to probe with, and the local TCP waits.
#[test]
fn acks_are_reported_when_the_path_is_lost_during_repair() {
    let mut line = Timeline::established();
    line.at(200);
    line.sends(0..3);
    line.at(250);
    line.cut(0);
    line.at(550);
    line.peer_is_held(ack(1001, 200));
    line.at(570);
    line.cut(2);
    line.at(599);
    line.taken();
    assert_eq!(line.local(nth_segment(0).not_capable()), IN_REPAIR);
    line.at(650);
    line.peer_is_held(ack(3001, 200));
    // Its timeout is undone, and everything is reported.
    line.emits(["650 tcp a2 t650/200 w50000", "650 tcp a3001 t650/599 w50000"]);
    assert_eq!((line.status().state, line.status().outstanding), (FlowState::Disconnected, 0));
    // The next data are the probe.
    line.stores(nth_segment(3));
    line.stores(nth_segment(4));
    line.at(869);
    line.emits(["770 net 3001+1000 a1 t650/650 ect"]);
    line.at(870);
    line.peer_is_held(ack(4001, 650));
    line.emits(["870 net 4001+1000 a1 t650/650 ect"]);
    line.at(970);
    line.peer_is_held(ack(5001, 650));
    line.emits(["970 tcp a5001 t970/870 w50000"]);
    assert_eq!(line.status().state, FlowState::Open);
}

/// The same with data outstanding: the acknowledgments are withheld for a second at most.
#[test]
fn withheld_acks_are_reported_within_a_second() {
    let mut line = Timeline::established();
    line.at(200);
    line.sends(0..3);
    line.at(250);
    line.cut(0);
    line.at(550);
    line.peer_is_held(ack(1001, 200));
    line.at(570);
    line.cut(2);
    line.at(650);
    line.peer_is_held(ack(2001, 200));
    line.at(1549);
    assert!(line.taken().iter().all(|sent| sent.contains(" net ")), "no packet for the local TCP");
    line.at(1550);
    let taken = line.taken();
    assert_eq!(taken.iter().filter(|sent| *sent == "1550 tcp a2001 t650/1450 w50000").count(), 1);
    assert_eq!(line.status().state, FlowState::Disconnected);
    line.at(1669);
    line.emits(["1570 net 2001+1000 a1 t200/200"]);
    line.at(1670);
    line.peer_is_held(ack(3001, 200));
    line.emits(["1670 tcp a3001 t1670/1570 w50000"]);
    assert_eq!(line.status().state, FlowState::Open);
}

/// Data that a router reported as undeliverable are not acknowledged without a retransmission.
#[test]
fn after_a_false_report_only_silence_is_accepted() {
    let mut line = Timeline::established();
    line.at(200);
    line.sends(0..2);
    line.at(210);
    line.cut(1);
    line.at(300);
    line.peer_passes(ack(1001, 200));
    line.peer_passes(ack(2001, 200));
    // The next data are the probe, at once.
    line.stores(nth_segment(2));
    line.at(400);
    line.peer_is_held(ack(3001, 300));
    line.taken();
    assert_eq!(line.status().state, FlowState::Open);
    // Ten more in two seconds: nothing is held.
    for n in 0..10 {
        line.at(500 + u64::from(n) * 200);
        line.sends(3 + n..4 + n);
        line.emits([]);
        assert_eq!(line.unreachable(nth_segment(3 + n), UnreachableCode::Host), PacketAction::Pass);
        line.at(600 + u64::from(n) * 200);
        line.peer_passes(ack(4001 + 1000 * n, 500 + n * 200));
    }
    // True this time: no answer for an RTO (300 ms).
    line.at(3000);
    line.sends(13..15);
    assert_eq!(line.unreachable(nth_segment(13), UnreachableCode::Host), PacketAction::Pass);
    line.at(3299);
    assert_eq!(line.status().state, FlowState::Open);
    line.at(3300);
    assert_eq!(line.status().state, FlowState::Disconnected);
    line.at(3700);
    line.emits(["3500 net 13001+1000 a1 t3000/3000", "3700 net 13001+1000 a1 t3000/3000"]);
    line.at(3800);
    line.peer_is_held(ack(15_001, 3000));
    line.taken();
    assert_eq!(line.status().state, FlowState::Open);
    // The next report is accepted.
    line.at(4000);
    line.sends(15..16);
    line.cut(15);
}

/// An aid that waits for a signal, and one that probes every few seconds: the shim probes once a
/// second, and a packet that was not in flight when the hold began ends it.
#[test]
fn the_shim_probes_whatever_the_aid_waits_for() {
    for (name, state) in [("tcp-f", "snooze"), ("atcp", "disconnected")] {
        let aid = driftway_aid::registry::find(name).expect("listed");
        let mut line = Timeline::established_with_shim(with(aid, config()).expect("one"), OFFERS);
        line.at(200);
        line.sends(0..2);
        line.at(250);
        match name {
            "tcp-f" => line.signal(&Signal::new(SignalKind::RouteFailed)),
            _ => line.cut(0),
        }
        assert_eq!(
            (line.status().state, line.status().aid_state),
            (FlowState::Disconnected, state)
        );
        line.at(2349);
        line.emits(["1250 net 1+1000 a1 t200/200", "2250 net 1+1000 a1 t200/200"]);
        line.at(2350);
        line.peer_is_held(ack(2001, 200));
        line.emits(["2350 tcp a2001 t2350/2250 w50000"]);
        assert_eq!(line.status().state, FlowState::Open, "{name}");
        line.at(2500);
        line.sends(2..3);
        line.at(2600);
        line.peer_passes(ack(3001, 2500));
    }
}

/// An RTT sample as long as an outage would prolong all later timeouts.
#[test]
fn an_rtt_interrupted_by_a_hold_is_not_sampled() {
    let options = TcpFOptions { resume_from: ResumeFrom::Nxt, ..TcpFOptions::default() };
    let make = move || Box::new(TcpF::new(options)) as Box<dyn Aid>;
    let config = Config { probe_max: Duration::from_secs(60), ..config() };
    let mut line = Timeline::established_with_shim(Shim::with_aid(config, make), OFFERS);
    line.at(200);
    line.sends(0..2);
    line.signal(&Signal::new(SignalKind::RouteFailed));
    line.at(5_000);
    line.signal(&Signal::new(SignalKind::RouteRestored));
    line.at(5_150);
    line.sends(2..3);
    line.at(5_200);
    line.peer_passes(ack(2001, 200));
    line.at(5_250);
    line.peer_passes(ack(3001, 5_150));
    assert_eq!(line.status().srtt, Some(MS(100)));
}

/// A transfer: bytes that have arrived at these times (ms).
fn under_attack(
    aid: Option<&'static AidEntry>,
    lie: ForgedSignal,
    delay: u64,
    at: &[u64],
) -> Vec<u64> {
    let shim = aid.and_then(|aid| with(aid, Config::default()));
    let path = Path { delay: MS(delay), ..Path::clean() };
    let mut world = TestNetwork::new(&like_linux(ControlKind::Cubic), [shim, None], path, 1);
    world.ends[0].writes = 1 << 40;
    (0..50).for_each(|n| world.schedule_forged(Instant::from_millis(5_000 + n * 200), lie));
    let read = |at: &u64| {
        world.run_until(Instant::from_millis(*at));
        world.ends[1].read
    };
    at.iter().map(read).collect()
}

/// Five forged messages a second for ten seconds, with numbers in flight, or about the host's own
/// link.
#[test]
fn after_forged_messages_data_flow_within_two_seconds() {
    for lie in [ForgedSignal::Icmp, ForgedSignal::Link { up: false }] {
        for delay in [5, 20, 50, 150] {
            for aid in AIDS {
                let read = under_attack(Some(aid), lie, delay, &[14_800, 16_800, 18_800]);
                let grows = read.windows(2).all(|pair| pair[0] < pair[1]);
                assert!(grows, "{}, {lie:?}, {delay} ms: {read:?}", aid.name);
            }
            // The default shim is hardly slowed down.
            let times = [5_000, 14_800];
            let plain = under_attack(None, lie, delay, &times);
            let carry = under_attack(driftway_aid::registry::find("carry"), lie, delay, &times);
            let [plain, carry] = [plain, carry].map(|read| read[1] - read[0]);
            println!("{lie:?}, {delay} ms: {plain} and {carry} bytes in the attack");
            assert!(carry * 10 >= plain * 9, "{lie:?}, {delay} ms: {plain} and {carry}");
        }
    }
}

/// A value of an option from its whole range, chosen by `number`.
fn value(kind: &OptionKind, number: u64) -> OptionValue<'static> {
    match kind {
        OptionKind::Duration(least, most) => {
            let span = *least + Duration::from_millis(number % 30_000);
            OptionValue::Duration(span.min(*most))
        }
        OptionKind::Count(least, most) => {
            OptionValue::Count(least + (number % u64::from((most - least).min(40) + 1)) as u32)
        }
        OptionKind::Number(unit, least, most) => {
            OptionValue::Number(*unit, least + (most - least) * (number % 40) as f64 / 40.0)
        }
        OptionKind::Flag => OptionValue::Flag(number & 1 == 0),
        OptionKind::Choice(words) => OptionValue::Choice(words[number as usize % words.len()].0),
    }
}

#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    aid: usize,
    numbers: Vec<u64>,
    config: Config,
    path: Path,
    both: bool,
    lies: Vec<(u64, u8)>,
    ends: u64,
    killed: Option<u64>,
}

impl Case {
    fn shim(&self) -> Option<Shim> {
        let (aid, numbers) = (&AIDS[self.aid], self.numbers.clone());
        if aid.name == "carry" {
            return Some(Shim::new(self.config));
        }
        Some(Shim::with_aid(self.config, move || {
            let options = aid.options();
            let mut settings: Vec<_> = options
                .iter()
                .zip(&numbers)
                .map(|(option, number)| (option.name, value(&option.kind, *number)))
                .collect();
            // Options that must not be longer than another one keep their default, together with
            // that.
            settings.retain(|(name, _)| {
                aid.ordered_options.iter().all(|(a, b)| a != name && b != name)
            });
            aid.build(&settings).expect("each value is valid")
        }))
    }
}

fn shim_config() -> impl Strategy<Value = Config> {
    let suspect = prop_oneof![2 => Just(None), 1 => (1_u32..4).prop_map(Some)];
    let cwnd = prop_oneof![Just(CwndAfterOutage::Keep), Just(CwndAfterOutage::Reset)];
    let store = prop_oneof![3 => Just(4_usize << 20), 1 => 4096_usize..100_000];
    let spans = (1_u64..200, 200_u64..=1_000, 1_u64..20_000);
    (suspect, cwnd, store, spans, any::<(bool, bool, bool)>()).prop_map(
        |(suspect_after, cwnd, store_per_flow, (min, max, fast), (undo_ack, undo_losses, back))| {
            Config {
                suspect_after,
                cwnd,
                store_per_flow,
                undo_ack,
                undo_losses,
                hold_back: back,
                probe_min: MS(min),
                probe_max: MS(max),
                probe_fast: MS(fast),
                ..Config::default()
            }
        },
    )
}

fn case() -> impl Strategy<Value = Case> {
    let lies = prop::collection::vec((300_u64..20_000, any::<u8>()), 0..120);
    let aid = (0..AIDS.len(), prop::collection::vec(any::<u64>(), 12));
    let killed = prop_oneof![7 => Just(None), 1 => (0_u64..20_000).prop_map(Some)];
    (any::<u64>(), aid, shim_config(), path(), any::<bool>(), lies, 1_000_u64..20_000, killed)
        .prop_map(|(seed, (aid, numbers), config, path, both, lies, ends, killed)| {
            // RTTs, queues included, of a fifth of a second at most.
            let bits_per_second = path.bits_per_second.max(8_000_000);
            let delay = path.delay.min(MS(40));
            let path = Path { bits_per_second, delay, ..path };
            Case { seed, aid, numbers, config, path, both, lies, ends, killed }
        })
}

fn lie(kind: u8) -> ForgedSignal {
    match kind % 8 {
        0 => ForgedSignal::Link { up: false },
        1 => ForgedSignal::Link { up: true },
        _ => ForgedSignal::Icmp,
    }
}

/// Runs a case from a state that a bad path and forged signals lead to: data must flow within two
/// seconds of the path's recovery. That is a second until the next probe, one RTT, and spare time
/// for the local TCP to send on. Where the shim does not hold it, has not stored what the peer
/// needs, or has an aid that leaves losses to it (`held`), the next step waits for the local TCP's
/// own retransmission, as without a shim: two seconds from when its timer expires.
fn check(case: &Case) {
    let shims = [case.shim(), if case.both { case.shim() } else { None }];
    let works = Instant::from_millis(case.ends);
    let mut path = case.path.clone();
    path.cuts.retain(|(start, _)| *start < works);
    path.cuts.iter_mut().for_each(|(_, end)| *end = (*end).min(works));
    let mut world = TestNetwork::new(&like_linux(ControlKind::Cubic), shims, path, case.seed);
    world.bounds = case.config;
    world.ends[0].writes = 1 << 40;
    for (at, kind) in case.lies.iter().filter(|(at, _)| *at < case.ends) {
        world.schedule_forged(Instant::from_millis(*at), lie(*kind));
    }
    if let Some(at) = case.killed.filter(|at| *at < case.ends) {
        world.run_until(Instant::from_millis(at));
        world.kill(false);
    }
    world.run_until(works);
    (world.path.loss, world.path.late.0, world.path.doubled) = ([0.0; 2], 0.0, 0.0);
    // A handshake is TCP's own.
    if world.ends.iter().any(|end| !end.tcp.view().is_synchronized) {
        return;
    }
    let held = |world: &TestNetwork| {
        let flow = world.ends[0].shim.as_ref().and_then(|shim| shim.flows().next());
        flow.map_or(FlowState::Open, |flow| flow.state)
    };
    let (before, state) = (world.ends[1].read, held(&world));
    let timer = world.ends[0].tcp.view().retransmission_deadline.value().flatten();
    let stored = case.config.store_per_flow == 4 << 20;
    let from = match timer {
        Some(at) if state != FlowState::Disconnected || !stored => at.max(works),
        _ => works,
    };
    let mut read = vec![before];
    for n in 1..=3 {
        world.run_until(from + Duration::from_secs(2).times(n));
        read.push(world.ends[1].read);
    }
    let (aid, after) = (AIDS[case.aid].name, from.since(works).as_millis());
    let grows = read.windows(2).all(|pair| pair[0] < pair[1]);
    assert!(grows, "{aid} was {state:?}, is {:?}: {read:?}, from {after} ms on", held(&world));
    assert_eq!(held(&world), FlowState::Open, "{aid} was {state:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn data_flow_again_soon_after_the_path_works(case in case()) {
        check(&case);
    }
}
