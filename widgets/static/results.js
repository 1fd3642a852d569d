/** What a panel answers: the headline strip, verdicts as chips, the status line, the figures. */
import { button, fillWord, h, icon, setAttribute, setText, uid } from "./dom.js";
import { explanation, referenceValue } from "./explain.js";
import { mountFigure } from "./figures.js";
import { changeText } from "./format.js";
import { fillTemplate, fullText, partsOf } from "./store.js";

const dataValue = (value) => (typeof value === "boolean" || Number.isFinite(value) ? String(value) : "");

/** An `<output>` that shows one result, number and unit apart. */
export function outputView(store, entry, className = "ep-output") {
  const number = new Text(), unit = new Text();
  const node = h("output", { class: className, "data-output": entry.name, "aria-live": "off" },
    h("span", { class: "ep-number" }, number), h("span", { class: `ep-unit${entry.display.attach ? " is-attached" : ""}` }, unit));
  const compared = (store.spec.limits[entry.name] ?? []).filter((one) => typeof one === "string");
  let before = null;
  return store.bind(node, () => {
    const now = [store.results[entry.name], ...compared.map((name) => store.value(name))];
    if (before && now.every((value, i) => Object.is(value, before[i]))) return;
    before = now;
    const parts = partsOf(store, entry.name);
    setText(number, parts.number);
    setText(unit, parts.unit);
    setAttribute(node, "data-value", dataValue(store.results[entry.name]));
    node.classList.toggle("is-words", Boolean(entry.words?.length || entry.none && store.results[entry.name] === 0));
  });
}

/** The change against B or the default; `short` where room is scarce. */
export function changeView(store, entry, short = false) {
  const node = h("span", { class: "ep-change" });
  return store.bind(node, () => setText(node, changeText(entry, store.value(entry.name), referenceValue(store, entry.name), store.strings, short)));
}

export const headlines = (store) => store.spec.results.filter((one) => one.headline);

/** The strip of headlines: value, change, and what it is made of or what B has. */
export function stripView(store, explain) {
  const parts = headlines(store).map((entry) => {
    const under = h("span", { class: "ep-under" });
    store.bind(under, () => {
      under.classList.toggle("of-b", Boolean(store.b));
      setAttribute(under, "data-scenario", store.b ? "b" : null);
      setText(under, store.b ? `B ${fullText(store, entry.name, store.b)}` : fillTemplate(entry.made_of, store));
    });
    const label = button("ep-label", [h("span", { class: "ep-wide" }, entry.label), h("span", { class: "ep-narrow" }, entry.short || entry.label)],
      () => explain(entry.name, label), { "aria-haspopup": "dialog" });
    const output = outputView(store, entry, "ep-output ep-big");
    output.dataset.scenario = "a";
    return h("div", { class: "ep-head" }, label,
      h("span", { class: "ep-big-line" }, output, changeView(store, entry, true)), under);
  });
  return h("div", { class: "ep-strip", "data-headline": "", style: `--heads: ${parts.length || 1}` }, ...parts);
}

/** Whether a verdict is good news: of an alarm, true is the bad case. */
export const isGood = (entry, results) => results[entry.name] !== entry.verdict.alarm;

/** What a verdict says in a scenario, and what B says where it differs. */
export function verdictSentence(store, entry) {
  const words = (at) => fillTemplate(at.results[entry.name] ? entry.verdict.yes : entry.verdict.no, store, at);
  const differs = store.b && store.b.results[entry.name] !== store.results[entry.name];
  return words(store) + (differs ? ` ${fillWord(store.strings.in_b, { verdict: words(store.b) })}` : "");
}

function chip(store, entry, explainVerdict) {
  const { strings } = store;
  const sign = new Text(), said = new Text(), number = new Text(), other = new Text();
  const b = h("span", { class: "of-b", hidden: true }, other);
  const node = button("ep-verdict", [h("span", { class: "ep-sign", "aria-hidden": "true" }, sign), h("span", { class: "ep-hidden" }, said),
    h("span", {}, entry.verdict.word), h("span", { class: "ep-chip-number" }, number), b],
  () => explainVerdict(entry, node), { "data-name": entry.name, "aria-haspopup": "dialog" });
  node.addEventListener("pointerenter", () => setAttribute(node, "title", verdictSentence(store, entry)));
  return store.bind(node, () => {
    const holds = store.results[entry.name], good = isGood(entry, store.results);
    const bGood = store.b ? isGood(entry, store.b.results) : good;
    setAttribute(node, "data-verdict", holds ? "yes" : "no");
    node.classList.toggle("is-bad", !good);
    setText(sign, good ? "✓" : "✕");
    setText(said, `${strings[good ? "good" : "bad"]}: `);
    setText(number, fillTemplate(entry.verdict.number, store));
    setText(other, `B ${bGood ? "✓" : "✕"}`);
    b.hidden = bGood === good;
  });
}

export const verdictsOf = (store) => store.spec.results.filter((one) => one.verdict);

export function verdictsView(store, explainVerdict) {
  const chips = verdictsOf(store).map((entry) => h("div", { role: "listitem" }, chip(store, entry, explainVerdict)));
  return h("div", { class: "ep-verdicts", role: "list", "aria-label": store.strings.verdicts }, ...chips);
}

/** Constraints that are broken, in words; "" where the assumptions agree with each other. */
export const conflictOf = (store) => {
  const broken = store.spec.constraints.find((one) => store.held[one.name] === false);
  return broken ? fillTemplate(broken.no, store) : "";
};

/** The line that is always there: a conflict, what A differs in, or the preset's note. */
export function statusView(store, { bring, presetNow }) {
  const { strings } = store;
  const node = h("p", { class: "ep-status" });
  let before = null;
  return store.bind(node, () => {
    const conflict = conflictOf(store), differing = store.differing(), preset = presetNow();
    const key = conflict || (preset && !store.b ? `${preset.key} ${fillTemplate(preset.note, store)}`
      : differing.map((one) => `${one.name} ${store.values[one.name]}`).join() + Boolean(store.b));
    if (key === before) return;
    before = key;
    node.classList.toggle("is-wrong", Boolean(conflict));
    const item = (one) => button("ep-link", `${one.short || one.label} ${fullText(store, one.name, store.reference)} → ${fullText(store, one.name)}`, () => bring(one.name));
    if (conflict) node.replaceChildren(h("span", { "aria-hidden": "true" }, "✕ "), conflict);
    else if (preset && !store.b) node.replaceChildren(...noteOf(store, preset));
    else if (!differing.length) node.replaceChildren(strings.a_is_b);
    else {
      node.replaceChildren(strings[store.b ? "against_b_list" : "you_changed"], " ",
        ...differing.slice(0, 3).flatMap((one, i) => (i ? [" · ", item(one)] : [item(one)])),
        differing.length > 3 ? ` ${fillWord(strings.and_more, { n: differing.length - 3 })}` : "");
    }
  });
}

function noteOf(store, preset) {
  const text = fillTemplate(preset.note, store);
  return preset.href ? [text, " ", h("a", { href: preset.href }, store.strings.source)] : [text];
}

/** All results by the question they answer; each opens its formula. The values stay in the page. */
export function resultsList(store, options) {
  const { results } = store.spec, { strings } = store;
  const rows = new Map();
  for (const entry of results) {
    const group = entry.answers || (entry.detail ? strings.more_results : strings.results);
    rows.set(group, [...(rows.get(group) ?? []), resultRow(store, entry, options)]);
  }
  return h("div", { class: "ep-results" }, ...[...rows].map(([title, members]) =>
    h("div", { class: "ep-result-group" }, h("p", { class: "ep-heading" }, title), ...members)));
}

function resultRow(store, entry, { move, bring, anchor, opened = false }) {
  const slot = h("div", { class: "ep-opened" });
  const open = (on) => {
    setAttribute(row, "aria-expanded", String(on));
    slot.replaceChildren(...(on ? [explanation(store, entry.name, { move, bring }, false)] : []));
  };
  const row = button("ep-result", [h("span", { class: "ep-result-label" }, entry.label), changeView(store, entry, true), outputView(store, entry)],
    () => open(!slot.firstChild), { "aria-expanded": "false" });
  open(opened);
  return h("div", { id: anchor && `${anchor}-${entry.name}` }, row, slot);
}

/** Figures behind tabs, one in sight; moving an assumption brings up the figure that runs over it. */
export function figuresView(store, { plotly, move, compact }) {
  const figures = (store.spec.figures ?? []).filter((one) => !compact || one.kind === "figure");
  if (!figures.length) return null;
  const { strings } = store;
  const tabs = figures.map((one) => button("ep-tab", one.title, null, { role: "tab", id: uid("ep-tab") }));
  const panes = figures.map((one, i) => h("figure", {
    class: `estimate-figure ep-pane is-${one.kind}`, "data-figure": one.kind === "figure" ? one.id : null,
    "data-tab": one.id, id: uid("ep-pane"), role: "tabpanel", "aria-labelledby": tabs[i].id,
  }));
  let chosen = 0;
  const views = figures.map((one, i) => mountFigure(panes[i], one, store, { plotly, move, inPanel: true, isShown: () => chosen === i && !stage.hidden }));
  const bar = h("div", { class: "ep-tabs", role: "tablist", "aria-label": strings.figures }, ...tabs);
  const stage = h("div", { class: "ep-stage", id: uid("ep-stage") }, bar, h("div", { class: "ep-panes" }, ...panes));
  // Tabs that do not fit fade out at the edge, until they are scrolled to.
  const cut = () => bar.classList.toggle("is-cut", bar.scrollLeft + bar.clientWidth < bar.scrollWidth - 4);
  bar.addEventListener("scroll", cut, { passive: true });
  new ResizeObserver(cut).observe(bar);
  const select = (index) => {
    chosen = (index + figures.length) % figures.length;
    figures.forEach((_, i) => {
      setAttribute(tabs[i], "aria-selected", String(i === chosen));
      tabs[i].tabIndex = i === chosen ? 0 : -1;
      panes[i].classList.toggle("is-off", i !== chosen);
      panes[i].inert = i !== chosen;
    });
    views[chosen].show();
  };
  const choose = (index, focus) => {
    select(index);
    if (focus) tabs[chosen].focus();
    if (bar.scrollWidth > bar.clientWidth) bar.scrollTo({ left: tabs[chosen].offsetLeft - 40 });
  };
  tabs.forEach((tab, i) => {
    tab.setAttribute("aria-controls", panes[i].id);
    tab.classList.toggle("is-diagram", figures[i].kind === "diagram");
    tab.addEventListener("click", () => choose(i));
    tab.addEventListener("keydown", ({ key }) => {
      const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: figures.length - 1 }[key];
      if (to !== undefined) choose(to, true);
    });
  });
  select(0);
  const fold = button("ep-icon ep-fold", icon("m3.5 6 4.5 4.5L12.5 6"), () => show(stage.hidden), {
    "aria-label": strings.figure, "aria-expanded": "true", "aria-controls": stage.id,
  });
  const show = (on) => {
    stage.hidden = !on;
    setAttribute(fold, "aria-expanded", String(on));
    if (on) views[chosen].show();
  };
  if (matchMedia("(max-height: 560px)").matches) show(false); // 200% zoom: sliders need the room
  return {
    node: stage, fold,
    /** Bring up the figure that runs over an assumption; the diagram shows all of them and stays. */
    follow(name) {
      const index = figures.findIndex((one) => one.over === name);
      if (index >= 0 && index !== chosen && figures[chosen].over !== name && figures[chosen].kind !== "diagram") choose(index);
    },
    current: () => ({ figure: figures[chosen], view: views[chosen] }),
    dispose: () => views.forEach((one) => one.dispose()),
  };
}

