/**
 * The host on the published page: makes the stores, mounts the panels, keeps sentences, address
 * and links in step, and loads Plotly once the numbers respond.
 */
import { keepAddress, queryFor, readAddress } from "./address.js";
import { mountDock } from "./dock.js";
import { button, debounced, h, setText, whenIdle } from "./dom.js";
import { mountFigure } from "./figures.js";
import { changesInWords, mountPanel } from "./panel.js";
import { wireNumbers } from "./prose.js";
import { createStore, textOf } from "./store.js";

const SPEAK_MS = 900;
const meta = (name) => document.querySelector(`meta[name="${name}"]`)?.content;

// ------------------------------------------------------------------------------------- scripts

const loading = new Map();

/** Load a script once. */
function loadScript(address) {
  if (!loading.has(address)) {
    loading.set(address, new Promise((resolve, reject) => {
      const script = h("script", { src: address, async: true });
      script.onload = resolve;
      script.onerror = reject;
      document.head.append(script);
    }));
  }
  return loading.get(address);
}

/** Figures may ask for Plotly at once, but it is fetched only after the numbers respond. */
let openGate;
const gate = new Promise((resolve) => { openGate = resolve; });
const readShape = (config) => loadScript(meta("shapes-src")).then(() => window.bookShapes.read_shape(config));
const plotly = () => gate.then(() => loadScript(meta("plotly-src"))).then(() => window.Plotly);

/** What the page's own extensions export; see `EXTENSIONS` in script.py. */
const extras = Object.assign({}, ...(window.bookExtensions ?? []).map((make) => make(window.bookKit)));

// ------------------------------------------------------------------------------------- regions

function noticeRegion(strings) {
  const region = h("div", { class: "estimate-notices", role: "status", "aria-label": strings.notices });
  document.body.append(region);
  return (text) => {
    const notice = h("div", { class: "estimate-notice" }, h("p", {}, text),
      button("ep-close", "✕", () => notice.remove(), { "aria-label": strings.dismiss }));
    region.append(notice);
  };
}

function politeRegion() {
  const region = h("p", { class: "ep-hidden", role: "status", "aria-atomic": "true" });
  document.body.append(region);
  return (text) => setText(region, text);
}

function speakChanges(store, announce) {
  let before = store.results;
  store.subscribe(debounced(() => {
    const words = changesInWords(store, before);
    before = store.results;
    if (words) announce(words);
  }, SPEAK_MS));
}

// ------------------------------------------------------------------------------------- summary

const LEVER = 0.2; // as in summary.py, whose rule this follows

/** The assumption whose ±20% spreads `output` widest, and the output at both ends. */
function leverOf(store, output) {
  let best = null;
  for (const [name, one] of store.assumptions) {
    const [low, high] = [1 - LEVER, 1 + LEVER].map((factor) => {
      const moved = Math.min(one.high, Math.max(one.low, store.values[name] * factor));
      const values = { ...store.values, [name]: one.scale === "integer" ? Math.floor(moved + 0.5) : moved };
      return { values, results: store.evaluateAt(values) };
    });
    const spread = Math.abs(high.results[output] - low.results[output]);
    if (!best || spread > best.spread * (1 + 1e-9)) best = { one, low, high, spread };
  }
  return best;
}

/** Keep the summary's levers in step; they cost two evaluations an assumption, so they wait. */
function wireLevers(stores) {
  for (const row of document.querySelectorAll("[data-lever]")) {
    const store = stores.get(row.dataset.estimate), output = row.dataset.lever;
    if (!store?.entry(output)) continue;
    const write = () => {
      const { one, ...ends } = leverOf(store, output);
      setText(row.querySelector("[data-lever-name]"), one.label);
      for (const cell of row.querySelectorAll("[data-lever-end]")) setText(cell, textOf(store, output, "noun", ends[cell.dataset.leverEnd]));
    };
    if (store.changed().length) write();
    store.subscribe(debounced(write, 200));
  }
}

// ---------------------------------------------------------------------------------- calculators

const REMEMBERED = "calculator";

function remembered() {
  try { return localStorage.getItem(REMEMBERED); } catch { return null; } // storage may be forbidden
}

function remember(name) {
  try { localStorage.setItem(REMEMBERED, name); } catch { /* as above */ }
}

/** One panel at a time: the estimate in the fragment, or the last one, or the first. */
async function startCalculators(root, host) {
  const { estimates, label } = root.dataset, list = JSON.parse(estimates);
  const asked = decodeFragment();
  const first = [asked, remembered()].find((name) => list.some((one) => one.name === name)) ?? list[0].name;
  const picker = h("select", { class: "ep-select ep-picker", "aria-label": label }, ...list.map((one) => h("option", { value: one.name, selected: one.name === first }, one.title)));
  const chapter = h("a", {}, root.dataset.chapter), place = h("div", {});
  let shown = null;
  const show = async (name) => {
    const one = list.find((each) => each.name === name);
    picker.value = name;
    chapter.setAttribute("href", one.href);
    if (!window.bookEstimates?.[name]) await loadScript(one.script);
    if (picker.value !== name) return; // another was picked meanwhile
    shown?.unmount();
    const section = h("section", { class: "estimate-panel", id: `estimate-${name}`, "data-estimate": name });
    place.replaceChildren(section);
    shown = host.mount(section, host.storeOf(name));
    remember(name);
  };
  picker.addEventListener("change", () => {
    history.replaceState(history.state, "", `${location.pathname}${location.search}#${picker.value}`);
    show(picker.value);
  });
  addEventListener("hashchange", () => { const name = decodeFragment(); if (list.some((one) => one.name === name)) show(name); });
  root.replaceChildren(h("p", { class: "ep-picker-line" }, picker, " ", chapter), place);
  await show(first);
}

/** The fragment of the address; "" where it is malformed, and so points at nothing. */
function decodeFragment() {
  try { return decodeURIComponent(location.hash.slice(1)); } catch { return ""; }
}

// ----------------------------------------------------------------------------------------- page

function readSpecs() {
  const specs = new Map();
  for (const script of document.querySelectorAll("script[data-estimate-spec]")) {
    const spec = JSON.parse(script.textContent);
    if (!specs.has(spec.name)) specs.set(spec.name, spec);
  }
  return specs;
}

/** An estimate's functions; those of the validation go over all published runs of the page. */
function moduleOf(name) {
  const { module } = window.bookEstimates[name], runs = document.querySelector("script[data-validation-runs]");
  return runs && name === "validation" ? extras.validationModule(module, JSON.parse(runs.textContent)) : module;
}

/** The page grew while it was mounted: go once more to what the address points at, unfolded. */
function showTarget(panels) {
  const target = document.getElementById(decodeFragment());
  if (!target) return;
  for (const { panel } of panels.values()) if (panel.tools && target.closest('[data-pane="formulas"]')) panel.tools.showResults();
  for (let box = target.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
  target.scrollIntoView();
}

/** The static tables print the defaults: they stay, hidden, and are no longer results. */
function keepForPrint(root) {
  for (const node of root.querySelectorAll(".estimate-static [data-output]")) node.removeAttribute("data-output");
}

function mountFigures(stores, hostOf) {
  for (const host of document.querySelectorAll("figure.estimate-figure:not(.ep-pane)")) {
    const store = stores.get(host.dataset.estimate);
    const figure = store?.spec.figures?.find((one) => one.id === host.dataset.figure);
    if (figure) mountFigure(host, figure, store, { plotly, move: hostOf(store).move });
  }
}

function mountMachines(stores, hostOf, announce) {
  for (const root of document.querySelectorAll("[data-machine]")) {
    const store = stores.get(root.dataset.machine), spec = document.querySelector("script[data-machine-spec]");
    if (store && extras.mountMachine) extras.mountMachine(root, store, JSON.parse(spec.textContent), { move: hostOf(store).move, announce });
  }
}

async function start() {
  const specs = readSpecs(), calculators = document.querySelector("[data-calculators]");
  if (!specs.size && !calculators) return;
  const stores = new Map([...specs].map(([name, spec]) => [name, createStore(spec, moduleOf(name))]));
  const strings = specs.size ? specs.values().next().value.strings : JSON.parse(calculators.dataset.strings);
  const announce = politeRegion(), notify = noticeRegion(strings);
  readAddress(stores, strings, notify);
  const panels = new Map();
  let address = null;
  const link = (store, root) => () => location.href.split(/[?#]/)[0] + queryFor(stores, "", store) + (root.id ? `#${root.id}` : "");
  const wish = (store) => (changes, key) => {
    if (key === null) address?.leap();
    return store.setMany(changes, key);
  };
  const mount = (root, store) => {
    const panel = mountPanel(root, store, { plotly, announce, readShape, pickersView: extras.pickersView, link: link(store, root), anchors: true, move: wish(store) });
    panels.set(store.spec.name, { root, panel });
    keepForPrint(root);
    return panel;
  };
  for (const root of document.querySelectorAll(".estimate-panel[data-estimate]")) {
    const store = stores.get(root.dataset.estimate);
    if (store) mount(root, store);
  }
  const hostOf = (store) => {
    const mounted = panels.get(store.spec.name);
    return {
      move: mounted?.panel.move ?? wish(store),
      bring: mounted?.panel.bring,
    };
  };
  const explain = wireNumbers(stores, hostOf);
  address = keepAddress(stores, strings);
  const storeOf = (name) => {
    if (!stores.has(name)) {
      const { spec, module } = window.bookEstimates[name];
      const store = createStore(spec, module);
      stores.set(name, store);
      readAddress(new Map([[name, store]]), strings, notify);
      address.follow(store);
      speakChanges(store, announce);
      whenIdle(store.findIdle);
    }
    return stores.get(name);
  };
  const validation = document.querySelector("[data-validation]");
  if (validation) extras.mountValidation(validation, stores.get("validation"), { plotly, move: wish(stores.get("validation")) });
  if (calculators) await startCalculators(calculators, { mount, storeOf });
  performance.mark("estimates-ready");
  explain();
  for (const store of stores.values()) speakChanges(store, announce);
  const whole = [...panels].filter(([name]) => !stores.get(name).spec.compact);
  if (whole.length === 1 && !calculators) { // several panels share no dock
    const [[name, { root, panel }]] = whole;
    mountDock(root, stores.get(name), { panel, plotly });
  }
  wireLevers(stores);
  mountFigures(stores, hostOf);
  mountMachines(stores, hostOf, announce);
  showTarget(panels);
  addEventListener("hashchange", () => showTarget(panels));
  setTimeout(openGate, 0);
  if (document.querySelector(".estimate-plot")) whenIdle(plotly);
  for (const { root } of panels.values()) stores.get(root.dataset.estimate).findIdle();
}

start();
