//! What is installed beside the command, the manual's pages and the systemd unit, is in step with
//! it. `make man` writes the pages anew.

use std::fs;
use std::path::PathBuf;

use clap::{CommandFactory, Parser};

use crate::args::{Cli, Command};

fn dist_path(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../dist")).join(name)
}

/// (file name, text) of each page.
fn manual_pages() -> Vec<(String, String)> {
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
fn the_manual_is_what_help_says() {
    let pages = manual_pages();
    assert_eq!(pages.len(), 3);
    for (name, page) in pages {
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
