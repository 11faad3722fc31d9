//! Programs for both ends of a path: this test itself, under other arguments. Nothing has to be
//! installed.

use std::env;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;
use std::time::Duration;

const PORT: u16 = 8000;
/// What a server says.
pub const PAGE: &str = "a page that has come over the path\n";

/// A command line for `role`: `serve`, or `fetch`, which prints the page.
pub fn line(role: &str) -> String {
    format!("{} program-{role}", env::current_exe().unwrap().display())
}

/// Was this process started as a program?
pub fn is_meant() -> bool {
    env::args().nth(1).is_some_and(|role| role.starts_with("program-"))
}

/// Does what it was started for.
pub fn run() -> ExitCode {
    let address = |name| env::var(name).expect("the emulation says where one is");
    match env::args().nth(1).as_deref() {
        Some("program-serve") => {
            let listener = TcpListener::bind((address("DRIFTWAY_LOCAL"), PORT)).unwrap();
            for stream in listener.incoming() {
                // Who is gone gets no page.
                let _ = stream.unwrap().write_all(PAGE.as_bytes());
            }
        }
        Some("program-fetch") => {
            let mut stream = TcpStream::connect((address("DRIFTWAY_REMOTE"), PORT)).unwrap();
            let mut page = String::new();
            stream.read_to_string(&mut page).unwrap();
            print!("{page}");
        }
        // A syllable each 5 ms, to whoever is there.
        Some("program-talk") => {
            let socket = std::net::UdpSocket::bind((address("DRIFTWAY_LOCAL"), PORT)).unwrap();
            for _ in 0..100 {
                socket.send_to(b"la", (address("DRIFTWAY_REMOTE"), PORT)).unwrap();
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        other => panic!("no such program: {other:?}"),
    }
    ExitCode::SUCCESS
}
