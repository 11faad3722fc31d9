//! What the process may do: as little as it needs.

use std::io;

use caps::{CapSet, Capability, CapsHashSet};
use nix::sys::prctl;
use nix::unistd::{Gid, Uid, geteuid, setgroups, setresgid, setresuid};

/// Needed to begin; the second one also to give verdicts.
const NEEDED: [Capability; 2] = [Capability::CAP_NET_RAW, Capability::CAP_NET_ADMIN];
/// Who owns nothing.
const NOBODY: u32 = 65_534;

/// The first capability that [`Field::start`](crate::Field::start) needs and this thread lacks.
///
/// # Errors
/// What the kernel says.
pub fn lacks() -> io::Result<Option<&'static str>> {
    for (needed, name) in NEEDED.into_iter().zip(["CAP_NET_RAW", "CAP_NET_ADMIN"]) {
        if !caps::has_cap(None, CapSet::Effective, needed).map_err(io::Error::other)? {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// Leaves the calling thread, and those that it starts, CAP_NET_ADMIN alone, for good; root becomes
/// nobody. To be called when [`Field::start`](crate::Field::start) has done its work.
///
/// # Errors
/// What the kernel says.
pub fn keep_what_is_needed() -> io::Result<()> {
    prctl::set_no_new_privs()?;
    let keep: CapsHashSet = [Capability::CAP_NET_ADMIN].into_iter().collect();
    let has = |capability| caps::has_cap(None, CapSet::Effective, capability);
    if has(Capability::CAP_SETPCAP).map_err(io::Error::other)? {
        for capability in caps::all() {
            // A kernel that does not know one can't be told to drop it.
            let bounded = caps::has_cap(None, CapSet::Bounding, capability);
            if !keep.contains(&capability) && bounded.unwrap_or(false) {
                caps::drop(None, CapSet::Bounding, capability).map_err(io::Error::other)?;
            }
        }
    }
    if geteuid().is_root() {
        prctl::set_keepcaps(true)?;
        setgroups(&[])?;
        let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
        setresgid(group, group, group)?;
        setresuid(user, user, user)?;
        prctl::set_keepcaps(false)?;
    }
    caps::clear(None, CapSet::Ambient).map_err(io::Error::other)?;
    caps::clear(None, CapSet::Inheritable).map_err(io::Error::other)?;
    // Effective before permitted: the one can't be more than the other.
    let effective = |set| caps::set(None, CapSet::Effective, set).map_err(io::Error::other);
    effective(&keep)?;
    caps::set(None, CapSet::Permitted, &keep).map_err(io::Error::other)
}
