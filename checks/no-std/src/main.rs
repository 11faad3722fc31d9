//! Links the protocol crates without the standard library, with a panic handler and an allocator of its own.
//! Built, never run.

#![no_std]
#![no_main]

extern crate alloc;

use core::alloc::{GlobalAlloc, Layout};
use core::panic::PanicInfo;

use driftway_route::RoutingProtocol;
use driftway_base::{Duration, Endpoint, Instant, Ipv4Addr, Seq};

struct Nothing;

// SAFETY: it never returns memory, and every caller must handle allocation failure.
unsafe impl GlobalAlloc for Nothing {
    unsafe fn alloc(&self, _: Layout) -> *mut u8 {
        core::ptr::null_mut()
    }
    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static ALLOCATOR: Nothing = Nothing;

#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    loop {}
}

/// The precompiled `alloc` refers to it because it was built with unwinding; nothing unwinds here.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

/// Uses an item of each crate, so that the crates are linked.
#[unsafe(no_mangle)]
pub extern "C" fn _start() -> ! {
    let end = |host, port| Endpoint::new(Ipv4Addr::new(10, 0, 0, host), port);
    let config = driftway_tcp::Config::default();
    let mut connection =
        driftway_tcp::Connection::connect(&config, end(1, 1), end(2, 2), Seq(0), 0, Instant::ZERO);
    let mut aided = driftway_aid::registry::AIDS.first().and_then(|aid| aid.build(&[]).ok());
    if let (Some(sent), Some(aid)) = (connection.poll_transmit(Instant::ZERO), &mut aided) {
        let _ = aid.on_down(Instant::ZERO, &sent.segment, &connection.view());
        let packet = driftway_wire::Packet {
            ip: driftway_wire::IpHeader::new(end(1, 1).address, end(2, 2).address),
            body: driftway_wire::Body::Tcp(sent.segment),
        };
        let rfn_lifetime = Duration::from_secs(20);
        let config = driftway_route::feedback::RfnConfig { rfn_lifetime, buffer: None };
        let schemes = [driftway_route::feedback::SchemeConfig::Rfn(config)];
        let mut feedback = driftway_route::feedback::Feedback::new(end(1, 1).address, &schemes);
        driftway_route::feedback::Scheme::on_packet(&mut feedback, driftway_base::Instant::ZERO, end(2, 2).address);
        let mut dsr = driftway_route::Dsr::new(driftway_route::DsrConfig::STANDARD, end(1, 1).address, 1, 1);
        dsr.send(driftway_base::Instant::ZERO, packet);
        let mut aodv = driftway_route::Aodv::new(driftway_route::AodvConfig::STANDARD, end(1, 1).address, 1, 1);
        aodv.send(Instant::ZERO, packet);
        let _ = aodv.poll(Instant::ZERO);
        let _ = packet.encode(&mut [0; 60], driftway_wire::Payload::fill_pattern);
    }
    let _ = driftway_link::Delay::Fixed(Duration::ZERO);
    let mut shim = driftway_shim::Shim::new(driftway_shim::Config::default());
    let _ = shim.on_outgoing(Instant::ZERO, &mut [0; 40]);
    loop {}
}
