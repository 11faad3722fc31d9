//! Real-time scheduling of threads.

use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

/// Gives the calling thread a real-time scheduling policy (sched(7)), if that is allowed; returns
/// whether it was. Otherwise packets are late on a busy machine by the scheduler's latency. The
/// kernel reserves a twentieth of the CPU time for other threads in any case.
pub fn enable_realtime_scheduling() -> bool {
    let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::RoundRobin);
    set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, policy).is_ok()
}
