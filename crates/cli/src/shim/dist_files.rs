//! What is installed beside the command, the manual's pages and the systemd unit, is in step with
//! it. `make man` writes the pages anew.

use std::fs;
use std::path::PathBuf;

use clap::{CommandFactory, Parser};

use crate::args::{Cli, Command};

fn dist_path(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../dist")).join(name)
}

/// (file name, text) of each page: of the command itself, and of each command in it.
fn manual_pages() -> Vec<(String, String)> {
    let mut root = Cli::command();
    root.build();
    let mut pages = Vec::new();
    let mut commands = vec![&root];
    while let Some(command) = commands.pop() {
        let shown = |inner: &&clap::Command| inner.get_name() != "help" && !inner.is_hide_set();
        commands.extend(command.get_subcommands().filter(shown));
        let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
        let mut page = Vec::new();
        clap_mangen::Man::new(command.clone()).render(&mut page).unwrap();
        pages.push((format!("{name}.1"), String::from_utf8(page).unwrap()));
    }
    pages
}

#[test]
fn the_manual_is_what_help_says() {
    let pages = manual_pages();
    assert!(pages.len() >= 12, "{}", pages.len());
    let folder = fs::read_dir(place("man")).unwrap();
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
        assert!(stands == page, "dist/{name} is not in step: `make man` writes it anew");
    }
}

#[test]
fn the_unit_starts_what_there_is() {
    let unit = fs::read_to_string(dist_path("driftway-shim.service")).unwrap();
    let line = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let cli = Cli::try_parse_from(line.split(' ')).unwrap();
    assert!(matches!(cli.command, Command::Shim(shim) if shim.command.is_none()));
    // It says that it works, to whoever ends it otherwise; and it is found where it listens.
    for line in
        ["Type=notify", "WatchdogSec=2", "Restart=on-failure", "RuntimeDirectory=driftway/unit"]
    {
        assert!(unit.lines().any(|said| said == line), "{line}");
    }
    assert_eq!(super::socket_path::UNIT_DIRECTORY, "/run/driftway/unit");
    for capability in ["CAP_NET_ADMIN", "CAP_NET_RAW"] {
        assert_eq!(unit.matches(capability).count(), 2, "to have, and to be allowed to have");
    }
}
