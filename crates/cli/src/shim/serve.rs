//! The local socket of a shim at work: its document and its metrics, over HTTP, for whoever asks.
//!
//! Its name is abstract, so that it belongs to the network namespace and goes with the process.

use std::io::{self, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::Duration;

use host::Asker;
use tracing::debug;

use super::document::Document;

/// Its name, after the byte that makes it abstract.
pub const NAME: &str = "driftway-shim";
/// How long somebody may take to ask, or to read.
const PATIENCE: Duration = Duration::from_secs(1);
/// A request is a line and few headers (bytes).
const LONGEST: usize = 4096;
const END: &[u8] = b"\r\n\r\n";

/// The socket's address.
pub fn address() -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(NAME)
}

/// Answers, one after the other, as long as the shim is at work.
pub fn serve(listener: &UnixListener, asker: &Asker) {
    for client in listener.incoming() {
        // Who goes away early, or says nothing, gets nothing.
        if let Err(error) = client.and_then(|client| answer(client, asker)) {
            debug!(%error, "a question was not answered");
        }
    }
}

fn answer(mut client: UnixStream, asker: &Asker) -> io::Result<()> {
    client.set_read_timeout(Some(PATIENCE))?;
    client.set_write_timeout(Some(PATIENCE))?;
    let request = request(&mut client)?;
    let path = request.split(' ').nth(1).unwrap_or_default();
    let document = || asker.ask().map(Document::from).ok_or(io::ErrorKind::NotConnected);
    let (status, kind, body) = match path {
        "/status" => ("200 OK", "application/json", document()?.json()),
        "/metrics" => ("200 OK", "text/plain; version=0.0.4", document()?.metrics()),
        _ => ("404 Not Found", "text/plain", "there is /status and /metrics\n".to_owned()),
    };
    let len = body.len();
    write!(
        client,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len}\r\n\
         Connection: close\r\n\r\n{body}"
    )
}

/// The first line of a request that is complete.
fn request(client: &mut UnixStream) -> io::Result<String> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 512];
    while !bytes.windows(END.len()).any(|window| window == END) {
        let len = client.read(&mut buffer)?;
        if len == 0 || bytes.len() > LONGEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        bytes.extend_from_slice(&buffer[..len]);
    }
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

/// Asks the shim of this network namespace for its document.
///
/// # Errors
/// `ConnectionRefused`: there is none.
pub fn fetch() -> io::Result<Document> {
    let mut stream = UnixStream::connect_addr(&address()?)?;
    stream.set_read_timeout(Some(PATIENCE * 5))?;
    stream.write_all(b"GET /status HTTP/1.0\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let body = answer.windows(END.len()).position(|window| window == END);
    let body = body.map_or(&[][..], |at| &answer[at + END.len()..]);
    serde_json::from_slice(body).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}
