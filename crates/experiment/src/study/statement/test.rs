//! Tests of statements, from the file to cells.

use driftway_scenario::{TomlFile, Unit};

use super::*;
use crate::study::format::{Settings, Study};
use crate::study::plan::{AxisPoint, DerivedFrom, PlannedArm, PlannedFigure};
use crate::study::recorded_verdicts::StoredVerdicts;

const PAPER: &str = r#"
    title = "t"
    authors = ["a"]
    source = "s"
    runs = 2
    quick = { runs = 2 }
    group = [{ name = "g", label = "l" }]
    arm = [
        { name = "tcp", label = "TCP", group = "g" },
        { name = "atcp", label = "ATCP", group = "g" },
        { name = "atcp-wire", label = "ATCP", group = "g" },
        { name = "reverse", label = "TCP", group = "g" },
    ]
    cause = { slow = { text = "b in {figure}, {reading}: {atcp}", shown_by = "c {set atcp}" }, few = { text = "d", shown_by = "e" } }
    [[figure]]
    id = "8"
    title = "t"
    scenario = "s.toml"
    x = { key = "k", values = ["10 ms", "30 ms", "50 ms"], label = "delay" }
    y = [{ metric = "completion_s", label = "time" }]
    [[figure]]
    id = "17"
    title = "t"
    scenario = "s.toml"
    x = { key = "k", values = ["50 ms", "10 ms"], label = "delay" }
    y = [{ metric = "timeouts", label = "timeouts" }, { metric = "completion_s", label = "time" }]
"#;

const READINGS: &str = r#"
    [[reading]]
    name = "text"
    label = "as it stands"
    [[reading]]
    name = "wire"
    label = "another"
    set = { "flow.0.aid" = "atcp" }
"#;

/// The planned statements of this text.
fn all(readings: &str, statement: &str) -> Result<Vec<PlannedStatement>, String> {
    let text = format!("{PAPER}\n{readings}\n[[statement]]\nsays = 'something'\n{statement}");
    let file = TomlFile::parse("p.toml", text).map_err(|error| error.to_string())?;
    let study: Study = file.read().map_err(|error| error.to_string())?;
    let point = |value, text: &str| AxisPoint {
        value: Some(value),
        text: text.to_owned(),
        name: None,
        reference: Settings::new(),
    };
    let figure = |number: usize, arms: usize, points: Vec<AxisPoint>| PlannedFigure {
        figure: study.figures[number].clone(),
        arms: study.arms[..arms]
            .iter()
            .map(|arm| {
                let from = |arm: &str, reading: &str| DerivedFrom {
                    arm: arm.into(),
                    reading: reading.into(),
                };
                // As the readings of the tests derive them.
                let derived = match arm.name.as_str() {
                    "atcp-wire" => vec![from("atcp", "wire")],
                    "reverse" => vec![from("tcp", "r")],
                    _ => Vec::new(),
                };
                PlannedArm { arm: arm.clone(), derived, jobs: vec![0; points.len()] }
            })
            .collect(),
        points,
        unit: Unit::Second,
    };
    let all = vec![point(0.01, "10 ms"), point(0.03, "30 ms"), point(0.05, "50 ms")];
    let figures = [
        figure(0, 3, all),
        // Figure 17 has its own arm.
        figure(1, 4, vec![point(0.05, "50 ms"), point(0.01, "10 ms")]),
    ];
    plan(&file, &study, &figures, &StoredVerdicts::default(), None)
        .map_err(|error| error.to_string())
}

/// The cases of a statement about figure 8, without readings.
fn planned(predicate: &str) -> Result<Vec<Case>, String> {
    let mut all = all("", &format!("id = 's'\nfigure = '8'\n{predicate}"))?;
    assert_eq!((all.len(), all[0].figure, all[0].measure), (1, 0, 0));
    Ok(all.remove(0).cases)
}

const fn cell(figure: usize, arm: usize, x: usize) -> Cell {
    Cell { figure, measure: figure, arm, x }
}

const fn tcp(x: usize) -> Cell {
    cell(0, 0, x)
}

const fn atcp(x: usize) -> Cell {
    cell(0, 1, x)
}

fn difference(plus: &[Cell], minus: &[Cell]) -> Quantity {
    Quantity::Difference { plus: plus.to_vec(), minus: minus.to_vec() }
}

#[test]
fn predicates_are_reduced_to_cells() {
    for (predicate, x, quantity) in [
        ("number = 1\nvalue = { arm = 'atcp', x = '30 ms' }", Some(1), Quantity::Mean(atcp(1))),
        (
            "number = 1\nratio = { arm = 'tcp', to = 'atcp', x = '50 ms' }",
            Some(2),
            Quantity::Ratio(tcp(2), atcp(2)),
        ),
        // Flat: the last point divided by the first.
        (
            "band = [1, 1.1]\nratio = { arm = 'atcp', x = '0.05 s', to_x = '10 ms' }",
            Some(2),
            Quantity::Ratio(atcp(2), atcp(0)),
        ),
        (
            "number = 1\nratio = { arm = 'atcp', to_figure = '17', x = '10 ms' }",
            Some(0),
            Quantity::Ratio(atcp(0), cell(1, 1, 1)),
        ),
        ("order = 'atcp < tcp at 10 ms'", Some(0), difference(&[tcp(0)], &[atcp(0)])),
        ("trend = { arm = 'tcp', goes = 'up' }", None, difference(&[tcp(2)], &[tcp(0)])),
        (
            "trend = { arm = 'tcp', goes = 'down', from = '30 ms' }",
            None,
            difference(&[tcp(1)], &[tcp(2)]),
        ),
        (
            "growth = { more = 'tcp', less = 'atcp' }",
            None,
            difference(&[tcp(2), atcp(0)], &[tcp(0), atcp(2)]),
        ),
        (
            "growth = { more = 'tcp', less = 'atcp', relative = true }",
            None,
            Quantity::RatioDifference { higher: [tcp(2), atcp(2)], lower: [tcp(0), atcp(0)] },
        ),
    ] {
        assert_eq!(planned(predicate), Ok(vec![Case { x, quantity }]), "{predicate}");
    }
}

/// The same positions, in any order on the axes.
#[test]
fn added_effects_use_the_same_x_in_both_figures() {
    let of = |predicate: &str| {
        let mut all = all("", &format!("id = 's'\nfigure = '17'\n{predicate}")).unwrap();
        all.remove(0).cases
    };
    let metric = "metric = 'completion_s'";
    assert_eq!(
        of(&format!("{metric}\nadded = {{ base = '8', arm = 'tcp', x = '10 ms' }}")),
        [Case { x: Some(1), quantity: difference(&[cell(1, 0, 1)], &[tcp(0)]) }]
    );
    assert_eq!(
        of(&format!("{metric}\ntrend = {{ arm = 'tcp', goes = 'down', over = '8' }}"))[0].quantity,
        Quantity::RatioDifference {
            higher: [cell(1, 0, 0), tcp(2)],
            lower: [cell(1, 0, 1), tcp(0)]
        }
    );
    let more = of(&format!("{metric}\nadded = {{ base = '8', arm = 'tcp', than = 'atcp' }}"));
    let quantity = difference(&[cell(1, 0, 0), atcp(2)], &[tcp(2), cell(1, 1, 0)]);
    assert_eq!((more.len(), &more[0].quantity), (2, &quantity));
}

/// An arm that a reading replaces in one figure only is not in the figure with which it is
/// compared.
#[test]
fn the_base_figure_may_lack_the_readings_arm() {
    let reading = "[[reading]]\nname = 'r'\nlabel = 'l'";
    let statement = "id = 's'\nfigure = '17'\nmetric = 'completion_s'\n\
                     added = { base = '8', arm = 'tcp', x = '10 ms' }";
    let all = all(reading, statement).unwrap();
    assert_eq!(all[0].cases[0].quantity, difference(&[cell(1, 3, 1)], &[tcp(0)]));
}

#[test]
fn without_x_a_statement_holds_at_each_point() {
    let cases = planned("order = 'atcp < tcp'").unwrap();
    let expected = (0..3).map(|x| Case { x: Some(x), quantity: difference(&[tcp(x)], &[atcp(x)]) });
    assert_eq!(cases, expected.collect::<Vec<_>>());
}

#[test]
fn a_statement_is_judged_in_each_figure_and_reading() {
    let statement = "id = 'order'\nfigure = ['8', '17']\nmetric = 'completion_s'
        order = 'atcp < tcp at 10 ms'
        because = [{ cause = 'slow', figures = ['17'], readings = ['wire'], numbers = '3 of 4' },
                   { cause = 'few', figures = ['8'] }]";
    let all = all(READINGS, statement).unwrap();
    let cause = |p: &PlannedStatement| p.cause.as_ref().map(|cause| cause.text.clone());
    let found: Vec<_> = all.iter().map(|p| (p.id.as_str(), cause(p), p.counted)).collect();
    assert_eq!(
        found,
        [
            ("8-order-text", Some("d".to_owned()), CountedAs::Order),
            ("8-order-wire", Some("d".to_owned()), CountedAs::Order),
            ("17-order-text", None, CountedAs::Order),
            ("17-order-wire", Some("b in 17, wire: atcp-wire 3 of 4".to_owned()), CountedAs::Order),
        ]
    );
    let below = |at: usize| all[at].cases[0].quantity.cells()[1];
    assert_eq!((below(0), below(1)), (atcp(0), cell(0, 2, 0)), "the reading's own arm");
}

/// A reading that does not change what a statement measures is not counted again.
#[test]
fn a_reading_that_changes_nothing_is_not_counted_again() {
    let ids = |statement: &str| {
        let all = all(READINGS, &format!("figure = '8'\n{statement}")).unwrap();
        all.into_iter().map(|of| of.id).collect::<Vec<_>>()
    };
    assert_eq!(ids("id = 's'\nnumber = 1\nvalue = { arm = 'tcp' }"), ["8-s-text"]);
    assert_eq!(ids("id = 's'\nnumber = 1\nvalue = { arm = 'atcp' }"), ["8-s-text", "8-s-wire"]);
}

/// One sentence of a paper is one statement, whatever the number of its points and arms.
#[test]
fn a_statement_over_points_and_arms_is_one() {
    let cases = |predicate: &str| {
        let all = all("", &format!("id = 's'\nfigure = '8'\n{predicate}")).unwrap();
        assert_eq!(all.len(), 1);
        all[0].cases.iter().map(|case| case.quantity.clone()).collect::<Vec<_>>()
    };
    let two = cases("at = ['10 ms', '50 ms']\nnumber = 1\nvalue = { arm = 'tcp' }");
    assert_eq!(two, [Quantity::Mean(tcp(0)), Quantity::Mean(tcp(2))]);
    let arms = cases("at = ['10 ms']\nnumber = 1\nvalue = { arm = ['tcp', 'atcp'] }");
    assert_eq!(arms, [Quantity::Mean(tcp(0)), Quantity::Mean(atcp(0))]);
    let pairs = "order = 'tcp, atcp < atcp, tcp at 10 ms'";
    let both = [difference(&[atcp(0)], &[tcp(0)]), difference(&[tcp(0)], &[atcp(0)])];
    assert_eq!(cases(pairs), both);
    let against_one = "order = 'atcp, atcp-wire < tcp at 10 ms'";
    assert_eq!(cases(against_one).len(), 2);
}

#[test]
fn statements_are_counted_by_category() {
    let counted = |more: &str| {
        let statement = format!("id = 's'\nfigure = '8'\n{more}");
        all(READINGS, &statement).unwrap().iter().map(|p| p.counted).collect::<Vec<_>>()
    };
    let order = "order = 'atcp < tcp'";
    assert_eq!(counted(&format!("ours = true\n{order}")), [CountedAs::Ours], "in no reading");
    assert_eq!(
        counted(&format!("ours = true\nreadings = ['text', 'wire']\n{order}")),
        [CountedAs::Ours; 2]
    );
    assert_eq!(counted(&format!("capped = 'by the rate'\n{order}")), [CountedAs::Capped; 2]);
    assert_eq!(counted("number = 1\nvalue = { arm = 'atcp' }"), [CountedAs::Number; 2]);
}

#[test]
fn incomplete_statements_are_rejected() {
    for (predicate, says) in [
        ("number = 1\nratio = { arm = 'tcp' }", "as its denominator"),
        (
            "number = 1\nratio = { arm = 'tcp', to = 'atcp', x = '10 ms', peak = 'highest' }",
            "a peak is one of several points",
        ),
        ("ratio = { arm = 'tcp', to = 'atcp' }", "a ratio needs a number or a band"),
        ("band = [1, 1]\nratio = { arm = 'tcp', to = 'atcp' }", "its lower end first"),
        ("number = 1\nband = [1, 2]\nvalue = { arm = 'tcp' }", "only a ratio can have a band"),
        ("trend = { arm = 'tcp', goes = 'up', to = '10 ms' }", "a trend needs two points"),
        ("number = 1\ntrend = { arm = 'tcp', goes = 'up' }", "has no number"),
        ("value = { arm = 'tcp' }", "the paper's number"),
        ("", "exactly one predicate"),
        ("order = 'tcp > atcp'", "an order of arms such as"),
        ("number = 0\nbound = 'at-least'\nvalue = { arm = 'tcp' }", "at least 0 always holds"),
        ("number = '3 %'\nvalue = { arm = 'tcp' }", "not in the unit"),
        ("trend = { arm = 'tcp', goes = 'sideways' }", "available: up, down"),
        ("readings = ['text']\ntrend = { arm = 'tcp', goes = 'up' }", "no reading `text`"),
        ("added = { base = '9', arm = 'tcp' }", "no figure `9`"),
        ("capped = ' '\ntrend = { arm = 'tcp', goes = 'up' }", "needs a reason"),
        ("trend = { arm = 'tcp', goes = 'up' }\nbecause = 'slwo'", "did you mean `slow`?"),
        (
            "trend = { arm = 'tcp', goes = 'up' }\nbecause = [{ cause = 'slow', figures = ['17'] }]",
            "no figure in this statement `17`",
        ),
        ("at = ['10 ms']\norder = 'tcp < atcp at 10 ms'", "leave `x` out"),
        ("order = 'tcp, tcp, tcp < atcp, tcp'", "3 arms cannot be"),
        ("at = ['11 ms']\norder = 'tcp < atcp'", "is not a point of the axis"),
    ] {
        let error = planned(predicate).unwrap_err();
        assert!(error.contains(says) && error.starts_with("p.toml:"), "{error}");
    }
}
