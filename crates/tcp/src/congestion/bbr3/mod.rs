//! BBR, version 3 (draft-ietf-ccwg-bbr-04).
//!
//! The model of the path has a long-term part, which probing finds: the bandwidth, maximum of two
//! cycles of probing, and the bytes in flight with which probing lost too much; and a short-term
//! part, which follows the losses of each round until the next probe.
//!
//! Where the draft leaves a choice, contradicts itself, or is silent:
//!
//! | item | here |
//! |---|---|
//! | gain of Drain: 0.35 (§5.3.2), 0.5 (§5.6.1) | 0.35 |
//! | units of `probe_up_cnt` and of the Reno-conscious bound (§5.3.3.5) | acknowledged bytes for each byte of growth; segments |
//! | `full_bw` for an acknowledgment without a rate | zero |
//! | `ACKS_PROBE_STOPPING` (§5.3.3.6 never leaves it, and would age the bandwidth in each round) | left as it ages the bandwidth, once in a cycle |
//! | losses that end Startup (§5.3.1.3 has no pseudocode) | at the end of a round of losses in fast recovery: six ranges, and more than 2 % of what was in flight |
//! | ECN (§3.7): marks MUST be treated as congestion | an ECN echo is a loss beyond the threshold: it ends Startup or a probe, and lowers the bounds at the end of the round |
//! | an undo (§5.6.4.4 restores cwnd) | the bounds from before the loss are restored, too, as in Linux' version 3 |
//! | an application that is idle in Startup or Drain | as the draft: nothing |
//! | request for a response to congestion ([`Act::ReduceCwnd`](driftway_base::Act)) | as an ECN echo |
//! | frozen timers | time that has not passed |
//! | window set by an aid | the window from which the next one grows; to that of a new connection: the path is forgotten, Startup begins |

mod ack_aggregation;
mod control;
mod cycle;
mod long_term;
mod min_rtt;
mod mode;
mod model;
mod probe_bw;
mod short_term;
mod window;

pub use control::Bbr3;

/// The state diagram in the DOT language.
pub(super) fn diagram() -> alloc::string::String {
    mode::MODES.diagram()
}

#[cfg(test)]
mod test;
