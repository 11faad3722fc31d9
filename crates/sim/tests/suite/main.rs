//! Tests of the simulator: whole runs of scenarios.

#[path = "../common/mod.rs"]
mod common;

mod acknowledged;
mod adhoc;
mod airs;
mod arp;
mod bbr;
mod both_ways;
mod carry;
mod determinism;
mod fair_queues;
mod faults;
mod feedback;
mod handoff;
mod link_retry;
mod losses;
mod lost_messages;
mod measures;
mod mixed;
mod modern_tcp;
mod neighbours;
mod observers;
mod outcomes;
mod reach;
mod reconnection;
mod rfn;
mod send_failures;
mod simulation;
mod sorted_queues;
mod split;
mod split_random;
mod theory;
mod traces;
mod traffic;
mod unreachable_at;
