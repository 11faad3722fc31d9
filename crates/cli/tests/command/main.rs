//! Tests of the `driftway` command: output, files and exit status.

mod captures;
mod chromium;
mod compare;
mod documented;
mod figures;
mod invalid_input;
mod numbers;
mod page;
mod page_in_browser;
mod paper;
mod paper_scripts;
mod replay;
mod replay_controls;
mod results;
mod shards;
mod split;
mod sweep;
mod terminal;
mod terminal_width;
mod validate;

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

/// A small scenario, lossy enough that seeds differ.
const SCENARIO: &str = r#"
name = "two lossy hops"
duration = "600 s"

[network]
kind = "path"
hops = 2

[network.link]
rate = "64 kbit/s"
delay = "20 ms"
bit_error_rate = 2e-5

[[flow]]
from = 0
to = 2
application = { transfer = "40 kB" }
tcp = { recovery = "reno", mss = "500 B", window = "8 kB" }
aid = "atcp"

[[reference]]
source = "somebody-2001, figure 8"
label = "ATCP"
metric = "completion_s"
x = "network.link.bit_error_rate"
points = [[1e-5, 9], [2e-5, 11]]
"#;

struct TestDir(tempfile::TempDir);

impl TestDir {
    fn new() -> Self {
        let bench = Self(tempfile::tempdir().unwrap());
        bench.file("s.toml", SCENARIO);
        bench
    }
    fn file(&self, name: &str, text: &str) {
        fs::write(self.0.path().join(name), text).unwrap();
    }
    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }
    fn driftway(&self, arguments: &[&str]) -> Command {
        let mut command = Command::cargo_bin("driftway").unwrap();
        // A cache of its own.
        let cache = self.path(".cache");
        command.current_dir(self.0.path()).env("DRIFTWAY_CACHE", cache).env_remove("NO_COLOR");
        command.args(arguments);
        command
    }
    fn stdout(&self, arguments: &[&str]) -> String {
        let output = self.driftway(arguments).assert().success().get_output().stdout.clone();
        String::from_utf8(output).unwrap()
    }
    fn document(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.stdout(arguments)).unwrap()
    }
}

fn names(dir: &Path) -> Vec<String> {
    let entry = |entry: Result<fs::DirEntry, _>| entry.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<_> = fs::read_dir(dir).unwrap().map(entry).collect();
    // The manifest of a set of results.
    names.retain(|name| name != ".driftway");
    names.sort();
    names
}
