//! `driftway report`: results as an HTML page, and the same tables as text.

mod arm_names;
mod claims;
mod comparison;
mod curves;
mod event_log;
mod for_print;
mod heading;
mod page;
mod partition;
mod study;
mod thinning;
mod time_line;
mod time_sequence;
mod variation;

use std::io::Write;

use crate::aggregate::AGGREGATION_NOTE;
use crate::args::ReportArgs;
use crate::failure::Failure;
use crate::figures::{self, Content, PrintFigure};
use crate::files::OutputDir;
use crate::flow_names::flow_name;
use crate::page::figure::Figure;
use crate::page::{Frame, PAGE, render};
use crate::replay;
use crate::report::claims::Claims;
use crate::report::comparison::{any_has_many_flows, comparison_table};
use crate::report::curves::{MeasuredMetric, measured_metrics};
use crate::report::heading::{subtitle, title};
use crate::report::page::{Page, ScenarioSection, Section};
use crate::report::time_line::TimeLine;
use crate::report::time_sequence::TimeSequencePlot;
use crate::report::variation::{Variation, find_variation};
use crate::result_dirs::{ResultDir, load_results};
use crate::tables::{
    drops, flows, has_many_flows, incomplete_transfers, links, one_flow_per_row, seed_range,
};
use crate::text::{capitalized, wrapped};
use driftway_experiment::command::shell_quoted;

/// Note for a set with many flows.
const EACH_FLOW_NOTE: &str = "The page lists each flow below its scenario.";

/// Sentences about what a command reproduces: of simulations, and where an emulation is among the results.
const SIMULATED: &str =
    "Each command reproduces the results to the byte with the same version of driftway.";
const EMULATED: &str = "An emulation runs in real time, and its results differ from one time to the next; its \
                        emulation.json has the programs.";
/// A remark on the numbers of an emulation.
const ONE_EMULATION: &str = "One emulation in real time: the flows are the TCP connections of the nodes' kernels, as these \
                             report them.";

/// Largest number of arms, or flows of a single scenario, that are plotted over time.
const MAX_FLOWS_DRAWN: usize = 12;

/// Reads results, writes the page, and prints the tables.
///
/// # Errors
/// Missing or unreadable results, or a page that cannot be written.
pub fn report(args: &ReportArgs) -> Result<(), Failure> {
    if let Some(header) = study::read_header(&args.dir) {
        return study::report(&args.dir, &header, &args.figures_for_print);
    }
    let set = load_results(&args.dir)?;
    let keys: Vec<_> = set.iter().map(|member| member.keys.clone()).collect();
    let sweep = find_variation(&keys);
    let title = match &set[..] {
        [only] => capitalized(&only.document.scenario.name),
        several => title(&args.dir, several, &sweep),
    };
    let metrics = if set.len() > 1 { measured_metrics(&set, &sweep) } else { Vec::new() };
    let (mut page, of_flows) = page(&title, &set, &sweep, &metrics)?;
    let replay = match &set[..] {
        [only] => replay::beside_report(&title, only)?,
        _ => None,
    };
    page.replay = replay.as_ref().map(|_| replay::REPLAY);

    let mut staging = OutputDir::open(&args.dir)?.stage()?;
    if let Some(replay) = &replay {
        staging.write_text(replay::REPLAY, &replay.html)?;
    }
    let options = &args.figures_for_print;
    if options.is_wanted() {
        let mut drawn = for_print::figures(&metrics, options.band());
        drawn.extend(of_flows);
        figures::write(&mut staging, &drawn, options)?;
    }
    staging.write_text(PAGE, &render(&page)?)?;
    staging.commit()?;

    let mut out = anstream::stdout().lock();
    for line in [&title].into_iter().chain(&page.subtitle) {
        write!(out, "{}", wrapped(line, 2))?;
    }
    for grid in &page.results {
        write!(out, "{grid}")?;
    }
    for sentence in &page.sentences {
        write!(out, "{}", wrapped(sentence, 2))?;
    }
    write!(out, "{}", wrapped(page.intervals, 0))?;
    writeln!(out, "{}", args.dir.join(PAGE).display())?;
    Ok(())
}

fn page<'a>(
    title: &'a str,
    set: &[ResultDir],
    sweep: &Variation,
    metrics: &[MeasuredMetric<'_>],
) -> Result<(Page<'a>, Vec<PrintFigure>), Failure> {
    let (subtitle, results, sentences) = match set {
        [only] => {
            let document = &only.document;
            let mut results = flows(document);
            results.extend(
                (document.runs.iter().any(|run| !run.links.is_empty())).then(|| links(document)),
            );
            if !document.summary.drops.is_empty() {
                results.push(drops(document));
            }
            let how = has_many_flows(document).then(|| AGGREGATION_NOTE.to_owned());
            let sentences = how.into_iter().chain(incomplete_transfers(document)).collect();
            let subtitle =
                document.scenario.description.iter().cloned().chain([seed_range(&document.runs)]);
            (subtitle.collect(), results, sentences)
        }
        several => (
            subtitle(several, sweep),
            vec![comparison_table(several, sweep)],
            any_has_many_flows(several)
                .then(|| format!("{AGGREGATION_NOTE} {EACH_FLOW_NOTE}"))
                .into_iter()
                .collect(),
        ),
    };
    let one_run = set.iter().all(|member| member.document.runs.len() < 2);
    let mut figures: Vec<Figure> = metrics.iter().map(|of| of.figure(sweep)).collect();
    let mut number = 0;
    let mut numbered = |figure| {
        number += 1;
        (format!("figure-{number}"), figure)
    };
    let lead = (!figures.is_empty()).then(|| numbered(figures.remove(0)));
    let mut sections = vec![("Other metrics", figures)];
    if let [only] = set {
        sections.push(("Over time", time_line(only)?.into_iter().collect()));
    }
    let FlowFigures { sequences, windows, for_print } = flow_figures(set, sweep)?;
    sections.push(("Time–sequence plots", sequences));
    sections.push(("Congestion windows", windows));
    if let [only] = set {
        sections.extend(event_log_figures(only)?);
    }
    sections.retain(|(_, figures)| !figures.is_empty());
    let sections = sections
        .into_iter()
        .map(|(title, figures)| Section {
            title: title.to_owned(),
            figures: figures.into_iter().map(&mut numbered).collect(),
        })
        .collect();
    let page = Page {
        frame: Frame::new(title, "report"),
        subtitle,
        lead,
        sentences,
        results,
        reproduces: match set.iter().any(|member| member.document.emulated) {
            true => EMULATED,
            false => SIMULATED,
        },
        intervals: if set.iter().all(|member| member.document.emulated) {
            ONE_EMULATION
        } else if one_run {
            "A single run has no confidence interval: use --runs 10 to get intervals."
        } else {
            "Means over the runs, ± half of the 90 % confidence interval (Student's t)."
        },
        sections,
        replay: None,
        scenarios: set.iter().map(|member| scenario_section(member, sweep, set)).collect(),
    };
    Ok((page, for_print))
}

/// Figures of flows over time, for the page and for print.
#[derive(Default)]
struct FlowFigures {
    sequences: Vec<Figure>,
    windows: Vec<Figure>,
    for_print: Vec<PrintFigure>,
}

/// Time–sequence plots and congestion windows: for a set, of each arm's first flow at the middle of
/// the axis; for a single scenario, of every flow.
fn flow_figures(set: &[ResultDir], sweep: &Variation) -> Result<FlowFigures, Failure> {
    let wanted: Vec<(String, &ResultDir, usize)> = match set {
        [only] => {
            let flows = only.document.summary.flows.iter().enumerate();
            flows.map(|(index, flow)| (flow_name(&only.document, flow), only, index)).collect()
        }
        several => sweep
            .arms
            .iter()
            .filter_map(|arm| {
                let &(x, member) = arm.points.get(arm.points.len() / 2)?;
                let at = sweep.axis.as_ref().map(|axis| axis.label_at(x));
                let flows = &several[member].document.summary.flows;
                let flow = flows.first().filter(|_| flows.len() > 1);
                let flow = flow.map(|flow| flow_name(&several[member].document, flow));
                let label = Some(arm.label.clone()).filter(|label| !label.is_empty());
                let name: Vec<String> = label.into_iter().chain(at).chain(flow).collect();
                Some((name.join(", "), &several[member], 0))
            })
            .collect(),
    };
    let mut drawn = FlowFigures::default();
    let FlowFigures { sequences, windows, for_print } = &mut drawn;
    let flows = wanted.len().clamp(1, MAX_FLOWS_DRAWN);
    for (name, member, flow) in wanted.into_iter().take(MAX_FLOWS_DRAWN) {
        let Some(trace) = member.trace(flow)?.filter(|trace| !trace.events.is_empty()) else {
            continue;
        };
        let faults = member.faults()?;
        let run = member.document.runs.first();
        let name = format!("{name}, seed {}", run.map_or(0, |run| run.seed));
        let end_s = run.map_or(0.0, |run| run.duration_s);
        let plot = TimeSequencePlot { name: &name, trace: &trace, faults: &faults, end_s, flows };
        sequences.push(plot.time_sequence());
        windows.push(plot.congestion_window());
        let number = windows.len();
        let alone = TimeSequencePlot { flows: 1, ..plot };
        for (id, content) in [
            ("time-sequence", alone.time_sequence_for_print()),
            ("congestion-window", alone.congestion_window_for_print()),
        ] {
            for_print.push(PrintFigure {
                id: format!("{id}-{number}"),
                title: format!("{}: {name}", capitalized(&id.replace('-', " "))),
                content: Content::Trace(content),
            });
        }
    }
    for figures in [sequences, windows] {
        clear_repeated_explanations(figures);
    }
    Ok(drawn)
}

/// The figure of all quantities over time of a single scenario's first run; `None` without samples.
fn time_line(only: &ResultDir) -> Result<Option<Figure>, Failure> {
    let (links, flows) = only.samples()?;
    let (faults, run) = (only.faults()?, only.document.runs.first());
    let line = TimeLine {
        document: &only.document,
        links: &links,
        flows: &flows,
        faults: &faults,
        end_s: run.map_or(0.0, |run| run.duration_s),
    };
    Ok(line.figure(&format!("seed {}", run.map_or(0, |run| run.seed))))
}

/// Figures made from a single scenario's event log: none without a log, or if the network is not an
/// ad hoc network.
fn event_log_figures(only: &ResultDir) -> Result<Vec<(&'static str, Vec<Figure>)>, Failure> {
    let Some(journal) = event_log::of_first_run(only)? else { return Ok(Vec::new()) };
    let run = only.document.runs.first();
    let end_s = run.map_or(0.0, |run| run.duration_s);
    let seed = format!("seed {}", run.map_or(0, |run| run.seed));
    let summaries = &only.document.summary.flows;
    let flows = summaries.iter().enumerate().take(MAX_FLOWS_DRAWN);
    let mut routes: Vec<Figure> = flows
        .filter_map(|(index, flow)| {
            let name = format!("{}, {seed}", flow_name(&only.document, flow));
            journal.route_figure(index as u32, &name, (flow.source, flow.destination), end_s)
        })
        .collect();
    clear_repeated_explanations(&mut routes);
    let ends: Vec<u32> =
        summaries.iter().flat_map(|flow| [flow.source, flow.destination]).collect();
    Ok(vec![
        ("Routes", routes),
        ("Queues", journal.queue_figure(&seed, end_s).into_iter().collect()),
        ("Movement", journal.movement_figure(&seed, &ends).into_iter().collect()),
    ])
}

/// Removes an explanation that is the same as that of the figure before.
fn clear_repeated_explanations(figures: &mut [Figure]) {
    for index in (1..figures.len()).rev() {
        if figures[index].explanation == figures[index - 1].explanation {
            figures[index].explanation.clear();
        }
    }
}

fn scenario_section(member: &ResultDir, sweep: &Variation, set: &[ResultDir]) -> ScenarioSection {
    let document = &member.document;
    let index = set.iter().position(|other| other.dir == member.dir);
    let mut differs = Vec::new();
    for arm in &sweep.arms {
        for &(x, _) in arm.points.iter().filter(|(_, of)| Some(*of) == index) {
            differs.extend(Some(arm.label.clone()).filter(|label| !label.is_empty()));
            differs.extend(sweep.axis.as_ref().map(|axis| axis.label_at(x)));
        }
    }
    let claims = Claims::of_one(&sweep.values, &member.keys);
    let name = claims.true_part(&document.scenario.name);
    ScenarioSection {
        name: capitalized(if differs.is_empty() { &document.scenario.name } else { &name }),
        description: document
            .scenario
            .description
            .clone()
            .filter(|text| claims.are_consistent_with(text)),
        seeds: seed_range(&document.runs),
        version: document.version.clone(),
        differs: capitalized(&differs.join(", ")),
        command: command(member),
        sentences: if set.len() > 1 { incomplete_transfers(document) } else { Vec::new() },
        flows: Some(one_flow_per_row(document))
            .filter(|_| set.len() > 1 && any_has_many_flows(set)),
        drops: Some(drops(document)).filter(|drops| set.len() > 1 && !drops.rows.is_empty()),
        scenario: member.document.scenario.show(),
    }
}

/// The command whose results are in a directory, of an emulation without its programs.
fn command(member: &ResultDir) -> String {
    let scenario = member.dir.join("scenario.toml");
    let scenario = shell_quoted(&scenario.to_string_lossy());
    let seed = member.first_seed().unwrap_or(1);
    match member.document.emulated {
        true => format!("driftway emulate {scenario} --seed {seed} -- COMMAND"),
        false => {
            format!("driftway run {scenario} --seed {seed} --runs {}", member.document.runs.len())
        }
    }
}
