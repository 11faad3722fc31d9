//! Options of the figures for print.

use std::path::Path;

use clap::{Args, ValueEnum};
use driftway_sim::results::Estimate;

use super::canvas::Width;
use crate::failure::Failure;

/// Options of commands that write figures for print.
#[derive(Clone, Debug, Default, Args)]
pub struct FigureOptions {
    /// Write figures for print to DIR/figures
    #[arg(
        long,
        value_name = "svg,pdf",
        value_enum,
        value_delimiter = ',',
        hide_possible_values = true
    )]
    pub figures: Vec<Format>,
    /// Width in mm: 84 or 174 [default: 84 if labels fit]
    #[arg(long, value_name = "MM", value_enum, requires = "figures", hide_possible_values = true)]
    pub figure_width: Option<WidthArg>,
    /// Confidence of the intervals drawn: 90 or 95 % [default: 90]
    #[arg(long, value_name = "%", value_enum, requires = "figures", hide_possible_values = true)]
    pub band: Option<Band>,
    /// Drawing of intervals: bars or bands [default: bars]
    #[arg(
        long,
        value_name = "FORM",
        value_enum,
        requires = "figures",
        hide_possible_values = true
    )]
    pub intervals: Option<Intervals>,
}

/// Format of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Format {
    /// Scalable Vector Graphics.
    Svg,
    /// Portable Document Format.
    Pdf,
}

/// Width of figures in millimetres.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WidthArg {
    /// A column.
    #[value(name = "84")]
    Column,
    /// A page.
    #[value(name = "174")]
    Page,
}

/// Drawing of the intervals of curves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Intervals {
    /// A bar at each point, beside those of other arms.
    #[default]
    Bars,
    /// A band along the curve, through which other arms can be seen; bars where positions have names.
    Bands,
}

/// Confidence of intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Band {
    /// 90 %, as in the tables and verdicts.
    #[default]
    #[value(name = "90")]
    Ninety,
    /// 95 %.
    #[value(name = "95")]
    NinetyFive,
}

impl FigureOptions {
    /// The formats, each once.
    pub fn formats(&self) -> Vec<Format> {
        let mut formats = self.figures.clone();
        formats.sort_unstable();
        formats.dedup();
        formats
    }

    /// Checks that figures have a folder.
    ///
    /// # Errors
    /// They have none.
    pub fn check_folder(&self, out: Option<&Path>) -> Result<(), Failure> {
        if !self.is_wanted() || out.is_some() {
            return Ok(());
        }
        let message =
            "--figures: they are written to DIR/figures, and no DIR is given\nhelp: add --out DIR";
        Err(Failure::Input(message.to_owned()))
    }

    /// Returns true if figures are written.
    pub fn is_wanted(&self) -> bool {
        !self.figures.is_empty()
    }

    /// The width where labels fit.
    pub const fn width(&self) -> Width {
        match self.figure_width {
            Some(WidthArg::Page) => Width::Page,
            Some(WidthArg::Column) | None => Width::Column,
        }
    }

    /// The drawing of intervals.
    pub fn intervals(&self) -> Intervals {
        self.intervals.unwrap_or_default()
    }

    /// The confidence of intervals.
    pub fn band(&self) -> Band {
        self.band.unwrap_or_default()
    }
}

impl Band {
    /// The confidence in per cent.
    pub const fn percent(self) -> u32 {
        match self {
            Self::Ninety => 90,
            Self::NinetyFive => 95,
        }
    }

    /// The interval of an estimate.
    pub const fn of(self, estimate: &Estimate) -> Option<[f64; 2]> {
        self.choose(estimate.ci90, estimate.ci95)
    }

    /// The interval of this confidence.
    pub const fn choose(self, ci90: Option<[f64; 2]>, ci95: Option<[f64; 2]>) -> Option<[f64; 2]> {
        match self {
            Self::Ninety => ci90,
            Self::NinetyFive => ci95,
        }
    }
}
