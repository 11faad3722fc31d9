//! RFN and RRN at a host with the workspace's TCP and TCP-F: the connections that receive them, and
//! their effect.

use driftway_aid::tcp_f::{TcpF, TcpFOptions};
use driftway_base::{Duration, Endpoint, FailedLink, Instant, Ipv4Addr, Seq};
use driftway_endpoint::{Host, ReceiveOutcome, Socket};
use driftway_tcp::{Config, Connection};
use driftway_wire::{Body, IcmpMessage, IpHeader, Packet, QuotedPacket};

const HERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const THERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 9);
const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 7);
const ROUTER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 4);
const LINK: FailedLink = FailedLink { from: ROUTER, to: Ipv4Addr::new(10, 0, 0, 5) };

/// Round-trip time; the handshake takes one.
const RTT: Duration = Duration::from_millis(100);

/// The number of a socket among those of its host.
type SocketTag = usize;

/// A sender with a connection to each of these peers, and the receivers.
struct Net {
    now: Instant,
    sender: Host,
    receivers: Vec<Host<SocketTag>>,
    /// Packets in flight from the sender.
    sent: Vec<Packet>,
}

impl Net {
    fn open(peers: &[Ipv4Addr]) -> Self {
        let config =
            Config { initial_window: 4, mss: 1000, delayed_ack: None, ..Config::default() };
        let mut sender = Host::new(HERE);
        let mut receivers: Vec<Host<SocketTag>> = Vec::new();
        for (n, peer) in (0u16..).zip(peers) {
            let local = Endpoint::new(HERE, 4000 + n);
            let remote = Endpoint::new(*peer, 80 + n);
            let opening =
                Connection::connect(&config, local, remote, Seq(7), n.into(), Instant::ZERO);
            let aid = Box::new(TcpF::new(TcpFOptions::default()));
            sender.add_socket(Socket::new(opening, Some(aid)), ());
            let place = receivers.iter().position(|host| host.address() == *peer);
            let place = place.unwrap_or_else(|| {
                receivers.push(Host::new(*peer));
                receivers.len() - 1
            });
            let listening = Connection::listen(&config, remote, Seq(9), n.into());
            let tag = receivers[place].handles().count();
            receivers[place].add_socket(Socket::new(listening, None), tag);
        }
        let mut net = Self { now: Instant::ZERO, sender, receivers, sent: Vec::new() };
        net.poll();
        net.deliver_all();
        net.deliver_all();
        net
    }

    fn poll(&mut self) {
        for n in self.sender.handles() {
            while let Some((packet, _)) = self.sender.poll_transmit(self.now, n) {
                self.sent.push(packet);
            }
        }
    }

    /// Delivers all packets in flight, and their responses a round trip later.
    fn deliver_all(&mut self) {
        self.now += RTT;
        let mut answers = Vec::new();
        for packet in std::mem::take(&mut self.sent) {
            let at =
                self.receivers.iter_mut().find(|h| h.address() == packet.ip.destination).unwrap();
            if let ReceiveOutcome::Socket(n) = at.on_packet(self.now, &packet) {
                let socket = at.handles().nth(n).unwrap();
                while let Some((answer, _)) = at.poll_transmit(self.now, socket) {
                    answers.push(answer);
                }
            }
        }
        for answer in answers {
            self.sender.on_packet(self.now, &answer);
        }
        self.poll();
    }

    /// The sender's socket of this number.
    fn socket(&mut self, n: usize) -> &mut Socket {
        let handle = self.sender.handles().nth(n).unwrap();
        self.sender.socket(handle).unwrap()
    }

    fn write(&mut self, n: usize, bytes: u64) {
        self.socket(n).tcp_mut().write(bytes);
        self.poll();
    }

    /// All packets in flight are lost and answered by RFNs.
    fn fail_route(&mut self) -> Vec<Packet> {
        let lost = std::mem::take(&mut self.sent);
        lost.iter().for_each(|packet| {
            self.deliver_message(Packet::icmp_error(ROUTER, packet, failed).unwrap());
        });
        lost
    }

    fn deliver_message(&mut self, message: Packet) -> ReceiveOutcome {
        let arrived = self.sender.on_packet(self.now, &message);
        self.poll();
        arrived
    }

    /// Runs timers until `end`.
    fn run_until(&mut self, end: Instant) {
        for n in self.sender.handles() {
            let Some(socket) = self.sender.socket(n) else { break };
            while let Some(at) = socket.next_aid_timeout().filter(|at| *at <= end) {
                socket.on_aid_timeout(at);
            }
            while let Some(at) = socket.next_tcp_timeout().filter(|at| *at <= end) {
                socket.on_tcp_timeout(at);
                while self.sent.len() < 100
                    && let Some(transmit) = socket.poll_transmit(at)
                {
                    let ip = IpHeader::new(HERE, socket.tcp().remote().address);
                    self.sent.push(Packet { ip, body: Body::Tcp(transmit.segment) });
                }
            }
        }
        self.now = end;
    }

    fn states(&mut self) -> Vec<&'static str> {
        let sockets = self.sender.handles();
        sockets.map(|n| self.sender.socket(n).unwrap().aid_state().unwrap()).collect()
    }
}

fn failed(quoted: QuotedPacket) -> IcmpMessage {
    IcmpMessage::RouteFailed { link: LINK, quoted }
}

fn restored(quoted: QuotedPacket) -> IcmpMessage {
    IcmpMessage::RouteRestored { link: LINK, quoted }
}

#[test]
fn an_rfn_concerns_the_flow_whose_packet_it_quotes() {
    let mut net = Net::open(&[THERE, THERE]);
    net.write(0, 1000);
    net.fail_route();
    assert_eq!(net.states(), ["snooze", "active"]);
}

/// chandran-1998 §5.4: the failure point knows sources, not connections.
#[test]
fn an_rrn_concerns_every_flow_to_its_destination() {
    let mut net = Net::open(&[THERE, ELSEWHERE, THERE]);
    for n in 0..3 {
        net.write(n, 1000);
    }
    let lost = net.fail_route();
    assert_eq!(net.states(), ["snooze"; 3]);
    let arrived = net.deliver_message(Packet::icmp_error(ROUTER, &lost[0], restored).unwrap());
    assert_eq!(arrived, ReceiveOutcome::SocketsToPeer(THERE));
    assert_eq!(net.states(), ["active", "snooze", "active"]);
}

#[test]
fn notifications_about_other_hosts_or_destinations_are_ignored() {
    let mut net = Net::open(&[THERE]);
    net.write(0, 1000);
    let [sent] = net.sent[..] else { panic!("one segment") };
    let mut others = [sent, sent, sent];
    others[0].ip.destination = ELSEWHERE;
    others[1].ip.source = ELSEWHERE;
    let Body::Tcp(segment) = &mut others[2].body else { panic!("{sent:?}") };
    segment.source_port += 1;
    for other in others {
        let mut message = Packet::icmp_error(ROUTER, &other, failed).unwrap();
        message.ip.destination = HERE;
        assert_eq!(net.deliver_message(message), ReceiveOutcome::Nothing);
        assert_eq!(net.states(), ["active"]);
    }
    net.fail_route();
    let mut message = Packet::icmp_error(ROUTER, &others[1], restored).unwrap();
    message.ip.destination = HERE;
    assert_eq!(net.deliver_message(message), ReceiveOutcome::Nothing);
    net.deliver_message(Packet::icmp_error(ROUTER, &others[0], restored).unwrap());
    assert_eq!(net.states(), ["snooze"]);
}

/// chandran-1998 §4 on the workspace's TCP: timers are frozen with their remaining time, nothing is
/// sent, windows are kept, and transmission resumes at the same rate.
#[test]
fn tcp_snoozes_and_resumes_where_it_was() {
    let mut net = Net::open(&[THERE]);
    net.write(0, 40_000);
    for _ in 0..3 {
        net.deliver_all();
    }
    let tcp = |net: &mut Net| {
        let view = net.socket(0).tcp().view();
        (view.cwnd.value(), view.ssthresh.value(), view.rto.value())
    };
    let before = tcp(&mut net);
    let in_flight = net.sent.len();
    assert!(in_flight >= 8, "{in_flight}");
    let timer = net.socket(0).next_tcp_timeout().unwrap();
    let left = timer.since(net.now);
    net.now += RTT;
    net.fail_route();
    assert_eq!(net.states(), ["snooze"]);
    assert_eq!(net.socket(0).next_tcp_timeout(), None, "all timers are frozen");
    net.write(0, 10_000);
    net.run_until(net.now + Duration::from_secs(19));
    assert_eq!(net.sent, [], "neither new data nor retransmissions");
    let any = Packet { ip: IpHeader::new(HERE, THERE), body: probe() };
    net.deliver_message(Packet::icmp_error(ROUTER, &any, restored).unwrap());
    assert_eq!(tcp(&mut net), before);
    let timer = net.socket(0).next_tcp_timeout().unwrap();
    assert_eq!(timer.since(net.now), Duration::from_nanos(left.as_nanos() - RTT.as_nanos()));
    assert_eq!(net.socket(0).tcp().stats().timeouts, 0);
}

/// Some segment of flow 0.
fn probe() -> Body {
    Body::Tcp(driftway_wire::TcpSegment {
        source_port: 4000,
        destination_port: 80,
        ..driftway_wire::TcpSegment::default()
    })
}

#[test]
fn without_an_rrn_tcp_resumes_at_the_route_failure_timeout() {
    let mut net = Net::open(&[THERE]);
    net.write(0, 2_000);
    net.fail_route();
    let timeout = TcpFOptions::default().route_failure_timeout;
    let deadline = net.now + timeout;
    assert_eq!(net.socket(0).next_aid_timeout(), Some(deadline));
    net.run_until(deadline);
    assert_eq!((net.states(), net.sent.len()), (vec!["active"], 0));
    net.run_until(deadline + Duration::from_secs(1));
    assert_eq!(net.sent.len(), 1, "a retransmission timeout");
    net.fail_route();
    assert_eq!(net.states(), ["snooze"], "the next RFN");
}

/// A receiver whose acknowledgment has no route: with TCP-F it snoozes, which does not stop its
/// acknowledgments; without it, an RFN has no effect on TCP.
#[test]
fn an_rfn_about_an_acknowledgment_does_not_stop_acknowledgments() {
    let config = Config { delayed_ack: None, ..Config::default() };
    for helped in [false, true] {
        let aid = || Box::new(TcpF::new(TcpFOptions::default())) as Box<dyn driftway_aid::Aid>;
        let mut net = Net::open(&[]);
        let local = Endpoint::new(THERE, 80);
        let mut receiver = Host::new(THERE);
        let listening = Connection::listen(&config, local, Seq(9), 0);
        let socket = receiver.add_socket(Socket::new(listening, helped.then(aid)), 0);
        let opening = Connection::connect(
            &config,
            Endpoint::new(HERE, 4000),
            local,
            Seq(7),
            0,
            Instant::ZERO,
        );
        net.sender.add_socket(Socket::new(opening, None), ());
        net.receivers.push(receiver);
        net.poll();
        net.deliver_all();
        net.deliver_all();
        net.write(0, 1000);
        // Its acknowledgment is lost and answered by an RFN.
        let data = net.sent.remove(0);
        let receiver = &mut net.receivers[0];
        receiver.on_packet(net.now, &data);
        let (ack, _) = receiver.poll_transmit(net.now, socket).unwrap();
        receiver.on_packet(net.now, &Packet::icmp_error(ROUTER, &ack, failed).unwrap());
        let state = receiver.socket(socket).unwrap().aid_state();
        assert_eq!(state, helped.then_some("snooze"));
        // The sender's retransmission is acknowledged nevertheless.
        receiver.on_packet(net.now, &data);
        let (again, _) = receiver.poll_transmit(net.now, socket).unwrap();
        let Body::Tcp(segment) = again.body else { panic!("{again:?}") };
        assert_eq!(segment.ack, Seq(1008));
    }
}
