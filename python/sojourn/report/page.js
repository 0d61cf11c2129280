"use strict";
// Draws the charts that stand as JSON in the page; once more when the colours of the page change.
(() => {
  const { charts, colours } = JSON.parse(document.getElementById("data").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const printing = matchMedia("print");
  const height = 300;
  const MARKED = 50; // values of a line at most, beyond which they are not marked
  let drawn = [];

  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const short = (value) => (value == null ? "" : String(Number(value.toPrecision(4))));

  // Black cannot be seen on a dark page.
  const colour = (place) => {
    const own = colours[place % colours.length];
    return own === "#000000" ? css("--ink") : own;
  };

  const ticks = (u, values, log) =>
    values.map((v) => {
      if (v == null) return "";
      const leading = Number(v.toExponential(0).split("e")[0]);
      return !log || [1, 2, 5].includes(leading) ? short(v) : "";
    });

  function axis(chart, which) {
    const log = chart.log.includes(which);
    const base = {
      label: which === "x" ? chart.x_label : chart.y_label,
      stroke: css("--ink"),
      grid: { stroke: css("--rule"), width: 1 },
      ticks: { stroke: css("--rule"), width: 1 },
      labelSize: 20,
      labelGap: which === "x" ? -4 : 0,
      values: (u, values) => ticks(u, values, log),
    };
    if (which === "y") base.size = 58;
    if (which === "x" && chart.names) {
      base.splits = () => chart.x;
      base.values = (u, places) => places.map((place) => chart.names[place] ?? "");
    } else if (which === "x" && !chart.steps && !log && chart.x.length <= 12) {
      base.splits = () => chart.x;
    }
    return base;
  }

  function options(chart, width) {
    const series = [{ label: chart.x_label, value: (u, v) => (chart.names ? chart.names[v] ?? "" : short(v)) }];
    const bands = [];
    const data = [chart.x];
    chart.lines.forEach((line, place) => {
      const stroke = colour(place);
      const middle = series.length;
      series.push({
        label: line.label,
        stroke,
        width: 2,
        dash: chart.steps && place % 2 ? [6, 3] : undefined,
        paths: chart.names ? () => null : chart.steps ? uPlot.paths.stepped({ align: 1 }) : undefined,
        points: { show: !chart.steps && chart.x.length <= MARKED, size: 6, stroke, fill: stroke },
        value: (u, v) => short(v),
      });
      data.push(line.y);
      if (!line.low || !line.low.some((v) => v != null)) return;
      const edge = { stroke: "transparent", points: { show: false }, legend: false };
      series.push({ ...edge, label: `${line.label} high` }, { ...edge, label: `${line.label} low` });
      data.push(line.high, line.low);
      bands.push({ series: [middle + 1, middle + 2], fill: `${stroke}33` });
    });
    const scale = (which) => (chart.log.includes(which) ? { distr: 3 } : {});
    const x = { time: false, ...scale("x") };
    if (chart.names) x.range = [-0.5, chart.names.length - 0.5];
    else if (chart.steps) x.range = (u, low, high) => [low, high];
    const y = chart.steps
      ? { range: [0, 1] }
      : { ...scale("y"), ...(chart.log.includes("y") ? {} : { range: (u, low, high) => [Math.min(0, low), high * 1.05 || 1] }) };
    return [{
      width,
      height,
      series,
      bands,
      scales: { x, y },
      axes: [axis(chart, "x"), axis(chart, "y")],
      legend: { live: true },
      cursor: { focus: { prox: 24 } },
    }, data];
  }

  function hideEdges(plot) {
    plot.root.querySelectorAll(".u-legend .u-series").forEach((row, place) => {
      if (plot.series[place].legend === false) row.style.display = "none";
    });
  }

  function draw() {
    drawn.forEach((plot) => plot.destroy());
    drawn = [];
    document.querySelectorAll("figure.chart").forEach((figure) => {
      const chart = charts[figure.dataset.section][figure.dataset.chart];
      const place = figure.querySelector(".plot");
      const [opts, data] = options(chart, Math.max(place.clientWidth, 280));
      const plot = new uPlot(opts, data, place);
      hideEdges(plot);
      drawn.push(plot);
    });
    document.documentElement.dataset.drawn = drawn.length;
  }

  draw();
  dark.addEventListener("change", draw);
  printing.addEventListener("change", draw);
  let waiting = 0;
  addEventListener("resize", () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(() =>
      drawn.forEach((plot) => plot.setSize({ width: Math.max(plot.root.parentElement.clientWidth, 280), height })),
    );
  });
})();
