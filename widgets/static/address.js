/**
 * The address: `?moe_serving.request_rate=1000`, and of scenario B `b=moe_serving` with
 * `b.moe_serving.request_rate=500`. It is read once and on Back, and kept in step.
 */
import { debounced, fillWord } from "./dom.js";
import { normalise, valueText } from "./store.js";

const SETTLE_MS = 350, LONGEST = 60;
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const MOST_NOTICES = 5;
const short = (text) => (text.length > LONGEST ? `${text.slice(0, LONGEST - 3)}…` : text);

/** "b.moe_serving.request_rate" → {b: true, owner: "moe_serving", name: "request_rate"}. */
function splitKey(key) {
  const b = key.startsWith("b."), rest = b ? key.slice(2) : key, dot = rest.lastIndexOf(".");
  return dot < 1 ? { b, owner: null, name: rest } : { b, owner: rest.slice(0, dot), name: rest.slice(dot + 1) };
}

const namesOfBook = () => new Set(document.querySelector('meta[name="estimate-names"]')?.content.split(/\s+/));

/** Whether a parameter is not this page's affair: another chapter's estimate, or no estimate. */
function isForeign(key, stores, book) {
  const { owner } = splitKey(key);
  if (key === "b") return false;
  if (!owner || !/^[\w.]+$/.test(owner)) return true;
  return !stores.has(owner) && (book.has(owner) || book.size === 0);
}

/** What the address says of each store: {a: {name: value}, b: {…} or null}. */
function readScenarios(stores, strings, notify) {
  const wanted = new Map(new URLSearchParams(location.search)), book = namesOfBook(); // of duplicates the last one wins
  const pinned = new Set((wanted.get("b") ?? "").split(","));
  const found = new Map([...stores].map(([name]) => [name, { a: {}, b: pinned.has(name) ? {} : null }]));
  const tell = (word, name, value = "") => notify(fillWord(strings[word], { name: short(name), value }));
  for (const [key, text] of wanted) {
    if (key === "b" || isForeign(key, stores, book)) continue;
    const { b, owner, name } = splitKey(key), store = stores.get(owner);
    const assumption = store?.assumptions.get(name);
    if (!assumption) { tell("address_unknown", key); continue; }
    const { value, reason } = normalise(assumption, NUMBER.test(text.trim()) ? text : NaN);
    if (value === null) { tell("address_number", assumption.label); continue; }
    if (reason) tell("address_clamped", assumption.label, valueText(assumption, value));
    const one = found.get(owner);
    if (b) (one.b ??= {})[name] = value;
    else one.a[name] = value;
  }
  return found;
}

/** Put the address into the stores; what cannot be used is told through `notify`, a few times. */
export function readAddress(stores, strings, notify) {
  let told = 0;
  const few = (text) => { if (++told <= MOST_NOTICES) notify(text); };
  for (const [name, { a, b }] of readScenarios(stores, strings, few)) {
    const store = stores.get(name);
    const differs = Object.keys(a).length || b || store.b || store.changed().length;
    if (differs) store.restore(a, b);
  }
  if (told > MOST_NOTICES) notify(fillWord(strings.address_more, { n: told - MOST_NOTICES }));
}

/** The query for a page: foreign parameters as they are, then what is changed, then B. */
export function queryFor(stores, search, only = null) {
  const query = new URLSearchParams(search), book = namesOfBook();
  const elsewhere = (query.get("b") ?? "").split(",").filter((one) => one && !stores.has(one) && book.has(one));
  for (const key of [...query.keys()]) if (!isForeign(key, stores, book)) query.delete(key);
  const pinned = [...elsewhere];
  for (const store of only ? [only] : stores.values()) {
    const write = (prefix, values) => {
      for (const { name, default: standard } of store.spec.assumptions) {
        if (values[name] !== standard) query.set(`${prefix}${store.spec.name}.${name}`, String(values[name]));
      }
    };
    write("", store.values);
    if (!store.b) continue;
    pinned.push(store.spec.name);
    write("b.", store.b.values);
  }
  if (pinned.length) query.set("b", pinned.join(","));
  const text = query.toString().replaceAll("%2C", ",");
  return text ? `?${text}` : "";
}

const isCarried = (key) => key === "b" || key.includes(".");

const isBookPage = (link) =>
  link.protocol === location.protocol && link.host === location.host && !link.hasAttribute("download") &&
  !link.getAttribute("href").startsWith("#") && /(\.html|\/)$/.test(link.pathname);

/** Estimate parameters of the address, put into a link to another page of the book. */
function carryInto(link, carried) {
  if (!isBookPage(link)) return;
  const query = new URLSearchParams(link.search);
  for (const key of [...query.keys()]) if (isCarried(key)) query.delete(key);
  for (const [key, value] of carried) query.set(key, value);
  const text = query.toString().replaceAll("%2C", ","), search = text ? `?${text}` : "";
  if (link.search !== search) link.search = search;
}

const carriedNow = () => [...new URLSearchParams(location.search)].filter(([key]) => isCarried(key));

let linked = null;

/** The same for all links of the page, where the address has changed since. */
export function carryState() {
  if (location.search === linked) return;
  linked = location.search;
  const carried = carriedNow();
  for (const link of document.querySelectorAll("a[href]")) carryInto(link, carried);
}

/** Keep the address in step; a whole new scenario (a preset, a pinned B) is a step for Back. */
export function keepAddress(stores, strings) {
  const here = () => location.pathname + queryFor(stores, location.search) + location.hash;
  const put = (method) => {
    try {
      history[method](history.state, "", here());
    } catch { /* a page opened from a file may not rewrite its address */ }
    carryState();
  };
  const write = debounced(() => put("replaceState"), SETTLE_MS);
  let away = false;
  const follow = (store) => store.subscribe(() => { if (!away) write(); });
  for (const store of stores.values()) follow(store);
  // A link used before the address has settled must not lead away with yesterday's numbers, and
  // one that was made since the page was opened carries them too.
  for (const event of ["pointerdown", "focusin", "click"]) {
    document.addEventListener(event, ({ target }) => {
      const link = target.closest?.("a[href]");
      if (!link) return;
      write.now();
      carryInto(link, carriedNow());
    }, true);
  }
  addEventListener("pagehide", write.now);
  addEventListener("popstate", () => {
    away = true;
    readAddress(stores, strings, () => {});
    away = false;
    carryState();
  });
  carryState();
  return {
    follow,
    /** Before a leap: what stood before it stays one step back. */
    leap() {
      write.now();
      try {
        history.pushState(history.state, "", location.href);
      } catch { /* as above */ }
    },
  };
}
