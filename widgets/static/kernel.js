/** The host in Jupyter: anywidget's entry, which ties a store to a kernel's traits. */
import { h } from "./dom.js";
import { mountPanel } from "./panel.js";
import { createStore } from "./store.js";

const PUSH_MS = 40; // a drag sends at most 25 states a second, the last one always
const kernels = new WeakMap();

/** Plotly from the kernel, asked for once: the bundle comes as the reply's buffer. */
function plotlyFromKernel(model) {
  if (globalThis.Plotly?.newPlot) return Promise.resolve(globalThis.Plotly);
  if (!kernels.has(model)) {
    kernels.set(model, new Promise((resolve, reject) => {
      model.on("msg:custom", (content, buffers) => {
        if (content?.type !== "plotly" || globalThis.Plotly?.newPlot) return;
        const bundle = new Blob([buffers[0]], { type: "text/javascript" });
        const script = h("script", { src: URL.createObjectURL(bundle) });
        script.onload = () => resolve(globalThis.Plotly);
        script.onerror = reject;
        document.head.append(script);
      });
      model.send({ type: "plotly" });
    }));
  }
  return kernels.get(model);
}

/** Tie a store to a kernel's traits: the reader's moves go out, the kernel's come in. */
function followKernel(model, store) {
  const names = [...store.assumptions.keys()];
  let timer = 0, pushing = false;
  const push = () => {
    timer = 0;
    pushing = true; // each set tells of a change, while the others still hold the old values
    for (const name of names) if (model.get(name) !== store.values[name]) model.set(name, store.values[name]);
    pushing = false;
    model.save_changes();
  };
  const later = () => { timer ||= setTimeout(push, PUSH_MS); };
  const pull = () => {
    if (!pushing) store.setMany(Object.fromEntries(names.map((name) => [name, model.get(name)])), "kernel");
  };
  names.forEach((name) => model.on(`change:${name}`, pull));
  pull();
  const follow = (job) => (...given) => { const outcome = job(...given); later(); return outcome; };
  return {
    move: follow(store.setMany),
    travel: { undo: follow(store.undo), redo: follow(store.redo) },
    changed: store.subscribe(() => { if (names.some((name) => model.get(name) !== store.values[name])) later(); }),
    stop: () => names.forEach((name) => model.off(`change:${name}`, pull)),
  };
}

export async function render({ model, el }) {
  const spec = model.get("spec");
  const address = URL.createObjectURL(new Blob([spec.code], { type: "text/javascript" }));
  const store = createStore(spec, await import(address));
  URL.revokeObjectURL(address);
  const kernel = followKernel(model, store);
  const root = el.appendChild(h("section", { class: "estimate-panel", "data-estimate": spec.name }));
  const panel = mountPanel(root, store, { move: kernel.move, travel: kernel.travel, plotly: () => plotlyFromKernel(model) });
  store.findIdle();
  return () => { kernel.stop(); kernel.changed(); panel.unmount(); };
}
