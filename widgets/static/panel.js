/**
 * The estimate panel: one anywidget front end for two hosts, a Jupyter kernel and the static page.
 *
 * A spec (JSON, made by Python) says what the assumptions, results, figures and texts are and
 * carries the estimate itself as the text of an ES module. The reader's moves are evaluated here:
 * numbers in the `input` handler, figures in the next animation frame.
 *
 * Keys of spec.strings (the defaults in English are in FALLBACK_STRINGS at the end of this file):
 *   yes no default_value default_was against_default as_default group_workload group_model
 *   group_hardware group_targets group_method preset custom reset copy_link copy_python copied
 *   copy_failed results with_numbers more_results figures assumptions value_of range derived
 *   use_it too_low too_high whole not_a_number source source_row source_rounded source_given
 *   source_judgement kind_and_text consistent figure_failed in_drawer and, for page.js,
 *   explanation what_if dock close show_in_panel today notices dismiss address_unknown
 *   address_number address_clamped
 */

const NBSP = "\u00a0", MINUS = "\u2212", NOTHING = "–";
const NARROW_PX = 560;
let serial = 0;

// ---------------------------------------------------------------------------------- small DOM

/** Make an element: attributes that are null, undefined or false are left out. */
export function h(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** Write a text node or an element's text only when it differs. */
export function setText(node, text) {
  if (node.nodeType === Node.TEXT_NODE) {
    if (node.data !== text) node.data = text;
  } else if (node.textContent !== text) node.textContent = text;
}

/** Write an attribute only when it differs; null removes it. */
export function setAttribute(node, name, value) {
  if (value === null) node.removeAttribute(name);
  else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}

/** A button with a class and a text. */
export const button = (className, text, attributes = {}) =>
  h("button", { type: "button", class: className, ...attributes }, text);

const uid = (prefix) => `${prefix}-${++serial}`;

const frameQueue = new Set();
/** Run a job once in the next animation frame, however often it is asked for. */
export function nextFrame(job) {
  if (!frameQueue.size) {
    requestAnimationFrame(() => {
      const jobs = [...frameQueue];
      frameQueue.clear();
      for (const one of jobs) one();
    });
  }
  frameQueue.add(job);
}

// --------------------------------------------------------------------------------- formatting

/** Digits of a non-negative number. toFixed and toExponential round exact halves away from zero. */
function digitsOf(n, { style, digits }) {
  if (n >= 1e21) return BigInt(n).toString();
  if (style === "integer") return n.toFixed(0);
  if (style === "fixed") return n.toFixed(digits);
  if (n === 0) return "0";
  const exponent = Number(n.toExponential(digits - 1).split("e")[1]);
  const text = n.toFixed(Math.min(6, Math.max(0, digits - 1 - exponent))); // 6: units.MOST_DECIMALS
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** Number and unit of a value as texts: `number + unit` is the full text. */
export function formatParts(display, value, strings) {
  if (typeof value === "boolean") return { number: value ? strings.yes : strings.no, unit: "" };
  if (!Number.isFinite(value)) return { number: NOTHING, unit: "" };
  const ladder = display.ladder;
  const [scale, label] =
    ladder.find(([step]) => (Math.abs(value) * (1 + 1e-9) || 1) >= step) ?? ladder[ladder.length - 1];
  const [whole, part] = digitsOf(Math.abs(value / scale), display).split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",") + (part ? `.${part}` : "");
  const sign = value < 0 && /[1-9]/.test(grouped) ? MINUS : "";
  return {
    number: sign + (display.prefix ?? "") + grouped,
    unit: label ? (display.attach ? "" : NBSP) + label : "",
  };
}

/** A value as it stands in a sentence, the same as Python's `units.format_value`. */
export function formatValue(display, value, strings) {
  const { number, unit } = formatParts(display, value, strings);
  return display.bare ? number : number + unit;
}

/** A value with its unit, as it stands alone: the unit shows even where sentences leave it out. */
export function fullText(entry, value, strings) {
  const { number, unit } = formatParts(entry.display, value, strings);
  return number + unit;
}

/** Fill `{name}` (with unit) and `{name:number}` from the store's current values. */
export function fillTemplate(template, store) {
  return template.replace(/\{(\w+)(:number)?\}/g, (whole, name, bare) => {
    const entry = store.entry(name);
    if (!entry) return whole;
    const value = store.value(name);
    if (bare) return formatParts(entry.display, value, store.strings).number;
    return formatValue(entry.display, value, store.strings);
  });
}

/** How a result stands against its default: "+44%", "×12", "default: yes"; null when the same. */
export function changeText(store, entry) {
  const now = store.results[entry.name], base = store.defaultResults[entry.name];
  if (!Number.isFinite(now) && typeof now !== "boolean") return NOTHING;
  if (now === base) return null;
  const ratio = now / base;
  if (typeof now === "boolean" || !Number.isFinite(ratio) || ratio <= 0) {
    const value = formatValue(entry.display, base, store.strings);
    return store.strings.default_was.replace("{value}", value);
  }
  if (ratio >= 10) return `×${digitsOf(ratio, { style: "auto", digits: 2 })}`;
  const percent = Math.abs(ratio - 1) * 100;
  if (percent < 1e-7) return null;
  const text = percent < 0.95 ? String(Math.max(0.1, Number(percent.toFixed(1)))) : percent.toFixed(0);
  return `${ratio > 1 ? "+" : MINUS}${text}%`;
}

// -------------------------------------------------------------------------------------- store

/**
 * The functions of an estimate's module, at once: an import of a Blob would let the browser lay out
 * the page first, and the sliders would answer a frame or two later. The text is the build's own.
 */
function compile(code) {
  const names = [...code.matchAll(/^export function (\w+)/gm)].map((match) => match[1]);
  return new Function(`${code.replaceAll(/^export /gm, "")}\nreturn { ${names.join(", ")} };`)();
}

function guarded(name, call, fallback) {
  let warned = false;
  return (values) => {
    try {
      return call(values) ?? fallback;
    } catch (error) {
      if (!warned) console.warn(`${name}: ${error.message}`);
      warned = true;
      return fallback;
    }
  };
}

/** Bring a value into an assumption's range; `reason` says what was wrong with it, or null. */
export function normalise(assumption, raw) {
  const { low, high, scale } = assumption;
  const number = typeof raw === "boolean" ? NaN : Number(raw);
  if (!Number.isFinite(number)) return { value: null, reason: "not_a_number" };
  if (number < low) return { value: low, reason: "too_low" };
  if (number > high) return { value: high, reason: "too_high" };
  const whole = scale === "integer" ? Math.round(number) : number;
  return { value: whole, reason: whole === number ? null : "whole" };
}

/**
 * Compile a spec into a store of values and results.
 * `set`, `setMany` and `reset` evaluate at once and call every subscriber synchronously.
 */
export function createStore(spec) {
  const module = compile(spec.code);
  const run = guarded(spec.name, (values) => module.evaluate(values), {});
  const check = guarded(spec.name, (values) => module.constraints?.(values), {});
  const entries = new Map([...spec.results, ...spec.assumptions].map((one) => [one.name, one]));
  const assumptions = new Map(spec.assumptions.map((one) => [one.name, one]));
  const defaults = Object.fromEntries(spec.assumptions.map((one) => [one.name, one.default]));
  const defaultResults = run(defaults);
  const listeners = new Set();
  const store = {
    spec, defaults, defaultResults, assumptions,
    strings: { ...FALLBACK_STRINGS, ...spec.strings },
    values: { ...defaults },
    results: defaultResults,
    held: check(defaults),
    entry: (name) => entries.get(name),
    value: (name) => (assumptions.has(name) ? store.values[name] : store.results[name]),
    series: guarded(spec.name, (values) => module.series?.(values), {}),
    changed: () => spec.assumptions.filter((one) => store.values[one.name] !== one.default),
    /** Set one assumption; returns what became of it, see `normalise`. */
    set(name, raw) {
      return store.setMany({ [name]: raw })[name];
    },
    setMany(changes) {
      const outcome = {};
      let moved = false;
      for (const [name, raw] of Object.entries(changes)) {
        if (!assumptions.has(name)) continue;
        outcome[name] = normalise(assumptions.get(name), raw);
        const { value } = outcome[name];
        if (value === null || value === store.values[name]) continue;
        store.values[name] = value;
        moved = true;
      }
      if (!moved) return outcome;
      store.results = run(store.values);
      store.held = check(store.values);
      for (const listener of listeners) listener(store);
      return outcome;
    },
    reset: () => store.setMany(defaults),
    /** Results with some assumptions replaced (number) or scaled ("*3"), clamped to the ranges. */
    evaluate: (overrides) => run(store.override(overrides)),
    override(overrides) {
      const values = { ...store.values };
      for (const [name, change] of Object.entries(overrides ?? {})) {
        const one = assumptions.get(name);
        if (!one) continue;
        const scaled = typeof change === "string" && change.startsWith("*");
        const wanted = scaled ? values[name] * Number(change.slice(1)) : Number(change);
        if (Number.isFinite(wanted)) values[name] = Math.min(one.high, Math.max(one.low, wanted));
      }
      return values;
    },
    evaluateAt: run,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  return store;
}

// ----------------------------------------------------------------------------------- bindings

const COLOR_NAMES = {
  text: "--ep-fg", muted: "--ep-mut", grid: "--ep-line", accent: "--ep-acc", bad: "--ep-bad",
  background: "--ep-bg", card: "--ep-card",
};

const roleVariable = (role) => `var(${COLOR_NAMES[role] ?? `--ep-role-${role}`})`;

/** The colour of a role in the theme in force, as rgb() or rgba(). */
function roleColor(host, role, alpha = 1) {
  const probe = h("span", { style: `color: ${roleVariable(role)}` });
  host.append(probe);
  const channels = getComputedStyle(probe).color.match(/[\d.]+/g) ?? [128, 128, 128];
  probe.remove();
  const [r, g, b] = channels;
  return alpha === 1 ? `rgb(${r}, ${g}, ${b})` : `rgba(${r}, ${g}, ${b}, ${alpha})`;
}

const scaled = (value, scale = 1) => {
  const number = Number(value) / scale;
  return Number.isFinite(number) ? number : null;
};

/** Evaluations of one render, shared between bindings that sweep the same thing. */
function sweepCache(store) {
  const cache = new Map();
  const at = (over, overrides) => {
    const values = store.override(overrides);
    return (point) => {
      const moved = { ...values };
      over.forEach((name, index) => (moved[name] = point[index]));
      return { ...moved, ...store.evaluateAt(moved) };
    };
  };
  return (key, over, points, overrides) => {
    const id = JSON.stringify([key, overrides]);
    if (!cache.has(id)) cache.set(id, points.map(at(over, overrides)));
    return cache.get(id);
  };
}

const readers = {
  value: (b, { store }) => scaled(store.value(b.of), b.scale),
  default: (b, { store }) =>
    scaled(store.assumptions.has(b.of) ? store.defaults[b.of] : store.defaultResults[b.of], b.scale),
  sweep: (b, { sweep }) =>
    sweep([b.over, b.at], [b.over], b.at.map((x) => [x]), b.with)
      .map((point) => scaled(point[b.of], b.scale)),
  cases: (b, { store }) =>
    b.with.map((one) => {
      const values = store.override(one);
      return scaled({ ...values, ...store.evaluateAt(values) }[b.of], b.scale);
    }),
  grid: (b, { sweep }) => {
    const [xs, ys] = b.at;
    const points = ys.flatMap((y) => xs.map((x) => [x, y]));
    const flat = sweep([b.over, b.at], b.over, points, b.with);
    return ys.map((_, iy) => xs.map((_, ix) => scaled(flat[iy * xs.length + ix][b.of], b.scale)));
  },
  series: (b, env) => {
    env.series ??= env.store.series(env.store.values);
    return (env.series[b.of] ?? []).map((value) => scaled(value, b.scale));
  },
  text: (b, { store }) => fillTemplate(b.template, store),
  color: (b, { color }) => color(b.role, b.alpha),
};

/** Cells of a heat map: the number becomes the strength of one role's colour. */
function heatRule({ cmin, cmax, colorscale: [[, pale], [, strong]] }) {
  return (value, color) => {
    const part = Math.min(1, Math.max(0, (value - cmin) / (cmax - cmin)));
    return color(strong.role, Number((pale.alpha + (strong.alpha - pale.alpha) * part).toFixed(2)));
  };
}

const positive = (value) => (value > 0 ? value : null);
const log10 = (value) => (value > 0 ? Math.log10(value) : null);

/** What a bound number has to go through where it stands: a log axis, a colour of a heat map. */
function ruleFor(figure, path) {
  const [part, index, key] = path;
  if (part === "data" && path.slice(2).join() === "marker,color" && figure.data[index].meta?.kind === "heat") {
    return heatRule(figure.data[index].marker);
  }
  const axis = (id) => figure.layout?.[`${id[0]}axis${id.slice(1)}`]?.type === "log";
  if (part === "data" && (key === "x" || key === "y")) {
    return axis(figure.data[index][`${key}axis`] ?? key) ? positive : null;
  }
  if (part === "layout" && index === "annotations" && /^[xy]$/.test(path[3] ?? "")) {
    const reference = figure.layout.annotations[path[2]][`${path[3]}ref`] ?? path[3];
    return /^[xy]\d*$/.test(reference) && axis(reference) ? log10 : null; // Plotly's convention
  }
  return null;
}

const ruled = (value, rule, color) => {
  if (!rule) return value;
  if (Array.isArray(value)) return value.map((one) => ruled(one, rule, color));
  return typeof value === "number" ? rule(value, color) : null;
};

/** Split a figure into a plain copy and the list of its bound leaves. */
function compileFigure(source) {
  const figure = structuredClone(source);
  const bound = [];
  const walk = (node, path) => {
    for (const key of Object.keys(node)) {
      const child = node[key];
      if (child === null || typeof child !== "object") continue;
      const here = [...path, Array.isArray(node) ? Number(key) : key];
      if (typeof child.$ === "string") {
        bound.push({ path: here, binding: child, parent: node, key, rule: ruleFor(source, here) });
      } else walk(child, here);
    }
  };
  walk({ data: figure.data ?? [], layout: figure.layout ?? {} }, []);
  return { data: figure.data ?? [], layout: figure.layout ?? {}, bound };
}

const same = (a, b) =>
  a === b ||
  (Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((x, i) => same(x, b[i])));

/** Read every binding into the figure; returns the paths that changed. */
function readBindings(figure, store, color) {
  const env = { store, color, sweep: sweepCache(store) };
  const changed = [];
  for (const { path, binding, parent, key, rule } of figure.bound) {
    const value = ruled(readers[binding.$]?.(binding, env) ?? null, rule, color);
    if (same(parent[key], value)) continue;
    parent[key] = value;
    changed.push(path);
  }
  return changed;
}

/** Fill a figure's bindings: plain Plotly JSON for the current values. */
export function resolveFigure(source, store, host) {
  const figure = compileFigure(source);
  readBindings(figure, store, (role, alpha) => roleColor(host, role, alpha));
  return { data: figure.data, layout: figure.layout };
}

// ------------------------------------------------------------------------------------ figures

const themeListeners = new Set();
let themeObserver = null;

function onTheme(listener) {
  if (!themeObserver) {
    themeObserver = new MutationObserver(() => themeListeners.forEach((one) => one()));
    const attributeFilter = ["data-theme", "class", "theme", "data-jp-theme-light"];
    for (const node of [document.documentElement, document.body]) {
      themeObserver.observe(node, { attributes: true, attributeFilter });
    }
  }
  themeListeners.add(listener);
  return () => themeListeners.delete(listener);
}

const CONFIG = { displayModeBar: false, responsive: false, doubleClick: false, scrollZoom: false };
const MOVING = new Set(["x", "y", "text", "base", "width"]);

/** Whether Plotly may keep the axes as they are when the data move. */
function fixedAxes(layout) {
  const axes = Object.keys(layout).filter((key) => /^[xy]axis\d*$/.test(key));
  const still = ({ range, visible, type }) => range || visible === false || type === "category";
  return axes.length > 0 && axes.every((key) => still(layout[key]));
}

/**
 * Put a new text into a drawn annotation without asking Plotly: the text nodes between the tags
 * keep their elements, the box behind keeps its centre. False when the shape of the text changed.
 */
function patchAnnotation(plot, index, text) {
  const group = plot.querySelector(`.annotation[data-index="${index}"]`);
  const drawn = group?.querySelector("text");
  if (!drawn) return false;
  const pieces = text.split(/<[^>]*>/).filter((piece) => piece.trim());
  const walker = document.createTreeWalker(drawn, NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (walker.nextNode()) if (walker.currentNode.data.trim()) nodes.push(walker.currentNode);
  if (nodes.length !== pieces.length) return false;
  nodes.forEach((node, i) => setText(node, pieces[i].replaceAll("&lt;", "<").replaceAll("&amp;", "&")));
  fitBox(group.querySelector("rect.bg"), drawn, plot._fullLayout.annotations[index]);
  plot.layout.annotations[index].text = text;
  plot._fullLayout.annotations[index].text = text;
  return true;
}

/** Shift a drawn annotation to its new anchor, arrow and all; false when Plotly must do it. */
function shiftAnnotation(plot, index, key, value) {
  const group = plot.querySelector(`.annotation[data-index="${index}"]`);
  const full = plot._fullLayout.annotations[index];
  const axis = plot._fullLayout[`${full[`${key}ref`][0]}axis${full[`${key}ref`].slice(1)}`];
  if (!group?.firstChild || !axis?.r2p || value === null) return false;
  group.shift ??= { x: 0, y: 0 };
  group.shift[key] += axis.r2p(value) - axis.r2p(full[key]);
  const [low, high] = axis.range;
  const outside = value < Math.min(low, high) || value > Math.max(low, high);
  group.style.visibility = outside ? "hidden" : "";
  group.setAttribute("transform", `translate(${group.shift.x}, ${group.shift.y})`);
  plot.layout.annotations[index][key] = full[key] = value;
  return true;
}

function fitBox(box, drawn, annotation) {
  const bare = !annotation.borderwidth && /rgba\(.*, ?0\)/.test(annotation.bgcolor);
  if (!box || annotation.width || bare) return;
  const extent = drawn.getBBox();
  const wanted = extent.width + 2 * (annotation.borderpad + annotation.borderwidth);
  box.setAttribute("width", wanted);
  box.setAttribute("x", extent.x + extent.width / 2 - wanted / 2);
}

// A trace may carry meta = {kind, label}: kind "line" is labelled at its end, "here" beside its
// point, and whatever else has a label (bars, measured points) is explained by the key above.

const roleOf = (trace) => (trace.line?.color ?? trace.marker?.color ?? trace.marker?.colors)?.role;
const DIRECT = 3;

/** The key above a plot; in a wide figure up to three lines are labelled at their ends instead. */
function keyView(traces) {
  const named = traces.filter((one) => one.meta?.label && one.meta.kind !== "here");
  const lines = named.filter((one) => one.meta.kind === "line");
  const items = named.map((one) => {
    const { kind, label } = one.meta;
    const mark = h("span", {
      class: `ep-mark is-${kind} is-${one.line?.dash ?? "solid"}`, "aria-hidden": "true",
      style: `color: ${roleVariable(roleOf(one) ?? "accent")}`,
    });
    return h("li", { class: kind === "line" ? "is-line" : null }, mark, label);
  });
  const direct = lines.length <= DIRECT;
  const needed = lines.length || named.length > 1 || named.some((one) => one.meta.kind === "measured");
  const only = direct && lines.length === named.length;
  if (!needed) return null;
  const key = h("ul", { class: "ep-key" }, ...items);
  key.classList.toggle("is-direct", direct);
  key.classList.toggle("is-only-lines", only);
  return key;
}

/** Labels over a drawn plot: at the ends of its lines, kept apart, and beside the current point. */
function plotLabels(host, plot) {
  const layer = host.appendChild(h("div", { class: "ep-plot-labels", "aria-hidden": "true" }));
  let ends = [], here = null;
  const label = (trace, text) => {
    const node = h("span", { style: `color: ${roleVariable(roleOf(trace) ?? "text")}` }, text);
    layer.append(node);
    return node;
  };
  return {
    /** Make the labels for a figure about to be drawn; returns the margin they need on the right. */
    prepare(source, width, direct) {
      layer.replaceChildren();
      layer.style.setProperty("--room", `${Math.round(width * 0.24)}px`);
      const lines = source.data.map((trace, index) => ({ trace, index }))
        .filter(({ trace }) => trace.meta?.kind === "line" && trace.meta.label);
      ends = direct && lines.length <= DIRECT
        ? lines.map(({ trace, index }) => ({ index, node: label(trace, trace.meta.label) })) : [];
      const at = source.data.findIndex((trace) => trace.meta?.kind === "here" && trace.text);
      here = at < 0 ? null : { index: at, node: label({}, "") };
      ends.forEach((one) => { one.size = one.node.getBoundingClientRect(); });
      return ends.length ? Math.max(...ends.map((one) => one.size.width)) + 14 : 0;
    },
    place(data) {
      const { xaxis, yaxis } = plot._fullLayout;
      if (!xaxis?.d2p || !yaxis?.d2p) return;
      layer.style.top = `${plot.offsetTop}px`;
      const right = xaxis._offset + xaxis._length;
      const height = (y) => yaxis._offset + Math.min(yaxis._length, Math.max(0, yaxis.d2p(y)));
      for (const one of ends) {
        const y = data[one.index].y.findLast((value) => value !== null);
        one.node.hidden = y === undefined;
        one.middle = y === undefined ? 0 : height(y);
      }
      spread(ends.filter((one) => !one.node.hidden), yaxis._offset, yaxis._offset + yaxis._length);
      for (const { node, middle, size } of ends) {
        node.style.transform = `translate(${right + 8}px, ${middle - size.height / 2}px)`;
      }
      if (here) placeHere(data[here.index]);
      function placeHere({ x: [x], y: [y], text: [text] }) {
        here.node.hidden = x === null || y === null || !text;
        if (here.node.hidden) return;
        setText(here.node, text);
        const room = text.length * 8 + 24, left = xaxis._offset + xaxis.d2p(x), top = height(y);
        const flip = left - room < xaxis._offset;
        const dy = top - 26 < yaxis._offset ? 8 : -26;
        const corner = `translate(${left + (flip ? 9 : -9)}px, ${top + dy}px)`;
        here.node.style.transform = flip ? corner : `${corner} translateX(-100%)`;
      }
    },
  };
}

/** Move labels apart, from the top down and, when they run out at the bottom, back up. */
function spread(labels, top, bottom) {
  labels.sort((a, b) => a.middle - b.middle);
  let edge = top - 8;
  for (const one of labels) {
    one.middle = Math.max(one.middle, edge + one.size.height / 2);
    edge = one.middle + one.size.height / 2;
  }
  edge = bottom + 8;
  for (const one of [...labels].reverse()) {
    one.middle = Math.min(one.middle, edge - one.size.height / 2);
    edge = one.middle - one.size.height / 2;
  }
}

/**
 * Keep one figure in step with the store. `host` is a `figure.estimate-figure`, whose
 * `.estimate-plot` and `figcaption` are used when they are there. `plotly()` resolves to Plotly;
 * nothing is drawn while the figure is out of sight or `isShown()` is false.
 */
export function mountFigure(host, figure, store, { plotly, isShown = () => true }) {
  const plot = host.querySelector(".estimate-plot") ?? host.appendChild(h("div", { class: "estimate-plot" }));
  const caption = host.querySelector("figcaption") ?? host.appendChild(h("figcaption"));
  setAttribute(plot, "role", "img");
  host.style.setProperty("--height", `${figure.height}px`);
  host.style.setProperty("--narrow-height", `${figure.narrow_height ?? figure.height}px`);
  const key = keyView(figure.wide.data ?? []);
  if (key) plot.before(key);
  const labels = plotLabels(host, plot);
  let near = false, drawn = null, stale = true, Plotly = null, failed = false; // near: in sight or almost

  const colors = new Map(); // asking the style sheet again at each move would cost most of a frame
  const color = (role, alpha) => {
    const key = `${role} ${alpha}`;
    if (!colors.has(key)) colors.set(key, roleColor(host, role, alpha));
    return colors.get(key);
  };
  const pick = (width) => (width < NARROW_PX && figure.narrow ? "narrow" : "wide");
  const speak = () => {
    const text = fillTemplate(figure.alt ?? "", store);
    setText(caption, text);
    setAttribute(plot, "aria-label", `${figure.title}. ${text}`);
  };

  function base(layout, width) {
    const font = getComputedStyle(host);
    return {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", dragmode: false, ...layout,
      width, height: plot.clientHeight, autosize: false,
      font: { family: font.fontFamily, size: 13, color: color("text"), ...layout.font },
      hoverlabel: {
        bgcolor: color("background"), bordercolor: color("muted"), font: { color: color("text") },
        ...layout.hoverlabel,
      },
    };
  }

  function drawWhole(width) {
    const variant = pick(width);
    const compiled = compileFigure(figure[variant]);
    readBindings(compiled, store, color);
    const room = labels.prepare(figure[variant], width, width >= NARROW_PX);
    const { t = 20, r = 20, ...margin } = compiled.layout.margin ?? {};
    compiled.layout.margin = { ...margin, t: Math.min(t, 20), r: Math.max(r, room) };
    compiled.layout = base(compiled.layout, width);
    for (const trace of compiled.data) if (trace.meta?.kind === "here") trace.mode = "markers";
    // Bound leaves of the top level of the layout were copied: point them at the new object.
    for (const one of compiled.bound) {
      if (one.path.length === 2 && one.path[0] === "layout") one.parent = compiled.layout;
    }
    drawn = { ...compiled, variant, width, fixed: fixedAxes(compiled.layout) };
    return Plotly.newPlot(plot, drawn.data, drawn.layout, CONFIG);
  }

  function drawChanges() {
    const changed = readBindings(drawn, store, color);
    const moves = new Map(), shifts = {};
    let whole = false;
    for (const path of changed) {
      const [part, first, index, key] = path;
      if (part === "data") {
        const depth = path.findIndex((step, i) => i > 1 && typeof step === "number");
        const keys = depth < 0 ? path.slice(2) : path.slice(2, depth); // a bound point stands for its array
        const value = keys.reduce((node, step) => node[step], drawn.data[first]);
        moves.set(first, { ...moves.get(first), [keys.join(".")]: Array.isArray(value) ? [...value] : value });
      } else if (first === "annotations" && patchedInPlace(index, key)) {
        continue;
      } else if (first === "annotations" || first === "shapes") {
        shifts[`${first}[${index}].${path.slice(3).join(".")}`] = drawn.layout[first][index][key];
      } else whole = true;
    }
    if (whole || (moves.size && !drawn.fixed)) return redraw();
    return Promise.all([moveTraces(moves), Object.keys(shifts).length && Plotly.relayout(plot, shifts)]);
  }

  const redraw = () => Plotly.react(plot, drawn.data, drawn.layout, CONFIG);

  function patchedInPlace(index, key) {
    const value = drawn.layout.annotations[index][key];
    if (key === "text") return patchAnnotation(plot, index, value);
    return drawn.fixed && (key === "x" || key === "y") && shiftAnnotation(plot, index, key, value);
  }

  function moveTraces(moves) {
    if (!moves.size) return null;
    const traces = [...moves.keys()];
    const updates = [...moves.values()];
    const simple = updates.every((one) => Object.keys(one).every((key) => MOVING.has(key)));
    if (simple && traces.every((i) => (drawn.data[i].type ?? "scatter") === "scatter")) {
      const still = { mode: "immediate", transition: { duration: 0 }, frame: { duration: 0, redraw: false } };
      return Plotly.animate(plot, { data: updates, traces }, still);
    }
    const keys = Object.keys(Object.assign({}, ...updates));
    if (!updates.every((one) => keys.every((key) => key in one))) return redraw();
    const columns = keys.map((key) => [key, updates.map((one) => one[key])]);
    return Plotly.restyle(plot, Object.fromEntries(columns), traces);
  }

  async function draw() {
    if (!near || !isShown() || !host.isConnected) return;
    if (stale) speak();
    if (!Plotly) return load();
    const width = Math.floor(plot.clientWidth);
    if (!width) return;
    const whole = !drawn || drawn.variant !== pick(width);
    const wider = !whole && drawn.width !== width;
    if (!stale && !whole && !wider) return;
    stale = false;
    try {
      const work = whole || wider ? drawWhole(width) : drawChanges();
      if (!whole && !wider) labels.place(drawn.data);
      await work;
      if (whole || wider) labels.place(drawn.data);
      plot.dispatchEvent(new CustomEvent("estimate-drawn", { bubbles: true }));
    } catch (error) {
      // Plotly.animate rejects with nothing when the next move overtakes it.
      if (error) console.warn(`${figure.id}: ${error.message ?? error}`);
    }
  }

  async function load() {
    if (failed) return;
    try {
      Plotly = await plotly();
      nextFrame(draw);
    } catch {
      failed = true;
      plot.append(h("p", { class: "ep-failed" }, store.strings.figure_failed));
    }
  }

  const sight = new IntersectionObserver(
    (seen) => { near = seen[seen.length - 1].isIntersecting; if (near) nextFrame(draw); },
    { rootMargin: "120px 0px" },
  );
  sight.observe(host);
  const size = new ResizeObserver(() => nextFrame(draw));
  size.observe(plot);
  // Patching a diagram's few texts is quick enough for the frame that follows at once.
  let queued = false;
  const atOnce = () => {
    if (queued) return;
    queued = true;
    queueMicrotask(() => { queued = false; draw(); });
  };
  const soon = figure.kind === "diagram" ? atOnce : () => nextFrame(draw);
  const unsubscribe = store.subscribe(() => { stale = true; soon(); });
  const untheme = onTheme(() => { drawn = null; colors.clear(); nextFrame(draw); });
  speak();
  return {
    show: () => nextFrame(draw),
    dispose() {
      sight.disconnect(); size.disconnect(); unsubscribe(); untheme();
      if (Plotly) Plotly.purge(plot);
    },
  };
}

// ------------------------------------------------------------------------ parts of the panel

const dataValue = (value) => (typeof value === "boolean" || Number.isFinite(value) ? String(value) : "");

/** An `<output>` that shows one result, number and unit apart; `update()` writes what changed. */
export function outputView(store, entry) {
  const number = new Text(), unit = new Text();
  const node = h("output", { class: "ep-output", "data-output": entry.name, "aria-live": "off" },
    h("span", { class: "ep-number" }, number), h("span", { class: "ep-unit" }, unit));
  return {
    node,
    update() {
      const value = store.results[entry.name];
      const parts = formatParts(entry.display, value, store.strings);
      setText(number, parts.number);
      setText(unit, parts.unit);
      setAttribute(node, "data-value", dataValue(value));
    },
  };
}

/** A result's formula; `update(true)` puts today's numbers in the place of the names. */
export function formulaView(store, entry) {
  const node = h("div", { class: "ep-formula" });
  node.innerHTML = entry.formula ?? ""; // trusted: MathML printed by the build
  const leaves = [...node.querySelectorAll("[data-ref]")].map((leaf) => ({ leaf, label: leaf.textContent }));
  return {
    node,
    update(numbers) {
      for (const { leaf, label } of leaves) {
        const one = store.entry(leaf.dataset.ref ?? leaf.getAttribute("data-ref"));
        const value = one && store.value(one.name);
        setText(leaf, numbers && one ? formatValue(one.display, value, store.strings) : label);
      }
    },
  };
}

/** Where a default comes from: "Default 500 request/s. Range …. Given by the problem: …". */
export function sourceView(store, assumption) {
  const { strings } = store;
  const show = (value) => fullText(assumption, value, strings);
  const { kind, text, href } = assumption.source ?? {};
  const range = strings.range.replace("{default}", show(assumption.default))
    .replace("{low}", show(assumption.low)).replace("{high}", show(assumption.high));
  const kindText = strings[`source_${kind}`] ?? "";
  const words = text || kindText;
  const before = [strings.kind_and_text.replace("{kind}", kindText).replace("{text}", "")];
  return h("div", { class: "ep-source" },
    h("p", {}, assumption.meaning ?? ""), h("p", { class: "ep-muted" }, range),
    words && h("p", { class: "ep-muted" }, ...(text && kindText ? before : []), href ? h("a", { href }, words) : words));
}

/** The text of a number box: whole numbers in full, others with six digits. */
function boxText(assumption, value) {
  const number = Number((value / assumption.box.scale).toPrecision(12));
  return String(Number.isInteger(number) ? number : Number(number.toPrecision(6)));
}

const nearestStop = (stops, value) => {
  let best = 0;
  for (let i = 1; i < stops.length; i++) {
    if (Math.abs(stops[i] - value) < Math.abs(stops[best] - value)) best = i;
  }
  return best;
};

/** One assumption: label that discloses, number box, unit, slider, derived value. */
function assumptionRow(store, assumption, { anchor, move }) {
  const { name, label, box, stops } = assumption;
  const { strings } = store;
  const sourceId = uid("ep-source"), noteId = uid("ep-note");
  const labelButton = button("ep-label", label, { "aria-expanded": "false", "aria-controls": sourceId });
  const source = h("div", { id: sourceId, class: "ep-disclosed", hidden: true }, sourceView(store, assumption));
  const number = h("input", {
    type: "number", step: "any", inputmode: "decimal", class: "ep-box", autocomplete: "off",
    "aria-label": strings.value_of.replace("{label}", label) + (box.unit ? `, ${box.unit}` : ""),
    "aria-describedby": noteId,
  });
  const slider = h("input", {
    type: "range", name, min: 0, max: stops.length - 1, step: 1, "aria-label": label, autocomplete: "off",
  });
  const unit = h("span", { class: "ep-unit", "aria-hidden": "true" }, box.unit.replaceAll("/", "/\u200b"));
  const note = h("p", { id: noteId, class: "ep-note", role: "status" });
  const derived = assumption.suggested_by ? derivedLine(store, assumption, move) : null;
  const node = h("div", { class: "ep-row", id: anchor && `${anchor}-${name}` },
    labelButton, h("span", { class: "ep-value" }, number, unit), slider, derived?.node, note, source);

  const say = (reason) => setText(note, reason ? limitText(store, assumption, reason) : "");
  labelButton.addEventListener("click", () => {
    source.hidden = !source.hidden;
    labelButton.setAttribute("aria-expanded", String(!source.hidden));
  });
  slider.addEventListener("input", () => move({ [name]: stops[Number(slider.value)] }));
  number.addEventListener("input", () => {
    const raw = number.value.trim() === "" ? NaN : number.valueAsNumber * box.scale;
    const { reason } = normalise(assumption, raw);
    setAttribute(number, "aria-invalid", reason ? "true" : null);
    if (!reason) { say(null); move({ [name]: raw }); }
  });
  number.addEventListener("change", () => {
    const raw = number.value.trim() === "" ? NaN : number.valueAsNumber * box.scale;
    const { reason } = normalise(assumption, raw);
    if (reason && reason !== "not_a_number") move({ [name]: raw });
    say(reason);
    setAttribute(number, "aria-invalid", null);
    number.value = boxText(assumption, store.values[name]);
  });

  return {
    node,
    update() {
      const value = store.values[name];
      derived?.update();
      if (node.dataset.shown === String(value)) return;
      node.dataset.shown = String(value);
      say(null);
      const index = nearestStop(stops, value);
      if (slider.value !== String(index)) slider.value = index;
      setAttribute(slider, "data-value", String(value));
      setAttribute(slider, "aria-valuetext", fullText(assumption, value, strings));
      slider.style.setProperty("--p", `${(index / (stops.length - 1)) * 100}%`);
      if (document.activeElement !== number) number.value = boxText(assumption, value);
    },
  };
}

function limitText(store, assumption, reason) {
  const bound = reason === "too_low" ? assumption.low : assumption.high;
  const value = fullText(assumption, bound, store.strings);
  return store.strings[reason].replace("{value}", value).replace("{label}", assumption.label);
}

function derivedLine(store, assumption, move) {
  const text = new Text();
  const use = button("ep-use", store.strings.use_it);
  const node = h("p", { class: "ep-derived" }, h("span", {}, text), use);
  const suggestion = () => normalise(assumption, store.results[assumption.suggested_by]).value;
  use.addEventListener("click", () => move({ [assumption.name]: suggestion() }));
  return {
    node,
    update() {
      const value = suggestion();
      const show = (one) => fullText(assumption, one, store.strings);
      node.classList.toggle("is-idle", value === null || show(value) === show(store.values[assumption.name]));
      use.disabled = node.classList.contains("is-idle");
      setText(text, store.strings.derived.replace("{value}", show(value)));
    },
  };
}

function controlsView(store, options) {
  const rows = store.spec.assumptions.map((one) => [one, assumptionRow(store, one, options)]);
  const node = h("div", { class: "ep-controls", role: "group", "aria-label": store.strings.assumptions });
  for (const group of [...new Set(rows.map(([one]) => one.group))]) {
    const id = uid("ep-group");
    const members = rows.filter(([one]) => one.group === group);
    const style = `--rows: ${members.length}`;
    node.append(h("div", { class: "ep-group", role: "group", "aria-labelledby": id, style },
      h("p", { class: "ep-heading", id }, store.strings[`group_${group}`] ?? group),
      ...members.map(([, row]) => row.node)));
  }
  return { node, update: () => rows.forEach(([, row]) => row.update()) };
}

/** The change against the default; in a row of the results "as by default" is left to hearing. */
function changeView(store, entry, inRow) {
  const { as_default: same, against_default: other } = store.strings;
  const text = new Text();
  const node = h("span", { class: "ep-change" }, text);
  return {
    node,
    update() {
      const change = changeText(store, entry);
      const long = change && /^[+−×]/.test(change) ? other.replace("{change}", change) : change;
      setText(text, (inRow ? change : long) ?? same);
      if (!inRow) return;
      node.classList.toggle("ep-hidden", !change);
      setAttribute(node, "title", long);
    },
  };
}

function headlineView(store) {
  const parts = store.spec.results.filter((one) => one.headline).map((one) => {
    const output = outputView(store, one);
    const change = changeView(store, one, false);
    const node = h("div", { class: "ep-head" },
      h("span", { class: "ep-head-label" }, one.label), output.node, change.node);
    return { node, update() { output.update(); change.update(); } };
  });
  return {
    node: h("div", { class: "ep-heads", style: `--heads: ${parts.length}` }, ...parts.map((one) => one.node)),
    update: () => parts.forEach((one) => one.update()),
  };
}

function statement(sign, kind) {
  const text = new Text();
  const node = h("span", { class: `ep-statement is-${kind}` },
    h("span", { class: "ep-sign", "aria-hidden": "true" }, sign), h("span", {}, text));
  return {
    node,
    show(on, words) {
      setText(text, words);
      node.classList.toggle("is-off", !on);
      setAttribute(node, "aria-hidden", on ? null : "true");
    },
  };
}

/** Verdicts: both wordings share one cell, so that the taller one keeps the room. */
function verdictView(store) {
  const verdicts = store.spec.results.filter((one) => one.verdict).map((one) => {
    const signs = [["✓", "ok"], ["✕", "bad"]]; // of an alarm, true is the bad case
    const [yes, no] = (one.verdict.alarm ? signs.reverse() : signs).map((sign) => statement(...sign));
    return {
      node: h("li", { "data-verdict": one.name }, yes.node, no.node),
      update() {
        const holds = store.results[one.name]; // neither wording when evaluate() failed
        yes.show(holds === true, fillTemplate(one.verdict.yes, store));
        no.show(holds === false, fillTemplate(one.verdict.no, store));
      },
    };
  });
  const constraints = (store.spec.constraints ?? []).map((one) => {
    const no = statement("✕", "bad");
    const node = h("li", { "data-constraint": one.name }, no.node);
    return {
      node,
      update() {
        node.hidden = store.held[one.name] !== false;
        no.show(true, fillTemplate(one.no, store));
      },
    };
  });
  const fits = statement("✓", "ok");
  const fine = h("li", {}, fits.node);
  fits.show(true, store.strings.consistent);
  const all = [...verdicts, ...constraints];
  return {
    node: h("ul", { class: "ep-verdicts" }, ...all.map((one) => one.node), constraints.length ? fine : null),
    update() {
      all.forEach((one) => one.update());
      fine.hidden = constraints.some((one) => !one.node.hidden);
    },
  };
}

function resultRow(store, entry, anchor, withNumbers) {
  const output = outputView(store, entry);
  const change = changeView(store, entry, true);
  const formula = entry.formula ? formulaView(store, entry) : null;
  const node = h("div", { class: "ep-result", id: anchor && `${anchor}-${entry.name}` },
    h("dt", { title: entry.meaning || null }, entry.label),
    h("dd", { class: "ep-result-value" }, output.node), h("dd", { class: "ep-result-change" }, change.node),
    formula && h("dd", { class: "ep-result-formula" }, formula.node));
  return {
    node, formula: formula?.node,
    update() {
      output.update();
      change.update();
      node.classList.toggle("is-changed", store.results[entry.name] !== store.defaultResults[entry.name]);
      if (withNumbers()) formula?.update(true);
    },
    rename: () => formula?.update(withNumbers()),
  };
}

function resultsView(store, anchor) {
  const { strings } = store;
  let numbers = false;
  const rows = store.spec.results.map((one) => [one, resultRow(store, one, anchor, () => numbers)]);
  const nodes = (detail) => rows.filter(([one]) => Boolean(one.detail) === detail).map(([, row]) => row.node);
  const list = (detail) => h("dl", { class: "ep-list" }, ...nodes(detail));
  const toggle = button("ep-toggle", strings.with_numbers, { "aria-pressed": "false" });
  const more = rows.some(([one]) => one.detail)
    ? h("details", { class: "ep-more" }, h("summary", {}, strings.more_results), list(true)) : null;
  const hasFormulas = rows.some(([, row]) => row.formula);
  const bar = h("div", { class: "ep-results-bar" },
    h("p", { class: "ep-heading" }, strings.results), hasFormulas ? toggle : null);
  const node = h("div", { class: "ep-results" }, bar, list(false), more);
  const fit = (meanwhile) => fitFormulas(rows.map(([, row]) => row.formula).filter(Boolean), meanwhile);
  toggle.addEventListener("click", () => {
    numbers = !numbers;
    toggle.setAttribute("aria-pressed", String(numbers));
    rows.forEach(([, row]) => row.rename());
    fit();
  });
  more?.addEventListener("toggle", () => fit());
  return { node, fit, update: () => rows.forEach(([, row]) => row.update()) };
}

/**
 * Formulas do not break by themselves: one that is too wide wraps between its terms, then
 * shrinks a little, and only then scrolls. `meanwhile` is called between reading and writing,
 * so that whoever else has to measure shares the same layout.
 */
export function fitFormulas(formulas, meanwhile) {
  const tooWide = (one) => one.scrollWidth > one.clientWidth + 1;
  formulas.forEach((one) => { one.classList.remove("is-wide"); one.style.fontSize = ""; });
  const wide = formulas.filter(tooWide).map((one) => ({ one, room: one.clientWidth }));
  meanwhile?.();
  for (const { one, room } of wide) {
    one.classList.add("is-wide");
    one.style.setProperty("--ep-room", `${room - 12}px`);
  }
  const still = wide.map(({ one, room }) => ({ one, scale: Math.max(0.78, room / one.scrollWidth) }))
    .filter(({ scale }) => scale < 1);
  still.forEach(({ one, scale }) => { one.style.fontSize = `${scale}em`; });
  nextFrame(() => {
    const scrolled = new Set(formulas.filter((one) => one.scrollWidth > one.clientWidth));
    formulas.forEach((one) => setAttribute(one, "tabindex", scrolled.has(one) ? "0" : null));
  });
}

/** Figures behind a segmented control: all in one cell of fixed height, one in sight. */
function figuresView(store, plotly) {
  const figures = (store.spec.figures ?? []).filter((one) => one.place !== "page");
  if (!figures.length) return null;
  let chosen = 0;
  const single = figures.length === 1;
  const tabs = figures.map((one) => button("ep-tab", one.title, { role: "tab", id: uid("ep-tab") }));
  const panes = figures.map((one, i) => h("figure", {
    class: "estimate-figure ep-pane", "data-figure": one.id, id: uid("ep-pane"),
    ...(single ? {} : { role: "tabpanel", "aria-labelledby": tabs[i].id }),
  }));
  const views = figures.map((one, i) => mountFigure(panes[i], one, store, { plotly, isShown: () => chosen === i }));
  const choose = (index, focus) => {
    chosen = (index + figures.length) % figures.length;
    figures.forEach((_, i) => {
      tabs[i].setAttribute("aria-selected", String(i === chosen));
      tabs[i].tabIndex = i === chosen ? 0 : -1;
      panes[i].classList.toggle("is-off", i !== chosen);
      panes[i].inert = i !== chosen;
    });
    if (focus) tabs[chosen].focus();
    views[chosen].show();
  };
  tabs.forEach((tab, i) => {
    tab.setAttribute("aria-controls", panes[i].id);
    tab.addEventListener("click", () => choose(i));
    tab.addEventListener("keydown", ({ key }) => {
      const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: figures.length - 1 }[key];
      if (to !== undefined) choose(to, true);
    });
  });
  choose(0);
  const bar = single ? h("p", { class: "ep-heading" }, figures[0].title)
    : h("div", { class: "ep-tabs", role: "tablist", "aria-label": store.strings.figures }, ...tabs);
  return {
    node: h("div", { class: "ep-figures" }, bar, h("div", { class: "ep-panes" }, ...panes)),
    dispose: () => views.forEach((one) => one.dispose()),
  };
}

// ------------------------------------------------------------------------------------ header

/** The estimate's call with the assumptions that differ from their defaults. */
export function pythonCall(store) {
  const given = store.changed().map(({ name }) => `${name}=${store.values[name]}`).join(", ");
  return `from widgets import load\n\nresult = load("${store.spec.name}")(${given})\n`;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = h("textarea", { class: "ep-hidden", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    if (!done) throw new Error("copy");
  }
}

function copyButton(label, strings, text, announce) {
  const words = new Text(label);
  const node = button("ep-button", words);
  let timer = 0;
  node.addEventListener("click", async () => {
    const said = await copy(text()).then(() => strings.copied, () => strings.copy_failed);
    node.style.minWidth ||= `${node.offsetWidth}px`;
    setText(words, said);
    announce(said);
    clearTimeout(timer);
    timer = setTimeout(() => setText(words, label), 1600);
  });
  return node;
}

function presetView(store, move) {
  const { presets = [] } = store.spec;
  if (store.spec.compact || presets.length < 2) return null;
  const custom = h("option", { value: "", hidden: true }, store.strings.custom);
  const select = h("select", { class: "ep-select", "aria-label": store.strings.preset }, custom,
    ...presets.map((one) => h("option", { value: one.key }, one.label)));
  const text = new Text();
  const link = h("a", {}, store.strings.source);
  const note = h("p", { class: "ep-preset-note", hidden: true }, text, " ", link);
  const valuesOf = (preset) => ({ ...store.defaults, ...preset.values });
  let last = presets[0];
  select.addEventListener("change", () => {
    const preset = presets.find((one) => one.key === select.value);
    if (preset) move(valuesOf(preset));
  });
  return {
    select, note,
    update() {
      const current = ([name, value]) => store.values[name] === value;
      const match = presets.find((one) => Object.entries(valuesOf(one)).every(current));
      select.value = match?.key ?? "";
      last = match ?? last; // the note stays while the reader moves on from a preset
      note.hidden = !last.note;
      setText(text, fillTemplate(last.note ?? "", store));
      link.hidden = !last.href;
      if (last.href) setAttribute(link, "href", last.href);
    },
  };
}

function headerView(store, { move, link, announce, titleId }) {
  const { strings, spec } = store;
  const preset = presetView(store, move);
  const reset = button("ep-button", strings.reset);
  reset.addEventListener("click", () => move(store.defaults));
  const node = h("div", { class: "ep-header" },
    h("p", { class: "ep-title", id: titleId }, spec.title),
    h("div", { class: "ep-actions" }, preset?.select, reset,
      link && !spec.compact ? copyButton(strings.copy_link, strings, link, announce) : null,
      spec.compact ? null : copyButton(strings.copy_python, strings, () => pythonCall(store), announce)));
  return {
    node, note: preset?.note,
    update() {
      preset?.update();
      reset.disabled = !store.changed().length;
    },
  };
}

// ------------------------------------------------------------------------------------- panel

const SIDE_BY_SIDE_PX = 620;

/** Whether assumptions and results are too unequal to stand side by side, as they are laid out. */
function unequal(columns) {
  columns.style.alignItems = "start";
  const [left, right] = [...columns.children].map((one) => one.offsetHeight);
  columns.style.alignItems = "";
  return right < 0.75 * left || left < 0.75 * right;
}

const textWidth = (text) => [...text].reduce((sum, char) => sum + (char > "\u2e80" ? 2 : 1), 0);
const widest = (texts) => Math.min(9, Math.max(0, ...texts.map(textWidth)));

/**
 * Build the panel inside `root` (a `section.estimate-panel`) and keep it in step with the store.
 * options: move(changes) carries out the reader's wish; plotly() resolves to Plotly;
 * link() gives the address to copy; announce(text) speaks politely; anchors: give rows an id.
 */
export function mountPanel(root, store, options = {}) {
  const { spec } = store;
  const live = h("p", { class: "ep-hidden", role: "status" });
  const announce = options.announce ?? ((text) => setText(live, text));
  const move = options.move ?? ((changes) => store.setMany(changes));
  const titleId = uid("ep-title");
  const anchor = (kind) => (options.anchors ? `${kind}-${spec.name.replaceAll(".", "-")}` : null);
  const header = headerView(store, { move, link: options.link, announce, titleId });
  const heads = spec.compact ? null : headlineView(store);
  const verdicts = verdictView(store);
  const controls = controlsView(store, { anchor: anchor("assumption"), move });
  const results = resultsView(store, anchor("result"));
  const figures = figuresView(store, options.plotly ?? (() => Promise.reject()));
  const slot = h("div", { class: "ep-slot" }, controls.node);
  const columns = h("div", { class: "ep-columns" }, slot, results.node);
  const card = h("div", { class: "ep-card" }, header.node, header.note, heads?.node, verdicts.node,
    columns, figures?.node, options.announce ? null : live);
  const body = h("div", { class: "ep" }, card);
  root.classList.toggle("is-compact", Boolean(spec.compact));
  const boxUnits = spec.assumptions.map((one) => one.box.unit);
  const units = spec.results.flatMap((one) => one.display?.ladder?.map((step) => step[1]) ?? []);
  controls.node.style.setProperty("--ep-box-unit", `${widest(boxUnits)}ch`);
  results.node.style.setProperty("--ep-unit", `${widest(units)}ch`);
  setAttribute(root, "aria-labelledby", titleId);
  const views = [header, heads, verdicts, controls, results].filter(Boolean);
  const update = () => views.forEach((view) => view.update());
  update();
  root.prepend(body);
  root.classList.add("is-mounted");
  let measured = false;
  const fit = () => {
    if (!measured && columns.clientWidth >= SIDE_BY_SIDE_PX) {
      measured = true;
      root.classList.toggle("is-stacked", unequal(columns));
    }
    results.fit(fitLabels(controls.node));
  };
  nextFrame(fit); // before the next paint, but after the sliders respond
  const size = new ResizeObserver(() => nextFrame(fit));
  for (const node of [controls.node, results.node]) size.observe(node);
  const unsubscribe = store.subscribe(update);
  return () => {
    unsubscribe();
    size.disconnect();
    figures?.dispose();
    body.remove();
    root.classList.remove("is-mounted");
  };
}

/**
 * A label too long to stand beside its value takes the line; the value joins the slider. When
 * that befalls many rows, all follow, so that the values stay in one column.
 */
function fitLabels(controls) {
  const rows = [...controls.querySelectorAll(".ep-row")];
  rows.forEach((row) => row.classList.remove("is-long"));
  return () => {
    const long = rows.filter((row) => row.firstChild.scrollWidth > row.firstChild.clientWidth + 1);
    (long.length > rows.length / 4 ? rows : long).forEach((row) => row.classList.add("is-long"));
  };
}

// --------------------------------------------------------------------------------- anywidget

const kernelPlotly = new WeakMap();

/** Plotly from the kernel, asked for once: the bundle comes as the reply's buffer. */
function plotlyFromKernel(model) {
  if (globalThis.Plotly?.newPlot) return Promise.resolve(globalThis.Plotly);
  if (!kernelPlotly.has(model)) {
    kernelPlotly.set(model, new Promise((resolve, reject) => {
      model.on("msg:custom", (content, buffers) => {
        if (content?.type !== "plotly" || globalThis.Plotly?.newPlot) return;
        const bundle = new Blob([buffers[0]], { type: "text/javascript" });
        const script = h("script", { src: URL.createObjectURL(bundle) });
        script.onload = () => resolve(globalThis.Plotly);
        script.onerror = reject;
        document.head.append(script);
      });
      model.send({ type: "plotly" });
    }));
  }
  return kernelPlotly.get(model);
}

/** Tie a store to a kernel's traits: the reader's moves go out, the kernel's come in. */
function followKernel(model, store) {
  const names = [...store.assumptions.keys()];
  let timer = 0;
  const push = () => { timer = 0; model.save_changes(); };
  const move = (changes) => {
    store.setMany(changes);
    for (const name of Object.keys(changes)) {
      if (model.get(name) !== store.values[name]) model.set(name, store.values[name]);
    }
    timer ||= setTimeout(push, 40); // a drag sends at most 25 states a second, the last one always
  };
  const follow = names.map((name) => [`change:${name}`, () => store.set(name, model.get(name))]);
  follow.forEach(([event, listener]) => model.on(event, listener));
  for (const name of names) store.set(name, model.get(name));
  return { move, stop: () => follow.forEach(([event, listener]) => model.off(event, listener)) };
}

/** anywidget's entry. On the page `model.store` is there already, and nothing is sent anywhere. */
async function render({ model, el }) {
  const store = model.store ?? createStore(model.get("spec"));
  const onPage = Boolean(model.store);
  const kernel = onPage ? null : followKernel(model, store);
  const section = () => h("section", { class: "estimate-panel", "data-estimate": store.spec.name });
  const root = onPage ? el : el.appendChild(section());
  const unmount = mountPanel(root, store, {
    move: kernel?.move,
    plotly: () => (model.plotly ? model.plotly() : plotlyFromKernel(model)),
    link: model.link, announce: model.announce, anchors: onPage,
  });
  return () => { kernel?.stop(); unmount(); };
}

const FALLBACK_STRINGS = {
  yes: "yes", no: "no", default_value: "Default: {value}", default_was: "default: {value}",
  against_default: "{change} against default", as_default: "as by default",
  group_workload: "Workload", group_model: "Model", group_hardware: "Hardware",
  group_targets: "Targets", group_method: "Method",
  preset: "Preset", custom: "Your values", reset: "Reset", copy_link: "Copy link",
  copy_python: "Copy as Python", copied: "Copied ✓", copy_failed: "Could not copy",
  results: "Results", with_numbers: "With today’s numbers", more_results: "More results",
  figures: "Figures", assumptions: "Assumptions", value_of: "{label}, value",
  range: "Default {default}; from {low} to {high}.", derived: "Derived: {value}", use_it: "Use it",
  too_low: "The lowest value is {value}.", too_high: "The highest value is {value}.",
  whole: "Whole numbers only.", not_a_number: "That is not a number.",
  source: "Source", source_row: "From the data tables", source_rounded: "Rounded from the data tables",
  source_given: "Given by the problem", source_judgement: "Judgement",
  kind_and_text: "{kind}: {text}",
  consistent: "The assumptions agree with each other.",
  figure_failed: "The figure could not be drawn.", in_drawer: "The assumptions are open beside the text.",
  explanation: "Explanation", what_if: "If", dock: "Results in short", close: "Close",
  show_in_panel: "Show in the panel",
  today: "With today’s numbers", notices: "Notices", dismiss: "Dismiss",
  address_unknown: "The address names “{name}”, which this page does not have; it was ignored.",
  address_number: "The address gives “{name}” something that is not a number; it was ignored.",
  address_clamped: "The address gives “{name}” a value out of range; {value} is used.",
};

export default { render };
