//! What speaks against a shim at this place, although it can begin.

use std::fs;

/// The first Linux that lets a queue's owner set the priority of a packet, by which carriers are known.
const MIN_LINUX: (u32, u32) = (5, 18);

/// What an operator should know before a shim begins in this process: a sentence for each doubt.
pub fn startup_warnings() -> Vec<String> {
    let mut doubts = Vec::new();
    // A kernel without /proc shows itself otherwise.
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    if version(&release).is_some_and(|version| version < MIN_LINUX) {
        let (major, minor) = MIN_LINUX;
        startup_warnings.push(format!(
            "this is Linux {}: before {major}.{minor} connections may get no help (`no_carrier` \
             in the status)",
            release.trim()
        ));
    }
    // pid_namespaces(7): signals from within do not end it.
    if std::process::id() == 1 {
        startup_warnings.push(
            "process 1 can't be killed by its watchdog if it hangs: have an init start it \
             (docker run --init)"
                .into(),
        );
    }
    startup_warnings
}

/// The two numbers that a release begins with.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit());
    let mut number = || numbers.next()?.parse().ok();
    Some((number()?, number()?))
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_release_begins_with_two_numbers() {
        assert_eq!(version("6.1.0-18-amd64\n"), Some((6, 1)));
        assert_eq!(version("5.18-rc3"), Some((5, 18)));
        assert_eq!((version(""), version("6"), version("x.1")), (None, None, None));
        assert!(version("5.9.1") < Some(MIN_LINUX));
    }
}
