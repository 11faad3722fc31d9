//! Programs for both ends of a path: the test executable itself with other arguments, so that nothing
//! has to be installed.

use std::env;
use std::fs::Permissions;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Output};
use std::time::Duration;

use assert_cmd::cargo::cargo_bin;
use driftway_linux::RealClock;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

const PORT: u16 = 8000;
/// Content that the server sends.
pub const PAGE: &str = "a page that has come over the path\n";

/// Command line for a role: `serve`, or `fetch`, which prints the page.
pub fn command_line(role: &str) -> String {
    format!("{} program-{role}", env::current_exe().unwrap().display())
}

/// A copy of the command that every user may run, and its directory, which is removed with the value.
pub fn copy_for_all() -> (TempDir, PathBuf) {
    // Another user may not read this user's directories.
    let open_to_all = Permissions::from_mode(0o755);
    let place = tempfile::Builder::new().permissions(open_to_all).tempdir().unwrap();
    let program = place.path().join("driftway");
    std::fs::copy(cargo_bin("driftway"), &program).unwrap();
    (place, program)
}

fn argument(n: usize) -> String {
    env::args().nth(n).expect("an argument")
}

/// The test executable as a program, with its arguments, as another user.
pub fn as_user(user: u32, arguments: &[&str]) -> Command {
    // The other user may not read the executable's directory.
    let mut command = Command::new("/proc/self/exe");
    command.uid(user).gid(user).arg(format!("program-{}", arguments[0])).args(&arguments[1..]);
    command
}

/// Runs such a program to its end.
pub fn run_as(user: u32, arguments: &[&str]) -> Output {
    as_user(user, arguments).output().unwrap()
}

/// Returns true if this process was started in the role of a program.
pub fn is_program_role() -> bool {
    env::args().nth(1).is_some_and(|role| role.starts_with("program-"))
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|n| (n % 251) as u8).collect()
}

/// Runs the role of this process.
pub fn run_role() -> ExitCode {
    let address = |name| env::var(name).expect("the emulation sets the addresses");
    match env::args().nth(1).as_deref() {
        Some("program-serve") => {
            let listener = TcpListener::bind((address("DRIFTWAY_LOCAL"), PORT)).unwrap();
            for stream in listener.incoming() {
                // The client may have disconnected.
                let _ = stream.unwrap().write_all(PAGE.as_bytes());
            }
        }
        // Reads what one client sends, to the end.
        Some("program-sink") => {
            let listener = TcpListener::bind((address("DRIFTWAY_LOCAL"), PORT)).unwrap();
            let (mut stream, _) = listener.accept().unwrap();
            std::io::copy(&mut stream, &mut std::io::sink()).unwrap();
            drop(stream);
            // Until the emulation ends.
            std::thread::sleep(Duration::from_secs(600));
        }
        // Sends as many bytes as its argument says, and waits until the peer has them all.
        Some("program-send") => {
            let mut stream = TcpStream::connect((address("DRIFTWAY_REMOTE"), PORT)).unwrap();
            stream.write_all(&vec![7; argument(2).parse().unwrap()]).unwrap();
            stream.shutdown(std::net::Shutdown::Write).unwrap();
            stream.read_to_end(&mut Vec::new()).unwrap();
        }
        Some("program-fetch") => {
            let mut stream = TcpStream::connect((address("DRIFTWAY_REMOTE"), PORT)).unwrap();
            let mut page = String::new();
            stream.read_to_string(&mut page).unwrap();
            print!("{page}");
        }
        // Sends a pattern of as many bytes as its argument says.
        Some("program-pattern") => {
            let mut stream = TcpStream::connect((address("DRIFTWAY_REMOTE"), PORT)).unwrap();
            stream.write_all(&pattern(argument(2).parse().unwrap())).unwrap();
            stream.shutdown(std::net::Shutdown::Write).unwrap();
            stream.read_to_end(&mut Vec::new()).unwrap();
        }
        // Prints the number of bytes of that pattern that one client has sent.
        Some("program-verify") => {
            let listener = TcpListener::bind((address("DRIFTWAY_LOCAL"), PORT)).unwrap();
            let (mut stream, _) = listener.accept().unwrap();
            let mut received = Vec::new();
            stream.read_to_end(&mut received).unwrap();
            assert!(received == pattern(received.len()), "other bytes");
            println!("{} bytes", received.len());
        }
        // A datagram every 5 ms, whether or not there is a receiver.
        Some("program-talk") => {
            let socket = std::net::UdpSocket::bind((address("DRIFTWAY_LOCAL"), PORT)).unwrap();
            for _ in 0..100 {
                socket.send_to(b"la", (address("DRIFTWAY_REMOTE"), PORT)).unwrap();
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        // Datagrams of 1500 bytes with headers, more than the path carries, for as many seconds as its argument says.
        Some("program-flood") => {
            let socket = std::net::UdpSocket::bind((address("DRIFTWAY_LOCAL"), PORT)).unwrap();
            let (clock, seconds) = (RealClock::start(), argument(2).parse::<f64>().unwrap());
            while clock.now().as_secs_f64() < seconds {
                // A full queue refuses it.
                let _ = socket.send_to(&[7; 1472], (address("DRIFTWAY_REMOTE"), PORT));
                std::thread::sleep(Duration::from_micros(50));
            }
        }
        // One datagram to the first node, or from that to the second.
        Some("program-hello") => {
            let socket = std::net::UdpSocket::bind((address("DRIFTWAY_LOCAL"), 0)).unwrap();
            let is_first = address("DRIFTWAY_NODE") == "0";
            let other = if is_first { "DRIFTWAY_ADDRESS_1" } else { "DRIFTWAY_ADDRESS_0" };
            let to = env::var("DRIFTWAY_TO");
            let to = to.unwrap_or_else(|_| format!("{}:{PORT}", address(other)));
            socket.send_to(b"hello", to).unwrap();
            std::thread::sleep(Duration::from_millis(500));
        }
        Some("program-signal") => {
            let process = Pid::from_raw(argument(2).parse().unwrap());
            println!("{:?}", kill(process, Signal::SIGSTOP).unwrap_err());
        }
        // Requests the status as an ordinary user.
        Some("program-ask") => {
            let mut stream = UnixStream::connect(argument(2)).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            stream.write_all(b"GET /status HTTP/1.0\r\n\r\n").unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            print!("{answer}");
        }
        // 150 clients with requests that never end, reconnecting until the process is killed.
        Some("program-beset") => {
            let connect = |_| {
                let mut stream = UnixStream::connect(argument(2)).ok()?;
                stream.write_all(b"GET").ok()?;
                Some(stream)
            };
            let mut streams: Vec<_> = (0..150).map(connect).collect();
            print!(".");
            std::io::stdout().flush().unwrap();
            loop {
                std::thread::sleep(Duration::from_millis(100));
                for stream in &mut streams {
                    let goes_on = stream.as_mut().is_some_and(|s| s.write_all(b" ").is_ok());
                    if !goes_on {
                        *stream = connect(0);
                    }
                }
            }
        }
        other => panic!("no such program: {other:?}"),
    }
    ExitCode::SUCCESS
}
