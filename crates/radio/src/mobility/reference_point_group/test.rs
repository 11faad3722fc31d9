use driftway_base::{Declared, Duration, Instant, RandomStream, StationId};

use super::{ReferencePointGroup, WaypointTrajectory};
use crate::Positions;
use crate::mobility::{InitialDistribution, Mobility, Plane, RandomWaypoint};

const AREA: (f64, f64) = (900.0, 600.0);
const STATIONS: u32 = 600;

const MODEL: ReferencePointGroup = ReferencePointGroup {
    group_size: 4,
    radius: 80.0,
    step: Duration::from_secs(5),
    min_speed: 1.0,
    max_speed: 9.0,
    pause: Duration::from_secs(7),
};

/// Positions of the nodes, and of the reference points of their groups: random waypoints by the groups' streams.
fn positions(seed: u64) -> (Positions, Positions) {
    let mobility =
        MODEL.build(&Plane { stations: STATIONS, area: AREA, seed }).expect("a valid model");
    let inner = (AREA.0 - 160.0, AREA.1 - 160.0);
    let centre = RandomWaypoint {
        area: inner,
        speed: (1.0, 9.0),
        pause: (MODEL.pause, MODEL.pause),
        start: InitialDistribution::SteadyState,
    };
    let stream = |group: u32| RandomStream::new(seed, "mobility group", group.into());
    let groups =
        (0..STATIONS / 4).map(|group| WaypointTrajectory::from_stream(centre, stream(group)));
    (Positions::new(mobility, 100.0), Positions::new(Mobility::new(groups), 100.0))
}

/// Displacement (m) of a node from the reference point of its group.
fn displacement(
    nodes: &mut Positions,
    groups: &mut Positions,
    node: u32,
    at: Instant,
) -> (f64, f64) {
    let (x, y) = nodes.position(StationId::new(node), at);
    assert!((0.0..=AREA.0).contains(&x) && (0.0..=AREA.1).contains(&y), "{x} {y}");
    let (u, v) = groups.position(StationId::new(node / 4), at);
    (x - u - 80.0, y - v - 80.0)
}

/// At a step the distance is uniform from 0 to the radius (Kolmogorov & Smirnov: 1.63 / √n at 1 %) and the
/// direction uniform as well, so that the mean displacement is 0; in between, no node leaves the radius.
#[test]
fn nodes_stay_around_their_reference_point() {
    let (mut nodes, mut groups) = positions(3);
    let mut at_steps = Vec::new();
    let (mut sum, mut products) = ((0.0, 0.0), 0.0);
    for half_seconds in 0..200 {
        let at = Instant::from_millis(half_seconds * 500);
        for node in 0..STATIONS {
            let (x, y) = displacement(&mut nodes, &mut groups, node, at);
            let distance = (x * x + y * y).sqrt();
            assert!(distance <= 80.0 + 1e-6, "{node} at {at:?}: {distance}");
            if half_seconds % 10 == 0 {
                at_steps.push(distance / 80.0);
                sum = (sum.0 + x, sum.1 + y);
                products += x * y;
            }
        }
    }
    at_steps.sort_by(f64::total_cmp);
    let count = at_steps.len() as f64;
    let deviation =
        |(index, distance): (usize, &f64)| ((index as f64 + 0.5) / count - distance).abs();
    let most = at_steps.iter().enumerate().map(deviation).fold(0.0, f64::max);
    assert!(most < 1.63 / count.sqrt(), "{most} of {count}");
    // Each coordinate has the variance R²/6: three standard deviations of the mean.
    let limit = 3.0 * 80.0 / (6.0 * count).sqrt();
    assert!((sum.0 / count).abs() < limit && (sum.1 / count).abs() < limit, "{sum:?}");
    assert!((products / count).abs() < 3.0 * 6_400.0 / count.sqrt(), "{products}");
}

/// The members of a group draw their displacements independently.
#[test]
fn members_are_independent_and_groups_as_well() {
    let (mut nodes, mut groups) = positions(4);
    let (mut same, mut count) = (0.0, 0.0);
    for step in 0..20 {
        let at = Instant::from_secs(step * 5);
        for group in 0..STATIONS / 4 {
            let one = displacement(&mut nodes, &mut groups, group * 4, at);
            let other = displacement(&mut nodes, &mut groups, group * 4 + 1, at);
            same += one.0 * other.0 + one.1 * other.1;
            count += 1.0;
        }
    }
    // The standard deviation of this product is R²/(3√2).
    assert!((same / count).abs() < 3.0 * 6_400.0 / (18.0_f64 * count).sqrt(), "{same}");
    let at = Instant::from_secs(200);
    let (a, b) = (groups.position(StationId::new(0), at), groups.position(StationId::new(1), at));
    assert_ne!(a, b);
    // Adding nodes changes no other node.
    let fewer = MODEL.build(&Plane { stations: 6, area: AREA, seed: 4 }).expect("a valid model");
    let mut fewer = Positions::new(fewer, 100.0);
    for node in (0..6).map(StationId::new) {
        assert_eq!(fewer.position(node, at), nodes.position(node, at));
    }
}

#[test]
fn what_is_not_possible_is_rejected() {
    let refused = |model: ReferencePointGroup, area| {
        model.build(&Plane { stations: 2, area, seed: 1 }).expect_err("refused").parameter
    };
    assert_eq!(refused(MODEL, (160.0, 900.0)), "radius");
    assert_eq!(refused(MODEL, (f64::NAN, 900.0)), "radius");
    assert_eq!(refused(ReferencePointGroup { min_speed: 10.0, ..MODEL }, AREA), "min_speed");
}
