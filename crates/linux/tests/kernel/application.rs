//! driftway's TCP with an application, connected to a [`Peer`] by an impaired TUN device.

use std::net::SocketAddrV4;

use driftway_aid::Aid;
use driftway_base::{Duration, Endpoint, Probability, Seq};
use driftway_endpoint::Socket;
use driftway_linux::{
    ConnectionDriver, ImpairedTun, Impairment, KernelTcp, Namespace, kernel_state, kernel_tcp,
};
use driftway_tcp::{Config, Connection, Event, State};

use crate::echo::{KERNEL, US, cable};
use crate::peer::{Options, Peer, Step};
use crate::stream_digest::{StreamDigest, pattern};

pub const KERNELS: SocketAddrV4 = SocketAddrV4::new(KERNEL, 5000);
pub const OURS: SocketAddrV4 = SocketAddrV4::new(US, 6000);
pub const PEER: Options = Options { congestion_control: "cubic", receive_buffer: None, sends: 0 };

/// No impairment.
pub const UNIMPAIRED: Impairment = Impairment {
    delay: Duration::ZERO,
    drop: Probability::NEVER,
    duplicate: Probability::NEVER,
    reorder: Probability::NEVER,
    reorder_delay: Duration::ZERO,
    mark: Probability::NEVER,
    corrupt: Probability::NEVER,
};

/// Drops and corrupts with this probability, duplicates and reorders with twice that.
pub fn impaired(probability: f64) -> Impairment {
    let (harm, nuisance) =
        (Probability::from_f64(probability), Probability::from_f64(2.0 * probability));
    Impairment {
        delay: Duration::from_millis(2),
        drop: harm,
        duplicate: nuisance,
        reorder: nuisance,
        reorder_delay: Duration::from_millis(3),
        corrupt: harm,
        ..UNIMPAIRED
    }
}

/// Close to the wrap, so that every transfer crosses it.
const ISS: Seq = Seq(u32::MAX - 5000);

/// The end that opens the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opener {
    We,
    Kernel,
}

impl Opener {
    pub const BOTH: [Self; 2] = [Self::We, Self::Kernel];
}

/// The default configuration with timers suited to this path.
pub fn config() -> Config {
    Config {
        timestamps: true,
        window_scale: true,
        receive_buffer: 200_000,
        min_rto: Duration::from_millis(200),
        persist_min: Duration::from_millis(200),
        ..Config::default()
    }
}

/// The application of driftway's end: sends pattern 1, expects pattern 0; [`Peer`] does the
/// reverse.
pub struct Application {
    pub driver: ConnectionDriver,
    /// Number of bytes to send.
    pub sends: u64,
    pub sent: StreamDigest,
    pub received: StreamDigest,
    pub reads: bool,
    /// Closes after sending everything.
    pub closes: bool,
    closed: bool,
    pub events: Vec<Event>,
    /// States observed.
    pub states: Vec<State>,
}

impl Application {
    /// An application that sends `sends` bytes, then closes.
    pub fn start(cable: ImpairedTun, opens: Opener, config: &Config, sends: u64) -> Self {
        Self::start_with_aid(cable, opens, config, sends, None)
    }

    /// The same, with an aid between TCP and IP.
    pub fn start_with_aid(
        cable: ImpairedTun,
        opens: Opener,
        config: &Config,
        sends: u64,
        aid: Option<Box<dyn Aid>>,
    ) -> Self {
        let (local, remote) = (endpoint(OURS), endpoint(KERNELS));
        let connection = match opens {
            Opener::We => Connection::connect(config, local, remote, ISS, 0, cable.now()),
            Opener::Kernel => Connection::listen(config, local, ISS, 0),
        };
        let driver = ConnectionDriver::new(cable, Socket::new(connection, aid), 100_000);
        Self {
            driver,
            sends,
            sent: StreamDigest::default(),
            received: StreamDigest::default(),
            reads: true,
            closes: true,
            closed: false,
            events: Vec::new(),
            states: Vec::new(),
        }
    }

    /// Runs until `done` holds. Fails after a minute.
    pub fn run_until(&mut self, what: &str, mut done: impl FnMut(&Self) -> bool) {
        let end = self.driver.device().now() + Duration::from_secs(60);
        while !done(self) {
            let now = self.driver.device().now();
            let connection = self.driver.connection();
            assert!(
                now < end,
                "{what}: {:?} of {} sent, {:?} received, {:?}, {:?}, {:?}",
                self.sent,
                self.sends,
                self.received,
                self.states,
                self.events,
                connection.stats(),
            );
            self.step();
            // At most that long, to check `done`.
            self.driver.step(now + Duration::from_millis(20)).unwrap();
            while let Some(event) = self.driver.poll_event() {
                self.events.push(event);
            }
            if self.states.last() != Some(&self.state()) {
                self.states.push(self.state());
            }
        }
        self.step();
    }

    fn step(&mut self) {
        let mut buffer = [0; 8192];
        while self.sent.bytes() < self.sends {
            let len = buffer.len().min((self.sends - self.sent.bytes()) as usize);
            pattern(1, self.sent.bytes(), &mut buffer[..len]);
            let taken = self.driver.write(&buffer[..len]);
            self.sent.update(1, &buffer[..taken]);
            if taken < len {
                break;
            }
        }
        let all_sent = self.sent.bytes() == self.sends;
        if self.closes && !self.closed && all_sent && self.state().is_synchronized() {
            self.driver.close();
            self.closed = true;
        }
        while self.reads {
            let len = self.driver.read(&mut buffer).unwrap();
            if len == 0 {
                break;
            }
            self.received.update(0, &buffer[..len]);
        }
    }

    pub fn state(&self) -> State {
        self.driver.connection().state()
    }

    /// Both ends have closed, and both FINs are acknowledged.
    pub fn is_over(&self) -> bool {
        matches!(self.state(), State::Closed | State::TimeWait)
    }
}

pub fn endpoint(address: SocketAddrV4) -> Endpoint {
    Endpoint::new(*address.ip(), address.port())
}

/// A device without impairments.
pub fn unimpaired(namespace: &Namespace) -> ImpairedTun {
    both_ways(namespace, (0, UNIMPAIRED))
}

/// A device with the same impairments in both directions, and their seed.
pub fn both_ways(namespace: &Namespace, (seed, impairment): (u64, Impairment)) -> ImpairedTun {
    cable(namespace, seed, impairment, impairment)
}

/// The kernel's end, which opens the connection or listens.
pub fn peer(namespace: &Namespace, opens: Opener, options: Options, steps: &[Step]) -> Peer {
    match opens {
        Opener::We => Peer::listen(namespace, KERNELS, options, steps).unwrap().0,
        Opener::Kernel => Peer::connect(namespace, KERNELS, OURS, options, steps).unwrap(),
    }
}

/// The kernel's state of the connection; `None` if it does not exist (any more).
pub fn kernel_side_info(namespace: &Namespace) -> Option<KernelTcp> {
    namespace.run(|| kernel_tcp(KERNELS, OURS)).unwrap().ok()
}

/// The connection state of the kernel; CLOSED if there is no such connection.
pub fn kernel_side_state(namespace: &Namespace) -> State {
    match namespace.run(|| kernel_state(KERNELS, OURS)).unwrap() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => State::Closed,
        state => state.unwrap(),
    }
}
