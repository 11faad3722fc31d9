//! One TCP connection: the control block, and one file for each thing that happens to it. What is
//! below (flight, recoveries, growths, timers, the receiver) does not know of it.

mod ack;
mod acts;
mod control_block;
mod f_rto;
mod input;
mod lcd;
mod output;
mod pacing;
mod recovery_timers;
mod sender;
mod timeouts;
mod undo;

pub use control_block::{Agreed, Connection, Event, Transmit};
pub use input::{Received, reset_for};
