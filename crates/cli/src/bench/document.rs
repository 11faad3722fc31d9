//! Results of `driftway bench --json`.

use driftway_experiment::summary::estimate;
use driftway_scenario::Scenario;
use serde::Serialize;
use serde_json::Value;

/// The schema version of [`BenchDocument`].
const SCHEMA: u32 = 1;

/// All measurements.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct BenchDocument {
    /// The version of this form.
    pub schema: u32,
    /// Version of driftway.
    pub version: &'static str,
    /// Runs of each case.
    pub runs: u64,
    /// A row for each network: those of the comparison with ns-2.35, then lattices without one.
    pub rows: Vec<BenchRow>,
}

impl BenchDocument {
    /// A document with these rows.
    pub fn new(runs: u64, rows: Vec<BenchRow>) -> Self {
        Self { schema: SCHEMA, version: env!("CARGO_PKG_VERSION"), runs, rows }
    }
}

/// Cost of one network.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct BenchRow {
    /// Case and point, such as `mobile-aodv/1`.
    pub name: String,
    /// Number of nodes.
    pub nodes: u64,
    /// Routing protocol.
    pub protocol: String,
    /// Number of flows of TCP.
    pub tcp_flows: u64,
    /// User CPU time of a run, mean (s).
    pub driftway_s: f64,
    /// User CPU time of a run of ns-2.35, mean (s); `null` without ns-2.35.
    pub ns2_s: Option<f64>,
    /// Factor of speed over ns-2.35, for equal numbers of delivered bytes, mean of the runs' ratios;
    /// `null` without ns-2.35.
    pub ratio: Option<f64>,
    /// Lower and upper end of the 90 % interval of `ratio` (Student's t, paired by seed); `null` for one run.
    pub ci90: Option<[f64; 2]>,
}

/// User CPU times (s) and goodputs of the runs of one simulator, by seed.
pub type RunCosts = Vec<(f64, f64)>;

impl BenchRow {
    /// A row for a scenario with the costs of driftway's runs and, of the same seeds, those of ns-2.35.
    pub fn new(
        name: String,
        scenario: &Scenario,
        ours: &RunCosts,
        theirs: Option<&RunCosts>,
    ) -> Self {
        // As the results have the scenario.
        let network = serde_json::to_value(&scenario.network).unwrap_or_default();
        let protocol = network.pointer("/routing/protocol").and_then(Value::as_str);
        let mean = |runs: &RunCosts| {
            runs.iter().map(|(user_s, _)| user_s).sum::<f64>() / runs.len() as f64
        };
        let ratios = theirs.map(|theirs| {
            let pairs = ours.iter().zip(theirs);
            pairs.map(|(own, other)| (other.0 / other.1) / (own.0 / own.1)).collect::<Vec<f64>>()
        });
        let ratio = ratios.and_then(|ratios| estimate(&ratios));
        Self {
            name,
            nodes: network.pointer("/nodes").and_then(Value::as_u64).unwrap_or(0),
            protocol: protocol.unwrap_or_default().to_owned(),
            tcp_flows: scenario.flows.iter().filter(|flow| flow.tcp.is_some()).count() as u64,
            driftway_s: mean(ours),
            ns2_s: theirs.map(mean),
            ratio: ratio.as_ref().map(|ratio| ratio.mean),
            ci90: ratio.and_then(|ratio| ratio.ci90),
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;

    const LATTICE: &str = "name = \"two\"\nduration = \"1 s\"\n[network]\nkind = \"adhoc\"\nnodes = 2\n\
                           mobility = { chain = \"100 m\" }\nrouting = { protocol = \"dsr\" }\n\
                           [[flow]]\nfrom = 0\nto = 1\napplication = \"ftp\"\n";

    #[test]
    fn a_ratio_is_for_equal_goodput_and_paired_by_seed() {
        let scenario = Scenario::parse("two.toml", LATTICE, &[]).unwrap();
        let ours = vec![(1.0, 100.0), (2.0, 100.0)];
        // Ten times the time for twice the goodput, and twelve times for the same.
        let theirs = vec![(10.0, 200.0), (24.0, 100.0)];
        let row = BenchRow::new("two".into(), &scenario, &ours, Some(&theirs));
        assert_eq!((row.nodes, row.protocol.as_str(), row.tcp_flows), (2, "dsr", 1));
        assert_eq!((row.driftway_s, row.ns2_s, row.ratio), (1.5, Some(17.0), Some(8.5)));
        // 6.3138 standard errors of 3.5.
        let [low, high] = row.ci90.unwrap();
        assert!((low - (8.5 - 22.098)).abs() < 1e-2 && (high - (8.5 + 22.098)).abs() < 1e-2);
        let alone = BenchRow::new("two".into(), &scenario, &ours, None);
        assert_eq!((alone.ns2_s, alone.ratio, alone.ci90), (None, None, None));
    }
}
