//! Comparison of all aids over all TCPs on some networks, `driftway compare`: what helps on which network.
//!
//! [`arms`] lists the TCPs and the aids, [`networks`] makes a study of scenarios with an arm for each pair, and [`runs`]
//! performs it and keeps of each run what is compared. The [`document`](document()) has comparisons paired by seed, their
//! significance by Holm's procedure, what follows for each situation, and the verdicts on [`hypotheses`]. Whatever is chosen
//! by results is chosen with [`runs::CHOOSING_SEEDS`] and shown with others.

mod advice;
pub mod arms;
mod causes;
mod cells;
pub mod document;
mod holm;
pub mod hypotheses;
pub mod kernel;
mod network;
pub mod networks;
mod outcome;
pub mod runs;
mod target;

pub use network::ComparedNetwork;
pub use outcome::document;
