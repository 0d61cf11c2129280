"use strict";
// Follows the server's events: tiles, the picture of deliveries, tables. What others wrote (names,
// hosts' words) enters the page as text, never as markup.
(() => {
  const HEIGHT = 320;
  const KEPT = { seconds: 900, minutes: 1440 };
  // What is shown at least, of a server that has just started.
  const LEAST_S = { seconds: 60, minutes: 3600 };
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const bins = { seconds: null, minutes: null };
  let range = "seconds";
  let plot = null;
  let fresh = true;
  let events = 0;

  // ---- words

  const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
  const short = (value) => (value >= 100 ? whole.format(value) : String(Number(value.toPrecision(3))));
  const clock = (ms) => new Date(ms).toLocaleTimeString("en-GB");
  const plural = (count, word) => `${whole.format(count)} ${word}${count === 1 ? "" : "s"}`;

  function duration(seconds) {
    const parts = [["d", 86400], ["h", 3600], ["min", 60]];
    const place = parts.findIndex(([, size]) => seconds >= size);
    if (place < 0) return `${short(Math.max(seconds, 0))} s`;
    const [unit, size] = parts[place];
    const [below, part] = parts[place + 1] ?? ["s", 1];
    const rest = Math.floor((seconds % size) / part);
    return `${Math.floor(seconds / size)} ${unit}${rest ? ` ${rest} ${below}` : ""}`;
  }

  // ---- tiles and tables

  function tiles(pairs) {
    const place = document.getElementById("tiles");
    while (place.children.length < pairs.length) {
      const tile = document.createElement("div");
      tile.append(document.createElement("dt"), document.createElement("dd"));
      place.append(tile);
    }
    pairs.forEach(([name, value], i) => {
      const [dt, dd] = place.children[i].children;
      dt.textContent = name;
      dd.textContent = value;
    });
  }

  // Columns: [head, cell's text of a row, class]; a table is made anew each time: it is short.
  function table(id, rows, columns) {
    const place = document.getElementById(id);
    const line = (cells, name) => {
      const tr = document.createElement("tr");
      cells.forEach((text, i) => {
        const cell = document.createElement(name);
        cell.textContent = text ?? "";
        if (columns[i][2]) cell.className = columns[i][2];
        tr.append(cell);
      });
      return tr;
    };
    const head = document.createElement("thead");
    head.append(line(columns.map((column) => column[0]), "th"));
    const body = document.createElement("tbody");
    body.append(...rows.map((row) => line(columns.map((column) => column[1](row)), "td")));
    place.replaceChildren(...(rows.length ? [head, body] : []));
  }

  const say = (id, text) => (document.getElementById(id).textContent = text);

  function show(state) {
    const { now_ms: now, totals, queue, sessions, stragglers, down } = state;
    const ago = (ms) => duration(Math.max(now - ms, 0) / 1000);
    tiles([
      ["delivered", whole.format(totals.delivered)],
      ["in the last minute", whole.format(lastMinute())],
      ["recipients left", whole.format(queue.left)],
      ["of these deferred", whole.format(queue.deferred)],
      ["failed", whole.format(totals.failed)],
      ["bounced", whole.format(totals.bounced)],
      ["suspended", whole.format(totals.suspended)],
      ["connecting", whole.format(sessions.connecting)],
      ["greeting", whole.format(sessions.greeting)],
      ["sending", whole.format(sessions.sending)],
      ["idle", whole.format(sessions.idle)],
      ["clients here", whole.format(sessions.reception)],
    ]);
    const oldest = queue.oldest_ms === null ? "" : `, the oldest ${ago(queue.oldest_ms)} old`;
    const shown = (list, all) => (list.length < all ? `, ${list.length} shown` : "");
    say("queue-said", plural(queue.messages, "message") + oldest + shown(queue.largest, queue.messages));
    table("queue", queue.largest, [
      ["message", (it) => it.message],
      ["from", (it) => it.sender ?? "<>"],
      ["left", (it) => whole.format(it.left), "number"],
      ["of", (it) => whole.format(it.recipients), "number"],
      ["age", (it) => ago(it.accepted_ms), "number"],
    ]);
    say("late-said", `${plural(stragglers.people, "recipient")}${shown(stragglers.most, stragglers.people)}`);
    table("late", stragglers.most, [
      ["recipient", (it) => it.recipient],
      ["messages", (it) => whole.format(it.messages), "number"],
      ["tries", (it) => whole.format(it.attempts), "number"],
      ["since", (it) => ago(it.since_ms), "number"],
      ["last error", (it) => `${it.status} ${it.reason}`, "words"],
    ]);
    table("slow", state.slowest, [
      ["domain", (it) => it.domain],
      ["mean", (it) => `${short(it.mean_s)} s`, "number"],
      ["worst", (it) => `${short(it.worst_s)} s`, "number"],
      ["attempts", (it) => whole.format(it.attempts), "number"],
      ["delivered", (it) => whole.format(it.delivered), "number"],
    ]);
    say("down-said", `${whole.format(down.all)} hosts and domains${shown(down.longest, down.all)}`);
    table("down", down.longest, [
      ["host or domain", (it) => it.name],
      ["for", (it) => duration((it.until_ms - now) / 1000), "number"],
      ["why", (it) => it.reason, "words"],
    ]);
    document.getElementById("shaping-section").hidden = state.shaping.length === 0;
    const most = (number) => (number === null ? "" : whole.format(number));
    table("shaping", state.shaping, [
      ["destination", (it) => it.name],
      ["kind", (it) => it.by],
      ["sessions", (it) => whole.format(it.open) + (it.sessions === null ? "" : ` of ${most(it.sessions)}`), "number"],
      ["a minute", (it) => most(it.per_minute), "number"],
      ["slowed to", (it) => most(it.slowed), "number"],
      ["a session", (it) => most(it.per_session), "number"],
    ]);
    document.getElementById("alarms-section").hidden = state.alarms.length === 0;
    table("alarms", state.alarms, [
      ["at", (it) => clock(it.at_ms), "number"],
      ["provider", (it) => it.provider],
      ["fault", (it) => it.fault],
      ["failed", (it) => `${whole.format(it.failed)} of ${whole.format(it.ended)}`, "number"],
      ["last answer", (it) => it.reply, "words"],
    ]);
    table("errors", state.errors, [
      ["at", (it) => clock(it.at_ms), "number"],
      ["what", (it) => it.kind],
      ["recipient", (it) => it.recipient],
      ["host", (it) => it.relay],
      ["why", (it) => `${it.status} ${it.reason}`, "words"],
    ]);
    const status = document.getElementById("status");
    status.className = "";
    status.textContent = `running for ${ago(state.started_ms)}, at ${clock(now)}`;
  }

  // ---- bins of time

  // Bins that overlap those that are known take their place.
  function merge(name, news) {
    const own = bins[name];
    const step = (news.from_ms - (own?.from_ms ?? 0)) / news.width_ms;
    if (fresh || !own || step < 0 || step > own.delivered.length) {
      bins[name] = news;
      return;
    }
    for (const key of ["messages", "delivered"]) own[key].splice(step, Infinity, ...news[key]);
    const over = own.delivered.length - KEPT[name];
    if (over > 0) {
      for (const key of ["messages", "delivered"]) own[key].splice(0, over);
      own.from_ms += over * own.width_ms;
    }
  }

  const lastMinute = () => bins.seconds.delivered.slice(-60).reduce((sum, n) => sum + n, 0);

  // Times, deliveries an hour, all deliveries so far, messages that arrived.
  function data() {
    const { from_ms: from, width_ms: width, delivered, messages } = bins[range];
    let sum = 0;
    return [
      delivered.map((_, i) => (from + i * width) / 1000),
      delivered.map((n) => (n * 3600000) / width),
      delivered.map((n) => (sum += n)),
      messages,
    ];
  }

  // ---- the picture

  // A light line below the axis for each message, at least a pixel between two of them.
  function arrivals(u) {
    const { messages } = bins[range];
    const ratio = devicePixelRatio;
    const zero = u.valToPos(0, "y", true);
    const end = u.bbox.top + u.bbox.height;
    u.ctx.save();
    u.ctx.fillStyle = css("--arrived");
    let free = -Infinity;
    messages.forEach((count, i) => {
      for (let left = Math.min(count, 4); left > 0; left--) {
        const x = Math.max(Math.round(u.valToPos(u.data[0][i], "x", true)), free);
        if (x > u.bbox.left + u.bbox.width) return;
        u.ctx.fillRect(x, zero + 2 * ratio, ratio, end - zero - 2 * ratio);
        free = x + 2 * ratio;
      }
    });
    u.ctx.restore();
  }

  function draw() {
    plot?.destroy();
    const axis = { stroke: css("--ink"), grid: { stroke: css("--rule"), width: 1 }, ticks: { stroke: css("--rule"), width: 1 } };
    const numbers = (u, values) => values.map((v) => (v == null || v < 0 ? "" : whole.format(v)));
    const place = document.getElementById("rate");
    // From the first bin to the end of the last.
    const wholeRange = () => {
      const { from_ms: from, width_ms: width, delivered } = bins[range];
      return [from / 1000, from / 1000 + Math.max((delivered.length * width) / 1000, LEAST_S[range])];
    };
    // Room for arrivals below the axis, the same on both scales.
    const above = (u, low, high) => [-0.12 * Math.max(high, 10), Math.max(high, 10) * 1.02];
    plot = new uPlot({
      width: Math.max(place.clientWidth, 280),
      height: HEIGHT,
      scales: { x: { range: wholeRange }, y: { range: above }, total: { range: above } },
      axes: [
        { ...axis, values: [[86400, "{DD}.{MM}. {HH}:{mm}"], [3600, "{HH}:{mm}"], [60, "{HH}:{mm}"], [1, "{HH}:{mm}:{ss}"]].map(([size, form]) => [size, form, null, null, null, null, null, null, 1]) },
        { ...axis, label: "deliveries an hour", labelSize: 20, size: 76, values: numbers },
        { ...axis, label: "deliveries", labelSize: 20, size: 66, scale: "total", side: 1, grid: { show: false }, values: numbers },
      ],
      series: [
        { label: "at", value: (u, v) => (v == null ? "" : clock(v * 1000)) },
        { label: "deliveries an hour", stroke: css("--delivered"), fill: css("--delivered"), width: 0, points: { show: false }, paths: uPlot.paths.bars({ size: [1, 16, 1], align: 1 }), value: (u, v) => (v == null ? "" : whole.format(v)) },
        { label: "deliveries", scale: "total", stroke: css("--quiet"), fill: css("--fill"), width: 1, points: { show: false }, value: (u, v) => (v == null ? "" : whole.format(v)) },
        // Drawn below the axis, by a hook.
        { label: "messages", scale: "none", stroke: css("--arrived"), points: { show: false }, paths: () => null, value: (u, v) => (v == null ? "" : whole.format(v)) },
      ],
      hooks: { draw: [arrivals] },
    }, data(), place);
  }

  // ---- events

  function take(text) {
    const state = JSON.parse(text);
    merge("seconds", state.seconds);
    merge("minutes", state.minutes);
    fresh = false;
    show(state);
    if (plot) plot.setData(data());
    else draw();
    root.dataset.events = ++events;
  }

  const stream = new EventSource(`events${location.search}`);
  stream.addEventListener("open", () => (fresh = true));
  stream.addEventListener("message", (event) => take(event.data));
  stream.addEventListener("error", () => {
    const status = document.getElementById("status");
    status.className = "lost";
    status.textContent = "the server does not answer; what is shown is its last word";
  });

  document.querySelectorAll("[data-range]").forEach((button) =>
    button.addEventListener("click", () => {
      range = button.dataset.range;
      document.querySelectorAll("[data-range]").forEach((it) => it.setAttribute("aria-pressed", it === button));
      if (bins[range]) draw();
    }),
  );
  const again = () => bins[range] && draw();
  dark.addEventListener("change", again);
  let waiting = 0;
  addEventListener("resize", () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(again);
  });
})();
