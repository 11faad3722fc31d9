// Labels of the map, placed one after the other where they cover neither each other nor a node.

class Labels {
  /** Labels on a canvas of this size, beside what later calls of `avoid` add: circles of nodes, bars of queues, the scale. */
  constructor(c, { width, height }) {
    Object.assign(this, { c, width, height });
    this.obstacles = [];
    this.wanted = [];
  }

  avoid(x, y, radius) {
    this.avoidBox({ left: x - radius, right: x + radius, top: y - radius, bottom: y + radius });
  }
  avoidBox(box) {
    this.obstacles.push(box);
  }

  /**
   * A label of something at a place with this radius: below it if `below`, otherwise above, and where that is not free on
   * another side. Those of a higher rank are placed first. What has no room is left out, unless it is `needed`.
   */
  add(text, x, y, { radius = 7, rank = 0, colour, needed = false, below = false }) {
    this.wanted.push({ text, x, y, radius, rank, colour, needed, below });
  }

  /** Draws the labels. */
  draw(colours) {
    const { c } = this;
    // A sort keeps the order of equal ranks, so that labels do not change places from frame to frame.
    this.wanted.sort((a, b) => b.rank - a.rank);
    const taken = [];
    c.textAlign = "left";
    c.lineWidth = 3;
    c.setLineDash([]);
    c.strokeStyle = colours.back;
    for (const label of this.wanted) {
      const boxes = this.boxes(label);
      const isFree = (box) => !taken.some((other) => overlap(box, other));
      const best = boxes.find((box) => isFree(box) && !this.obstacles.some((other) => overlap(box, other)));
      const box = best ?? (label.needed ? (boxes.find(isFree) ?? boxes[0]) : null);
      if (!box) continue;
      taken.push(box);
      c.fillStyle = label.colour ?? colours.text;
      c.strokeText(label.text, box.left + 1, box.bottom - 3);
      c.fillText(label.text, box.left + 1, box.bottom - 3);
    }
  }

  /** Where a label can be, the best first. One at the edge stays on the map. */
  boxes({ text, x, y, radius, below }) {
    const width = widthOf(this.c, text) + 2;
    const at = (left, top) => {
      const inside = Math.min(Math.max(left, 1), Math.max(1, this.width - width - 1));
      return { left: inside, right: inside + width, top, bottom: top + 14 };
    };
    const [over, under] = [at(x - width / 2, y - radius - 17), at(x - width / 2, y + radius + 3)];
    const [first, second] = below ? [under, over] : [over, under];
    const sides = [at(x + radius + 3, y - 7), at(x - radius - 3 - width, y - 7)];
    const corners = [at(x + radius, y - radius - 14), at(x - radius - width, y - radius - 14), at(x + radius, y + radius), at(x - radius - width, y + radius)];
    const all = [first, second, ...sides, ...corners];
    return all.filter(({ top, bottom }) => top >= 0 && bottom <= this.height);
  }
}

function overlap(a, b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

const widths = new Map();

/** The width of a text in the font of the map, which is measured once. */
function widthOf(c, text) {
  if (!widths.has(text)) widths.set(text, c.measureText(text).width);
  return widths.get(text);
}
