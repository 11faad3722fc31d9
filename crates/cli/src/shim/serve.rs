//! The local socket of a shim at work: its document and its metrics, over HTTP, for whoever asks.
//!
//! One thread serves all at the same time, and none of them for longer than a second. Nobody has more
//! than a few connections at once, so that who is slow, or many, is in nobody's way.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::thread;
use std::time::Duration as Patience;

use driftway_base::{Duration, Instant};
use driftway_host::{RealClock, StatusHandle};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use tracing::debug;

use super::document::Document;

/// How long the whole of an exchange may take.
const DEADLINE: Duration = Duration::from_secs(1);
/// How long a client waits for each of its steps.
const CLIENT_TIMEOUT: Patience = Patience::from_secs(5);
/// Connections of one user, and of all of them but root.
const MAX_PER_USER: usize = 8;
const MAX_CLIENTS: usize = 64;
/// The shim is asked no more often than that: who waits meanwhile gets the next answer.
const MIN_QUERY_INTERVAL: Duration = Duration::from_millis(50);
/// After an error that has to do with none of the clients, as a lack of file descriptors.
const ERROR_PAUSE: Patience = Patience::from_millis(100);
/// A request is a line and few headers (bytes).
const MAX_REQUEST_BYTES: usize = 4096;
const HEADER_END: &[u8] = b"\r\n\r\n";

/// Somebody who asks.
struct Client {
    stream: UnixStream,
    user: u32,
    deadline: Instant,
    request: Vec<u8>,
    /// As far as it is known, and how much of it has been sent.
    answer: Option<(Vec<u8>, usize)>,
}

/// Answers as long as the shim is at work.
pub fn serve(listener: &UnixListener, asker: &StatusHandle) {
    let clock = RealClock::start();
    let mut clients: Vec<Client> = Vec::new();
    let mut next_question = clock.now();
    loop {
        if let Err(error) = wait(listener, &clients, &clock, next_question) {
            debug!(%error, "waiting for questions");
            thread::sleep(ERROR_PAUSE);
        }
        accept(listener, &mut clients, clock.now());
        for client in &mut clients {
            client.read();
        }
        if clock.now() >= next_question && clients.iter().any(Client::awaits_response) {
            next_question = clock.now() + MIN_QUERY_INTERVAL;
            let document = asker.snapshot().map(Document::from);
            for client in clients.iter_mut().filter(|client| client.awaits_response()) {
                client.answer = Some((answer(&client.request, document.as_ref()), 0));
            }
        }
        let now = clock.now();
        clients.retain_mut(|client| now < client.deadline && client.write());
    }
}

/// Waits until there is something to do for somebody.
fn wait(
    listener: &UnixListener,
    clients: &[Client],
    clock: &RealClock,
    next_question: Instant,
) -> io::Result<()> {
    let mut watched = vec![PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
    watched.extend(clients.iter().map(|client| {
        let wants = match client.answer {
            Some(_) => PollFlags::POLLOUT,
            None if client.awaits_response() => PollFlags::empty(),
            None => PollFlags::POLLIN,
        };
        PollFd::new(client.stream.as_fd(), wants)
    }));
    let waiting = clients.iter().any(Client::awaits_response).then_some(next_question);
    let next = clients.iter().map(|client| client.deadline).chain(waiting).min();
    let timeout = next.map_or(PollTimeout::NONE, |next| {
        // The millisecond that is cut off would be waited for by turning round and round.
        let left = clock.until(next).as_nanos() / 1_000_000 + 1;
        u16::try_from(left).map_or(PollTimeout::MAX, PollTimeout::from)
    });
    match poll(&mut watched, timeout) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Takes whoever is there, as long as there is room for them.
fn accept(listener: &UnixListener, clients: &mut Vec<Client>, now: Instant) {
    // Who connects all the time must not keep us from those who have.
    for _ in 0..MAX_CLIENTS {
        let mut stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            Err(error) => {
                debug!(%error, "a client was not taken");
                thread::sleep(ERROR_PAUSE);
                return;
            }
        };
        let peer = getsockopt(&stream, PeerCredentials).map(|peer| peer.uid());
        let (Ok(user), Ok(())) = (peer, stream.set_nonblocking(true)) else { continue };
        let of_one = clients.iter().filter(|client| client.user == user).count();
        let others = clients.iter().filter(|client| client.user != 0).count();
        if of_one >= MAX_PER_USER || (user != 0 && others >= MAX_CLIENTS) {
            // What does not fit into the new socket's buffer at once is lost.
            let busy = "too many questions at once\n";
            let _ = stream.write(&response("503 Service Unavailable", "text/plain", busy));
            continue;
        }
        let (deadline, request) = (now + DEADLINE, Vec::new());
        clients.push(Client { stream, user, deadline, request, answer: None });
    }
}

impl Client {
    /// Is its request there, and no answer yet?
    fn awaits_response(&self) -> bool {
        self.answer.is_none()
            && self.request.windows(HEADER_END.len()).any(|window| window == HEADER_END)
    }

    /// Takes what it has sent. Who goes away, or says too much, is done with.
    fn read(&mut self) {
        let mut buffer = [0; 512];
        while self.answer.is_none() && !self.awaits_response() {
            match self.stream.read(&mut buffer) {
                Ok(len) if len > 0 && self.request.len() <= MAX_REQUEST_BYTES => {
                    self.request.extend_from_slice(&buffer[..len]);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Ok(_) | Err(_) => self.answer = Some((Vec::new(), 0)),
            }
        }
    }

    /// Sends as much as it takes; is there more to do for it?
    fn write(&mut self) -> bool {
        let Some((answer, sent)) = &mut self.answer else { return true };
        while *sent < answer.len() {
            match self.stream.write(&answer[*sent..]) {
                Ok(len) if len > 0 => *sent += len,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                Ok(_) | Err(_) => return false,
            }
        }
        false
    }
}

fn answer(request: &[u8], document: Option<&Document>) -> Vec<u8> {
    let request = String::from_utf8_lossy(request);
    let Some(document) = document else {
        return response("503 Service Unavailable", "text/plain", "it does not answer\n");
    };
    match request.split(' ').nth(1).unwrap_or_default() {
        "/status" => response("200 OK", "application/json", &document.json()),
        "/metrics" => response("200 OK", "text/plain; version=0.0.4", &document.metrics()),
        _ => response("404 Not Found", "text/plain", "there is /status and /metrics\n"),
    }
}

fn response(status: &str, kind: &str, body: &str) -> Vec<u8> {
    let len = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len}\r\n\
         Connection: close\r\n\r\n"
    );
    (head + body).into_bytes()
}

/// Asks the shim that listens there for its document.
///
/// # Errors
/// `NotFound`, `ConnectionRefused`: there is none.
pub fn fetch(path: &Path) -> io::Result<Document> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(CLIENT_TIMEOUT))?;
    stream.write_all(b"GET /status HTTP/1.0\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let end = answer.windows(HEADER_END.len()).position(|window| window == HEADER_END);
    let (head, body) = answer.split_at(end.map_or(answer.len(), |end| end + HEADER_END.len()));
    if !head.starts_with(b"HTTP/1.1 200 ") {
        let why = if head.is_empty() {
            "it does not answer".into()
        } else {
            String::from_utf8_lossy(body)
        };
        return Err(io::Error::other(why.trim().to_owned()));
    }
    serde_json::from_slice(body).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
}
