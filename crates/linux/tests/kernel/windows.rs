//! Closed windows: either end probes the other's.

use std::time::Duration as StdDuration;

use driftway_linux::{KernelTimer, Namespace};

use crate::application::{
    Application, Opener, PEER, UNIMPAIRED, both_ways, config, impaired, kernel_side_info, peer,
    unimpaired,
};
use crate::peer::{Options, Step};

tests![
    we_probe_the_window_that_the_kernel_closed,
    the_kernel_probes_the_window_that_we_closed,
    the_kernel_accepts_our_acks_while_its_window_is_closed,
];

/// Opener and impairments.
fn cases() -> [(Opener, (u64, driftway_linux::Impairment)); 4] {
    let [good, bad] = [(0, UNIMPAIRED), (2, impaired(0.05))];
    [(Opener::We, good), (Opener::Kernel, good), (Opener::We, bad), (Opener::Kernel, bad)]
}

fn we_probe_the_window_that_the_kernel_closed() {
    for (opens, cable) in cases() {
        let namespace = Namespace::new().unwrap();
        let cable = both_ways(&namespace, cable);
        let mut application = Application::start(cable, opens, &config(), 120_000);
        let small = Options { receive_buffer: Some(8192), ..PEER };
        let steps = [Step::Receive(1), Step::Pause(StdDuration::from_secs(3)), Step::ReceiveAll];
        let slow = peer(&namespace, opens, small, &steps);
        application.run_until("the pause", |a| a.driver.connection().stats().probes >= 3);
        assert!(application.sent.bytes() < 120_000);
        application.run_until("the rest", Application::is_over);
        let outcome = slow.outcome();
        outcome.received.assert_complete(120_000);
        outcome.received.assert_same(&application.sent);
    }
}

fn the_kernel_probes_the_window_that_we_closed() {
    for (opens, cable) in cases() {
        let namespace = Namespace::new().unwrap();
        let cable = both_ways(&namespace, cable);
        let mut application = Application::start(cable, opens, &config(), 0);
        application.reads = false;
        application.closes = false;
        let fast = peer(&namespace, opens, PEER, &[Step::Send(500_000)]);
        application.run_until("a closed window", |_| {
            let timer = kernel_side_info(&namespace).and_then(|tcp| tcp.timer);
            matches!(timer, Some(KernelTimer::Probe { .. }))
        });
        // Its probes are answered, without effect.
        application
            .run_until("probes", |_| kernel_side_info(&namespace).unwrap().info.backoff >= 2);
        let readable = application.driver.connection().readable_bytes();
        assert_eq!(readable, config().receive_buffer);
        application.reads = true;
        application.run_until("the rest", |a| a.received.bytes() == 500_000);
        application.closes = true;
        application.run_until("the end", Application::is_over);
        application.received.assert_complete(500_000);
        application.received.assert_same(&fast.outcome().sent);
    }
}

/// A segment beyond the kernel's window is dropped with its acknowledgment, so that during window
/// probes acknowledgments must not use the sequence number of the probe's byte.
fn the_kernel_accepts_our_acks_while_its_window_is_closed() {
    let namespace = Namespace::new().unwrap();
    let mut application =
        Application::start(unimpaired(&namespace), Opener::We, &config(), 2_000_000);
    application.closes = false;
    let small = Options { receive_buffer: Some(8192), ..PEER };
    // It does not read yet, so that driftway's data close its window.
    let steps = [Step::Pause(StdDuration::from_secs(1)), Step::Send(5_000_000), Step::ReceiveAll];
    let other = peer(&namespace, Opener::We, small, &steps);
    application.run_until("probes", |a| a.driver.connection().stats().probes > 0);
    application.run_until("theirs", |a| a.received.bytes() == 5_000_000);
    application.closes = true;
    application.run_until("ours", Application::is_over);
    other.outcome().received.assert_complete(2_000_000);
}
