//! HTML page of `driftway compare`.

use askama::Template;
use driftway_experiment::comparison::arms::{AIDS, TCPS};
use driftway_experiment::comparison::document::{CompareCell, CompareDocument};

use super::behind::{self, CauseGroup};
use super::kernel::tables::{KernelTables, kernel_tables};
use super::print::{NOT_FOR_UDP, hypothesis, summary, verdict};
use super::tables::{cell_grid, cells, needs_grid, networks, tcp_grid};
use crate::failure::Failure;
use crate::page::{Frame, render};
use crate::text::{self, Grid};

const STYLE: &str = include_str!("../../templates/compare.css");

/// Content of the page, in order.
#[derive(Template)]
#[template(path = "compare.html")]
struct Page<'a> {
    frame: Frame<'a>,
    behind_summary: String,
    /// Cases in which carry is behind, by cause.
    behind: Vec<CauseGroup<'a>>,
    recommendations: Vec<(String, String)>,
    not_for_udp: &'static str,
    note: Option<String>,
    summary: String,
    aids: Vec<String>,
    maps: Vec<Map>,
    short_flows: Option<Grid>,
    neighbours: Option<Grid>,
    needs: Grid,
    readings: Vec<(String, &'static str)>,
    tcps: Grid,
    hypotheses: Vec<(&'static str, String)>,
    kernel: Option<KernelTables>,
    details: Vec<Details>,
    seeds: String,
}

/// Heat map of a TCP.
struct Map {
    tcp: &'static str,
    rows: Vec<MapRow>,
}

/// Network in a heat map.
struct MapRow {
    network: String,
    plain: String,
    ratios: Vec<Heat>,
}

/// Coloured ratio.
struct Heat {
    text: String,
    title: String,
    /// Blue for more, orange for less.
    class: &'static str,
    /// Opacity in per cent.
    strength: u32,
}

/// All cells of a network.
struct Details {
    network: String,
    situation: String,
    tables: Vec<(&'static str, Grid)>,
}

/// Renders the page.
///
/// # Errors
/// A failure to render the template.
pub fn page(document: &CompareDocument) -> Result<String, Failure> {
    let frame = Frame::of_paper("What helps on which network", "compare");
    let style = format!("{}{STYLE}", frame.style);
    let frame = Frame { style, library: String::new(), script: "", ..frame };
    let seeds = |seeds: &[u64]| {
        let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
        seeds.join(", ")
    };
    let page = Page {
        frame,
        behind_summary: behind::summary(document),
        behind: behind::groups(document),
        recommendations: document
            .recommendations
            .iter()
            .map(|of| (of.network.clone(), of.sentence.clone()))
            .collect(),
        not_for_udp: NOT_FOR_UDP,
        note: document.note.clone(),
        summary: summary(document),
        aids: AIDS.iter().map(|of| of.label()).collect(),
        maps: TCPS.iter().map(|tcp| map(document, tcp.name, tcp.label)).collect(),
        short_flows: grid_of(document, |of| {
            let (done, time) = of.completed.zip(of.completion_s)?;
            let late = if done < of.n { format!(" ({done} of {})", of.n) } else { String::new() };
            Some(text::value("completion_s", time) + &late)
        }),
        neighbours: grid_of(document, |of| {
            of.neighbour_relative.map(|ratio| format!("{ratio:.2}"))
        }),
        needs: needs_grid(),
        readings: AIDS.iter().map(|of| (of.label(), of.says)).collect(),
        tcps: tcp_grid(),
        hypotheses: document
            .hypotheses
            .iter()
            .map(|of| (verdict_class(of.holds), hypothesis(of)))
            .collect(),
        kernel: kernel_tables(document),
        details: networks(document).iter().map(|network| details(document, network)).collect(),
        seeds: format!(
            "Chosen with the seeds {}; shown with the seeds {}.",
            seeds(&document.choosing_seeds),
            seeds(&document.seeds)
        ),
    };
    render(&page)
}

fn verdict_class(holds: Option<bool>) -> &'static str {
    match verdict(holds) {
        "holds" => "agrees",
        "undecided" => "not-run",
        _ => "differs",
    }
}

fn map(document: &CompareDocument, tcp: &str, label: &'static str) -> Map {
    let row = |network: &&str| {
        let cells = cells(document, network, tcp);
        let plain = cells.first().map_or(0.0, |of| of.throughput_bps);
        MapRow {
            network: (*network).to_owned(),
            plain: text::value("throughput_bps", plain),
            ratios: cells.iter().skip(1).map(|of| heat(of)).collect(),
        }
    };
    Map { tcp: label, rows: networks(document).iter().map(row).collect() }
}

/// Doubling and halving have half of the full strength.
fn heat(cell: &CompareCell) -> Heat {
    let (class, strength) = match cell.relative {
        Some(ratio) if ratio >= 1.0 => ("more", libm::log2(ratio)),
        Some(ratio) => ("less", -libm::log2(ratio.max(1e-3))),
        None => ("none", 0.0),
    };
    let interval = match cell.ci90 {
        Some([low, high]) => format!(", 90 % interval {} to {high:.3}", text::fixed(low, 3)),
        None => String::new(),
    };
    let p = cell.p_holm.map_or_else(String::new, |p| format!(", p {p:.2e}"));
    Heat {
        text: cell.relative.map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}")),
        title: format!("{}, {}{interval}{p}", super::tables::aid_label(cell), cell.network),
        class,
        strength: (strength * 35.0).clamp(0.0, 70.0) as u32,
    }
}

/// A value of each network that has it: over Linux's TCP, a row for each network and a column for each aid.
fn grid_of(
    document: &CompareDocument,
    value: impl Fn(&CompareCell) -> Option<String>,
) -> Option<Grid> {
    let mut rows = Vec::new();
    for network in networks(document) {
        for tcp in TCPS.iter().filter(|tcp| tcp.linux.is_some()) {
            let values: Option<Vec<String>> =
                cells(document, network, tcp.name).into_iter().map(&value).collect();
            let Some(values) = values else { continue };
            let name = format!("{network}, {}", tcp.name);
            rows.push(std::iter::once(name).chain(values).collect());
        }
    }
    let header = ["network, TCP".to_owned(), "no aid".to_owned()];
    let header = header.into_iter().chain(AIDS.iter().map(|of| of.label())).collect();
    (!rows.is_empty()).then_some(Grid { header, rows })
}

fn details(document: &CompareDocument, network: &str) -> Details {
    let situation = document.cells.iter().find(|of| of.network == network);
    Details {
        network: network.to_owned(),
        situation: situation.map_or_else(String::new, |of| of.situation.clone()),
        tables: TCPS
            .iter()
            .map(|tcp| (tcp.label, cell_grid(document, network, tcp.name)))
            .collect(),
    }
}
