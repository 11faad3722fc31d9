//! `driftway compare`: all aids over all TCPs on some networks, and what to use on which.

mod behind;
mod for_print;
mod kernel;
mod page;
mod print;
mod tables;

use driftway_experiment::comparison::document::{CompareDocument, CompareTiming};
use driftway_experiment::comparison::networks::{
    ListPart, NetworkList, listed_networks, networks_of_files,
};
use driftway_experiment::comparison::runs::{
    CHOOSING_SEEDS, CompareSeeds, run_count, run_networks,
};
use driftway_experiment::comparison::{self};

use crate::args::CompareArgs;
use crate::failure::Failure;
use crate::figures;
use crate::output::{print_results, with_output, write_results};
use crate::runner::{self, RunnerOptions};

/// Compares the aids on the given networks and reports the results.
///
/// # Errors
/// An invalid scenario or command line; a failed run; an interruption.
pub fn compare(args: &CompareArgs) -> Result<(), Failure> {
    let out = args.out.as_deref();
    args.figures_for_print.check_folder(out)?;
    let mut list = networks(args)?;
    let mut left_out = Vec::new();
    if args.kernel {
        left_out = kernel::keep_networks(args, &mut list)?;
        kernel::check_machine()?;
    }
    let document = with_output(out, |destination| {
        let mut document = run(args, &list)?;
        if args.kernel {
            kernel::add_kernel_part(args, &list, left_out, &mut document)?;
        }
        if let Some(dir) = destination {
            let mut staging = dir.stage()?;
            let options = &args.figures_for_print;
            if options.is_wanted() {
                let drawn = for_print::figures(&document, options.band());
                figures::write(&mut staging, &drawn, options)?;
            }
            write_results(staging, &page::page(&document)?, &document)?;
        }
        Ok(document)
    })?;
    print_results(args.json, &document, || print::document(&document), out)
}

/// The networks of the command line: the scenarios, then those of the list.
fn networks(args: &CompareArgs) -> Result<NetworkList, Failure> {
    let named = ListPart::Named(&args.network);
    if args.scenarios.is_empty() {
        let part = match args.quick {
            _ if !args.network.is_empty() => named,
            true => ListPart::Quick,
            false => ListPart::All,
        };
        return Ok(listed_networks(part)?);
    }
    let mut list = networks_of_files(&args.scenarios)?;
    if !args.network.is_empty() {
        let more = listed_networks(named)?.networks;
        if let Some(twice) =
            more.iter().find(|one| list.networks.iter().any(|of| of.name == one.name))
        {
            let name = &twice.name;
            return Err(Failure::Input(format!(
                "--network {name}: a scenario is called {name} as well"
            )));
        }
        list.networks.extend(more);
    }
    Ok(list)
}

fn run(args: &CompareArgs, list: &NetworkList) -> Result<CompareDocument, Failure> {
    let all = CHOOSING_SEEDS.count();
    let seeds = match args.quick {
        true => CompareSeeds::new(all.min(2), list.first_seed, list.quick_runs),
        false => CompareSeeds::new(all, list.first_seed, list.runs),
    };
    let runs = run_count(&list.networks, &seeds);
    let options = RunnerOptions { jobs: args.jobs, fresh: args.fresh, runs };
    #[expect(clippy::disallowed_methods, reason = "measures wall-clock time only")]
    let started = std::time::Instant::now();
    let results =
        runner::with_runner(options, |runner| run_networks(&list.networks, &seeds, runner))?;
    let timing =
        CompareTiming { wall_s: started.elapsed().as_secs_f64(), runs, jobs: options.jobs() };
    Ok(comparison::document(list, &seeds, &results, (args.quick, timing)))
}
