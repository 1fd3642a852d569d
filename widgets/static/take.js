/** Take it along: the link, the call in Python, the table as CSV, the figure as SVG or PNG. */
import { button, h, setText } from "./dom.js";
import { partsOf } from "./store.js";

/** The estimate's call with the assumptions that differ from their defaults. */
export function pythonCall(store) {
  const given = (values) => store.spec.assumptions.filter((one) => values[one.name] !== one.default)
    .map(({ name }) => `${name}=${values[name]}`).join(", ");
  const call = (name, values) => `${name} = load("${store.spec.name}")(${given(values)})\n`;
  return `from widgets import load\n\n${call("result", store.values)}${store.b ? call("b", store.b.values) : ""}`;
}

const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** Assumptions and results as CSV: name, label, unrounded value, unit, as it is shown; B beside A. */
export function tableCsv(store) {
  const { spec } = store;
  const value = (at, name) => String(name in at.values ? at.values[name] : at.results[name]);
  const row = (entry) => {
    const { number, unit } = partsOf(store, entry.name);
    return [entry.name, entry.label, value(store, entry.name), entry.unit ?? "", (number + unit).trim(), ...(store.b ? [value(store.b, entry.name)] : [])];
  };
  const head = ["name", "label", "value", "unit", "shown", ...(store.b ? ["b"] : [])];
  return [head, ...spec.assumptions.map(row), ...spec.results.map(row)].map((cells) => cells.map(quoted).join(",")).join("\n") + "\n";
}

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = h("textarea", { class: "ep-hidden", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    if (!done) throw new Error("copy");
  }
}

/** A button that copies a text and says so. */
export function copyButton(className, label, strings, text, announce) {
  const words = new Text(label);
  let timer = 0;
  const node = button(className, words, async () => {
    const said = await copyText(text()).then(() => strings.copied, () => strings.copy_failed);
    node.style.minWidth ||= `${node.offsetWidth}px`;
    setText(words, said);
    announce(said);
    clearTimeout(timer);
    timer = setTimeout(() => setText(words, label), 1600);
  });
  return node;
}

export function download(name, address) {
  const link = h("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
}

/** The menu behind "Take along": everything but the link, which stands beside it. */
export function takeMenu(store, { figures, announce }) {
  const { strings, spec } = store;
  const base = spec.name.replaceAll(".", "-");
  const saveTable = () => {
    const address = URL.createObjectURL(new Blob(["\ufeff", tableCsv(store)], { type: "text/csv" }));
    download(`${base}.csv`, address);
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  };
  const saveFigure = async (format) => {
    const { figure, view } = figures.current();
    try {
      download(`${base}-${figure.id}.${format}`, await view.image(format));
    } catch {
      announce(strings.figure_failed);
    }
  };
  const items = [
    copyButton("ep-item", strings.copy_python, strings, () => pythonCall(store), announce),
    button("ep-item", strings.save_csv, saveTable),
    ...(figures ? ["svg", "png"].map((format) => button("ep-item", strings[`save_${format}`], () => saveFigure(format))) : []),
  ];
  const menu = h("details", { class: "ep-menu" }, h("summary", { class: "ep-button", title: strings.take_along, "aria-label": strings.take_along }, "⋯"),
    h("div", { class: "ep-menu-items" }, ...items));
  const close = (event) => { if (menu.open && !menu.contains(event.target)) menu.open = false; };
  document.addEventListener("pointerdown", close);
  document.addEventListener("focusin", close);
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    event.stopPropagation();
    menu.open = false;
    menu.firstChild.focus();
  });
  return menu;
}
