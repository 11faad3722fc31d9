//! Methods of intercepting packets below the host's TCP, and their cost.
//!
//! Between two namespaces with a veth pair: throughput of one connection, packets per second in
//! both directions, CPU time of both kernels and the program per Gbit, RTT of one byte, and the
//! effect on a transfer when the program is killed; connections per second; acknowledgments per
//! megabyte. Run it by `cargo bench -p driftway-linux --bench intercept`, or one table by `… --
//! throughput`, `short` or `acks`; it needs root and /dev/net/tun.

#[path = "../../tests/kernel/pair.rs"]
#[allow(dead_code, reason = "tests use more of it")]
mod network;
#[path = "../../tests/kernel/wired.rs"]
#[allow(dead_code, reason = "tests use more of it")]
mod wired;
// `wired` is written for the tests, where it has this name.
use network as pair;

mod acks;
mod short;
mod tun;

use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

use driftway_base::Instant;
use driftway_linux::{Namespace, RealClock, ShimDaemon, ShimSettings, check_requirements};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use socket2::{Domain, Socket, Type};

use network::{DEVICE, THERE};

/// Duration of a transfer.
const LASTS: Duration = Duration::from_secs(3);
const RUNS: usize = 3;
const PINGS: usize = 2000;
const PORT: u16 = 7000;
const ROLE: &str = "--as";

/// Interception between a TCP and its network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interception {
    Nothing {
        offload: bool,
    },
    Tun,
    /// The shim daemon without tracked flows: it parses, checks and passes packets.
    Queue,
    /// The shim itself.
    Shim,
}

const INTERCEPTIONS: [(Interception, &str); 5] = [
    (Interception::Nothing { offload: true }, "the kernel alone, packets of 64 KB"),
    (Interception::Nothing { offload: false }, "the kernel alone, packets of 1500 B"),
    (Interception::Tun, "TUN and policy routing, passing"),
    (Interception::Queue, "NFQUEUE, passing"),
    (Interception::Shim, "NFQUEUE, the shim at work"),
];

impl Interception {
    fn name(self) -> &'static str {
        match self {
            Self::Nothing { .. } => "nothing",
            Self::Tun => "tun",
            Self::Queue => "queue",
            Self::Shim => "shim",
        }
    }

    /// Starts the program in a namespace and waits until it is running.
    fn start(self, namespace: &Namespace) -> io::Result<Option<Child>> {
        if let Self::Nothing { .. } = self {
            return Ok(None);
        }
        let mut command = Command::new(std::env::current_exe()?);
        command.args([ROLE, self.name()]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = namespace.spawn(&mut command)?;
        let out = child.stdout.as_mut().expect("standard output is piped");
        out.read_exact(&mut [0])?;
        Ok(Some(child))
    }
}

/// Runs as the intercepting program.
fn run_as(word: &str) -> io::Result<()> {
    let stdin = io::stdin();
    let ready = || print_now(".");
    if word == Interception::Tun.name() {
        return tun::run(ready, stdin.as_fd());
    }
    let mut settings = ShimSettings::default();
    if word == Interception::Queue.name() {
        settings.config.flows = 0;
    }
    let mut field = ShimDaemon::start(&settings)?;
    ready();
    field.run(stdin.as_fd())
}

fn print_now(text: &str) {
    print!("{text}");
    io::stdout().flush().expect("standard output is open");
}

/// A connection from near to far.
fn connect([near, far]: &[Namespace; 2]) -> io::Result<[TcpStream; 2]> {
    let listener = far.run(|| TcpListener::bind((THERE, PORT)))??;
    let socket = near.run(|| Socket::new(Domain::IPV4, Type::STREAM, None))??;
    socket.set_tcp_congestion(b"cubic")?;
    socket.connect(&SocketAddr::from((THERE, PORT)).into())?;
    let sends: TcpStream = socket.into();
    sends.set_nodelay(true)?;
    let (receives, _) = listener.accept()?;
    receives.set_nodelay(true)?;
    Ok([sends, receives])
}

/// Sends for a while, and calls `each` for received data, with the time since the start.
fn flood(
    [mut sends, mut receives]: [TcpStream; 2],
    clock: RealClock,
    mut each: impl FnMut(Instant, usize),
) -> io::Result<()> {
    let end = clock.now() + driftway_base::Duration::from_nanos(LASTS.as_nanos() as u64);
    let sender = thread::spawn(move || -> io::Result<()> {
        let bytes = vec![7; 1 << 17];
        while clock.now() < end {
            sends.write_all(&bytes)?;
        }
        Ok(())
    });
    let mut buffer = vec![0; 1 << 17];
    loop {
        match receives.read(&mut buffer)? {
            0 => break,
            len => each(clock.now(), len),
        }
    }
    sender.join().expect("the thread does not panic")
}

/// Results of a run.
#[derive(Clone, Copy, Default)]
struct Measured {
    mbps: f64,
    pps: f64,
    cpu_s_per_gbit: f64,
    ping_us: f64,
}

/// CPU time of this process and of the program (s).
fn cpu(child: Option<&Child>) -> io::Result<f64> {
    let own = getrusage(UsageWho::RUSAGE_SELF)?;
    let own = (own.user_time() + own.system_time()).num_microseconds() as f64 / 1e6;
    let Some(child) = child else { return Ok(own) };
    // proc(5): utime and stime are fields 14 and 15, in hundredths of a second.
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id()))?;
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: f64 = fields.skip(11).take(2).filter_map(|n| n.parse::<f64>().ok()).sum();
    Ok(own + ticks / 100.0)
}

/// Packets over the veth pair so far.
fn packets(near: &Namespace) -> io::Result<u64> {
    let table = near.run(|| fs::read_to_string("/proc/thread-self/net/dev"))??;
    let line = table.lines().find_map(|line| line.trim().strip_prefix(DEVICE)).unwrap_or_default();
    let numbers: Vec<u64> =
        line.trim_start_matches(':').split_whitespace().filter_map(|n| n.parse().ok()).collect();
    Ok(numbers.get(1).unwrap_or(&0) + numbers.get(9).unwrap_or(&0))
}

fn measure(way: Interception) -> io::Result<Measured> {
    let offload = !matches!(way, Interception::Nothing { offload: false });
    let ends = pair::pair(offload)?;
    let mut child = way.start(&ends[0])?;
    let clock = RealClock::start();

    let [mut here, mut there] = connect(&ends)?;
    let echo = thread::spawn(move || -> io::Result<()> {
        let mut byte = [0];
        while there.read(&mut byte)? > 0 {
            there.write_all(&byte)?;
        }
        Ok(())
    });
    let mut trips = Vec::new();
    for _ in 0..PINGS {
        let sent = clock.now();
        here.write_all(&[1])?;
        here.read_exact(&mut [0])?;
        trips.push(clock.now().since(sent).as_nanos() as f64 / 1e3);
    }
    drop(here);
    echo.join().expect("the thread does not panic")?;
    trips.sort_by(f64::total_cmp);

    let streams = connect(&ends)?;
    let (cpu_before, packets_before, began) =
        (cpu(child.as_ref())?, packets(&ends[0])?, clock.now());
    let mut bytes = 0;
    flood(streams, clock, |_, len| bytes += len)?;
    let seconds = clock.now().since(began).as_secs_f64();
    let gbit = bytes as f64 * 8.0 / 1e9;
    let measured = Measured {
        mbps: gbit * 1e3 / seconds,
        pps: (packets(&ends[0])? - packets_before) as f64 / seconds,
        cpu_s_per_gbit: (cpu(child.as_ref())? - cpu_before) / gbit,
        ping_us: trips[PINGS / 2],
    };
    if let Some(child) = &mut child {
        drop(child.stdin.take());
        child.wait()?;
    }
    Ok(measured)
}

/// Kills the program in the middle of a transfer; returns the longest time without data after that
/// (s).
fn kill(way: Interception) -> io::Result<f64> {
    let ends = pair::pair(true)?;
    let Some(mut child) = way.start(&ends[0])? else { return Ok(0.0) };
    let streams = connect(&ends)?;
    let clock = RealClock::start();
    let killer = thread::spawn(move || {
        thread::sleep(LASTS / 2);
        child.kill()?;
        let at = clock.now();
        child.wait().map(|_| at)
    });
    let mut arrivals = Vec::new();
    flood(streams, clock, |at, _| arrivals.push(at))?;
    let killed = killer.join().expect("the thread does not panic")?;
    let after = arrivals.windows(2).filter(|pair| pair[1] >= killed);
    Ok(after.map(|pair| pair[1].since(pair[0]).as_secs_f64()).fold(0.0, f64::max))
}

fn table() -> io::Result<()> {
    println!(
        "{:<38}{:>9}{:>10}{:>12}{:>11}{:>15}",
        "", "Mbit/s", "packets/s", "CPU s/Gbit", "ping µs", "gap if killed"
    );
    for (way, name) in INTERCEPTIONS {
        let mut runs = (0..RUNS).map(|_| measure(way)).collect::<io::Result<Vec<_>>>()?;
        runs.sort_by(|a, b| a.mbps.total_cmp(&b.mbps));
        let median = runs[RUNS / 2];
        let gap = match way {
            Interception::Nothing { .. } => "–".to_owned(),
            way => format!("{:.1} ms", kill(way)? * 1e3),
        };
        println!(
            "{name:<38}{:>9.0}{:>10.0}{:>12.3}{:>11.1}{gap:>15}",
            median.mbps, median.pps, median.cpu_s_per_gbit, median.ping_us
        );
    }
    println!(
        "\nMedians of {RUNS} runs of {} s by throughput; ping: median of {PINGS}.",
        LASTS.as_secs()
    );
    Ok(())
}

/// The tables that are named on the command line, or all.
fn tables(words: &[String]) -> io::Result<()> {
    type Table = fn() -> io::Result<()>;
    let tables: [(&str, Table); 3] =
        [("throughput", table), ("short", short::table), ("acks", acks::table)];
    let is_named = |name: &str| words.iter().any(|word| word == name);
    let all = !tables.iter().any(|(name, _)| is_named(name));
    for (name, table) in tables {
        if all || is_named(name) {
            table()?;
            println!();
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    let done = match words.as_slice() {
        [_, role, word] if role == ROLE => run_as(word),
        _ => match check_requirements() {
            Ok(()) => tables(&words),
            Err(missing) => Err(io::Error::other(missing)),
        },
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
