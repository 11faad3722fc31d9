//! ns-2.35 beside us, where Debian's package of it is installed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;
use wait4::Wait4;

use super::cases::{Point, SimulatorCase};
use super::run_metrics::RunMetrics;
use crate::error::Error;
use crate::study::reference::Ns2Config;

/// What is preloaded where ARP is to answer at once.
const SHIM: &str = "instant-arp";

/// An ns-2 that can be run.
#[derive(Debug)]
pub struct Ns2Simulator {
    /// The folder of the script.
    dir: PathBuf,
    /// Where the shim was built.
    built: TempDir,
}

/// What it took.
#[derive(Clone, Copy, Debug)]
pub struct ResourceUsage {
    /// User CPU time (s).
    pub user_s: f64,
    /// The most memory that it had (bytes).
    pub max_rss_bytes: u64,
}

impl Ns2Simulator {
    /// Finds `ns`, and builds what is preloaded into it. `dir` is the folder of the cases.
    ///
    /// # Errors
    /// It is not installed, or there is no C compiler.
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
                "there is no `ns`: install ns-2.35 (Debian: apt-get install ns2), or leave --ns2 \
                 out for the stored numbers"
                    .to_owned(),
            ));
        }
        let built =
            tempfile::tempdir().map_err(|e| failed(format!("no place to build in: {e}")))?;
        let output = Command::new("cc")
            .args(["-O2", "-shared", "-fPIC", "-o"])
            .arg(built.path().join(SHIM).with_extension("so"))
            .arg(dir.join(SHIM).with_extension("c"))
            .arg("-ldl")
            .output()
            .map_err(|e| failed(format!("no C compiler (cc) for ns-2's shim: {e}")))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(failed(format!("ns-2's shim does not compile:\n{said}")));
        }
        Ok(Self { dir, built })
    }

    /// Runs a case's point with a seed; `trace` is none or what the case has.
    ///
    /// # Errors
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
            // A movement file is named as it stands beside the scenarios.
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
            return Err(failed(&format!("it printed no goodput, but:\n{output}")));
        }
        Ok((record.with_user(used.user_s), used))
    }
}

/// Runs a command to its end: what it printed, and what it took, its children's part included.
///
/// # Errors
/// It can't be run, or it fails.
pub fn run_measured(command: &mut Command) -> std::io::Result<(String, ResourceUsage)> {
    use std::io::Read;
    // What is said on standard error is told if the command fails; a file takes any amount.
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
    fn what_a_command_took_is_its_own() {
        let sum = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo done $i";
        let (text, used) = run_measured(Command::new("sh").args(["-c", sum])).unwrap();
        assert_eq!(text, "done 20000\n");
        assert!(used.max_rss_bytes > 100_000 && used.user_s < 10.0, "{used:?}");
        let error =
            run_measured(Command::new("sh").args(["-c", "echo why >&2; exit 3"])).unwrap_err();
        assert!(error.to_string().contains("why"), "{error}");
    }
}
