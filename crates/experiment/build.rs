//! Gives the crate a digest of all the code that a run's result can depend on, so that results that are
//! kept are never taken for those of another driftway.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Crates that make no result. What this one's runner samples is one.
const WITHOUT_RESULTS: [&str; 4] = ["cli", "experiment", "host", "shim"];

fn main() -> io::Result<()> {
    let crates = PathBuf::from("..");
    let lock = PathBuf::from("../../Cargo.lock");
    if !lock.is_file() || !crates.join("sim/src").is_dir() {
        // A published crate, whose code its version names: the workspace's crates depend on each other by
        // exact versions.
        println!("cargo:rerun-if-changed=build.rs");
        println!("cargo:rustc-env=DRIFTWAY_CODE=published");
        return Ok(());
    }
    let mut places = vec![PathBuf::from("src/runner"), lock];
    for entry in fs::read_dir(&crates)? {
        let name = entry?.file_name();
        if !WITHOUT_RESULTS.iter().any(|without| name == *without) {
            places.push(crates.join(&name).join("src"));
            places.push(crates.join(&name).join("Cargo.toml"));
        }
    }
    let mut files = Vec::new();
    for place in &places {
        println!("cargo:rerun-if-changed={}", place.display());
        gather(place, &mut files)?;
    }
    files.sort();
    let mut digest = Sha256::new();
    for file in files {
        let bytes = fs::read(&file)?;
        digest.update(file.to_string_lossy().as_bytes());
        digest.update((bytes.len() as u64).to_be_bytes());
        digest.update(&bytes);
    }
    let text: String = digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    println!("cargo:rustc-env=DRIFTWAY_CODE={text}");
    Ok(())
}

/// All files at a place, and below it.
fn gather(place: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if place.is_dir() {
        for entry in fs::read_dir(place)? {
            gather(&entry?.path(), files)?;
        }
    } else if place.is_file() {
        files.push(place.to_owned());
    }
    Ok(())
}
