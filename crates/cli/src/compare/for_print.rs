//! Figures of a comparison for print: a table of ratios for each TCP, and the intervals of each network.

use driftway_experiment::comparison::arms::{AIDS, ComparedTcp, TCPS};
use driftway_experiment::comparison::document::{CompareCell, CompareDocument};

use super::tables::{cells, networks};
use crate::figures::dots::{DotPlot, Series};
use crate::figures::heat_map::{HeatMap, Ratio};
use crate::figures::options::Band;
use crate::figures::style::ArmStyle;
use crate::figures::{Content, PrintFigure};

/// Title of what is compared.
const RELATIVE: &str = "Throughput relative to the same TCP without an aid";

/// The figures: `relative-TCP` for each TCP, `network-NAME` for each network.
pub fn figures(document: &CompareDocument, band: Band) -> Vec<PrintFigure> {
    let of_tcp = |tcp: &ComparedTcp| PrintFigure {
        id: format!("relative-{}", tcp.name),
        title: format!("{RELATIVE}: {}", tcp.label),
        content: Content::HeatMap(heat_map(document, tcp, band)),
    };
    let of_network = |network: &str| PrintFigure {
        id: format!("network-{network}"),
        title: format!("{RELATIVE}: {network}"),
        content: Content::Dots(intervals(document, network, band)),
    };
    TCPS.iter().map(of_tcp).chain(networks(document).into_iter().map(of_network)).collect()
}

fn heat_map(document: &CompareDocument, tcp: &ComparedTcp, band: Band) -> HeatMap {
    let row = |network: &&str| {
        let own = cells(document, network, tcp.name);
        let ratio = |cell: &&CompareCell| {
            Some(Ratio { value: cell.relative?, interval: band.choose(cell.ci90, cell.ci95) })
        };
        ((*network).to_owned(), own.iter().skip(1).map(ratio).collect())
    };
    HeatMap {
        columns: AIDS.iter().map(|aid| aid.label()).collect(),
        rows: networks(document).iter().map(row).collect(),
        note: format!(
            "{RELATIVE}, {}. In brackets: the {} % interval contains 1.",
            tcp.label,
            band.percent()
        ),
    }
}

/// Aids as rows, TCPs as series.
fn intervals(document: &CompareDocument, network: &str, band: Band) -> DotPlot {
    let series = |(index, tcp): (usize, &ComparedTcp)| {
        let own = cells(document, network, tcp.name);
        let mean = |cell: &&CompareCell| Some((cell.relative?, band.choose(cell.ci90, cell.ci95)));
        Series {
            name: tcp.label.to_owned(),
            style: ArmStyle::of_arm(index),
            means: own.iter().skip(1).map(mean).collect(),
        }
    };
    DotPlot {
        rows: AIDS.iter().map(|aid| aid.label()).collect(),
        title: RELATIVE.to_owned(),
        series: TCPS.iter().enumerate().map(series).collect(),
        lines: vec![(String::new(), 1.0)],
    }
}
