//! Results of the validation against the kernel, as `driftway validate --kernel --json` prints them.

use super::cases::KernelCase;
use super::causes::Causes;
use super::verdict::Verdict;
use crate::validation::compare::compare;

/// The schema version of [`KernelValidation`]. It increases when a reader of the old form would misread the
/// new one.
pub const SCHEMA: u32 = 1;

/// All results.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct KernelValidation {
    /// The version of this form.
    pub schema: u32,
    /// Version of driftway.
    pub version: &'static str,
    /// Kernel release.
    pub release: String,
    /// True if it is the quick part, with short runs.
    pub quick: bool,
    /// A row for each flow of each path.
    pub rows: Vec<KernelRow>,
    /// Cost; never compared.
    pub timing: KernelTiming,
}

/// Cost of the runs.
#[derive(Clone, Copy, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct KernelTiming {
    /// Wall-clock time (s).
    pub wall_s: f64,
    /// Number of runs with the kernel.
    pub kernel_runs: u64,
    /// Number of simulated runs.
    pub simulated_runs: u64,
}

/// The flows of one preset over one path.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct KernelRow {
    /// The path: a figure of the study and its point, or paper, figure and point.
    pub path: String,
    /// Round trip of propagation, the mean delay of all links in both directions without
    /// transmission (s).
    pub rtt_s: f64,
    /// The preset of the simulated TCP.
    pub preset: String,
    /// The kernel's congestion control.
    pub congestion_control: String,
    /// True if no other flow is on the path.
    pub alone: bool,
    /// The preset of the other flow, whose congestion control the kernel's other flow has; `null` if
    /// there is none.
    pub beside: Option<String>,
    /// Mean throughput of the simulated TCP: payload delivered by the end of the transfer or of the
    /// run, over that time (bit/s); `null` without runs.
    pub simulated_bps: Option<f64>,
    /// Mean throughput of the kernel's TCP (bit/s); `null` without runs.
    pub kernel_bps: Option<f64>,
    /// `simulated_bps` over `kernel_bps`; `null` if one is missing or the kernel's is zero.
    pub ratio: Option<f64>,
    /// Welch's 90 % interval of the ratio; `null` with fewer than two runs on a side.
    pub ci90: Option<[f64; 2]>,
    /// Runs of the kernel.
    pub n: u64,
    /// Simulated runs.
    pub simulated_n: u64,
    /// Runs of the kernel, among those counted, that did not keep real time.
    pub late: u64,
    /// `within`: the interval lies in 0.95 to 1.05; `outside`: it lies outside; `undecided`: it
    /// contains an edge, or there is none.
    pub verdict: Verdict,
    /// Reason why the row is outside, where that has been shown; `null` for other rows.
    pub cause: Option<String>,
}

/// The runs of one case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CaseRuns {
    /// Throughput of each flow in each simulated run (bit/s).
    pub simulated: Vec<Vec<f64>>,
    /// Throughput of each flow in each run of the kernel (bit/s).
    pub kernel: Vec<Vec<f64>>,
    /// Runs of the kernel that did not keep real time.
    pub late: u64,
}

impl CaseRuns {
    /// The verdict on a flow.
    pub fn verdict(&self, flow: usize) -> Verdict {
        Verdict::of(compare(&of_flow(&self.simulated, flow), &of_flow(&self.kernel, flow)).ratio)
    }
}

/// The values of one flow.
fn of_flow(runs: &[Vec<f64>], flow: usize) -> Vec<f64> {
    runs.iter().filter_map(|run| run.get(flow).copied()).collect()
}

/// The rows of a case, one for each flow.
pub fn rows(case: &KernelCase, runs: &CaseRuns, causes: &Causes) -> Vec<KernelRow> {
    let row = |flow: usize| {
        let of = case.flows[flow];
        let simulated = of_flow(&runs.simulated, flow);
        let kernel = of_flow(&runs.kernel, flow);
        let compared = compare(&simulated, &kernel);
        let verdict = Verdict::of(compared.ratio);
        let cause = causes.of(case, flow).filter(|_| verdict == Verdict::Outside);
        let mut others = case.flows.iter().enumerate().filter(|(other, _)| *other != flow);
        let beside = others.next().map(|(_, other)| other.preset.to_owned());
        KernelRow {
            path: case.path.clone(),
            rtt_s: case.rtt_s,
            preset: of.preset.to_owned(),
            congestion_control: of.congestion_control.to_owned(),
            alone: beside.is_none(),
            beside,
            simulated_bps: compared.ours.map(|of| of.mean),
            kernel_bps: compared.theirs.map(|of| of.mean),
            ratio: compared.ratio.map(|of| of.mean),
            ci90: compared.ratio.and_then(|of| of.ci90),
            n: kernel.len() as u64,
            simulated_n: simulated.len() as u64,
            late: runs.late,
            verdict,
            cause: cause.map(str::to_owned),
        }
    };
    (0..case.flows.len()).map(row).collect()
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::validation::kernel::cases::test::case;

    fn runs(simulated: &[&[f64]], kernel: &[&[f64]]) -> CaseRuns {
        let own = |of: &[&[f64]]| of.iter().map(|run| run.to_vec()).collect();
        CaseRuns { simulated: own(simulated), kernel: own(kernel), late: 1 }
    }

    #[test]
    fn each_flow_has_a_row() {
        let case = case("clean/10 ms", &["linux", "sack"]);
        let runs = runs(&[&[4.0, 6.0], &[4.02, 6.02]], &[&[4.01, 3.0], &[4.02, 3.1], &[4.0, 3.0]]);
        let rows = rows(&case, &runs, &Causes::default());
        let [one, other] = &rows[..] else { panic!("{rows:?}") };
        assert_eq!((one.preset.as_str(), one.beside.as_deref()), ("linux", Some("sack")));
        assert_eq!((other.preset.as_str(), other.beside.as_deref()), ("sack", Some("linux")));
        assert_eq!((one.verdict, other.verdict), (Verdict::Within, Verdict::Outside));
        assert_eq!((one.n, one.simulated_n, one.late, one.alone), (3, 2, 1, false));
        assert!((one.ratio.unwrap() - 1.0).abs() < 1e-9, "{one:?}");
        let [low, high] = other.ci90.unwrap();
        assert!(
            low < other.ratio.unwrap() && other.ratio.unwrap() < high && low > 1.5,
            "{other:?}"
        );
        assert_eq!((runs.verdict(0), runs.verdict(1)), (Verdict::Within, Verdict::Outside));
    }

    #[test]
    fn the_keys_are_those_that_programs_read() {
        let case = case("clean/10 ms", &["linux"]);
        let row = &rows(&case, &runs(&[&[4.0]], &[]), &Causes::default())[0];
        let row = serde_json::to_value(row).unwrap();
        for (key, value) in [
            ("path", serde_json::json!("clean/10 ms")),
            ("rtt_s", serde_json::json!(0.01)),
            ("preset", serde_json::json!("linux")),
            ("alone", serde_json::json!(true)),
            ("beside", serde_json::Value::Null),
            ("simulated_bps", serde_json::json!(4.0)),
            ("kernel_bps", serde_json::Value::Null),
            ("ratio", serde_json::Value::Null),
            ("ci90", serde_json::Value::Null),
            ("n", serde_json::json!(0)),
            ("verdict", serde_json::json!("undecided")),
        ] {
            assert_eq!(row.get(key), Some(&value), "{key}");
        }
    }
}
