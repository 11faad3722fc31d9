//! Notifications to systemd: `sd_notify(3)`.
//!
//! Existing libraries block if systemd does not read; this module does not.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Service manager that started this process, if any.
pub struct ServiceManager(Option<UnixDatagram>);

impl ServiceManager {
    /// Connects to the socket in `$NOTIFY_SOCKET`.
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

    /// Sends a state such as `READY=1` or `WATCHDOG=1`, without blocking.
    pub fn notify(&self, state: &str) {
        if let Some(socket) = &self.0 {
            // A lost notification is repeated soon, or the manager restarts the shim.
            let _ = socket.send(state.as_bytes());
        }
    }
}
