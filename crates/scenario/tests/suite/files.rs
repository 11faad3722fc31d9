//! Files that are not scenarios, and malicious files.

use std::io::Write;
use std::path::PathBuf;

use driftway_scenario::Scenario;

/// A file with this content, removed when dropped.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str, content: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("driftway-{}-{name}", std::process::id()));
        std::fs::File::create(&path).unwrap().write_all(content).unwrap();
        Self(path)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn refused(name: &str, content: &[u8]) -> String {
    let file = Temporary::new(name, content);
    let error = Scenario::load(&file.0, &[]).unwrap_err().to_string();
    let prefix = file.0.display().to_string();
    error.strip_prefix(&prefix).unwrap_or_else(|| panic!("{error}")).to_owned()
}

#[test]
fn files_without_a_scenario() {
    let nothing = ": this file is empty\n\
                   help: a scenario has at least name, duration, [network] and a [[flow]]";
    assert_eq!(refused("empty", b""), nothing);
    assert_eq!(refused("comment", b"# nothing yet\n\n"), nothing);
    assert_eq!(
        refused("latin", b"name = \"caf\xe9\"\n"),
        ": this is not UTF-8 text: byte 12 of the file\nhelp: a scenario is a TOML file"
    );
    assert_eq!(
        refused("binary", b"\x7fELF\x02\x01\x01\0\0\0"),
        ": this is a binary file\nhelp: a scenario is a TOML file"
    );
    assert_eq!(refused("prose", b"four hops, please"), ":1:6: key with no value, expected `=`");
}

#[test]
fn files_that_are_too_large() {
    let large = vec![b'#'; 17 << 20];
    let says = ": this file is larger than 16 MiB\nhelp: scenarios have a few hundred lines";
    assert_eq!(refused("large", &large), says);
    let text = String::from_utf8(large).unwrap();
    let error = Scenario::parse("text", &text, &[]).unwrap_err();
    assert_eq!(error.to_string(), format!("text{says}"));
}

#[test]
fn places_without_a_regular_file() {
    let says = |path: &str| Scenario::load(path, &[]).unwrap_err().to_string();
    assert_eq!(says("/"), "/: this is a directory\nhelp: specify a scenario file in it");
    assert!(says("/nowhere/at-all.toml").starts_with("/nowhere/at-all.toml: No such file"));
    #[cfg(unix)]
    assert_eq!(says("/dev/zero"), "/dev/zero: this is not a regular file");
}

/// Opening a FIFO would block until its other end is opened.
#[cfg(target_os = "linux")]
#[test]
fn a_fifo_does_not_block() {
    let path = std::env::temp_dir().join(format!("driftway-{}-fifo", std::process::id()));
    let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    let error = Scenario::load(&path, &[]).unwrap_err();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(error.message(), "this is not a regular file");
}

#[test]
fn nesting_does_not_exhaust_the_stack() {
    let deep = 100_000;
    for (text, place) in [
        (format!("a = {}", "[".repeat(deep)), "deep:1:37"),
        (format!("a = {}1{}", "[".repeat(deep), "]".repeat(deep)), "deep:1:37"),
        (format!("a = {}", "{ a = ".repeat(deep)), "deep:1:197"),
        (format!("{}a = 1", "a.".repeat(deep)), "deep:1:18"),
        (format!("[{}a]", "a.".repeat(deep)), "deep:1:19"),
        (format!("a = {}", "{ a.a.a.a.a = ".repeat(deep)), "deep:1:453"),
    ] {
        let error = Scenario::parse("deep", &text, &[]).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("{place}: this is nested too deeply\nhelp: no key is deeper than five levels")
        );
    }
    let set = |key: &str, value: String| {
        let overrides = [(key.to_owned(), value)];
        Scenario::parse("f", "name = \"x\"", &overrides).unwrap_err().to_string()
    };
    let says = "--set name: this is nested too deeply\nhelp: no key is deeper than five levels";
    assert_eq!(set("name", "[".repeat(deep)), says);
    assert!(
        set(&"a.".repeat(deep), "1".into())
            .ends_with(": this is not a key\nhelp: keys look like network.link.rate or flow.0.aid")
    );
}

#[test]
fn dots_in_text_and_numbers_are_no_nesting() {
    let text = "name = \"a.b.c.d.e.f.g.h.i.j.k.l.m.n\" # ...........................\n\
                duration = \"1.5 s\"\nx = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]\n";
    let error = Scenario::parse("f", text, &[]).unwrap_err();
    assert_eq!(error.location(), "f:3:1");
}

#[test]
fn columns_count_characters() {
    let error = Scenario::parse("f", "description = \"ü\"\nx = { \"ü\" = 1, y = 2 }", &[]);
    assert_eq!(error.unwrap_err().location(), "f:2:1");
    let text = "name = \"ü\"; oops";
    assert_eq!(Scenario::parse("f", text, &[]).unwrap_err().location(), "f:1:11");
}

#[test]
fn errors_in_overrides_name_the_key() {
    let text = "name = \"x\"\nduration = \"9 s\"\n[[flow]]\nfrom = 0\n";
    let says = |key: &str, value: &str| {
        let overrides = [(key.to_owned(), value.to_owned())];
        Scenario::parse("f", text, &overrides).unwrap_err().to_string()
    };
    assert_eq!(
        says("duration", "9 parsecs"),
        "--set duration: `parsecs` is not a known unit\n\
         help: known units: ns, us, ms, s, min, h"
    );
    assert_eq!(
        says("flow.1.to", "3"),
        "--set flow.1.to: there is no element `1`\n\
         help: the file has 1, counted from 0; `*` selects all"
    );
    assert_eq!(
        says("duration.x", "3"),
        "--set duration.x: there is no `x` in a value that is not a table"
    );
    assert!(says("flow.*.form", "3").starts_with(
        "--set flow.*.form: unknown key `form`\nhelp: did you mean `from`? the keys of this table are"
    ));
    assert!(says("", "3").starts_with("--set : this is not a key"));
    assert!(says("a..b", "3").starts_with("--set a..b: this is not a key"));
}

#[test]
fn user_input_stays_on_one_line() {
    let long = "x".repeat(100_000);
    for text in [
        "duration = \"1\\n2\"".to_owned(),
        "\"a\\nb\" = 1".to_owned(),
        format!("duration = \"{long}\""),
        format!("duration = \"1 {long}\""),
        format!("{long} = 1"),
        format!("{long} = 1\n{long} = 2"),
        format!("[network]\nkind = \"{long}\""),
        format!("name = \"x\"\nduration = {{ {long} = 1 }}"),
    ] {
        let error = Scenario::parse("f", &text, &[]).unwrap_err();
        assert!(error.message().len() < 200, "{error}");
        assert!(!error.message().contains('\n') && !error.to_string().ends_with("\n2"), "{error}");
        assert!(error.help().is_none_or(|help| !help.contains('\n')), "{error}");
    }
    let error = Scenario::parse("f", "duration = \"1\\n2\"", &[]).unwrap_err();
    assert_eq!(error.message(), "`2` is not a known unit");
}

#[test]
fn the_first_flows_can_be_kept() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/congested.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let read = |keep: &str| Scenario::parse("s", &text, &[("flow".to_owned(), keep.to_owned())]);
    let all = Scenario::parse("s", &text, &[]).unwrap().flows;
    assert_eq!(read("1").unwrap().flows, all[..10]);
    assert_eq!(read("2").unwrap().flows, all);
    for wrong in ["0", "-1", "3"] {
        let message = read(wrong).unwrap_err().to_string();
        let right =
            format!("--set flow: cannot keep the first {wrong} elements\nhelp: the file has 2");
        assert!(message.starts_with(&right), "{message}");
    }
}
