//! One TCP connection: the control block, and a file for each kind of event and rule. The modules
//! below it (send state, recoveries, window growths, timers, receiver) do not depend on it.

mod ack;
mod ack_delay;
mod acts;
mod congestion;
mod control_block;
mod f_rto;
mod input;
mod lcd;
mod local_drop;
mod output;
mod pacing;
mod prr;
mod recovery_timers;
mod sender;
mod timeouts;
mod undo;
mod window_validation;

pub use control_block::{Connection, Event, NegotiatedOptions, Transmit};
pub use input::{Received, reset_for};
