//! Cuts longer than the kernel's own limits.

use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::thread;

use driftway_base::{Duration, Instant};
use driftway_linux::{PathEnd, ShimSettings};
use socket2::{Domain, SockRef, Socket, Type};

use crate::shim_daemon::{cut, marking, millis, secs};
use crate::shimmed::{RunningPath, RunningShim};

tests![a_connection_ends_at_the_kernels_limit];

/// TCP_USER_TIMEOUT of one connection.
const USER_TIMEOUT: Duration = Duration::from_secs(2);

fn connect(path: &RunningPath, port: u16, timeout: Option<Duration>) -> [TcpStream; 2] {
    let to = SocketAddrV4::new(path.addresses[1], port);
    let listener = path.running.end(PathEnd::Far).run(|| TcpListener::bind(to));
    let listener = listener.unwrap().unwrap();
    let socket = || Socket::new(Domain::IPV4, Type::STREAM, None);
    let socket = path.near().run(socket).unwrap().unwrap();
    socket.set_tcp_congestion(b"cubic").unwrap();
    let timeout = timeout.map(|span| std::time::Duration::from_nanos(span.as_nanos()));
    SockRef::from(&socket).set_tcp_user_timeout(timeout).unwrap();
    socket.connect(&SocketAddr::V4(to).into()).unwrap();
    [socket.into(), listener.accept().unwrap().0]
}

/// Time from the cut, at 1 s, to the error, and its kind.
fn patience(path: &RunningPath, mut stream: TcpStream) -> (Duration, ErrorKind) {
    // Acknowledged data before the cut make other losses unlikely.
    path.sleep_until(millis(100));
    loop {
        if let Err(error) = stream.write_all(&[7; 1000]) {
            return (path.clock.now().since(Instant::ZERO + secs(1)), error.kind());
        }
        thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// Time until the kernel gives up, without and with a limit of the application. The shim, if there
/// is one, removes the flow after `forget_after`, or finds the path again first.
fn patiences(forget_after: Option<Duration>) -> [Duration; 2] {
    // No ICMP errors: they would change the kernel's error.
    let silent = cut("1 s", "9 s") + "signal = \"none\"\n";
    let path = RunningPath::start(&marking("", &silent), 11, true);
    // About 15 times the initial RTO instead of about 924 s.
    path.near().set_sysctl("net/ipv4/tcp_retries2", "3").unwrap();
    let shim = forget_after.map(|forget_after| {
        let mut settings = ShimSettings::default();
        settings.config.suspect_after = Some(1);
        settings.config.forget_after = forget_after;
        RunningShim::start(path.near(), &settings)
    });
    let [patient, far] = connect(&path, 7000, None);
    let [hasty, other_far] = connect(&path, 7001, Some(USER_TIMEOUT));
    let took = thread::scope(|scope| {
        let runs = [patient, hasty].map(|stream| scope.spawn(|| patience(&path, stream)));
        runs.map(|run| {
            let (took, error) = run.join().unwrap();
            assert_eq!(error, ErrorKind::TimedOut, "after {took:?}");
            took
        })
    });
    if let Some(shim) = shim {
        // The kernel reports it to no process, but resets a segment that solicits an
        // acknowledgment.
        let stood = shim.snapshot();
        assert!(stood.flows.iter().all(|flow| flow.aid_state == "suspecting"), "{stood:?}");
        assert_eq!(stood.counts.flows, 2, "{stood:?}");
        path.sleep_until(secs(11));
        let stood = shim.stop();
        assert_eq!((stood.flows.len(), stood.memory.0), (0, 0), "{stood:?}");
        // The peer's answer after the cut also ends the flow.
        let given_up = if forget_after < Some(secs(9)) { 2 } else { 0 };
        assert!(stood.counts.given_up <= given_up, "{stood:?}");
        assert_eq!(stood.counts.tracking_lost, 0, "{stood:?}");
    }
    drop((far, other_far));
    path.running.stop().unwrap();
    took
}

fn a_connection_ends_at_the_kernels_limit() {
    let arms = [None, Some(secs(6)), Some(secs(300))];
    let arms = arms.map(|arm| thread::spawn(move || patiences(arm)));
    for took in arms.map(|arm| arm.join().unwrap()) {
        let [patient, hasty] = took;
        assert!(patient >= secs(1) && patient <= secs(10), "{took:?}");
        assert!(hasty >= USER_TIMEOUT && hasty <= USER_TIMEOUT.times(2), "{took:?}");
    }
}
