//! Latitudes and longitudes in metres: the plane that touches the WGS 84 ellipsoid at the origin, x to the east and
//! y to the north of it. Heights are taken as 0.
//!
//! Distances in this plane are at most 1 − cos(d/R) shorter than on the ground, where d is the distance
//! from the origin and R = 6371 km: 0.008 % at 80 km, 0.3 % at 500 km.

use geoconv::{Lle, Meters, Wgs84};

/// Maximum distance from the origin (m), so that distances are right to 0.3 %.
pub(super) const MAX_DISTANCE: f64 = 500e3;

/// A plane that touches the ground at its origin.
pub(super) struct TangentPlane {
    origin: Lle<Wgs84>,
}

fn on_ground((latitude, longitude): (f64, f64)) -> Lle<Wgs84> {
    Lle::new(geoconv::Degrees::new(latitude), geoconv::Degrees::new(longitude), Meters::new(0.0))
}

impl TangentPlane {
    /// Creates the plane at this latitude and longitude (degrees).
    pub fn new(origin: (f64, f64)) -> Self {
        Self { origin: on_ground(origin) }
    }

    /// Returns x and y (m) of a latitude and longitude (degrees); `None` beyond [`MAX_DISTANCE`].
    pub fn project(&self, place: (f64, f64)) -> Option<(f64, f64)> {
        let local = self.origin.enu_to(&on_ground(place));
        let (x, y, up) = (local.east.as_float(), local.north.as_float(), local.up.as_float());
        // With the height, so that the other side of the globe is not near.
        (x * x + y * y + up * up <= MAX_DISTANCE * MAX_DISTANCE).then_some((x, y))
    }
}

#[cfg(test)]
mod test {
    use super::*;

    /// East and north (m) of pymap3d 3.2.0 (`geodetic2enu`) and the geodesic of geographiclib 2.1 (Karney 2013):
    /// Helsinki, the antimeridian, across the pole, Sydney.
    #[test]
    fn positions_are_those_of_other_programs() {
        for (origin, place, east, north, geodesic) in [
            ((60.1699, 24.9384), (60.1789, 24.9564), 998.9723, 1002.8733, 1415.521),
            ((60.1699, 24.9384), (60.1699, 24.9484), 555.1364, 0.0420, 555.136),
            ((0.0, 179.9995), (0.001, -179.9995), 111.3195, 110.5743, 156.903),
            ((89.9999, 0.0), (89.9999, 180.0), 0.0, 22.3388, 22.339),
            ((-33.8688, 151.2093), (-33.4, 151.9), 64_253.744, 51_780.911_9, 82_523.858),
            ((-33.8688, 151.2093), (-37.0, 153.0), 159_367.252_9, -348_617.468_8, 383_549.511),
        ] {
            let (x, y) = TangentPlane::new(origin).project(place).expect("near");
            assert!((x - east).abs() < 1e-3 && (y - north).abs() < 1e-3, "{place:?}: {x} {y}");
            let (short, angle) = (geodesic - (x * x + y * y).sqrt(), geodesic / 6_371e3);
            let most = geodesic * (1.0 - libm::cos(angle));
            assert!((-1e-3..=most + 1e-3).contains(&short), "{place:?}: {short} of {most}");
        }
    }

    /// The great circle of the mean radius differs from the ellipsoid by less than 0.56 %, as the ellipsoid's radii do.
    #[test]
    fn distances_are_near_the_great_circle() {
        let (latitude, longitude) = (60.1699_f64, 24.9384_f64);
        let plane = TangentPlane::new((latitude, longitude));
        for (north, east) in [(0.01, 0.0), (0.0, 0.01), (-0.2, 0.3), (0.05, -0.5)] {
            let (x, y) = plane.project((latitude + north, longitude + east)).expect("near");
            let half = |degrees: f64| libm::sin(degrees.to_radians() / 2.0);
            let cosines =
                libm::cos(latitude.to_radians()) * libm::cos((latitude + north).to_radians());
            let haversine = half(north) * half(north) + cosines * half(east) * half(east);
            let great_circle = 2.0 * 6_371_008.8 * libm::asin(haversine.sqrt());
            let ratio = (x * x + y * y).sqrt() / great_circle;
            assert!((ratio - 1.0).abs() < 0.0056, "{north} {east}: {ratio}");
        }
    }

    #[test]
    fn what_is_far_is_refused() {
        let plane = TangentPlane::new((0.0, 0.0));
        assert!(plane.project((0.0, 4.4)).is_some());
        assert!(plane.project((0.0, 4.6)).is_none());
        assert!(plane.project((0.0, 180.0)).is_none());
    }
}
