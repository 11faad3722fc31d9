//! Log on standard error that never blocks the shim.
//!
//! Lines go through a bounded channel to a thread that writes them. When the channel is full, because
//! standard error is read too slowly or not at all, lines are dropped and counted.

use std::io::{self, IsTerminal, Write, stderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use tracing::level_filters::LevelFilter;

use super::args::LogLevel;

/// Capacity of the channel (lines).
const MAX_PENDING_LINES: usize = 256;
/// Time limit for writing the remaining lines at the end.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(300);

/// Sender of lines, which never blocks.
#[derive(Clone)]
struct LineSender {
    lines: SyncSender<Option<Vec<u8>>>,
    lost: Arc<AtomicU64>,
}

impl Write for LineSender {
    /// Sends one line; `tracing_subscriber` writes whole lines.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.lines.try_send(Some(line.to_vec())).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The log. Dropping it writes the remaining lines within [`FLUSH_TIMEOUT`].
pub struct Log {
    lines: LineSender,
    pending: Option<Receiver<Option<Vec<u8>>>>,
    finished: Option<Receiver<()>>,
}

/// Initialises logging of messages of this severity and above.
pub fn init_log(level: LogLevel) -> Log {
    let level = match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
    };
    let colour =
        stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let (sender, waiting) = sync_channel(MAX_PENDING_LINES);
    let lines = LineSender { lines: sender, lost: Arc::default() };
    let writer = lines.clone();
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(move || writer.clone())
        .with_ansi(colour)
        .with_target(false)
        .init();
    Log { lines, pending: Some(waiting), finished: None }
}

impl Log {
    /// Starts the thread that writes, with the privileges of the calling thread.
    ///
    /// # Errors
    /// A failure to start the thread.
    pub fn start(&mut self) -> io::Result<()> {
        let Some(waiting) = self.pending.take() else { return Ok(()) };
        let (done, written) = sync_channel(1);
        let lost = Arc::clone(&self.lines.lost);
        thread::Builder::new().name("log".into()).spawn(move || {
            while let Ok(Some(line)) = waiting.recv() {
                // The reader may have closed standard error.
                let _ = stderr().write_all(&line);
                match lost.swap(0, Ordering::Relaxed) {
                    0 => {}
                    lost => drop(writeln!(
                        stderr(),
                        "({lost} lines lost: standard error was not read in time)"
                    )),
                }
            }
            let _ = done.send(());
        })?;
        self.finished = Some(written);
        Ok(())
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        // With the thread running, wait a limited time; before that, write here.
        if let Some(written) = &self.finished
            && self.lines.lines.try_send(None).is_ok()
        {
            let _ = written.recv_timeout(FLUSH_TIMEOUT);
        }
        for line in self.pending.iter().flat_map(Receiver::try_iter).flatten() {
            let _ = stderr().write_all(&line);
        }
    }
}
