//! Feedback schemes of ad hoc networks with hosts above them.

use std::sync::{Arc, Mutex};

#[cfg(feature = "fault-injection")]
use driftway_base::Duration;
use driftway_base::{FailedLink, Instant, NodeId};
use driftway_route::feedback::{FeedbackOutput, Scheme};
use driftway_scenario::Scenario;
use driftway_wire::{Body, DsrHeader, DsrOption, IcmpMessage, RoutedPacket};

use super::address;
use crate::Simulation;
#[cfg(feature = "fault-injection")]
use crate::world::World;

#[cfg(feature = "fault-injection")]
/// Drops the first RFNs of node 1, whose neighbour 2 is out of range from 7.5 s on; returns the
/// time from the first RFN to when the source enters the snooze state (s).
fn snooze_delay_after_lost_rfns(protocol: &str) -> f64 {
    let text = format!(
        r#"
        name = "lost notices"
        duration = "20 s"
        [network]
        kind = "adhoc"
        area = ["500 m", "500 m"]
        mac = {{ kind = "dcf", delay_down = "25 us" }}
        routing = {{ protocol = "{protocol}" }}
        feedback = "rfn"
        [network.mobility]
        model = "constant-velocity"
        positions = [["0 m", "0 m"], ["200 m", "0 m"], ["400 m", "0 m"]]
        velocities = [["0 m/s", "0 m/s"], ["0 m/s", "0 m/s"], ["0 m/s", "20 m/s"]]
        [[flow]]
        from = 0
        to = 2
        application = "ftp"
        aid = "tcp-f"
        "#
    );
    let scenario = Scenario::parse("lost.toml", &text, &[]).unwrap();
    let mut run = Simulation::new(&scenario, 1, None).unwrap();
    let (mut first, mut silent) = (None, None);
    while run.step().unwrap() {
        if run.hosts.hosts[NodeId::new(0)].wants_route_probe(address(2)) {
            silent.get_or_insert(run.world.now);
        }
        let World { net, now, .. } = &mut run.world;
        net.drop_arriving_at_queue(NodeId::new(1), |packet| {
            let rfn = matches!(packet.body, Body::Icmp(IcmpMessage::RouteFailed { .. }));
            rfn && now.since(*first.get_or_insert(*now)) < RFN_LOSS_PERIOD
        });
    }
    run.finish().unwrap();
    silent.unwrap().since(first.unwrap()).as_secs_f64()
}

#[cfg(feature = "fault-injection")]
const RFN_LOSS_PERIOD: Duration = Duration::from_millis(300);

/// Records the failed links that RFNs name.
#[derive(Debug)]
struct LinkRecorder(Arc<Mutex<Vec<FailedLink>>>);

impl Scheme for LinkRecorder {
    fn on_message(&mut self, _: Instant, message: &RoutedPacket) {
        if let Body::Icmp(IcmpMessage::RouteFailed { link, .. }) = message.packet.body {
            self.0.lock().unwrap().push(link);
        }
    }
    fn poll(&mut self) -> Option<FeedbackOutput> {
        None
    }
}

/// A chain of four nodes; the last two move away.
#[test]
fn an_rfn_names_the_link_that_failed() {
    let text = r#"
        name = "four"
        duration = "9 s"
        [network]
        kind = "adhoc"
        area = ["1000 m", "500 m"]
        routing = { protocol = "static" }
        feedback = "rfn"
        [network.mobility]
        model = "constant-velocity"
        positions = [["0 m", "0 m"], ["200 m", "0 m"], ["400 m", "0 m"], ["600 m", "0 m"]]
        velocities = [["0 m/s", "0 m/s"], ["0 m/s", "0 m/s"], ["0 m/s", "40 m/s"], ["0 m/s", "40 m/s"]]
        [[flow]]
        from = 0
        to = 3
        application = "ftp"
        "#;
    let scenario = Scenario::parse("four.toml", text, &[]).unwrap();
    let mut run = Simulation::new(&scenario, 1, None).unwrap();
    let links = Arc::new(Mutex::new(Vec::new()));
    run.world
        .net
        .feedback_mut(NodeId::new(0))
        .unwrap()
        .add(Box::new(LinkRecorder(Arc::clone(&links))));
    while run.step().unwrap() {}
    let links = links.lock().unwrap();
    let link = FailedLink { from: address(1), to: address(2) };
    assert!(!links.is_empty() && links.iter().all(|known| *known == link), "{links:?}");
}

/// chandran-1998 §5.4: each later packet causes another RFN. If routing also reports the failure
/// to the source's node, that node notifies its host.
#[cfg(feature = "fault-injection")]
#[test]
fn a_lost_rfn_is_repeated() {
    for protocol in ["aodv", "dsr"] {
        let after = snooze_delay_after_lost_rfns(protocol);
        assert!(after < RFN_LOSS_PERIOD.as_secs_f64(), "{protocol}: by a route error: {after}");
    }
    let after = snooze_delay_after_lost_rfns("static");
    assert!(
        (RFN_LOSS_PERIOD.as_secs_f64()..3.0).contains(&after),
        "by the next RFN, behind the packets that draw them: {after}"
    );
}

/// The node that received a route error, and the options in it.
type ReceivedError = (u8, Vec<u8>);

/// Adds an option to the route errors that its node sends, and records those it receives.
#[derive(Debug)]
struct OptionMarker {
    node: u8,
    received: Arc<Mutex<Vec<ReceivedError>>>,
}

/// Errors are also piggybacked on route requests, which have no space for more options.
fn is_error(dsr: &DsrHeader) -> bool {
    dsr.errors[0].is_some() && dsr.request().is_none()
}

impl Scheme for OptionMarker {
    fn on_message_sent(&mut self, _: Instant, message: &mut RoutedPacket) {
        if let Some(dsr) = message.dsr.as_mut().filter(|dsr| is_error(dsr)) {
            assert!(dsr.add_option(DsrOption::Other { kind: 17, data: &[self.node] }));
        }
    }
    fn on_message(&mut self, _: Instant, message: &RoutedPacket) {
        let Some(dsr) = message.dsr.as_ref().filter(|dsr| is_error(dsr)) else { return };
        let marks = dsr.extra_options().filter_map(|option| match option {
            DsrOption::Other { data, .. } => data.first().copied(),
            _ => None,
        });
        self.received.lock().unwrap().push((self.node, marks.collect()));
    }
    fn poll(&mut self) -> Option<FeedbackOutput> {
        None
    }
}

/// A chain of four nodes whose last link fails: the error goes from 2 to 0 through 1, and each
/// node that sends it adds its option.
#[test]
fn a_scheme_adds_to_the_messages_of_routing_and_reads_them() {
    let text = r#"
        name = "four"
        duration = "9 s"
        [network]
        kind = "adhoc"
        area = ["1200 m", "9 m"]
        routing = { protocol = "dsr" }
        [network.mobility]
        model = "constant-velocity"
        positions = [["0 m", "0 m"], ["200 m", "0 m"], ["400 m", "0 m"], ["600 m", "0 m"]]
        velocities = [["0 m/s", "0 m/s"], ["0 m/s", "0 m/s"], ["0 m/s", "0 m/s"], ["20 m/s", "0 m/s"]]
        [[flow]]
        from = 0
        to = 3
        application = "ftp"
        "#;
    let scenario = Scenario::parse("four.toml", text, &[]).unwrap();
    let mut run = Simulation::new(&scenario, 1, None).unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    for node in 0..4 {
        let marker = OptionMarker { node, received: Arc::clone(&seen) };
        run.world.net.feedback_mut(NodeId::new(node.into())).unwrap().add(Box::new(marker));
    }
    while run.step().unwrap() {}
    let seen = seen.lock().unwrap();
    assert_eq!(seen[..2], [(1, vec![2]), (0, vec![2, 1])]);
}
