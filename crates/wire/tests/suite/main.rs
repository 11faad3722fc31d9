//! Tests of the packet formats: bytes from and to representations.

#[path = "../packets/mod.rs"]
mod packets;

mod aodv_bytes;
mod arp;
mod dsr_bytes;
mod etherparse;
mod known_bytes;
mod option_reader;
mod round_trip;
