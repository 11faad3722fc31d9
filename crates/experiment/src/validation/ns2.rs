//! Runs of ns-2.35, if Debian's package of it is installed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;
use wait4::Wait4;

use super::cases::{Point, SimulatorCase};
use super::run_metrics::RunMetrics;
use crate::error::Error;
use crate::study::reference::Ns2Config;

/// The library preloaded for an instant ARP.
const SHIM: &str = "instant-arp";

/// An installed ns-2.
#[derive(Debug)]
pub struct Ns2Simulator {
    /// Directory of the script.
    dir: PathBuf,
    /// Directory of the compiled library.
    built: TempDir,
}

/// Resources used by a process.
#[derive(Clone, Copy, Debug)]
pub struct ResourceUsage {
    /// User CPU time (s).
    pub user_s: f64,
    /// Maximum resident set size (bytes).
    pub max_rss_bytes: u64,
}

impl Ns2Simulator {
    /// Finds `ns`, and compiles the library to preload. `dir` is the directory of the cases.
    ///
    /// # Errors
    ///
    /// ns-2 is not installed, or there is no C compiler.
    pub fn find(dir: &Path) -> Result<Self, Error> {
        let failed = Error::ExternalSimulator;
        let dir = dir.join("ns2").canonicalize().map_err(|error| Error::io("find", dir, error))?;
        let missing = |name: &str| {
            Command::new(name)
                .arg("--version")
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .is_err()
        };
        if missing("ns") {
            return Err(failed(
                "`ns` is not installed: install ns-2.35 (Debian: apt-get install ns2), or omit --ns2 \
                 to use the stored results"
                    .to_owned(),
            ));
        }
        let built =
            tempfile::tempdir().map_err(|e| failed(format!("no directory to compile in: {e}")))?;
        let output = Command::new("cc")
            .args(["-O2", "-shared", "-fPIC", "-o"])
            .arg(built.path().join(SHIM).with_extension("so"))
            .arg(dir.join(SHIM).with_extension("c"))
            .arg("-ldl")
            .output()
            .map_err(|e| failed(format!("no C compiler (cc) for ns-2's library: {e}")))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(failed(format!("ns-2's library does not compile:\n{said}")));
        }
        Ok(Self { dir, built })
    }

    /// Runs a point of a case with a seed; `trace` is none or that of the case.
    ///
    /// # Errors
    ///
    /// ns-2 fails.
    pub fn run(
        &self,
        (case, ns2, point): (&SimulatorCase, &Ns2Config, &Point),
        seed: u64,
        trace: &str,
    ) -> Result<(RunMetrics, ResourceUsage), Error> {
        let mut command = Command::new("ns");
        command.current_dir(&self.dir).arg("case.tcl");
        for (key, value) in ns2.arguments.iter().chain(&point.reference) {
            // The name of a movement file is relative to the directory of the scenarios.
            let value = if key == "movement" { format!("../{}", value.0) } else { value.0.clone() };
            command.args([key.as_str(), value.as_str()]);
        }
        command.args(["seed", &seed.to_string(), "trace", trace]);
        if !ns2.arp {
            command.env("LD_PRELOAD", self.built.path().join(SHIM).with_extension("so"));
        }
        let failed = |what: &dyn std::fmt::Display| {
            Error::ExternalSimulator(format!("ns-2 on {} {}: {what}", case.about.name, point.name))
        };
        let (output, used) = run_measured(&mut command).map_err(|error| failed(&error))?;
        let record = RunMetrics::of_lines(&output);
        if record.get("goodput_bps").is_none() {
            return Err(failed(&format!("it printed no goodput:\n{output}")));
        }
        Ok((record.with_user(used.user_s), used))
    }
}

/// Runs a command, and returns its output and the resources used by it and its children.
///
/// # Errors
///
/// It cannot be started, or it fails.
pub fn run_measured(command: &mut Command) -> std::io::Result<(String, ResourceUsage)> {
    use std::io::Read;
    // Standard error is reported if the command fails; a file takes any amount of it.
    let mut said = tempfile::tempfile()?;
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(said.try_clone()?).spawn()?;
    let mut printed = String::new();
    if let Some(mut stdout) = child.stdout.take() {
        stdout.read_to_string(&mut printed)?;
    }
    let end = child.wait4()?;
    if !end.status.success() {
        use std::io::Seek;
        let mut text = String::new();
        said.rewind()?;
        said.read_to_string(&mut text)?;
        return Err(std::io::Error::other(format!("{}\n{text}{printed}", end.status)));
    }
    let used =
        ResourceUsage { user_s: end.rusage.utime.as_secs_f64(), max_rss_bytes: end.rusage.maxrss };
    Ok((printed, used))
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn resources_are_those_of_the_command() {
        let sum = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo done $i";
        let (text, used) = run_measured(Command::new("sh").args(["-c", sum])).unwrap();
        assert_eq!(text, "done 20000\n");
        assert!(used.max_rss_bytes > 100_000 && used.user_s < 10.0, "{used:?}");
        let error =
            run_measured(Command::new("sh").args(["-c", "echo why >&2; exit 3"])).unwrap_err();
        assert!(error.to_string().contains("why"), "{error}");
    }
}
