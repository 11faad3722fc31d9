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

use crate::nodes::address;

/// Timestamps count 10⁻⁹ s.
const NANOSECONDS: u8 = 9;

type Output = Box<dyn Write + Send>;

/// Writes blocks, and each interface's description before its first packet. The first error of the
/// output is kept until the end, and nothing is written after it, so that the run itself is not
/// aborted.
pub struct Blocks {
    out: io::Result<PcapNgWriter<Output>>,
    /// The interface of each node that has sent a frame.
    of_node: Vec<Option<u32>>,
    of_lost: Option<u32>,
    interfaces: u32,
}

impl Blocks {
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
            of_node: Vec::new(),
            of_lost: None,
            interfaces: 0,
        }
    }

    /// Writes a packet: on the interface of the node that sent it, or on that of the drops.
    pub fn packet(&mut self, node: Option<u32>, at: Instant, data: &[u8], comment: Option<&str>) {
        let interface_id = self.interface(node);
        let comment = comment.map(|text| EnhancedPacketOption::Comment(Cow::Borrowed(text)));
        self.write(&Block::EnhancedPacket(EnhancedPacketBlock {
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

    fn write(&mut self, block: &Block<'_>) {
        if let Ok(out) = &mut self.out
            && let Err(error) = out.write_block(block)
        {
            self.out = Err(io_error(error));
        }
    }

    fn interface(&mut self, node: Option<u32>) -> u32 {
        let known = match node {
            Some(node) => self.of_node.get(node as usize).copied().flatten(),
            None => self.of_lost,
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
        self.write(&InterfaceDescriptionBlock { linktype, snaplen: 0, options }.into_block());
        let interface = self.interfaces;
        self.interfaces += 1;
        match node {
            None => self.of_lost = Some(interface),
            Some(node) => {
                self.name(node);
                let node = node as usize;
                if self.of_node.len() <= node {
                    self.of_node.resize(node + 1, None);
                }
                self.of_node[node] = Some(interface);
            }
        }
        interface
    }

    /// Writes the node's name, which Wireshark shows if it resolves addresses.
    fn name(&mut self, node: u32) {
        let record = Ipv4Record {
            ip_addr: address(node as usize).octets().to_vec().into(),
            names: vec![format!("node-{node}").into()],
        };
        let records = vec![Record::Ipv4(record)];
        self.write(&NameResolutionBlock { records, options: Vec::new() }.into_block());
    }
}

fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}
