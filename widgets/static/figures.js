/** Figures: Plotly figures and diagrams that follow a store. */
import { compileFigure, readBindings, roleColor, roleVariable } from "./bindings.js";
import { h, nextFrame, setAttribute, setText } from "./dom.js";
import { nearestStop, fillTemplate } from "./store.js";

const NARROW_PX = 560, DIRECT_PX = 330; // a diagram stands upright below; lines in a panel are labelled above
const SMALL_PX = 220; // a plot not higher than this has small type and narrow margins

const themeListeners = new Set();
let themeObserver = null;

export function onTheme(listener) {
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

/** A figure's source with what scenario B adds: ghosts of its lines, and the ring in B's colour. */
function withScenarioB(source) {
  const ghosts = (source.data ?? []).filter((one) => one.meta?.kind === "line" && one.y?.$ === "sweep").map((one) => ({
    ...one, y: { ...one.y, scenario: "b" }, meta: { kind: "ghost-line" }, fill: "none",
    line: { ...one.line, color: { $: "color", role: roleOf(one) ?? "b", alpha: 0.55 }, width: 1.5, dash: "dot" },
  }));
  const data = source.data.map((one) => (one.meta?.kind === "ghost"
    ? { ...one, marker: { ...one.marker, color: { $: "color", role: "b", alpha: 1 }, line: { width: 2 } } } : one));
  return { ...source, data: [...data, ...ghosts] };
}

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
    /** The same labels as Plotly annotations, for a picture of the figure. */
    asAnnotations(data) {
      const { xaxis, yaxis } = plot._fullLayout ?? {};
      if (!xaxis?.d2p || !yaxis?.d2p) return [];
      const size = { showarrow: false, font: { size: 12.5 } };
      const marks = ends.filter((one) => !one.node.hidden).map((one) => ({
        ...size, text: one.node.textContent, x: 1, xref: "paper", xanchor: "left", xshift: 8, yref: "paper",
        y: 1 - (one.middle - yaxis._offset) / yaxis._length, yanchor: "middle",
        font: { ...size.font, color: getComputedStyle(one.node).color },
      }));
      if (here && !here.node.hidden) {
        const { x: [x], y: [y] } = data[here.index];
        marks.push({
          ...size, text: here.node.textContent, xref: "paper", yref: "paper", xanchor: "right", yanchor: "bottom",
          x: xaxis.d2p(x) / xaxis._length, y: 1 - yaxis.d2p(y) / yaxis._length, xshift: -8, yshift: 4,
        });
      }
      return marks;
    },
    place(data) {
      const { xaxis, yaxis } = plot._fullLayout;
      if (!xaxis?.d2p || !yaxis?.d2p) return;
      layer.style.top = `${plot.offsetTop}px`;
      layer.style.left = `${plot.offsetLeft}px`;
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

/** Every other tick of an axis that has too many for its height. */
function fewTicks({ type, tickvals, ticktext }) {
  if (type !== "log" || !ticktext || tickvals.length <= 5) return {};
  const even = (_, i) => i % 2 === 0;
  return { tickvals: tickvals.filter(even), ticktext: ticktext.filter(even) };
}

/** The y axis' title stands above the plot, where it can be read without turning the head. */
function titleAbove(layout, small) {
  const text = layout.yaxis?.title?.text;
  const type = { size: small ? 11.5 : 12.5 };
  const axes = Object.fromEntries(["xaxis", "yaxis"].filter((key) => layout[key]).map((key) => [key, {
    ...layout[key], ...(small && key === "yaxis" ? fewTicks(layout[key]) : {}), tickfont: type,
    title: key === "yaxis" ? undefined : { ...layout.xaxis.title, standoff: small ? 2 : 8, font: type },
  }]));
  if (!text) return { ...layout, ...axes };
  const title = {
    text, x: 0, xref: "paper", xanchor: "left", xshift: -layout.margin.l + 6, y: 1, yref: "paper",
    yanchor: "bottom", yshift: small ? 3 : 7, showarrow: false, font: { size: small ? 11.5 : 12.5 },
  };
  return { ...layout, ...axes, annotations: [...(layout.annotations ?? []), title] };
}

/** Room around the plot: what the figure asks for, or little where the plot is small. */
function margins({ l = 62, r = 20, t = 20, b = 50 }, room, small, kind) {
  if (kind === "diagram") return { l, r, t, b };
  const left = l > 70 ? l : small ? 46 : 54; // more than the usual was asked for long names
  return small ? { l: left, r: Math.max(8, room), t: 20, b: 34 } : { l: left, r: Math.max(r, room), t: 30, b };
}

/** The words of a category in lines of at most `most` characters. */
function inLines(text, most) {
  const lines = [];
  for (const word of text.split(/<br>|\s+/)) {
    const last = lines.at(-1);
    if (last !== undefined && textWidth(last) + 1 + textWidth(word) <= most) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

const textWidth = (text) => [...text].reduce((sum, char) => sum + (char > "\u2e80" ? 2 : 1), 0);

/** Names of categories stand level under their bars, in as many lines as they need. */
function levelCategories(layout, width, small) {
  const { xaxis, margin } = layout, names = xaxis?.type === "category" ? xaxis.tickvals ?? [] : [];
  if (!names.length) return layout;
  const size = small || names.length > 5 ? 11 : 12.5, wide = (width - margin.l - margin.r) / names.length;
  const lines = names.map((name) => inLines(name, Math.max(4, Math.floor(wide / (size * 0.56)))));
  const most = Math.max(...lines.map((one) => one.length)), tall = most * size * 1.3;
  const title = small ? undefined : xaxis.title; // where room is scarce the names say enough
  return {
    ...layout, margin: { ...margin, b: Math.round(tall + (title ? 32 : 10)) },
    xaxis: { ...xaxis, title, tickangle: 0, tickfont: { size }, ticktext: lines.map((one) => one.join("<br>")) },
  };
}

/**
 * Keep one figure in step with the store. `host` is a `figure.estimate-figure`, whose
 * `.estimate-plot` and `figcaption` are used when they are there. `plotly()` resolves to Plotly;
 * nothing is drawn while the figure is out of sight or `isShown()` is false. A figure over an
 * assumption is a handle too: dragged in sideways, it asks `move` for that assumption's stops.
 */
export function mountFigure(host, figure, store, { plotly, isShown = () => true, move = null, inPanel = false }) {
  const plot = host.querySelector(".estimate-plot") ?? host.appendChild(h("div", { class: "estimate-plot" }));
  const caption = host.querySelector("figcaption") ?? host.appendChild(h("figcaption"));
  setAttribute(plot, "role", "img");
  if (!inPanel) {
    host.style.setProperty("--height", `${figure.height}px`);
    host.style.setProperty("--narrow-height", `${figure.narrow_height ?? figure.height}px`);
  }
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
  const pick = (width) => (width < NARROW_PX && figure.narrow && !inPanel ? "narrow" : "wide");
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
    const variant = pick(width), small = plot.clientHeight <= SMALL_PX;
    const source = store.b ? withScenarioB(figure[variant]) : figure[variant];
    const compiled = compileFigure(source);
    readBindings(compiled, store, color);
    const room = labels.prepare(figure[variant], width, width >= (inPanel ? DIRECT_PX : NARROW_PX));
    compiled.layout.margin = margins(compiled.layout.margin ?? {}, room, small, figure.kind);
    compiled.layout = base(figure.kind === "diagram" ? compiled.layout
      : levelCategories(titleAbove(compiled.layout, small), width, small), width);
    for (const trace of compiled.data) if (trace.meta?.kind === "here") trace.mode = "markers";
    // Bound leaves of the top levels of the layout were copied: point them at the new objects.
    for (const one of compiled.bound) {
      if (one.path[0] === "layout" && one.path.length <= 3) {
        one.parent = one.path.slice(1, -1).reduce((node, key) => node[key], compiled.layout);
      }
    }
    drawn = { ...compiled, variant, width, height: plot.clientHeight, withB: Boolean(store.b), fixed: fixedAxes(compiled.layout) };
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
    const whole = !drawn || drawn.variant !== pick(width) || drawn.withB !== Boolean(store.b);
    const wider = !whole && (drawn.width !== width || drawn.height !== plot.clientHeight);
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
  if (move && figure.over) makeHandle(plot, figure, store, move);
  const unsubscribe = store.subscribe(() => { stale = true; soon(); });
  const untheme = onTheme(() => { drawn = null; colors.clear(); nextFrame(draw); });
  speak();
  return {
    show: () => nextFrame(draw),
    /** The figure as a data address ("svg" or "png"), with the labels that the page writes over it. */
    async image(format) {
      Plotly ??= await plotly();
      if (!drawn) drawWhole(Math.floor(plot.clientWidth) || 640);
      const { width } = drawn.layout, height = plot.clientHeight || figure.height;
      const annotations = [...(drawn.layout.annotations ?? []), ...labels.asAnnotations(drawn.data)];
      const layout = { ...drawn.layout, annotations, paper_bgcolor: color("background"), width, height };
      return Plotly.toImage({ data: drawn.data, layout }, { format, width, height, scale: format === "png" ? 2 : 1 });
    },
    dispose() {
      sight.disconnect(); size.disconnect(); unsubscribe(); untheme();
      if (Plotly) Plotly.purge(plot);
    },
  };
}

/**
 * Drag sideways in a plot and the assumption on its x axis follows, stop by stop. The scale
 * between axis and base units is that of the current point's own binding.
 */
function makeHandle(plot, figure, store, move) {
  const here = figure.wide.data.find((one) => one.meta?.kind === "here" && one.x?.[0]?.of === figure.over);
  const assumption = store.assumptions.get(figure.over);
  if (!here || !assumption) return;
  const scale = here.x[0].scale ?? 1;
  const follow = (event) => {
    const axis = plot._fullLayout?.xaxis;
    if (!axis?.p2d) return;
    const pixel = event.clientX - plot.getBoundingClientRect().left - axis._offset;
    const value = axis.p2d(Math.max(0, Math.min(axis._length, pixel))) * scale;
    if (Number.isFinite(value)) move({ [figure.over]: assumption.stops[nearestStop(assumption, Math.max(assumption.low, value))] });
  };
  plot.classList.add("is-handle");
  plot.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    plot.setPointerCapture(event.pointerId);
    follow(event);
  });
  plot.addEventListener("pointermove", (event) => { if (plot.hasPointerCapture(event.pointerId)) follow(event); });
}
