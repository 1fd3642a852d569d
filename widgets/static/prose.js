/** Numbers in sentences: results can be asked, assumptions dragged, keyed or slid where they stand. */
import { stopByKey } from "./controls.js";
import { debounced, setAttribute, setText } from "./dom.js";
import { explanation, whatIfExplanation } from "./explain.js";
import { popover } from "./popover.js";
import { nearestStop, textOf, valueText } from "./store.js";

const WARM_MS = 900, DRAG_FROM_PX = 3, STOP_PX = 6, FINE_STOP_PX = 3, MANY_STOPS = 80;

/** What a live element shows: {entry, overrides}; null when its spec does not know it. */
function subjectOf(node, store) {
  const { output, assumption, whatIf } = node.dataset;
  const entry = store.entry(output ?? assumption ?? whatIf);
  return entry && { entry, overrides: whatIf ? JSON.parse(node.dataset.with ?? "{}") : null };
}

/** Keep the text of a live number; returns whether it changed. */
function writerOf(node, { entry, overrides }, store) {
  const style = node.dataset.style ?? "", limited = (store.spec.limits[entry.name] ?? []).length > 0;
  let before;
  return () => {
    const values = overrides ? store.override(overrides) : store.values;
    const results = overrides ? store.evaluateAt(values) : store.results;
    const value = entry.name in values ? values[entry.name] : results[entry.name];
    if (!limited && Object.is(value, before)) return false;
    before = value;
    const text = textOf(store, entry.name, style, { values, results });
    setAttribute(node, "data-value", typeof value === "boolean" || Number.isFinite(value) ? String(value) : "");
    if (node.textContent === text) return false;
    setText(node, text);
    return true;
  };
}

/** A changed number is warm for a moment. */
function warmth() {
  const warm = new Set();
  const cool = debounced(() => { for (const node of warm) node.classList.remove("is-hot"); warm.clear(); }, WARM_MS);
  return (node) => { node.classList.add("is-hot"); warm.add(node); cool(); };
}

/** Tangle's gesture: sideways to change, still to ask; arrow keys go from stop to stop. */
function makeDraggable(number, output, store, assumption, { move, ask }) {
  const { name, stops } = assumption;
  const pace = stops.length > MANY_STOPS ? FINE_STOP_PX : STOP_PX;
  for (const [key, value] of Object.entries({ tabindex: "0", role: "slider", "aria-label": assumption.label, "aria-valuemin": "0", "aria-valuemax": stops.length - 1, "aria-description": store.strings.drag_hint })) {
    number.setAttribute(key, value);
  }
  let start = null, dragged = false;
  number.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    start = { x: event.clientX, index: nearestStop(assumption, store.values[name]) };
    dragged = false;
    number.setPointerCapture(event.pointerId);
  });
  number.addEventListener("pointermove", (event) => {
    if (!start) return;
    const by = event.clientX - start.x;
    if (Math.abs(by) > DRAG_FROM_PX) { dragged = true; number.classList.add("is-dragged"); }
    if (dragged) move({ [name]: stops[Math.max(0, Math.min(stops.length - 1, start.index + Math.trunc(by / pace)))] });
  });
  const end = () => { start = null; number.classList.remove("is-dragged"); };
  number.addEventListener("pointerup", end);
  number.addEventListener("pointercancel", end);
  number.addEventListener("click", () => { if (!dragged) ask(); });
  number.addEventListener("keydown", (event) => {
    const to = stopByKey(assumption, store.values[name], event.key);
    if (to !== null) { event.preventDefault(); move({ [name]: to }); }
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); ask(); }
  });
  let before = null;
  store.bind(output, () => {
    if (before === store.values[name]) return;
    before = store.values[name];
    setAttribute(number, "aria-valuenow", nearestStop(assumption, store.values[name]));
    setAttribute(number, "aria-valuetext", valueText(assumption, store.values[name]));
    number.classList.toggle("is-changed", store.values[name] !== assumption.default);
  });
}

/** Tie every live number outside the panels to its store. `hostOf(store)` gives {move, bring}. */
export function wireNumbers(stores, hostOf) {
  const warm = warmth();
  const asked = [];
  for (const node of document.querySelectorAll("[data-output], [data-assumption], [data-what-if]")) {
    if (node.closest(".ep, math")) continue;
    const store = stores.get(node.closest("[data-estimate]")?.dataset.estimate);
    const subject = store && subjectOf(node, store);
    if (!subject) continue;
    if (node.tagName === "OUTPUT") setAttribute(node, "aria-live", "off");
    const write = writerOf(node, subject, store);
    let settled = false;
    store.bind(node, () => { if (write() && settled) warm(node); settled = true; });
    const number = node.closest(".estimate-number");
    if (number) asked.push({ number, node, store, ...subject });
  }
  return () => explainNumbers(asked, hostOf);
}

/** Explanations, and the gesture of assumptions: after the sliders respond. */
function explainNumbers(asked, hostOf) {
  for (const { number, node, store, entry, overrides } of asked) {
    const bubble = popover(store.strings), { move, bring } = hostOf(store);
    const fill = ({ resized }) => (overrides ? whatIfExplanation(store, entry.name, overrides) : explanation(store, entry.name, { move, bring, resized }));
    const ask = () => bubble.toggle(number, fill);
    if (number.classList.contains("is-assumption")) makeDraggable(number, node, store, store.assumptions.get(entry.name), { move, ask });
    else number.addEventListener("click", ask);
    bubble.hover(number, fill);
  }
}
