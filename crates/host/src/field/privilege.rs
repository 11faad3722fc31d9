//! What the process may do, and who may do something to it: as little as it needs.

use std::{fs, io};

use caps::{CapSet, Capability, CapsHashSet};
use nix::errno::Errno;
use nix::sys::prctl;
use nix::unistd::{Gid, Group, Uid, User, geteuid, setgroups, setresgid, setresuid};
use rustix::process::{getpriority_process, setpriority_process};

/// The precedence of what all packets wait for, between that of a user's programs (0) and of the kernel's
/// workers (-20).
const NICE: i32 = -10;
/// Needed to begin; the second one also to give verdicts.
const NEEDED: [Capability; 2] = [Capability::CAP_NET_RAW, Capability::CAP_NET_ADMIN];
/// Whom the host may have for it.
const NAME: &str = "driftway";
/// From these, systemd takes the users of services that have none (its UIDS-GIDS.md).
const DYNAMIC: std::ops::RangeInclusive<u32> = 61_184..=65_519;
/// What systemd has taken of them.
const TAKEN: &str = "/run/systemd/dynamic-uid";

/// The first capability that [`Field::start`](crate::Field::start) needs and this thread lacks.
///
/// # Errors
/// Any error of the kernel.
pub fn lacks() -> io::Result<Option<&'static str>> {
    for (needed, name) in NEEDED.into_iter().zip(["CAP_NET_RAW", "CAP_NET_ADMIN"]) {
        if !has(needed)? {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// A user that nothing else on this host runs as: nobody but root and itself may send it signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnUser {
    user: Uid,
    group: Gid,
}

impl OwnUser {
    /// The one with these numbers.
    pub fn new(user: u32, group: u32) -> Self {
        Self { user: Uid::from_raw(user), group: Gid::from_raw(group) }
    }

    /// The numbers of user and group.
    pub fn numbers(&self) -> [u32; 2] {
        [self.user.as_raw(), self.group.as_raw()]
    }

    /// Whom root becomes: the user `driftway` where there is one, else one that has neither a name nor
    /// a process. `None`: this process is not root, or may not become another one, and stays what it
    /// is.
    ///
    /// # Errors
    /// `/proc` can't be read.
    pub fn choose() -> io::Result<Option<Self>> {
        let may = has(Capability::CAP_SETUID)? && has(Capability::CAP_SETGID)?;
        if !geteuid().is_root() || !may {
            return Ok(None);
        }
        if let Ok(Some(user)) = User::from_name(NAME)
            && !user.uid.is_root()
        {
            return Ok(Some(Self { user: user.uid, group: user.gid }));
        }
        let busy = users_of_processes()?;
        // Two that start at the same time begin elsewhere.
        let numbers = DYNAMIC.end() - DYNAMIC.start() + 1;
        let first = std::process::id() % numbers;
        let mut candidates = (0..numbers).map(|n| DYNAMIC.start() + (first + n) % numbers);
        let free = candidates.find(|number| {
            let (user, group) = (Uid::from_raw(*number), Gid::from_raw(*number));
            !busy.contains(number)
                && !fs::exists(format!("{TAKEN}/{number}")).unwrap_or(false)
                && matches!(User::from_uid(user), Ok(None))
                && matches!(Group::from_gid(group), Ok(None))
        });
        Ok(free.map(|number| Self::new(number, number)))
    }
}

/// The users that processes run as, saved and effective ones included.
fn users_of_processes() -> io::Result<Vec<u32>> {
    let mut users = Vec::new();
    for process in fs::read_dir("/proc")?.flatten() {
        // What is no process, or has ended since, has none.
        let Ok(status) = fs::read_to_string(process.path().join("status")) else { continue };
        let line = status.lines().find_map(|line| line.strip_prefix("Uid:"));
        users.extend(line.unwrap_or_default().split_whitespace().flat_map(str::parse::<u32>));
    }
    Ok(users)
}

/// Of what waits for a processor the kernel takes this process before others, if it may be asked for that
/// (CAP_SYS_NICE): every packet of the host waits for it. Where it has been given more, that stays.
///
/// # Errors
/// What the kernel says, but for a lack of privileges.
pub fn come_first() -> io::Result<()> {
    if getpriority_process(None)? <= NICE {
        return Ok(());
    }
    match setpriority_process(None, NICE) {
        Err(rustix::io::Errno::ACCESS | rustix::io::Errno::PERM) => Ok(()),
        done => Ok(done?),
    }
}

/// Leaves the calling thread, and those that it starts, CAP_NET_ADMIN alone, for good, as this user.
/// To be called when [`Field::start`](crate::Field::start) has done its work.
///
/// # Errors
/// Any error of the kernel.
pub fn keep_what_is_needed(user: Option<OwnUser>) -> io::Result<()> {
    keep(user, &[Capability::CAP_NET_ADMIN])
}

/// Leaves the calling thread, and those that it starts, no capability, for good, as this user.
///
/// # Errors
/// Any error of the kernel.
pub fn keep_nothing(user: Option<OwnUser>) -> io::Result<()> {
    keep(user, &[])
}

fn keep(user: Option<OwnUser>, needed: &[Capability]) -> io::Result<()> {
    prctl::set_no_new_privs()?;
    let keep: CapsHashSet = needed.iter().copied().collect();
    if has(Capability::CAP_SETPCAP)? {
        for capability in caps::all() {
            // A kernel that does not know one can't be told to drop it.
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
    // Effective before permitted: the one can't be more than the other.
    let effective = |set| caps::set(None, CapSet::Effective, set).map_err(io::Error::other);
    effective(&keep)?;
    caps::set(None, CapSet::Permitted, &keep).map_err(io::Error::other)
}

fn become_user(OwnUser { user, group }: OwnUser) -> io::Result<()> {
    match setgroups(&[]) {
        // A user namespace can have that forbidden.
        Ok(()) | Err(Errno::EPERM) => {}
        Err(errno) => return Err(errno.into()),
    }
    match setresgid(group, group, group).and_then(|()| setresuid(user, user, user)) {
        // A user namespace that has no such user.
        Ok(()) | Err(Errno::EINVAL) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

fn has(capability: Capability) -> io::Result<bool> {
    caps::has_cap(None, CapSet::Effective, capability).map_err(io::Error::other)
}
