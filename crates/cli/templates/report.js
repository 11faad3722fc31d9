"use strict";
// Draws the figures one after the other, the first one first, in the colours of the page. Each is
// a task of its own, so that a reader can scroll meanwhile.
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
  const draw = () => {
    const plot = waiting.shift();
    const figure = JSON.parse(document.getElementById(`${plot.id}-data`).textContent);
    Plotly.newPlot(plot, figure.data, colours(figure.layout), figure.config);
    drawn.push(plot);
  };
  const next = () => {
    if (waiting.length === 0) return;
    draw();
    setTimeout(next);
  };
  setTimeout(next);
  addEventListener("beforeprint", () => { while (waiting.length > 0) draw(); });
  dark.addEventListener("change", () => {
    for (const plot of drawn) Plotly.react(plot, plot.data, colours(plot.layout));
  });
})();
