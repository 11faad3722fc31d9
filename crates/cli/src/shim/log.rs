//! What is said on standard error, which nobody may read.
//!
//! Lines go through a channel of so many to a thread that writes them. When it is full, because whoever
//! reads does so too slowly or not at all, lines are lost and counted.

use std::io::{self, IsTerminal, Write, stderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use tracing::level_filters::LevelFilter;

use super::args::LogLevel;

/// Lines that wait at most.
const MAX_PENDING_LINES: usize = 256;
/// How long the last ones may take.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(300);

/// Takes lines, and never waits.
#[derive(Clone)]
struct LineSender {
    lines: SyncSender<Option<Vec<u8>>>,
    lost: Arc<AtomicU64>,
}

impl Write for LineSender {
    /// A line at a time, as `tracing_subscriber` gives them.
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

/// What was said and is not written yet. Dropped, it writes what it can in a moment.
pub struct Log {
    lines: LineSender,
    pending: Option<Receiver<Option<Vec<u8>>>>,
    finished: Option<Receiver<()>>,
}

/// Structured lines of this level and above.
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
    /// Begins to write, in a thread that has no more privileges than the calling one.
    ///
    /// # Errors
    /// There can be no thread.
    pub fn start(&mut self) -> io::Result<()> {
        let Some(waiting) = self.pending.take() else { return Ok(()) };
        let (done, written) = sync_channel(1);
        let lost = Arc::clone(&self.lines.lost);
        thread::Builder::new().name("log".into()).spawn(move || {
            while let Ok(Some(line)) = waiting.recv() {
                // Who reads it may have gone.
                let _ = stderr().write_all(&line);
                match lost.swap(0, Ordering::Relaxed) {
                    0 => {}
                    lost => drop(writeln!(stderr(), "({lost} lines are lost: nobody read)")),
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
        // It has begun: no more than a moment for the rest. Else nothing is at stake yet.
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
