//! Parallel work whose results do not depend on the number of threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Calls `work` for each index below `count` in `jobs` threads, and returns the results in the
/// order of the indices. After a failure no new work starts. Work is assigned in order, so that
/// everything before the failure is completed, and the failure reported is the first by index for
/// any number of threads.
///
/// # Errors
///
/// The first failure by index.
pub fn parallel_map<T: Send, E: Send>(
    jobs: usize,
    count: usize,
    work: impl Fn(usize) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let answers = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs.min(count) {
            scope.spawn(|| {
                while !failed.load(Ordering::Relaxed) {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        break;
                    }
                    let answer = work(index);
                    failed.fetch_or(answer.is_err(), Ordering::Relaxed);
                    answers.lock().expect("no work panics under the lock").push((index, answer));
                }
            });
        }
    });
    let mut answers = answers.into_inner().expect("no work panics under the lock");
    answers.sort_by_key(|(index, _)| *index);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn results_are_in_index_order() {
        for jobs in [1, 2, 7] {
            let answers = parallel_map(jobs, 100, |index| Ok::<_, ()>(index * index)).unwrap();
            assert_eq!(answers, (0..100).map(|index| index * index).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_first_failure_by_index_is_reported() {
        for jobs in [1, 2, 7] {
            let work = |index| if index % 10 == 9 { Err(index) } else { Ok(index) };
            assert_eq!(parallel_map(jobs, 1000, work), Err(9));
        }
    }
}
