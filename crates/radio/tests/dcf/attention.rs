//! Stations that are touched only when it matters behave as those that follow every frame.

use driftway_base::{Duration, StationId};
use driftway_radio::mobility::{InitialDistribution, RandomWaypoint};
use driftway_radio::{Mobility, PropagationModel, RadioConfig};
use proptest::prelude::*;

use crate::air::*;
use crate::enabled::switched;
use crate::properties::{Case, cases_up_to};

#[derive(Clone, Debug)]
struct Network {
    radio: RadioConfig,
    /// Fastest speed of the stations (m/s); `None`: they do not move.
    speed: Option<f64>,
    promiscuous: Vec<bool>,
    recording: bool,
}

fn networks() -> impl Strategy<Value = Network> {
    let model = prop_oneof![
        6 => Just(RadioConfig::STANDARD.model),
        1 => (any::<bool>(), 0.0..6.0).prop_map(|(moves, shadowing_db)| {
            let decorrelation = moves.then_some(20.0);
            PropagationModel::LogDistance { exponent: 2.8, shadowing_db, decorrelation }
        }),
    ];
    let speed = prop_oneof![Just(None), (1.0..3000.0f64).prop_map(Some)];
    (model, speed, prop::collection::vec(any::<bool>(), 25), any::<bool>()).prop_map(
        |(model, speed, promiscuous, recording)| Network {
            radio: RadioConfig { model, ..RadioConfig::STANDARD },
            speed,
            promiscuous,
            recording,
        },
    )
}

fn mobility(network: &Network, case: &Case) -> Mobility {
    let Some(speed) = network.speed else { return Mobility::fixed(&case.places) };
    let side = case.places.iter().fold(1.0, |side: f64, place| side.max(place.0).max(place.1));
    let model = RandomWaypoint {
        area: (side, side),
        speed: (speed * 0.5, speed),
        pause: (Duration::ZERO, Duration::from_millis(20)),
        start: InitialDistribution::SteadyState,
    };
    Mobility::random_waypoint(&model, case.places.len() as u32, case.seed).expect("a valid model")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn attention_changes_nothing(
        (case, switches) in switched(cases_up_to(25, 250)),
        switches_off in any::<bool>(),
        network in networks(),
    ) {
        let stations = case.places.len() as u32;
        let run = |attentive: bool| {
            let mobility = mobility(&network, &case);
            let mut air = build(case.config, network.radio, mobility, case.seed);
            if attentive {
                air.dcf.make_all_attentive();
            }
            air.dcf.set_recording(network.recording);
            for (station, on) in (0..stations).zip(&network.promiscuous) {
                air.dcf.set_promiscuous(StationId::new(station), *on);
            }
            for &(at, from, to, bytes) in &case.packets {
                air.send(at, from, (to < stations && to != from).then_some(to), bytes);
            }
            for &(at, station, enabled) in switches.iter().filter(|_| switches_off) {
                air.switch(at, station, enabled);
            }
            let frames = air.run(3_000);
            let counters: Vec<_> = (0..stations).map(|n| *air.counters(n)).collect();
            let dcf = &air.dcf;
            let events = (dcf.frames_sent(), dcf.events_handled(), dcf.next_timeout());
            (air.reports, frames, counters, events)
        };
        prop_assert_eq!(run(true), run(false));
    }
}
