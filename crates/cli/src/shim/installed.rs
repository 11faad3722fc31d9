//! Tests that the manual pages and the systemd unit in `dist/` match the command. `make man` writes the
//! manual pages.

use std::fs;
use std::path::PathBuf;

use clap::{CommandFactory, Parser};

use crate::args::{Cli, Command};

fn place(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../dist")).join(name)
}

/// File name and text of each manual page.
fn pages() -> Vec<(String, String)> {
    let mut root = Cli::command();
    root.build();
    let shim = root.find_subcommand("shim").unwrap();
    let with_own = std::iter::once(shim).chain(shim.get_subcommands());
    let documented =
        with_own.filter(|command| command.get_name() != "help" && !command.is_hide_set());
    documented
        .map(|command| {
            let name = command.get_display_name().unwrap().to_owned();
            let mut page = Vec::new();
            let manual = clap_mangen::Man::new(command.clone());
            manual.render(&mut page).unwrap();
            (format!("{name}.1"), String::from_utf8(page).unwrap())
        })
        .collect()
}

#[test]
fn the_manual_pages_are_those_of_the_help() {
    let pages = pages();
    assert_eq!(pages.len(), 3);
    for (name, page) in pages {
        if std::env::var_os("DRIFTWAY_BLESS").is_some() {
            fs::write(place(&name), &page).unwrap();
        }
        let stands = fs::read_to_string(place(&name)).unwrap_or_default();
        assert!(stands == page, "dist/{name} is out of date: `make man` updates it");
    }
}

#[test]
fn the_unit_matches_the_command() {
    let unit = fs::read_to_string(place("driftway-shim.service")).unwrap();
    let line = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let cli = Cli::try_parse_from(line.split(' ')).unwrap();
    assert!(matches!(cli.command, Command::Shim(shim) if shim.command.is_none()));
    // systemd's watchdog and the default socket directory are those that the command uses.
    for line in
        ["Type=notify", "WatchdogSec=2", "Restart=on-failure", "RuntimeDirectory=driftway/unit"]
    {
        assert!(unit.lines().any(|said| said == line), "{line}");
    }
    assert_eq!(super::place::OF_UNIT, "/run/driftway/unit");
    for capability in ["CAP_NET_ADMIN", "CAP_NET_RAW"] {
        assert_eq!(unit.matches(capability).count(), 2, "in the ambient and the bounding set");
    }
}
