//! Validation of published results.

use crate::error::quoted;
use crate::problem::{CheckResult, require};
use crate::{Coordinate, Reference};

pub(super) fn check(key: &str, reference: &Reference) -> CheckResult {
    require(!reference.points.is_empty(), format!("{key}.points"), || {
        "there are no points".into()
    })?;
    for (i, (x, _)) in reference.points.iter().enumerate() {
        require(x.value().is_some(), format!("{key}.points.{i}.0"), || {
            let found = match x {
                Coordinate::Number(number) => number.to_string(),
                Coordinate::Quantity(text) => format!("`{}`", quoted(text)),
            };
            format!("{found} is not a quantity\na valid value is, for example, \"10 ms\"")
        })?;
    }
    Ok(())
}
