//! The cost of short connections: connect, a small request, a small answer, close.
//!
//! Most of them are over after ten packets. Plain and shimmed runs alternate, so that a machine
//! whose speed changes gives a ratio all the same.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use driftway_base::Duration;
use driftway_linux::{Namespace, RealClock};
use socket2::{Domain, Socket, Type};

use crate::network::{THERE, pair};
use crate::{Interception, PORT, cpu};

/// Duration of a run: TIME-WAIT keeps each port for a minute.
const LASTS: Duration = Duration::from_secs(2);
/// Pairs of a plain and a shimmed run.
const PAIRS: usize = 5;
const REQUEST: usize = 100;
const ANSWER: usize = 1000;

/// Host below which the shim works.
#[derive(Clone, Copy, Debug)]
enum At {
    Client,
    Server,
}

/// Connections per second, and CPU seconds per thousand of them.
#[derive(Clone, Copy, Default)]
struct Rate {
    per_second: f64,
    cpu_s_per_thousand: f64,
}

/// Serves connections on threads of the calling thread's namespace, until `ends`.
fn serve(threads: usize, ends: &Arc<AtomicBool>) -> io::Result<Vec<thread::JoinHandle<()>>> {
    let listener = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    listener.bind(&SocketAddr::from((THERE, PORT)).into())?;
    listener.listen(1024)?;
    let listener = Arc::new(TcpListener::from(listener));
    let workers = (0..threads).map(|_| {
        let (listener, ends) = (Arc::clone(&listener), Arc::clone(ends));
        thread::spawn(move || {
            let (mut request, answer) = ([0; REQUEST], [7; ANSWER]);
            while !ends.load(Ordering::Relaxed) {
                let Ok((mut connection, _)) = listener.accept() else { return };
                let served = connection
                    .read_exact(&mut request)
                    .and_then(|()| connection.write_all(&answer))
                    .and_then(|()| connection.read(&mut [0]));
                // The last connection of each worker only wakes it.
                let _ = served;
            }
        })
    });
    Ok(workers.collect())
}

/// One connection from the calling thread's namespace.
fn ask() -> io::Result<()> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.connect(&SocketAddr::from((THERE, PORT)).into())?;
    (&socket).write_all(&[1; REQUEST])?;
    let mut answer = [0; ANSWER];
    (&socket).read_exact(&mut answer)?;
    socket.shutdown(Shutdown::Write)?;
    // The server's end.
    while (&socket).read(&mut answer)? > 0 {}
    Ok(())
}

/// Time since the clock was started.
fn elapsed(clock: RealClock) -> Duration {
    clock.now().since(driftway_base::Instant::ZERO)
}

fn measure(way: Interception, at: At, parallel: usize) -> io::Result<Rate> {
    let ends = pair(true)?;
    let shimmed: &Namespace = match at {
        At::Client => &ends[0],
        At::Server => &ends[1],
    };
    let mut child = way.start(shimmed)?;
    let over = Arc::new(AtomicBool::new(false));
    let workers = ends[1].run(|| serve(parallel, &over))??;
    let (before, began) = (cpu(child.as_ref())?, RealClock::start());
    let done = AtomicU64::new(0);
    ends[0].run(|| {
        thread::scope(|scope| {
            for _ in 0..parallel {
                scope.spawn(|| {
                    while elapsed(began) < LASTS && ask().is_ok() {
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
    })?;
    let seconds = elapsed(began).as_secs_f64();
    let used = cpu(child.as_ref())? - before;
    over.store(true, Ordering::Relaxed);
    // Each wakes a worker, if it still waits.
    ends[0].run(|| (0..parallel).for_each(|_| drop(ask())))?;
    for worker in workers {
        worker.join().expect("the thread does not panic");
    }
    if let Some(child) = &mut child {
        drop(child.stdin.take());
        child.wait()?;
    }
    let count = done.load(Ordering::Relaxed) as f64;
    Ok(Rate { per_second: count / seconds, cpu_s_per_thousand: used * 1e3 / count })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Prints the table.
pub fn table() -> io::Result<()> {
    println!(
        "{:<44}{:>9}{:>9}{:>8}{:>14}{:>9}",
        "connections/s", "plain", "shim", "ratio", "CPU s/1000", "shim"
    );
    for (at, name) in
        [(At::Client, "the shim at the client"), (At::Server, "the shim at the server")]
    {
        for parallel in [1, 8] {
            let mut pairs = Vec::new();
            for round in 0..PAIRS {
                let run = |shim: bool| {
                    let way = if shim {
                        Interception::Shim
                    } else {
                        Interception::Nothing { offload: true }
                    };
                    measure(way, at, parallel)
                };
                // The order alternates.
                let first = run(round % 2 == 1)?;
                let second = run(round % 2 == 0)?;
                pairs.push(if round % 2 == 0 { (first, second) } else { (second, first) });
            }
            let of = |each: fn(&(Rate, Rate)) -> f64| median(pairs.iter().map(each).collect());
            println!(
                "{:<44}{:>9.0}{:>9.0}{:>8.2}{:>14.3}{:>9.3}",
                format!("{name}, {parallel} at a time"),
                of(|(plain, _)| plain.per_second),
                of(|(_, shim)| shim.per_second),
                of(|(plain, shim)| shim.per_second / plain.per_second),
                of(|(plain, _)| plain.cpu_s_per_thousand),
                of(|(_, shim)| shim.cpu_s_per_thousand),
            );
        }
    }
    println!(
        "\nMedians of {PAIRS} pairs of {} s; each connection: {REQUEST} bytes there, {ANSWER} back.",
        LASTS.as_millis() / 1000
    );
    Ok(())
}
