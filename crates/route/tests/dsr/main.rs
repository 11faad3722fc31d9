//! DSR on a time line.

mod blacklist;
mod confirm;
mod discovery;
mod flow;
mod gateway;
mod losses;
mod maintenance;
mod net;
mod random;
mod replies;
mod switches;
mod update;
