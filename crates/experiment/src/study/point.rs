//! One point of a paper's figure as a scenario: `paper:NAME#FIGURE/ARM/POINT`, as in
//! `'paper:yu-2004#50-1/elfn/20 m/s'`. A figure without an axis has one point, which is not named.

use driftway_scenario::Scenario;

use super::check::figure_names;
use super::files::Source;
use super::plan::{Plan, plan};
use crate::error::Error;
use crate::words::available;

/// Separator between a paper's name and a point.
pub const SEPARATOR: char = '#';

/// The scenario of the point `named` (`FIGURE/ARM/POINT`) of the paper called `paper`, with further
/// keys set.
///
/// # Errors
///
/// No such paper, figure, arm or point, with the closest name or all names as a hint; or an invalid
/// key.
pub fn scenario(paper: &str, named: &str, set: &[(String, String)]) -> Result<Scenario, Error> {
    let plan = plan(Source::find(paper)?)?;
    let job = find(&plan, named)?;
    if set.is_empty() {
        return Ok(plan.jobs[job].scenario.clone());
    }
    let job = &plan.jobs[job];
    let file = job.file.rsplit('/').next().unwrap_or(&job.file);
    let all: Vec<_> = job.set.iter().chain(set).cloned().collect();
    Ok(Scenario::parse(&plan.source.display_path(file), &plan.source.read_file(file)?, &all)?)
}

/// Index of the point's job.
fn find(plan: &Plan, named: &str) -> Result<usize, Error> {
    let mut parts = named.splitn(3, '/');
    let study = &plan.study;
    let figure = choose("figure", parts.next(), &figure_names(study), plan)?;
    let planned = &plan.figures[figure];
    let arm = choose("arm", parts.next(), &planned.arm_names(), plan)?;
    let titles: Vec<&str> = planned.points.iter().map(super::plan::AxisPoint::title).collect();
    let point = match (parts.next(), &titles[..]) {
        (None, [_]) => 0,
        (point, titles) => choose("point", point, titles, plan)?,
    };
    Ok(planned.arms[arm].jobs[point])
}

/// Index of `name` in `names`, ignoring spaces.
fn choose(what: &str, name: Option<&str>, names: &[&str], plan: &Plan) -> Result<usize, Error> {
    let plain = |name: &str| name.replace(' ', "");
    let Some(name) = name.filter(|name| !name.is_empty()) else {
        let message = format!("{}: specify the {what} of the scenario", plan.source.name);
        return Err(Error::refused_with(message, format!("available: {}", names.join(", "))));
    };
    names.iter().position(|of| plain(of) == plain(name)).ok_or_else(|| {
        let message = format!("{}: there is no {what} `{name}`", plan.source.name);
        Error::refused_with(message, available(name, names))
    })
}

#[cfg(test)]
mod test {
    use super::*;

    fn wrong(named: &str) -> String {
        let error = scenario("yu-2004", named, &[]).unwrap_err();
        assert!(error.is_input(), "{named}");
        error.to_string()
    }

    #[test]
    fn a_point_combines_figure_arm_and_axis() {
        let of = |named: &str, set: &[(String, String)]| scenario("yu-2004", named, set).unwrap();
        let plan = plan(Source::find("yu-2004").unwrap()).unwrap();
        let figure = &plan.figures[0];
        assert_eq!(figure.figure.id, "50-1");
        let arm = figure.arms.iter().find(|of| of.arm.name == "paths").unwrap();
        let there = &plan.jobs[arm.jobs[3]].scenario;
        assert_eq!(of("50-1/paths/20 m/s", &[]).show(), there.show());
        assert_eq!(of("50-1/paths/20m/s", &[]).show(), there.show());
        let set = [("network.routing.bead".to_owned(), "false".to_owned())];
        let less = of("50-1/paths/20 m/s", &set).show();
        assert_eq!(less, there.show().replace("bead = true", "bead = false"));
        assert_ne!(less, there.show());
    }

    #[test]
    fn a_figure_without_an_axis_has_one_point() {
        assert_eq!(scenario("chandran-1998", "7/tcp", &[]).unwrap().flows.len(), 1);
    }

    #[test]
    fn unknown_points_get_a_suggestion() {
        assert!(wrong("50-11/elfn/5 m/s").contains("did you mean `50-10`?"));
        assert!(wrong("50-1/elf/5 m/s").contains("did you mean `elfn`?"));
        assert!(wrong("50-1/elfn/6 m/s").contains("10 m/s, 15 m/s, 20 m/s"));
        assert!(wrong("50-1/elfn").contains("specify the point"));
        assert!(wrong("50-1").contains("specify the arm"));
        assert!(wrong("").contains("specify the figure"));
        assert!(wrong("50-1/elfn/5 m/s/7").contains("no point"));
    }
}
