//! DSR on a time line.

mod discovery;
mod maintenance;
mod net;
mod random;
