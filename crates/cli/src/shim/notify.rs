//! What systemd is told: `sd_notify(3)`.
//!
//! Not by a library: those that there are wait if systemd does not read.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The service manager that has started this process, if one has.
pub struct ServiceManager(Option<UnixDatagram>);

impl ServiceManager {
    /// Whoever `$NOTIFY_SOCKET` names.
    pub fn find() -> Self {
        let connect = || {
            let name = std::env::var_os("NOTIFY_SOCKET")?;
            let address = match name.as_bytes().strip_prefix(b"@") {
                Some(name) => SocketAddr::from_abstract_name(name),
                None => SocketAddr::from_pathname(&name),
            };
            let socket = UnixDatagram::unbound().ok()?;
            socket.connect_addr(&address.ok()?).ok()?;
            socket.set_nonblocking(true).ok()?;
            Some(socket)
        };
        Self(connect())
    }

    /// `READY=1`, `WATCHDOG=1` or the like. Nobody waits for it to be read.
    pub fn notify(&self, state: &str) {
        if let Some(socket) = &self.0 {
            // It is told again soon, or it restarts us.
            let _ = socket.send(state.as_bytes());
        }
    }
}
