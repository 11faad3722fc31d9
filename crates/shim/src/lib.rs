//! The layer under a foreign TCP that carries its connections over losses and outages: protocol
//! code without I/O. It sees every packet of a host's TCP, in both directions, as bytes; it stores
//! what is not acknowledged, and knows what the TCP above believes from what it sends. Neither TCP
//! nor application is changed, and if the shim goes away, each connection goes on as it is. See
//! [`Shim`] for the contract with a driver.
//!
//! # What decides
//!
//! An aid (crate `aid`), the same code as above our own TCP: [`carry`](driftway_aid::carry), or any other of
//! the list ([`Shim::with_aid`]). The shim is its driver. Which acts it can't do:
//!
//! | act | what is done | what is refused |
//! |---|---|---|
//! | `Hold` | new data are kept, retransmissions too, unless it is for an outage: then they go out as probes; other probes are stored originals, [`Config::probe_max`] apart at most, also where the aid wants none; what arrives later than whatever was on its way ends it; timers run on, and what they did is undone | a window that is neither that of before nor one segment |
//! | `Resume` | originals in order, new data behind them; or, without `step_back`, what had to wait | another window, a threshold, a timeout: it resumes with what it can |
//! | `Resend` | whole stored originals, ahead of all that waits | what is not stored |
//! | `Undo` | the original's echo | with nothing to undo; while congestion is echoed (RFC 4015 §3); for what was sent without ECT |
//! | `Cut` | ECE on what goes up, until CWR | without ECN |
//! | `Emit` | on the wire | beyond what the local TCP has acknowledged, or while one is on its way out |
//! | `SetTimer` | | always |
//! | `Limit` | | always |
//! | `Seek` | nothing is needed: a host's routes do not wait for a packet to be looked for | an echo |
//!
//! A segment that the aid drops is dropped; one that it replaces may have a smaller window, and nothing
//! else; none is kept back. Refusals are counted ([`Counts`], [`FlowStatus::refused`]). Of the view,
//! window, threshold, deadline and the state of recovery are unknown, RTO, segment size, the peer's
//! window and what was received estimated.
//!
//! # What it does, with carry
//!
//! - **Losses** that are not congestion are undone: an acknowledgment that covers what the local TCP
//!   has sent again gets the echo of the original, which makes the retransmission spurious in the
//!   eyes of any TCP with Eifel detection (RFC 3522, RFC 4015; Linux has it). Only where both ends
//!   have negotiated timestamps and ECN, never between an echo of congestion and the end of what was
//!   then out, and, until the path is known to mark, not what looks like congestion.
//! - **Outages**, known from an ICMP message that quotes what is in flight, or from the host's own link.
//!   While there is no path the oldest original is sent again and again,
//!   beside the local TCP's retransmissions, to see whether there is one; what is new is kept. Then the
//!   originals go in order, spread over a round trip, what was sent meanwhile behind them, holes being
//!   repaired from the store; the local TCP is told all of it at once, with a fresh echo, and what
//!   that makes it send is spread over a round trip, too.
//! - **Silence** that the losses of the connection do not explain. The local TCP goes on by itself, the
//!   oldest original is sent besides, as often as takes a twentieth of what the connection carried;
//!   if the answer shows that there was an outage, it is repaired as any other.
//! - **A way out** of every state, by time: whatever was said, truly or not, data flow two seconds after
//!   the path works (a probe, a round trip, what was held back), or, where the shim holds nothing or
//!   has not stored what the peer needs, as soon as the local TCP sends it again. Round trips of more
//!   than a quarter of a second take longer.
//!
//! # What it changes in packets, and what it makes up
//!
//! | where | what | when |
//! |---|---|---|
//! | to the local TCP | TSecr becomes the original's TSval | a loss is undone |
//! | to the local TCP | acknowledgment number held back, SACK blocks left out, of segments with data | during repair |
//! | to the network | acknowledgment, window, echo and ECE brought up to date; TSval raised to that of a retransmission that has left, or the peer would discard it (PAWS); no ECT if it was sent before (RFC 3168 §6.1.5) | a stored original is sent |
//! | to the local TCP | an acknowledgment of one byte with the original's echo, of what the peer has acknowledged already; at most four in an outage ([`Config::undo_ack`]) | the outage's timeouts are undone |
//! | to the local TCP | a router's latest ICMP message about the outage, about a retransmission | a probe may have drawn the real one: routers send few, and each that a retransmission does not draw is a doubling of its timeout that stands (RFC 6069) |
//! | to the network | the acknowledgment number is two bytes less; the full one follows with the next, or after 40 ms | more is arriving, if asked for ([`Config::hold_back`]) |
//! | to the network | the last acknowledgment of the local TCP, once more | this host's link is back, and nothing is outstanding that would carry it |
//! | to the local TCP | an acknowledgment of what the peer has acknowledged, with the echo of a round trip ago | the outage is over |
//!
//! **No byte is acknowledged to the local TCP before the peer has acknowledged it.** All checksums are
//! corrected by the difference (RFC 1624): what arrives broken is not believed and stays broken.
//!
//! # What it knowingly does not do
//!
//! | what | why |
//! |---|---|
//! | undo losses without ECN | nothing tells congestion from other losses there; a guess from the round trip ran away in measurements |
//! | know whether the routers of a path mark | ECN is agreed on by the ends. Until a mark was echoed, a loss is not undone where the queue was as long as at a loss before, or where more than an eighth of the flight is lost. A bottleneck that never marks, with a queue of a few packets, loses more than under TCP alone: about one packet in a hundred. There, turn [`Config::undo_losses`] off |
//! | freeze the local TCP with a zero window | with data in flight Linux then counts every further timeout as a new loss, which does harm |
//! | acknowledge ahead of the peer | the bytes would be lost if the shim went away |
//! | prevent the timeout itself | only an untrue acknowledgment would; it is undone afterwards |
//! | IPv6, fragments, connections without timestamps or with options it does not know (TCP-AO, MD5, MPTCP, Fast Open), older ones than itself, simultaneous opens | passed untouched, and counted by reason: an echo is what undoes, and what is not understood is not to be edited |
//! | send originals over a path that has become narrower | the local TCP cuts them itself (RFC 1191); what it has cut is not stored any more |
//! | undo the timeout of a segment of one byte, or of a bare FIN | nothing less than the whole segment could be acknowledged, and that would be a measurement of the round trip, as long as the outage |
//! | show an aid the peer's SYN where the peer opens the connection | nobody keeps what may be a flood. So `cwnd-limit` does not know the peer's scale there, and limits less |
//! | carry a handshake, or a reset of the local TCP, over an outage | a SYN is repeated by TCP itself; after a reset the peer learns of it when it next sends |
//! | carry an outage over the local TCP's own limits (on Linux `tcp_retries2`, about 15 minutes, or TCP_USER_TIMEOUT) | its timeouts go on |
//! | congestion control of many flows at once after an outage | each spreads its own flight over its own round trip |
//! | tell the local TCP of losses among what is repaired | its window is what it was, or one segment; the next loss or mark on the new path speaks for itself |

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
mod retransmission_queue;
mod flow;
mod handshake;
mod pace;
mod packet;
mod pool;
mod shim;

pub use config::Config;
pub use counts::{Counts, PacketDisposition, DiscardReason, UntouchedReason};
pub use driftway_aid::carry::CwndAfterOutage;
pub use flow::FlowStatus;
pub use shim::{Shim, PacketDestination};
