//! AODV with ns-2.35's options against ns-2.35 itself, decision by decision.
//!
//! `ns2/*.txt` are traces of AODV at each of sixteen moving nodes, by the Debian package 2.35+dfsg-5. Each
//! node here is given the packets received there, those of its host, and the failures of its MAC; it has to
//! send and drop the same at the same instants, except for the jitter of broadcasts. `aodv.trace` is made in
//! `studies/validation/ns2`, with `strip.mov` from here, by
//!
//! ```text
//! LD_PRELOAD=$PWD/instant-arp.so ns case.tcl movement strip.mov nodes 16 area "1600 300" trace aodv \
//!     traffic cbr flows 4 start 5 lasts 35          # datagrams.txt
//!     tcp Reno window 3 flows 3 start 20 lasts 8    # tcp.txt
//! ```

use std::collections::BTreeMap;

use driftway_base::{DropReason, Duration, Instant, Ipv4Addr};
use driftway_route::{Aodv, AodvConfig, LinkDestination, Output, RoutingProtocol};
use driftway_wire::{
    AodvError, AodvMessage, AodvReply, AodvRequest, Body, IpHeader, Packet, Payload, RoutedPacket,
    UdpDatagram,
};

/// ns-2.35 without jitter.
const CONFIG: AodvConfig = AodvConfig { jitter: Duration::ZERO, ..AodvConfig::NS2 };

/// Its jitter, and the rounding of its trace.
const JITTER: Duration = Duration::from_millis(10);
const ROUNDING: Duration = Duration::from_nanos(2);

const NODES: u32 = 16;

const DATAGRAMS: &str = include_str!("ns2/datagrams.txt");
const TCP: &str = include_str!("ns2/tcp.txt");

const fn at(node: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0a00_0001 + node)
}

fn number(address: Ipv4Addr) -> u32 {
    address.to_bits() - 0x0a00_0001
}

/// A line of a trace; `studies/validation/ns2/aodv.awk` documents the format.
struct Line<'a> {
    what: &'a str,
    at: Instant,
    node: u32,
    is_aodv: bool,
    id: u64,
    from: u32,
    to: Option<u32>,
    source: u32,
    destination: Option<u32>,
    ttl: u8,
    next: u32,
    message: Vec<&'a str>,
}

impl<'a> Line<'a> {
    fn read(line: &'a str) -> Self {
        let mut words = line.split(' ');
        let mut word = || words.next().unwrap_or_else(|| panic!("too short: {line}"));
        let (what, at) = (word(), word());
        let (seconds, nanos) = at.split_once('.').unwrap();
        let nanos = seconds.parse::<u64>().unwrap() * 1_000_000_000 + nanos.parse::<u64>().unwrap();
        let node = word().parse().unwrap();
        let is_aodv = word() == "AODV";
        let id = word().parse().unwrap();
        let (from, to) = (word().parse().unwrap(), word().parse().ok());
        let (source, destination) = (word().parse().unwrap(), word().parse().ok());
        let (ttl, next) = (word().parse().unwrap(), word().parse().unwrap());
        let at = Instant::from_nanos(nanos);
        let message = words.collect();
        Self { what, at, node, is_aodv, id, from, to, source, destination, ttl, next, message }
    }

    fn packet(&self) -> Packet {
        let destination = self.destination.map_or(Ipv4Addr::BROADCAST, at);
        let ip = IpHeader { ttl: self.ttl, ..IpHeader::new(at(self.source), destination) };
        let payload = Payload::new(0, self.id, 10);
        Packet { ip, body: Body::Udp(UdpDatagram { source_port: 1, destination_port: 2, payload }) }
    }

    fn number(&self, field: usize) -> u32 {
        self.message[field].parse().unwrap()
    }

    /// Its contents, in the form of [`message_text`].
    fn text(&self) -> String {
        let m = &self.message;
        match m[0] {
            "0x2" => {
                format!(
                    "RREQ {} {} {}#{} {}#{} ttl {}",
                    m[1], m[2], m[3], m[4], m[5], m[6], self.ttl
                )
            }
            "0x4" => {
                let life: f64 = m[4].parse().unwrap();
                let (to, next) = (self.destination.unwrap(), self.next);
                format!("RREP {} {}#{} {} for {to} to {next}", m[1], m[2], m[3], in_ms(life))
            }
            "0x8" => format!("RERR {}", m[1]),
            other => panic!("{other}"),
        }
    }
}

fn in_ms(seconds: f64) -> u32 {
    // A negative number in ns-2.35 is unlimited here.
    (seconds * 1000.0).min(f64::from(u32::MAX)) as u32
}

/// The contents of a message. ns-2.35's hop count includes the next one, and of an error its trace shows one
/// destination.
fn message_text(message: &AodvMessage, ttl: u8, hop: LinkDestination) -> String {
    match (message, hop) {
        (AodvMessage::Request(r), LinkDestination::Broadcast) => {
            let (destination, originator) = (number(r.destination), number(r.originator));
            let (seq, own) = (r.destination_seq.unwrap_or(0), r.originator_seq);
            format!("RREQ {} {} {destination}#{seq} {originator}#{own} ttl {ttl}", r.hops + 1, r.id)
        }
        (AodvMessage::Reply(r), LinkDestination::Unicast(to)) => {
            let (destination, originator) = (number(r.destination), number(r.originator));
            let (seq, life, to) = (r.destination_seq, r.lifetime_ms, number(to));
            format!("RREP {} {destination}#{seq} {life} for {originator} to {to}", r.hops + 1)
        }
        (AodvMessage::Error(e), LinkDestination::Broadcast) => {
            format!("RERR {}", e.unreachable().len())
        }
        other => panic!("ns-2.35 sends no {other:?}"),
    }
}

#[derive(Default)]
struct NodeOutput {
    /// Node, action and instants, in order of time.
    acts: BTreeMap<(u32, String), Vec<Instant>>,
}

impl NodeOutput {
    fn add(&mut self, node: u32, what: String, at: Instant) {
        self.acts.entry((node, what)).or_default().push(at);
    }
}

struct Replay {
    nodes: Vec<Aodv>,
    ours: NodeOutput,
    /// Errors and replies sent, which a trace does not contain completely.
    errors: Vec<(u32, AodvError)>,
    replies: Vec<(u32, String, AodvReply)>,
    purges: Vec<(Instant, u32)>,
}

impl Replay {
    fn drain(&mut self, node: u32, now: Instant) {
        while let Some(output) = self.nodes[node as usize].poll(now) {
            let act = match output {
                Output::Transmit { packet, hop } => match (packet.aodv(), hop) {
                    (None, LinkDestination::Unicast(to)) => {
                        let (id, ttl) = (packet.packet.payload().offset, packet.packet.ip.ttl);
                        format!("data {id} to {} ttl {ttl}", number(to))
                    }
                    (None, LinkDestination::Broadcast) => panic!("broadcast data"),
                    (Some(message), _) => {
                        let text = message_text(message, packet.packet.ip.ttl, hop);
                        match message {
                            AodvMessage::Error(error) => self.errors.push((node, *error)),
                            AodvMessage::Reply(r) => self.replies.push((node, text.clone(), *r)),
                            _ => {}
                        }
                        text
                    }
                },
                Output::Drop { packet, reason } => {
                    let reason = match reason {
                        DropReason::NoRoute | DropReason::DiscoveryFailed => "NRTE",
                        DropReason::LinkFailure => "CBK",
                        DropReason::TimeToLive => "TTL",
                        DropReason::Loop => "LOOP",
                        DropReason::SendBufferFull => "IFQ",
                        // ns-2.35 drops them without a trace.
                        DropReason::SendBufferTimeout => continue,
                        other => panic!("{other:?}"),
                    };
                    format!("{reason} {}", packet.packet.payload().offset)
                }
                Output::PurgeQueue(_) => {
                    self.purges.push((now, node));
                    continue;
                }
                Output::RouteFound(_)
                | Output::RouteLost(_)
                | Output::DiscoveryStarted(_)
                | Output::Duplicated
                | Output::Signal(_)
                | Output::Salvaged { .. } => continue,
                other => panic!("{other:?}"),
            };
            self.ours.add(node, act, now);
        }
    }

    fn timers(&mut self, end: Instant) {
        loop {
            let all = self.nodes.iter().enumerate();
            let due = all.filter_map(|(node, aodv)| Some((aodv.next_timeout()?, node))).min();
            let Some((now, node)) = due.filter(|(now, _)| *now <= end) else { return };
            self.nodes[node].on_timeout(now);
            self.drain(node as u32, now);
        }
    }

    fn receive(&mut self, line: &Line<'_>, asked: &BTreeMap<(u32, u32), Instant>) {
        let (node, from) = (line.node, line.from);
        let message = match line.message[0] {
            "0x2" => AodvMessage::Request(AodvRequest {
                join: false,
                repair: false,
                gratuitous: false,
                destination_only: false,
                hops: line.number(1) as u8 - 1,
                id: line.number(2),
                destination: at(line.number(3)),
                destination_seq: Some(line.number(4)).filter(|seq| *seq > 0),
                originator: at(line.number(5)),
                originator_seq: line.number(6),
                timestamp: Some(asked[&(line.number(5), line.number(2))].as_nanos()),
            }),
            "0x4" => {
                let mut sent = self.replies.iter().rev();
                let text = format!(
                    "RREP {} {}#{} {} for {} to {node}",
                    line.number(1),
                    line.number(2),
                    line.number(3),
                    in_ms(line.message[4].parse().unwrap()),
                    line.destination.unwrap()
                );
                let found = sent.find(|(who, said, _)| *who == from && *said == text);
                AodvMessage::Reply(found.unwrap_or_else(|| panic!("{from} did not send {text}")).2)
            }
            "0x8" => {
                let (len, about) = (line.number(1) as usize, at(line.number(2)));
                let mut sent = self.errors.iter().rev().filter(|(who, _)| *who == from);
                let is_it = |error: &AodvError| {
                    let list = error.unreachable();
                    list.len() == len && list.iter().any(|(who, _)| *who == about)
                };
                AodvMessage::Error(sent.find(|(_, error)| is_it(error)).unwrap().1)
            }
            other => panic!("{other}"),
        };
        let destination = line.to.map_or(Ipv4Addr::BROADCAST, at);
        let ip = IpHeader { ttl: line.ttl, ..IpHeader::new(at(from), destination) };
        let packet = RoutedPacket::plain(Packet { ip, body: Body::Aodv(message) });
        self.nodes[node as usize].on_packet(line.at, at(from), packet);
    }

    /// Failures of the MAC; `moment` has the packets dropped with them.
    fn fail(&mut self, line: &Line<'_>, moment: &[Line<'_>]) {
        let packet = match line.is_aodv {
            true => Packet { body: Body::Aodv(AodvMessage::ReplyAck), ..line.packet() },
            false => line.packet(),
        };
        let with_it =
            moment.iter().filter(|l| l.what == "CBK" && l.node == line.node && !l.is_aodv);
        let mut queue =
            with_it.filter(|l| l.id != line.id).map(|l| RoutedPacket::plain(l.packet()));
        let to = at(line.to.unwrap());
        let node = &mut self.nodes[line.node as usize];
        node.on_link_failure(line.at, to, RoutedPacket::plain(packet), &mut || queue.next());
        assert!(queue.next().is_none(), "packets that ns-2.35 drops are left in the queue");
    }
}

fn replay(config: AodvConfig, trace: &str) -> BTreeMap<String, usize> {
    let lines: Vec<Line> = trace.lines().map(Line::read).collect();
    let first_hop =
        |l: &&Line| l.what == "S" && l.message.first() == Some(&"0x2") && l.message[1] == "1";
    let requests = lines.iter().filter(first_hop);
    let asked: BTreeMap<(u32, u32), Instant> =
        requests.map(|l| ((l.node, l.number(2)), l.at)).collect();
    let mut run = Replay {
        nodes: (0..NODES).map(|n| Aodv::new(config, at(n), 1, u64::from(n))).collect(),
        ours: NodeOutput::default(),
        errors: Vec::new(),
        replies: Vec::new(),
        purges: Vec::new(),
    };
    let mut theirs = NodeOutput::default();
    for moment in lines.chunk_by(|a, b| a.at == b.at) {
        let now = moment[0].at;
        run.timers(now);
        // A trace lists MAC failures after their consequences.
        for line in moment.iter().filter(|l| l.what == "F") {
            run.fail(line, moment);
            run.drain(line.node, now);
        }
        for line in moment {
            let failed = moment.iter().any(|l| l.what == "F" && l.node == line.node);
            match (line.what, line.is_aodv) {
                ("F", _) | ("TTL", true) => {}
                ("O", _) => run.nodes[line.node as usize].send(now, line.packet()),
                ("R", true) => run.receive(line, &asked),
                ("R", false) => {
                    let (node, packet) = (&mut run.nodes[line.node as usize], line.packet());
                    node.on_packet(now, at(line.from), RoutedPacket::plain(packet));
                }
                ("S", true) => theirs.add(line.node, line.text(), now),
                ("S", false) => {
                    let text = format!("data {} to {} ttl {}", line.id, line.next, line.ttl);
                    theirs.add(line.node, text, now);
                }
                // Packets purged by an error are in the queue; here the purge is only requested.
                ("CBK", _) if !failed => {
                    assert!(run.purges.contains(&(now, line.node)), "{now:?}: no purge");
                }
                (reason, _) => theirs.add(line.node, format!("{reason} {}", line.id), now),
            }
            run.drain(line.node, now);
        }
    }
    let end = lines.last().unwrap().at;
    compare(run.ours, theirs, end)
}

/// Compares both; returns the number of each action.
fn compare(ours: NodeOutput, theirs: NodeOutput, end: Instant) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    let mut wrong = Vec::new();
    let (mut ours, theirs) = (ours.acts, theirs.acts);
    for ((node, act), times) in theirs {
        let mine = ours.remove(&(node, act.clone())).unwrap_or_default();
        let kind = act.split(' ').next().unwrap().to_owned();
        let late = if kind == "RREQ" || kind == "RERR" { JITTER } else { ROUNDING };
        *counts.entry(kind).or_default() += times.len();
        // Packets still delayed at the end are not in the trace.
        let seen = mine.iter().filter(|at| **at + JITTER < end).count();
        let alike = mine.iter().zip(&times).all(|(a, b)| {
            let early = if a > b { a.since(*b) } else { Duration::ZERO };
            b.since(*a) <= late + ROUNDING && early <= ROUNDING
        });
        if seen > times.len() || mine.len() < times.len() || !alike {
            wrong.push(format!("node {node}: {act}: there {times:?}, here {mine:?}"));
        }
    }
    for ((node, act), times) in ours {
        if times.iter().any(|at| *at + JITTER < end) {
            wrong.push(format!("node {node}: {act}: only here, {times:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
    counts
}

#[test]
fn datagrams_of_four_flows() {
    let counts = replay(CONFIG, DATAGRAMS);
    for (kind, at_least) in [("RREQ", 300), ("RREP", 50), ("RERR", 10), ("NRTE", 20), ("CBK", 10)] {
        assert!(counts[kind] >= at_least, "{counts:?}");
    }
}

#[test]
fn three_connections() {
    let counts = replay(CONFIG, TCP);
    for (kind, at_least) in [("data", 1000), ("RREQ", 20), ("RREP", 5), ("RERR", 5), ("CBK", 15)] {
        assert!(counts[kind] >= at_least, "{counts:?}");
    }
}

/// Each of these options, set to RFC 3561's or another value, makes a detectable difference.
#[test]
fn each_option_is_detectable() {
    const RFC: AodvConfig = AodvConfig::STANDARD;
    let others = [
        (
            "active_route_timeout",
            AodvConfig { active_route_timeout: RFC.active_route_timeout, ..CONFIG },
        ),
        ("my_route_timeout", AodvConfig { my_route_timeout: RFC.my_route_timeout, ..CONFIG }),
        ("net_diameter", AodvConfig { net_diameter: RFC.net_diameter, ..CONFIG }),
        ("ttl_increment", AodvConfig { ttl_increment: 3, ..CONFIG }),
        ("ttl_threshold", AodvConfig { ttl_threshold: 4, ..CONFIG }),
        ("rreq_retries", AodvConfig { rreq_retries: RFC.rreq_retries, ..CONFIG }),
        ("search", AodvConfig { search: RFC.search, ..CONFIG }),
        ("delete_period", AodvConfig { delete_period: RFC.delete_period, ..CONFIG }),
        ("expiry_interval", AodvConfig { expiry_interval: RFC.expiry_interval, ..CONFIG }),
        ("refresh", AodvConfig { refresh: RFC.refresh, ..CONFIG }),
        ("neighbour_routes", AodvConfig { neighbour_routes: true, ..CONFIG }),
        ("local_repair", AodvConfig { local_repair: RFC.local_repair, ..CONFIG }),
        ("reroute_queued", AodvConfig { reroute_queued: true, ..CONFIG }),
        ("release_spacing", AodvConfig { release_spacing: RFC.release_spacing, ..CONFIG }),
        ("data_ttl", AodvConfig { data_ttl: RFC.data_ttl, ..CONFIG }),
        ("control_detection", AodvConfig { control_detection: true, ..CONFIG }),
        ("whole_seconds", AodvConfig { whole_seconds: false, ..CONFIG }),
        ("repairing_is_valid", AodvConfig { repairing_is_valid: false, ..CONFIG }),
        ("answer_next_hop", AodvConfig { answer_next_hop: false, ..CONFIG }),
        ("even_numbers", AodvConfig { even_numbers: false, ..CONFIG }),
    ];
    let same = |config: AodvConfig| {
        std::panic::catch_unwind(|| [DATAGRAMS, TCP].map(|trace| replay(config, trace))).is_ok()
    };
    let unseen: Vec<_> =
        others.iter().filter(|(_, config)| same(*config)).map(|(name, _)| *name).collect();
    assert_eq!(unseen, [""; 0]);
}
