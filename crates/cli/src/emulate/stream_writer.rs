//! A file that a thread of its own writes, so that a slow disk does not delay packets.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use driftway_base::{Duration, Instant};
use driftway_linux::RealClock;

/// Bytes that are passed on together, and the time after which fewer are.
const CHUNK: usize = 64 << 10;
const LONGEST_WAIT: Duration = Duration::from_millis(500);
/// Bytes that may wait for the disk.
const BACKLOG_MAX: usize = 64 << 20;

/// Bytes that wait for the disk, of several files together.
#[derive(Debug, Default)]
pub struct Backlog {
    bytes: AtomicUsize,
    has_failed: AtomicBool,
}

impl Backlog {
    /// Returns whether the disk is too far behind.
    pub fn is_full(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) > BACKLOG_MAX
    }
}

/// The end of a file at which bytes are written; they are never refused, so that no record is cut off.
pub struct StreamWriter {
    chunks: Sender<Vec<u8>>,
    buffer: Vec<u8>,
    backlog: Arc<Backlog>,
    clock: RealClock,
    passed_on: Instant,
}

/// The thread of a file.
pub type WriterThread = JoinHandle<io::Result<()>>;

impl StreamWriter {
    /// Starts the thread of a file; it ends when the writer is dropped.
    ///
    /// # Errors
    /// The thread cannot be created.
    pub fn start(file: File, backlog: &Arc<Backlog>) -> io::Result<(Self, WriterThread)> {
        let (chunks, written) = channel();
        let of_thread = Arc::clone(backlog);
        let work = move || {
            let outcome = write_all(file, &written, &of_thread);
            of_thread.has_failed.fetch_or(outcome.is_err(), Ordering::Relaxed);
            outcome
        };
        let thread = thread::Builder::new().name("writer".into()).spawn(work)?;
        let (clock, backlog) = (RealClock::start(), Arc::clone(backlog));
        let passed_on = Instant::ZERO;
        Ok((Self { chunks, buffer: Vec::new(), backlog, clock, passed_on }, thread))
    }

    fn pass_on(&mut self) {
        let chunk = std::mem::take(&mut self.buffer);
        self.backlog.bytes.fetch_add(chunk.len(), Ordering::Relaxed);
        // The thread's error is its outcome.
        let _ = self.chunks.send(chunk);
    }
}

fn write_all(mut file: File, chunks: &Receiver<Vec<u8>>, backlog: &Backlog) -> io::Result<()> {
    for chunk in chunks {
        let written = file.write_all(&chunk);
        backlog.bytes.fetch_sub(chunk.len(), Ordering::Relaxed);
        written?;
    }
    file.sync_all()
}

impl Write for StreamWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.backlog.has_failed.load(Ordering::Relaxed) {
            return Err(io::Error::other("a file cannot be written"));
        }
        self.buffer.extend_from_slice(bytes);
        let now = self.clock.now();
        if self.buffer.len() >= CHUNK || now.since(self.passed_on) >= LONGEST_WAIT {
            self.passed_on = now;
            self.pass_on();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.pass_on();
        Ok(())
    }
}

impl Drop for StreamWriter {
    fn drop(&mut self) {
        if !self.buffer.is_empty() {
            self.pass_on();
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn everything_is_written_in_order() {
        let path = tempfile::NamedTempFile::new().unwrap();
        let backlog = Arc::default();
        let file = File::create(path.path()).unwrap();
        let (mut writer, thread) = StreamWriter::start(file, &backlog).unwrap();
        let mut expected = Vec::new();
        for number in 0..50_000_u32 {
            writer.write_all(&number.to_le_bytes()).unwrap();
            expected.extend(number.to_le_bytes());
        }
        drop(writer);
        thread.join().unwrap().unwrap();
        assert_eq!(std::fs::read(path.path()).unwrap(), expected);
        assert!(!backlog.is_full());
        assert_eq!(backlog.bytes.load(Ordering::Relaxed), 0);
    }
}
