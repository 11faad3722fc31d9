//! Tables of a comparison, for the terminal and the page.

use driftway_experiment::comparison::arms::{
    AIDS, AidReading, DEFAULT_TCP, NEEDS, NO_AID, RECOMMENDED_AID, TCPS,
};
use driftway_experiment::comparison::document::{CompareCell, CompareDocument};
use driftway_sim::results::Estimate;

use crate::text::{self, Grid, Scale};

/// Adjusted probability below which a ratio is significant.
const LEVEL: f64 = 0.05;

/// Names of the networks, in order.
pub fn networks(document: &CompareDocument) -> Vec<&str> {
    let simulated = document.cells.iter().filter(|of| !of.kernel);
    let mut names: Vec<&str> = simulated.map(|of| of.network.as_str()).collect();
    names.dedup();
    names
}

/// The simulated cells of a network and a TCP: without an aid, then the aids in order.
pub fn cells<'a>(document: &'a CompareDocument, network: &str, tcp: &str) -> Vec<&'a CompareCell> {
    let is_of = |of: &&CompareCell| !of.kernel && of.network == network && of.tcp == tcp;
    document.cells.iter().filter(is_of).collect()
}

/// Label of a cell's aid.
pub fn aid_label(cell: &CompareCell) -> String {
    label(&cell.aid, |of| Some(of.reading) == cell.reading)
}

/// Label of an aid in a reading.
pub fn label(aid: &str, is_reading: impl Fn(&AidReading) -> bool) -> String {
    match AIDS.iter().find(|of| of.aid == aid && is_reading(of)) {
        Some(of) => of.label(),
        None if aid == NO_AID => "no aid".to_owned(),
        None => aid.to_owned(),
    }
}

/// A ratio with half of its 90 % interval; a star if it is significant.
pub fn ratio(mean: Option<f64>, ci90: Option<[f64; 2]>, p_holm: Option<f64>) -> String {
    let Some(mean) = mean else { return "–".to_owned() };
    let star = if p_holm.is_some_and(|p| p < LEVEL) { "*" } else { "" };
    if ci90.is_some_and(|[low, high]| low == high) && mean == 1.0 {
        return "1".to_owned();
    }
    match ci90 {
        Some([low, high]) => format!("{mean:.2} ± {:.2}{star}", (high - low) / 2.0),
        None => format!("{mean:.2}"),
    }
}

/// A ratio without spaces, so that all columns fit on a terminal of 100 columns.
pub fn narrow(ratio: String) -> String {
    ratio.replace(" ± ", "±")
}

/// A network as rows of aids and columns of TCPs: throughput relative to the same TCP without an aid.
pub fn network_grid(document: &CompareDocument, network: &str) -> Grid {
    let columns: Vec<Vec<&CompareCell>> =
        TCPS.iter().map(|tcp| cells(document, network, tcp.name)).collect();
    let throughputs =
        columns.iter().filter_map(|column| column.first()).map(|of| of.throughput_bps);
    let scale = Scale::of("throughput_bps", throughputs);
    let mut header = vec!["aid".to_owned()];
    header.extend(TCPS.iter().map(|tcp| tcp.name.to_owned()));
    let first =
        std::iter::once(format!("no aid ({})", scale.unit)).chain(columns.iter().map(|column| {
            let mean = column.first().map_or(0.0, |of| of.throughput_bps);
            text::mean_in(scale, &Estimate { mean, ci90: None, ci95: None, n: 1 })
        }));
    let rows = AIDS.iter().enumerate().map(|(at, aid)| {
        let own = columns.iter().map(|column| {
            let shown = |of: &&CompareCell| narrow(ratio(of.relative, of.ci90, of.p_holm));
            column.get(at + 1).map_or_else(String::new, shown)
        });
        std::iter::once(aid.label()).chain(own).collect()
    });
    Grid { header, rows: std::iter::once(first.collect()).chain(rows).collect() }
}

/// A row for each network over Linux's TCP: throughput without an aid, carry, and the best aid.
pub fn overview_grid(document: &CompareDocument) -> Grid {
    let header =
        ["network", "no aid", RECOMMENDED_AID, "most: aid", "relative", "others beside carry"];
    let row = |network: &&str| {
        let cells = cells(document, network, DEFAULT_TCP);
        let plain = cells.first().map_or(0.0, |of| of.throughput_bps);
        let carry = cells.iter().find(|of| of.aid == RECOMMENDED_AID);
        let value = |of: &CompareCell| of.relative.unwrap_or(0.0);
        // Of equals the first, which is none or the recommended one.
        let best = cells.iter().rev().max_by(|one, other| value(one).total_cmp(&value(other)));
        let shown = |of: &CompareCell| narrow(ratio(of.relative, of.ci90, of.p_holm));
        vec![
            (*network).to_owned(),
            text::value("throughput_bps", plain),
            carry.map_or_else(String::new, |of| shown(of)),
            best.map_or_else(String::new, |of| aid_label(of)),
            best.map_or_else(String::new, |of| shown(of)),
            carry.map_or_else(String::new, |of| {
                narrow(ratio(of.neighbour_relative, of.neighbour_ci90, None))
            }),
        ]
    };
    let rows = networks(document).iter().map(row).collect();
    Grid { header: header.map(str::to_owned).to_vec(), rows }
}

/// All cells of a network and a TCP, in full.
pub fn cell_grid(document: &CompareDocument, network: &str, tcp: &str) -> Grid {
    let cells = cells(document, network, tcp);
    let is_transfer = cells.iter().any(|of| of.completed.is_some());
    let has_neighbours = cells.iter().any(|of| of.neighbour_share.is_some());
    let mut header = vec!["aid", "throughput", "relative", "p (Holm)"];
    if is_transfer {
        header.extend(["completed", "completion"]);
    }
    if has_neighbours {
        header.extend(["others' share", "others, relative"]);
    }
    let row = |of: &&CompareCell| {
        let mut row = vec![
            aid_label(of),
            text::value("throughput_bps", of.throughput_bps),
            ratio(of.relative, of.ci90, of.p_holm),
            of.p_holm.map_or_else(|| "–".to_owned(), probability),
        ];
        if is_transfer {
            row.push(of.completed.map_or_else(String::new, |done| format!("{done} of {}", of.n)));
            row.push(of.completion_s.map_or_else(String::new, |s| text::value("completion_s", s)));
        }
        if has_neighbours {
            row.push(of.neighbour_share.map_or_else(String::new, |share| format!("{share:.2}")));
            row.push(ratio(of.neighbour_relative, of.neighbour_ci90, None));
        }
        row
    };
    Grid {
        header: header.into_iter().map(str::to_owned).collect(),
        rows: cells.iter().map(row).collect(),
    }
}

fn probability(p: f64) -> String {
    if p < 0.001 { "< 0.001".to_owned() } else { format!("{p:.3}") }
}

/// Needs of the aids.
pub fn needs_grid() -> Grid {
    let header = ["aid", "of the network", "of the peer", "of the host"];
    let row = |of: &driftway_experiment::comparison::arms::Needs| {
        [of.aid, of.network, of.peer, of.host].map(str::to_owned).to_vec()
    };
    Grid { header: header.map(str::to_owned).to_vec(), rows: NEEDS.iter().map(row).collect() }
}

/// Settings by which a Linux host has the TCPs.
pub fn tcp_grid() -> Grid {
    let header = ["TCP", "name", "Linux"];
    let row = |tcp: &driftway_experiment::comparison::arms::ComparedTcp| {
        [tcp.label, tcp.name, tcp.linux.unwrap_or("not in today's kernels")]
            .map(str::to_owned)
            .to_vec()
    };
    Grid { header: header.map(str::to_owned).to_vec(), rows: TCPS.iter().map(row).collect() }
}
