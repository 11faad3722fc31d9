//! Received signal powers of neighbours, and the signals about its own links that a host gets: a
//! neighbour's signal is fading, the neighbour is lost, or it is reachable again.

use driftway_base::{
    Duration, FailedLink, Ipv4Addr, ReceivedPower, Signal, SignalDetails, SignalKind,
};

use super::super::Run;
use super::AdhocNetwork;
use crate::addresses::address;

/// Monitors the links of all nodes in a network whose scenario has `link_signals`.
pub struct LinkMonitor {
    lead: Duration,
    /// The next hops that each node's host uses.
    next_hops: Vec<Vec<MonitoredNextHop>>,
}

/// The neighbour through which a host's packets to a destination leave.
#[derive(Clone, Copy, Debug)]
struct MonitoredNextHop {
    to: Ipv4Addr,
    neighbour: u32,
    state: LinkState,
}

/// The state of a link as last signalled to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LinkState {
    Up,
    Fading,
    Down,
}

impl LinkMonitor {
    /// A link is reported to be fading when its expected lifetime is below `lead`.
    pub fn new(lead: Duration, nodes: usize) -> Self {
        Self { lead, next_hops: vec![Vec::new(); nodes] }
    }

    /// Records that a packet of a node's host to this destination leaves through a neighbour.
    pub fn on_sent(&mut self, node: usize, to: Ipv4Addr, neighbour: u32) {
        let Some(hops) = self.next_hops.get_mut(node) else { return };
        match hops.iter_mut().find(|hop| hop.to == to) {
            Some(hop) if hop.neighbour == neighbour => {}
            Some(hop) => *hop = MonitoredNextHop { to, neighbour, state: LinkState::Up },
            None => hops.push(MonitoredNextHop { to, neighbour, state: LinkState::Up }),
        }
    }

    /// Updates the state of the link to a neighbour; returns the destinations behind it whose
    /// connections have to be notified.
    fn update_state(
        &mut self,
        node: usize,
        neighbour: u32,
        next: impl Fn(LinkState) -> LinkState,
    ) -> Vec<(Ipv4Addr, LinkState)> {
        let Some(hops) = self.next_hops.get_mut(node) else { return Vec::new() };
        let mut changed = Vec::new();
        for hop in hops.iter_mut().filter(|hop| hop.neighbour == neighbour) {
            let link = next(hop.state);
            if std::mem::replace(&mut hop.state, link) != link {
                changed.push((hop.to, link));
            }
        }
        changed
    }
}

impl Run<'_, AdhocNetwork> {
    /// Records a frame that a node received from a neighbour.
    pub(super) fn on_neighbour_heard(&mut self, node: u32, from: u32) {
        let Some(powers) = &mut self.net.neighbour_signals else { return };
        powers.on_signal(self.now, node, from, self.net.mac.receive_power(self.now, from, node));
        let Some(power) = powers.received_power(node, from) else { return };
        let heard = &mut self.net.nodes[node as usize];
        heard.routing.on_received_power(address(from as usize), power);
        if let Some(retry) = &mut heard.link_retry {
            retry.on_heard(address(from as usize), power);
        }
        self.on_next_hop_heard(node, from, power);
    }

    /// Signals to a node's host that a next hop is reachable, or that its signal is fading.
    fn on_next_hop_heard(&mut self, node: u32, from: u32, power: ReceivedPower) {
        let Some(watch) = &mut self.net.link_monitor else { return };
        let (within, lead) = (watch.lead, power.expected_lifetime());
        let ends_in = |span| lead.is_some_and(|lead| lead <= span);
        let changed = watch.update_state(node as usize, from, |link| match link {
            // Hysteresis: a link stays in this state until its expected lifetime is twice as long.
            LinkState::Fading if ends_in(within.times(2)) => LinkState::Fading,
            _ if ends_in(within) => LinkState::Fading,
            _ => LinkState::Up,
        });
        let node = node as usize;
        for hop in
            watch.next_hops.get(node).into_iter().flatten().filter(|hop| hop.neighbour == from)
        {
            self.hosts[node].set_next_hop_power(hop.to, power);
        }
        for (to, link) in changed {
            let kind = match (link, lead) {
                (LinkState::Fading, Some(lead)) => {
                    SignalKind::LinkFading { expected_lifetime: lead }
                }
                _ => SignalKind::LinkUp,
            };
            self.signal_link_state(node, from, to, kind);
        }
    }

    /// Signals to a node's host that the link to a neighbour has failed.
    pub(super) fn on_neighbour_lost(&mut self, node: usize, neighbour: u32) {
        let Some(watch) = &mut self.net.link_monitor else { return };
        for (to, _) in watch.update_state(node, neighbour, |_| LinkState::Down) {
            self.signal_link_state(node, neighbour, to, SignalKind::LinkDown);
        }
    }

    /// Records the next hop of a packet of a node's own host.
    pub(super) fn on_host_packet_sent(&mut self, node: usize, to: Ipv4Addr, neighbour: u32) {
        if let Some(watch) = &mut self.net.link_monitor {
            watch.on_sent(node, to, neighbour);
        }
    }

    fn signal_link_state(&mut self, node: usize, neighbour: u32, to: Ipv4Addr, kind: SignalKind) {
        let link = FailedLink { from: address(node), to: address(neighbour as usize) };
        let about = SignalDetails {
            destination: Some(to),
            failed_link: Some(link),
            ..SignalDetails::default()
        };
        self.on_signal(node, &Signal { kind, details: about });
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use driftway_base::Known;
    use driftway_scenario::Scenario;

    use super::super::super::recording_aid::{NextHopPowers, ReceivedSignal, add_recording_aid};

    /// Node 1 is in range of node 0 up to 250 m. It moves from 150 m to 300 m and back, and stops
    /// 150 m away. Node 2 is never in range.
    fn leaving_and_returning(network: &str, flow: &str) -> Scenario {
        let text = format!(
            r#"
            name = "to and fro"
            duration = "12 s"
            [network]
            kind = "adhoc"
            area = ["300 m", "300 m"]
            {network}
            [network.mobility]
            model = "constant-velocity"
            positions = [["0 m", "0 m"], ["150 m", "0 m"], ["300 m", "300 m"]]
            velocities = [["0 m/s", "0 m/s"], ["25 m/s", "0 m/s"], ["0 m/s", "0 m/s"]]
            [[flow]]
            from = 0
            to = 1
            {flow}
            "#
        );
        Scenario::parse("fro.toml", &text, &[]).unwrap()
    }

    /// The signals that a connection of node 0 receives about the link to node 1.
    fn received_signals(more: &str) -> (Vec<ReceivedSignal>, NextHopPowers) {
        let network = format!("routing = {{ protocol = \"static\" }}\n{more}");
        let scenario = leaving_and_returning(&network, "application = \"ftp\"");
        let mut run = Run::<AdhocNetwork>::new(&scenario, 1, None).unwrap();
        let (heard, seen) = add_recording_aid(&mut run.hosts[0], address(1));
        while run.step().unwrap() {}
        let heard = std::mem::take(&mut *heard.lock().unwrap());
        (heard, seen)
    }

    #[test]
    fn a_host_is_notified_that_a_link_fades_fails_and_recovers() {
        let link = Some(FailedLink { from: address(0), to: address(1) });
        let (signals, seen) = received_signals("link_signals = { lead = \"1 s\" }");
        assert!(signals.iter().all(|(.., about)| *about == link), "{signals:?}");
        let [fading, down, up, ..] = signals[..] else { panic!("{signals:?}") };
        let SignalKind::LinkFading { expected_lifetime: lead } = fading.1 else {
            panic!("{signals:?}")
        };
        // It is out of range from 4 s on.
        assert!(
            (2_800..3_300).contains(&fading.0) && lead <= Duration::from_secs(1),
            "{signals:?}"
        );
        assert_eq!((down.1, up.1), (SignalKind::LinkDown, SignalKind::LinkUp), "{signals:?}");
        assert!((4_000..4_500).contains(&down.0) && (8_000..12_000).contains(&up.0), "{signals:?}");
        let Known::Exact(power) = seen.lock().unwrap()[0] else { panic!("{seen:?}") };
        assert_eq!(power.expected_lifetime(), Some(lead));
    }

    #[test]
    fn without_link_signals_no_signal_is_sent() {
        let (signals, _) = received_signals("");
        let link = |(_, kind, _): &ReceivedSignal| {
            use SignalKind::{LinkDown, LinkFading, LinkUp};
            matches!(kind, LinkUp | LinkDown | LinkFading { .. })
        };
        assert!(!signals.iter().any(link), "{signals:?}");
    }

    /// A node overhears another, by its requests for a third, while that node moves away: its routing
    /// replies to no request of it until it has come back. It is out of range from 4 s to 8 s.
    #[test]
    fn routing_avoids_a_fading_neighbour() {
        let first_delivered = |protocol: &str, avoid: &str| {
            let network = format!("routing = {{ protocol = \"{protocol}\"{avoid} }}");
            let datagrams = "transport = \"udp\"\n\
                application = { cbr = { every = \"200 ms\", size = \"100 B\" } }";
            let flows =
                format!("start = \"3 s\"\n{datagrams}\n[[flow]]\nfrom = 0\nto = 2\n{datagrams}");
            let scenario = leaving_and_returning(&network, &flows);
            let mut run = Run::<AdhocNetwork>::new(&scenario, 1, None).unwrap();
            while run.flows[0].delivered == 0 {
                assert!(run.step().unwrap(), "{protocol}: never delivered");
            }
            run.now.as_millis()
        };
        for protocol in ["aodv", "dsr"] {
            let plain = first_delivered(protocol, "");
            let avoiding = first_delivered(protocol, ", avoid_fading = \"3 s\"");
            assert!(plain < 3_100, "{protocol}: {plain} ms");
            assert!(avoiding > 8_000, "{protocol}: {avoiding} ms");
        }
    }
}
