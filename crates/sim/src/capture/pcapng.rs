//! The blocks of a pcapng file.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::time::Duration as Span;

use driftway_base::{Instant, NodeId};
use driftway_wire::HardwareAddr;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::name_resolution::{Ipv4Record, NameResolutionBlock, Record};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::pcapng::blocks::{Block, PcapNgBlock};
use pcap_file::{Endianness, PcapError};

use super::interface::CaptureInterface;
use driftway_net::addresses::address;

/// Timestamps count 10⁻⁹ s.
const NANOSECONDS: u8 = 9;

type Output = Box<dyn Write + Send>;

/// Writes blocks, and each interface's description before its first packet. The first error of the
/// output is kept until the end, and nothing is written after it, so that the run itself is not
/// aborted.
pub struct CaptureWriter {
    out: io::Result<PcapNgWriter<Output>>,
    /// The numbers of the interfaces.
    interfaces: BTreeMap<CaptureInterface, u32>,
    /// True if packets on wires are Ethernet frames.
    pub is_ethernet: bool,
    /// The nodes whose names are written.
    named: BTreeSet<NodeId>,
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
            interfaces: BTreeMap::new(),
            is_ethernet: false,
            named: BTreeSet::new(),
        }
    }

    /// Writes a packet.
    pub fn write_packet(
        &mut self,
        interface: CaptureInterface,
        at: Instant,
        data: &[u8],
        comment: Option<&str>,
    ) {
        let interface_id = self.interface_id(interface);
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

    fn interface_id(&mut self, interface: CaptureInterface) -> u32 {
        if let Some(known) = self.interfaces.get(&interface) {
            return *known;
        }
        let mut options = vec![
            InterfaceDescriptionOption::IfName(interface.name().into()),
            InterfaceDescriptionOption::IfDescription(interface.description().into()),
            InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
        ];
        if let CaptureInterface::Node(node, _) = interface {
            options.push(InterfaceDescriptionOption::IfMacAddr(
                HardwareAddr::of_node(node).0.to_vec().into(),
            ));
        }
        let linktype = interface.link_type(self.is_ethernet);
        self.write_block(&InterfaceDescriptionBlock { linktype, snaplen: 0, options }.into_block());
        for node in interface.nodes().into_iter().flatten() {
            if self.named.insert(node) {
                self.write_node_name(node);
            }
        }
        let number = self.interfaces.len() as u32;
        self.interfaces.insert(interface, number);
        number
    }

    /// Writes the node's name, which Wireshark shows if it resolves addresses.
    fn write_node_name(&mut self, node: NodeId) {
        let record = Ipv4Record {
            ip_addr: address(node).octets().to_vec().into(),
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
