//! The MACs do not allocate in their steady state.

use allocation_counter::measure;
use driftway_base::{Duration, Instant, PacketId, RandomStream, StationId};
use driftway_radio::mobility::{InitialDistribution, RandomWaypoint};
use driftway_radio::{
    Dcf, DcfConfig, MacReport, Mobility, OutgoingPacket, Positions, Propagation, RadioConfig,
};
use driftway_radio::{Tdma, TdmaConfig};

const STATIONS: u32 = 50;

fn positions() -> (Positions, Propagation) {
    let radio = Propagation::new(&RadioConfig::STANDARD, STATIONS, 1).unwrap();
    let model = RandomWaypoint {
        area: (1500.0, 1000.0),
        speed: (9.0, 11.0),
        pause: (Duration::ZERO, Duration::ZERO),
        start: InitialDistribution::SteadyState,
    };
    let mobility = Mobility::random_waypoint(&model, STATIONS, 1).unwrap();
    (Positions::new(mobility, radio.reach()), radio)
}

/// Every station always has a packet, mostly unicast, to any other station.
fn packet(random: &mut RandomStream, station: StationId) -> OutgoingPacket {
    let other =
        (station.number() + 1 + random.uniform_below(u64::from(STATIONS - 1)) as u32) % STATIONS;
    let bytes = random.uniform_below(1500) as u32;
    let to = (random.uniform_below(10) > 0).then_some(StationId::new(other));
    OutgoingPacket { id: PacketId::new(station.number()), to, bytes, is_control: false }
}

macro_rules! steady {
    ($air:expr, $minutes:expr) => {{
        let mut air = None;
        let made = measure(|| air = Some($air));
        assert!(made.count_total > 0, "allocations are counted");
        let mut air = air.unwrap();
        let mut random = RandomStream::new(1, "packet", 0);
        for station in (0..STATIONS).map(StationId::new) {
            air.set_promiscuous(station, station.number() % 2 == 0);
            air.send(Instant::ZERO, station, packet(&mut random, station));
        }
        let mut reports = Vec::with_capacity(1_000);
        let mut run_until = |end| {
            let mut now = Instant::ZERO;
            while now < end {
                now = air.run(end, &mut reports);
                for report in reports.drain(..) {
                    if let MacReport::Sent { station, .. } | MacReport::Failed { station, .. } =
                        report
                    {
                        air.send(now, station, packet(&mut random, station));
                    }
                }
            }
        };
        run_until(Instant::from_secs(60));
        let steady = measure(|| run_until(Instant::from_secs(60 * $minutes)));
        assert_eq!(steady.count_total, 0);
        air.total_counters()
    }};
}

#[test]
fn the_steady_state_allocates_nothing() {
    for config in [DcfConfig::STANDARD, DcfConfig::NS2] {
        let (positions, radio) = positions();
        let counted = steady!(Dcf::new(config, positions, radio, 1), 3);
        assert!(counted.acknowledged > 1_000 && counted.broadcasts > 1_000, "{counted:?}");
    }
    let (positions, radio) = positions();
    let counted = steady!(Tdma::new(TdmaConfig::STANDARD, positions, radio, 1), 3);
    assert!(counted.data > 10_000);
}
