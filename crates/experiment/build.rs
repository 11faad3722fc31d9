//! Provides a digest of all code on which the result of a run can depend, so that cached results
//! are never mistaken for those of another version of driftway; and the papers, compressed.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::DeflateEncoder;
use sha2::{Digest, Sha256};

/// The directory of the papers.
const PAPERS: &str = "papers";

/// Crates that do not influence results. Of this crate, only the runner does, by its samples.
const WITHOUT_RESULTS: [&str; 4] = ["cli", "experiment", "linux", "shim"];

fn main() -> io::Result<()> {
    compress_papers()?;
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

/// Writes each file of the papers, compressed, and `papers.rs` with a table of them.
fn compress_papers() -> io::Result<()> {
    println!("cargo:rerun-if-changed={PAPERS}");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let mut files = Vec::new();
    gather(Path::new(PAPERS), &mut files)?;
    files.sort();
    let mut table = "const PAPERS: &[(&str, &[u8])] = &[\n".to_owned();
    for (number, file) in files.iter().enumerate() {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&fs::read(file)?)?;
        let place = out.join(format!("paper-{number}"));
        fs::write(&place, encoder.finish()?)?;
        let path = file.strip_prefix(PAPERS).map_err(io::Error::other)?;
        writeln!(table, "    ({path:?}, include_bytes!({place:?})),").map_err(io::Error::other)?;
    }
    table += "];\n";
    fs::write(out.join("papers.rs"), table)
}

/// Collects all files at a path, recursively.
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
