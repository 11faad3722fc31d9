//! What a failed link, or the want of a route, has lost of TCP: `drop_list` of yu-2004 §4.2, whatever the
//! routing protocol.

use alloc::vec::Vec;

use driftway_base::{
    SignalDetails, FailedLink, Ipv4Addr, PacketDisposition, SeqRanges, SeqRange, Signal, SignalKind,
};
use driftway_wire::{ConnInfo, ConnList, ConnPackets};

/// What is lost, by connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct DropList {
    list: Vec<ConnInfo>,
}

impl DropList {
    pub fn add(&mut self, info: Option<ConnInfo>) {
        let Some(info) = info else { return };
        if !self.list.iter_mut().any(|known| known.merge(&info)) {
            self.list.push(info);
        }
    }

    pub const fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn clear(&mut self) {
        self.list.clear();
    }

    pub fn as_slice(&self) -> &[ConnInfo] {
        &self.list
    }

    /// Whose packets these are.
    pub fn first_source(&self) -> Option<Ipv4Addr> {
        self.list.first().map(|info| info.flow.source.address)
    }

    /// Takes out what is of this source, as much as one list has room for.
    pub fn take_for_source(&mut self, source: Ipv4Addr) -> ConnList {
        let mut list = ConnList::EMPTY;
        self.list.retain(|info| info.flow.source.address != source || !list.push(info));
        list
    }

    /// The lists that have room for all of it.
    pub fn lists(&self) -> impl Iterator<Item = ConnList> {
        let mut rest = self.list.iter().peekable();
        core::iter::from_fn(move || {
            let mut list = ConnList::EMPTY;
            while rest.next_if(|info| list.push(info)).is_some() {}
            (!list.is_empty()).then_some(list)
        })
    }
}

/// News for the own TCP, of each packet by itself (yu-2004 §4.3.3).
pub(crate) fn loss_signals(
    info: &ConnInfo,
    link: FailedLink,
    reporter: Ipv4Addr,
) -> impl Iterator<Item = Signal> {
    let (runs, salvaged) = match &info.packets {
        ConnPackets::Data { salvaged, runs } => (Some(runs), *salvaged),
        ConnPackets::Acks { .. } => (None, false),
    };
    let disposition = if salvaged { PacketDisposition::Salvaged } else { PacketDisposition::Lost };
    let flow = info.flow;
    let segments = runs.into_iter().flat_map(driftway_wire::SegmentRuns::segments);
    segments.map(move |(start, len)| {
        let mut ranges = SeqRanges::default();
        ranges.push(SeqRange::new(start, start + u32::from(len)));
        let about = SignalDetails {
            destination: Some(flow.destination.address),
            flow: Some(flow),
            seq: Some(start),
            failed_link: Some(link),
            reporter: Some(reporter),
        };
        Signal { kind: SignalKind::PacketLost { ranges, disposition: fate: disposition }, details: about }
    })
}
