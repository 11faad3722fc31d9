"use strict";
// Draws the figures in order, in the colours of the page. Each is a task of its own, so that the
// page stays responsive.
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const waiting = [...document.querySelectorAll(".plot")];
  const drawn = [];
  const colours = (layout) => {
    const style = getComputedStyle(document.documentElement);
    const [ink, line] = ["--ink", "--line"].map((name) => style.getPropertyValue(name).trim());
    const axes = Object.keys(layout).filter((key) => /^[xy]axis/.test(key));
    const parts = [["font", { color: ink }]]
      .concat(axes.map((axis) => [axis, { gridcolor: line, linecolor: line }]));
    for (const [part, change] of parts) layout[part] = { ...layout[part], ...change };
    return layout;
  };
  // Checkboxes show or hide groups of arms in all plots of a section.
  const boxes = (of) => [...of.querySelectorAll("input[data-group]")];
  // Checkboxes of the plot's section, or of the page if the plot is in no section.
  const boxesOf = (plot) => boxes(plot.closest("section") ?? document);
  const shown = (plot, trace) => {
    const box = boxesOf(plot).find((box) => box.dataset.group === trace.legendgroup);
    return box === undefined || box.checked;
  };
  // Height of a plot with checkboxes: the legend adds to it. Its groups are placed side by side as
  // far as they fit.
  const height = (plot, data) => {
    const sizes = new Map();
    for (const { visible, legendgroup } of data) {
      if (visible !== false) sizes.set(legendgroup, (sizes.get(legendgroup) ?? 0) + 1);
    }
    const abreast = Math.max(1, Math.floor(plot.clientWidth / 280));
    let legend = 0;
    for (let first = 0; first < sizes.size; first += abreast) {
      legend += 30 + 19 * Math.max(...[...sizes.values()].slice(first, first + abreast));
    }
    return 430 + legend;
  };
  // Range of an axis of categories, one for each arm: those of hidden arms take no place.
  const range = (layout, data) => {
    if (layout.xaxis?.type !== "category") return undefined;
    const names = data.flatMap(({ visible, x }) => (visible === false ? [] : x));
    return [-0.5, Math.max(1, new Set(names).size) - 0.5];
  };
  const draw = () => {
    const plot = waiting.shift();
    const figure = JSON.parse(document.getElementById(`${plot.id}-data`).textContent);
    for (const trace of figure.data) trace.visible = shown(plot, trace);
    if (boxesOf(plot).length > 0) {
      figure.layout.height = height(plot, figure.data);
      const categories = range(figure.layout, figure.data);
      if (categories !== undefined) figure.layout.xaxis.range = categories;
    }
    Plotly.newPlot(plot, figure.data, colours(figure.layout), figure.config);
    drawn.push(plot);
  };
  const next = () => {
    if (waiting.length === 0) return;
    draw();
    setTimeout(next);
  };
  setTimeout(next);
  // On paper plots are as wide as the text, whatever the window is.
  addEventListener("beforeprint", () => {
    while (waiting.length > 0) draw();
    for (const plot of drawn) Plotly.relayout(plot, { autosize: false, width: 660 });
  });
  addEventListener("afterprint", () => {
    for (const plot of drawn) Plotly.relayout(plot, { autosize: true, width: null });
  });
  for (const box of boxes(document)) box.addEventListener("change", () => {
    const section = box.closest("section");
    for (const plot of drawn.filter((plot) => section.contains(plot))) {
      const changed = plot.data.flatMap((trace, index) =>
        trace.legendgroup === box.dataset.group ? [index] : []);
      if (changed.length === 0) continue;
      for (const index of changed) plot.data[index].visible = box.checked;
      const layout = { height: height(plot, plot.data) };
      const categories = range(plot.layout, plot.data);
      if (categories !== undefined) layout["xaxis.range"] = categories;
      Plotly.update(plot, { visible: box.checked }, layout, changed);
    }
  });
  dark.addEventListener("change", () => {
    for (const plot of drawn) Plotly.react(plot, plot.data, colours(plot.layout));
  });
})();
