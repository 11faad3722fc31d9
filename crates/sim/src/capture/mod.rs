//! What was on the air, as a file for Wireshark: pcapng with radiotap, 802.11 and the packets'
//! bytes, and a comment on what was lost.
//!
//! One record a frame on the air, on an interface of the node that sent it: CTS and ACK do not name
//! their sender, so nothing else would tell. What dies inside a node has a record on the interface
//! `lost`, marked as a failed transmission, at the instant at which it died, from the node where,
//! to the next hop if there was one; the comment says why. All interfaces are radiotap's, because
//! readers built on libpcap refuse files that mix kinds of link.
//!
//! Time 0 of a run is the epoch's. A record's time is its preamble's first bit; radiotap's is that
//! of the first bit behind the physical header. Bytes that a simulator adds to a packet, and that
//! belong to no header (`Routed::padding`), stand behind the end that the IP header tells, as zeros;
//! those that it leaves out are there, because the bytes are the standard's.

mod dot11;
mod pcapng;
mod radiotap;
#[cfg(test)]
mod test;

use std::io::{self, Write};

use base::{Duration, Instant, Rate};
use wire::{EncodeError, Payload, Routed};

use dot11::{Header, mac};
use pcapng::Blocks;
use radiotap::Radiotap;

pub use dot11::Kind;

/// A capture of one run, written as the run goes.
pub struct Capture {
    blocks: Blocks,
    channel_mhz: u16,
    /// The record under construction.
    record: Vec<u8>,
}

/// What a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried<'a> {
    /// RTS, CTS and ACK: nothing.
    Nothing,
    /// A packet.
    Packet(&'a Routed),
    /// An ARP message (RFC 826).
    Arp(&'a [u8; 28]),
}

/// A frame that was put on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// When its preamble's first bit was sent.
    pub at: Instant,
    /// How long preamble and physical header take.
    pub preamble: Duration,
    /// Its rate behind them.
    pub rate: Rate,
    /// Which kind.
    pub kind: Kind,
    /// Who sent it.
    pub from: u32,
    /// Who is to receive it; `None` for all.
    pub to: Option<u32>,
    /// What it says to others' NAVs.
    pub duration: Duration,
    /// The number of its packet, 12 bits.
    pub sequence: u16,
    /// Sent before.
    pub retry: bool,
    /// What it carries.
    pub carried: Carried<'a>,
}

/// The preamble of 802.11b that is short takes 96 µs with its header; the long one 192.
const SHORT_PREAMBLE: Duration = Duration::from_micros(96);

impl Capture {
    /// Begins a capture: of which scenario and seed, with how many nodes, on which frequency (MHz).
    pub fn new(
        out: Box<dyn Write + Send>,
        scenario: &str,
        seed: u64,
        nodes: u32,
        channel_mhz: u16,
    ) -> Self {
        let about = format!("{scenario}, seed {seed}");
        Self { blocks: Blocks::new(out, &about, nodes), channel_mhz, record: Vec::new() }
    }

    /// A frame on the air; `remark` is what became of it, where that is worth one.
    pub fn frame(&mut self, frame: &Frame<'_>, remark: Option<&str>) {
        self.record.clear();
        let radiotap = Radiotap {
            at: frame.at + frame.preamble,
            short_preamble: frame.preamble == SHORT_PREAMBLE,
            fcs: true,
            rate: Some(frame.rate),
            channel_mhz: self.channel_mhz,
            signal_dbm: None,
            failed: false,
        };
        radiotap.write(&mut self.record);
        let start = self.record.len();
        let header = Header {
            kind: frame.kind,
            receiver: frame.to.map_or(dot11::BROADCAST, mac),
            transmitter: mac(frame.from),
            duration: frame.duration,
            sequence: frame.sequence,
            retry: frame.retry,
        };
        header.write(&mut self.record);
        let encoded = write_carried(frame.carried, &mut self.record);
        dot11::write_fcs(start, &mut self.record);
        let remark = said(remark, encoded);
        self.blocks.packet(Some(frame.from), frame.at, &self.record, remark.as_deref());
    }

    /// A packet died in `node`, on its way to `next_hop` if it had got so far; `why` is what its
    /// comment says after the place.
    pub fn lost(
        &mut self,
        at: Instant,
        node: u32,
        next_hop: Option<u32>,
        packet: &Routed,
        why: &str,
    ) {
        self.record.clear();
        let radiotap = Radiotap {
            at,
            short_preamble: false,
            fcs: false,
            rate: None,
            channel_mhz: self.channel_mhz,
            signal_dbm: None,
            failed: true,
        };
        radiotap.write(&mut self.record);
        let header = Header {
            kind: Kind::Data,
            receiver: next_hop.map_or(dot11::NOBODY, mac),
            transmitter: mac(node),
            duration: Duration::ZERO,
            sequence: 0,
            retry: false,
        };
        header.write(&mut self.record);
        let encoded = write_carried(Carried::Packet(packet), &mut self.record);
        let remark = said(Some(&format!("dropped at node {node}: {why}")), encoded);
        self.blocks.packet(None, at, &self.record, remark.as_deref());
    }

    /// Ends the capture.
    ///
    /// # Errors
    /// What the output refused, now or before.
    pub fn finish(self) -> io::Result<()> {
        self.blocks.finish()
    }
}

/// Appends LLC, SNAP and what they announce. What no header can say is left out, and told.
fn write_carried(carried: Carried<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    match carried {
        Carried::Nothing => Ok(()),
        Carried::Arp(message) => {
            dot11::write_llc_snap(dot11::ARP, out);
            out.extend(message);
            Ok(())
        }
        Carried::Packet(packet) => {
            dot11::write_llc_snap(dot11::IPV4, out);
            let start = out.len();
            let standard = Routed { padding: 0, ..*packet };
            out.resize(start + standard.len() as usize, 0);
            let bytes = out.get_mut(start..).unwrap_or_default();
            let encoded = standard.encode(bytes, Payload::pattern);
            if encoded.is_err() {
                out.truncate(start);
            }
            let more = usize::try_from(packet.padding).unwrap_or(0);
            out.resize(out.len() + more, 0);
            encoded.map(drop)
        }
    }
}

fn said(remark: Option<&str>, encoded: Result<(), EncodeError>) -> Option<String> {
    let missing = encoded.err().map(|error| format!("its packet has no bytes: {error}"));
    let parts: Vec<String> = remark.map(str::to_owned).into_iter().chain(missing).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}
