//! Random networks under random use: no packet is lost without a reason, whatever the driver does.

use driftway_base::{Instant, NodeId, RandomStream};
use driftway_link::QueuePosition;
use driftway_net::addresses::address;
use driftway_net::{Event, Network, Output, Recording};
use driftway_scenario::Scenario;
use driftway_wire::{Body, IpHeader, Packet, Payload, UdpDatagram};
use proptest::prelude::*;

/// A mixed network of wired nodes `w…` in a tree and of radios `n…`, of which the first is a gateway.
fn scenario(wired: u32, radios: u32, protocol: &str, seed: u64) -> Scenario {
    let mut random = RandomStream::new(seed, "test", 0);
    let mut text = format!(
        "name = \"random\"\nduration = \"30 s\"\n[[flow]]\nfrom = 0\nto = 1\n\
         application = \"ftp\"\n[network]\nkind = \"mixed\"\nnodes = [\"w[0-{}]\", \"n[0-{}]\"]\n",
        wired - 1,
        radios - 1
    );
    for node in 1..=wired {
        let end = if node == wired { "n0".to_owned() } else { format!("w{node}") };
        let other = random.uniform_below(u64::from(node));
        text += &format!(
            "[[network.wire]]\nbetween = [\"w{other}\", \"{end}\"]\nrate = \"1 Mbit/s\"\n\
             delay = \"5 ms\"\nbit_error_rate = 1e-5\nqueue = {{ packets = 5, source_quench = true }}\n"
        );
    }
    text += &format!(
        "[network.air]\nradios = [\"n[0-{}]\"]\narea = [\"500 m\", \"300 m\"]\n\
         mobility = {{ model = \"random-waypoint\", speed = [\"1 m/s\", \"30 m/s\"] }}\n\
         routing = {{ protocol = \"{protocol}\" }}\nqueue = {{ packets = 5 }}\narp = {}\n",
        radios - 1,
        seed.is_multiple_of(2)
    );
    for node in 0..radios {
        text += &format!(
            "[[network.fault]]\nkind = \"radio-down\"\nnode = \"n{node}\"\nevery = \"{} ms\"\n\
             lasts = \"{} ms\"\nqueue = \"{}\"\n",
            3000 + random.uniform_below(5000),
            1 + random.uniform_below(2500),
            ["wait", "drop"][random.uniform_below(2) as usize]
        );
    }
    text += "[[network.fault]]\nkind = \"partition\"\nhop = \"random\"\nevery = \"2 s\"\n\
             lasts = \"700 ms\"\n";
    Scenario::parse("random.toml", &text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn datagram(from: NodeId, to: NodeId, number: u64) -> Packet {
    let payload = Payload::new(7, number, 500);
    let datagram = UdpDatagram { source_port: 9, destination_port: 9, payload };
    Packet { ip: IpHeader::new(address(from), address(to)), body: Body::Udp(datagram) }
}

/// Counts the datagrams that hosts get, by number, and the packets that end.
fn serve(network: &mut Network, arrived: &mut [u32], ended: &mut u64) {
    while let Some(output) = network.poll() {
        if let Output::Deliver { packet, .. } = output
            && packet.payload().stream == 7
        {
            arrived[packet.payload().offset as usize] += 1;
        }
    }
    while let Some(event) = network.poll_event() {
        *ended += u64::from(matches!(event, Event::Delivered { .. } | Event::Dropped { .. }));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn packets_are_conserved(
        (wired, radios) in (1_u32..5, 2_u32..6),
        protocol in prop::sample::select(vec!["aodv", "dsr", "static"]),
        seed: u64,
        batch in 1_u64..8,
    ) {
        let scenario = scenario(wired, radios, protocol, seed);
        let nodes = wired + radios;
        let all = || (0..nodes).map(NodeId::new);
        let pairs: Vec<(NodeId, NodeId)> =
            all().flat_map(|a| all().map(move |b| (a, b))).collect();
        let mut network = Network::build_between(&scenario, &pairs, seed, seed).unwrap();
        network.start(Recording::Ends);
        let mut random = RandomStream::new(seed, "test", 1);
        let mut arrived = vec![0; 2_000];
        let (mut sent, mut ended) = (0, 0);
        serve(&mut network, &mut arrived, &mut ended);
        for step in 1..200_u64 {
            let now = Instant::from_millis(step * 150);
            while network.next_timeout() <= now {
                network.on_timeout(now);
                prop_assert!(network.now() <= now);
                serve(&mut network, &mut arrived, &mut ended);
            }
            network.advance(now);
            for _ in 0..batch {
                let mut node = || NodeId::new(random.uniform_below(u64::from(nodes)) as u32);
                let (from, to) = (node(), node());
                let place = [QueuePosition::Tail, QueuePosition::Front][(step % 2) as usize];
                network.send(from, datagram(from, to, sent), place);
                sent += 1;
            }
            serve(&mut network, &mut arrived, &mut ended);
        }
        prop_assert_eq!(network.check_conservation(), Ok(()));
        prop_assert!(ended > 0);
        prop_assert!(arrived.iter().any(|count| *count > 0), "none of {} has arrived", sent);
    }
}
