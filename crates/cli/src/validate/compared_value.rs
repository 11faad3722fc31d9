//! Comparisons with a formula or with published values, in one form for tables and plots.

use driftway_experiment::study::reference::AgreementCriterion;
use driftway_experiment::validation::compare::Interval;
use driftway_experiment::validation::document::ValidationDocument;
use driftway_sim::results::Estimate;

/// A comparison of measured values with those of a formula or a publication.
pub struct ComparedValues<'a> {
    pub name: &'a str,
    pub title: &'a str,
    /// Label of the axis.
    pub axis: &'a str,
    /// Heading of the values compared with: `formula` or `published`.
    pub reference: &'static str,
    /// The publication.
    pub source: Option<&'a str>,
    pub judge: AgreementCriterion,
    pub agrees: Option<bool>,
    pub note: Option<&'a str>,
    pub points: Vec<ComparedValue<'a>>,
}

/// One point.
pub struct ComparedValue<'a> {
    pub name: &'a String,
    pub metric: &'a str,
    pub measured: Option<Estimate>,
    pub reference: Option<f64>,
    pub ratio: Option<Interval>,
    /// The ratio to the formula for the parameters of the scenario only.
    pub ratio_as_set: Option<Interval>,
    /// The command that runs it, where the document has one.
    pub command: Option<&'a str>,
}

impl ComparedValues<'_> {
    /// Noun for the reference: `formula` or `publication`.
    pub fn reference_noun(&self) -> &'static str {
        if self.reference == "formula" { "formula" } else { "publication" }
    }
}

impl<'a> ComparedValues<'a> {
    /// All comparisons of this kind, those with formulas first.
    pub fn of(document: &'a ValidationDocument) -> Vec<Self> {
        Self::of_formulas(document).chain(Self::of_published(document)).collect()
    }

    fn of_formulas(document: &'a ValidationDocument) -> impl Iterator<Item = Self> {
        let interval = |of: Estimate| Interval { mean: of.mean, ci90: of.ci90 };
        document.formulas.iter().map(move |of| {
            let points = of.points.iter().map(|point| ComparedValue {
                name: &point.name,
                metric: point.metric,
                measured: point.measured,
                reference: point.formula,
                ratio: point.ratio.map(interval),
                ratio_as_set: point.ratio_as_set.map(interval),
                command: None,
            });
            Self {
                name: &of.name,
                title: &of.title,
                axis: "point",
                reference: "formula",
                source: of.source.as_deref(),
                judge: of.judge,
                agrees: of.agrees,
                note: of.note.as_deref(),
                points: points.collect(),
            }
        })
    }

    fn of_published(document: &'a ValidationDocument) -> impl Iterator<Item = Self> {
        document.published.iter().map(|of| {
            let points = of.points.iter().map(|point| ComparedValue {
                name: &point.name,
                metric: &of.metric,
                measured: point.measured,
                reference: point.published,
                ratio: point.ratio,
                ratio_as_set: None,
                command: Some(&point.command),
            });
            Self {
                name: &of.name,
                title: &of.title,
                axis: &of.axis,
                reference: "published",
                source: Some(&of.source),
                judge: of.judge,
                agrees: of.agrees,
                note: of.note.as_deref(),
                points: points.collect(),
            }
        })
    }
}
