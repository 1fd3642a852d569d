/**
 * The store of an estimate: scenario A (what the sliders say), scenario B (pinned, or none), and
 * what was before and after. Every change evaluates at once and calls every listener.
 */
import { place } from "./analysis.js";
import { debounced, whenIdle } from "./dom.js";
import { clean, formatParts } from "./format.js";

const STEP_MS = 1000; // moves of one slider within it are one step to undo
const MOST_STEPS = 200;
const IDLE_TRIES = 6;

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
  const whole = scale === "integer" ? Math.round(number) : clean(number);
  return { value: whole, reason: scale === "integer" && whole !== number ? "whole" : null };
}

const placesOf = (assumption) => (assumption.places ??= assumption.stops.map((stop) => place(assumption, stop)));

/** Index of the stop nearest to a value on the slider's own scale, as the thumb would snap. */
export function nearestStop(assumption, value) {
  const places = placesOf(assumption), here = place(assumption, value);
  let low = 0, high = places.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (places[middle] <= here) low = middle; else high = middle;
  }
  return here - places[low] <= places[high] - here ? low : high;
}

/** Assumptions that move no result at `values`, wherever they stand in their range. */
function idleNames(spec, values, run) {
  const now = JSON.stringify(run(values)); // a conflict with another assumption is no result
  const moves = (one) => {
    for (let i = 0; i <= IDLE_TRIES; i++) {
      const tried = one.stops[Math.round((i / IDLE_TRIES) * (one.stops.length - 1))];
      const moved = { ...values, [one.name]: tried };
      if (tried !== values[one.name] && JSON.stringify(run(moved)) !== now) return true;
    }
    return false;
  };
  return new Set(spec.assumptions.filter((one) => !moves(one)).map((one) => one.name));
}

/**
 * Make a store from a spec and the estimate's functions ({evaluate, constraints, series, held}).
 * `bind(node, draw)` calls draw(node) now and after each change, for as long as it is in the page.
 */
export function createStore(spec, module) {
  const run = guarded(spec.name, (values) => module.evaluate(values), {});
  const check = guarded(spec.name, (values) => module.constraints?.(values), {});
  const entries = new Map([...spec.results, ...spec.assumptions].map((one) => [one.name, one]));
  const assumptions = new Map(spec.assumptions.map((one) => [one.name, one]));
  const defaults = Object.fromEntries(spec.assumptions.map((one) => [one.name, one.default]));
  const scenario = (values) => ({ values, results: run(values) });
  const standard = scenario(defaults);
  const listeners = new Set(), bound = new Set();
  const past = [], future = [];
  let last = { key: null, at: 0 };

  const snapshot = () => ({ values: store.values, b: store.b });
  const remember = (key) => {
    const now = performance.now();
    if (key === null || key !== last.key || now - last.at > STEP_MS) {
      past.push(snapshot());
      if (past.length > MOST_STEPS) past.shift();
      future.length = 0;
    }
    last = { key, at: now };
  };
  const draw = () => {
    for (const item of bound) {
      if (item.node.isConnected) item.seen = true;
      else if (item.seen) { bound.delete(item); continue; }
      item.draw(item.node);
    }
  };
  const settle = (values, b) => {
    store.values = values;
    store.results = values === defaults ? standard.results : run(values);
    store.held = check(values);
    store.b = b;
    store.reference = b ?? standard;
    for (const listener of listeners) listener(store);
    draw();
    findIdle();
  };
  const findIdle = debounced(() => whenIdle(() => {
    store.idle = idleNames(spec, store.values, run);
    draw();
  }), 300);
  const travel = (from, to) => {
    if (!from.length) return;
    to.push(snapshot());
    const { values, b } = from.pop();
    last.key = null;
    settle(values, b);
  };

  const store = {
    spec, module, defaults, assumptions, strings: spec.strings,
    values: defaults, results: standard.results, held: check(defaults), idle: new Set(),
    b: null, reference: standard, standard,
    entry: (name) => entries.get(name),
    value: (name) => (assumptions.has(name) ? store.values[name] : store.results[name]),
    series: guarded(spec.name, (values) => module.series?.(values), {}),
    changed: () => spec.assumptions.filter((one) => store.values[one.name] !== one.default),
    /** Assumptions in which A differs from B, or from the defaults. */
    differing: () => spec.assumptions.filter((one) => store.values[one.name] !== store.reference.values[one.name]),
    canUndo: () => past.length > 0,
    canRedo: () => future.length > 0,
    undo: () => travel(past, future),
    redo: () => travel(future, past),
    /** Set some assumptions; returns what became of each, see `normalise`. */
    setMany(changes, key = Object.keys(changes).join()) {
      const outcome = {}, values = { ...store.values };
      let moved = false;
      for (const [name, raw] of Object.entries(changes)) {
        if (!assumptions.has(name)) continue;
        outcome[name] = normalise(assumptions.get(name), raw);
        const { value } = outcome[name];
        if (value === null || value === values[name]) continue;
        values[name] = value;
        moved = true;
      }
      if (!moved) return outcome;
      remember(key);
      settle(values, store.b);
      return outcome;
    },
    set: (name, raw) => store.setMany({ [name]: raw })[name],
    /** Keep a scenario as B (today's, unless another is given); null lets it go. */
    pin(values = store.values) {
      remember(null);
      settle(store.values, values && scenario({ ...defaults, ...values }));
    },
    swap() {
      if (!store.b) return;
      remember(null);
      settle(store.b.values, scenario(store.values));
    },
    /** What an address says, without a step to undo. */
    restore(values, b) {
      settle({ ...defaults, ...values }, b && scenario({ ...defaults, ...b }));
    },
    /** Values with some replaced (number) or scaled ("*3"), clamped to the ranges. */
    override(overrides, from = store.values) {
      const values = { ...from };
      for (const [name, change] of Object.entries(overrides ?? {})) {
        const one = assumptions.get(name);
        if (!one) continue;
        const scaled = typeof change === "string" && change.startsWith("*");
        const wanted = scaled ? values[name] * Number(change.slice(1)) : Number(change);
        if (Number.isFinite(wanted)) values[name] = Math.min(one.high, Math.max(one.low, wanted));
      }
      return values;
    },
    evaluate: (overrides) => run(store.override(overrides)),
    evaluateAt: run,
    findIdle,
    redraw: draw,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    bind(node, job) {
      bound.add({ node, draw: job, seen: false });
      job(node);
      return node;
    },
  };
  return store;
}

// ----------------------------------------------------------------------------- values as texts

/** Number and unit of an assumption or a result in a scenario, its limits regarded. */
export function partsOf(store, name, at = store) {
  const entry = store.entry(name), { values, results } = at;
  const value = name in values ? values[name] : results[name];
  if (typeof value === "boolean") return { number: store.strings[value ? "yes" : "no"], unit: "" };
  if (entry.none && value === 0) return { number: entry.none, unit: "" };
  if (entry.words?.length) return { number: entry.words[value - 1], unit: "" };
  const limits = (store.spec.limits[name] ?? [])
    .map((one) => (typeof one === "string" ? values[one] ?? results[one] : one))
    .filter((one) => typeof one === "number");
  return formatParts(entry.display, value, limits);
}

/** The same as it stands in a sentence; style: "" (bare counts without unit), "number", "noun". */
export function textOf(store, name, style = "", at = store) {
  const { number, unit } = partsOf(store, name, at);
  return style === "number" || (store.entry(name).display.bare && style !== "noun") ? number : number + unit;
}

/** With its unit, as it stands alone. */
export const fullText = (store, name, at = store) => {
  const { number, unit } = partsOf(store, name, at);
  return number + unit;
};

/** Any value of an assumption with its unit. */
export function valueText(assumption, value) {
  const { number, unit } = formatParts(assumption.display, value);
  return number + unit;
}

/** Fill `{name}`, `{name:number}` and `{name:noun}` from a scenario. */
export function fillTemplate(template, store, at = store) {
  return template.replace(/\{(\w+)(?::(number|noun))?\}/g, (whole, name, style) =>
    (store.entry(name) ? textOf(store, name, style, at) : whole));
}
