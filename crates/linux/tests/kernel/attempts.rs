//! A second attempt for tests in real time: they share processors with each other and with whatever else the machine
//! does, which may stop a thread for longer than a test's deadlines.

use std::panic::catch_unwind;
use std::sync::{Mutex, PoisonError, RwLock};

/// Held shared by each test, and alone by a second attempt.
static RUNNING: RwLock<()> = RwLock::new(());
/// Names of the tests that needed it.
static REPEATED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Runs a test, and if it fails once more, while no other runs. The first failure is printed as any other.
///
/// # Panics
/// The second attempt fails.
pub fn run(name: &str, test: fn()) {
    let first = {
        let _shared = RUNNING.read().unwrap_or_else(PoisonError::into_inner);
        catch_unwind(test)
    };
    if first.is_ok() {
        return;
    }
    let _alone = RUNNING.write().unwrap_or_else(PoisonError::into_inner);
    println!("{name} failed; once more, alone");
    test();
    REPEATED.lock().unwrap_or_else(PoisonError::into_inner).push(name.to_owned());
}

/// The tests that passed at the second attempt, for the last line.
pub fn repeated() -> String {
    let names = REPEATED.lock().unwrap_or_else(PoisonError::into_inner);
    if names.is_empty() {
        String::new()
    } else {
        format!(", passed when repeated: {}", names.join(", "))
    }
}
