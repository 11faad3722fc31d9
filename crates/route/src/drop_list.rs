//! TCP segments lost by a link failure or for lack of a route: `drop_list` of yu-2004 §4.2, for any routing
//! protocol.

use alloc::vec::Vec;

use driftway_base::{
    FailedLink, Ipv4Addr, PacketDisposition, SeqRange, SeqRanges, Signal, SignalDetails, SignalKind,
};
use driftway_wire::{ConnInfo, ConnList, ConnPackets};

/// Lost segments, by connection.
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

    /// The source of the first entry.
    pub fn first_source(&self) -> Option<Ipv4Addr> {
        self.list.first().map(|info| info.flow.source.address)
    }

    /// Removes the entries of this source, as many as one list has room for.
    pub fn take_for_source(&mut self, source: Ipv4Addr) -> ConnList {
        let mut list = ConnList::EMPTY;
        self.list.retain(|info| info.flow.source.address != source || !list.push(info));
        list
    }

    /// The lists that together hold all entries.
    pub fn conn_lists(&self) -> impl Iterator<Item = ConnList> {
        let mut rest = self.list.iter().peekable();
        core::iter::from_fn(move || {
            let mut list = ConnList::EMPTY;
            while rest.next_if(|info| list.push(info)).is_some() {}
            (!list.is_empty()).then_some(list)
        })
    }
}

/// The signals for the local TCP, one per packet (yu-2004 §4.3.3).
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
        let details = SignalDetails {
            destination: Some(flow.destination.address),
            flow: Some(flow),
            seq: Some(start),
            failed_link: Some(link),
            reporter: Some(reporter),
        };
        Signal { kind: SignalKind::PacketLost { ranges, disposition }, details }
    })
}
