//! Threads that run when they have something to do, whatever else runs.

use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

/// Puts the calling thread before all ordinary ones, in its real time class (sched(7)), where that
/// is allowed; says whether it was. On a machine that is busy a packet is late otherwise until the
/// scheduler has been round. The kernel leaves a twentieth of the time to others, whatever happens.
pub fn enable_realtime_scheduling() -> bool {
    let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::RoundRobin);
    set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, policy).is_ok()
}
