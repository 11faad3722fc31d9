//! Readiness of a program: until then the command does not start.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::process::Child;

use driftway_base::{Duration, Instant, NodeId};
use driftway_linux::{Namespace, RunningEmulation};

use super::programs::{Place, Program};
use crate::args::Readiness;
use crate::failure::{Failure, failed};

/// Time after which a program counts as ready for which no readiness is given.
const PATIENCE: Duration = Duration::from_secs(1);
/// Time for a given readiness.
const DEADLINE: Duration = Duration::from_secs(30);
/// Time between two attempts of a line.
const LINE_INTERVAL: Duration = Duration::from_millis(100);
/// Tables of sockets, with the state of those that can be reached (proc(5)): listening, or bound.
const TABLES: [(&str, &str); 4] = [("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")];

/// A program that is not yet known to be ready.
pub struct ReadyCheck {
    readiness: Option<Readiness>,
    sockets: SocketTables,
    attempt: Option<Child>,
    next_attempt: Instant,
    is_ready: bool,
}

impl ReadyCheck {
    /// Creates the check of a program in a namespace.
    pub fn new(readiness: Option<Readiness>, namespace: &Namespace) -> io::Result<Self> {
        let sockets = SocketTables::open(namespace)?;
        let next_attempt = Instant::ZERO;
        Ok(Self { readiness, sockets, attempt: None, next_attempt, is_ready: false })
    }

    /// Returns whether the program, which was started at this time and has not exited, is ready.
    /// Without a given readiness it is when it has a socket that others can reach, or its node has
    /// sent a packet, or a second has passed.
    ///
    /// # Errors
    /// It is not ready in time.
    pub fn check(
        &mut self,
        running: &RunningEmulation,
        place: &Place<'_>,
        started: Instant,
    ) -> Result<bool, Failure> {
        let now = running.now();
        if self.is_ready {
            return Ok(true);
        }
        let cannot = |error| failed("inspect a node", &error);
        self.is_ready = match &self.readiness {
            None => {
                running.has_sent(place.node)
                    || now.since(started) >= PATIENCE
                    || self.sockets.any(|_| true).map_err(cannot)?
            }
            Some(Readiness::Port(port)) => {
                let port = *port;
                self.sockets.any(|bound| bound == port).map_err(cannot)?
            }
            Some(Readiness::Line(_)) => self.try_line(running, place).map_err(cannot)?,
        };
        if !self.is_ready && now.since(started) >= DEADLINE {
            return Err(Failure::Failed(self.overdue(place.node)));
        }
        Ok(self.is_ready)
    }

    /// Runs the line again and again; returns whether it has succeeded.
    fn try_line(&mut self, running: &RunningEmulation, place: &Place<'_>) -> io::Result<bool> {
        let now = running.now();
        if let Some(attempt) = &mut self.attempt {
            let Some(status) = attempt.try_wait()? else { return Ok(false) };
            self.attempt = None;
            self.next_attempt = now + LINE_INTERVAL;
            return Ok(status.success());
        }
        if let (Some(Readiness::Line(line)), Some(namespace)) =
            (&self.readiness, running.namespace(place.node))
            && now >= self.next_attempt
        {
            self.attempt = Some(Program::background(line, place).start(namespace)?);
        }
        Ok(false)
    }

    fn overdue(&self, node: NodeId) -> String {
        let what = match &self.readiness {
            Some(Readiness::Port(port)) => format!("--ready {port}: no socket has this port"),
            Some(Readiness::Line(line)) => {
                format!("--ready '{}': it has not succeeded", line.to_string_lossy())
            }
            None => "a program is not ready".to_owned(),
        };
        format!(
            "{what} at node {node} {} s after the start of the program",
            DEADLINE.as_nanos() / 1_000_000_000
        )
    }
}

impl Drop for ReadyCheck {
    fn drop(&mut self) {
        if let Some(attempt) = &mut self.attempt {
            // Killing an exited process fails, and is not needed.
            let _ = attempt.kill();
            let _ = attempt.wait();
        }
    }
}

/// The sockets of a namespace, opened once.
struct SocketTables(Vec<(File, &'static str)>);

impl SocketTables {
    fn open(namespace: &Namespace) -> io::Result<Self> {
        let open = |(table, state)| match File::open(format!("/proc/thread-self/net/{table}")) {
            Ok(file) => Some(Ok((file, state))),
            // A kernel without IPv6 lacks its tables.
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => Some(Err(error)),
        };
        let tables = || TABLES.into_iter().filter_map(open).collect::<io::Result<_>>();
        Ok(Self(namespace.run(tables)??))
    }

    /// Returns whether a socket that others can reach has a port of this kind.
    fn any(&mut self, is_wanted: impl Fn(u16) -> bool) -> io::Result<bool> {
        let mut text = String::new();
        for (file, state) in &mut self.0 {
            text.clear();
            file.rewind()?;
            file.read_to_string(&mut text)?;
            if ports(&text, state).any(&is_wanted) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The local ports of the sockets in this state.
fn ports<'a>(table: &'a str, state: &'a str) -> impl Iterator<Item = u16> + 'a {
    table.lines().skip(1).filter_map(move |line| {
        // proc(5): sl, local address, remote address, state.
        let mut columns = line.split_whitespace();
        let (_, local) = columns.nth(1)?.rsplit_once(':')?;
        (columns.nth(1)? == state).then(|| u16::from_str_radix(local, 16).ok())?
    })
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn ports_are_those_of_sockets_in_the_state() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue\n\
                     0: 0100007F:1F90 00000000:0000 0A 00000000:00000000\n\
                     1: 0100000A:0016 0200000A:9C40 01 00000000:00000000\n\
                     2: garbage\n";
        assert_eq!(ports(table, "0A").collect::<Vec<_>>(), [8080]);
        assert_eq!(ports(table, "01").collect::<Vec<_>>(), [22]);
    }
}
