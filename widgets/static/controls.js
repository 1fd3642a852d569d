/** An assumption's row: label, box, unit, reset; under them the slider with its band and B. */
import { place } from "./analysis.js";
import { button, calm, fillWord, h, setAttribute, setText, uid } from "./dom.js";
import { boxText } from "./format.js";
import { fillTemplate, nearestStop, valueText } from "./store.js";
import { readTyped } from "./typed.js";

const KEYS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 5, PageDown: -5, Home: -Infinity, End: Infinity };

/** The stop a key leads to from a value, or null for another key; from between two, to the next. */
export function stopByKey(assumption, value, key) {
  const by = KEYS[key];
  if (by === undefined) return null;
  const { stops } = assumption, last = stops.length - 1;
  const above = stops.findIndex((one) => one >= value * (1 - 1e-12) - 1e-300);
  const on = above >= 0 && Math.abs(stops[above] - value) <= 1e-9 * Math.abs(value);
  const from = above < 0 ? last : above;
  const to = by > 0 ? from + by - (on ? 0 : 1) : from + by;
  return stops[Math.max(0, Math.min(last, to))];
}

/** Where a default comes from: meaning, range, plausible band, source with its link. */
export function sourceView(store, assumption) {
  const { strings } = store, { low, high, band } = assumption;
  const show = (value) => valueText(assumption, value);
  const { kind, text, href } = assumption.source;
  const range = fillWord(strings.range, { default: show(assumption.default), low: show(low), high: show(high) });
  const plausible = band && fillWord(strings.plausible, { low: show(band[0]), high: show(band[1]) });
  const kindText = strings[`source_${kind}`], words = text || kindText;
  const before = fillWord(strings.kind_and_text, { kind: kindText, text: "" });
  return h("div", { class: "ep-source" },
    assumption.meaning && h("p", {}, assumption.meaning),
    h("p", { class: "ep-muted" }, range, plausible && ` ${plausible}`),
    h("p", { class: "ep-muted" }, text && before, href ? h("a", { href }, words) : words));
}

function numberBox(store, assumption, move) {
  const { name, label, box } = assumption, { strings } = store;
  const whyId = uid("ep-why");
  const input = h("input", {
    type: "text", inputmode: "decimal", class: "ep-box", autocomplete: "off", spellcheck: "false",
    "aria-label": fillWord(strings.value_of, { label }) + (box.unit ? `, ${box.unit}` : ""), "aria-describedby": whyId,
  });
  const why = h("span", { class: "ep-why", id: whyId, role: "status" });
  const complain = (text) => {
    setText(why, text ?? "");
    setAttribute(input, "aria-invalid", text ? "true" : null);
  };
  const shown = () => boxText(assumption, store.values[name]);
  const commit = () => {
    if (input.value === shown()) return complain("");
    const { value, why: reason } = readTyped(input.value, assumption, strings, (one) => valueText(assumption, one));
    complain(reason);
    if (reason) return;
    move({ [name]: value });
    input.value = shown();
  };
  input.addEventListener("change", commit);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); commit(); }
    if (event.key === "Escape" && (input.value !== shown() || why.textContent)) {
      event.stopPropagation();
      input.value = shown();
      complain("");
    }
  });
  input.addEventListener("focus", () => input.select());
  let last = null;
  return {
    input, why,
    /** A value that came from elsewhere takes the place of what was typed and refused. */
    update(value) {
      if (value === last) return;
      last = value;
      input.value = shown();
      complain("");
    },
  };
}

function derivedLine(store, assumption, move) {
  const text = new Text();
  const suggestion = () => Math.min(assumption.high, Math.max(assumption.low, store.results[assumption.suggested_by]));
  const use = button("ep-link", store.strings.use_it, () => move({ [assumption.name]: suggestion() }));
  return store.bind(h("p", { class: "ep-derived" }, text, " ", use), () => {
    const value = suggestion(), differs = valueText(assumption, value) !== valueText(assumption, store.values[assumption.name]);
    setText(text, fillWord(store.strings.derived, { value: valueText(assumption, value) }));
    use.hidden = !differs;
  });
}

/**
 * A row. options: move(changes, key); explain(name, anchor) opens the explanation (without it the
 * label is a mere text); named: the slider bears the assumption's name; id: of the row.
 */
export function assumptionRow(store, assumption, { move, explain = null, named = false, id = null }) {
  const { name, label, short, box, stops } = assumption, { strings } = store;
  const words = short || label, why = short && short !== label ? label : null;
  const heading = explain ? button("ep-label", words, () => explain(name, heading), { title: why, "aria-haspopup": "dialog" })
    : h("span", { class: "ep-label" }, strings.value);
  const slider = h("input", {
    type: "range", name: named ? name : null, min: 0, max: stops.length - 1, step: 1, "aria-label": label, autocomplete: "off",
  });
  const number = numberBox(store, assumption, move);
  const reset = button("ep-reset-one", "↺", () => {
    move({ [name]: assumption.default });
    number.input.focus({ preventScroll: true });
  }, { "aria-label": fillWord(strings.reset_one, { label }), title: fillWord(strings.reset_to, { value: valueText(assumption, assumption.default) }) });
  const idle = h("p", { class: "ep-idle", hidden: true });
  const track = h("span", { class: "ep-track" }, assumption.band && h("i", { class: "ep-band" }), h("i", { class: "ep-thumb" }), slider);
  const node = h("div", { class: "ep-row", id, "data-name": name, "data-rank": assumption.first ? "first" : null },
    heading, h("span", { class: "ep-value" }, number.input, h("span", { class: "ep-unit", "aria-hidden": "true", title: box.unit }, box.short.replaceAll("/", "/\u200b"))),
    reset, track, number.why, idle, assumption.suggested_by ? derivedLine(store, assumption, move) : null);

  slider.addEventListener("input", () => move({ [name]: stops[Number(slider.value)] }));
  slider.addEventListener("keydown", (event) => {
    const to = stopByKey(assumption, store.values[name], event.key);
    if (to === null) return;
    event.preventDefault();
    move({ [name]: to });
  });

  const at = (key, value) => node.style.setProperty(key, value.toFixed(4));
  at("--d", place(assumption, assumption.default));
  if (assumption.band) assumption.band.forEach((end, i) => at(i ? "--hi" : "--lo", place(assumption, end)));
  let before = {};
  return store.bind(node, () => {
    const value = store.values[name], b = store.b?.values[name], resting = store.idle.has(name);
    if (value === before.value && b === before.b && resting === before.resting) return;
    before = { value, b, resting };
    const differs = b !== undefined && b !== value, changed = value !== assumption.default;
    number.update(value);
    at("--p", place(assumption, value));
    if (differs) at("--pb", place(assumption, b));
    slider.value = nearestStop(assumption, value);
    setAttribute(slider, "data-value", String(value));
    const text = valueText(assumption, value);
    setAttribute(slider, "aria-valuetext", differs ? `${text}, B ${valueText(assumption, b)}` : text);
    node.classList.toggle("is-changed", changed);
    node.classList.toggle("is-other", differs);
    reset.disabled = !changed;
    setAttribute(node, "data-idle", resting ? "true" : null);
    idle.hidden = !resting;
    if (resting) setText(idle, `${strings.idle} ${fillTemplate(assumption.idle, store)}`.trim());
  });
}

/** Open what folds a row away, bring it into view and put the focus on its slider. */
export function bringRow(root, name) {
  const row = root.querySelector(`.ep-in [data-name="${name}"]`);
  if (!row) return false;
  for (let box = row.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
  row.scrollIntoView({ block: "center", behavior: calm() ? "auto" : "smooth" });
  row.querySelector("input[type=range]").focus({ preventScroll: true });
  row.classList.remove("is-brought");
  void row.offsetWidth; // so that the animation starts anew
  row.classList.add("is-brought");
  return true;
}

/** Rows of the first rank under their groups' headings; the others folded by group. */
export function controlsView(store, options) {
  const { strings, spec } = store;
  const row = (one) => assumptionRow(store, one, { ...options, named: true, id: options.anchor && `${options.anchor}-${one.name}` });
  const groups = [...new Set(spec.assumptions.map((one) => one.group))];
  const title = (group) => strings[`group_${group}`];
  const members = (group, first) => spec.assumptions.filter((one) => one.group === group && (one.first || spec.compact) === first);
  const node = h("div", { class: "ep-in", role: "group", "aria-label": strings.assumptions });
  for (const group of groups.filter((one) => members(one, true).length)) {
    const id = uid("ep-group");
    node.append(h("div", { class: "ep-group", role: "group", "aria-labelledby": id },
      h("p", { class: "ep-heading", id }, title(group)), ...members(group, true).map(row)));
  }
  for (const group of groups.filter((one) => members(one, false).length)) {
    const folded = members(group, false);
    const mark = store.bind(h("span", { class: "ep-folded-mark" }), (mark) => {
      const count = folded.filter((one) => store.values[one.name] !== one.default).length;
      setText(mark, count ? fillWord(strings.changed_count, { n: count }) : "");
    });
    node.append(h("details", { class: "ep-group ep-more" },
      h("summary", {}, title(group), h("span", { class: "ep-muted" }, ` ${folded.length}`), mark), ...folded.map(row)));
  }
  return node;
}

