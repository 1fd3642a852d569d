/** What a number is and where it comes from: formulas whose names open the next explanation. */
import { assumptionRow, sourceView } from "./controls.js";
import { button, fillWord, h, nextFrame, setAttribute, setText } from "./dom.js";
import { changeText } from "./format.js";
import { fullText, textOf, valueText } from "./store.js";

/**
 * A result's formula. `refs` are the places of its names; with `numbers` they hold today's
 * values. `open(name)` makes each name a button for the next step.
 */
function formulaView(store, entry, { numbers, open }) {
  const node = h("div", { class: "ep-formula" });
  node.innerHTML = entry.formula ?? ""; // trusted: MathML printed by the build
  const refs = [...node.querySelectorAll("[data-ref]")].filter((leaf) => store.entry(leaf.getAttribute("data-ref")));
  for (const leaf of refs) {
    const name = leaf.getAttribute("data-ref");
    leaf.classList.add("ep-ref", store.assumptions.has(name) ? "of-assumption" : "of-result");
    leaf.setAttribute("role", "button");
    leaf.setAttribute("tabindex", "0");
    leaf.setAttribute("aria-expanded", "false");
    leaf.addEventListener("click", (event) => { event.stopPropagation(); open(name); });
    leaf.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      open(name);
    });
    if (numbers) setAttribute(leaf, "aria-label", store.entry(name).label);
  }
  const write = () => {
    for (const leaf of refs) {
      const name = leaf.getAttribute("data-ref");
      setText(leaf, textOf(store, name));
      setAttribute(leaf, "aria-label", `${store.entry(name).label}: ${textOf(store, name)}`);
    }
  };
  return { node: numbers ? store.bind(node, write) : node, refs };
}

const unfitted = new Set();

/**
 * A formula that is too wide wraps between its terms, then shrinks a little, then scrolls. All that
 * wait are fitted together, reading before writing, so that they share two layouts.
 */
function fitFormulas() {
  const wide = [...unfitted].filter((one) => one.isConnected && one.scrollWidth > one.clientWidth + 1)
    .map((one) => ({ one, room: one.clientWidth }));
  unfitted.clear();
  for (const { one, room } of wide) {
    one.classList.add("is-wide");
    one.style.setProperty("--ep-room", `${room - 12}px`);
  }
  const scales = wide.map(({ one, room }) => Math.max(0.78, room / one.scrollWidth));
  wide.forEach(({ one }, i) => { if (scales[i] < 1) one.style.fontSize = `${scales[i]}em`; });
}

function head(store, entry) {
  const value = store.bind(h("b"), (value) => setText(value, fullText(store, entry.name)));
  const change = store.bind(h("span", { class: "ep-change" }), (change) => {
    const text = changeText(entry, store.value(entry.name), referenceValue(store, entry.name), store.strings);
    setText(change, text && fillWord(store.b ? store.strings.against_b : store.strings.against_default, { change: text }));
  });
  return h("p", { class: "ep-explained-head" }, h("span", {}, entry.label), value, change);
}

export const referenceValue = ({ reference }, name) => (name in reference.values ? reference.values[name] : reference.results[name]);

function ofAssumption(store, entry, node, { move, bring }) {
  node.append(assumptionRow(store, entry, { move }), sourceView(store, entry));
  if (bring) node.append(h("p", { class: "ep-foot" }, button("ep-link", store.strings.show_in_panel, () => bring(entry.name))));
}

function ofResult(store, entry, node, options) {
  const slot = h("div", { class: "ep-deeper" });
  let opened = null, refs = [];
  const open = (name) => {
    opened = opened === name ? null : name;
    for (const leaf of refs) setAttribute(leaf, "aria-expanded", String(leaf.getAttribute("data-ref") === opened));
    slot.replaceChildren(...(opened ? [explanation(store, opened, options)] : []));
    options.resized?.();
  };
  if (entry.formula) {
    const plain = formulaView(store, entry, { numbers: false, open });
    const filled = formulaView(store, entry, { numbers: true, open });
    refs = [...plain.refs, ...filled.refs];
    node.append(plain.node, filled.node);
    unfitted.add(plain.node).add(filled.node);
    nextFrame(fitFormulas);
    if (options.resized) nextFrame(options.resized);
  }
  node.append(slot);
}

/** options: move, bring(name) shows an assumption's row in the panel, resized() when it grew. */
export function explanation(store, name, options, withHead = true) {
  const entry = store.entry(name);
  const node = h("div", { class: "ep-explained" });
  if (withHead) node.append(head(store, entry));
  if (store.assumptions.has(name)) ofAssumption(store, entry, node, options);
  else {
    if (entry.meaning) node.append(h("p", { class: "ep-muted" }, entry.meaning));
    ofResult(store, entry, node, options);
  }
  return node;
}

/** A number with some assumptions changed: what it is if they are so. */
export function whatIfExplanation(store, name, overrides) {
  const entry = store.entry(name), { strings } = store;
  const given = Object.entries(overrides).map(([key, change]) => {
    const one = store.assumptions.get(key);
    return `${one?.label ?? key}: ${one ? valueText(one, store.override({ [key]: change })[key]) : change}`;
  });
  const values = store.override(overrides);
  const at = { values, results: store.evaluateAt(values) };
  return h("div", { class: "ep-explained" },
    h("p", { class: "ep-explained-head" }, h("span", {}, entry.label), h("b", {}, fullText(store, name, at))),
    h("p", { class: "ep-muted" }, `${strings.what_if} ${given.join("; ")}`),
    entry.meaning && h("p", { class: "ep-muted" }, entry.meaning));
}
