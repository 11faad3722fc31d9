//! The arm with the kernel's TCP, over a TUN device in a namespace of its own, in real time.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, SocketAddrV4, TcpStream};

use driftway_base::{Endpoint, Instant};
use driftway_linux::{Namespace, RealClock, Tun, kernel_state, kernel_tcp};
use driftway_tcp::State;
use driftway_wire::Packet;
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use nix::libc;
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::SetStruct;
use socket2::{Domain, SockRef, Socket, Type};

use super::arm::{Arm, Command, Observation, Phase, Sent};
use super::peer::{PEER, TESTED};
use super::script::{Opening, Script};

/// Highest rate at which a socket's data leaves (bytes per second).
#[derive(Clone, Copy, Debug)]
struct MaxPacingRate;

nix::setsockopt_impl!(
    MaxPacingRate,
    libc::SOL_SOCKET,
    libc::SO_MAX_PACING_RATE,
    u32,
    SetStruct<'_, u32>
);

/// IP and TCP headers without options (bytes).
const HEADERS: u16 = 40;

/// The settings that matter, with the defaults of Linux where they are not said to differ.
const SETTINGS: [(&str, &str); 24] = [
    ("tcp_adv_win_scale", "1"),
    ("tcp_autocorking", "1"),
    ("tcp_comp_sack_delay_ns", "1000000"),
    ("tcp_comp_sack_nr", "44"),
    ("tcp_dsack", "1"),
    ("tcp_early_retrans", "3"),
    ("tcp_fastopen", "0"),
    ("tcp_frto", "2"),
    ("tcp_invalid_ratelimit", "500"),
    ("tcp_mtu_probing", "0"),
    // Each script starts as if the destination were new.
    ("tcp_no_metrics_save", "1"),
    ("tcp_recovery", "1"),
    ("tcp_reordering", "3"),
    ("tcp_retries2", "15"),
    ("tcp_rmem", "4096 131072 6291456"),
    ("tcp_rto_max_ms", "120000"),
    ("tcp_rto_min_us", "200000"),
    ("tcp_slow_start_after_idle", "1"),
    ("tcp_syn_linear_timeouts", "4"),
    ("tcp_syn_retries", "6"),
    ("tcp_synack_retries", "5"),
    ("tcp_window_scaling", "1"),
    // A script's application writes everything at once.
    ("tcp_wmem", "4096 4194304 4194304"),
    ("tcp_thin_linear_timeouts", "0"),
];

/// Makes the namespace of a script, with its settings.
pub fn namespace(script: &Script) -> io::Result<Namespace> {
    let namespace = Namespace::new()?;
    let flag = |set| if set { "1" } else { "0" };
    let negotiated = [
        ("tcp_ecn", flag(script.ecn)),
        ("tcp_sack", flag(script.sack)),
        ("tcp_timestamps", flag(script.timestamps)),
    ];
    namespace.run(|| {
        for (setting, value) in SETTINGS.into_iter().chain(negotiated) {
            match std::fs::write(format!("/proc/sys/net/ipv4/{setting}"), value) {
                // An older kernel has it built in.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                result => result?,
            }
        }
        io::Result::Ok(())
    })??;
    Ok(namespace)
}

/// A device and a socket, with which [`KernelArm::start`] opens the connection.
pub struct Prepared {
    tun: Tun,
    socket: Socket,
    opening: Opening,
}

pub struct KernelArm {
    tun: Tun,
    clock: RealClock,
    listener: Option<Socket>,
    stream: Option<TcpStream>,
    reads: bool,
    buffer: Vec<u8>,
}

impl Prepared {
    /// Prepares a script in the calling thread's namespace.
    pub fn new(script: &Script) -> io::Result<Self> {
        let tun = Tun::open(TESTED.address, 24, script.mss() + HEADERS)?;
        // Paced transmissions have the size that TSO gives them.
        if !script.is_paced() {
            segments_alone(&tun.name()?)?;
        }
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.set_tcp_congestion(script.control.as_bytes())?;
        if script.paced {
            // Any limit makes TCP pace; this one limits nothing.
            setsockopt(&socket, MaxPacingRate, &(u32::MAX - 1))?;
        }
        socket.set_nonblocking(true)?;
        socket.bind(&address(TESTED).into())?;
        Ok(Self { tun, socket, opening: script.opening })
    }
}

impl KernelArm {
    /// Opens the connection, or listens.
    pub fn start(prepared: Prepared) -> io::Result<Self> {
        let Prepared { tun, socket, opening } = prepared;
        let clock = RealClock::start();
        let (mut listener, mut stream) = (None, None);
        match opening {
            Opening::Active => {
                match socket.connect(&address(PEER).into()) {
                    Err(error) if error.raw_os_error() == Some(nix::libc::EINPROGRESS) => {}
                    result => result?,
                }
                stream = Some(socket.into());
            }
            Opening::Passive => {
                socket.listen(1)?;
                listener = Some(socket);
            }
        }
        let buffer = vec![0; 65_536];
        Ok(Self { tun, clock, listener, stream, reads: true, buffer })
    }

    fn receive(&mut self) -> Option<Sent> {
        while let Some(len) = self.tun.receive(&mut self.buffer).expect("the device works") {
            let at = self.clock.now();
            // IPv6 and multicast of the interface are not of this connection.
            if let Ok(decoded) = Packet::decode(&self.buffer[..len]) {
                return Some(Sent { at, packet: decoded.packet });
            }
        }
        None
    }

    fn read(&mut self) {
        if let Some(stream) = &mut self.stream {
            // The end of data, or an error, ends it as "nothing yet" does.
            while self.reads && stream.read(&mut self.buffer).is_ok_and(|len| len > 0) {}
        }
    }
}

fn v4(endpoint: Endpoint) -> SocketAddrV4 {
    SocketAddrV4::new(endpoint.address, endpoint.port)
}

fn address(endpoint: Endpoint) -> SocketAddr {
    v4(endpoint).into()
}

/// Makes the kernel send each segment by itself: otherwise it may wait to send several as one
/// (TSO), which a device that takes one packet at a time has no use for.
fn segments_alone(interface: &str) -> io::Result<()> {
    let mut link = LinkMessage::default();
    link.attributes =
        vec![LinkAttribute::IfName(interface.to_owned()), LinkAttribute::GsoMaxSegs(1)];
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_ACK;
    let message = RouteNetlinkMessage::SetLink(link);
    let mut request = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(message));
    request.finalize();
    let mut bytes = vec![0; request.buffer_len()];
    request.serialize(&mut bytes);
    let socket = netlink_sys::Socket::new(NETLINK_ROUTE)?;
    socket.connect(&netlink_sys::SocketAddr::new(0, 0))?;
    socket.send(&bytes, 0)?;
    let (answer, _) = socket.recv_from_full()?;
    let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer)
        .map_err(|error| io::Error::new(ErrorKind::InvalidData, error.to_string()))?;
    match answer.payload {
        NetlinkPayload::Error(error) if error.code.is_some() => Err(error.to_io()),
        _ => Ok(()),
    }
}

impl Arm for KernelArm {
    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn wait(&mut self, until: Instant) -> Option<Sent> {
        loop {
            if let Some(sent) = self.receive() {
                return Some(sent);
            }
            let left = self.clock.until(until);
            if left.is_zero() {
                return None;
            }
            self.tun.wait(left).expect("the device works");
        }
    }

    fn command(&mut self, command: Command) {
        let stream = self.stream.as_mut().expect("the connection is open");
        match command {
            Command::Write(bytes) => {
                let bytes = vec![0x5a; usize::try_from(bytes).expect("a small number")];
                let written = stream.write(&bytes).expect("the kernel takes data");
                assert_eq!(written, bytes.len(), "the send buffer is too small for a script");
            }
            Command::Read => {
                self.reads = true;
                self.read();
            }
            Command::StopReading => self.reads = false,
            Command::Close => stream.shutdown(Shutdown::Write).expect("it was open"),
            Command::Abort => {
                SockRef::from(&*stream)
                    .set_linger(Some(std::time::Duration::ZERO))
                    .expect("a TCP socket");
                self.stream = None;
            }
        }
    }

    fn deliver(&mut self, packet: &Packet) {
        let mut bytes = vec![0; packet.len() as usize];
        packet.encode(&mut bytes, |_, payload| payload.fill(0xa5)).expect("it fits");
        self.tun.send(&bytes).expect("the kernel takes packets");
        if let Some(listener) = &self.listener
            && let Ok((accepted, _)) = listener.accept()
        {
            accepted.set_nonblocking(true).expect("a socket");
            self.stream = Some(accepted.into());
            self.listener = None;
        }
        self.read();
    }

    fn observe(&mut self) -> Observation {
        let (local, remote) = (v4(TESTED), v4(PEER));
        match kernel_tcp(local, remote) {
            Ok(tcp) => {
                let info = &tcp.info;
                let phase = match info.ca_state {
                    CA_RECOVERY => Phase::Recovery,
                    CA_LOSS => Phase::Loss,
                    _ => Phase::Open,
                };
                let names = ["open", "disorder", "cwr", "recovery", "loss"];
                let name = names.get(usize::from(info.ca_state)).unwrap_or(&"?");
                Observation {
                    state: kernel_state(local, remote).unwrap_or(State::Closed),
                    cwnd: info.snd_cwnd,
                    ssthresh: info.snd_ssthresh,
                    phase,
                    note: format!("rto {} {name} reordering {}", info.rto / 1000, info.reordering),
                }
            }
            // TIME-WAIT and requests have no window; what is not there is CLOSED.
            Err(_) => Observation {
                state: kernel_state(local, remote).unwrap_or(State::Closed),
                cwnd: 0,
                ssthresh: 0,
                phase: Phase::Open,
                note: String::new(),
            },
        }
    }
}

// Values of tcpi_ca_state (enum tcp_ca_state of linux/tcp.h).
const CA_RECOVERY: u8 = 3;
const CA_LOSS: u8 = 4;
