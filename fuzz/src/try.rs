//! Runs each target for some time, one per processor, with inputs derived from its corpus by random
//! mutations, and prints their number. It needs no C++ compiler and is therefore part of `make test`. It does
//! not measure coverage; `make fuzz` does.
//!
//! ```text
//! try [--seconds N] [TARGET]...
//! ```

use std::cell::RefCell;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use driftway_base::RandomStream;
use driftway_fuzz::{TARGETS, Target};

thread_local! {
    /// The current input of this thread, for the panic hook.
    static INPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

const LONGEST: usize = 4096;

fn main() -> ExitCode {
    let mut seconds = 20;
    let mut names: Vec<String> = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument != "--seconds" {
            names.push(argument);
            continue;
        }
        let Some(Ok(number)) = arguments.next().map(|text| text.parse()) else {
            eprintln!("--seconds takes a number");
            return ExitCode::from(2);
        };
        seconds = number;
    }
    if let Some(name) = names.iter().find(|name| TARGETS.iter().all(|t| t.name != **name)) {
        let known: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
        eprintln!("unknown target {name}; available: {}", known.join(", "));
        return ExitCode::from(2);
    }
    let default_hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // The main thread also panics after a thread has panicked; it has no input.
        if INPUT.with_borrow(|input| !input.is_empty()) {
            let file = Path::new("crash-input");
            let kept = INPUT.with_borrow(|input| std::fs::write(file, input));
            eprintln!("the input was written to {} ({kept:?})", file.display());
        }
        default_hook(panic);
    }));
    let wanted = |target: &&Target| names.is_empty() || names.iter().any(|n| n == target.name);
    let targets: Vec<&Target> = TARGETS.iter().filter(wanted).collect();
    // One target per processor; after a panic the process ends when the other threads are done.
    let next = AtomicUsize::new(0);
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..processors {
            scope.spawn(|| {
                while let Some(target) = targets.get(next.fetch_add(1, Ordering::Relaxed)) {
                    attempt(target, Duration::from_secs(seconds));
                }
            });
        }
    });
    ExitCode::SUCCESS
}

#[expect(clippy::disallowed_methods, reason = "measures wall-clock time only")]
fn attempt(target: &Target, span: Duration) {
    let corpus = corpus(target.name);
    // The seeds themselves are always run.
    for input in &corpus {
        run(target, input);
    }
    let mut random = RandomStream::new(1, target.name, 0);
    let mut tried = corpus.len() as u64;
    let start = Instant::now();
    while start.elapsed() < span {
        for _ in 0..64 {
            let input = change(&mut random, &corpus);
            run(target, &input);
            tried += 1;
        }
    }
    println!(
        "fuzz {}: {tried} inputs in {} s, from {} seeds",
        target.name,
        span.as_secs(),
        corpus.len()
    );
}

fn run(target: &Target, input: &[u8]) {
    INPUT.with_borrow_mut(|kept| {
        kept.clear();
        kept.extend_from_slice(input);
    });
    (target.run)(input);
}

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .collect();
    files.sort();
    files.iter().filter_map(|file| std::fs::read(file).ok()).collect()
}

/// A seed or random bytes, with up to eight mutations.
fn change(random: &mut RandomStream, corpus: &[Vec<u8>]) -> Vec<u8> {
    let pick = |random: &mut RandomStream, n: usize| random.uniform_below(n.max(1) as u64) as usize;
    let mut input = match corpus.get(pick(random, corpus.len() + 1)) {
        Some(seed) => seed.clone(),
        None => {
            let len = pick(random, 512);
            (0..len).map(|_| random.next_u64() as u8).collect()
        }
    };
    for _ in 0..=random.uniform_below(8) {
        let at = pick(random, input.len());
        match random.uniform_below(7) {
            0 if at < input.len() => input[at] ^= 1 << random.uniform_below(8),
            1 if at < input.len() => input[at] = random.next_u64() as u8,
            2 => input.insert(at, random.next_u64() as u8),
            3 if at < input.len() => {
                let end = (at + 1 + pick(random, 16)).min(input.len());
                input.drain(at..end);
            }
            4 if at < input.len() => {
                let end = (at + 1 + pick(random, 64)).min(input.len());
                let copy = input[at..end].to_vec();
                let to = pick(random, input.len());
                input.splice(to..to, copy);
            }
            5 => {
                if let Some(other) = corpus.get(pick(random, corpus.len())) {
                    let from = pick(random, other.len());
                    input.truncate(at);
                    input.extend_from_slice(&other[from.min(other.len())..]);
                }
            }
            _ => input.truncate(at),
        }
    }
    input.truncate(LONGEST);
    input
}
