//! A layer below an unmodified TCP that carries its connections over losses and outages: protocol
//! code without I/O. It processes every packet of a host's TCP, in both directions, as bytes; it
//! stores segments until they are acknowledged, and infers the state of the local TCP from what
//! that sends. Neither TCP nor the application is changed, and if the shim goes away, each
//! connection continues as plain TCP. See [`Shim`] for the contract with a driver.
//!
//! # Control by an aid
//!
//! An aid (crate `aid`), the same code as above driftway's own TCP: [`carry`](driftway_aid::carry),
//! or any other of the registry ([`Shim::with_aid`]). The shim is its driver, with these limits:
//!
//! | act | implementation | refused |
//! |---|---|---|
//! | `Hold` | new data are stored, and so are retransmissions, except in an outage, where they leave as probes; other probes are stored originals, [`Config::probe_max`] apart at most, even if the aid wants none; a packet that cannot have been in flight when the hold began ends it; timers run on, and their effects are undone | a window other than the previous one or one segment |
//! | `Resume` | originals in order, then new data; without `rewind_snd_nxt`, only the waiting data | another window, a threshold, a timeout: it resumes with what is supported |
//! | `Resend` | whole stored originals, ahead of all waiting data | segments that are not stored |
//! | `Undo` | the original's timestamp as TSecr | with nothing to undo; while congestion is echoed (RFC 4015 §3); for segments sent without ECT |
//! | `ReduceCwnd` | ECE towards the local TCP, until CWR | without ECN |
//! | `SendAcks` | on the wire, in order; a number that is lower than what the peer has seen is raised to it | beyond what the local TCP has acknowledged, or while eight others are pending |
//! | `SetTimeoutResponse` | | always |
//! | `LimitCwnd` | | always |
//! | `ProbeRoute` | nothing to do: a host's routes are not discovered on demand | a single echo |
//!
//! A segment that the aid drops is dropped; a replaced one may have a smaller window, and, on the way
//! to the network, a lower acknowledgment number, and no other change; none is held. What an aid
//! withholds from the peer in this way (a lower number, a closed window) reaches it without the aid
//! after [`Config::hold_max`], but not while this host's link is down; when the peer retransmits what
//! is acknowledged; and with [`Shim::shut_down`]. Refusals are counted ([`Counts`], [`FlowStatus::refused`]). In the aid's
//! view, congestion window, threshold, timer deadline and recovery state are unknown; RTO, segment
//! size, the peer's window and the received data are estimates.
//!
//! # Behaviour with carry
//!
//! - **Losses** that are not congestion are undone: an acknowledgment of a retransmission by the
//!   local TCP gets the original's timestamp as TSecr, which makes the retransmission spurious for
//!   any TCP with Eifel detection (RFC 3522, RFC 4015; Linux has it). Only if both ends have
//!   negotiated timestamps and ECN, never from an echo of congestion until the data then
//!   outstanding are acknowledged, and, until the path is known to mark, not for losses that look
//!   like congestion.
//! - **Outages**, known from an ICMP message that quotes data in flight, or from the host's own
//!   link. During an outage the oldest original is sent repeatedly as a probe, beside the local
//!   TCP's retransmissions; new data are stored. Then the originals are sent in order, paced over
//!   one RTT, followed by the new data, and holes are repaired from the store; the local TCP gets
//!   one acknowledgment for all of it, with a fresh timestamp, and the data that this releases are
//!   paced over one RTT, too.
//! - **Silence** that the connection's loss rate does not explain. The local TCP continues by
//!   itself, and the oldest original is sent as a probe, using at most a twentieth of the
//!   connection's throughput; if the answer shows that there was an outage, it is repaired like any
//!   other.
//! - **Bounded recovery** from every state, by time: whatever was signalled, truly or not, data
//!   flow two seconds after the path works (a probe, an RTT, the withheld acknowledgments), or,
//!   where the shim holds nothing or has not stored what the peer needs, as soon as the local TCP
//!   retransmits. RTTs of more than a quarter of a second take longer.
//!
//! # Edited and synthetic packets
//!
//! | where | change | when |
//! |---|---|---|
//! | to the local TCP | TSecr becomes the original's TSval | a loss is undone |
//! | to the local TCP | acknowledgment number lowered, SACK blocks removed, in segments with data | during repair |
//! | to the network | acknowledgment, window, TSecr and ECE updated; TSval raised to that of a retransmission that has left, or the peer would discard the segment (PAWS); no ECT if it was sent before (RFC 3168 §6.1.5) | a stored original is sent |
//! | to the local TCP | an acknowledgment of one byte that the peer has acknowledged, with the original's timestamp; at most four in an outage ([`Config::undo_ack`]) | the outage's timeouts are undone |
//! | to the local TCP | a router's latest ICMP message about the outage, quoting a retransmission | a probe may have drawn the real one: routers limit their rate, and each message missed leaves a doubled timeout in place (RFC 6069) |
//! | to the network | the acknowledgment number is lowered by two bytes; the full one follows with the next, or after 40 ms | more data are arriving, if enabled ([`Config::hold_back`]) |
//! | to the network | the last acknowledgment of the local TCP, repeated | this host's link is back, and no data are outstanding |
//! | to the network | the acknowledgment number is lowered, the window closed; acknowledgments up to that of the local TCP | an aid for receivers requests it |
//! | to the local TCP | an acknowledgment of what the peer has acknowledged, with a timestamp one RTT old | the outage is over |
//!
//! **No byte is acknowledged to the local TCP before the peer has acknowledged it.** All checksums
//! are updated incrementally (RFC 1624): a corrupt packet is ignored and stays corrupt.
//!
//! # Where a flow begins
//!
//! With the handshake, or, if the driver lets young connections pass by ([`Shim::on_passed_by`]),
//! with the first intercepted segment of the local TCP. What was sent before is not stored.
//!
//! # Copies instead of packets
//!
//! While nothing is wrong with a flow, the driver may let its packets pass and give the shim copies
//! ([`Shim::on_watched`]): it keeps the same state, and edits, stores and drops nothing. The flow says when
//! its packets have to be intercepted ([`Shim::poll_flow_to_intercept`]).
//!
//! # Known limitations
//!
//! | limitation | reason |
//! |---|---|
//! | undo losses without ECN | congestion and other losses cannot be distinguished there; a guess from the RTT diverged in measurements |
//! | know whether the routers of a path mark | ECN is negotiated between the ends. Until a mark was echoed, a loss is not undone if the queue was as long as at an earlier loss, or if more than an eighth of the flight is lost. A bottleneck that never marks, with a queue of a few packets, loses about one packet in a hundred more than under TCP alone. There, turn [`Config::undo_losses`] off |
//! | freeze the local TCP with a zero window | with data in flight Linux then counts every further timeout as a new loss, which does harm |
//! | acknowledge ahead of the peer | the bytes would be lost if the shim went away |
//! | prevent the timeout itself | this would need a false acknowledgment; the timeout is undone afterwards |
//! | IPv6, fragments, connections without timestamps or with unknown options (TCP-AO, MD5, MPTCP, Fast Open), connections older than the shim, simultaneous opens | passed untouched, and counted by reason: undoing needs timestamps, and packets that are not fully understood are not edited. A host decides by its own SYN, or by its SYN-ACK and the other's answer: a server carries a connection with MPTCP that it has declined, or with data in the SYN |
//! | send originals over a path with a smaller MTU | the local TCP resegments them itself (RFC 1191); its new segments are not stored |
//! | undo the timeout of a segment of one byte, or of a bare FIN | only the whole segment could be acknowledged, which would be an RTT sample as long as the outage |
//! | show an aid the peer's SYN in a passive open | storing it would be open to SYN floods. So `cwnd-limit` does not know the peer's window scale there, and limits less |
//! | carry a handshake, or a reset of the local TCP, over an outage | TCP itself retransmits a SYN; after a reset the peer learns of it when it next sends |
//! | carry an outage beyond the local TCP's own limits (on Linux `tcp_retries2`, about 15 minutes, or TCP_USER_TIMEOUT) | its timeouts go on |
//! | congestion control across many flows after an outage | each paces its own flight over its own RTT |
//! | report losses during the repair to the local TCP | its window is the previous one, or one segment; the next loss or mark on the new path reduces it |

#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod config;
mod counts;
mod flow;
mod handshake;
mod negotiated;
mod pace;
mod packet;
mod pool;
mod retransmission_queue;
mod shim;

pub use config::Config;
pub use counts::{Counts, DiscardReason, PacketAction, UntouchedReason};
pub use driftway_aid::LossDecisions;
pub use driftway_aid::carry::CwndAfterOutage;
pub use flow::{FlowState, FlowStatus};
pub use handshake::UNSEEN_MAX;
pub use packet::{PacketDestination, Segment, complete_checksums, parse_headers};
pub use shim::Shim;
