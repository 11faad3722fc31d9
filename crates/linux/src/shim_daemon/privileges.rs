//! Least privilege of the process, and its protection from other users.

use std::{fs, io};

use caps::{CapSet, Capability, CapsHashSet};
use nix::errno::Errno;
use nix::sys::prctl;
use nix::unistd::{
    Gid, Group, Uid, User, geteuid, getpid, getsid, setgroups, setresgid, setresuid,
};
use rustix::process::{getpriority_process, setpriority_process};

/// Nice value of the process, between user programs (0) and kernel workers (-20), because all
/// packets wait for it.
const NICE: i32 = -10;
/// Nice value of this process' session, relative to the others (sched(7)).
const AUTOGROUP: &str = "/proc/self/autogroup";
/// Required at the start; the second one also for verdicts.
const REQUIRED_CAPABILITIES: [Capability; 2] = [Capability::CAP_NET_RAW, Capability::CAP_NET_ADMIN];
/// Name of a dedicated user that the host may provide.
const USER_NAME: &str = "driftway";
/// User IDs that systemd allocates dynamically (its UIDS-GIDS.md).
const DYNAMIC_UIDS: std::ops::RangeInclusive<u32> = 61_184..=65_519;
/// Directory of the allocated ones.
const DYNAMIC_UID_DIR: &str = "/run/systemd/dynamic-uid";

/// The first capability that [`ShimDaemon::start`](crate::ShimDaemon::start) requires and this
/// thread lacks.
///
/// # Errors
/// Any error of the kernel.
pub fn missing_capability() -> io::Result<Option<&'static str>> {
    for (needed, name) in REQUIRED_CAPABILITIES.into_iter().zip(["CAP_NET_RAW", "CAP_NET_ADMIN"]) {
        if !has_capability(needed)? {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// A user without other processes on this host: only root and the user itself may send the process
/// signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DedicatedUser {
    user: Uid,
    group: Gid,
}

impl DedicatedUser {
    /// The user with these IDs.
    pub fn new(user: u32, group: u32) -> Self {
        Self { user: Uid::from_raw(user), group: Gid::from_raw(group) }
    }

    /// User and group ID.
    pub fn ids(&self) -> [u32; 2] {
        [self.user.as_raw(), self.group.as_raw()]
    }

    /// The user to switch to from root: `driftway` if it exists, otherwise an ID without a name and
    /// without processes. `None`: this process is not root, or may not switch users.
    ///
    /// # Errors
    /// `/proc` cannot be read.
    pub fn choose() -> io::Result<Option<Self>> {
        let may =
            has_capability(Capability::CAP_SETUID)? && has_capability(Capability::CAP_SETGID)?;
        if !geteuid().is_root() || !may {
            return Ok(None);
        }
        if let Ok(Some(user)) = User::from_name(USER_NAME)
            && !user.uid.is_root()
        {
            return Ok(Some(Self { user: user.uid, group: user.gid }));
        }
        let busy = users_of_processes()?;
        // Processes that start at the same time search from different IDs.
        let numbers = DYNAMIC_UIDS.end() - DYNAMIC_UIDS.start() + 1;
        let first = std::process::id() % numbers;
        let mut candidates = (0..numbers).map(|n| DYNAMIC_UIDS.start() + (first + n) % numbers);
        let free = candidates.find(|number| {
            let (user, group) = (Uid::from_raw(*number), Gid::from_raw(*number));
            !busy.contains(number)
                && !fs::exists(format!("{DYNAMIC_UID_DIR}/{number}")).unwrap_or(false)
                && matches!(User::from_uid(user), Ok(None))
                && matches!(Group::from_gid(group), Ok(None))
        });
        Ok(free.map(|number| Self::new(number, number)))
    }
}

/// User IDs of all processes, saved and effective ones included.
fn users_of_processes() -> io::Result<Vec<u32>> {
    let mut users = Vec::new();
    for process in fs::read_dir("/proc")?.flatten() {
        // Not a process, or one that has ended since.
        let Ok(status) = fs::read_to_string(process.path().join("status")) else { continue };
        let line = status.lines().find_map(|line| line.strip_prefix("Uid:"));
        users.extend(line.unwrap_or_default().split_whitespace().flat_map(str::parse::<u32>));
    }
    Ok(users)
}

/// Raises the process' scheduling priority, if that is allowed (CAP_SYS_NICE), because every packet
/// of the host waits for it. A higher priority stays.
///
/// Where the kernel gives each session its share of the processors (`sched_autogroup`), a nice value
/// counts only among the processes of a session. There a process that has a session of its own raises
/// that; one in the session of a shell, for example, does not raise what else runs there.
///
/// # Errors
/// Any error of the kernel, except a lack of privileges.
pub fn raise_priority() -> io::Result<()> {
    if getsid(None)? == getpid() {
        // Not every kernel has it, and not every process may.
        let _ = fs::write(AUTOGROUP, NICE.to_string());
    }
    if getpriority_process(None)? <= NICE {
        return Ok(());
    }
    match setpriority_process(None, NICE) {
        Err(rustix::io::Errno::ACCESS | rustix::io::Errno::PERM) => Ok(()),
        done => Ok(done?),
    }
}

/// Permanently drops all capabilities but CAP_NET_ADMIN from the calling thread, and from threads
/// that it starts, and switches to this user. To be called after
/// [`ShimDaemon::start`](crate::ShimDaemon::start).
///
/// # Errors
/// Any error of the kernel.
pub fn drop_privileges(user: Option<DedicatedUser>) -> io::Result<()> {
    limit_capabilities(user, &[Capability::CAP_NET_ADMIN])
}

/// Permanently drops all capabilities from the calling thread, and from threads that it starts, and
/// switches to this user.
///
/// # Errors
/// Any error of the kernel.
pub fn drop_all_privileges(user: Option<DedicatedUser>) -> io::Result<()> {
    limit_capabilities(user, &[])
}

fn limit_capabilities(user: Option<DedicatedUser>, needed: &[Capability]) -> io::Result<()> {
    prctl::set_no_new_privs()?;
    let keep: CapsHashSet = needed.iter().copied().collect();
    if has_capability(Capability::CAP_SETPCAP)? {
        for capability in caps::all() {
            // A kernel that does not know a capability cannot drop it.
            let bounded = caps::has_cap(None, CapSet::Bounding, capability);
            if !keep.contains(&capability) && bounded.unwrap_or(false) {
                caps::drop(None, CapSet::Bounding, capability).map_err(io::Error::other)?;
            }
        }
    }
    if let Some(user) = user {
        prctl::set_keepcaps(true)?;
        become_user(user)?;
        prctl::set_keepcaps(false)?;
    }
    caps::clear(None, CapSet::Ambient).map_err(io::Error::other)?;
    caps::clear(None, CapSet::Inheritable).map_err(io::Error::other)?;
    // Effective before permitted, of which it must be a subset.
    let effective = |set| caps::set(None, CapSet::Effective, set).map_err(io::Error::other);
    effective(&keep)?;
    caps::set(None, CapSet::Permitted, &keep).map_err(io::Error::other)
}

fn become_user(DedicatedUser { user, group }: DedicatedUser) -> io::Result<()> {
    match setgroups(&[]) {
        // A user namespace may forbid it.
        Ok(()) | Err(Errno::EPERM) => {}
        Err(errno) => return Err(errno.into()),
    }
    match setresgid(group, group, group).and_then(|()| setresuid(user, user, user)) {
        // The user namespace has no such user.
        Ok(()) | Err(Errno::EINVAL) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

fn has_capability(capability: Capability) -> io::Result<bool> {
    caps::has_cap(None, CapSet::Effective, capability).map_err(io::Error::other)
}
