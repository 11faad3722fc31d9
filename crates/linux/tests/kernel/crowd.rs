//! A host with many idle connections over one interface, and a ping-pong over another.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use driftway_base::Duration;
use driftway_linux::{Namespace, RealClock};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::wired::{self, MAIN, NextHop};

const PORT: u16 = 7000;
const CROWD: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 3, 0, 1), Ipv4Addr::new(10, 3, 0, 2)];
const PARTNER: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 4, 0, 1), Ipv4Addr::new(10, 4, 0, 2)];
/// A network to which no connection goes, and the one address to which most go.
pub const UNRELATED: (Ipv4Addr, u8) = (Ipv4Addr::new(203, 0, 113, 0), 24);
pub const OWN: (Ipv4Addr, u8) = (CROWD[1], 32);
/// Files that the largest number of connections needs: both ends are in this process.
const FILES: u64 = 50_000;
/// Time after which no connection passes by the shim.
const YOUNG: std::time::Duration = std::time::Duration::from_millis(1100);
/// Interval of changes: twenty a second.
const CHANGE_INTERVAL: std::time::Duration = std::time::Duration::from_millis(50);

pub struct Crowd {
    pub host: Namespace,
    peers: Namespace,
    partner: Namespace,
}

impl Crowd {
    pub fn new() -> io::Result<Self> {
        let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
        let wanted = most.max(FILES);
        setrlimit(Resource::RLIMIT_NOFILE, wanted, wanted)
            .or_else(|_| setrlimit(Resource::RLIMIT_NOFILE, most, most))?;
        let [host, peers, partner] = [Namespace::new()?, Namespace::new()?, Namespace::new()?];
        wired::cable([(&host, "crowd", CROWD[0]), (&peers, "host", CROWD[1])])?;
        wired::cable([(&host, "partner", PARTNER[0]), (&partner, "host", PARTNER[1])])?;
        Ok(Self { host, peers, partner })
    }

    /// Opens connections, which are idle after a byte each, sent when none is young any more, so that
    /// a shim carries them: as many as this process may have files for.
    pub fn connect(&self, count: usize) -> Vec<[TcpStream; 2]> {
        let (files, _) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        let count = count.min(files.saturating_sub(1000) as usize / 2);
        let to = SocketAddrV4::new(CROWD[1], PORT);
        let listener = self.peers.run(|| TcpListener::bind(to)).unwrap().unwrap();
        let open = || {
            let pair = |_| [TcpStream::connect(to).unwrap(), listener.accept().unwrap().0];
            (0..count).map(pair).collect()
        };
        let mut connections: Vec<[TcpStream; 2]> = self.host.run(open).unwrap();
        thread::sleep(YOUNG);
        for [near, far] in &mut connections {
            near.write_all(&[0]).unwrap();
            far.read_exact(&mut [0]).unwrap();
        }
        connections
    }

    /// Plugs the cable of the connections in or out.
    pub fn plug(&self, plugged: bool) {
        self.peers.run(|| wired::plug("host", plugged)).unwrap().unwrap();
    }

    /// Changes a route to a network twenty times a second, or switches the crowd's interface off and
    /// on every half second, until it is stopped.
    pub fn change_until(&self, what: Change, stop: &AtomicBool) {
        let mut is_there = false;
        while !stop.load(Ordering::Relaxed) {
            is_there = !is_there;
            match what {
                Change::Nothing => thread::sleep(CHANGE_INTERVAL),
                Change::Route(network) => {
                    let change = || {
                        if is_there {
                            wired::route(MAIN, Some(network), NextHop::Via(CROWD[1]), None)
                        } else {
                            wired::unroute(network)
                        }
                    };
                    self.host.run(change).unwrap().unwrap();
                    thread::sleep(CHANGE_INTERVAL);
                }
                Change::Link => {
                    self.plug(!is_there);
                    thread::sleep(CHANGE_INTERVAL * 10);
                }
            }
        }
        if is_there {
            match what {
                Change::Nothing => {}
                Change::Route(network) => {
                    self.host.run(|| wired::unroute(network)).unwrap().unwrap();
                }
                Change::Link => self.plug(true),
            }
        }
    }

    /// Round-trip times of one byte over the other interface for this time, in ascending order.
    pub fn ping_pong(&self, lasts: Duration) -> Vec<Duration> {
        let to = SocketAddrV4::new(PARTNER[1], PORT);
        let listener = self.partner.run(|| TcpListener::bind(to)).unwrap().unwrap();
        let mut near = self.host.run(|| TcpStream::connect(to)).unwrap().unwrap();
        let (mut far, _) = listener.accept().unwrap();
        for stream in [&near, &far] {
            stream.set_nodelay(true).unwrap();
        }
        let echo = thread::spawn(move || {
            let mut byte = [0];
            while far.read(&mut byte).unwrap() > 0 {
                far.write_all(&byte).unwrap();
            }
        });
        let clock = RealClock::start();
        let start = clock.now();
        let mut times = Vec::new();
        while clock.now().since(start) < lasts {
            let sent = clock.now();
            near.write_all(&[1]).unwrap();
            near.read_exact(&mut [0]).unwrap();
            times.push(clock.now().since(sent));
            thread::sleep(std::time::Duration::from_micros(500));
        }
        drop(near);
        echo.join().unwrap();
        times.sort_unstable();
        times
    }

    /// The same while something changes.
    pub fn ping_pong_during(&self, what: Change, lasts: Duration) -> Vec<Duration> {
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| self.change_until(what, &stop));
            let times = self.ping_pong(lasts);
            stop.store(true, Ordering::Relaxed);
            times
        })
    }
}

/// The kind of change.
#[derive(Clone, Copy, Debug)]
pub enum Change {
    #[allow(dead_code, reason = "the bench compares with it")]
    Nothing,
    Route((Ipv4Addr, u8)),
    #[allow(dead_code, reason = "the bench compares with it")]
    Link,
}

#[allow(dead_code, reason = "used by the bench only")]
/// The value below which 99 of 100 are.
pub fn percentile_99(sorted: &[Duration]) -> Duration {
    sorted[(sorted.len() * 99 / 100).min(sorted.len() - 1)]
}

/// Runs something while so many threads keep the processors busy.
pub fn under_load<T>(threads: usize, work: impl FnOnce() -> T) -> T {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let done = work();
        stop.store(true, Ordering::Relaxed);
        done
    })
}
