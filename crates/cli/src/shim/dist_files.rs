//! Tests that the manual pages and the systemd unit in `dist/` match the command. `make man` writes the
//! manual pages.

use std::fs;
use std::path::PathBuf;

use clap::{CommandFactory, Parser};

use crate::args::{Cli, Command};

fn dist_path(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../dist")).join(name)
}

/// File name and text of each manual page: of the command itself, and of each command in it.
fn manual_pages() -> Vec<(String, String)> {
    let mut root = Cli::command();
    root.build();
    let mut pages: Vec<(String, String)> = Vec::new();
    let mut commands = vec![&root];
    while let Some(command) = commands.pop() {
        let shown = |inner: &&clap::Command| inner.get_name() != "help" && !inner.is_hide_set();
        commands.extend(command.get_subcommands().filter(shown));
        let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
        let mut page = Vec::new();
        let source = concat!("driftway ", env!("CARGO_PKG_VERSION"));
        let manual = clap_mangen::Man::new(command.clone()).source(source).manual("driftway");
        manual.render(&mut page).unwrap();
        let page = String::from_utf8(page).unwrap().replace(".SH EXTRA\n", ".SH NOTES\n");
        pages.push((name, page));
    }
    let names: Vec<String> = pages.iter().map(|(name, _)| format!("\\fB{name}\\fR(1)")).collect();
    let pages = pages.into_iter().enumerate().map(|(own, (name, page))| {
        let others = names.iter().enumerate().filter(|(other, _)| *other != own);
        let others: Vec<&str> = others.map(|(_, name)| name.as_str()).collect();
        (format!("{name}.1"), format!("{page}.SH \"SEE ALSO\"\n{}\n", others.join(", ")))
    });
    let pages: Vec<_> = pages.collect();
    pages
}

#[test]
fn the_manual_pages_are_those_of_the_help() {
    let pages = manual_pages();
    assert!(pages.len() >= 12, "{}", pages.len());
    let folder = fs::read_dir(dist_path("man")).unwrap();
    let files = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    for file in files {
        assert!(pages.iter().any(|(name, _)| *name == file), "dist/man/{file} is of no command");
    }
    for (name, page) in pages {
        let name = format!("man/{name}");
        if std::env::var_os("DRIFTWAY_BLESS").is_some() {
            fs::write(dist_path(&name), &page).unwrap();
        }
        let stands = fs::read_to_string(dist_path(&name)).unwrap_or_default();
        assert!(stands == page, "dist/{name} is out of date: `make man` updates it");
    }
}

#[test]
fn the_unit_matches_the_command() {
    let unit = fs::read_to_string(dist_path("driftway-shim.service")).unwrap();
    let line = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let cli = Cli::try_parse_from(line.split(' ')).unwrap();
    assert!(matches!(cli.command, Command::Shim(shim) if shim.command.is_none()));
    // systemd's watchdog and the default socket directory are those that the command uses.
    for line in
        ["Type=notify", "WatchdogSec=2", "Restart=on-failure", "RuntimeDirectory=driftway/unit"]
    {
        assert!(unit.lines().any(|said| said == line), "{line}");
    }
    assert_eq!(super::socket_path::UNIT_DIRECTORY, "/run/driftway/unit");
    for capability in ["CAP_NET_ADMIN", "CAP_NET_RAW"] {
        assert_eq!(unit.matches(capability).count(), 2, "in the ambient and the bounding set");
    }
}
