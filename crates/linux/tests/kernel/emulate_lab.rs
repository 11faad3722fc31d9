//! The same scenario in the simulator and in the emulation, with driftway's TCP at both ends.

use std::net::SocketAddrV4;
use std::thread;

use driftway_base::{Duration, Instant, Ipv4Addr, NodeId, Seq};
use driftway_linux::{
    ConnectionDriver, EmulationReport, ImpairedTun, Namespace, PathEnd, RealClock,
    RunningEmulation, Tun, enable_realtime_scheduling,
};
use driftway_scenario::Scenario;
use driftway_tcp::{Config, Event, State};

use crate::application::{UNIMPAIRED, endpoint};
use crate::emulate::{emulation, run_until_trusted};
use crate::stream_digest::{StreamDigest, pattern};

tests![
    a_clean_bottleneck_takes_as_long_as_in_the_simulator,
    losses_cost_as_much_as_in_the_simulator
];

/// Networks behind the two ends.
const HERE: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 1, 0, 2), 5000);
const THERE: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 2, 0, 2), 5000);

const BYTES: u64 = 1_000_000;

fn scenario(link: &str) -> Scenario {
    let text = format!(
        "name = \"e\"\nduration = \"60 s\"\n[network]\nkind = \"path\"\nhops = 2\n\
         [network.link]\n{link}\n[[flow]]\nfrom = 0\nto = 2\n\
         application = {{ transfer = \"{BYTES} B\" }}\n\
         tcp = {{ recovery = \"sack\", growth = \"cubic\", mss = \"1460 B\", window = \"250 kB\" }}\n"
    );
    Scenario::parse("e.toml", &text, &[]).unwrap()
}

fn in_the_lab(scenario: &Scenario, seed: u64) -> f64 {
    let result = driftway_sim::run(scenario, seed, None).unwrap();
    result.flows[0].completion_s.unwrap()
}

/// A device into a namespace that forwards its packets.
fn cable(running: &RunningEmulation, end: PathEnd, net: u8) -> ImpairedTun {
    let namespace: &Namespace = running.end(end);
    namespace.set_sysctl("net/ipv4/ip_forward", "1").unwrap();
    let kernel = Ipv4Addr::new(10, net, 0, 1);
    let tun = namespace.run(|| Tun::open(kernel, 24, 1500)).unwrap().unwrap();
    ImpairedTun::new(tun, RealClock::start(), 0, UNIMPAIRED, UNIMPAIRED)
}

fn emulated(scenario: &Scenario, seed: u64) -> (f64, EmulationReport) {
    let running = emulation(scenario, seed).start().unwrap();
    let tcp = scenario.flows[0].tcp.as_ref().unwrap();
    let [near, far] = [0, 2].map(|node| driftway_sim::tcp_config(tcp, NodeId::new(node), seed));
    let (here, there) = (cable(&running, PathEnd::Near, 1), cable(&running, PathEnd::Far, 2));
    let receiver = thread::spawn(move || receive(there, &far));
    send(here, &near);
    let (ended, received) = receiver.join().unwrap();
    received.assert_complete(BYTES);
    let report = running.stop().unwrap();
    (ended.as_secs_f64(), report)
}

/// Sends everything, and continues until it is acknowledged.
fn send(cable: ImpairedTun, config: &Config) {
    let (local, remote) = (endpoint(HERE), endpoint(THERE));
    let mut driver =
        ConnectionDriver::connect(cable, config, local, remote, Seq(1), BYTES as usize);
    let mut bytes = vec![0; BYTES as usize];
    pattern(1, 0, &mut bytes);
    assert_eq!(driver.write(&bytes), BYTES as usize);
    turn_until(&mut driver, |driver| driver.connection().acknowledged_bytes() == BYTES);
    driver.close();
    turn_until(&mut driver, |driver| {
        !matches!(driver.connection().state(), State::Established | State::FinWait1)
    });
}

/// Receives everything; returns the duration from now on, which is also the sender's start.
fn receive(cable: ImpairedTun, config: &Config) -> (Duration, StreamDigest) {
    let clock = RealClock::start();
    let mut driver = ConnectionDriver::listen(cable, config, endpoint(THERE), Seq(1), 1000);
    let (mut received, mut buffer) = (StreamDigest::default(), vec![0; 65_536]);
    let (mut ended, mut over) = (None, false);
    turn_until(&mut driver, |driver| {
        loop {
            let len = driver.read(&mut buffer).unwrap();
            received.update(1, &buffer[..len]);
            if len == 0 {
                break;
            }
        }
        if received.bytes() == BYTES {
            ended.get_or_insert_with(|| clock.now());
        }
        while let Some(event) = driver.poll_event() {
            if event == Event::PeerClosed {
                driver.close();
                over = true;
            }
        }
        over && ended.is_some()
    });
    (ended.unwrap().since(Instant::ZERO), received)
}

/// Runs the driver until the application, which is called after each packet, is done.
fn turn_until(
    driver: &mut ConnectionDriver,
    mut application: impl FnMut(&mut ConnectionDriver) -> bool,
) {
    // Lateness of the hosts is not under test. Without real-time scheduling they may still be on
    // time.
    enable_realtime_scheduling();
    let end = driver.device().now() + Duration::from_secs(60);
    let mut done = application(driver);
    while !done {
        let now = driver.device().now();
        assert!(now < end, "{:?}", driver.connection().stats());
        let look = |driver: &mut ConnectionDriver| {
            done |= application(driver);
            Ok(())
        };
        driver.step_with(now + Duration::from_millis(20), look).unwrap();
    }
}

/// Asserts that the durations agree to a tenth. Other work on this machine delays the ends, which
/// no report shows; a difference of the path itself appears each time.
fn agrees(lab: f64, bench: impl Fn() -> f64) {
    let mut seen = Vec::new();
    for _ in 0..4 {
        let bench = bench();
        if (bench / lab - 1.0).abs() < 0.1 {
            return;
        }
        seen.push(bench);
    }
    panic!("simulator {lab} s, bench {seen:?} s");
}

fn a_clean_bottleneck_takes_as_long_as_in_the_simulator() {
    let scenario = scenario("rate = \"5 Mbit/s\"\ndelay = \"40 ms\"\nqueue = { packets = 60 }");
    agrees(in_the_lab(&scenario, 1), || run_until_trusted(|| emulated(&scenario, 1)));
}

fn losses_cost_as_much_as_in_the_simulator() {
    let scenario = scenario(
        "rate = \"10 Mbit/s\"\ndelay = \"40 ms\"\nqueue = { packets = 60 }\n\
         packet_error_rate = 0.005",
    );
    // Frame n on each link has the same outcome in both, so that the sums are close.
    let lab = (1..=3).map(|seed| in_the_lab(&scenario, seed)).sum();
    agrees(lab, || (1..=3).map(|seed| run_until_trusted(|| emulated(&scenario, seed))).sum());
}
