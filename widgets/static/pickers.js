/**
 * Model, GPU, engine and format: each fills a group of assumptions from the tables, as one step,
 * and shows "changed by hand" once a value of its group has been moved. The data (`bookChoices`)
 * is made by Python. A notebook has no pickers: there `model()`, `hardware()` and `engine()` serve.
 */
import { fillWord, h, uid } from "./dom.js";
import { pasteBox } from "./paste.js";
import { normalise } from "./store.js";

const PEAK = "peak_flops_per_gpu", YOURS = "yours", PUBLISHED = "";

/** A shape that the reader of configs gives, as an entry like those of the table. */
function modelOfShape(shape, data, name, repo) {
  const kvOf = (bytes) => ({
    kv_bytes_per_token: shape.kv_numbers_per_token * bytes + shape.index_bytes_per_token,
    window_kv_bytes_per_token: shape.window_kv_numbers_per_token * bytes,
  });
  return {
    key: YOURS, name, repo,
    values: Object.fromEntries(data.shared.map((one) => [one, shape[one]])),
    published: { bytes_per_parameter: shape.bytes_per_parameter, bytes_per_expert_parameter: shape.bytes_per_expert_parameter || 1 },
    format: data.peaks[shape.multiplied_bits],
    kv: Object.fromEntries(Object.entries(data.kv).map(([key, bytes]) => [key, kvOf(bytes)])),
  };
}

/** The values of groups as the store keeps them, in range and without the last bits' noise; what
 * is no assumption (a key, a name) and the groups inside stay. */
function asKept(store, one) {
  return Object.fromEntries(Object.entries(one).map(([name, value]) => {
    if (value !== null && typeof value === "object") return [name, asKept(store, value)];
    const assumption = store.assumptions.get(name);
    return [name, assumption ? normalise(assumption, value).value : value];
  }));
}

/** What stands now, read from the values; of choices alike the one that was made. */
function choiceOf(store, data, models, made) {
  const stands = (group) => Object.entries(group).every(([name, value]) => store.values[name] === value);
  const first = (list, wanted, test) => list.find((one) => one.key === wanted && test(one)) ?? list.find(test) ?? null;
  const formats = [PUBLISHED, ...Object.keys(data.weights)].flatMap((weights) => Object.keys(data.kv).map((kv) => ({ key: `${weights}/${kv}`, weights, kv })));
  const fits = (one) => stands(one.values) && Object.values(one.kv).some(stands);
  const published = models.find((one) => fits(one) && stands(one.published)); // of twins, the one whose format it is
  const model = first(models, models.some((one) => one.key === made.model && fits(one)) ? made.model : published?.key, fits);
  const gpu = first(data.gpus, made.gpu, (one) => stands(one.values) && Object.values(one.peaks).includes(store.values[PEAK]));
  const peak = (weights) => weights || model.format;
  const format = model && first(formats, made.format, ({ weights, kv }) => stands(model.kv[kv]) &&
    stands(weights ? data.weights[weights] : model.published) && (!gpu || gpu.peaks[peak(weights)] === store.values[PEAK]));
  return { model, gpu, engine: first(data.engines, made.engine, (one) => stands(one.values)), format };
}

/** The assumptions that a model in a format fills, the peak of the GPU among them. */
function fillModel(data, model, { weights, kv }, gpu) {
  const peak = gpu ? { [PEAK]: gpu.peaks[weights || model.format] } : {};
  return { ...model.values, ...(weights ? data.weights[weights] : model.published), ...model.kv[kv], ...peak };
}

function picker(word, custom, options, onPick) {
  const id = uid("ep-pick");
  const other = h("option", { value: "-", hidden: true }, custom);
  const node = h("select", { class: "ep-select", id }, other, ...options.map(({ key, name }) => h("option", { value: key }, name)));
  node.addEventListener("change", () => onPick(node.value));
  return { node, view: h("span", { class: "ep-pick" }, h("label", { for: id }, word), node) };
}

/** JSON as Python writes it: bare NaN and Infinity, outside of texts, become null. */
const parseConfig = (text) => JSON.parse(text.replace(/"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b/g, (part) => (part[0] === '"' ? part : "null")));

/** What a config says of its own name: a repository or a path, else its family. */
const firstText = (...found) => found.find((one) => typeof one === "string" && one) ?? "";

/** The box for a config: read it, or say what is wrong. `fill(shape, config)` tells what it filled. */
function configBox(strings, readShape, fill) {
  let asked = 0;
  const take = async ([text]) => {
    const mine = ++asked;
    if (!text.trim()) return box.say("");
    let config;
    try { config = parseConfig(text); } catch (error) { return box.say(fillWord(strings.config_not_json, { why: error.message }), true); }
    if (config === null || typeof config !== "object" || Array.isArray(config)) return box.say(strings.config_no_record, true);
    try {
      const shape = await readShape(config);
      if (mine === asked) box.say(fillWord(strings.config_filled, { name: fill(shape, config) }));
    } catch (error) {
      if (mine === asked) box.say(error instanceof Error ? error.message : strings.config_no_reader, true);
    }
  };
  const box = pasteBox({
    label: strings.config_label, choose: strings.config_file, accept: ".json,application/json",
    attributes: { "data-config": true }, take,
  });
  return h("details", { class: "ep-yours" }, h("summary", { class: "ep-button" }, strings.your_model), box.view);
}

const formatName = (strings, weights, kv) =>
  fillWord(strings.format_pair, { weights: weights ? weights.toUpperCase() : strings.as_published, kv: kv.toUpperCase() });

/** The row of pickers; null where the page did not bring the data. */
export function pickersView(store, { move, readShape }) {
  const given = globalThis.bookChoices, { strings } = store;
  if (!given || !readShape) return null;
  const keep = (list) => list.map((one) => asKept(store, one));
  const data = { ...given, weights: asKept(store, given.weights), gpus: keep(given.gpus), engines: keep(given.engines) };
  const models = keep(given.models), made = { format: `${PUBLISHED}/bf16` };
  const now = () => choiceOf(store, data, models, made);
  const formatOf = (key) => { const [weights, kv] = key.split("/"); return { weights, kv }; };
  const pickModel = (model, format) => {
    const { gpu } = now();
    made.model = model.key;
    made.format = format;
    move(fillModel(data, model, formatOf(format), gpu), null);
  };
  const standing = () => now().format?.key ?? made.format;
  const names = Object.keys(data.weights);
  const formats = Object.keys(data.kv).flatMap((kv) => [PUBLISHED, ...names].map((weights) => ({ key: `${weights}/${kv}`, name: formatName(strings, weights, kv) })));
  let based = now().model; // the model whose format can be changed, its own values moved or not
  const make = {
    model: (key) => pickModel(models.find((one) => one.key === key), standing()),
    gpu: (key) => {
      const gpu = data.gpus.find((one) => one.key === key), { weights } = formatOf(standing());
      const model = now().model ?? based;
      made.gpu = key;
      const peak = weights || (model?.format ?? "bf16");
      move({ ...gpu.values, [PEAK]: gpu.peaks[peak] }, null);
    },
    engine: (key) => { made.engine = key; move(data.engines.find((one) => one.key === key).values, null); },
    format: (key) => {
      made.format = key;
      if (!based) return draw();
      const { values, ...rest } = now().model ?? based;
      move(fillModel(data, { ...rest, values: pickValues(values) }, formatOf(key), now().gpu), null);
    },
  };
  const pickValues = (values) => Object.fromEntries(Object.keys(values).map((name) => [name, store.values[name]]));
  const lists = { model: models, gpu: data.gpus, engine: data.engines, format: formats };
  const made4 = Object.fromEntries(Object.keys(make).map((kind) => [kind, picker(strings[`picker_${kind}`], strings.picker_changed, lists[kind], make[kind])]));
  const fill = (shape, config) => {
    const repo = firstText(config._name_or_path), short = firstText(repo, config.model_type).split("/").at(-1).slice(0, 40);
    const name = short ? `${strings.your_model}: ${short}` : strings.your_model;
    const model = asKept(store, modelOfShape(shape, data, name, repo)), select = made4.model.node;
    const old = models.findIndex((one) => one.key === YOURS);
    if (old >= 0) models.splice(old, 1);
    models.push(model);
    select.querySelector(`option[value=${YOURS}]`)?.remove();
    select.append(h("option", { value: YOURS }, name));
    pickModel(model, `${PUBLISHED}/${formatOf(standing()).kv}`);
    draw();
    return name;
  };
  const draw = () => {
    const found = now();
    based = found.model ?? based;
    for (const [kind, { node }] of Object.entries(made4)) node.value = found[kind]?.key ?? "-";
  };
  store.picked = () => ({ ...now(), model: now().model ?? based });
  const view = h("div", { class: "ep-pickers" }, ...Object.values(made4).map((one) => one.view), configBox(strings, readShape, fill));
  return store.bind(view, draw);
}
