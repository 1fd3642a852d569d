/** The dock: headlines, verdicts and sliders at the foot of the page where the panel is out of sight. */
import { assumptionRow } from "./controls.js";
import { button, h, nextFrame, setAttribute, setText, uid } from "./dom.js";
import { mountFigure } from "./figures.js";
import { changeView, headlines, isGood, outputView, verdictsOf, verdictSentence } from "./results.js";

function dockHead(store, entry) {
  const output = outputView(store, entry);
  output.removeAttribute("data-output"); // the panel's is the result; this repeats it
  return h("span", { class: "ep-dock-head" },
    h("span", { class: "ep-muted ep-wide" }, entry.label), h("span", { class: "ep-muted ep-narrow" }, entry.short || entry.label),
    output, changeView(store, entry, true));
}

function verdictDot(store, entry, isShown) {
  const node = h("span", { class: "ep-dot", role: "img" });
  return store.bind(node, () => {
    if (!isShown()) return; // its words cost more than all the numbers beside them
    const good = isGood(entry, store.results), words = verdictSentence(store, entry);
    node.classList.toggle("is-bad", !good);
    setText(node, good ? "✓" : "✕");
    setAttribute(node, "title", words);
    setAttribute(node, "aria-label", words);
  });
}

/** Sliders of the first rank and the figure that the panel shows; made when it is opened. */
function drawerContent(store, { panel, plotly }) {
  const rows = store.spec.assumptions.filter((one) => one.first)
    .map((one) => assumptionRow(store, one, { move: panel.move, explain: panel.explain }));
  const figure = panel.figures?.current().figure;
  const shown = figure?.kind === "figure" ? figure : store.spec.figures?.find((one) => one.kind === "figure");
  const host = shown && h("figure", { class: "estimate-figure ep-drawer-figure", "data-estimate": store.spec.name });
  const view = host && mountFigure(host, shown, store, { plotly, move: panel.move, inPanel: true });
  return { nodes: [h("div", { class: "ep-drawer-rows" }, ...rows), host].filter(Boolean), dispose: () => view?.dispose() };
}

/** Keep the dock of one panel: by geometry at every scroll, so that no leap over it is missed. */
export function mountDock(root, store, options) {
  const { strings } = store;
  const drawerId = uid("estimate-drawer");
  const drawer = h("div", { class: "estimate-drawer", id: drawerId, role: "group", "aria-label": `${store.spec.title}: ${strings.assumptions}`, hidden: true });
  let shown = false;
  const words = new Text(strings.adjust);
  const adjust = button("ep-button ep-adjust", words, () => show(drawer.hidden), { "aria-expanded": "false", "aria-controls": drawerId });
  const back = button("ep-button ep-wide", strings.panel, () => { show(false); root.scrollIntoView(); root.querySelector(".ep-in input")?.focus({ preventScroll: true }); });
  const bar = h("section", { class: "estimate-dock", "aria-label": strings.dock }, drawer,
    h("div", { class: "ep-dock-bar" }, h("div", { class: "ep-dock-heads" }, ...headlines(store).map((one) => dockHead(store, one))),
      h("span", { class: "ep-dots" }, ...verdictsOf(store).map((one) => verdictDot(store, one, () => shown))), adjust, back));
  bar.inert = true;
  let content = null;
  const show = (open) => {
    if (drawer.hidden !== open) return;
    content?.dispose();
    content = open ? drawerContent(store, options) : null;
    drawer.replaceChildren(...(content?.nodes ?? []));
    drawer.hidden = !open;
    setText(words, strings[open ? "close" : "adjust"]);
    setAttribute(adjust, "aria-expanded", String(open));
  };
  drawer.addEventListener("keydown", ({ key }) => { if (key === "Escape") { show(false); adjust.focus({ preventScroll: true }); } });
  document.body.append(bar);
  document.documentElement.classList.add("has-estimate-dock");

  const strip = options.panel.strip, contents = document.querySelector(".book-contents");
  const look = () => {
    const header = document.querySelector(".book-header")?.getBoundingClientRect();
    const top = Math.max(0, header && getComputedStyle(document.querySelector(".book-header")).position === "sticky" ? header.bottom : 0);
    const leaving = strip.getBoundingClientRect().top < top - 2; // though lower sliders or a tool may still be in sight
    if (leaving !== shown) {
      shown = leaving;
      store.redraw();
    }
    bar.classList.toggle("is-shown", leaving);
    bar.inert = !leaving;
    if (!leaving) show(false);
    if (!contents) return;
    const box = root.getBoundingClientRect(), list = contents.getBoundingClientRect();
    contents.classList.toggle("is-faded", box.right > list.left && box.top < list.bottom && box.bottom > list.top);
  };
  const soon = () => nextFrame(look);
  addEventListener("scroll", soon, { passive: true });
  addEventListener("resize", soon);
  soon();
}
