//! Tests of statements, from the file to cells.

use driftway_scenario::{TomlFile, Unit};

use super::*;
use crate::study::format::{Settings, Study};
use crate::study::plan::{AxisPoint, PlannedArm, PlannedFigure};

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
    arms = { atcp = "atcp-wire" }
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
            .map(|arm| PlannedArm { arm: arm.clone(), jobs: vec![0; points.len()] })
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
    plan(&file, &study, &figures).map_err(|error| error.to_string())
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
        (
            "order = { below = 'atcp', above = 'tcp', x = '10 ms' }",
            Some(0),
            difference(&[tcp(0)], &[atcp(0)]),
        ),
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
    let reading = "[[reading]]\nname = 'r'\nlabel = 'l'\narms = { tcp = 'reverse' }";
    let statement = "id = 's'\nfigure = '17'\nmetric = 'completion_s'\n\
                     added = { base = '8', arm = 'tcp', x = '10 ms' }";
    let all = all(reading, statement).unwrap();
    assert_eq!(all[0].cases[0].quantity, difference(&[cell(1, 3, 1)], &[tcp(0)]));
}

#[test]
fn without_x_a_statement_holds_at_each_point() {
    let cases = planned("order = { below = 'atcp', above = 'tcp' }").unwrap();
    let expected = (0..3).map(|x| Case { x: Some(x), quantity: difference(&[tcp(x)], &[atcp(x)]) });
    assert_eq!(cases, expected.collect::<Vec<_>>());
}

#[test]
fn a_statement_is_judged_in_each_figure_and_reading() {
    let statement = "id = 'order'\nfigure = ['8', '17']\nmetric = 'completion_s'
        order = { below = 'atcp', above = 'tcp', x = '10 ms' }
        [[statement.differs]]
        figures = ['17']
        readings = ['wire']
        because = 'b'
        shown_by = 'c'
        [[statement.differs]]
        figures = ['8']
        because = 'd'
        shown_by = 'e'";
    let all = all(READINGS, statement).unwrap();
    let cause = |p: &PlannedStatement| p.differs.as_ref().map(|differs| differs.because.clone());
    let found: Vec<_> =
        all.iter().map(|p| (p.id.as_str(), p.expected, cause(p), p.counted)).collect();
    use super::format::Verdict::{Agrees, Differs};
    assert_eq!(
        found,
        [
            ("8-order-text", Differs, Some("d".to_owned()), CountedAs::Order),
            ("8-order-wire", Differs, Some("d".to_owned()), CountedAs::Order),
            ("17-order-text", Agrees, None, CountedAs::Order),
            ("17-order-wire", Differs, Some("b".to_owned()), CountedAs::Order),
        ]
    );
    let below = |at: usize| all[at].cases[0].quantity.cells()[1];
    assert_eq!((below(0), below(1)), (atcp(0), cell(0, 2, 0)), "the reading's own arm");
}

#[test]
fn statements_are_counted_by_category() {
    let counted = |more: &str| {
        let statement = format!("id = 's'\nfigure = '8'\n{more}");
        all(READINGS, &statement).unwrap().iter().map(|p| p.counted).collect::<Vec<_>>()
    };
    let order = "order = { below = 'atcp', above = 'tcp' }";
    assert_eq!(counted(&format!("ours = true\n{order}")), [CountedAs::Ours], "in no reading");
    assert_eq!(
        counted(&format!("ours = true\nreadings = ['text', 'wire']\n{order}")),
        [CountedAs::Ours; 2]
    );
    assert_eq!(counted(&format!("capped = 'by the rate'\n{order}")), [CountedAs::Capped; 2]);
    assert_eq!(counted("number = 1\nvalue = { arm = 'tcp' }"), [CountedAs::Number; 2]);
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
        ("number = 0\nbound = 'at-least'\nvalue = { arm = 'tcp' }", "at least 0 always holds"),
        ("number = '3 %'\nvalue = { arm = 'tcp' }", "not in the unit"),
        ("trend = { arm = 'tcp', goes = 'sideways' }", "available: up, down"),
        ("readings = ['text']\ntrend = { arm = 'tcp', goes = 'up' }", "no reading `text`"),
        ("added = { base = '9', arm = 'tcp' }", "no figure `9`"),
        ("capped = ' '\ntrend = { arm = 'tcp', goes = 'up' }", "needs a reason"),
        (
            "trend = { arm = 'tcp', goes = 'up' }\ndiffers = [{ because = ' ', shown_by = 'c' }]",
            "needs a cause",
        ),
        (
            "trend = { arm = 'tcp', goes = 'up' }\n\
             differs = [{ figures = ['17'], because = 'b', shown_by = 'c' }]",
            "no figure in this statement `17`",
        ),
    ] {
        let error = planned(predicate).unwrap_err();
        assert!(error.contains(says) && error.starts_with("p.toml:"), "{error}");
    }
}

/// The arm that a reading names must be in the figure.
#[test]
fn an_arm_that_is_missing_is_named_with_its_reading() {
    let reading = "[[reading]]\nname = 'x'\nlabel = 'l'\narms = { atcp = 'tahoe' }";
    let statement = "id = 's'\nfigure = '8'\nnumber = 1\nvalue = { arm = 'atcp' }";
    let error = all(reading, statement).unwrap_err();
    assert!(error.contains("arm in figure 8 (reading x) `tahoe`"), "{error}");
}
