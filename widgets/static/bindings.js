/** Bindings: where a figure's JSON takes its numbers, texts and colours from. */
import { h } from "./dom.js";
import { fillTemplate } from "./store.js";

const COLOR_NAMES = {
  text: "--ep-fg", muted: "--ep-mut", grid: "--ep-line", accent: "--ep-acc", bad: "--ep-bad",
  background: "--ep-bg", card: "--ep-card", b: "--ep-b",
};

export const roleVariable = (role) => `var(${COLOR_NAMES[role] ?? `--ep-role-${role}`})`;

/** The colour of a role in the theme in force, as rgb() or rgba(). */
export function roleColor(host, role, alpha = 1) {
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

/** Sweeps of one render, shared between bindings that go over the same points. */
function sweepCache(store) {
  const cache = new Map();
  return (b) => {
    const from = b.scenario === "b" ? store.b?.values : store.values;
    if (!from) return b.at.map(() => ({}));
    const id = JSON.stringify([b.scenario, b.over, b.at, b.with]);
    if (!cache.has(id)) {
      const values = store.override(b.with, from);
      cache.set(id, b.at.map((x) => {
        const moved = { ...values, [b.over]: x };
        return { ...moved, ...store.evaluateAt(moved) };
      }));
    }
    return cache.get(id);
  };
}

const readers = {
  value: (b, { store }) => scaled(store.value(b.of), b.scale),
  // The ring: what today's point is compared with, the default or scenario B.
  default: (b, { store: { reference } }) => scaled({ ...reference.values, ...reference.results }[b.of], b.scale),
  sweep: (b, { sweep }) => sweep(b).map((point) => scaled(point[b.of], b.scale)),
  cases: (b, { store }) =>
    b.with.map((one) => {
      const values = store.override(one);
      return scaled({ ...values, ...store.evaluateAt(values) }[b.of], b.scale);
    }),
  series: (b, env) => {
    env.series ??= env.store.series(env.store.values);
    return (env.series[b.of] ?? []).map((value) => scaled(value, b.scale));
  },
  text: (b, { store }) => (b.before ?? "") + fillTemplate(b.template, store) + (b.after ?? ""),
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
export function compileFigure(source) {
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
export function readBindings(figure, store, color) {
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
