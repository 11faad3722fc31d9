//! Each command that a paper gives for a cause or an open question names what there is.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use driftway_experiment::study::plan::{Plan, plan};
use driftway_experiment::study::source::{Source, paper_names};
use driftway_scenario::Scenario;

/// Takes the place of `driftway` and `sh`: it records its name and arguments, one on a line, in a file
/// of its own, and writes empty files.
const RECORDER: &str = r#"#!/bin/sh
printf '%s\n' "${0##*/}" "$@" > "$(mktemp "$RECORD/XXXXXXXX")"
while [ $# -gt 0 ]; do
    if [ "$1" = --out ]; then
        mkdir -p "$2"
        : > "$2/events-seed-1.csv"
        : > "$2/trace-seed-1-flow-0.csv"
    fi
    shift
done
"#;

/// The commands of a paper.
fn commands(plan: &Plan) -> BTreeSet<String> {
    let causes = plan.statements.iter().filter_map(|of| of.cause.as_ref());
    let open = plan.study.open.iter().map(|of| of.shown_by.clone());
    causes.map(|cause| cause.shown_by.clone()).chain(open).collect()
}

/// The calls of `programs` by a shell command: the name of each, and its arguments.
fn calls(root: &Path, programs: &[&str], command: &str) -> Vec<Vec<String>> {
    let (bin, record) = (tempfile::tempdir_in(root).unwrap(), tempfile::tempdir_in(root).unwrap());
    for program in programs {
        symlink(root.join("recorder"), bin.path().join(program)).unwrap();
    }
    let path = format!("{}:{}", bin.path().display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("/bin/sh");
    shell.args(["-e", "-c", command]).current_dir(root).env("PATH", path);
    let output = shell.env("RECORD", record.path()).env_remove("DRIFTWAY").output().unwrap();
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    let files = fs::read_dir(record.path()).unwrap().map(|entry| entry.unwrap().path());
    let call = |file| fs::read_to_string(file).unwrap().lines().map(str::to_owned).collect();
    files.map(call).collect()
}

/// The calls of `driftway` by yu-2004's script for any arm of a figure, by the figure.
type ScriptCalls = BTreeMap<String, Vec<Vec<String>>>;

/// The calls of `driftway` by a script. That of yu-2004 runs once for each figure.
fn calls_of_script(root: &Path, call: &[String], known: &mut ScriptCalls) -> Vec<Vec<String>> {
    let [_, script, args @ ..] = call else { panic!("{call:?}") };
    let [figure, arms @ ..] = args else { panic!("{call:?}") };
    if script != "papers/yu-2004/why.sh" {
        let quoted: Vec<_> = args.iter().map(|arg| format!("'{arg}'")).collect();
        return calls(root, &["driftway"], &format!("sh {script} {}", quoted.join(" ")));
    }
    let run = || calls(root, &["driftway"], &format!("sh {script} {figure} ARM"));
    let ends = known.entry(figure.clone()).or_insert_with(run);
    let of = |arm: &str, call: &[String]| call.iter().map(|arg| arg.replace("ARM", arm)).collect();
    arms.iter().flat_map(|arm| ends.iter().map(|call| of(arm, call)).collect::<Vec<_>>()).collect()
}

/// Checks the arguments of one call.
fn check_call(plan: &Plan, call: &[String]) -> Result<(), String> {
    let [program, args @ ..] = call else { return Err("no call".to_owned()) };
    assert_eq!(program, "driftway");
    let (mut targets, mut set, mut figures) = (Vec::new(), Vec::new(), Vec::new());
    let mut rest = args.iter().skip(1);
    while let Some(arg) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| format!("{arg} has no value"));
        match arg.as_str() {
            "--set" => {
                let (key, value) = value()?.split_once('=').ok_or("--set without `=`")?;
                set.push((key.to_owned(), value.to_owned()));
            }
            "--figure" => figures.push(value()?),
            "--runs" | "--out" => drop(value()?),
            "--events" | "--show" => {}
            other if other.starts_with("--") => return Err(format!("unknown option {other}")),
            _ => targets.push(arg.as_str()),
        }
    }
    let ids: Vec<&str> = plan.figures.iter().map(|of| of.figure.id.as_str()).collect();
    let missing = figures.iter().find(|figure| !ids.contains(&figure.as_str()));
    missing.map_or(Ok(()), |figure| Err(format!("there is no figure {figure}")))?;
    let [target] = targets[..] else { return Err(format!("{} scenarios", targets.len())) };
    let name = plan.source.name.as_str();
    match (args[0].as_str(), target.strip_prefix("paper:").and_then(|of| of.strip_prefix(name))) {
        ("paper", _) if target == name => Ok(()),
        ("run" | "check", Some(place)) => check_scenario(plan, place, &set),
        _ => Err(format!("{} {target} is not about {name}", args[0])),
    }
}

/// Checks `/FILE` with overrides, or `#FIGURE/ARM/POINT`.
fn check_scenario(plan: &Plan, place: &str, set: &[(String, String)]) -> Result<(), String> {
    if let Some(file) = place.strip_prefix('/') {
        let text = plan.source.read_file(file).map_err(|error| error.to_string())?;
        return Scenario::parse(file, &text, set).map(drop).map_err(|error| error.to_string());
    }
    let mut parts = place.trim_start_matches('#').splitn(3, '/');
    let figure = parts.next().unwrap_or_default();
    let planned = plan.figures.iter().find(|of| of.figure.id == figure);
    let planned = planned.ok_or_else(|| format!("there is no figure {figure}"))?;
    let arm = parts.next().unwrap_or_default();
    if !planned.arm_names().contains(&arm) {
        return Err(format!("figure {figure} has no arm {arm}"));
    }
    let point = parts.next().unwrap_or_default();
    let found = planned.points.iter().any(|of| of.title() == point);
    found.then_some(()).ok_or_else(|| format!("figure {figure} has no point {point}"))
}

#[test]
fn commands_name_what_there_is() {
    let papers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
    let root = tempfile::tempdir().unwrap();
    symlink(fs::canonicalize(papers).unwrap(), root.path().join("papers")).unwrap();
    let recorder = root.path().join("recorder");
    fs::write(&recorder, RECORDER).unwrap();
    fs::set_permissions(&recorder, fs::Permissions::from_mode(0o755)).unwrap();
    let (mut checked, mut wrong, mut ends) = (0, Vec::new(), ScriptCalls::new());
    for name in paper_names() {
        let plan = plan(Source::find(&name).unwrap()).unwrap();
        let mut known = BTreeSet::new();
        for command in commands(&plan) {
            let direct = calls(root.path(), &["driftway", "sh"], &command);
            assert!(!direct.is_empty(), "{command} does not call driftway");
            for call in direct.into_iter().filter(|call| known.insert(call.clone())) {
                let all = match call[0].as_str() {
                    "sh" => calls_of_script(root.path(), &call, &mut ends),
                    _ => vec![call],
                };
                for call in all {
                    checked += 1;
                    if let Err(what) = check_call(&plan, &call) {
                        wrong.push(format!("{command}: {what}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 300, "{checked}");
}
