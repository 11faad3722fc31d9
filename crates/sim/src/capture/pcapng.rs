//! The blocks of a pcapng file and its interfaces.

use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Duration as Span;

use driftway_base::Instant;
use driftway_wire::HardwareAddr;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::name_resolution::{Ipv4Record, NameResolutionBlock, Record};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::pcapng::blocks::{Block, PcapNgBlock};
use pcap_file::{DataLink, Endianness, PcapError};

use driftway_net::addresses::address;

/// Timestamps count 10⁻⁹ s.
const NANOSECONDS: u8 = 9;

type Output = Box<dyn Write + Send>;

/// Writes blocks, and each interface's description before its first packet. The first error of the
/// output is kept until the end, and nothing is written after it, so that the run itself is not
/// aborted.
pub struct CaptureWriter {
    out: io::Result<PcapNgWriter<Output>>,
    /// The interface of each node that has sent a frame.
    node_interfaces: Vec<Option<u32>>,
    drop_interface: Option<u32>,
    interface_count: u32,
}

impl CaptureWriter {
    pub fn new(out: Output, about: &str) -> Self {
        let application = concat!("driftway ", env!("CARGO_PKG_VERSION"));
        // The byte order is fixed, so that the file is the same on every machine.
        let section = SectionHeaderBlock {
            endianness: Endianness::Little,
            options: vec![
                SectionHeaderOption::Comment(about.to_owned().into()),
                SectionHeaderOption::UserApplication(application.into()),
            ],
            ..SectionHeaderBlock::default()
        };
        Self {
            out: PcapNgWriter::with_section_header(out, section).map_err(io_error),
            node_interfaces: Vec::new(),
            drop_interface: None,
            interface_count: 0,
        }
    }

    /// Writes a packet: on the interface of the node that sent it, or on that of the drops.
    pub fn write_packet(
        &mut self,
        node: Option<u32>,
        at: Instant,
        data: &[u8],
        comment: Option<&str>,
    ) {
        let interface_id = self.interface_id(node);
        let comment = comment.map(|text| EnhancedPacketOption::Comment(Cow::Borrowed(text)));
        self.write_block(&Block::EnhancedPacket(EnhancedPacketBlock {
            interface_id,
            timestamp: Span::from_nanos(at.as_nanos()),
            original_len: data.len() as u32,
            data: Cow::Borrowed(data),
            options: comment.into_iter().collect(),
        }));
    }

    pub fn finish(self) -> io::Result<()> {
        self.out?.into_inner().flush()
    }

    fn write_block(&mut self, block: &Block<'_>) {
        if let Ok(out) = &mut self.out
            && let Err(error) = out.write_block(block)
        {
            self.out = Err(io_error(error));
        }
    }

    fn interface_id(&mut self, node: Option<u32>) -> u32 {
        let known = match node {
            Some(node) => self.node_interfaces.get(node as usize).copied().flatten(),
            None => self.drop_interface,
        };
        if let Some(interface) = known {
            return interface;
        }
        let (name, description) = match node {
            Some(node) => (format!("node-{node}"), format!("frames sent by node {node}")),
            None => ("lost".to_owned(), "packets dropped in a node, not transmitted".to_owned()),
        };
        let mut options = vec![
            InterfaceDescriptionOption::IfName(name.into()),
            InterfaceDescriptionOption::IfDescription(description.into()),
            InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
        ];
        if let Some(node) = node {
            options.push(InterfaceDescriptionOption::IfMacAddr(
                HardwareAddr::of_node(node).0.to_vec().into(),
            ));
        }
        let linktype = DataLink::IEEE802_11_RADIOTAP;
        self.write_block(&InterfaceDescriptionBlock { linktype, snaplen: 0, options }.into_block());
        let interface = self.interface_count;
        self.interface_count += 1;
        match node {
            None => self.drop_interface = Some(interface),
            Some(node) => {
                self.write_node_name(node);
                let node = node as usize;
                if self.node_interfaces.len() <= node {
                    self.node_interfaces.resize(node + 1, None);
                }
                self.node_interfaces[node] = Some(interface);
            }
        }
        interface
    }

    /// Writes the node's name, which Wireshark shows if it resolves addresses.
    fn write_node_name(&mut self, node: u32) {
        let record = Ipv4Record {
            ip_addr: address(node as usize).octets().to_vec().into(),
            names: vec![format!("node-{node}").into()],
        };
        let records = vec![Record::Ipv4(record)];
        self.write_block(&NameResolutionBlock { records, options: Vec::new() }.into_block());
    }
}

fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}
