//! Arms of `driftway paper --kernel`: simulated TCPs, and this machine's kernel without and with the
//! shim.

use schemars::JsonSchema;
use serde::Serialize;

use crate::failure::Failure;
use crate::kernel::shim_thread::DEFAULT_AID;
use driftway_experiment::study::format::{Arm, Group, Kernel, Settings};
use driftway_experiment::study::plan::Plan;

/// Default congestion controls: the paper's TCP is Reno; most hosts of today run CUBIC.
pub const CONGESTION_CONTROLS: [&str; 2] = ["cubic", "reno"];

/// Congestion controls whose window growth the simulator has.
const SIMULATED_GROWTHS: [&str; 2] = ["cubic", "reno"];

/// TCP of a kernel arm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Stack {
    /// The kernel's name of the congestion control.
    pub congestion_control: String,
    /// True if the shim runs below the kernel's TCP at one end.
    pub shim: bool,
    /// Aid of the shim; `null` without a shim.
    pub aid: Option<String>,
}

/// Backend that runs an arm.
#[derive(Debug)]
pub enum ArmBackend {
    /// The simulator: name of the paper's arm, and the window growth if it is not the arm's.
    Simulator(String, Option<&'static str>),
    /// This machine's kernel.
    Kernel(Stack),
}

/// An arm and its backend.
#[derive(Debug)]
pub struct KernelArm {
    /// Name and label of the arm.
    pub arm: Arm,
    /// Backend that runs the arm.
    pub backend: ArmBackend,
}

/// All arms: first the simulated ones, then the kernel's.
///
/// # Errors
/// An invalid name of a congestion control.
pub fn plan_arms(
    whole: &Plan,
    kernel: &Kernel,
    congestion_controls: &[String],
) -> Result<Vec<KernelArm>, Failure> {
    let named = |names: &[String]| -> Vec<Arm> {
        let of = |name: &String| whole.study.all_arms().find(|arm| arm.name == *name);
        names.iter().filter_map(of).cloned().collect()
    };
    let mut lab = Vec::new();
    for Arm { name, label, set, .. } in named(&kernel.arms) {
        let backend = ArmBackend::Simulator(name.clone(), None);
        lab.push(KernelArm { arm: arm("lab", name, label, set), backend });
    }
    compare_with_first(&mut lab);
    let default = [DEFAULT_AID];
    let own: Vec<&str> = kernel.aid.0.iter().map(String::as_str).collect();
    let aids: &[&str] = if own.is_empty() { &default } else { &own };
    let mut stacks = Vec::new();
    for name in congestion_controls {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if name.is_empty() || !name.bytes().all(legal) {
            return Err(Failure::Input(format!(
                "--congestion-control {name}: expected a name, as in cubic"
            )));
        }
        let display = display_name(name);
        let growth = SIMULATED_GROWTHS.into_iter().find(|growth| growth == name);
        let twin = |Arm { name: twin, label, set, .. }: Arm| {
            let arm = arm("lab", format!("{twin}-{name}"), format!("{label}, {display}"), set);
            KernelArm { arm, backend: ArmBackend::Simulator(twin, growth) }
        };
        let twins = named(&kernel.twins).into_iter().filter(|_| growth.is_some());
        let mut twins: Vec<KernelArm> = twins.map(twin).collect();
        compare_with_first(&mut twins);
        lab.extend(twins);
        let stack = |aid: Option<&str>| {
            let (ending, with) = match aid {
                None => (String::new(), String::new()),
                Some(DEFAULT_AID) => ("-shim".to_owned(), " over the shim".to_owned()),
                Some(aid) => (format!("-{aid}"), format!(" over the shim, {aid}")),
            };
            let (arm_name, label) = (format!("kernel-{name}{ending}"), format!("{display}{with}"));
            let aid = aid.map(str::to_owned);
            let stack = Stack { congestion_control: name.clone(), shim: aid.is_some(), aid };
            KernelArm {
                arm: arm("kernel", arm_name, label, Settings::new()),
                backend: ArmBackend::Kernel(stack),
            }
        };
        let with_shim = aids.iter().map(|aid| stack(Some(aid)));
        let mut all: Vec<KernelArm> = std::iter::once(stack(None)).chain(with_shim).collect();
        compare_with_first(&mut all);
        stacks.extend(all);
    }
    lab.extend(stacks);
    for (number, planned) in lab.iter_mut().enumerate() {
        planned.arm.number = number;
    }
    Ok(lab)
}

fn arm(group: &str, name: String, label: String, set: Settings) -> Arm {
    Arm { name, label, group: group.to_owned(), set, ..Arm::default() }
}

/// Compares all arms with the first one, which is TCP alone.
fn compare_with_first(arms: &mut [KernelArm]) {
    if let [first, others @ ..] = arms {
        for other in others {
            other.arm.against = Some(first.arm.name.clone());
        }
    }
}

/// Usual spelling of a congestion control's name.
fn display_name(congestion_control: &str) -> String {
    match congestion_control {
        "reno" => "Reno".to_owned(),
        "cubic" | "bbr" => congestion_control.to_uppercase(),
        other => other.to_owned(),
    }
}

/// Groups of the arms.
pub fn groups() -> Vec<Group> {
    let group = |name: &str, label: &str| Group { name: name.to_owned(), label: label.to_owned() };
    vec![
        group(
            "kernel",
            "this machine's own TCP in real time, without and with `driftway shim` below it",
        ),
        group("lab", "the same scenarios and seeds, with the aids as in the paper"),
    ]
}
