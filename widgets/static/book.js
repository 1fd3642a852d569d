// The page's own behaviour: colour theme, folding navigation, copy buttons, contents,
// scrolling boxes, print. Estimates are the business of page.js and panel.js.
"use strict";

const root = document.documentElement;
const systemDark = matchMedia("(prefers-color-scheme: dark)");
const SCROLL_BOXES = ".book-article pre, .pst-scrollable-table-container, .math-block";
const MODES = ["auto", "light", "dark"];

function showTheme(mode) {
  root.dataset.mode = mode;
  root.dataset.theme = mode === "auto" ? (systemDark.matches ? "dark" : "light") : mode;
  const button = document.querySelector(".theme-switch");
  if (!button) return;
  button.title = button.dataset[mode];
  button.ariaDescription = button.dataset[mode];
}

function setUpTheme() {
  showTheme(root.dataset.mode);
  systemDark.addEventListener("change", () => root.dataset.mode === "auto" && showTheme("auto"));
  document.querySelector(".theme-switch")?.addEventListener("click", () => {
    const next = MODES[(MODES.indexOf(root.dataset.mode) + 1) % MODES.length];
    try { localStorage.setItem("mode", next); } catch { /* storage may be forbidden */ }
    showTheme(next);
  });
}

function setUpToggles() {
  for (const button of document.querySelectorAll("button[aria-controls][aria-expanded]")) {
    const controlled = document.getElementById(button.getAttribute("aria-controls"));
    if (!controlled || !button.matches(".navigation-toggle, .contents-toggle")) continue;
    const show = (open) => {
      button.setAttribute("aria-expanded", String(open));
      controlled.classList.toggle("is-open", open);
    };
    const isOpen = () => button.getAttribute("aria-expanded") === "true";
    button.addEventListener("click", () => {
      show(!isOpen());
      if (isOpen()) controlled.querySelector("a")?.focus();
    });
    controlled.addEventListener("click", (event) => event.target.closest("a") && show(false));
    addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !isOpen()) return;
      show(false);
      button.focus();
    });
  }
}

function setUpCopyButtons() {
  const { copy, copied } = document.body.dataset;
  for (const block of document.querySelectorAll(".cell_input .highlight, .book-article > section .highlight")) {
    if (block.closest(".cell_output") || block.querySelector(".copy-button")) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy-button";
    button.textContent = copy;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(block.querySelector("pre").textContent);
      button.textContent = copied;
      setTimeout(() => { button.textContent = copy; }, 1500);
    });
    block.append(button);
  }
}

function setUpContents() {
  const links = new Map();
  for (const link of document.querySelectorAll("#page-contents a[href^='#']")) {
    const section = document.getElementById(decodeURIComponent(link.hash.slice(1)));
    if (section) links.set(section, link);
  }
  const heads = [...links.keys()];
  if (!heads.length) return;
  const mark = () => {
    const passed = heads.filter((head) => head.getBoundingClientRect().top < 140);
    const atEnd = scrollY > 0 && innerHeight + scrollY >= root.scrollHeight - 2;
    const current = (atEnd ? heads : passed).at(-1) ?? heads[0];
    for (const [head, link] of links) link.classList.toggle("is-current", head === current);
  };
  let waiting = false;
  addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; mark(); });
  }, { passive: true });
  mark();
}

// A box that scrolls sideways must be reachable by keyboard; one that does not, must not be.
function setUpScrollBoxes() {
  const boxes = [...document.querySelectorAll(SCROLL_BOXES)];
  const update = (box) => {
    if (box.scrollWidth > box.clientWidth + 1) {
      box.tabIndex = 0;
      box.setAttribute("role", "region"); // regions need names of their own, hence the number
      box.ariaLabel = `${document.body.dataset.scrollable} ${boxes.indexOf(box) + 1}`;
    } else {
      for (const name of ["tabindex", "role", "aria-label"]) box.removeAttribute(name);
    }
  };
  const observer = new ResizeObserver((entries) => entries.forEach((entry) => update(entry.target)));
  for (const box of boxes) observer.observe(box);
}

// A long table gets a field that keeps the rows with all of its words.
function setUpTableFilters() {
  const { filter, filtered } = document.body.dataset;
  for (const table of document.querySelectorAll(".data-table")) {
    const rows = [...table.tBodies[0].rows];
    if (rows.length < 12) continue;
    const field = document.createElement("input");
    Object.assign(field, { type: "search", className: "table-filter", placeholder: filter, ariaLabel: filter, autocomplete: "off" });
    const count = document.createElement("span");
    count.setAttribute("role", "status");
    const line = document.createElement("p");
    line.className = "table-filter-line";
    line.append(field, count);
    table.closest(".table-scroll").before(line);
    const texts = rows.map((row) => row.textContent.toLowerCase());
    const show = () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      const kept = rows.filter((row, i) => !(row.hidden = !words.every((word) => texts[i].includes(word))));
      count.textContent = words.length ? filtered.replace("{shown}", kept.length).replace("{rows}", rows.length) : "";
    };
    field.addEventListener("input", show);
    addEventListener("hashchange", () => {
      const target = document.getElementById(location.hash.slice(1));
      if (table.contains(target) && target.closest("tr").hidden) { field.value = ""; show(); target.scrollIntoView(); }
    });
  }
}

function setUpSearch() {
  addEventListener("keydown", (event) => {
    if (event.key !== "k" || !(event.ctrlKey || event.metaKey)) return;
    const field = document.querySelector(".search-page-form input, .book-search input");
    if (!field) return;
    event.preventDefault();
    if (field.offsetParent) field.select();
    else location.assign(document.querySelector(".search-link").href);
  });
  const page = document.querySelector(".search-page-form input");
  if (page) page.value = new URLSearchParams(location.search).get("q") ?? "";
}

// Assumptions in the address survive a page without estimates (page.js keeps the others).
function carryAssumptions() {
  if (document.querySelector("[data-estimate]")) return;
  const carried = [...new URLSearchParams(location.search)].filter(([name]) => name.includes("."));
  if (!carried.length) return;
  for (const link of document.querySelectorAll("a[href]")) {
    const target = new URL(link.href, location.href);
    if (target.origin !== location.origin || link.getAttribute("href").startsWith("#")) continue;
    for (const [name, value] of carried) target.searchParams.set(name, value);
    link.href = target.href;
  }
}

// Paper is light, and nothing on it can be unfolded.
function setUpPrint() {
  addEventListener("beforeprint", () => {
    root.dataset.theme = "light";
    for (const folded of document.querySelectorAll("details:not([open])")) {
      folded.open = true;
      folded.dataset.closeAfterPrint = "";
    }
  });
  addEventListener("afterprint", () => {
    showTheme(root.dataset.mode);
    for (const folded of document.querySelectorAll("[data-close-after-print]")) {
      folded.open = false;
      delete folded.dataset.closeAfterPrint;
    }
  });
}

// An address that points into a folded block opens it.
function openTarget() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let box = target; box; box = box.parentElement) if (box.matches("details")) box.open = true;
}

for (const start of [setUpTheme, setUpToggles, setUpCopyButtons, setUpContents, setUpScrollBoxes, setUpTableFilters,
  setUpSearch, carryAssumptions, setUpPrint, openTarget]) start();
addEventListener("hashchange", openTarget);
