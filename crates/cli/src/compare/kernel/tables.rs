//! Tables and sentences of the part with the kernel.

use driftway_experiment::comparison::document::{CompareCell, CompareDocument, KernelPart};
use driftway_experiment::comparison::kernel::{KERNEL_TCPS, KernelAid, KernelTcp};

use crate::compare::tables::{narrow, ratio};
use crate::text::{self, Grid, count};

/// The part with the kernel, for readers.
pub struct KernelTables {
    /// The amount of work, and how many runs count.
    pub summary: String,
    /// The meaning of each aid.
    pub aids: Vec<(String, String)>,
    /// A row for each network and TCP.
    pub grid: Grid,
    /// Networks that were not run.
    pub left_out: Vec<(String, String)>,
}

/// The tables of a document that has the part.
pub fn kernel_tables(document: &CompareDocument) -> Option<KernelTables> {
    let part = document.kernel.as_ref()?;
    Some(KernelTables {
        summary: summary(part),
        aids: part.aids.iter().map(|of| (of.aid.clone(), of.says.clone())).collect(),
        grid: grid(document),
        left_out: part.left_out.iter().map(|of| (of.network.clone(), of.because.clone())).collect(),
    })
}

fn summary(part: &KernelPart) -> String {
    let late = match part.late {
        0 => String::new(),
        late => format!(
            " {} whose packets were late each time that they were tried do not count; a quieter machine, or fewer --jobs, may \
             help.",
            count(late, "run")
        ),
    };
    let not_started = match part.not_started {
        0 => String::new(),
        runs => format!(" There was no time for {}.", count(runs, "run")),
    };
    format!(
        "This machine's own TCP, Linux {}, over the emulated links in real time: {} in {:.0} s. The ratios are to the same TCP \
         as it is, paired by seed, ± half of the 90 % interval (Student's t); * marks p below 0.05 by Holm's procedure over \
         these cells.{late}{not_started}",
        part.release,
        count(part.runs, "run"),
        part.wall_s,
    )
}

/// A row for each network and TCP: throughput as it is, and relative to that.
fn grid(document: &CompareDocument) -> Grid {
    let mut networks: Vec<&str> = Vec::new();
    for cell in document.cells.iter().filter(|of| of.kernel) {
        if !networks.contains(&cell.network.as_str()) {
            networks.push(&cell.network);
        }
    }
    let header = ["network", "TCP", "as it is", "RTO ≤ 1 s", "shim", "done", "others with shim"];
    let row = |network: &str, preset: &str, name: &str| -> Option<Vec<String>> {
        let of = |aid: KernelAid| {
            let is_it = |cell: &&CompareCell| {
                cell.kernel
                    && cell.network == network
                    && cell.tcp == preset
                    && cell.aid == aid.name()
            };
            document.cells.iter().find(is_it)
        };
        let cells = KernelAid::ALL.map(of);
        let [plain, limit, shim] = cells;
        let relative = |cell: Option<&CompareCell>| {
            cell.map_or_else(|| "–".to_owned(), |of| narrow(ratio(of.relative, of.ci90, of.p_holm)))
        };
        let done = cells
            .map(|cell| cell.and_then(|of| of.completed.map(|done| format!("{done}/{}", of.n))));
        cells.iter().any(Option::is_some).then(|| {
            vec![
                network.to_owned(),
                name.to_uppercase(),
                plain.map_or_else(
                    || "–".to_owned(),
                    |of| text::value("throughput_bps", of.throughput_bps).replace(' ', "\u{a0}"),
                ),
                relative(limit),
                relative(shim),
                done.into_iter().flatten().collect::<Vec<_>>().join(" "),
                shim.filter(|of| of.neighbour_relative.is_some()).map_or_else(String::new, |of| {
                    narrow(ratio(of.neighbour_relative, of.neighbour_ci90, None))
                }),
            ]
        })
    };
    let rows = networks.iter().flat_map(|network| {
        let of_tcp = |tcp: &KernelTcp| row(network, tcp.preset, tcp.congestion_control);
        KERNEL_TCPS.iter().filter_map(of_tcp).collect::<Vec<_>>()
    });
    Grid { header: header.map(str::to_owned).to_vec(), rows: rows.collect() }
}
