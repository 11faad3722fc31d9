//! The shim at the near end of a path, in a thread or as a process that can be killed, and
//! transfers that record arrival times.

use std::env;
use std::io::{self, PipeWriter, Read, Write};
use std::net::{Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};

use driftway_base::{Duration, Instant, Ipv4Addr};
use driftway_linux::{
    DedicatedUser, Heartbeat, Namespace, PathEnd, RealClock, RunningEmulation, ShimDaemon,
    ShimSettings, ShimSnapshot, StatusHandle, Watchdog,
};
use driftway_scenario::Scenario;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use socket2::{Domain, Socket, Type};

use crate::emulate::emulation;
use crate::stream_digest::{StreamDigest, pattern};

const PORT: u16 = 7000;
/// Arguments that make this program a shim, one with a watchdog, or a watchdog.
const ROLE: &str = "program-shim";
const WATCHED: &str = "program-watched-shim";
const WATCHDOG: &str = "program-watchdog";

/// A shim daemon in a namespace, in a thread.
pub struct RunningShim {
    status_handle: StatusHandle,
    stop: PipeWriter,
    thread: JoinHandle<io::Result<()>>,
}

impl RunningShim {
    pub fn start(namespace: &Namespace, settings: &ShimSettings) -> Self {
        Self::start_with(namespace, || ShimDaemon::start(settings))
    }

    /// Runs the daemon that `make` creates inside the namespace.
    pub fn start_with(
        namespace: &Namespace,
        make: impl FnOnce() -> io::Result<ShimDaemon> + Send,
    ) -> Self {
        let start = || {
            let mut field = make()?;
            let status_handle = field.status_handle();
            let (stopped, stop) = io::pipe()?;
            let thread = thread::spawn(move || field.run(stopped.as_fd()));
            Ok::<_, io::Error>(Self { status_handle, stop, thread })
        };
        namespace.run(start).unwrap().unwrap()
    }

    pub fn snapshot(&self) -> ShimSnapshot {
        self.status_handle.snapshot().expect("the daemon is running")
    }

    /// Stops it; returns its last status.
    pub fn stop(self) -> ShimSnapshot {
        let last = self.snapshot();
        drop(self.stop);
        self.thread.join().unwrap().unwrap();
        last
    }
}

/// Returns whether this process was started as a shim.
pub fn is_shim_process() -> bool {
    env::args().nth(1).is_some_and(|role| [ROLE, WATCHED, WATCHDOG].contains(&role.as_str()))
}

/// Runs a shim until it is killed, or its standard input is closed.
pub fn run() -> ExitCode {
    let arguments: Vec<_> = env::args().skip(1).collect();
    if let [WATCHDOG, user, group] = [0, 1, 2].map(|n| arguments.get(n).map_or("", |word| word)) {
        let [user, group] = [user, group].map(|number| number.parse().unwrap());
        driftway_linux::run_watchdog(Some(DedicatedUser::new(user, group))).unwrap();
        return ExitCode::SUCCESS;
    }
    let user = DedicatedUser::choose().unwrap();
    let mut field = ShimDaemon::start(&ShimSettings::default()).expect("no other shim is running");
    let mut heart = None;
    if arguments[0] == WATCHED {
        let numbers =
            user.expect("root gets a dedicated user").ids().map(|number| number.to_string());
        let mut command = driftway_linux::current_executable();
        command.arg(WATCHDOG).args(numbers);
        let beating = Watchdog::start(command).and_then(Watchdog::supervise).unwrap();
        heart = Some(beating.clone());
        field.on_heartbeat(move || beating.beat());
    }
    driftway_linux::raise_priority().expect("the priority can be raised");
    driftway_linux::drop_privileges(user).expect("privileges can be dropped");
    println!("at work");
    field.run(io::stdin().as_fd()).expect("the daemon does not fail");
    heart.iter().for_each(Heartbeat::finish);
    ExitCode::SUCCESS
}

/// A shim daemon as a process in a namespace.
pub struct ShimProcess(Child);

impl ShimProcess {
    pub fn start(namespace: &Namespace) -> Self {
        Self::start_as(ROLE, namespace)
    }

    /// Starts it with a watchdog.
    pub fn start_watched(namespace: &Namespace) -> Self {
        Self::start_as(WATCHED, namespace)
    }

    fn start_as(role: &str, namespace: &Namespace) -> Self {
        let mut command = Command::new(env::current_exe().unwrap());
        command.arg(role).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = namespace.spawn(&mut command).unwrap();
        let mut said = [0; 8];
        child.stdout.as_mut().unwrap().read_exact(&mut said).unwrap();
        assert_eq!(&said, b"at work\n");
        Self(child)
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.0.id() as i32), signal).unwrap();
    }

    /// Returns whether it has not ended.
    pub fn is_running(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }

    /// Waits for its end, and returns the signal that ended it.
    pub fn ended_by(mut self) -> Option<Signal> {
        let status = self.0.wait().unwrap();
        status.signal().map(|number| Signal::try_from(number).unwrap())
    }

    /// Ends it by closing its standard input.
    pub fn end(mut self) {
        drop(self.0.stdin.take());
        assert!(self.0.wait().unwrap().success());
    }

    /// Ends it by SIGKILL.
    pub fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// A running path, and its clock.
pub struct RunningPath {
    pub running: RunningEmulation,
    pub clock: RealClock,
    pub addresses: [Ipv4Addr; 2],
}

impl RunningPath {
    /// Starts a path with ECN at both ends, or without.
    pub fn start(scenario: &Scenario, seed: u64, ecn: bool) -> Self {
        let emulation = emulation(scenario, seed);
        let addresses = PathEnd::BOTH.map(|end| emulation.address(end));
        for end in PathEnd::BOTH {
            let value = if ecn { "1" } else { "0" };
            emulation.end(end).set_sysctl("net/ipv4/tcp_ecn", value).unwrap();
        }
        let running = emulation.start().unwrap();
        Self { running, clock: RealClock::start(), addresses }
    }

    pub fn near(&self) -> &Namespace {
        self.running.end(PathEnd::Near)
    }

    /// Sleeps until the path has been running for this time.
    pub fn sleep_until(&self, at: Duration) {
        let left = self.clock.until(Instant::ZERO + at);
        thread::sleep(std::time::Duration::from_nanos(left.as_nanos()));
    }
}

/// End of a transfer.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    /// Number of bytes.
    Bytes(u64),
    /// Time.
    Time(Instant),
}

/// A transfer from near to far.
pub struct Transfer {
    /// Port of the sender.
    #[allow(dead_code, reason = "used by the bench only")]
    pub port: u16,
    sender: JoinHandle<(StreamDigest, TcpStream)>,
    receiver: JoinHandle<ReceivedStream>,
    connected: Receiver<()>,
}

/// The received stream.
pub struct ReceivedStream {
    pub digest: StreamDigest,
    /// Numbers of bytes received, with times.
    pub log: Vec<(Instant, u64)>,
}

impl ReceivedStream {
    /// Time from `at` to the first data after it.
    pub fn first_after(&self, at: Instant) -> Duration {
        let first = self.log.iter().find(|(arrived, _)| *arrived >= at);
        first.expect("data arrive").0.since(at)
    }
    /// Bytes received by then.
    pub fn bytes_by(&self, at: Instant) -> u64 {
        self.log.iter().rfind(|(arrived, _)| *arrived <= at).map_or(0, |(_, bytes)| *bytes)
    }
    /// Time from `at` until `bytes` more have been received.
    pub fn reached_after(&self, at: Instant, bytes: u64) -> Duration {
        let enough = self.bytes_by(at) + bytes;
        let reached = self.log.iter().find(|(_, arrived)| *arrived >= enough);
        reached.expect("enough data arrive").0.since(at)
    }
    /// The longest time between two arrivals within this interval.
    pub fn longest_gap(&self, from: Instant, to: Instant) -> Duration {
        let times = self.log.iter().map(|(at, _)| *at).filter(|at| (from..to).contains(at));
        let times: Vec<_> = [from].into_iter().chain(times).chain([to]).collect();
        times.windows(2).map(|pair| pair[1].since(pair[0])).max().unwrap_or_default()
    }
    /// Arrival time of the last byte.
    pub fn end(&self) -> Instant {
        self.log.last().expect("data arrive").0
    }
}

impl Transfer {
    pub fn start(path: &RunningPath, congestion_control: &str, until: Until) -> Self {
        Self::start_at(path, PORT, congestion_control, until)
    }

    pub fn start_at(path: &RunningPath, port: u16, congestion_control: &str, until: Until) -> Self {
        let ends = PathEnd::BOTH.map(|end| path.running.end(end));
        let to = SocketAddrV4::new(path.addresses[1], port);
        Self::between(ends, to, path.clock, congestion_control, until)
    }

    /// A transfer from one namespace to an address of another.
    pub fn between(
        [near, far]: [&Namespace; 2],
        to: SocketAddrV4,
        clock: RealClock,
        congestion_control: &str,
        until: Until,
    ) -> Self {
        let listener = far.run(|| TcpListener::bind(to)).unwrap().unwrap();
        let socket = near.run(|| Socket::new(Domain::IPV4, Type::STREAM, None)).unwrap().unwrap();
        Self::over(socket, listener, to, clock, congestion_control, until)
    }

    /// A transfer over a prepared socket (with an owner, a mark, a device or an address), which
    /// reaches the listener by the address `to`.
    pub fn over(
        socket: Socket,
        listener: TcpListener,
        to: SocketAddrV4,
        clock: RealClock,
        congestion_control: &str,
        until: Until,
    ) -> Self {
        let receiver = thread::spawn(move || receive(&listener, clock));
        socket.set_tcp_congestion(congestion_control.as_bytes()).unwrap();
        let port = |socket: &Socket| socket.local_addr().unwrap().as_socket().unwrap().port();
        if port(&socket) == 0 {
            socket.bind(&SocketAddr::from(([0, 0, 0, 0], 0)).into()).unwrap();
        }
        let port = port(&socket);
        let (notify, connected) = mpsc::channel();
        let sender = thread::spawn(move || {
            connect(&socket, to);
            // The receiver of this may be gone.
            let _ = notify.send(());
            let stream = TcpStream::from(socket);
            let sent = send(&stream, clock, until);
            stream.shutdown(Shutdown::Write).unwrap();
            (sent, stream)
        });
        Self { port, sender, receiver, connected }
    }

    /// Waits until it is connected, which a new cable may delay by seconds.
    pub fn connected(self) -> Self {
        self.connected.recv().expect("the connection opens");
        self
    }

    /// Waits for its end, and asserts that everything sent has arrived.
    pub fn finish(self) -> ReceivedStream {
        // A closed socket has no owner any more that a rule could match.
        let (sent, _stream) = self.sender.join().unwrap();
        let arrived = self.receiver.join().unwrap();
        arrived.digest.assert_complete(sent.bytes());
        arrived.digest.assert_same(&sent);
        arrived
    }
}

/// A new cable takes up to a second until it has a carrier, on a busy host longer; until then ARP requests are not
/// answered, for three seconds each time.
fn connect(socket: &Socket, to: SocketAddrV4) {
    for _ in 0..10 {
        match socket.connect(&SocketAddr::V4(to).into()) {
            Err(error) if error.kind() == io::ErrorKind::HostUnreachable => {}
            connected => return connected.unwrap(),
        }
    }
    panic!("{to} is out of reach");
}

fn send(mut stream: &TcpStream, clock: RealClock, until: Until) -> StreamDigest {
    let (mut sent, mut buffer) = (StreamDigest::default(), [0; 16_384]);
    loop {
        let room = match until {
            Until::Bytes(bytes) => (bytes - sent.bytes()).min(buffer.len() as u64) as usize,
            Until::Time(end) if clock.now() >= end => 0,
            Until::Time(_) => buffer.len(),
        };
        if room == 0 {
            return sent;
        }
        pattern(0, sent.bytes(), &mut buffer[..room]);
        let taken = stream.write(&buffer[..room]).unwrap();
        sent.update(0, &buffer[..taken]);
    }
}

fn receive(listener: &TcpListener, clock: RealClock) -> ReceivedStream {
    let (mut stream, _) = listener.accept().unwrap();
    // The listener's timeout, if it has one.
    if stream.read_timeout().unwrap().is_none() {
        stream.set_read_timeout(Some(std::time::Duration::from_secs(200))).unwrap();
    }
    let mut arrived = ReceivedStream { digest: StreamDigest::default(), log: Vec::new() };
    let mut buffer = [0; 65_536];
    loop {
        let len = stream.read(&mut buffer).expect("the transfer continues");
        if len == 0 {
            return arrived;
        }
        arrived.digest.update(0, &buffer[..len]);
        arrived.log.push((clock.now(), arrived.digest.bytes()));
    }
}
