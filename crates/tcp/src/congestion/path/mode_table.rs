//! Tables of modes and their transitions, from which state diagrams are drawn.

use alloc::string::String;
use core::fmt::{Debug, Write};

/// The transitions of a control between its modes.
pub(crate) struct ModeTable<M: 'static, E: 'static> {
    /// Name of the control.
    pub name: &'static str,
    /// Mode before, event, mode after.
    pub transitions: &'static [(M, E, M)],
}

impl<M: Copy + PartialEq + Debug, E: Copy + PartialEq + Debug> ModeTable<M, E> {
    /// The mode after `event`; the same one if nothing follows from it.
    pub fn next(&self, mode: M, event: E) -> M {
        let found = self.transitions.iter().find(|(from, by, _)| *from == mode && *by == event);
        found.map_or(mode, |(.., to)| *to)
    }

    /// The state diagram in the DOT language.
    pub fn diagram(&self) -> String {
        let mut dot = String::new();
        // Writing to a String cannot fail.
        let _ = writeln!(dot, "digraph {} {{", self.name);
        for (from, event, to) in self.transitions {
            let _ = writeln!(dot, "  \"{from:?}\" -> \"{to:?}\" [label=\"{event:?}\"];");
        }
        dot.push_str("}\n");
        dot
    }

    /// Compares the diagram with the committed one.
    #[cfg(test)]
    pub fn check_diagram(&self) {
        let file = std::format!("{}/docs/{}.dot", env!("CARGO_MANIFEST_DIR"), self.name);
        if std::env::var_os("DRIFTWAY_BLESS").is_some() {
            std::fs::write(&file, self.diagram()).expect("docs/ can be written");
        }
        let committed = std::fs::read_to_string(&file).expect("docs/ can be read");
        assert_eq!(self.diagram(), committed, "`make diagrams` regenerates it");
        for (n, (from, event, _)) in self.transitions.iter().enumerate() {
            let before = self.transitions.iter().take(n);
            assert!(before.clone().all(|(a, b, _)| (a, b) != (from, event)), "{from:?} {event:?}");
        }
    }
}
