// SPDX-License-Identifier: BSD-3-Clause
// Draws the report from the JSON in the page. Texts of the log are only ever set as text.
const data = JSON.parse(document.getElementById("data").textContent);
const first = data.first_run; // number in the history of data.runs[0]

// --- elements and words ---

function put(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {}))
    if (value !== null && value !== undefined)
      node.setAttribute(name, value);
  node.append(...children.filter((c) => c !== null && c !== undefined));
  return node;
}
const el = (tag, attributes, ...children) => put(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  put(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
const part = (id, ...children) => document.getElementById(id).append(...children);

function duration(s) {
  if (s === null || s === undefined) return "";
  const units = [[63072000, 31536000, "y"], [172800, 86400, "d"], [7200, 3600, "h"], [120, 60, "min"], [0.1, 1, "s"],
    [5e-6, 1e-3, "ms"]];
  const [, unit, name] = units.find(([from]) => s >= from) ?? [0, 1, "s"];
  const n = s / unit;
  return n.toFixed(n >= 10 || n < 0.005 ? 0 : n >= 1 ? 1 : 2) + " " + name;
}

function size(n) {
  if (n === null || n === undefined) return "";
  let unit = 0;
  for (; n >= 1024 && unit < 6; unit++) n /= 1024;
  return (unit ? n.toFixed(2) : String(Math.round(n))) + " " + ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"][unit];
}
const rate = (n) => size(n) + "/s";
const percent = (share) => (100 * share).toFixed(1) + " %";
const two = (n) => String(n).padStart(2, "0");
function stamp(at, seconds = true) {
  if (at === null || at === undefined) return "";
  const d = new Date(1000 * at);
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${two(d.getHours())}:${two(d.getMinutes())}` +
    (seconds ? ":" + two(d.getSeconds()) : "");
}
const count = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;

// --- tables ---

// A column: [heading, kind, value of a row, text of that value]; kind "n" number, "t" time, "text", "x" not sorted.
function table(caption, columns, rows, sortable, note) {
  const body = el("tbody");
  const fill = (list) => body.replaceChildren(...list.map((row) => el("tr", { class: note ? note(row) : null },
    ...columns.map(([, kind, value, text]) => {
      const v = value(row);
      return el("td", { class: kind, "data-v": v instanceof Node ? null : v },
        v instanceof Node ? v : text ? text(v, row) : v === null || v === undefined ? "" : String(v));
    }))));
  const heads = columns.map(([name, kind], i) => {
    const head = el("th", { scope: "col", class: kind === "n" ? "n" : null });
    if (!sortable || kind === "x") {
      head.textContent = name;
      return head;
    }
    head.append(el("button", { type: "button" }, name));
    head.firstChild.addEventListener("click", () => sort(i));
    return head;
  });
  function sort(i) {
    const down = heads[i].getAttribute("aria-sort") === "ascending";
    heads.forEach((h) => h.removeAttribute("aria-sort"));
    heads[i].setAttribute("aria-sort", down ? "descending" : "ascending");
    const value = columns[i][2];
    fill([...rows].sort((a, b) => {
      const x = value(a), y = value(b);
      if (x === null || y === null || x === undefined || y === undefined)
        return ((x ?? null) === null) - ((y ?? null) === null); // what is not known last
      return (x > y ? 1 : x < y ? -1 : 0) * (down ? -1 : 1);
    }));
  }
  fill(rows);
  return el("div", { class: "wide" + (sortable ? " tall" : ""), tabindex: "0", role: "region", "aria-label": caption },
    el("table", {}, el("caption", {}, caption), el("thead", {}, el("tr", {}, ...heads)), body));
}
const shown = (what, list, all) =>
  list.length < all ? `${what}: the newest ${list.length} of ${all}; scr report --json has all` : `${what}: ${all}`;
const key = (name) => el("span", { class: "key", style: `background: var(--${name})`, "aria-hidden": "true" });
const legend = (names) => el("div", { class: "legend", "aria-hidden": "true" },
  ...names.map(([name, text]) => el("span", {}, key(name), text)));

// --- what comes first ---

function card(id, value, text, under) {
  return el("div", { class: "card", id, "data-v": value }, el("b", {}, text), el("span", {}, under));
}

function top() {
  const t = data.totals, best = data.optimum;
  document.title = `SCR report: ${data.source}`;
  part("about", data.totals.runs
    ? `${data.source}, from ${stamp(data.begin, false)} to ${stamp(data.end, false)} (${duration(data.span)}); written ` +
      `${stamp(data.now, false)} by SCR ${data.version}`
    : `${data.source}: the event log has no run`);
  part("cards",
    card("efficiency", data.efficiency, percent(data.efficiency), `useful, of ${duration(data.wall)} of runs`),
    card("optimum", best && best.efficiency, best ? percent(best.efficiency) : "?",
      best ? `expected of a checkpoint every ${duration(best.best_interval)}` : "the best is not known yet"),
    card("interval", best && best.interval, best ? duration(best.interval) : "?",
      best ? "of computing for each checkpoint" : "no failure or no checkpoint"),
    card("n-runs", t.runs, String(t.runs), `runs, ${t.failed} of them failed`),
    card("n-checkpoints", t.checkpoints, String(t.checkpoints), `checkpoints, ${count(t.flushes, "flush").replace("flushs", "flushes")}`),
    card("n-failures", t.failures, String(t.failures), best ? `failures, one every ${duration(best.mtbf)}` : "failures"),
    card("lost", data.time.lost, duration(data.time.lost), "of computing done again"));
  part("advice", data.advice.length
    ? el("ul", {}, ...data.advice.map((a) => el("li", { "data-v": a.gain }, a.text)))
    : el("p", {}, "None: the log has no run."));
  if (data.advised.why)
    part("advice", el("p", { class: "dim" }, `The program was last advised: ${data.advised.why}`));
}

const TIMES = { kept: "computing, kept", checkpoint: "checkpoints", output: "output", flush: "waiting for flushes",
  restart: "restarts", lost: "computing, lost", other: "other", idle: "idle between runs" };

function times() {
  const rows = Object.entries(TIMES).map(([name, text]) => ({ name, text, secs: data.time[name] }));
  const all = data.wall + data.time.idle;
  part("time",
    el("div", { class: "split", role: "img", "aria-label": "Shares of the time, as in the table below" },
      ...rows.filter((r) => r.secs > 0).map((r) => el("i",
        { style: `flex: ${r.secs / all} 1 0; background: var(--${r.name})`, title: `${r.text}: ${duration(r.secs)}` }))),
    table(`Time of ${count(data.totals.runs, "run")}`, [
      ["", "text", (r) => r.text, (v, r) => el("span", {}, key(r.name), v)],
      ["time", "n", (r) => r.secs, duration],
      ["share of runs", "n", (r) => (r.name === "idle" || !data.wall ? null : r.secs / data.wall),
        (v) => (v === null ? "" : percent(v))],
    ], rows, false));
}

// --- timeline ---

const LANE = 26, RUNS_TOP = 24;
const ENDS = { ended: "kept", halted: "restart", failed: "lost", cut: "cut", open: "other" };
const ENDED = { ended: "ended by itself", halted: "halted", failed: "failed", cut: "without an end, no failure",
  open: "no end recorded" };
const levels = Object.fromEntries(data.levels.map((l) => [l.level, l]));

// Runs that overlap lie below each other.
function lanes(runs) {
  const ends = [];
  return [...runs.keys()].sort((a, b) => runs[a].begin - runs[b].begin).reduce((lane, i) => {
    let k = ends.findIndex((end) => end <= runs[i].begin);
    if (k < 0) k = Math.min(ends.length, 5);
    ends[k] = runs[i].begin + runs[i].wall;
    lane[i] = k;
    return lane;
  }, []);
}

const STEPS = [0.1, 1, 5, 15, 60, 300, 900, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 86400, 2 * 86400, 7 * 86400, 30 * 86400,
  90 * 86400, 366 * 86400];

function timeAxis(from, to, width, height) {
  const step = STEPS.find((s) => (to - from) / s <= width / 130) || (to - from) / 4;
  const zone = new Date(1000 * from).getTimezoneOffset() * 60;
  const parts = [];
  for (let at = Math.ceil((from - zone) / step) * step + zone; at < to; at += step) {
    const x = (at - from) / (to - from) * width;
    const text = step >= 86400 ? stamp(at).slice(0, 10) : step >= 60 ? stamp(at).slice(5, 16) : stamp(at).slice(11) +
      (step < 1 ? (at % 1).toFixed(1).slice(1) : "");
    parts.push(svg("path", { class: "axis", d: `M${x} 16V${height}` }));
    if (x < width - 75) parts.push(svg("text", { x: x + 3, y: 12 }, text));
  }
  return parts;
}

// Vertical strokes, at most two a pixel.
function strokes(name, times, view, width, top, height) {
  let d = "", last = -1;
  for (const at of times) {
    if (at < view.from || at > view.to) continue;
    const x = Math.round((at - view.from) / (view.to - view.from) * width * 2) / 2;
    if (x !== last) d += `M${x} ${top}v${height}`;
    last = x;
  }
  return svg("path", { class: "mark " + name, d });
}

function timeline() {
  const runs = data.runs, lane = lanes(runs), nlanes = Math.max(1, ...lane.map((k) => k + 1));
  const all = { from: runs.length ? Math.min(...runs.map((r) => r.begin)) : 0,
    to: runs.length ? Math.max(...runs.map((r) => r.begin + r.wall)) : 1 };
  const margin = Math.max((all.to - all.from) * 0.01, 0.5);
  all.from -= margin;
  all.to += margin;
  const view = { ...all };
  const marks = ["cache", "flush", "fetch"].map((name) => [name, levels[name].points.map((p) => p[0]).sort((a, b) => a - b)]);
  marks.push(["failure", data.failures.map((f) => f.at)]);
  const below = RUNS_TOP + nlanes * LANE + 4, height = below + marks.length * 20 + 4;
  const box = svg("svg", { id: "view", tabindex: "0", role: "img", "aria-describedby": "help-view",
    "aria-label": `${count(runs.length, "run")} over ${duration(data.span)}; the table of runs has the same` });
  const readout = el("p", { id: "readout", role: "status" });

  function draw() {
    const width = Math.max(300, box.clientWidth || 1000), scale = width / (view.to - view.from);
    box.setAttribute("viewBox", `0 0 ${width} ${height}`);
    box.dataset.from = view.from;
    box.dataset.to = view.to;
    const bars = runs.flatMap((r, i) => {
      const x = (r.begin - view.from) * scale, w = Math.max(1, r.wall * scale), y = RUNS_TOP + lane[i] * LANE;
      if (x > width || x + w < 0) return [];
      const left = Math.max(0, x), room = Math.min(width, x + w) - left;
      const words = `run ${name(i)}`;
      return [svg("rect", { class: "fill-" + ENDS[r.end], x, y, width: w, height: LANE - 4, rx: w > 6 ? 3 : 0 },
        svg("title", {}, about(i))),
      room > 7 * words.length ? svg("text", { class: "inbar", x: left + 5, y: y + 15 }, words) : null];
    });
    box.replaceChildren(...timeAxis(view.from, view.to, width, height), ...bars.filter((b) => b),
      ...marks.map(([kind, at], k) => strokes(kind, at, view, width, below + 20 * k, 15)));
  }

  function show(from, to) {
    const least = Math.min(1, all.to - all.from);
    const span = Math.min(Math.max(to - from, least), all.to - all.from);
    view.from = Math.min(Math.max(from + (to - from - span) / 2, all.from), all.to - span);
    view.to = view.from + span;
    draw();
  }
  const zoom = (factor, at = (view.from + view.to) / 2) =>
    show(at - (at - view.from) * factor, at + (view.to - at) * factor);
  const pan = (share) => {
    const by = share * (view.to - view.from);
    show(view.from + by, view.to + by);
  };
  const say = () => { readout.textContent = `${stamp(view.from)} to ${stamp(view.to)}`; };
  const acts = { "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), ArrowLeft: () => pan(-0.25),
    ArrowRight: () => pan(0.25), 0: () => show(all.from, all.to), Home: () => show(all.from, all.to) };
  const button = (text, label, act) => {
    const b = el("button", { type: "button", "aria-label": label }, text);
    b.addEventListener("click", () => { acts[act](); say(); });
    return b;
  };

  box.addEventListener("keydown", (e) => {
    if (!acts[e.key] || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    acts[e.key]();
    say();
  });
  const timeAt = (e) => view.from + (e.clientX - box.getBoundingClientRect().left) / box.clientWidth * (view.to - view.from);
  box.addEventListener("wheel", (e) => {
    if (!e.ctrlKey && !e.shiftKey) return; // the page scrolls
    e.preventDefault();
    zoom((e.deltaY || e.deltaX) > 0 ? 1.25 : 0.8, timeAt(e));
  }, { passive: false });
  let grip = null;
  box.addEventListener("pointerdown", (e) => { grip = timeAt(e); box.setPointerCapture(e.pointerId); });
  box.addEventListener("pointerup", () => { grip = null; });
  box.addEventListener("pointercancel", () => { grip = null; });
  box.addEventListener("pointermove", (e) => {
    const at = timeAt(e);
    if (grip !== null) show(view.from + grip - at, view.to + grip - at);
    const i = runs.findIndex((r) => r.begin <= at && at <= r.begin + r.wall);
    readout.textContent = stamp(at) + (i >= 0 ? `: ${about(i)}` : "");
  });
  box.addEventListener("dblclick", (e) => zoom(0.25, timeAt(e)));

  part("timeline",
    el("p", { class: "dim", id: "help-view" }, "Drag to move, double-click or Ctrl and wheel to zoom; with the keyboard + - 0 and the " +
      "arrow keys. A button in the table of runs shows one run."),
    el("div", { class: "tools" }, button("+", "zoom in", "+"), button("−", "zoom out", "-"),
      button("←", "earlier", "ArrowLeft"), button("→", "later", "ArrowRight"), button("all", "show all runs", "0")),
    box, readout,
    legend([...Object.entries(ENDS).filter(([end]) => data.totals[end]).map(([end, color]) => [color, "run " + ENDED[end]]),
      ["cache", "checkpoints and output"], ["flush", "flushes"], ["fetch", "fetches"], ["lost", "failures"]]));
  draw();
  let drawn = box.clientWidth;
  new ResizeObserver(() => requestAnimationFrame(() => {
    if (box.clientWidth !== drawn) draw();
    drawn = box.clientWidth;
  })).observe(box);
  return (i) => { // shows one run
    const r = runs[i], around = Math.max(r.wall * 0.05, 0.5);
    show(r.begin - around, r.begin + r.wall + around);
    say();
    box.scrollIntoView({ block: "center" });
    box.focus();
  };
}

const name = (i) => (data.runs[i].run === null ? first + i + 1 : data.runs[i].run);
function about(i) {
  const r = data.runs[i];
  return `run ${name(i)}, job ${r.jobid || "?"}, ${duration(r.wall)}, ${ENDED[r.end]}, ${count(r.checkpoints, "checkpoint")}` +
    (r.restarted === null ? "" : `, from dataset ${r.restarted}`);
}

// --- charts ---

// Points of one level, seconds on the left; y is bytes a second.
function scatter(level) {
  const W = Math.min(560, Math.max(300, innerWidth - 60)), H = 170, L = 84, B = 22, T = 18;
  const points = level.points, at = points.map((p) => p[0]);
  const from = Math.min(...at), to = Math.max(...at), span = to - from || 1;
  const most = points.reduce((m, p) => Math.max(m, p[2] / p[1]), 0) * 1.08;
  const x = (t) => L + 8 + (t - from) / span * (W - L - 20), y = (v) => H - B - v / most * (H - B - T);
  const box = svg("svg", { viewBox: `0 0 ${W} ${H}`, role: "img",
    "aria-label": `${level.level}: ${level.n} transfers, median ${rate(level.median_rate)}` });
  for (const share of [0, 0.5, 1])
    box.append(svg("path", { class: "axis", d: `M${L} ${y(share * most)}H${W}` }),
      svg("text", { x: L - 6, y: y(share * most) + 4, "text-anchor": "end" }, rate(share * most)));
  box.append(svg("text", { x: L, y: H - 4 }, stamp(from, false)),
    to > from ? svg("text", { x: W, y: H - 4, "text-anchor": "end" }, stamp(to, false)) : "");
  for (const p of points)
    box.append(svg("circle", { class: "fill-" + level.level, cx: x(p[0]).toFixed(1), cy: y(p[2] / p[1]).toFixed(1), r: 2.5 },
      points.length <= 500 ? svg("title", {}, `dataset ${p[3]}: ${rate(p[2] / p[1])}, ${size(p[2])} in ${duration(p[1])}`) : null));
  return box;
}

const LEVELS = { cache: "Write to cache", encode: "Encode", flush: "Flush to the prefix", fetch: "Fetch from the prefix" };

function bandwidth() {
  const some = data.levels.filter((l) => l.n);
  if (!some.length) return part("bandwidth", el("p", {}, "The log has no sizes."));
  part("bandwidth",
    el("div", { class: "charts" }, ...some.map((l) => el("figure", {}, el("figcaption", {}, key(l.level), LEVELS[l.level]), scatter(l)))),
    table("Bandwidth by level", [
      ["level", "text", (l) => LEVELS[l.level]], ["transfers", "n", (l) => l.n], ["bytes", "n", (l) => l.bytes, size],
      ["time", "n", (l) => l.secs, duration], ["median", "n", (l) => l.median_rate, rate],
      ["all bytes in all time", "n", (l) => l.bytes / l.secs, rate],
    ], some, false));
}

const COSTS = { checkpoint: "Checkpoint", output: "Output", encode: "Encode", flush: "Flush, waited for",
  "async flush": "Flush in the background", fetch: "Fetch", rebuild: "Rebuild", init: "SCR_Init", restart: "Restart" };

function histogram(c) {
  const W = 320, H = 110, B = 20, most = Math.max(...c.bins), wide = W / c.bins.length;
  const box = svg("svg", { viewBox: `0 0 ${W} ${H}`, role: "img",
    "aria-label": `${COSTS[c.what]}: from ${duration(c.min)} to ${duration(c.max)}, median ${duration(c.median)}` });
  c.bins.forEach((n, i) => {
    const h = n / most * (H - B - 6), at = c.min + i * (c.max - c.min) / c.bins.length;
    if (n) box.append(svg("rect", { class: "fill-restart", x: i * wide, y: H - B - h, width: wide - 1, height: Math.max(h, 1) },
      svg("title", {}, `${n} from ${duration(at)}`)));
  });
  box.append(svg("path", { class: "axis", d: `M0 ${H - B}H${W}` }), svg("text", { x: 0, y: H - 5 }, duration(c.min)),
    svg("text", { x: W, y: H - 5, "text-anchor": "end" }, duration(c.max)));
  return box;
}

function costs() {
  if (!data.costs.length) return part("costs", el("p", {}, "The log has no costs."));
  part("costs",
    el("div", { class: "charts" }, ...data.costs.filter((c) => c.n > 1 && c.max > c.min).map((c) =>
      el("figure", {}, el("figcaption", {}, COSTS[c.what], el("span", { class: "dim" }, ` (${c.n})`)), histogram(c)))),
    table("How long each took", [
      ["", "text", (c) => COSTS[c.what]], ["number", "n", (c) => c.n], ["least", "n", (c) => c.min, duration],
      ["median", "n", (c) => c.median, duration], ["mean", "n", (c) => c.mean, duration],
      ["90 % below", "n", (c) => c.p90, duration], ["most", "n", (c) => c.max, duration],
    ], data.costs, false));
}

// --- lists ---

const CLASSES = { process: "process died", node: "node lost", beyond: "cache lost" };
const runAt = (i) => (i === null ? null : i >= first ? name(i - first) : i + 1);

function failures() {
  const all = data.totals.failures;
  if (!all) part("failures", el("p", {}, "None was recorded."));
  else part("failures", table(shown("Failures", data.failures, all), [
    ["time", "t", (f) => f.at, (v) => stamp(v)],
    ["class", "text", (f) => (f.class === null ? "not recorded" : CLASSES[f.class] || f.class)],
    ["nodes", "text", (f) => f.nodes], ["run", "n", (f) => runAt(f.run)], ["found by run", "n", (f) => runAt(f.next)],
    ["computing lost", "n", (f) => f.lost, duration], ["note", "text", (f) => f.note],
  ], data.failures, true));
  if (data.nodes.length) part("failures", table("Nodes that were lost", [
    ["node", "text", (n) => n.node], ["times", "n", (n) => n.n], ["last", "t", (n) => n.last, (v) => stamp(v)],
    ["reason", "text", (n) => n.why],
  ], data.nodes, true));
}

function runs(show) {
  if (!data.runs.length) return part("runs", el("p", {}, "The log has no run."));
  const look = (r) => {
    const b = el("button", { type: "button", "aria-label": `show run ${name(r.i)} in the timeline` }, "show");
    b.addEventListener("click", () => show(r.i));
    return b;
  };
  part("runs", table(shown("Runs", data.runs, data.totals.runs), [
    ["run", "n", (r) => name(r.i)], ["", "x", look], ["job", "text", (r) => r.jobid],
    ["begin", "t", (r) => r.begin, (v) => stamp(v)], ["time", "n", (r) => r.wall, duration],
    ["end", "text state", (r) => r.end, (v, r) => ENDED[v] + (r.halt ? `: ${r.halt}` : "")],
    ["ranks", "n", (r) => r.ranks], ["nodes", "n", (r) => r.nodes], ["node names", "text", (r) => r.nodelist],
    ["from dataset", "n", (r) => r.restarted], ["in", "text", (r) => r.from],
    ["checkpoints", "n", (r) => r.checkpoints], ["output", "n", (r) => r.outputs],
    ["kept", "n", (r) => r.time.kept, duration], ["lost", "n", (r) => r.time.lost, duration],
    ["checkpoint time", "n", (r) => r.time.checkpoint, duration], ["flush wait", "n", (r) => r.time.flush, duration],
    ["restart time", "n", (r) => r.time.restart, duration], ["SCR", "text", (r) => r.version],
  ], data.runs.map((r, i) => ({ ...r, i })), true, (r) => (r.end === "failed" ? "bad" : null)));
}

function where(d) {
  const places = [];
  if (d.written === "done" && !d.bypass && !d.gone_cache) places.push("cache");
  if ((d.bypass ? d.written : d.flushed) === "done" && !d.gone_prefix) places.push("prefix");
  return places.join(", ");
}

function datasets() {
  if (!data.datasets.length) return part("datasets", el("p", {}, "The log has no dataset."));
  const WRITTEN = { none: "", begun: "not complete", done: "yes", failed: "failed" };
  const FLUSHED = { none: "", begun: "not complete", done: "yes", failed: "failed" };
  part("datasets", table(shown("Datasets", data.datasets, data.totals.datasets) +
    "; those in cache may have left it unrecorded", [
    ["dataset", "n", (d) => d.dset], ["name", "text", (d) => d.name], ["kind", "text", (d) => d.kind],
    ["run", "n", (d) => runAt(d.run)], ["begun", "t", (d) => d.at, (v) => stamp(v)], ["bytes", "n", (d) => d.bytes, size],
    ["files", "n", (d) => d.files], ["scheme", "text", (d) => d.scheme], ["written", "text state", (d) => WRITTEN[d.written]],
    ["write", "n", (d) => d.write, duration], ["encode", "n", (d) => d.encode, duration],
    ["flushed", "text state", (d) => FLUSHED[d.flushed]], ["flush", "n", (d) => d.flush, duration],
    ["restarts", "n", (d) => d.restarts], ["not deleted in", "text", where], ["note", "text", (d) => d.note],
  ], data.datasets, true, (d) => (d.written === "failed" || d.flushed === "failed" ? "bad" : null)));
}

function config() {
  const newest = data.configs[data.configs.length - 1];
  if (!newest) return part("config", el("p", {}, "The log does not have it."));
  const values = (text) => el("dl", {}, ...(text.match(/(?:[^;"]|"(?:[^"\\]|\\.)*"?)+/g) || []).flatMap((s) => {
    const set = s.trim().match(/^(\w+)=(.*)$/s) || [null, s.trim(), ""];
    return [el("dt", {}, set[1]), el("dd", {}, set[2])];
  }));
  part("config", el("p", { class: "dim" }, `From run ${runAt(newest.from)} on.`), values(newest.config));
  if (data.configs.length > 1)
    part("config", el("details", {}, el("summary", {}, "Earlier configurations"),
      ...data.configs.slice(0, -1).map((c) => el("div", {}, el("h3", {}, `From run ${runAt(c.from)} on`), values(c.config)))));
}

function log() {
  part("log", el("p", {}, `${data.log.events} events.`),
    data.log.notes.length ? el("ul", { id: "notes" }, ...data.log.notes.map((n) => el("li", {}, n))) : el("p", {}, "Nothing in it is odd."),
    el("p", { class: "dim" }, "Times are of the zone of this browser, sizes in binary units. scr_report(1) says how each number is defined."));
}

top();
times();
const showRun = timeline();
bandwidth();
costs();
failures();
runs(showRun);
datasets();
config();
log();
