//! Emulated radios: whether this machine keeps real time with fifty moving nodes, and the throughput
//! of kernels' TCP over chains of radios, beside that of the simulator's and that over wires.
//!
//! `cargo bench -p driftway-linux --bench radio`; needs root. Other work on the machine makes packets
//! late, so the load is printed too.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use driftway_base::{Duration as Span, Instant, NodeId};
use driftway_linux::{
    Emulation, EmulationReport, RealClock, RunningEmulation, check_requirements, end_nodes,
};
use driftway_scenario::Scenario;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use socket2::{Domain, Protocol, Socket, Type};

/// Duration of one measurement (s).
const SECONDS: u64 = 20;
/// Seeds of each chain.
const KERNEL_SEEDS: u64 = 5;
const SIMULATOR_SEEDS: u64 = 10;
const PORT: u16 = 7000;
/// Limit of the lateness that counts as on time.
const LATE: Span = Span::from_millis(1);

const FLOW: &str = "application = \"ftp\"\n\
                    tcp = { preset = \"linux\", mss = \"1460 B\", window = \"1 MB\" }\n";
const RADIO: &str = "radio = { propagation = \"two-ray\", receive_range = \"250 m\", \
                     sense_range = \"550 m\" }\n\
                     mac = { kind = \"dcf\", data_rate = \"2 Mbit/s\", basic_rate = \"1 Mbit/s\" }\n\
                     queue = { packets = 50 }\n";

fn main() -> ExitCode {
    if let Err(missing) = check_requirements() {
        println!("cannot run: {missing}");
        return ExitCode::FAILURE;
    }
    let load = || std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    print!("load before: {}", load());
    moving_nodes();
    chains();
    print!("load after: {}", load());
    ExitCode::SUCCESS
}

fn parse(network: &str, to: u32) -> Scenario {
    let text = format!(
        "name = \"radio\"\nduration = \"{SECONDS} s\"\n[network]\n{network}\n\
         [[flow]]\nfrom = 0\nto = {to}\n{FLOW}"
    );
    Scenario::parse("radio", &text, &[]).expect("the scenario is valid")
}

/// Fifty moving nodes; two connections between four of them.
fn moving_nodes() {
    let network = format!(
        "kind = \"adhoc\"\nnodes = 50\narea = [\"1500 m\", \"300 m\"]\n\
         mobility = {{ model = \"random-waypoint\", speed = [\"1 m/s\", \"20 m/s\"], pause = \"0 s\" }}\n\
         {RADIO}routing = {{ protocol = \"aodv\" }}\nfeedback = \"icmp-unreachable\"\n"
    );
    let scenario = parse(&network, 1);
    let before = processor_time();
    let (bytes, report) =
        measure(&scenario, 1, &[[0, 1], [2, 3]].map(|pair| pair.map(NodeId::new)));
    let used = (processor_time() - before) / report.duration.as_secs_f64();
    let late = &report.lateness;
    println!("\nfifty moving nodes, AODV, two connections between four kernels, {SECONDS} s");
    println!("departing packets             {}", late.count());
    println!("less than 1 ms late           {:.3} %", 100.0 * late.share_within(LATE));
    for (name, share) in [("median", 0.5), ("99th percentile", 0.99), ("maximum", 1.0)] {
        println!("{name:<29} {:.0} µs", late.quantile(share).as_secs_f64() * 1e6);
    }
    println!("received                      {} and {}", kbps(bytes[0]), kbps(bytes[1]));
    println!("processor time                {:.1} % of one core", 100.0 * used);
    println!("real-time scheduling          {}", report.is_realtime);
    println!("warnings                      {:?}", report.measurement_warnings());
}

/// Chains of radios and of wires, with kernels and in the simulator: means over seeds, and standard
/// deviations, because what collides decides much within so short a time.
fn chains() {
    println!(
        "\nthroughput over chains at 2 Mbit/s, {SECONDS} s, mean (standard deviation) in kbit/s"
    );
    println!(
        "        kernel, seeds 1 to {KERNEL_SEEDS}    simulator, seeds 1 to {SIMULATOR_SEEDS}"
    );
    println!("hops       radio       wires       radio       wires   ratio   on time (radio)");
    for hops in [1, 2, 4_u32] {
        let radios = format!(
            "kind = \"adhoc\"\nnodes = {}\nmobility = {{ chain = \"200 m\" }}\n{RADIO}\
             routing = {{ protocol = \"static\" }}\n",
            hops + 1
        );
        let wires = format!(
            "kind = \"path\"\nhops = {hops}\n\
             link = {{ rate = \"2 Mbit/s\", delay = \"2 us\", queue = {{ packets = 50 }} }}\n"
        );
        let [radios, wires] = [radios, wires].map(|network| compare(&parse(&network, hops)));
        println!(
            "{hops:>4} {:>11} {:>11} {:>11} {:>11} {:>7.2} {:>15.3} %",
            radios.kernel.to_string(),
            wires.kernel.to_string(),
            radios.simulator.to_string(),
            wires.simulator.to_string(),
            radios.kernel.mean / radios.simulator.mean,
            100.0 * radios.on_time
        );
    }
}

/// Mean and standard deviation of throughputs.
struct Summary {
    mean: f64,
    deviation: f64,
}

impl Summary {
    fn new(bytes: &[u64]) -> Self {
        let values = bytes.iter().map(|bytes| *bytes as f64 * 8.0 / SECONDS as f64 / 1000.0);
        let count = bytes.len() as f64;
        let mean = values.clone().sum::<f64>() / count;
        let squares: f64 = values.map(|value| (value - mean) * (value - mean)).sum();
        Self { mean, deviation: (squares / (count - 1.0)).sqrt() }
    }
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.0} ({:.0})", self.mean, self.deviation)
    }
}

/// The first flow of a scenario with kernels and in the simulator.
struct Comparison {
    kernel: Summary,
    simulator: Summary,
    on_time: f64,
}

/// All seeds of the kernels run at once: they sleep most of the time.
fn compare(scenario: &Scenario) -> Comparison {
    let measured: Vec<(u64, f64)> = thread::scope(|scope| {
        let runs = (1..=KERNEL_SEEDS).map(|seed| {
            scope.spawn(move || {
                let (bytes, report) = measure(scenario, seed, &[end_nodes(scenario)]);
                (bytes[0], report.lateness.share_within(LATE))
            })
        });
        let runs: Vec<_> = runs.collect();
        runs.into_iter().map(|run| run.join().expect("it runs")).collect()
    });
    let simulated = (1..=SIMULATOR_SEEDS).map(|seed| {
        let result = driftway_sim::run(scenario, seed, None).expect("the run succeeds");
        result.flows[0].delivered_bytes
    });
    Comparison {
        kernel: Summary::new(&measured.iter().map(|(bytes, _)| *bytes).collect::<Vec<_>>()),
        simulator: Summary::new(&simulated.collect::<Vec<_>>()),
        on_time: measured.iter().map(|(_, share)| *share).fold(1.0, f64::min),
    }
}

/// Runs connections between pairs of nodes; returns the bytes that each received.
fn measure(scenario: &Scenario, seed: u64, pairs: &[[NodeId; 2]]) -> (Vec<u64>, EmulationReport) {
    let nodes = pairs.concat();
    let emulation = Emulation::new(scenario, seed, 1500, &nodes).expect("the requirements are met");
    let addresses = emulation.node_addresses();
    let running = emulation.start().expect("it starts");
    let clock = RealClock::start();
    let end = Instant::ZERO + Span::from_secs(SECONDS);
    let bytes = thread::scope(|scope| {
        let transfers: Vec<_> = pairs
            .iter()
            .map(|pair| {
                let (running, to) = (&running, addresses[pair[1].index()]);
                scope.spawn(move || transfer(running, *pair, to, clock, end))
            })
            .collect();
        transfers.into_iter().map(|transfer| transfer.join().expect("it runs")).collect()
    });
    (bytes, running.stop().expect("packets are conserved"))
}

/// Sends from one node to the other until `end`; returns the bytes received.
fn transfer(
    running: &RunningEmulation,
    [from, to]: [NodeId; 2],
    address: Ipv4Addr,
    clock: RealClock,
    end: Instant,
) -> u64 {
    let place = SocketAddr::from((address, PORT));
    let namespace = |node| running.namespace(node).expect("it has a kernel");
    let listener = namespace(to).run(|| TcpListener::bind(place)).expect("its thread runs");
    let listener = listener.expect("the port is free");
    listener.set_nonblocking(true).expect("it is a socket");
    thread::scope(|scope| {
        scope.spawn(|| {
            let connect = || -> std::io::Result<TcpStream> {
                let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
                socket.set_tcp_congestion(b"cubic")?;
                socket.connect_timeout(&place.into(), left(clock, end))?;
                Ok(socket.into())
            };
            // Without a route there is no connection, and no byte arrives.
            let Ok(Ok(mut stream)) = namespace(from).run(connect) else { return };
            while clock.now() < end {
                let wait = left(clock, end);
                if stream.set_write_timeout(Some(wait)).is_err()
                    || stream.write(&[7; 16_384]).is_err()
                {
                    break;
                }
            }
        });
        let (mut bytes, mut stream, mut buffer) = (0, None, [0; 16_384]);
        while clock.now() < end {
            let Some(stream) = &mut stream else {
                match listener.accept() {
                    Ok((accepted, _)) => stream = Some(accepted),
                    Err(_) => thread::sleep(Duration::from_millis(1)),
                }
                continue;
            };
            let wait = stream.set_nonblocking(false);
            let wait = wait.and_then(|()| stream.set_read_timeout(Some(left(clock, end))));
            wait.expect("it is a socket");
            match stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(len) => bytes += len as u64,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => break,
            }
        }
        bytes
    })
}

/// The time left, never zero, which would mean no timeout.
fn left(clock: RealClock, end: Instant) -> Duration {
    Duration::from_nanos(clock.until(end).as_nanos()).max(Duration::from_millis(1))
}

/// Processor time of this process (s).
fn processor_time() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("it is allowed");
    let total = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    total as f64 / 1e6
}

fn kbps(bytes: u64) -> String {
    format!("{:.0}", bytes as f64 * 8.0 / 1000.0 / SECONDS as f64)
}
