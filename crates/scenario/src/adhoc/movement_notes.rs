//! Remarks on the movement files of a network, for readers.

use driftway_base::Instant;

use super::Adhoc;
use crate::Time;
use crate::error::quoted;

/// Maximum number of nodes that a remark lists.
const MAX_LISTED: usize = 8;

impl Adhoc {
    /// Remarks on a movement file whose nodes have other names than their numbers: these names; and if it has their
    /// positions over time, where the nodes are, and which of them stand at their first or last position because they
    /// appear later or leave earlier than a run of this duration. `node` names a node by its number.
    pub fn movement_notes(&self, duration: Time, node: impl Fn(u32) -> String) -> Vec<String> {
        let Some(movement) = &self.movement else { return Vec::new() };
        let name = |name: &String| match quoted(name) {
            name if name.is_empty() => "without a name".to_owned(),
            name => format!("`{name}`"),
        };
        let names = movement.names();
        let named = listed(names, &node, "nodes:", |own| Some(name(own)));
        if movement.tracks().is_empty() {
            let differs = |(number, name): (u32, &String)| *name != number.to_string();
            return named.filter(|_| (0..).zip(names).any(differs)).into_iter().collect();
        }
        let (low, high) = (movement.bounds().low, movement.bounds().high);
        let mut notes = vec![format!(
            "positions: x from {:.1} m to {:.1} m, y from {:.1} m to {:.1} m",
            low.0, high.0, low.1, high.1
        )];
        if let Some((latitude, longitude)) = movement.origin() {
            let offset = self.offset();
            notes.push(format!(
                "origin: x {} m, y {} m is at latitude {latitude} deg, longitude {longitude} deg",
                offset.0, offset.1
            ));
        }
        let tracks = movement.tracks();
        notes.extend(named);
        let end = Instant::ZERO + duration.0;
        let at = |time: Instant| Time(time.since(Instant::ZERO));
        notes.extend(listed(
            tracks,
            &node,
            "stand at their first position until they appear:",
            |track| (track.first > Instant::ZERO).then(|| format!("until {}", at(track.first))),
        ));
        notes.extend(listed(
            tracks,
            &node,
            "stand at their last position after they have left:",
            |track| (track.last < end).then(|| format!("from {}", at(track.last))),
        ));
        notes
    }

    fn offset(&self) -> (f64, f64) {
        match &self.mobility {
            super::Mobility::File(file) => file.options().offset,
            _ => (0.0, 0.0),
        }
    }
}

/// A remark on the nodes about which there is something to say.
fn listed<T>(
    nodes: &[T],
    node: &impl Fn(u32) -> String,
    heading: &str,
    about: impl Fn(&T) -> Option<String>,
) -> Option<String> {
    let of = |(number, it)| Some(format!("{} {}", node(number), about(it)?));
    let all: Vec<String> = (0..).zip(nodes).filter_map(of).collect();
    let shown = all.iter().take(MAX_LISTED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match all.len().checked_sub(MAX_LISTED) {
        _ if all.is_empty() => None,
        None | Some(0) => Some(format!("{heading} {shown}")),
        Some(more) => Some(format!("{heading} {shown}, and {more} more")),
    }
}
