/**
 * The page "How far off": published runs beside what the estimate says of them, with the fitted
 * constants as sliders. The arithmetic is the traced one of `instance`, called once a run.
 */
import { roleColor, roleVariable } from "./bindings.js";
import { controlsView } from "./controls.js";
import { button, fillWord, h, nextFrame, setAttribute, setText } from "./dom.js";
import { explanation } from "./explain.js";
import { onTheme } from "./figures.js";
import { grouped } from "./format.js";
import { popover } from "./popover.js";
import { stripView } from "./results.js";
import { fullText } from "./store.js";

const QUARTER = 0.25, TWICE = 2;
const NARROW_PLOT_PX = 480;
const X_MS = [1.8, 260], Y_MS = [0.15, 700]; // a test holds the defaults of all runs inside
const ROLES = ["decode", "network", "prefill", "control", "memory", "measured", "storage", "text"];
const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "cross", "x", "triangle-down", "star"];
const GLYPHS = ["●", "■", "◆", "▲", "✚", "✖", "▼", "★"];

// ---------------------------------------------------------------------------------------- runs

/** The page's columns as one object of assumptions a run. */
function readRuns({ groups, columns, count }) {
  return Array.from({ length: count }, (_, i) => {
    const inputs = {};
    for (const { names, rows, of } of groups) names.forEach((name, k) => { inputs[name] = rows[of[i]][k]; });
    for (const [name, values] of Object.entries(columns)) inputs[name] = values[i];
    return inputs;
  });
}

/** As NumPy has it: the mean of the two in the middle where their number is even. */
export function medianOf(values) {
  const sorted = Float64Array.from(values).sort(), middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/**
 * What a store asks of an estimate, for all runs at once. `one` is the traced module of a single
 * run; results are those of the runs that the fit never saw.
 */
export function validationModule(one, data) {
  const runs = readRuns(data), measured = data.tpot_ms.map((ms) => ms / 1000);
  const { of: engineOf } = data.labels.engine;
  const estimates = (values) => {
    for (const [slider, { sets, engine }] of Object.entries(data.sliders)) {
      runs.forEach((inputs, i) => {
        if (engine === null || engine === engineOf[i]) for (const name of sets) inputs[name] = values[slider];
      });
    }
    return runs.map((inputs) => one.evaluate(inputs).tpot_s);
  };
  return {
    data, estimates,
    evaluate(values) {
      const errors = estimates(values).map((s, i) => s / measured[i] - 1).filter((_, i) => data.held_out[i]);
      const sizes = errors.map(Math.abs);
      return {
        median_error: medianOf(sizes), bias: medianOf(errors), runs: errors.length,
        within_quarter: sizes.filter((size) => size <= QUARTER).length / sizes.length,
      };
    },
  };
}

// -------------------------------------------------------------------------------------- in words

function sentence(store) {
  const { strings, results } = store;
  const size = fullText(store, "bias").replace("\u2212", "");
  return fillWord(strings.validation_sentence, {
    runs: grouped(String(results.runs)), median: fullText(store, "median_error"), within: fullText(store, "within_quarter"),
    bias: fillWord(strings[results.bias < 0 ? "validation_short" : "validation_long"], { size }),
  });
}

function presetButtons(store, move) {
  const { presets } = store.spec;
  const buttons = presets.map(({ label, values }) => button("", label, () => move({ ...store.defaults, ...values }, null)));
  const node = h("div", { class: "ep-choice", role: "group", "aria-label": store.strings.preset }, ...buttons);
  return store.bind(node, () => buttons.forEach((one, i) => {
    const wanted = { ...store.defaults, ...presets[i].values };
    setAttribute(one, "aria-pressed", String(Object.keys(wanted).every((name) => wanted[name] === store.values[name])));
  }));
}

function picker(label, options, onChange) {
  const node = h("select", { class: "ep-select" }, ...options.map(([value, text]) => h("option", { value }, text)));
  node.addEventListener("change", () => onChange(node.value));
  return h("label", { class: "ep-small" }, `${label} `, node);
}

// --------------------------------------------------------------------------------------- scatter

/** Lines of equal error over the whole width: `factor` times what was measured. */
const along = (factor) => ({ x: [...X_MS], y: X_MS.map((x) => x * factor) });
const reversed = ({ x, y }) => ({ x: x.toReversed(), y: y.toReversed() });

function guides(color) {
  const low = along(1 - QUARTER), high = reversed(along(1 + QUARTER));
  const line = (factor, dash, role) => ({
    ...along(factor), mode: "lines", hoverinfo: "skip", line: { color: color(role), width: 1, dash },
  });
  return [
    { x: [...low.x, ...high.x], y: [...low.y, ...high.y], mode: "lines", fill: "toself", hoverinfo: "skip", line: { width: 0 }, fillcolor: color("accent", 0.18) },
    line(TWICE, "dash", "muted"), line(1 / TWICE, "dash", "muted"), line(1, "solid", "accent"),
  ];
}

/** Every decade, and between them twos and fives where there is room. */
function ticks([low, high], steps) {
  const found = [];
  for (let decade = 10 ** Math.floor(Math.log10(low)); decade <= high; decade *= 10) {
    for (const step of steps) if (step * decade >= low && step * decade <= high) found.push(Number((step * decade).toPrecision(3)));
  }
  return { tickvals: found, ticktext: found.map((one) => grouped(String(one))) };
}

function layoutOf(host, color, strings, width, height) {
  const narrow = width < NARROW_PLOT_PX;
  const axis = (title, range, steps) => ({
    type: "log", range: range.map(Math.log10), fixedrange: true, gridcolor: color("grid"), zeroline: false, linecolor: color("grid"),
    title: { text: title, font: { size: narrow ? 12 : 13 }, standoff: 6 }, tickfont: { size: narrow ? 11.5 : 12.5 }, ...ticks(range, steps),
  });
  return {
    width, height, autosize: false, dragmode: false, showlegend: false, hovermode: "closest",
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", margin: { l: 58, r: 12, t: 10, b: 46 },
    font: { family: getComputedStyle(host).fontFamily, size: 13, color: color("text") },
    hoverlabel: { bgcolor: color("background"), bordercolor: color("muted"), font: { color: color("text") }, align: "left" },
    xaxis: axis(strings.validation_measured, X_MS, narrow ? [1, 3] : [1, 2, 5]),
    yaxis: axis(strings.validation_estimated, Y_MS, [1]),
  };
}

/** What a run was, for whoever points at it. */
function describe({ labels, columns }, strings, i) {
  const name = (key) => labels[key].names[labels[key].of[i]];
  return `${name("model")}, ${name("gpu")}<br>${name("engine")}, ${name("tp")}<br>${fillWord(strings.validation_load, {
    requests: columns.concurrency[i], input: grouped(String(columns.input_tokens[i])), output: grouped(String(columns.output_tokens[i])),
  })}`;
}

/** The scatter in `host`: `show()` after a change of colours or runs, the rest by itself. */
function mountScatter(host, key, store, { plotly }) {
  const { strings, module } = store, { data } = module;
  const plot = host.appendChild(h("div", { class: "estimate-plot", role: "img" }));
  const shown = { by: "engine", all: false };
  let Plotly = null, near = false, traces = null, stale = true, failed = false;

  const members = () => {
    const { names, of } = data.labels[shown.by], found = names.map(() => []);
    for (let i = 0; i < data.count; i++) if (shown.all || data.held_out[i]) found[of[i]].push(i);
    return found.map((runs, k) => ({ runs, k, name: names[k] })).filter(({ runs }) => runs.length);
  };
  const outside = h("li", { hidden: true });
  const heights = (groups) => {
    const now = module.estimates(store.values), ys = groups.map(({ runs }) => runs.map((i) => now[i] * 1000));
    const lost = ys.flat().filter((y) => y < Y_MS[0] || y > Y_MS[1]).length;
    outside.hidden = !lost;
    setText(outside, fillWord(strings.validation_outside, { n: lost }));
    return ys;
  };
  const mark = (role, content, className = "") => h("span", { class: className, "aria-hidden": "true", style: `color: ${roleVariable(role)}` }, content);
  const writeKey = () => key.replaceChildren(
    ...members().map(({ k, name, runs }) => h("li", {}, mark(ROLES[k], GLYPHS[k]), `${name} (${runs.length})`)),
    h("li", {}, mark("accent", "", "ep-mark is-bar validation-band"), strings.validation_within),
    h("li", {}, mark("muted", "", "ep-mark is-dash"), strings.validation_twice), outside);

  function drawWhole() {
    const color = (role, alpha) => roleColor(host, role, alpha);
    const groups = members(), ys = heights(groups), under = guides(color);
    const clouds = groups.map(({ runs, k, name }, n) => ({
      name, x: runs.map((i) => data.tpot_ms[i]), y: ys[n], mode: "markers", type: "scatter",
      text: runs.map((i) => describe(data, strings, i)), hovertemplate: `%{text}<br>${strings.validation_hover}<extra></extra>`,
      marker: { symbol: SYMBOLS[k], size: 6.5, color: color(ROLES[k], 0.72), line: { width: 0.5, color: color("background") } },
    }));
    traces = { groups, first: under.length, width: plot.clientWidth };
    const layout = layoutOf(host, color, strings, Math.floor(plot.clientWidth), plot.clientHeight);
    return Plotly.react(plot, [...under, ...clouds], layout, { displayModeBar: false, responsive: false, doubleClick: false, scrollZoom: false });
  }
  function moveClouds() {
    const ys = heights(traces.groups), still = { mode: "immediate", transition: { duration: 0 }, frame: { duration: 0, redraw: false } };
    return Plotly.animate(plot, { data: ys.map((y) => ({ y })), traces: ys.map((_, n) => traces.first + n) }, still);
  }
  async function draw() {
    if (!near || failed || !host.isConnected || !plot.clientWidth) return;
    try {
      Plotly ??= await plotly();
    } catch {
      failed = true;
      plot.append(h("p", { class: "ep-failed" }, strings.figure_failed));
      return;
    }
    const whole = !traces || traces.width !== plot.clientWidth;
    if (!whole && !stale) return;
    stale = false;
    try {
      await (whole ? drawWhole() : moveClouds());
      plot.dispatchEvent(new CustomEvent("estimate-drawn", { bubbles: true }));
    } catch (error) {
      if (error) console.warn(`validation: ${error.message ?? error}`); // overtaken by the next move: nothing
    }
  }
  const anew = () => { traces = null; nextFrame(draw); };
  new IntersectionObserver((seen) => { near = seen.at(-1).isIntersecting; nextFrame(draw); }, { rootMargin: "200px 0px" }).observe(host);
  new ResizeObserver(() => nextFrame(draw)).observe(plot);
  onTheme(anew);
  store.bind(plot, () => {
    setAttribute(plot, "aria-label", `${strings.validation_figure}. ${sentence(store)}`);
    stale = true;
    nextFrame(draw);
  });
  writeKey();
  return {
    show(changes) {
      Object.assign(shown, changes);
      writeKey();
      anew();
    },
  };
}

/** Build the page's card in `root`. options: plotly() resolves to Plotly; move(changes, key). */
export function mountValidation(root, store, { plotly, move }) {
  const { spec, strings, module } = store;
  const bubble = popover(strings);
  const bring = (name) => { bubble.close(); root.querySelector(`input[type=range][name="${name}"]`)?.focus(); };
  const explain = (name, node) => bubble.toggle(node, ({ resized }) => explanation(store, name, { move, bring, resized }));
  const reset = store.bind(button("ep-button", strings.reset, () => move(store.defaults, null)), (node) => { node.disabled = !store.changed().length; });
  const figure = h("figure", { class: "estimate-figure ep-pane" });
  const by = Object.entries(module.data.labels).map(([key, { label }]) => [key, label]);
  const key = h("ul", { class: "ep-key" }), words = h("p", { class: "validation-words" });
  const picks = h("div", { class: "validation-picks" },
    picker(strings.validation_colour, by, (value) => scatter.show({ by: value })),
    picker(strings.validation_which, [["", strings.validation_held_out], ["all", strings.validation_all]], (value) => scatter.show({ all: value === "all" })), key);
  root.prepend(h("div", { class: "ep" }, h("div", { class: "ep-card" },
    h("div", { class: "ep-bar" }, h("p", { class: "ep-title" }, spec.title), presetButtons(store, move), h("span", { class: "ep-space" }), reset),
    picks,
    h("div", { class: "ep-body" },
      h("div", { class: "ep-out" }, stripView(store, explain), figure), controlsView(store, { move, explain })),
    store.bind(words, () => setText(words, sentence(store))))));
  const scatter = mountScatter(figure, key, store, { plotly });
  root.classList.add("is-mounted");
  store.bind(root, () => {
    setAttribute(root, "data-median", String(store.results.median_error));
    setAttribute(root, "data-bias", String(store.results.bias));
    setAttribute(root, "data-runs", String(store.results.runs));
  });
}
