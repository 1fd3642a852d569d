/**
 * "Run it on your GPUs": the commands for today's values, each flag with its reason, and what came
 * back beside the estimate. Constants that explain the difference become assumptions like any
 * other, so that the address keeps them as the reader's machine.
 */
import { button, fillWord, h, setAttribute, setText, uid } from "./dom.js";
import { fitConstants, meet } from "./fit.js";
import { grouped } from "./format.js";
import { readMeasured, Unusable } from "./measured.js";
import { pasteBox } from "./paste.js";
import { fillTemplate, fullText, normalise, valueText } from "./store.js";
import { copyButton } from "./take.js";

const NO_MODEL = "MODEL", REPOSITORY = /^(?!-)[\w.-]+(?:\/[\w.-]+)?$/; // as in machine.py
const CLOSE = 0.03, ALONE = 1; // an error not worth a fit; the load at which TTFT holds no queue
const MOST_RUNS = 24;

// ------------------------------------------------------------------------------------- commands

/** A number as a command takes it, as `plain` in machine.py. */
export const plainNumber = (value) => Number(value.toFixed(3)).toString();

function loadsOf(concurrency) {
  const steps = [1, Math.max(1, Math.round(concurrency / 4)), Math.max(1, Math.round(concurrency))];
  return [...new Set(steps)].sort((a, b) => a - b).join(" ");
}

/** What the pickers say of the formats and the model; nothing where there are none. */
function pickedOf(store) {
  const { model, format } = store.picked?.() ?? {}, weights = format?.weights ?? "";
  const narrower = weights && weights !== model?.format;
  return {
    model: REPOSITORY.test(model?.repo ?? "") ? model.repo : NO_MODEL, kv_fp8: format?.kv === "fp8",
    to_fp8: narrower && weights === "fp8" && model.format === "bf16",
    other: narrower && !(weights === "fp8" && model.format === "bf16") ? weights.toUpperCase() : "",
  };
}

function conditionsOf(store, picked) {
  const { data_parallel, experts } = store.values;
  return new Set([data_parallel > 1 ? "ranks" : "one_rank", experts > 0 ? "experts" : "dense",
    picked.to_fp8 && "to_fp8", picked.kv_fp8 && "kv_fp8"].filter(Boolean));
}

const standing = (parts, holding) => parts.filter((part) => part.when.every((one) => holding.has(one)));

function commandText(store, parts, picked) {
  const texts = { model: picked.model, loads: loadsOf(store.values.concurrency) };
  const word = (whole, name) => texts[name] ?? plainNumber(store.value(name));
  return standing(parts, conditionsOf(store, picked)).map(({ text }) => text.replace(/\{(\w+)\}/g, word)).join(" \\\n  ");
}

/** One of several commands: which, its text with a button to copy, the reasons, hints. */
function commandView(store, { title, label, commands, names, hints, announce, strings }) {
  const keys = Object.keys(commands);
  let shown = keys[0];
  const text = h("pre", { tabindex: "0", "aria-label": title }), why = h("dl", {}), notes = h("div", { class: "ep-machine-notes" });
  const draw = () => {
    const picked = pickedOf(store), parts = commands[shown];
    for (const one of choice.children) setAttribute(one, "aria-pressed", String(one.dataset.value === shown));
    setText(text, commandText(store, parts, picked));
    const reasons = standing(parts, conditionsOf(store, picked)).filter((part) => part.why);
    const key = reasons.map((part) => part.text).join(" ");
    if (why.dataset.key !== key) {
      why.dataset.key = key;
      why.replaceChildren(...reasons.flatMap((part) => [h("dt", {}, h("code", {}, part.subject)), h("dd", {})]));
    }
    reasons.forEach((part, i) => setText(why.children[2 * i + 1], fillTemplate(part.why, store)));
    const said = hints(picked).join(" ");
    setText(notes, said);
    notes.hidden = !said;
  };
  const choice = h("div", { class: "ep-choice", role: "group", "aria-label": label },
    ...keys.map((key) => button("", names[key], () => { shown = key; draw(); }, { "data-value": key })));
  const follow = () => { // the engine's picker leads, until the reader chooses here
    const engine = store.picked?.().engine?.key;
    if (engine !== follow.seen && commands[engine]) shown = engine;
    follow.seen = engine;
    draw();
  };
  const view = h("div", { class: "ep-command" },
    h("div", { class: "ep-command-bar" }, h("h3", {}, title), choice, h("span", { class: "ep-space" }),
      copyButton("ep-button", strings.copy, store.strings, () => text.textContent, announce)),
    text, notes, h("details", {}, h("summary", {}, strings.why), why));
  return store.bind(view, follow);
}

// -------------------------------------------------------------------------------- what came back

/** The estimate at the load of a run, everything else as the sliders stand; or with `values`. */
function atLoad(store, run, values = store.values) {
  const clamp = (name) => normalise(store.assumptions.get(name), run[name]).value;
  const load = { concurrency: clamp("concurrency"), input_tokens: clamp("input_tokens"), output_tokens: clamp("output_tokens") };
  return store.evaluateAt({ ...values, ...load });
}

/** What the log counts for one GPU or one copy of attention, and what the estimate says of it. */
const LOG = {
  weights: { word: "weights", of: ({ results }) => results.weight_bytes_per_gpu, like: "weight_bytes_per_gpu" },
  pool: { word: "pool", of: ({ results }) => results.kv_pool_bytes_per_gpu, like: "kv_pool_bytes_per_gpu" },
  tokens: { word: "tokens", of: ({ results, values }) => results.tokens_that_fit / values.data_parallel, like: "tokens_that_fit" },
};

const textLike = (store, like, value) => fullText(store, like, { values: store.values, results: { ...store.results, [like]: value } });
const signed = (share) => `${share < 0 ? "\u2212" : "+"}${percent(share)}`;
const percent = (share) => `${Number((Math.abs(share) * 100).toPrecision(2))}%`;
const median = (list) => {
  const sorted = [...list].sort((a, b) => a - b), middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

function rowsOf(store, { runs, log }, strings) {
  const rows = runs.flatMap((run) => {
    const found = atLoad(store, run);
    const load = fillWord(strings.load_cell, Object.fromEntries([["concurrency", run.concurrency], ["input", run.input_tokens], ["output", run.output_tokens]]
      .map(([key, value]) => [key, grouped(String(Math.round(value)))])));
    const row = (word, like, measured) => measured && { key: word, load, what: strings[word], like, measured, estimated: found[like] };
    return [row("tpot", "tpot_s", run.tpot_s), run.concurrency <= ALONE && row("ttft_idle", "ttft_s", run.ttft_s),
      row("output", "output_tokens_per_s", run.output_tokens_per_s)].filter(Boolean);
  });
  const logged = Object.keys(LOG).filter((key) => log[key] > 0).map((key) => ({
    key, load: "", what: strings[LOG[key].word], like: LOG[key].like, measured: log[key], estimated: LOG[key].of(store),
  }));
  return [...rows, ...logged];
}

const cell = (text, attributes = {}) => h("td", attributes, text);

/** One body a load, under a line that names it; what the log says comes last. */
function bodiesOf(store, rows) {
  const loads = [...new Set(rows.map((row) => row.load))];
  const line = (row) => {
    const error = row.estimated / row.measured - 1;
    return h("tr", { "data-row": row.key }, h("th", { scope: "row" }, row.what),
      ...[row.measured, row.estimated].map((one) => cell(textLike(store, row.like, one))), cell(signed(error), { "data-error": error }));
  };
  return loads.map((load) => h("tbody", {}, load && h("tr", {}, h("th", { colspan: "4", scope: "rowgroup" }, load)),
    ...rows.filter((row) => row.load === load).map(line)));
}

function comparison(store, found, strings) {
  const head = h("thead", {}, h("tr", {}, ...["load", "measured", "estimated", "error"].map((word) => h("th", { scope: "col" }, strings[word]))));
  const table = h("table", { class: "ep-compare" }, head), view = h("div", { class: "ep-scroll" }, table);
  store.bind(view, () => table.replaceChildren(head, ...bodiesOf(store, rowsOf(store, found, strings))));
  return [view, found.runs.length ? h("p", { class: "ep-muted" }, strings.load_note) : null].filter(Boolean);
}

/** What explains the difference: constants of the step, and memory kept back. */
async function explain(store, { runs, log }, names, stale) {
  const start = store.values, one = (name) => store.assumptions.get(name);
  const errorsAt = (values) => runs.map((run) => Math.abs(atLoad(store, run, values).tpot_s / run.tpot_s - 1));
  const before = runs.length ? median(errorsAt(start)) : null;
  let fitted = {};
  if (before > CLOSE) {
    const free = names.map(one).filter(({ name }) => start.experts > 0 || !name.startsWith("expert_"));
    fitted = await fitConstants(free, start, runs.map((run) => run.tpot_s),
      (values) => runs.map((run) => atLoad(store, run, { ...start, ...values }).tpot_s), stale);
    if (!fitted) return null;
  }
  const alone = runs.find((run) => run.concurrency <= ALONE && run.ttft_s);
  if (alone) {
    const { value } = normalise(one("ttft_fixed_s"), start.ttft_fixed_s + alone.ttft_s - atLoad(store, alone, { ...start, ...fitted }).ttft_s);
    fitted.ttft_fixed_s = Number(value.toPrecision(3));
  }
  const logged = ["pool", "tokens"].find((key) => log[key] > 0);
  if (logged) {
    const result = (value) => {
      const values = { ...start, reserved_bytes_per_gpu: value };
      return LOG[logged].of({ values, results: store.evaluateAt(values) });
    };
    fitted.reserved_bytes_per_gpu = meet(one("reserved_bytes_per_gpu"), log[logged], result);
  }
  const moved = Object.entries(fitted).map(([name, value]) => ({ one: one(name), now: start[name], value }))
    .filter(({ now, value }) => Math.abs(value - now) > CLOSE * Math.max(Math.abs(now), Number.MIN_VALUE))
    .sort((a, b) => sizeOf(b) - sizeOf(a));
  return { before, left: runs.length ? median(errorsAt({ ...start, ...fitted })) : null, moved };
}

const sizeOf = ({ now, value }) => Math.abs(Math.log(Math.max(value, 1e-12) / Math.max(now, 1e-12)));

function sentencesOf({ before, left, moved }, strings) {
  const step = moved.find(({ one }) => !["reserved_bytes_per_gpu", "ttft_fixed_s"].includes(one.name));
  const memory = moved.find(({ one }) => one.name === "reserved_bytes_per_gpu");
  const values = ({ one, now, value }) => ({ label: one.label, now: valueText(one, now), fitted: valueText(one, value) });
  return [
    before !== null && (step ? fillWord(strings.explained, { ...values(step), error: percent(before), left: percent(left) })
      : fillWord(before > CLOSE ? strings.unexplained : strings.within, { error: percent(before), left: percent(before) })),
    step && left > 4 * CLOSE && fillWord(strings.unexplained, { left: percent(left) }),
    memory && fillWord(strings.explained_memory, values(memory)),
  ].filter(Boolean);
}

function fittedTable({ moved }, strings) {
  const head = h("tr", {}, ...["constant", "now", "fitted"].map((word) => h("th", { scope: "col" }, strings[word])));
  return h("table", { class: "ep-compare" }, h("thead", {}, head), h("tbody", {}, ...moved.map(({ one, now, value }) =>
    h("tr", { "data-constant": one.name, "data-value": value }, h("th", { scope: "row" }, one.label), cell(valueText(one, now)), cell(valueText(one, value))))));
}

function resultsView(store, { constants, strings, move, announce }) {
  const place = h("div", { class: "ep-came-back" });
  let serial = 0;
  const clear = () => { serial++; box.clear(); place.replaceChildren(); };
  const take = async (texts) => {
    const mine = ++serial;
    place.replaceChildren();
    if (!texts.some((text) => text.trim())) return box.say("");
    let found;
    try { found = readMeasured(texts); } catch (error) {
      return box.say(strings[error instanceof Unusable ? error.word : "unknown"], true);
    }
    found.runs.splice(MOST_RUNS);
    const parts = rowsOf(store, found, strings).map((row) => row.what);
    box.say(fillWord(strings.read, { n: [...new Set(parts)].join(", ") }));
    const verdict = h("p", { class: "ep-said" }, strings.fitting);
    place.replaceChildren(...comparison(store, found, strings), verdict);
    const explained = await explain(store, found, constants, () => mine !== serial || !place.isConnected);
    if (!explained || mine !== serial) return;
    const said = sentencesOf(explained, strings).join(" ");
    setText(verdict, said);
    announce(said);
    if (!explained.moved.length) return;
    const use = button("ep-button ep-use", strings.use, () => {
      move(Object.fromEntries(explained.moved.map(({ one, value }) => [one.name, value])), null);
      setText(verdict, strings.used);
      announce(strings.used);
      use.remove();
    });
    place.append(fittedTable(explained, strings), use);
  };
  const box = pasteBox({
    label: strings.paste, choose: strings.choose, accept: ".json,.jsonl,.log,.txt,application/json,text/plain",
    attributes: { "data-measured": true }, many: true, take,
  });
  box.buttons.append(" ", button("ep-button", strings.clear, clear));
  return h("div", { class: "ep-command" }, h("div", { class: "ep-command-bar" }, h("h3", {}, strings.results)), box.view, place);
}

/** Put the section into `root`, which holds the commands at the defaults until then. */
export function mountMachine(root, store, spec, { move, announce }) {
  const { strings } = spec, id = uid("ep-machine");
  const nodes = () => (store.results.across_nodes ? fillTemplate(strings.nodes, store) : "");
  const hints = ({ other }) => [other && fillWord(strings.other_format, { format: other }), nodes()].filter(Boolean);
  const serve = commandView(store, {
    title: strings.serve, label: strings.engine, commands: spec.serve, names: spec.names, hints, announce, strings,
  });
  const test = commandView(store, {
    title: strings.test, label: strings.tool, commands: spec.test, names: spec.names, hints: () => [], announce, strings,
  });
  const body = h("div", { class: "ep", id }, serve, test, resultsView(store, { constants: spec.constants, strings, move, announce }));
  root.replaceChildren(body);
  root.classList.add("is-mounted");
}
