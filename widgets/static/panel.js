/** The panel: header, status, sliders, headline, verdicts, figure and tools of one estimate. */
import { bringRow, controlsView } from "./controls.js";
import { button, h, icon, nextFrame, setAttribute, setText, uid } from "./dom.js";
import { explanation } from "./explain.js";
import { popover } from "./popover.js";
import { conflictOf, figuresView, resultsList, statusView, stripView, verdictSentence, verdictsView } from "./results.js";
import { fillTemplate } from "./store.js";
import { copyButton, takeMenu } from "./take.js";
import { toolsView } from "./tools.js";

const UNDO = "M6 3 2.5 6.5 6 10M3 6.5h6a4 4 0 0 1 0 8H6.5";
const REDO = "m10 3 3.5 3.5L10 10M13 6.5H7a4 4 0 0 0 0 8h2.5";
const SWAP = "M2.5 5.5h10M10 2.5l3 3-3 3M13.5 11h-10M6 8l-3 3 3 3";

/** The preset whose values stand now, if one does. */
function presetOf(store) {
  const values = (preset) => ({ ...store.defaults, ...preset.values });
  return store.spec.presets.find((one) => Object.entries(values(one)).every(([name, value]) => store.values[name] === value));
}

function presetPicker(store, move) {
  const { presets } = store.spec, { strings } = store;
  if (presets.length < 2) return null;
  const node = h("select", { class: "ep-select ep-preset", "aria-label": strings.preset },
    h("option", { value: "", hidden: true }, strings.custom), ...presets.map((one) => h("option", { value: one.key }, one.label)));
  node.addEventListener("change", () => {
    const preset = presets.find((one) => one.key === node.value);
    if (preset) move({ ...store.defaults, ...preset.values }, null);
  });
  return store.bind(node, () => { node.value = presetOf(store)?.key ?? ""; });
}

/** Undo, redo and reset; Ctrl+Z and Ctrl+Shift+Z do the same outside of text fields. */
function historyButtons(store, { move, travel }) {
  const { strings } = store;
  const undo = button("ep-button ep-icon", icon(UNDO), travel.undo, { "aria-label": strings.undo, title: `${strings.undo} (Ctrl+Z)` });
  const redo = button("ep-button ep-icon", icon(REDO), travel.redo, { "aria-label": strings.redo, title: `${strings.redo} (Ctrl+Shift+Z)` });
  const reset = button("ep-button", strings.reset, () => move(store.defaults, null));
  const node = h("span", { class: "ep-bar-group" }, undo, redo, reset);
  return store.bind(node, () => {
    undo.disabled = !store.canUndo();
    redo.disabled = !store.canRedo();
    reset.disabled = !store.changed().length;
  });
}

function compareButtons(store) {
  const { strings } = store;
  const words = new Text();
  const pin = button("ep-button ep-pin", [h("i", { class: "ep-b-mark", "aria-hidden": "true" }), words], () => store.pin(store.b ? null : undefined));
  const swap = button("ep-button ep-icon", icon(SWAP), () => store.swap(), { "aria-label": strings.swap, title: strings.swap });
  const node = h("span", { class: "ep-bar-group" }, pin, swap);
  return store.bind(node, () => {
    setText(words, strings[store.b ? "unpin" : "pin"]);
    setAttribute(pin, "aria-pressed", String(Boolean(store.b)));
    swap.disabled = !store.b;
  });
}

function headerView(store, { move, travel, link, announce, titleId, figures }) {
  const { spec, strings } = store;
  const title = h("p", { class: "ep-title", id: titleId }, spec.title);
  const space = h("span", { class: "ep-space" });
  if (spec.compact) return h("div", { class: "ep-bar" }, title, space, historyButtons(store, { move, travel }));
  return h("div", { class: "ep-bar" }, title, presetPicker(store, move), space,
    historyButtons(store, { move, travel }), compareButtons(store),
    h("span", { class: "ep-bar-group ep-take" }, link && copyButton("ep-button ep-copy", strings.copy_link, strings, link, announce),
      takeMenu(store, { figures, announce })));
}

/**
 * While a slider is moved, a sentence above may wrap anew. The slider under the hand must not move:
 * the page is scrolled back by what the panel went.
 */
function holdStill(root, move) {
  let top = null;
  const settle = () => {
    const now = root.getBoundingClientRect().top;
    if (top !== null && Math.abs(now - top) > 1) scrollBy({ top: now - top, behavior: "instant" });
    top = null;
    document.documentElement.style.overflowAnchor = "";
  };
  return (changes, key) => {
    if (top === null && root.contains(document.activeElement)) {
      top = root.getBoundingClientRect().top;
      document.documentElement.style.overflowAnchor = "none"; // not twice, by the browser too
      nextFrame(settle);
    }
    return move(changes, key);
  };
}

/**
 * Build the panel inside `root` (a `section.estimate-panel`) and keep it in step with the store.
 * options: move(changes, key) carries out the reader's wish; plotly() resolves to Plotly; link()
 * gives the address to copy; announce(text) speaks politely; anchors: rows bear an id.
 */
export function mountPanel(root, store, options = {}) {
  const { spec, strings } = store, { compact } = spec;
  const live = options.announce ? null : h("p", { class: "ep-hidden", role: "status" });
  const announce = options.announce ?? ((text) => setText(live, text));
  const wish = options.move ?? ((changes, key) => store.setMany(changes, key));
  const travel = options.travel ?? { undo: store.undo, redo: store.redo };
  const titleId = uid("ep-title");
  const anchor = (kind) => (options.anchors ? `${kind}-${spec.name.replaceAll(".", "-")}` : null);
  const bubble = popover(strings);

  let figures = null;
  const follow = (changes) => {
    const names = Object.keys(changes);
    if (names.length === 1) figures?.follow(names[0]);
  };
  const move = holdStill(root, (changes, key) => { follow(changes); return wish(changes, key); });
  const bring = (name) => { bubble.close(); bringRow(root, name); };
  const explain = (name, node) => bubble.toggle(node, ({ resized }) => explanation(store, name, { move, bring, resized }));
  const explainVerdict = (entry, node) => bubble.toggle(node, ({ resized }) => {
    const words = h("p", {});
    store.bind(words, () => setText(words, verdictSentence(store, entry)));
    const turn = compact ? null : button("ep-link", strings.what_turns_it, () => { bubble.close(); tools.solveFor(entry); });
    return [words, explanation(store, entry.name, { move, bring, resized }, false), turn && h("p", { class: "ep-foot" }, turn)].filter(Boolean);
  });

  figures = figuresView(store, { plotly: options.plotly ?? (() => Promise.reject()), move, compact });
  const header = headerView(store, { move, travel, link: options.link, announce, titleId, figures });
  const inputs = controlsView(store, { anchor: anchor("assumption"), move, explain });
  const listOptions = { move, bring, anchor: anchor("result"), opened: compact };
  const list = compact ? resultsList(store, listOptions) : null;
  const tools = compact ? null : toolsView(store, { ...listOptions, showBands: (on) => card.classList.toggle("shows-bands", on) });
  const outputs = h("div", { class: "ep-out" }, compact ? null : stripView(store, explain),
    compact ? null : h("div", { class: "ep-verdict-line" }, verdictsView(store, explainVerdict), figures?.fold), list, compact ? null : figures?.node);
  const pickers = spec.pickers ? options.pickersView?.(store, { move, readShape: options.readShape }) : null;
  const status = compact ? null : statusView(store, { bring, presetNow: () => presetOf(store) });
  const card = h("div", { class: "ep-card" }, header, pickers, status, h("div", { class: "ep-body" }, outputs, inputs),
    compact ? figures?.node : null, tools?.node, live);
  const body = h("div", { class: "ep" }, card);

  root.classList.toggle("is-compact", Boolean(compact));
  setAttribute(root, "aria-labelledby", titleId);
  root.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z" || event.target.matches("input[type=text]")) return;
    event.preventDefault();
    event.stopPropagation();
    travel[event.shiftKey ? "redo" : "undo"]();
  });
  root.prepend(body);
  root.classList.add("is-mounted");
  return {
    move, bring, explain, tools, announce, figures, strip: outputs.firstChild,
    unmount() {
      figures?.dispose();
      bubble.close();
      body.remove();
      root.classList.remove("is-mounted");
    },
  };
}

/** Speak, once the reader rests, which headlines and verdicts changed, and a conflict. */
export function changesInWords(store, before) {
  const { spec, results } = store;
  const moved = spec.results.filter((one) => results[one.name] !== before[one.name]);
  const headline = (one) => `${one.label}: ${fillTemplate(`{${one.name}:noun}`, store)}`;
  return [
    conflictOf(store),
    ...moved.filter((one) => one.headline).map(headline),
    ...moved.filter((one) => one.verdict).map((one) => verdictSentence(store, one)),
  ].filter(Boolean).join(". ");
}
