//! An interface of the host in place of a node's kernel: what is at its other end, a container or a virtual machine, is
//! the node.

mod gateway;
mod offload;
mod packet_socket;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use driftway_base::{Ipv4Addr, NodeId};
use driftway_net::addresses::ipv6_addresses;
use driftway_wire::{ETHERNET_HEADER_LEN, EtherType, EthernetFrame, HardwareAddr};

use gateway::{Answer, Gateway};
use packet_socket::PacketSocket;

/// Longest frame that is read: of a packet that a kernel has not yet divided into segments.
const FRAME_MAX: usize = ETHERNET_HEADER_LEN + 65_535;

/// The form in which an emulated network exchanges packets with an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Frames as they are.
    Frames,
    /// The packets of IP in them. The network answers for the hardware addresses of all other nodes.
    Packets,
}

/// An interface of the host, whose frames are those of a node. When it is dropped, the interface is as before.
#[derive(Debug)]
pub struct Attachment {
    socket: PacketSocket,
    /// Longest packet (bytes).
    mtu: u16,
    state: RefCell<State>,
}

#[derive(Debug)]
struct State {
    /// Frames or packets that were received.
    received: VecDeque<Vec<u8>>,
    /// `None`: frames are exchanged.
    gateway: Option<Gateway>,
    buffer: Vec<u8>,
}

impl Attachment {
    /// Attaches an interface of the calling thread's namespace to a node with this address.
    ///
    /// # Errors
    /// There is no such interface, or any error of the kernel.
    pub fn open(
        interface: &str,
        form: Form,
        node: NodeId,
        address: Ipv4Addr,
        mtu: u16,
    ) -> io::Result<Self> {
        let socket = PacketSocket::open(interface)?;
        let gateway = match form {
            Form::Frames => None,
            Form::Packets => {
                let own = HardwareAddr::of_node(node);
                Some(Gateway::new(own, address, ipv6_addresses(node)))
            }
        };
        let state = State { received: VecDeque::new(), gateway, buffer: vec![0; FRAME_MAX] };
        Ok(Self { socket, mtu, state: RefCell::new(state) })
    }

    /// Reads the next frame or packet into `buffer` and returns its length; `None` if there is none.
    ///
    /// # Errors
    /// Any error of the kernel.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let State { received, gateway, buffer: frame } = &mut *self.state.borrow_mut();
        loop {
            if let Some(next) = received.pop_front() {
                let len = next.len().min(buffer.len());
                buffer[..len].copy_from_slice(&next[..len]);
                return Ok(Some(len));
            }
            let Some(len) = self.socket.receive(frame)? else { return Ok(None) };
            for frame in whole_frames(&frame[..len], self.mtu.into()) {
                let Some(gateway) = gateway else {
                    received.push_back(frame);
                    continue;
                };
                let Ok(decoded) = EthernetFrame::decode(&frame) else { continue };
                let Answer { packet, frames } = gateway.on_frame(&decoded);
                received.extend(packet);
                for frame in frames {
                    // A lost answer is asked for again.
                    let _ = self.socket.send(&frame);
                }
            }
        }
    }

    /// Sends a frame or packet.
    ///
    /// # Errors
    /// The interface is down or gone, or any other error of the kernel.
    pub fn send(&self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.state.borrow_mut().gateway {
            None => self.socket.send(bytes),
            Some(gateway) => self.socket.send(&gateway.frame(bytes)),
        }
    }
}

impl AsFd for Attachment {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The frames for one that a kernel has sent: with checksums, and no longer than the MTU; none for a longer one that
/// cannot be divided.
fn whole_frames(frame: &[u8], mtu: usize) -> Vec<Vec<u8>> {
    let is_ip = EthernetFrame::decode(frame)
        .is_ok_and(|frame| [EtherType::IPV4, EtherType::IPV6].contains(&frame.ether_type));
    if !is_ip {
        let fits = frame.len() <= ETHERNET_HEADER_LEN + mtu;
        return fits.then(|| frame.to_vec()).into_iter().collect();
    }
    let (header, packet) = frame.split_at(ETHERNET_HEADER_LEN);
    let packets = offload::finish(packet, mtu).into_iter();
    packets.map(|packet| [header, &packet].concat()).collect()
}
