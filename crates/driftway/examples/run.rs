//! A simulation in ten lines: a transfer over three hops, one of which loses packets, with and without ATCP.

use driftway::{Scenario, run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/lossy-path.toml");
    for aid in ["none", "atcp"] {
        let scenario = Scenario::load(file, &[("flow.0.aid".into(), aid.into())])?;
        let flow = &run(&scenario, 1, None)?.flows[0];
        println!("{aid:>4}: {:.1} s, {:?} timeouts", flow.end_s - flow.start_s, flow.timeouts);
    }
    Ok(())
}
