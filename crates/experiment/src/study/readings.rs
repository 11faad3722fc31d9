//! Arms that readings derive from those of a figure.

use driftway_scenario::Scenario;

use super::format::{Arm, Figure, Point, Settings, Study};
use super::plan::{DerivedFrom, PlannedArm, Planner};
use super::reading::Reading;
use crate::error::Error;

impl<'a> Planner<'a> {
    /// The arms of a figure, and those that readings derive from them and that differ.
    pub(super) fn with_readings(
        &mut self,
        figure: usize,
        points: &[Point],
        mut all: Vec<PlannedArm>,
    ) -> Result<Vec<PlannedArm>, Error> {
        let study = self.study;
        let id = study.figures[figure].id.as_str();
        let own = all.clone();
        for (number, reading) in study.readings.iter().enumerate() {
            let judged = study.arms_judged(id, reading);
            let also = arms_listed(study, figure, number);
            for planned in &own {
                let name = planned.arm.name.as_str();
                let all_shown = study.figures[figure].readings.contains(&reading.name);
                if all_shown || judged.contains(&name) || also.contains(&name) {
                    self.derive((figure, points), planned, (number, reading), &mut all)?;
                }
            }
        }
        let only = self.derived_only(figure);
        all.retain(|of| !of.derived.is_empty() || !only.contains(&of.arm.name.as_str()));
        let compare_within_reading: Vec<_> = all.iter().map(|of| self.compared(of, &all)).collect();
        for (planned, against) in all.iter_mut().zip(compare_within_reading) {
            planned.arm.against = against;
        }
        for planned in all.iter().filter(|of| !of.derived.is_empty()) {
            if !self.derived.iter().any(|arm| arm.name == planned.arm.name) {
                self.derived.push(planned.arm.clone());
            }
        }
        Ok(all)
    }

    /// The arms of a figure that it has only as readings derive them: it lists `tcp-wire`, but not `tcp`, or
    /// all arms if it has readings but not the first one.
    pub(super) fn derived_only(&self, figure: usize) -> Vec<&'a str> {
        let study = self.study;
        let Figure { arms: listed, groups, readings, .. } = &study.figures[figure];
        let literal = study.readings.first().is_none_or(|of| readings.contains(&of.name));
        if !readings.is_empty() && !literal {
            return study.arms.iter().map(|arm| arm.name.as_str()).collect();
        }
        let named = listed.iter().filter_map(|name| study.arm_and_reading(name));
        let derived = named.filter(|(_, reading)| reading.is_some());
        let arms = derived.map(|(arm, _)| &study.arms[arm]);
        let is_itself = |arm: &Arm| listed.contains(&arm.name) || groups.contains(&arm.group);
        arms.filter(|arm| !is_itself(arm)).map(|arm| arm.name.as_str()).collect()
    }

    /// Adds the arm as this reading has it to `all`, if there is not one that is the same.
    fn derive(
        &mut self,
        (figure, points): (usize, &[Point]),
        planned: &PlannedArm,
        (number, reading): (usize, &Reading),
        all: &mut Vec<PlannedArm>,
    ) -> Result<(), Error> {
        let set = self.applicable(figure, points, &planned.arm, reading)?;
        if set.is_empty() && !planned.jobs.is_empty() {
            return Ok(());
        }
        let name = &planned.arm.name;
        let colour = planned.arm.number + self.study.arms.len() * (number + 1);
        let arm = reading.derived(&planned.arm, set, colour);
        let from = DerivedFrom { arm: name.clone(), reading: reading.name.clone() };
        let derived = self.arm_with_jobs(figure, points, arm, vec![from.clone()])?;
        let is_same = |of: &PlannedArm| {
            of.jobs == derived.jobs && of.derived.iter().any(|from| from.arm == *name)
        };
        if derived.jobs == planned.jobs {
            return Ok(());
        }
        match all.iter_mut().find(|of| is_same(of)) {
            Some(same) => same.derived.push(from),
            None => all.push(derived),
        }
        Ok(())
    }

    /// The overrides of a reading that the scenario with this arm has.
    fn applicable(
        &mut self,
        figure: usize,
        points: &[Point],
        arm: &Arm,
        reading: &Reading,
    ) -> Result<Settings, Error> {
        let mut set = reading.settings_of(&arm.name);
        let (place, text) = self.scenario_text(figure, arm)?;
        let of_figure = self.study.figures[figure].set.clone();
        let of_point = points.first().map(|point| point.set.clone()).unwrap_or_default();
        while !set.is_empty() {
            let mut own = arm.set.clone();
            own.extend(set.clone());
            let all: Vec<(String, String)> = [&of_figure, &own, &of_point]
                .into_iter()
                .flatten()
                .map(|(key, value)| (key.clone(), value.0.clone()))
                .collect();
            let Err(error) = Scenario::parse_with(&place, &text, &all, self.registry) else {
                break;
            };
            let key = error.location().strip_prefix("--set ").map(str::to_owned);
            let Some(key) = key.filter(|key| set.contains_key(key)) else { break };
            set.remove(&key);
            self.applied.refused.insert((reading.name.clone(), key), error);
        }
        for key in set.keys() {
            self.applied.applied.insert((reading.name.clone(), key.clone()));
        }
        Ok(set)
    }

    /// The arm with which an arm is compared: in a reading the one of this reading, if there is one.
    fn compared(&self, planned: &PlannedArm, all: &[PlannedArm]) -> Option<String> {
        let against = planned.arm.against.as_ref()?;
        let Some(from) = planned.derived.first() else { return Some(against.clone()) };
        let is_of_reading = |of: &&PlannedArm| {
            of.derived.iter().any(|of| of.arm == *against && of.reading == from.reading)
        };
        let found = all.iter().find(is_of_reading).map(|of| of.arm.name.clone());
        Some(found.unwrap_or_else(|| against.clone()))
    }
}

/// The arms that a figure lists as derived by this reading: `tcp` for `tcp-wire`.
fn arms_listed(study: &Study, figure: usize, reading: usize) -> Vec<&str> {
    let listed = study.figures[figure].arms.iter();
    let derived = listed.filter_map(|name| study.arm_and_reading(name));
    let of_reading = derived.filter(|(_, of)| *of == Some(reading));
    of_reading.map(|(arm, _)| study.arms[arm].name.as_str()).collect()
}

#[cfg(test)]
mod test {
    use std::path::PathBuf;

    use crate::error::Error;
    use crate::study::plan::{Plan, plan};
    use crate::study::source::Source;

    const STUDY: &str = r#"title = "figures in readings"
y = ["completion_s"]
arm = [{ name = "tcp", label = "TCP" }, { name = "atcp", label = "ATCP", set = { "flow.0.aid" = "atcp" } }]
reading = [
  { name = "fast", label = "as it stands" },
  { name = "slow", label = "slow", set = { "network.link.rate" = "1 Mbit/s" } },
  { name = "far", label = "far", like = "slow", set = { "network.link.delay" = "50 ms" } },
]
figure = [
  { id = "all", title = "t", readings = ["*"] },
  { id = "two", title = "t", readings = ["slow", "far"] },
  { id = "like", title = "t", like = "two", arms = ["tcp"] },
  { id = "one", title = "t" },
]
statement = [
  { id = "s", figure = ["all", "two", "one"], says = "s", order = "atcp < tcp", ours = true, readings = ["far"] },
  { id = "o", figure = ["two", "one"], says = "o", order = "atcp < tcp", ours = true },
]

[scenario]
name = "a path"
duration = "60 s"
network = { kind = "path", hops = 1, link = { rate = "2 Mbit/s", delay = "5 ms" } }
flow = [{ from = 0, to = 1, application = { transfer = "10 kB" } }]
"#;

    fn planned(text: &str) -> Result<Plan, Error> {
        plan(Source::from_text("own", text.to_owned(), PathBuf::new()))
    }

    #[test]
    fn a_figure_shows_all_its_arms_in_its_readings() {
        let plan = planned(STUDY).unwrap();
        let arms = |figure: usize| plan.figures[figure].arm_names();
        assert_eq!(arms(0), ["tcp", "atcp", "tcp-slow", "atcp-slow", "tcp-far", "atcp-far"]);
        assert_eq!(arms(1), ["tcp-slow", "atcp-slow", "tcp-far", "atcp-far"]);
        assert_eq!(arms(2), ["tcp-slow", "tcp-far"]);
        assert_eq!(arms(3), ["tcp", "atcp", "tcp-far", "atcp-far"], "those of a statement");
        let judged: Vec<&str> = plan.statements.iter().map(|of| of.id.as_str()).collect();
        assert_eq!(
            judged,
            ["all-s-far", "two-s-far", "one-s-far", "two-o-slow", "two-o-far", "one-o"]
        );
    }

    #[test]
    fn a_reading_of_a_figure_is_known() {
        for (from, to, says) in [
            ("[\"slow\", \"far\"]", "[\"slow\", \"fra\"]", "there is no reading `fra`"),
            ("[\"*\"]", "[\"s*\", \"fa*t\", \"x*\"]", "no reading matches `x*`"),
            ("like = \"slow\"", "like = \"far\"", "there is no earlier reading `far`"),
        ] {
            let error = planned(&STUDY.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
