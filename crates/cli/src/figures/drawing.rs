//! Drawing of lines, areas and text on a page of its own, which each format writes.
//!
//! Lengths and positions are in points (1/72 inch), from the upper left corner.

/// Red, green and blue.
pub type Colour = [u8; 3];

/// Colour of text and axes.
pub const INK: Colour = [0x1c, 0x1f, 0x24];

/// Colour of what must not distract, such as grid lines.
pub const PALE: Colour = [0xd8, 0xdc, 0xe1];

/// Colour of the page.
pub const WHITE: Colour = [0xff, 0xff, 0xff];

/// Share of a tint's colour in what is seen.
pub const TINT: f64 = 0.18;

/// Points of a millimetre.
const POINTS_OF_MM: f64 = 72.0 / 25.4;

/// A position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Distance from the left edge.
    pub x: f64,
    /// Distance from the upper edge.
    pub y: f64,
}

/// A point at `x` and `y`.
pub const fn at(x: f64, y: f64) -> Point {
    Point { x, y }
}

/// A rectangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// Left edge.
    pub left: f64,
    /// Upper edge.
    pub top: f64,
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
}

impl Area {
    /// Right edge.
    pub const fn right(&self) -> f64 {
        self.left + self.width
    }

    /// Lower edge.
    pub const fn bottom(&self) -> f64 {
        self.top + self.height
    }

    /// The corners in order.
    pub const fn corners(&self) -> [Point; 4] {
        let (right, bottom) = (self.right(), self.bottom());
        [at(self.left, self.top), at(right, self.top), at(right, bottom), at(self.left, bottom)]
    }
}

/// A pen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pen {
    /// Colour of the line.
    pub colour: Colour,
    /// Width of the line.
    pub width: f64,
    /// Lengths of dashes and gaps in turn; empty for a solid line.
    pub dash: &'static [f64],
}

/// A solid pen.
pub const fn pen(colour: Colour, width: f64) -> Pen {
    Pen { colour, width, dash: &[] }
}

/// Position of a text relative to its anchor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// The text begins at the anchor.
    Start,
    /// The text is centred on the anchor.
    Middle,
    /// The text ends at the anchor.
    End,
}

/// A line of text.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    /// Its words.
    pub words: String,
    /// End of the baseline or its middle, according to `align`.
    pub anchor: Point,
    /// Size of the font.
    pub size: f64,
    /// Position relative to the anchor.
    pub align: Align,
    /// True if the text reads upwards.
    pub upwards: bool,
    /// Colour.
    pub colour: Colour,
}

/// One part of a drawing.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// Lines through points: several strokes of one pen.
    Strokes(Vec<Vec<Point>>, Pen),
    /// A closed shape, filled, with an outline if it has a pen.
    Shape(Vec<Point>, Colour, Option<Pen>),
    /// A closed shape through which what is below it can be seen.
    Tint(Vec<Point>, Colour),
    /// A line of text.
    Text(Text),
    /// Parts that are drawn within an area only.
    Clipped(Area, Vec<Self>),
}

/// A drawing of a given size.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    /// Title for readers that do not see it, and of the document.
    pub title: String,
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
    /// Parts, the lowest first.
    pub items: Vec<Item>,
}

impl Drawing {
    /// Adds one line between two points.
    pub fn line(&mut self, from: Point, to: Point, pen: Pen) {
        self.items.push(Item::Strokes(vec![vec![from, to]], pen));
    }

    /// Adds a horizontal text in the colour of the axes.
    pub fn text(&mut self, words: &str, anchor: Point, size: f64, align: Align) {
        let words = words.to_owned();
        let text = Text { words, anchor, size, align, upwards: false, colour: INK };
        self.items.push(Item::Text(text));
    }

    /// All texts, also those within a clipped part.
    pub fn texts(&self) -> Vec<&Text> {
        fn collect<'a>(items: &'a [Item], found: &mut Vec<&'a Text>) {
            for item in items {
                match item {
                    Item::Text(text) => found.push(text),
                    Item::Clipped(_, inner) => collect(inner, found),
                    Item::Strokes(..) | Item::Shape(..) | Item::Tint(..) => {}
                }
            }
        }
        let mut found = Vec::new();
        collect(&self.items, &mut found);
        found
    }
}

/// Points of a length in millimetres.
pub const fn millimetres(length: f64) -> f64 {
    length * POINTS_OF_MM
}

/// Millimetres of a length in points.
pub const fn in_millimetres(length: f64) -> f64 {
    length / POINTS_OF_MM
}

/// Distance from the anchor to the start of a text of this width.
pub fn start(align: Align, width: f64) -> f64 {
    match align {
        Align::Start => 0.0,
        Align::Middle => -width / 2.0,
        Align::End => -width,
    }
}
