/**
 * The page's host of the estimates: gives panel.js its stores, keeps the sentences, the address
 * and the links in step with the sliders, explains numbers, and docks the headline results.
 *
 * Plotly is read from `vendor/plotly-basic.min.js` beside this file, or from the address in
 * `<meta name="plotly-src">`; `<meta name="estimate-names" content="a b c">` lists the whole
 * book's estimates, so that the state of another chapter's estimate is carried without a notice.
 */
import panel, {
  button, changeText, createStore, fillTemplate, fitFormulas, formatParts, formatValue, formulaView,
  fullText, h, mountFigure, nextFrame, normalise, outputView, setAttribute, setText, sourceView,
} from "./panel.js";

const SETTLE_MS = 350;
const anchorOf = (kind, store, name) => `${kind}-${store.spec.name.replaceAll(".", "-")}-${name}`;
const meta = (name) => document.querySelector(`meta[name="${name}"]`)?.content;

function debounced(job, wait = SETTLE_MS) {
  let timer = 0;
  const later = () => { clearTimeout(timer); timer = setTimeout(later.now, wait); };
  later.now = () => { if (timer) { clearTimeout(timer); timer = 0; job(); } };
  return later;
}

// ------------------------------------------------------------------------------------- plotly

let plotlyLoading = null;

/** Load the vendored Plotly once. */
function loadPlotly() {
  plotlyLoading ??= new Promise((resolve, reject) => {
    const beside = new URL("vendor/plotly-basic.min.js", import.meta.url).href;
    const script = h("script", { src: meta("plotly-src") ?? beside, async: true });
    script.onload = () => resolve(window.Plotly);
    script.onerror = reject;
    document.head.append(script);
  });
  return plotlyLoading;
}

/** Figures may ask for Plotly at once, but it is fetched only after the numbers respond. */
let openGate;
const gate = new Promise((resolve) => { openGate = resolve; });
const plotly = () => gate.then(loadPlotly);

// ------------------------------------------------------------------------------------ notices

function noticeRegion(strings) {
  const region = h("div", { class: "estimate-notices", role: "status", "aria-label": strings.notices });
  document.body.append(region);
  return (text) => {
    const close = button("ep-close", "✕", { "aria-label": strings.dismiss });
    const notice = h("div", { class: "estimate-notice" }, h("p", {}, text), close);
    close.addEventListener("click", () => notice.remove());
    region.append(notice);
  };
}

function politeRegion() {
  const region = h("p", { class: "ep-hidden", role: "status", "aria-atomic": "true" });
  document.body.append(region);
  return (text) => setText(region, text);
}

// ------------------------------------------------------------------------------------ address

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const short = (text) => (text.length > 60 ? `${text.slice(0, 57)}…` : text);

function splitKey(key) {
  const dot = key.lastIndexOf(".");
  return dot < 1 ? [null, key] : [key.slice(0, dot), key.slice(dot + 1)];
}

const book = new Set(meta("estimate-names")?.split(/\s+/));

/** Whether a parameter is not this page's affair: another chapter's estimate, or no estimate. */
function isForeign(owner, stores) {
  if (!owner || !/^[\w.]+$/.test(owner)) return true;
  return !stores.has(owner) && (book.has(owner) || book.size === 0);
}

/** Read `?estimate.name=value` into the stores; what cannot be used is told through `notify`. */
function readAddress(stores, strings, notify) {
  const wanted = new Map(new URLSearchParams(location.search)); // of duplicates the last one wins
  const changes = new Map();
  const tell = (key, name, value = "") =>
    notify(strings[key].replace("{name}", () => short(name)).replace("{value}", () => value));
  for (const [key, text] of wanted) {
    const [owner, name] = splitKey(key);
    if (isForeign(owner, stores)) continue;
    const store = stores.get(owner);
    const assumption = store?.assumptions.get(name);
    if (!assumption) { tell("address_unknown", key); continue; }
    const { value, reason } = normalise(assumption, NUMBER.test(text.trim()) ? text : NaN);
    if (value === null) { tell("address_number", assumption.label); continue; }
    if (reason) tell("address_clamped", assumption.label, fullText(assumption, value, store.strings));
    changes.set(store, { ...changes.get(store), [name]: value });
  }
  for (const [store, values] of changes) store.setMany(values);
}

/** The query for a page: foreign parameters as they are, then every changed assumption. */
function queryFor(stores, search, only = null) {
  const query = new URLSearchParams(search);
  for (const key of [...query.keys()]) if (!isForeign(splitKey(key)[0], stores)) query.delete(key);
  for (const store of only ? [only] : stores.values()) {
    for (const { name } of store.changed()) query.set(`${store.spec.name}.${name}`, String(store.values[name]));
  }
  const text = query.toString();
  return text ? `?${text}` : "";
}

const isBookPage = (link) =>
  link.protocol === location.protocol && link.host === location.host && !link.hasAttribute("download") &&
  !link.getAttribute("href").startsWith("#") && /(\.html|\/)$/.test(link.pathname);

/** Estimate parameters of `location`, put into the links to other pages of the book. */
function carryState() {
  const carried = [...new URLSearchParams(location.search)].filter(([key]) => key.includes("."));
  for (const link of document.querySelectorAll("a[href]")) {
    if (!isBookPage(link)) continue;
    const query = new URLSearchParams(link.search);
    for (const key of [...query.keys()]) if (key.includes(".")) query.delete(key);
    for (const [key, value] of carried) query.set(key, value);
    const text = query.toString();
    const search = text ? `?${text}` : "";
    if (link.search !== search) link.search = search;
  }
}

function keepAddress(stores) {
  const write = debounced(() => {
    const url = location.pathname + queryFor(stores, location.search) + location.hash;
    try {
      history.replaceState(history.state, "", url);
    } catch { /* a page opened from a file may not rewrite its address */ }
    carryState();
  });
  for (const store of stores.values()) store.subscribe(write);
  // A link used before the address has settled must not lead away with yesterday's numbers.
  for (const event of ["pointerdown", "focusin", "click"]) {
    document.addEventListener(event, ({ target }) => { if (target.closest?.("a[href]")) write.now(); }, true);
  }
  addEventListener("pagehide", write.now);
  carryState();
}

// ---------------------------------------------------------------------------------- sentences

/** What a live element on the page shows: {entry, value()}; null when its spec does not know it. */
function subjectOf(node, store) {
  const { output, assumption, whatIf } = node.dataset;
  const entry = store.entry(output ?? assumption ?? whatIf);
  if (!entry) return null;
  if (!whatIf) return { entry, value: () => store.value(entry.name) };
  const overrides = JSON.parse(node.dataset.with ?? "{}");
  return { entry, overrides, value: () => (store.assumptions.has(entry.name) ? store.override(overrides) : store.evaluate(overrides))[entry.name] };
}

const glow = new Set();
const fade = debounced(() => { for (const node of glow) node.classList.remove("is-hot"); glow.clear(); }, 600);

function numberWriter(node, subject, store) {
  const { entry, value } = subject;
  const write = node.dataset.style === "number" ? (now) => formatParts(entry.display, now, store.strings).number
    : (now) => (node.dataset.unit === "shown" ? fullText : (one, at) => formatValue(one.display, at, store.strings))(entry, now, store.strings);
  return () => {
    const now = value();
    const text = write(now);
    setAttribute(node, "data-value", typeof now === "boolean" || Number.isFinite(now) ? String(now) : "");
    if (node.textContent === text) return;
    setText(node, text);
    node.classList.add("is-hot");
    glow.add(node);
  };
}

/** Tie every live number outside the panels to its store; returns the explained buttons. */
function wireNumbers(stores) {
  const explained = new Map();
  const writers = new Map();
  for (const node of document.querySelectorAll("[data-output], [data-assumption], [data-what-if]")) {
    if (node.closest(".ep, math")) continue;
    const store = stores.get(node.closest("[data-estimate]")?.dataset.estimate);
    const subject = store && subjectOf(node, store);
    if (!subject) continue;
    if (node.tagName === "OUTPUT") setAttribute(node, "aria-live", "off");
    if (!writers.has(store)) writers.set(store, []);
    writers.get(store).push(numberWriter(node, subject, store));
    const number = node.closest(".estimate-number");
    if (number) explained.set(number, { ...subject, store });
  }
  for (const [store, list] of writers) {
    const write = () => { list.forEach((one) => one()); fade(); };
    write();
    store.subscribe(write);
  }
  return explained;
}

// ------------------------------------------------------------------------------------ summary

const STEP = 0.2; // as in summary.py, whose rule this follows

/** The assumption whose ±20% spreads `output` widest, and the output at both ends. */
function leverOf(store, output) {
  let best = null;
  for (const [name, one] of store.assumptions) {
    const [low, high] = [1 - STEP, 1 + STEP].map((factor) => {
      const moved = Math.min(one.high, Math.max(one.low, store.values[name] * factor));
      const values = { ...store.values, [name]: one.scale === "integer" ? Math.floor(moved + 0.5) : moved };
      return store.evaluateAt(values)[output];
    });
    if (!best || Math.abs(high - low) > Math.abs(best.high - best.low) * (1 + 1e-9)) best = { one, low, high };
  }
  return best;
}

/** Keep the summary's levers in step; they cost two evaluations an assumption, so they wait. */
function wireLevers(stores) {
  for (const row of document.querySelectorAll("[data-lever]")) {
    const store = stores.get(row.dataset.estimate);
    const entry = store?.entry(row.dataset.lever);
    if (!entry) continue;
    const write = () => {
      const { one, ...ends } = leverOf(store, entry.name);
      setText(row.querySelector("[data-lever-name]"), one.label);
      for (const cell of row.querySelectorAll("[data-lever-end]")) {
        setText(cell, formatValue(entry.display, ends[cell.dataset.leverEnd], store.strings));
      }
    };
    if (store.changed().length) write();
    store.subscribe(debounced(write, 200));
  }
}

// ------------------------------------------------------------------------------- explanations

function explanation({ entry, store, overrides, value }) {
  const { strings } = store;
  const show = (one, now) => fullText(one, now, strings);
  const isAssumption = store.assumptions.has(entry.name);
  const parts = [h("p", { class: "ep-explained" },
    h("strong", {}, entry.label), h("span", {}, show(entry, value())))];
  if (overrides) {
    const given = Object.entries(overrides).map(([name, change]) => {
      const one = store.entry(name);
      return `${one?.label ?? name}: ${one ? show(one, store.override({ [name]: change })[name]) : change}`;
    });
    parts.push(h("p", { class: "ep-muted" }, `${strings.what_if} ${given.join("; ")}`));
  }
  if (isAssumption) parts.push(sourceView(store, entry));
  else if (entry.meaning) parts.push(h("p", { class: "ep-muted" }, entry.meaning));
  if (entry.formula) {
    const plain = formulaView(store, entry), filled = formulaView(store, entry);
    if (overrides) parts.push(plain.node);
    else { filled.update(true); parts.push(plain.node, h("p", { class: "ep-muted" }, strings.today), filled.node); }
  }
  if (!isAssumption && !overrides) {
    const change = changeText(store, entry);
    const base = strings.default_value.replace("{value}", show(entry, store.defaultResults[entry.name]));
    parts.push(h("p", { class: "ep-muted" }, /^[+−×]/.test(change ?? "") ? `${base} (${change})` : base));
  }
  const row = document.getElementById(anchorOf(isAssumption ? "assumption" : "result", store, entry.name));
  if (row) parts.push(rowLink(row, strings));
  return parts;
}

function rowLink(row, strings) {
  const link = h("a", { href: `#${row.id}` }, strings.show_in_panel);
  link.addEventListener("click", () => { const folded = row.closest("details"); if (folded) folded.open = true; });
  return link;
}

/** One popover for all numbers: hover and focus show it, a tap or click keeps it open. */
function explainNumbers(explained, strings) {
  if (!explained.size) return;
  const box = h("div", {
    class: "estimate-popover", id: "estimate-popover", role: "dialog", popover: "manual",
    "aria-label": strings.explanation,
  });
  let owner = null, pinned = false, timer = 0;
  const fill = () => {
    box.replaceChildren(...explanation(explained.get(owner)));
    fitFormulas([...box.querySelectorAll(".ep-formula")]);
  };
  const place = () => {
    const at = owner.getBoundingClientRect(), size = box.getBoundingClientRect();
    const room = document.documentElement.clientWidth;
    const left = Math.max(8, Math.min(at.left, room - size.width - 8));
    const above = at.bottom + size.height + 12 > innerHeight && at.top > size.height + 12;
    box.style.left = `${left + scrollX}px`;
    box.style.top = `${(above ? at.top - size.height - 8 : at.bottom + 8) + scrollY}px`;
  };
  const close = () => {
    clearTimeout(timer);
    if (!owner) return;
    owner.setAttribute("aria-expanded", "false");
    owner.removeAttribute("aria-describedby");
    owner = null;
    pinned = false;
    box.hidePopover();
  };
  const open = (number) => {
    clearTimeout(timer);
    if (owner === number) return;
    close();
    owner = number;
    number.after(box); // so that Tab goes from the number into its explanation
    box.showPopover();
    fill();
    place();
    number.setAttribute("aria-expanded", "true");
    number.setAttribute("aria-describedby", box.id);
  };
  const later = (job, wait) => { clearTimeout(timer); timer = setTimeout(job, wait); };
  for (const number of explained.keys()) {
    setAttribute(number, "aria-expanded", "false");
    setAttribute(number, "aria-haspopup", "dialog");
    number.addEventListener("pointerenter", ({ pointerType }) => {
      if (pointerType === "mouse" && !pinned) later(() => open(number), 220);
    });
    number.addEventListener("pointerleave", () => { if (!pinned) later(close, 220); });
    number.addEventListener("focus", () => { if (number.matches(":focus-visible")) open(number); });
    number.addEventListener("click", () => {
      if (owner === number && pinned) return close();
      open(number);
      pinned = true;
    });
  }
  box.addEventListener("pointerenter", () => clearTimeout(timer));
  box.addEventListener("pointerleave", () => { if (!pinned) later(close, 220); });
  const outside = (node) => owner && node !== owner && !owner.contains(node) && !box.contains(node);
  document.addEventListener("pointerdown", ({ target }) => { if (outside(target)) close(); });
  document.addEventListener("focusin", ({ target }) => { if (outside(target)) close(); });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !owner) return;
    if (box.contains(document.activeElement)) owner.focus();
    close();
    event.stopPropagation();
  }, true);
  for (const store of new Set([...explained.values()].map((one) => one.store))) {
    store.subscribe(() => { if (owner && explained.get(owner).store === store) nextFrame(() => owner && fill()); });
  }
}

// --------------------------------------------------------------------------------------- dock

function dockResults(store) {
  const parts = store.spec.results.filter((one) => one.headline).map((one) => {
    const output = outputView(store, one);
    const node = h("div", { class: "ep-dock-item" }, h("span", {}, one.label), output.node);
    return { node, update: output.update };
  });
  const update = () => parts.forEach((one) => one.update());
  update();
  store.subscribe(update);
  return parts.map((one) => one.node);
}

/** The bar that stays when the panel has scrolled away, and the drawer that holds its sliders. */
function dock(root, store) {
  const { strings } = store;
  const controls = root.querySelector(".ep-controls"), slot = root.querySelector(".ep-slot");
  const id = "estimate-drawer", titleId = "estimate-drawer-title";
  const toggle = button("ep-button", strings.assumptions, { "aria-expanded": "false", "aria-controls": id });
  const close = button("ep-close", "✕", { "aria-label": strings.close });
  const title = h("p", { class: "ep-title", id: titleId }, `${store.spec.title}: ${strings.assumptions}`);
  const body = h("div", { class: "ep-drawer-body" });
  const drawer = h("div",
    { class: "estimate-drawer", id, role: "dialog", "aria-labelledby": titleId, hidden: true },
    h("div", { class: "ep-drawer-head" }, title, close), body);
  const bar = h("section", { class: "estimate-dock", "aria-label": strings.dock },
    h("div", { class: "ep-dock-bar" }, ...dockResults(store), toggle), drawer);
  const show = (open) => {
    if (drawer.hidden !== open) return;
    const focused = document.activeElement;
    if (open) slot.style.minHeight = `${slot.getBoundingClientRect().height}px`; // the page keeps its place
    drawer.hidden = !open;
    slot.classList.toggle("is-away", open);
    (open ? body : slot).append(controls); // moved, not copied: each slider exists once
    if (!open) slot.style.minHeight = "";
    toggle.setAttribute("aria-expanded", String(open));
    if (open) close.focus({ preventScroll: true });
    else if (controls.contains(focused)) focused.focus({ preventScroll: true });
  };
  const leave = () => { show(false); toggle.focus({ preventScroll: true }); };
  slot.append(h("p", { class: "ep-away" }, strings.in_drawer));
  toggle.addEventListener("click", () => (drawer.hidden ? show(true) : leave()));
  close.addEventListener("click", leave);
  drawer.addEventListener("keydown", ({ key }) => { if (key === "Escape") leave(); });
  document.body.append(bar);
  new IntersectionObserver(([seen]) => {
    const passed = !seen.isIntersecting && seen.boundingClientRect.bottom < seen.rootBounds.bottom / 2;
    bar.classList.toggle("is-shown", passed);
    if (!passed) show(false);
  }).observe(root);
  document.documentElement.classList.add("has-estimate-dock");
}

// --------------------------------------------------------------------------------------- page

function readSpecs() {
  const specs = new Map();
  for (const script of document.querySelectorAll("script[data-estimate-spec]")) {
    const spec = JSON.parse(script.textContent);
    if (!specs.has(spec.name)) specs.set(spec.name, spec);
  }
  return [...specs.values()];
}

/** The model that panel.js expects, over a store that the page shares between its parts. */
function pageModel(store, root, stores, announce) {
  const idle = () => {};
  return {
    store, plotly, announce,
    link: () => location.origin + location.pathname + queryFor(stores, "", store) + (root.id ? `#${root.id}` : ""),
    get: (name) => (name === "spec" ? store.spec : store.value(name)),
    set: (name, value) => store.set(name, value),
    on: idle, off: idle, send: idle, save_changes: idle,
  };
}

function speakChanges(store, announce) {
  let before = store.results;
  const headlines = store.spec.results.filter((one) => one.headline);
  const verdicts = store.spec.results.filter((one) => one.verdict);
  const speak = debounced(() => {
    const now = store.results;
    const moved = (one) => now[one.name] !== before[one.name];
    const headline = (one) => `${one.label}: ${fullText(one, now[one.name], store.strings)}`;
    const verdict = (one) => fillTemplate(now[one.name] ? one.verdict.yes : one.verdict.no, store);
    const words = [...headlines.filter(moved).map(headline), ...verdicts.filter(moved).map(verdict)];
    before = now;
    if (words.length) announce(words.join(". "));
  }, 900);
  store.subscribe(speak);
}

function mountFigures(stores) {
  for (const host of document.querySelectorAll("figure.estimate-figure:not(.ep-pane)")) {
    const store = stores.get(host.dataset.estimate);
    const figure = store?.spec.figures?.find((one) => one.id === host.dataset.figure);
    if (figure) mountFigure(host, figure, store, { plotly });
  }
}

/** The page grew while it was mounted: go once more to what the address points at. */
function showTarget() {
  try {
    document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
  } catch { /* a malformed address points at nothing */ }
}

/** The static tables print the defaults: they stay, hidden, and are no longer results. */
function keepForPrint(root, fallback) {
  root.append(fallback);
  for (const node of fallback.querySelectorAll("[data-output]")) node.removeAttribute("data-output");
}

async function start() {
  const specs = readSpecs();
  if (!specs.length) return;
  const stores = new Map(specs.map((spec) => [spec.name, createStore(spec)]));
  const { strings } = stores.values().next().value;
  const announce = politeRegion();
  readAddress(stores, strings, noticeRegion(strings));
  const whole = [];
  for (const root of document.querySelectorAll(".estimate-panel[data-estimate]")) {
    const store = stores.get(root.dataset.estimate);
    if (!store) continue;
    const fallback = root.querySelector(".estimate-static");
    await panel.render({ model: pageModel(store, root, stores, announce), el: root });
    if (fallback) keepForPrint(root, fallback);
    if (!store.spec.compact) whole.push({ root, store });
  }
  const explained = wireNumbers(stores);
  keepAddress(stores);
  performance.mark("estimates-ready");
  explainNumbers(explained, strings);
  for (const store of stores.values()) speakChanges(store, announce);
  if (whole.length === 1) dock(whole[0].root, whole[0].store); // several panels share no dock
  wireLevers(stores);
  mountFigures(stores);
  showTarget();
  setTimeout(openGate, 0);
  if (document.querySelector(".estimate-plot")) (window.requestIdleCallback ?? setTimeout)(plotly);
}

start();
