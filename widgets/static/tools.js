/** What matters most, how sure, solve for: what a reader does with a model of numbers. */
import { DRAWS, quantile, sensitivity, solve } from "./analysis.js";
import { button, calm, debounced, fillWord, h, setAttribute, setText } from "./dom.js";
import { draw } from "./draws.js";
import { boxText, formatParts, grouped } from "./format.js";
import { headlines, isGood, resultsList, verdictsOf } from "./results.js";
import { partsOf, valueText } from "./store.js";
import { readTyped } from "./typed.js";

const ROWS = 10, BINS = 36, NOISE = 1e-9; // what moves a result by less does not move it
const REDRAW_MS = 120; // slow draws wait until the slider rests

/** A result's number and unit at some value, its limits regarded as today's number has them. */
function partsAt(store, entry, value) {
  return partsOf(store, entry.name, { values: store.values, results: { ...store.results, [entry.name]: value } });
}

/** The number alone where its unit is a word apart, which the label says already. */
function shortText(store, entry, value) {
  const { number, unit } = partsAt(store, entry, value);
  return entry.display.attach || entry.display.ladder.length > 1 ? number + unit : number;
}

const resultText = (store, entry, value) => Object.values(partsAt(store, entry, value)).join("");

/** An assumption's value as its box has it, with few digits and, where asked, its unit. */
function inputText(one, value, withUnit = true) {
  const text = boxText(one, Number(value.toPrecision(one.scale === "integer" ? 12 : 4)));
  return withUnit && one.box.short ? (one.box.short === "$" ? `$${text}` : `${text} ${one.box.short}`) : text;
}

/** One of a few: which result a tool is about. */
function choice(store, label, entries, now, pick) {
  const node = h("div", { class: "ep-choice", role: "group", "aria-label": label });
  for (const one of entries) node.append(button("", one.short || one.label, () => { pick(one); mark(); }, { "data-value": one.name }));
  const mark = () => { for (const one of node.children) setAttribute(one, "aria-pressed", String(one.dataset.value === now().name)); };
  mark();
  return node;
}

// ----------------------------------------------------------------------------- what matters most

function tornadoRow(store, entry, found, at, now) {
  const { one, low, high, atLow, atHigh } = found;
  const bar = (from, to, kind) => h("i", { class: kind, style: `left:${Math.min(at(from), at(to))}%;width:${Math.abs(at(to) - at(from))}%` });
  const ends = [[atLow, low], [atHigh, high]].sort((a, b) => a[0] - b[0]);
  return { key: one.name, make: (bring) => h("div", { class: "ep-tornado-row" },
    button("ep-label", one.short || one.label, () => bring(one.name), { title: store.strings.show_slider, "data-bring": one.name }),
    h("span", { class: "ep-muted ep-range" }, `${inputText(one, low, false)} – ${inputText(one, high)}`),
    h("span", { class: "ep-bars" }, bar(now, atLow, "is-low"), bar(now, atHigh, "is-high"),
      ...ends.map(([value], i) => h("span", { class: i ? "ep-end-high" : "ep-end-low", style: `left:${at(i ? Math.max(value, now) : Math.min(value, now))}%` }, shortText(store, entry, value))))) };
}

function tornado(store, { bring }) {
  const { strings } = store, entries = headlines(store).filter((one) => one.kind === "number");
  let entry = entries[0];
  const rows = h("div", { class: "ep-tornado", "data-tornado": "" });
  const fill = () => {
    const all = sensitivity(store.spec, store.evaluateAt, store.values, entry.name), now = store.results[entry.name];
    const moves = (one) => one.spread > NOISE * Math.max(Math.abs(one.atLow), Math.abs(one.atHigh));
    const found = all.filter(moves).slice(0, ROWS);
    const points = [now, ...found.flatMap((one) => [one.atLow, one.atHigh])];
    const low = Math.min(...points), high = Math.max(...points), pad = (high - low) * 0.2 || 1;
    const at = (value) => ((value - low + pad) / (high - low + 2 * pad)) * 100;
    const focused = rows.contains(document.activeElement) ? document.activeElement.dataset.bring : null;
    rows.style.setProperty("--now", `${at(now)}%`);
    const still = all.filter((one) => !moves(one)).length;
    rows.replaceChildren(...found.map((one) => tornadoRow(store, entry, one, at, now).make(bring)),
      h("p", { class: "ep-muted ep-tornado-foot" }, h("span", { class: "ep-legend is-low" }, strings.low_value),
        h("span", { class: "ep-legend is-high" }, strings.high_value),
        fillWord(strings.tornado_foot, { value: resultText(store, entry, now), n: still })));
    if (focused) rows.querySelector(`[data-bring="${focused}"]`)?.focus({ preventScroll: true });
  };
  const head = h("div", { class: "ep-tool-head" },
    choice(store, strings.result, entries, () => entry, (one) => { entry = one; fill(); }), h("p", { class: "ep-muted" }, strings.tornado_note));
  store.bind(rows, fill);
  return h("div", {}, head, rows);
}

// -------------------------------------------------------------------------------------- how sure

function histogram(sorted, low, high, now, bins = BINS) {
  const [from, to] = [quantile(sorted, 0.005), quantile(sorted, 0.995)], wide = to - from || 1;
  const counts = new Array(bins).fill(0), at = (value) => Math.max(0, Math.min(1, (value - from) / wide));
  for (const value of sorted) if (value >= from && value <= to) counts[Math.min(bins - 1, Math.floor(at(value) * bins))]++;
  const most = Math.max(...counts);
  const bars = counts.map((count, i) => {
    const inside = (i + 0.5) / bins >= at(low) && (i + 0.5) / bins <= at(high), tall = (40 * count) / most;
    return `<rect x="${((i * 100) / bins).toFixed(2)}" y="${(40 - tall).toFixed(2)}" width="2.4" height="${tall.toFixed(2)}"${inside ? ' class="is-in"' : ""}/>`;
  });
  const node = h("div", { class: "ep-histogram", "aria-hidden": "true" });
  node.innerHTML = `<svg viewBox="0 0 100 41" preserveAspectRatio="none">${bars.join("")}<path d="M${(at(now) * 100).toFixed(2)} 0V41" vector-effect="non-scaling-stroke"/></svg>`;
  return node;
}

function sureCell(store, entry, sorted) {
  const [p10, p50, p90] = [0.1, 0.5, 0.9].map((q) => quantile(sorted, q)), show = (value) => shortText(store, entry, value);
  const now = store.results[entry.name];
  return h("div", { class: "ep-sure-cell", "data-name": entry.name, "data-p10": p10, "data-p50": p50, "data-p90": p90 },
    h("p", { class: "ep-muted" }, entry.label),
    h("p", { class: "ep-sure-range" }, h("b", {}, `${show(p10)} – ${show(p90)}`), h("span", { class: "ep-muted" }, fillWord(store.strings.median, { value: show(p50) }))),
    histogram(sorted, p10, p90, now),
    h("p", { class: "ep-muted ep-small" }, fillWord(store.strings.sure_foot, { value: resultText(store, entry, now) })));
}

function sureVerdict(store, entry, count) {
  const { strings } = store, share = count / DRAWS, good = entry.verdict.alarm ? 1 - share : share;
  const near = share > 0.5 ? [100] : [0];
  const { number } = formatParts({ ladder: [[0.01, "%"]], digits: 2, style: "auto" }, share, near.map((one) => one / 100));
  const words = count === 0 ? strings.in_no_draw : count === DRAWS ? strings.in_every_draw : fillWord(strings.in_draws, { share: `${number}%` });
  return h("div", { class: "ep-sure-verdict", "data-name": entry.name, "data-share": share },
    h("span", {}, entry.label), h("span", { class: "ep-meter", style: `--share:${good}` }), h("b", {}, words));
}

function howSure(store) {
  const { strings } = store;
  const body = h("div", { class: "ep-sure", "data-uncertainty": "", "aria-live": "off" }), note = h("p", { class: "ep-muted" });
  let drop = () => {}, slow = false;
  const show = ({ sorted, held }, count) => {
    setText(note, fillWord(count ? strings.sure_note : strings.sure_none, { draws: grouped(String(DRAWS)), n: count }));
    const numbers = headlines(store).filter((one) => sorted[one.name]);
    body.replaceChildren(...numbers.map((one) => sureCell(store, one, sorted[one.name])),
      ...verdictsOf(store).map((one) => sureVerdict(store, one, held[one.name])));
    body.dataset.state = "done";
  };
  const start = () => {
    drop();
    body.dataset.state = "running";
    drop = draw(store, store.values, show);
    slow = body.dataset.state === "running";
  };
  const later = debounced(start, REDRAW_MS);
  store.bind(body, () => (slow ? later() : start()));
  return h("div", {}, h("div", { class: "ep-tool-head" }, note), body);
}

// ------------------------------------------------------------------------------------- solve for

const isVerdict = (entry) => entry.kind === "boolean";

/** A first target for a number: a fifth better than today, as a reader would write it. */
const targetText = (entry, now) => {
  const { number } = formatParts({ ...entry.display, digits: Math.min(entry.display.digits, 2) }, now * 0.8);
  return number + (entry.display.attach ? formatParts(entry.display, now).unit : "");
};

/** A result as something that can be typed: the unit of its own size, no bounds. */
function typedLike(store, entry) {
  const now = Math.abs(store.results[entry.name]);
  const [scale, label] = entry.display.ladder.find(([step]) => now * (1 + 1e-9) >= step) ?? entry.display.ladder.at(-1);
  return { ...entry, box: { scale, unit: (entry.display.prefix ?? "") + label }, low: -Infinity, high: Infinity, scale: "linear" };
}

function wish(store, goal) {
  const { entry } = goal;
  if (isVerdict(entry)) return { wanted: (r) => r[entry.name] === !entry.verdict.alarm };
  const { value, why } = readTyped(goal.target, typedLike(store, entry), store.strings, String);
  if (why) return { why };
  const holds = goal.op === "most" ? (x) => x <= value * (1 + 1e-9) : (x) => x >= value * (1 - 1e-9);
  const valid = (x) => !(entry.none && x === 0);
  return {
    wanted: (r) => valid(r[entry.name]) && holds(r[entry.name]),
    gap: (r) => (valid(r[entry.name]) ? (goal.op === "most" ? 1 : -1) * (r[entry.name] - value) : Infinity),
  };
}

function answerRow(store, one, found, { move, bring }) {
  const { strings } = store, show = (value) => inputText(one, value, false);
  const [first] = found.ranges;
  const beyond = found.ranges.length > 1
    ? fillWord(strings.ranges, { n: found.ranges.length, list: found.ranges.slice(0, 3).map(([a, b]) => (a === b ? show(a) : `${show(a)} – ${show(b)}`)).join(", ") + (found.ranges.length > 3 ? ", …" : "") })
    : first[1] >= one.high ? strings.and_above : first[0] <= one.low ? strings.and_below : fillWord(strings.up_to, { low: show(first[0]), high: show(first[1]) });
  return h("div", { class: "ep-answer", "data-name": one.name, "data-value": found.value },
    button("ep-label", one.short || one.label, () => bring(one.name), { title: strings.show_slider }),
    h("span", {}, `${show(store.values[one.name])} → `, h("b", {}, inputText(one, found.value))),
    h("span", { class: "ep-muted" }, beyond),
    button("ep-button", strings.try_it, () => move({ [one.name]: found.value }, null), { "aria-label": `${strings.try_it}: ${one.label} ${inputText(one, found.value)}` }));
}

function answers(store, goal, options) {
  const { strings } = store, { wanted, gap, why } = wish(store, goal);
  if (why) return [h("p", { class: "ep-wrong" }, why)];
  // Where it holds already the useful question is the other one: how far is the edge?
  const already = wanted(store.results);
  const movable = store.spec.assumptions.filter((one) => goal.move === "any" || goal.move === one.name);
  const tried = movable.map((one) => [one, solve(one, store.evaluateAt, store.values, already ? (r) => !wanted(r) : wanted, already ? null : gap)]);
  const yes = tried.filter(([, found]) => found.ranges.length).sort((a, b) => a[1].distance - b[1].distance);
  const no = tried.filter(([, found]) => !found.ranges.length);
  const rows = yes.map(([one, found]) => answerRow(store, one, found, options));
  if (already) rows.unshift(h("p", {}, yes.length ? strings.holds_already : strings.holds_always));
  if (!no.length) return rows;
  const names = no.length > 6 ? fillWord(strings.others, { n: no.length }) : no.map(([one]) => one.short || one.label).reduce((one, more) => fillWord(strings.listed, { one, more }));
  rows.push(h("p", { class: "ep-muted" }, fillWord(already ? strings.none_breaks : strings.none_does, { names })));
  const misses = no.filter(([, found]) => found.miss?.moves).map(([one, { miss }]) => ({ one, miss, gap: gap(miss.result) })).sort((a, b) => a.gap - b.gap);
  if (!yes.length && misses.length) {
    const [{ one, miss }] = misses;
    rows.push(h("p", { "data-miss": one.name }, fillWord(strings.nearest_miss, { label: one.label, value: valueText(one, miss.value), result: resultText(store, goal.entry, miss.result[goal.entry.name]) })));
  }
  return rows;
}

function select(label, options, now, pick) {
  const node = h("select", { class: "ep-select", "aria-label": label }, ...options.map(([value, text]) => h("option", { value, selected: value === now }, text)));
  node.addEventListener("change", () => pick(node.value));
  return node;
}

function solveFor(store, options) {
  const { strings, spec } = store;
  const verdicts = verdictsOf(store), numbers = headlines(store).filter((one) => !isVerdict(one));
  const choices = [...verdicts, ...numbers];
  const goal = { entry: verdicts.find((one) => !isGood(one, store.results)) ?? choices[0], op: "most", target: "", move: "any" };
  const body = h("div", { class: "ep-answers", "data-solve": "", "aria-live": "polite" });
  const fill = () => body.replaceChildren(...answers(store, goal, options));
  const target = h("input", { class: "ep-box", type: "text", "aria-label": strings.target, autocomplete: "off", spellcheck: "false" });
  const op = select(strings.most_or_least, [["most", strings.at_most], ["least", strings.at_least]], goal.op, (value) => { goal.op = value; fill(); });
  const amount = h("span", { class: "ep-amount" }, op, target);
  target.addEventListener("input", () => { goal.target = target.value; fill(); });
  const setEntry = (entry) => {
    goal.entry = entry;
    amount.hidden = isVerdict(entry);
    if (!isVerdict(entry)) goal.target = target.value = targetText(entry, store.results[entry.name]);
  };
  const of = select(strings.result, choices.map((one) => [one.name, isVerdict(one) ? fillWord(strings[one.verdict.alarm ? "not_hold" : "hold"], { label: one.label }) : one.label]), goal.entry.name,
    (name) => { setEntry(store.entry(name)); fill(); });
  setEntry(goal.entry);
  store.bind(body, fill);
  return {
    node: h("div", {}, h("div", { class: "ep-tool-head ep-solve-head" }, h("span", {}, strings.make, " ", of), amount,
      h("span", {}, strings.by_moving, " ", select(strings.what_may_move, [["any", strings.any_one], ...spec.assumptions.map((one) => [one.name, one.label])], goal.move, (value) => { goal.move = value; fill(); }))), body),
    /** Ask about one result. */
    ask(entry) { setEntry(entry); of.value = entry.name; fill(); },
  };
}

// ------------------------------------------------------------------------------------- all tools

/**
 * The bar of tools under a panel. The list of results is in the page from the start, folded;
 * the others are made when they are opened.
 */
export function toolsView(store, options) {
  const { strings, spec } = store;
  const body = h("div", { class: "ep-tool-body" });
  const list = resultsList(store, options);
  let solver = null;
  const tools = [
    ["formulas", fillWord(strings.how_computed, { n: spec.results.length }), () => list],
    ["matters", strings.matters_most, () => tornado(store, options)],
    ["sure", strings.how_sure, () => howSure(store)],
    ["solve", strings.solve_for, () => (solver = solveFor(store, options)).node],
  ];
  const panes = new Map();
  const buttons = tools.map(([id, label]) => button("ep-tool", label, () => open(opened === id ? null : id), { "aria-expanded": "false", "data-tool": id }));
  let opened = null;
  const open = (id) => {
    opened = id;
    tools.forEach(([key, , make], i) => {
      setAttribute(buttons[i], "aria-expanded", String(key === id));
      const pane = panes.get(key);
      // A tool that is not open is not in the page, so that a move does not pay for it; the results stay.
      if (key === "formulas") pane.hidden = key !== id;
      else pane.replaceChildren(...(key === id ? [make()] : []));
    });
    body.classList.toggle("is-open", id !== null);
    options.showBands(id === "sure" || id === "matters");
  };
  for (const [key] of tools) body.append(panes.set(key, h("div", { "data-pane": key })).get(key));
  panes.get("formulas").append(list);
  panes.get("formulas").hidden = true;
  const node = h("div", { class: "ep-tools" }, h("div", { class: "ep-tool-bar" }, ...buttons), body);
  return {
    node, open,
    solveFor(entry) {
      open("solve");
      solver.ask(entry);
      const at = buttons.at(-1);
      at.scrollIntoView({ block: "center", behavior: calm() ? "auto" : "smooth" });
      at.focus({ preventScroll: true });
    },
    /** Fold out the list of results, so that a link may lead to one of them. */
    showResults() { if (opened !== "formulas") open("formulas"); },
  };
}

