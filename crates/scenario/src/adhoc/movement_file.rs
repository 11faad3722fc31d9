//! Movement files of the table `mobility`.

use driftway_base::Duration;
use driftway_radio::movement::ReadOptions;

use super::mobility::MovementFile;
use crate::file_value::Keyword;
use crate::{Angle, Distance, Time};

/// The largest coordinate of a movement file (m).
const MAX_COORDINATE_M: f64 = 1e9;

impl MovementFile {
    /// Checks the values of the table; the error is a message for the user.
    pub(crate) fn check(&self) -> Result<(), String> {
        if let Some((Angle(latitude), Angle(longitude))) = self.origin
            && !((-90.0..=90.0).contains(&latitude) && (-180.0..=180.0).contains(&longitude))
        {
            return Err(format!(
                "`origin` is {latitude} deg, {longitude} deg\nthe latitude from -90 deg to 90 deg, \
                 then the longitude from -180 deg to 180 deg"
            ));
        }
        if let Some((Distance(x), Distance(y))) = self.offset
            && !(x.abs() <= MAX_COORDINATE_M && y.abs() <= MAX_COORDINATE_M)
        {
            return Err(format!("`offset` is {x} m, {y} m\nat most 1000000 km"));
        }
        Ok(())
    }

    /// Options of the reader.
    pub(crate) fn options(&self) -> ReadOptions {
        ReadOptions {
            format: self.format.map(|Keyword(format)| format),
            start: self.start.map_or(Duration::ZERO, |Time(start)| start),
            origin: self.origin.map(|(latitude, longitude)| (latitude.0, longitude.0)),
            offset: self.offset.map_or((0.0, 0.0), |(x, y)| (x.0, y.0)),
        }
    }
}
