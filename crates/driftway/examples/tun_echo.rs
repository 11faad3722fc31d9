//! A TCP echo server over a TUN device: driftway's TCP answers the kernel's. As root, on Linux.
//!
//! The device is in a network namespace of its own, where the kernel is 10.9.0.1 and driftway 10.9.0.2. A
//! client with an ordinary socket connects from there, sends a greeting, and gets it back.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::process::ExitCode;

use driftway::base::Seq;
use driftway::linux::{
    ConnectionDriver, ImpairedTun, Impairment, Namespace, RealClock, Tun, check_requirements,
};
use driftway::tcp::State;
use driftway::{Config, Duration, Endpoint, Ipv4Addr};

const KERNEL: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
const ECHO: Endpoint = Endpoint::new(Ipv4Addr::new(10, 9, 0, 2), 7);
const GREETING: &[u8] = b"hello across the TUN device";

/// The client, with a socket of the kernel.
fn client() -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect((std::net::Ipv4Addr::new(10, 9, 0, 2), ECHO.port))?;
    stream.write_all(GREETING)?;
    stream.shutdown(std::net::Shutdown::Write)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(answer)
}

/// The server: echoes until the client has closed, then closes.
fn serve(mut driver: ConnectionDriver) -> io::Result<()> {
    let mut bytes = [0; 1024];
    while driver.connection().state() != State::Closed {
        let soon = driver.device().now() + Duration::from_millis(100);
        driver.step(soon)?;
        let read = driver.read(&mut bytes)?;
        let mut rest = &bytes[..read];
        while !rest.is_empty() {
            let written = driver.write(rest);
            rest = &rest[written..];
            let now = driver.device().now();
            driver.step(now)?;
        }
        if driver.connection().state() == State::CloseWait {
            driver.close();
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    if let Err(missing) = check_requirements() {
        println!("skipped: {missing}");
        return ExitCode::SUCCESS;
    }
    match echo() {
        Ok(answer) if answer == GREETING => {
            println!("the kernel got back: {}", String::from_utf8_lossy(&answer));
            ExitCode::SUCCESS
        }
        Ok(answer) => {
            eprintln!("the kernel got back {answer:?}");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn echo() -> io::Result<Vec<u8>> {
    let namespace = Namespace::new()?;
    let tun = namespace.run(|| Tun::open(KERNEL, 24, 1500))??;
    let perfect = Impairment::default();
    let cable = ImpairedTun::new(tun, RealClock::start(), 1, perfect, perfect);
    let server = ConnectionDriver::listen(cable, &Config::default(), ECHO, Seq(1), 65_536);
    std::thread::scope(|scope| {
        let serving = scope.spawn(move || serve(server));
        let answer = namespace.run(client)?;
        serving.join().map_err(|_| io::Error::other("the server panicked"))??;
        answer
    })
}
