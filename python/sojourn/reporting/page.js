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

  const DASHES = [[], [8, 4], [2, 3], [8, 3, 2, 3]];
  const dash = (place) => DASHES[place % DASHES.length];

  // A line has one look in all charts of its section: its place among all names there. Those that
  // stand beside others come first; only they need a name.
  const labels = (own) => own.flatMap((chart) => chart.lines.map((line) => line.label));
  const told = charts.map((own) => new Set(labels(own.filter((chart) => chart.lines.length > 1))));
  const places = charts.map((own, section) => {
    const names = new Set([...told[section], ...labels(own)]);
    return new Map([...names].map((name, place) => [name, place]));
  });

  function legend(list) {
    list.replaceChildren();
    for (const name of told[list.dataset.section]) {
      const place = places[list.dataset.section].get(name);
      const item = document.createElement("li");
      const stroke = `stroke="${colour(place)}" stroke-width="2" stroke-dasharray="${dash(place).join(" ")}"`;
      item.innerHTML = `<svg width="32" height="8" aria-hidden="true"><path d="M0 4H32" ${stroke}/></svg>`;
      item.append(name);
      list.append(item);
    }
  }

  // Intervals at names, which no line joins: upright bars.
  const bars = (chart, own) => ({
    hooks: {
      draw: (u) => {
        u.ctx.save();
        u.ctx.lineWidth = 2 * devicePixelRatio;
        chart.lines.forEach((line) => {
          if (!line.low) return;
          u.ctx.strokeStyle = colour(own.get(line.label));
          chart.x.forEach((x, i) => {
            if (line.low[i] == null) return;
            const at = u.valToPos(x, "x", true);
            u.ctx.beginPath();
            u.ctx.moveTo(at, u.valToPos(line.low[i], "y", true));
            u.ctx.lineTo(at, u.valToPos(line.high[i], "y", true));
            u.ctx.stroke();
          });
        });
        u.ctx.restore();
      },
    },
  });

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

  function options(chart, width, own) {
    const series = [{ label: chart.x_label, value: (u, v) => (chart.names ? chart.names[v] ?? "" : short(v)) }];
    const bands = [];
    const data = [chart.x];
    chart.lines.forEach((line) => {
      const place = own.get(line.label);
      const stroke = colour(place);
      const middle = series.length;
      series.push({
        label: line.label,
        stroke,
        width: 2,
        dash: dash(place),
        paths: chart.names ? () => null : chart.steps ? uPlot.paths.stepped({ align: 1 }) : undefined,
        points: { show: !chart.steps && chart.x.length <= MARKED, size: 6, stroke, fill: stroke },
        value: (u, v) => short(v),
      });
      data.push(line.y);
      if (chart.names || !line.low || !line.low.some((v) => v != null)) return;
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
      : { ...scale("y"), ...(chart.log.includes("y") ? {} : { range: (u, low, high) => [Math.min(chart.start, low), high * 1.05 || 1] }) };
    return [{
      width,
      height,
      series,
      bands,
      plugins: chart.names ? [bars(chart, own)] : [],
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
      const own = places[figure.dataset.section];
      const [opts, data] = options(chart, Math.max(place.clientWidth, 280), own);
      const plot = new uPlot(opts, data, place);
      hideEdges(plot);
      drawn.push(plot);
    });
    document.querySelectorAll("ul.legend").forEach(legend);
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
