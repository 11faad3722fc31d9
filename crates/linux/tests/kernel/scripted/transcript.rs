//! Transcripts: what the kernel did, in a text file for each script.

use std::fs;
use std::path::PathBuf;

use super::compare::Comparison;
use super::record::{Kind, Line, Record};
use super::script::Script;

/// A stored record of a kernel.
pub struct Transcript {
    /// Version of that kernel: major and minor number.
    pub kernel: String,
    pub record: Record,
}

/// Version of the running kernel, as in a transcript.
pub fn running_kernel() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    release.split('.').take(2).collect::<Vec<_>>().join(".")
}

fn path(script: &Script) -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernel/scripted/transcripts");
    PathBuf::from(folder).join(format!("{}.txt", script.name))
}

const HEAD: &str = "# Linux ";

impl Transcript {
    /// Stores the transcript of a script, unless the stored one says the same.
    pub fn write(&self, script: &Script) {
        if let Some(stored) = Self::read(script)
            && stored.kernel == self.kernel
            && Comparison::new(&stored.record, &self.record).differences().is_empty()
        {
            return;
        }
        let file = path(script);
        fs::create_dir_all(file.parent().expect("a folder")).expect("it can be created");
        fs::write(file, self.text()).expect("a transcript can be written");
    }

    /// Reads the transcript of a script; `None` if there is none.
    pub fn read(script: &Script) -> Option<Self> {
        Self::parse(&fs::read_to_string(path(script)).ok()?)
    }

    pub fn text(&self) -> String {
        let mut text = format!("{HEAD}{}\n", self.kernel);
        for Line { at, kind, text: what, .. } in &self.record.lines {
            let kind = match kind {
                Kind::Step => '-',
                Kind::Sent => '>',
                Kind::Window => '=',
            };
            text += &format!("{at:.0} {kind} {what}\n");
        }
        text
    }

    /// Reads the text of a transcript; `None` if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let kernel = lines.next()?.strip_prefix(HEAD)?.to_owned();
        let mut record = Record::default();
        for line in lines {
            let mut parts = line.splitn(3, ' ');
            let at = parts.next()?.parse().ok()?;
            let kind = match parts.next()? {
                "-" => Kind::Step,
                ">" => Kind::Sent,
                "=" => Kind::Window,
                _ => return None,
            };
            let text = parts.next()?.to_owned();
            record.lines.push(Line { at, kind, text, note: String::new() });
        }
        Some(Self { kernel, record })
    }
}
