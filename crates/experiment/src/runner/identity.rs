//! Identity of a run: everything in a scenario that changes results, and the code.

use std::fmt::{self, Write};

use driftway_scenario::Scenario;
use sha2::{Digest, Sha256};

/// Version of driftway that produces results: its number, and a digest of the code on which they
/// can depend, so that it changes during development.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "-", env!("DRIFTWAY_CODE"));

/// A hexadecimal digest of everything in a scenario that can change a run, including the content of
/// its movement file and of its traces. Scenarios with the same digest have the same runs. The name, the description
/// and the published results of a scenario change no run.
pub fn digest(scenario: &Scenario) -> String {
    let mut bare = scenario.clone();
    (bare.name, bare.description) = (String::new(), None);
    bare.references.clear();
    let mut sum = DigestWriter(Sha256::new());
    let _ = sum.write_str(&bare.show());
    for movement in scenario.network.radio_networks().filter_map(|adhoc| adhoc.movement.as_ref()) {
        let _ = write!(sum, "{movement:?}");
    }
    let _ = scenario.write_measurements(&mut sum);
    sum.0.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// A digest of text that never fails.
struct DigestWriter(Sha256);

impl Write for DigestWriter {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod test {
    use super::*;

    fn scenario(set: &[(&str, &str)]) -> Scenario {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/lossy-path.toml");
        let set: Vec<_> = set.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Scenario::load(path, &set).unwrap()
    }

    #[test]
    fn only_changes_of_a_run_change_the_digest() {
        let plain = digest(&scenario(&[]));
        assert_eq!(plain.len(), 32);
        assert_eq!(digest(&scenario(&[("name", "another")])), plain);
        assert_ne!(digest(&scenario(&[("duration", "7 s")])), plain);
    }

    #[test]
    fn a_movement_file_is_digested_by_content() {
        let dir = tempfile::tempdir().unwrap();
        let text = "name = 'm'\nduration = '9 s'\n[network]\nkind = 'adhoc'\n\
                    area = ['100 m', '100 m']\nmobility = { file = 'a.mov' }\nrouting = { protocol = 'aodv' }\n\
                    [[flow]]\nfrom = 0\nto = 1\napplication = 'ftp'\n";
        let path = dir.path().join("m.toml");
        std::fs::write(&path, text).unwrap();
        let with = |y: u32| {
            let node = |n| format!("$node_({n}) set X_ {n}.0\n$node_({n}) set Y_ {y}.0\n");
            std::fs::write(dir.path().join("a.mov"), node(0) + &node(1)).unwrap();
            digest(&Scenario::load(&path, &[]).unwrap())
        };
        assert_eq!(with(1), with(1));
        assert_ne!(with(1), with(2));
    }
}
