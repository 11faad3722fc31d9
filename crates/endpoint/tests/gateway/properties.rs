//! Invariants for any losses, delays, marks, readers and order of commands. The rig checks at each step
//! that data arrive in order and once, that nothing is acknowledged that the gateway does not have, that
//! the buffer does not exceed its limit, and that no timer stands still.

use driftway_base::{Duration, RandomStream, Signal, SignalKind};
use driftway_endpoint::Side;
use driftway_tcp::{Config, Event, State};
use proptest::prelude::*;

use super::rig::{EndName, MS, Parts, Rig};

/// The client, the gateway's two legs and the server.
fn config(ecn: bool, timestamps: bool, receive_buffer: u32) -> Config {
    Config {
        ecn,
        timestamps,
        receive_buffer,
        // With enough retries, a transfer over a lossy wire always completes.
        max_retries: 60,
        max_syn_retries: 60,
        max_rto: Duration::from_secs(4),
        persist_max: Duration::from_secs(4),
        ..Config::default()
    }
}

fn parts() -> impl Strategy<Value = Parts> {
    let switches = proptest::array::uniform8(any::<bool>());
    (switches, prop_oneof![Just(1500_u32), 1500_u32..40_000], [1460_u32..70_000, 1460..70_000])
        .prop_map(|(switches, buffer, [near, far])| {
            let [a, b, c, d, timestamps, atcp, is_wireless, _] = switches;
            Parts {
                client: config(a, timestamps, near),
                wireless: config(b, timestamps, far),
                wired: config(c, timestamps, near),
                server: config(d, timestamps, far),
                aid: if atcp { "atcp" } else { "none" },
                client_side: if is_wireless { Side::Wireless } else { Side::Wired },
                buffer,
                listens: true,
            }
        })
}

/// A wire that drops, duplicates, marks and reorders.
fn bad_wires(rig: &mut Rig, seed: u64, loss: u64) {
    let mut random = RandomStream::new(seed, "wire", 0);
    rig.policy = Box::new(move |_, _, _| {
        let delay = MS(5 + random.uniform_below(30));
        match random.uniform_below(100) {
            n if n < loss => vec![],
            n if n < loss + 4 => {
                vec![(delay, false), (delay + MS(random.uniform_below(300)), false)]
            }
            n if n < loss + 10 => vec![(delay + MS(random.uniform_below(200)), false)],
            n if n < loss + 14 => vec![(delay, true)],
            _ => vec![(delay, false)],
        }
    });
}

/// Writes, reads and closes at random; both ends close finally.
struct Applications {
    random: RandomStream,
    to_write: [u64; 2],
    written: [u64; 2],
    closed: [bool; 2],
}

impl Applications {
    fn new(seed: u64, to_write: [u64; 2]) -> Self {
        let random = RandomStream::new(seed, "application", 0);
        Self { random, to_write, written: [0; 2], closed: [false; 2] }
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.random.uniform_below(count) == 0
    }

    fn step(&mut self, rig: &mut Rig, at_once: bool) {
        for (n, name) in EndName::BOTH.into_iter().enumerate() {
            if self.to_write[n] > 0 && (at_once || self.one_in(4)) {
                let bytes = self.random.uniform_below(self.to_write[n].min(20_000)) + 1;
                let taken = rig.end(name).tcp().write(bytes);
                self.to_write[n] -= taken;
                self.written[n] += taken;
            }
            let state = rig.end(name).state();
            if self.to_write[n] == 0
                && !self.closed[n]
                && !matches!(state, State::Listen | State::SynSent)
                && (at_once || self.one_in(8))
            {
                rig.end(name).tcp().close();
                self.closed[n] = true;
            }
            if at_once || self.one_in(3) {
                let most = if at_once { u32::MAX } else { self.random.uniform_below(3000) as u32 };
                while rig.end(name).read_some(most, name) > 0 && at_once {}
            }
        }
    }
}

/// Runs to the end; `each` is called before every step.
fn run(rig: &mut Rig, apps: &mut Applications, mut each: impl FnMut(&mut Rig, u64)) {
    (rig.client.reads, rig.server.reads) = (false, false);
    for step in 0..1_000_000 {
        each(rig, step);
        apps.step(rig, false);
        if !rig.step() {
            apps.step(rig, true);
            if !rig.step() && apps.closed == [true; 2] && step > 200 {
                return;
            }
            let is_over = EndName::BOTH
                .map(|name| matches!(rig.end(name).state(), State::Closed | State::Listen));
            if is_over == [true; 2] && step > 200 {
                return;
            }
        }
    }
    panic!("does not terminate, at {:?}: {:?}", rig.now, rig.leg_states());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn streams_arrive_complete(
        parts in parts(),
        (seed, loss) in (any::<u64>(), 0_u64..15),
        bytes in [0_u64..60_000, 0_u64..60_000],
    ) {
        let mut rig = Rig::new(parts);
        bad_wires(&mut rig, seed, loss);
        let mut apps = Applications::new(seed, bytes);
        run(&mut rig, &mut apps, |_, _| {});
        for (n, name) in EndName::BOTH.into_iter().enumerate() {
            prop_assert_eq!(rig.end(name.other()).read, apps.written[n]);
            prop_assert_eq!(apps.to_write[n], 0);
            prop_assert_eq!(rig.end(name).state(), State::Closed);
        }
        prop_assert_eq!(rig.leg_states(), [State::Closed; 2]);
    }

    /// Signals of the gateway's own links, true or false, to the aids of mobile hosts on the wireless leg.
    #[test]
    fn signals_of_links_leave_streams_complete(
        parts in parts(),
        aid in prop_oneof![Just("mobile-host"), Just("three-dupacks"), Just("freeze-tcp")],
        (seed, loss) in (any::<u64>(), 0_u64..15),
        bytes in [0_u64..60_000, 0_u64..60_000],
    ) {
        let mut rig = Rig::new(Parts { aid, ..parts });
        bad_wires(&mut rig, seed, loss);
        let mut apps = Applications::new(seed, bytes);
        let mut random = RandomStream::new(seed, "signals", 0);
        run(&mut rig, &mut apps, |rig, step| {
            let expected_lifetime = MS(random.uniform_below(500));
            let kind = match random.uniform_below(40) {
                0 => SignalKind::LinkDown,
                1 | 2 => SignalKind::LinkUp,
                3 => SignalKind::LinkFading { expected_lifetime },
                _ => return,
            };
            if step < 2_000 {
                rig.gateway.on_signal(rig.now, &Signal::new(kind));
            }
        });
        for (n, name) in EndName::BOTH.into_iter().enumerate() {
            prop_assert_eq!(rig.end(name.other()).read, apps.written[n]);
            prop_assert_eq!(rig.end(name).state(), State::Closed);
        }
        prop_assert_eq!(rig.leg_states(), [State::Closed; 2]);
    }

    #[test]
    fn a_reset_at_any_time_ends_all(
        parts in parts(),
        (seed, loss) in (any::<u64>(), 0_u64..10),
        bytes in [1_u64..60_000, 0_u64..60_000],
        (at, by_client) in (0_u64..150, any::<bool>()),
    ) {
        // A reset that is lost is noticed by keep-alives.
        let asks = |config| Config { keep_alive: Some(Duration::from_secs(5)), max_retries: 8, ..config };
        let parts = Parts {
            client: asks(parts.client),
            server: asks(parts.server),
            wireless: asks(parts.wireless),
            wired: asks(parts.wired),
            ..parts
        };
        let mut rig = Rig::new(parts);
        bad_wires(&mut rig, seed, loss);
        let mut apps = Applications::new(seed, bytes);
        let name = if by_client { EndName::Client } else { EndName::Server };
        run(&mut rig, &mut apps, |rig, step| {
            if step == at {
                rig.end(name).tcp().abort();
            }
        });
        for name in EndName::BOTH {
            let state = rig.end(name).state();
            prop_assert!(matches!(state, State::Closed | State::Listen), "{state:?}");
        }
        if rig.gateway.connections().next().is_some() {
            prop_assert_eq!(rig.leg_states(), [State::Closed; 2]);
        }
    }

    /// Wires that die: each leg ends by its timers.
    #[test]
    fn dead_wires_end_in_timeouts(
        parts in parts(),
        (seed, alive) in (any::<u64>(), 0_u64..200),
        (client_dies, server_dies) in (any::<bool>(), any::<bool>()),
        bytes in [1_u64..60_000, 0_u64..60_000],
    ) {
        let few = |config| Config {
            keep_alive: Some(Duration::from_secs(5)),
            max_retries: 3,
            max_syn_retries: 2,
            ..config
        };
        // An aid that waits for a lost path waits for ever.
        let parts = Parts {
            client: few(parts.client),
            server: few(parts.server),
            wireless: few(parts.wireless),
            wired: few(parts.wired),
            aid: "none",
            ..parts
        };
        let mut rig = Rig::new(parts);
        let mut count = 0;
        rig.policy = Box::new(move |hop, _, _| {
            count += 1;
            let dies = if hop.end == EndName::Client { client_dies } else { server_dies };
            if count > alive && dies { vec![] } else { vec![(MS(20), false)] }
        });
        (rig.client.reads, rig.server.reads) = (false, false);
        let mut apps = Applications::new(seed, bytes);
        for _ in 0..100_000 {
            apps.step(&mut rig, false);
            if !rig.step() {
                apps.step(&mut rig, true);
                if !rig.step() {
                    break;
                }
            }
        }
        prop_assert_eq!(rig.next_event(), None);
        for name in EndName::BOTH {
            let state = rig.end(name).state();
            prop_assert!(matches!(state, State::Closed | State::Listen), "{state:?}");
            let events = &rig.end(name).events;
            let ended = matches!(
                events.last(),
                None | Some(Event::Closed | Event::TimedOut | Event::Reset)
            );
            prop_assert!(ended, "{events:?}");
        }
    }
}
