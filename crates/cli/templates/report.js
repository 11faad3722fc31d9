"use strict";
// Draws each figure when it comes near the window, in the colours of the page.
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const plots = [...document.querySelectorAll(".plot")];
  const drawn = new Set();
  const colours = (layout) => {
    const style = getComputedStyle(document.documentElement);
    const [ink, line] = ["--ink", "--line"].map((name) => style.getPropertyValue(name).trim());
    const change = { "font.color": ink };
    for (const axis of Object.keys(layout).filter((key) => /^[xy]axis/.test(key))) {
      change[`${axis}.gridcolor`] = change[`${axis}.linecolor`] = line;
    }
    return change;
  };
  const draw = (plot) => {
    if (drawn.has(plot)) return;
    drawn.add(plot);
    const figure = JSON.parse(document.getElementById(`${plot.id}-data`).textContent);
    Plotly.newPlot(plot, figure.data, figure.layout, figure.config)
      .then(() => Plotly.relayout(plot, colours(figure.layout)));
  };
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) draw(entry.target);
  }, { rootMargin: "800px" });
  plots.forEach((plot) => near.observe(plot));
  dark.addEventListener("change", () => {
    for (const plot of drawn) Plotly.relayout(plot, colours(plot.layout));
  });
  addEventListener("beforeprint", () => plots.forEach(draw));
})();
