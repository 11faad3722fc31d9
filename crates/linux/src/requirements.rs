//! Requirements for network namespaces and TUN devices on this machine.

use std::{error::Error, fmt, fs, io, path::Path};

/// A requirement for namespaces and TUN devices that is not met.
#[derive(Debug)]
pub enum MissingRequirement {
    /// A capability that the process lacks: its name in `capabilities(7)`.
    Capability(&'static str),
    /// The kernel has no network namespaces (`/proc/self/ns/net` is not there).
    Namespaces,
    /// `/dev/net/tun` cannot be opened.
    Tun(io::Error),
    /// `/proc` cannot be read, so that nothing can be checked.
    Proc(io::Error),
}

impl fmt::Display for MissingRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capability(name) => write!(f, "this process lacks {name}: run it as root"),
            Self::Namespaces => f.write_str("this kernel has no network namespaces"),
            Self::Tun(error) => write!(f, "/dev/net/tun: {error}: load the module tun"),
            Self::Proc(error) => write!(f, "/proc/self/status: {error}: mount /proc"),
        }
    }
}

impl Error for MissingRequirement {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Tun(error) | Self::Proc(error) => Some(error),
            Self::Capability(_) | Self::Namespaces => None,
        }
    }
}

/// Required capabilities, with their bit in `CapEff`.
const REQUIRED_CAPABILITIES: [(&str, u32); 2] = [("CAP_SYS_ADMIN", 21), ("CAP_NET_ADMIN", 12)];

/// Checks that a [`Namespace`](crate::Namespace) and a [`Tun`](crate::Tun) can be created.
///
/// It creates nothing. If it succeeds, a failure to create them is an error, so that a test that
/// calls this first cannot hide one behind a skip.
///
/// # Errors
/// The first requirement that is not met.
pub fn check_requirements() -> Result<(), MissingRequirement> {
    let status = fs::read_to_string("/proc/self/status").map_err(MissingRequirement::Proc)?;
    if let Some((name, _)) =
        REQUIRED_CAPABILITIES.into_iter().find(|(_, bit)| !has_capability(&status, *bit))
    {
        return Err(MissingRequirement::Capability(name));
    }
    if !Path::new("/proc/self/ns/net").exists() {
        return Err(MissingRequirement::Namespaces);
    }
    fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/net/tun")
        .map_err(MissingRequirement::Tun)?;
    Ok(())
}

/// Returns whether this bit is set in the effective capabilities of a `/proc/PID/status`.
fn has_capability(status: &str, bit: u32) -> bool {
    status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok())
        .is_some_and(|effective| effective >> bit & 1 == 1)
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn capabilities_are_read_from_the_effective_set() {
        // Inheritable and permitted all, effective only CAP_NET_ADMIN.
        let status = "Name:\tx\nCapInh:\tffff\nCapPrm:\tffffffff\nCapEff:\t0000000000001000\n";
        assert!(has_capability(status, 12));
        assert!(!has_capability(status, 21));
        assert!(!has_capability("CapEff:\tgarbage\n", 12));
        assert!(!has_capability("", 12));
    }

    #[test]
    fn error_messages_name_the_remedy() {
        let tun = MissingRequirement::Tun(io::Error::from_raw_os_error(2));
        assert!(tun.to_string().contains("/dev/net/tun"));
        assert!(tun.source().is_some());
        assert!(MissingRequirement::Capability("CAP_SYS_ADMIN").to_string().contains("root"));
    }
}
