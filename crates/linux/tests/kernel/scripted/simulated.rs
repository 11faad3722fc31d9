//! The arm with driftway's TCP, in virtual time.

use std::collections::VecDeque;

use driftway_base::{Instant, NodeId, RecoveryState, Seq};
use driftway_scenario::Scenario;
use driftway_tcp::{Config, Connection};
use driftway_wire::{Body, IcmpMessage, IpHeader, Packet, UnreachableCode};

use super::arm::{Arm, Command, Observation, Phase, Sent};
use super::peer::{PEER, TESTED};
use super::script::{Opening, Script};

/// The streams wrap early.
const ISS: Seq = Seq(u32::MAX - 2500);

pub struct SimulatedArm {
    tcp: Connection,
    now: Instant,
    sent: VecDeque<Sent>,
    reads: bool,
}

/// The preset `linux` with what the script sets.
fn config(script: &Script) -> Config {
    let Script { control, ecn, .. } = script;
    let mss = script.mss();
    let text = format!(
        r#"
name = "the scripted peer"
duration = "1 s"
[network]
kind = "path"
hops = 1
link = {{ rate = "10 Mbit/s", delay = "1 ms" }}
[[flow]]
from = 0
to = 1
application = "ftp"
tcp = {{ preset = "linux", growth = "{control}", mss = "{mss} B", window = "131 kB", ecn = {ecn} }}
"#
    );
    let scenario = Scenario::parse("script", &text, &[]).expect("a valid scenario");
    let tcp = scenario.flows[0].tcp.as_ref().expect("a flow of TCP");
    let config = driftway_sim::tcp_config(tcp, NodeId::new(0), 1);
    // As the sysctls of these names.
    let pacing = script.paced || config.pacing;
    Config { sack: script.sack, timestamps: script.timestamps, pacing, ..config }
}

impl SimulatedArm {
    pub fn new(script: &Script) -> Self {
        let config = config(script);
        let tcp = match script.opening {
            Opening::Active => Connection::connect(&config, TESTED, PEER, ISS, 1, Instant::ZERO),
            Opening::Passive => Connection::listen(&config, TESTED, ISS, 1),
        };
        let mut arm = Self { tcp, now: Instant::ZERO, sent: VecDeque::new(), reads: true };
        arm.drain();
        arm
    }

    fn drain(&mut self) {
        while self.reads && self.tcp.read(u32::MAX).is_some() {}
        while let Some(transmit) = self.tcp.poll_transmit(self.now) {
            let ip = IpHeader { ecn: transmit.ecn, ..IpHeader::new(TESTED.address, PEER.address) };
            let packet = Packet { ip, body: Body::Tcp(transmit.segment) };
            self.sent.push_back(Sent { at: self.now, packet });
        }
        while self.tcp.poll_event().is_some() {}
    }
}

impl Arm for SimulatedArm {
    fn now(&self) -> Instant {
        self.now
    }

    fn wait(&mut self, until: Instant) -> Option<Sent> {
        while self.sent.is_empty() {
            let Some(next) = self.tcp.next_timeout().filter(|next| *next <= until) else {
                self.now = until;
                return None;
            };
            self.now = next;
            self.tcp.on_timeout(next);
            self.drain();
        }
        self.sent.pop_front()
    }

    fn command(&mut self, command: Command) {
        match command {
            Command::Write(bytes) => {
                self.tcp.write(bytes);
            }
            Command::Read => self.reads = true,
            Command::StopReading => self.reads = false,
            Command::Close => self.tcp.close(),
            Command::Abort => self.tcp.abort(),
        }
        self.drain();
    }

    fn deliver(&mut self, packet: &Packet) {
        match &packet.body {
            Body::Tcp(segment) => {
                self.tcp.on_segment(self.now, packet.ip.source, segment, packet.ip.ecn);
            }
            Body::Icmp(IcmpMessage::Unreachable { code, quoted }) => {
                let hard = matches!(code, UnreachableCode::Protocol | UnreachableCode::Port);
                let no_route = matches!(code, UnreachableCode::Net | UnreachableCode::Host);
                self.tcp.on_unreachable(self.now, hard, no_route.then_some(quoted.seq()));
            }
            _ => unreachable!("scripts have no such packets"),
        }
        self.drain();
    }

    fn observe(&mut self) -> Observation {
        let view = self.tcp.view();
        let mss = view.mss.value().unwrap_or(1).max(1);
        let segments = |window: Option<u32>| window.unwrap_or(0) / mss;
        Observation {
            state: self.tcp.state(),
            cwnd: segments(view.cwnd.value()),
            ssthresh: segments(view.ssthresh.value()),
            phase: match view.recovery.value() {
                Some(RecoveryState::Recovery) => Phase::Recovery,
                Some(RecoveryState::Loss) => Phase::Loss,
                Some(RecoveryState::Open) | None => Phase::Open,
            },
            note: format!("rto {}", self.tcp.rtt().rto().as_millis()),
        }
    }
}
