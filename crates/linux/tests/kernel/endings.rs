//! The end of connections: all orders of closing, half-closed connections, resets.

use std::io::ErrorKind;
use std::time::Duration as StdDuration;

use driftway_base::Duration;
use driftway_linux::{Impairment, ImpairmentCounts, Namespace};
use driftway_tcp::{Event, State};

use crate::application::{
    Application, Opener, PEER, UNIMPAIRED, both_ways, config, impaired, kernel_side_state, peer,
    unimpaired,
};
use crate::peer::Step;

tests![
    we_close_first,
    the_kernel_closes_first,
    both_close_at_once,
    after_our_half_close_the_kernel_goes_on,
    after_the_kernels_half_close_we_go_on,
    a_reset_from_the_kernel_is_seen_as_one,
    a_reset_from_us_is_seen_as_one,
    a_closed_port_refuses,
];

/// Runs `case` over an unimpaired device and over `bad` ones, opened from either end.
fn everywhere(
    bad: Impairment,
    case: impl Fn(&Namespace, (u64, Impairment), Opener) -> Application,
) {
    let mut met = ImpairmentCounts::default();
    for (seed, impairment) in (0..).zip([UNIMPAIRED, UNIMPAIRED, bad, bad, bad, bad]) {
        let opens = Opener::BOTH[seed as usize % 2];
        let mut application = case(&Namespace::new().unwrap(), (seed, impairment), opens);
        let (to, from) = application.driver.device().counts();
        for counts in [to, from] {
            met.dropped += counts.dropped;
            met.duplicated += counts.duplicated;
            met.reordered += counts.reordered;
            met.corrupted += counts.corrupted;
        }
    }
    let ImpairmentCounts { dropped, duplicated, reordered, corrupted, .. } = met;
    assert!([dropped, duplicated, reordered, corrupted].iter().all(|n| *n > 0), "{met:?}");
}

fn we_close_first() {
    everywhere(impaired(0.05), |namespace, cable, opens| {
        let cable = both_ways(namespace, cable);
        let mut application = Application::start(cable, opens, &config(), 3000);
        // The kernel has read everything that was sent before the close.
        let other = peer(namespace, opens, PEER, &[Step::Send(3000), Step::ReceiveAll]);
        application.run_until("the end", |a| {
            a.state() == State::TimeWait && kernel_side_state(namespace) == State::Closed
        });
        let seen = |state| application.states.contains(&state);
        assert!(!seen(State::CloseWait) && !seen(State::Closing), "{:?}", application.states);
        application.received.assert_complete(3000);
        let outcome = other.outcome();
        outcome.received.assert_complete(3000);
        assert_eq!(outcome.error, None);
        application
    });
}

fn the_kernel_closes_first() {
    everywhere(impaired(0.05), |namespace, cable, opens| {
        let cable = both_ways(namespace, cable);
        let mut application = Application::start(cable, opens, &config(), 0);
        application.closes = false;
        let steps = [Step::Send(3000), Step::HalfClose, Step::ReceiveAll];
        let other = peer(namespace, opens, PEER, &steps);
        application.run_until("its FIN", |a| a.driver.connection().peer_closed());
        assert_eq!(application.state(), State::CloseWait);
        (application.sends, application.closes) = (3000, true);
        application.run_until("the end", |a| a.state() == State::Closed);
        assert_eq!(application.events.last(), Some(&Event::Closed));
        assert_eq!(kernel_side_state(namespace), State::TimeWait);
        application.received.assert_complete(3000);
        let outcome = other.outcome();
        outcome.received.assert_complete(3000);
        assert_eq!(outcome.error, None);
        application
    });
}

fn both_close_at_once() {
    /// Long enough for both to close before either receives a FIN.
    const ON_THE_WAY: Duration = Duration::from_millis(150);
    // Few packets follow.
    everywhere(impaired(0.2), |namespace, (seed, impairment), opens| {
        let slow = Impairment { delay: ON_THE_WAY, ..UNIMPAIRED };
        let cable = both_ways(namespace, (seed, slow));
        let mut application = Application::start(cable, opens, &config(), 0);
        application.closes = false;
        // Its byte and its pause take the same time.
        let pause = Step::Pause(StdDuration::from_nanos(ON_THE_WAY.as_nanos()));
        let steps = [Step::Send(1), pause, Step::HalfClose, Step::ReceiveAll];
        let other = peer(namespace, opens, PEER, &steps);
        application.run_until("its byte", |a| a.received.bytes() == 1);
        // From now on FINs and their acknowledgments are impaired.
        let impairment = Impairment { delay: ON_THE_WAY, ..impairment };
        application.driver.device().set_impairments(impairment, impairment);
        application.closes = true;
        application.run_until("FIN-WAIT-1", |a| a.state() == State::FinWait1);
        assert!(!application.driver.connection().peer_closed());
        // A passive closer enters CLOSED from LAST-ACK: neither did.
        application.run_until("the end", |a| {
            a.state() == State::TimeWait && kernel_side_state(namespace) == State::TimeWait
        });
        if seed < 2 {
            // Nothing was lost: the FINs crossed.
            assert!(application.states.contains(&State::Closing), "{:?}", application.states);
        }
        assert!(!application.states.contains(&State::CloseWait), "{:?}", application.states);
        assert_eq!(other.outcome().error, None);
        application
    });
}

fn after_our_half_close_the_kernel_goes_on() {
    everywhere(impaired(0.05), |namespace, cable, opens| {
        let cable = both_ways(namespace, cable);
        let mut application = Application::start(cable, opens, &config(), 10);
        let other = peer(namespace, opens, PEER, &[Step::ReceiveAll, Step::Send(50_000)]);
        application.run_until("what follows", Application::is_over);
        assert_eq!(application.state(), State::TimeWait);
        application.received.assert_complete(50_000);
        let outcome = other.outcome();
        outcome.received.assert_complete(10);
        application.received.assert_same(&outcome.sent);
        application
    });
}

fn after_the_kernels_half_close_we_go_on() {
    everywhere(impaired(0.05), |namespace, cable, opens| {
        let cable = both_ways(namespace, cable);
        let mut application = Application::start(cable, opens, &config(), 0);
        application.closes = false;
        let steps = [Step::Send(10), Step::HalfClose, Step::ReceiveAll];
        let other = peer(namespace, opens, PEER, &steps);
        application.run_until("its FIN", |a| a.driver.connection().peer_closed());
        assert_eq!(application.state(), State::CloseWait);
        (application.sends, application.closes) = (50_000, true);
        application.run_until("what follows", Application::is_over);
        assert_eq!(application.state(), State::Closed);
        application.received.assert_complete(10);
        let outcome = other.outcome();
        outcome.received.assert_complete(50_000);
        outcome.received.assert_same(&application.sent);
        application
    });
}

fn a_reset_from_the_kernel_is_seen_as_one() {
    everywhere(impaired(0.05), |namespace, cable, opens| {
        let cable = both_ways(namespace, cable);
        // More than is read, so that a lost reset is sent again.
        let mut application = Application::start(cable, opens, &config(), 500_000);
        let resets = peer(namespace, opens, PEER, &[Step::Receive(10), Step::Reset]);
        application.run_until("a reset", |a| a.events.contains(&Event::Reset));
        assert_eq!(application.state(), State::Closed);
        resets.outcome().received.assert_complete(10);
        assert_eq!(kernel_side_state(namespace), State::Closed);
        application
    });
}

fn a_reset_from_us_is_seen_as_one() {
    everywhere(impaired(0.05), |namespace, cable, opens| {
        let cable = both_ways(namespace, cable);
        let mut application = Application::start(cable, opens, &config(), 10);
        application.closes = false;
        // Again enough that a lost reset is sent again.
        let other = peer(namespace, opens, PEER, &[Step::Receive(10), Step::Send(5_000_000)]);
        application.run_until("an answer", |a| a.received.bytes() > 0);
        application.driver.abort();
        assert_eq!(application.state(), State::Closed);
        application.run_until("its end", |_| other.is_done());
        let outcome = other.outcome();
        outcome.received.assert_complete(10);
        assert_eq!(outcome.error, Some(ErrorKind::ConnectionReset));
        assert_eq!(kernel_side_state(namespace), State::Closed);
        application
    });
}

fn a_closed_port_refuses() {
    let namespace = Namespace::new().unwrap();
    let mut application = Application::start(unimpaired(&namespace), Opener::We, &config(), 10);
    application.run_until("refusal", |a| a.events.contains(&Event::Reset));
    assert_eq!(application.state(), State::Closed);
}
