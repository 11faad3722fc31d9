//! The TCP connections of a namespace, as its kernel reports them.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddrV4};
use std::os::fd::{AsFd, BorrowedFd};

use netlink_packet_core::NetlinkPayload;
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::{AF_INET, AF_INET6, IPPROTO_TCP};
use netlink_packet_sock_diag::inet::{
    ExtensionFlags, InetRequest, InetResponse, SocketId, StateFlags,
};
use netlink_sys::Socket;
use netlink_sys::protocols::NETLINK_SOCK_DIAG;
use nix::errno::Errno;

use crate::diag::{KernelTcp, snapshot};
use crate::netlink;

/// Groups of notifications of closed TCP sockets: of IPv4, and of IPv6, whose sockets can have connections of IPv4
/// (`SKNLGRP_INET_TCP_DESTROY`, `SKNLGRP_INET6_TCP_DESTROY`; linux/sock_diag.h).
const GROUPS: [u32; 2] = [1, 3];
/// Room for notifications that wait (bytes), some thousand of them.
const RECEIVE_BUFFER: u32 = 4 << 20;

/// A kernel's end of a connection over IPv4.
#[derive(Clone, Debug)]
pub struct ConnectionSnapshot {
    /// The kernel's identifier of the socket, which no other of this machine has.
    pub cookie: [u8; 8],
    /// Its own address and port.
    pub local: SocketAddrV4,
    /// Those of its peer.
    pub remote: SocketAddrV4,
    /// The kernel's state of it; of a closed one without the name of its congestion control.
    pub tcp: KernelTcp,
}

/// Reads the TCP connections of a namespace: those that are open, and the last state of those that have closed, so that
/// no connection is missed between two looks. Connections of a host with itself are left out.
///
/// Its descriptor is readable when a connection has closed.
pub struct SocketMonitor {
    open: Socket,
    closed: Socket,
}

impl SocketMonitor {
    /// Opens a monitor of the calling thread's namespace; it can be used in any.
    ///
    /// # Errors
    /// Any error of the kernel; notifications need the capability `CAP_NET_ADMIN`.
    pub fn open() -> io::Result<Self> {
        let mut closed = Socket::new(NETLINK_SOCK_DIAG)?;
        closed.bind_auto()?;
        closed.set_rx_buf_sz(RECEIVE_BUFFER)?;
        closed.set_non_blocking(true)?;
        GROUPS.iter().try_for_each(|group| closed.add_membership(*group))?;
        Ok(Self { open: netlink::open(NETLINK_SOCK_DIAG)?, closed })
    }

    /// Returns the connections that are open, or in a state of closing that still has a socket.
    ///
    /// # Errors
    /// Any error of the kernel.
    pub fn connections(&self) -> io::Result<Vec<ConnectionSnapshot>> {
        let mut found = Vec::new();
        for (family, socket_id) in [(AF_INET, SocketId::new_v4()), (AF_INET6, SocketId::new_v6())] {
            let request = InetRequest {
                family,
                protocol: IPPROTO_TCP,
                extensions: ExtensionFlags::INFO | ExtensionFlags::CONG,
                states: states(),
                socket_id,
            };
            let take = |message| found.extend(connection(message));
            match netlink::dump_on(&self.open, SockDiagMessage::InetRequest(request), take) {
                // A kernel without IPv6.
                Err(error) if family == AF_INET6 && error.kind() == ErrorKind::NotFound => {}
                outcome => outcome?,
            }
        }
        Ok(found)
    }

    /// Returns the last states of the connections that have closed since the last call. If too many closed at once,
    /// some are missing.
    ///
    /// # Errors
    /// Any error of the kernel.
    pub fn closed(&self) -> io::Result<Vec<ConnectionSnapshot>> {
        let mut found = Vec::new();
        loop {
            match self.closed.recv_from_full() {
                Ok((bytes, _)) => {
                    for message in netlink::messages(&bytes) {
                        if let NetlinkPayload::InnerMessage(message) = message?.payload {
                            found.extend(connection(message));
                        }
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(found),
                // Notifications were lost; those after them follow.
                Err(error) if error.raw_os_error() == Some(Errno::ENOBUFS as i32) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl AsFd for SocketMonitor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.closed.as_fd()
    }
}

/// The states of sockets that have a `struct tcp_info` of a connection.
fn states() -> StateFlags {
    StateFlags::ESTABLISHED
        | StateFlags::SYN_SENT
        | StateFlags::FIN_WAIT1
        | StateFlags::FIN_WAIT2
        | StateFlags::CLOSE_WAIT
        | StateFlags::LAST_ACK
        | StateFlags::CLOSING
}

fn connection(message: SockDiagMessage) -> Option<ConnectionSnapshot> {
    let SockDiagMessage::InetResponse(response) = message else { return None };
    let InetResponse { header, .. } = &*response;
    let SocketId { cookie, .. } = header.socket_id;
    let of = &header.socket_id;
    let local = address(of.source_address, of.source_port)?;
    let remote = address(of.destination_address, of.destination_port)?;
    // One that has never been connected, or never left the host.
    if remote.port() == 0 || local.ip() == remote.ip() || local.ip().is_loopback() {
        return None;
    }
    // Other sockets have no state of a connection.
    let tcp = snapshot(*response).ok()?;
    Some(ConnectionSnapshot { cookie, local, remote, tcp })
}

/// An address of IPv4, also as a socket of IPv6 has it.
fn address(address: IpAddr, port: u16) -> Option<SocketAddrV4> {
    let address = match address {
        IpAddr::V4(address) => address,
        IpAddr::V6(address) => address.to_ipv4_mapped()?,
    };
    Some(SocketAddrV4::new(address, port))
}
