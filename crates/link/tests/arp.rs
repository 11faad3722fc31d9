//! ARP as time lines: by RFC 826 and RFC 1122, and as in ns-2.35.

use driftway_base::{Duration, Instant, Ipv4Addr, NodeId};
use driftway_link::{Arp, ArpConfig, ArpOutput, ArpRetry, Resolution};
use driftway_wire::{ArpMessage, ArpOperation, HardwareAddr};
use proptest::prelude::*;

const A: u32 = 1;
const B: u32 = 2;
const C: u32 = 3;

fn address(node: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0a00_0000 + node)
}

fn hardware(node: u32) -> HardwareAddr {
    HardwareAddr::of_node(NodeId::new(node))
}

fn arp(config: ArpConfig) -> Arp {
    Arp::new(config, address(A), hardware(A))
}

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn message(operation: ArpOperation, from: u32, to: u32) -> ArpMessage {
    let target_hardware = match operation {
        ArpOperation::Request => HardwareAddr::default(),
        ArpOperation::Reply => hardware(to),
    };
    let (sender_hardware, sender, target) = (hardware(from), address(from), address(to));
    ArpMessage { operation, sender_hardware, sender, target_hardware, target }
}

fn all(arp: &mut Arp) -> Vec<ArpOutput> {
    std::iter::from_fn(|| arp.poll()).collect()
}

fn request(to: u32) -> ArpOutput {
    ArpOutput::Request(message(ArpOperation::Request, A, to))
}

fn send(id: u32, to: u32) -> ArpOutput {
    ArpOutput::Send { id, to: address(to), hardware: hardware(to) }
}

fn failed(id: u32, to: u32) -> ArpOutput {
    ArpOutput::Failed { id, to: address(to) }
}

#[test]
fn a_packet_waits_for_the_reply() {
    let mut arp = arp(ArpConfig::STANDARD);
    assert_eq!(arp.resolve(at(0), address(B), 10), Resolution::Pending);
    assert_eq!(all(&mut arp), [request(B)]);
    assert_eq!(arp.resolve(at(1), address(B), 11), Resolution::Pending);
    assert_eq!(all(&mut arp), []);
    assert!(arp.pending_packets().eq([10, 11]));
    arp.on_message(at(2), &message(ArpOperation::Reply, B, A));
    assert_eq!(all(&mut arp), [send(10, B), send(11, B)]);
    assert_eq!(arp.next_timeout(), None);
    assert_eq!(arp.resolve(at(3), address(B), 12), Resolution::Known(hardware(B)));
}

#[test]
fn the_target_of_a_request_replies_and_learns_the_sender() {
    let mut arp = arp(ArpConfig::STANDARD);
    arp.on_message(at(0), &message(ArpOperation::Request, B, A));
    assert_eq!(all(&mut arp), [ArpOutput::Reply(message(ArpOperation::Reply, A, B))]);
    assert_eq!(arp.resolve(at(1), address(B), 10), Resolution::Known(hardware(B)));
}

/// RFC 1122 §2.3.2.1: one request per second; queued packets fail a second after the last request.
#[test]
fn requests_are_repeated_until_resolution_fails() {
    let mut arp = arp(ArpConfig::STANDARD);
    arp.resolve(at(0), address(B), 10);
    assert_eq!(all(&mut arp), [request(B)]);
    for second in [1000, 2000] {
        assert_eq!(arp.next_timeout(), Some(at(second)));
        arp.on_timeout(at(second));
        assert_eq!(all(&mut arp), [request(B)]);
    }
    arp.resolve(at(2500), address(B), 11);
    assert_eq!(arp.next_timeout(), Some(at(3000)));
    arp.on_timeout(at(3000));
    assert_eq!(all(&mut arp), [failed(10, B), failed(11, B)]);
    assert_eq!(arp.next_timeout(), None);
    // The next packet restarts the resolution.
    arp.resolve(at(3001), address(B), 12);
    assert_eq!(all(&mut arp), [request(B)]);
}

/// RFC 1122 §2.3.2.2: the latest packet for a neighbour is among those queued.
#[test]
fn a_full_queue_drops_the_oldest() {
    let mut arp = arp(ArpConfig { hold: 2, ..ArpConfig::STANDARD });
    for (to, id) in [(B, 10), (C, 20), (B, 11), (B, 12)] {
        arp.resolve(at(0), address(to), id);
    }
    assert_eq!(all(&mut arp), [request(B), request(C), ArpOutput::Evicted { id: 10 }]);
    arp.on_message(at(1), &message(ArpOperation::Reply, B, A));
    assert_eq!(all(&mut arp), [send(11, B), send(12, B)]);
    assert!(arp.pending_packets().eq([20]));
}

#[test]
fn an_expired_entry_is_requested_again() {
    let lifetime = Some(Duration::from_secs(20));
    let mut arp = arp(ArpConfig { lifetime, ..ArpConfig::STANDARD });
    arp.on_message(at(0), &message(ArpOperation::Request, B, A));
    // RFC 826: a message for another node updates an existing entry.
    arp.on_message(at(10_000), &message(ArpOperation::Request, B, C));
    all(&mut arp);
    assert_eq!(arp.resolve(at(29_999), address(B), 10), Resolution::Known(hardware(B)));
    assert_eq!(arp.resolve(at(30_000), address(B), 11), Resolution::Pending);
    assert_eq!(all(&mut arp), [request(B)]);
}

#[test]
fn only_ns2_learns_from_requests_to_others() {
    for (config, knows) in [(ArpConfig::STANDARD, false), (ArpConfig::NS2, true)] {
        let mut arp = arp(config);
        arp.on_message(at(0), &message(ArpOperation::Request, B, C));
        assert_eq!(all(&mut arp), []);
        let known = arp.resolve(at(1), address(B), 10) == Resolution::Known(hardware(B));
        assert_eq!(known, knows);
    }
}

/// mac/arp.cc: three packets are lost, each with a request; the fourth fails with the third.
#[test]
fn ns2_loses_packets_without_a_report() {
    let mut arp = arp(ArpConfig::NS2);
    for round in 0..2 {
        let id = round * 10;
        assert_eq!(arp.resolve(at(0), address(B), id), Resolution::Pending);
        assert_eq!(all(&mut arp), [request(B)]);
        for id in [id + 1, id + 2] {
            arp.resolve(at(5000), address(B), id);
            assert_eq!(all(&mut arp), [ArpOutput::Evicted { id: id - 1 }, request(B)]);
        }
        assert_eq!(arp.next_timeout(), None);
        arp.on_timeout(at(60_000));
        assert_eq!(all(&mut arp), []);
        arp.resolve(at(90_000), address(B), id + 3);
        assert_eq!(all(&mut arp), [failed(id + 2, B), failed(id + 3, B)]);
        assert_eq!(arp.pending_packets().count(), 0);
    }
}

#[test]
fn ns2_entries_do_not_expire() {
    let mut arp = arp(ArpConfig::NS2);
    arp.resolve(at(0), address(B), 10);
    arp.on_message(at(1), &message(ArpOperation::Reply, B, A));
    assert_eq!(all(&mut arp), [request(B), send(10, B)]);
    let year = Instant::from_secs(365 * 86_400);
    assert_eq!(arp.resolve(year, address(B), 11), Resolution::Known(hardware(B)));
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Packet(u32),
    Message { reply: bool, from: u32, to: u32 },
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (B..6).prop_map(Step::Packet),
        2 => (any::<bool>(), B..6, A..6)
            .prop_map(|(reply, from, to)| Step::Message { reply, from, to }),
        2 => (0..3000_u64).prop_map(Step::Wait),
    ];
    prop::collection::vec(step, 0..100)
}

fn configs() -> impl Strategy<Value = ArpConfig> {
    let config = |hold, requests, timer, lifetime: Option<u64>, learn_from_all| ArpConfig {
        hold,
        requests,
        retry: if timer { ArpRetry::After(Duration::from_secs(1)) } else { ArpRetry::NextPacket },
        lifetime: lifetime.map(Duration::from_secs),
        learn_from_all,
    };
    (1..4_usize, 1..4_u32, any::<bool>(), prop::option::of(1..9_u64), any::<bool>())
        .prop_map(move |(a, b, c, d, e)| config(a, b, c, d, e))
}

proptest! {
    /// Each packet is output once or queued; with a timer none is queued for longer than all
    /// requests take; no neighbour is asked twice within a second.
    #[test]
    fn every_packet_ends_once(steps in steps(), config in configs()) {
        let mut arp = arp(config);
        let (mut now, mut id) = (0, 0);
        let mut since = std::collections::BTreeMap::new();
        let mut asked = std::collections::BTreeMap::new();
        let patience = Duration::from_secs(u64::from(config.requests));
        for step in steps {
            let until = match step {
                Step::Wait(millis) => now + millis,
                _ => now,
            };
            while let Some(due) = arp.next_timeout().filter(|due| *due <= at(until)) {
                arp.on_timeout(due);
                prop_assert!(arp.next_timeout().is_none_or(|next| next > due));
                check_outputs(&mut arp, due, &mut since, &mut asked, &config)?;
            }
            now = until;
            match step {
                Step::Packet(to) => {
                    id += 1;
                    if arp.resolve(at(now), address(to), id) == Resolution::Pending {
                        since.insert(id, at(now));
                    }
                }
                Step::Message { reply, from, to } => {
                    let operation = if reply { ArpOperation::Reply } else { ArpOperation::Request };
                    arp.on_message(at(now), &message(operation, from, to));
                }
                Step::Wait(_) => {}
            }
            check_outputs(&mut arp, at(now), &mut since, &mut asked, &config)?;
            if let ArpRetry::After(_) = config.retry {
                prop_assert!(since.values().all(|then| at(now).since(*then) <= patience));
            }
        }
        let mut held: Vec<_> = arp.pending_packets().collect();
        held.sort_unstable();
        prop_assert_eq!(held, since.into_keys().collect::<Vec<_>>());
    }
}

type Times<K> = std::collections::BTreeMap<K, Instant>;

fn check_outputs(
    arp: &mut Arp,
    now: Instant,
    since: &mut Times<u32>,
    asked: &mut Times<Ipv4Addr>,
    config: &ArpConfig,
) -> Result<(), TestCaseError> {
    for output in all(arp) {
        match output {
            ArpOutput::Request(message) => {
                let before = asked.insert(message.target, now);
                if let (ArpRetry::After(gap), Some(before)) = (config.retry, before)
                    && config.lifetime.is_none()
                {
                    prop_assert!(now.since(before) >= gap);
                }
            }
            ArpOutput::Reply(_) => {}
            ArpOutput::Send { id, .. }
            | ArpOutput::Evicted { id }
            | ArpOutput::Failed { id, .. } => {
                prop_assert!(since.remove(&id).is_some());
            }
        }
    }
    Ok(())
}
