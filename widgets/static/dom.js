/** Small DOM: making elements, writing only what differs, one queue of animation frames. */

let serial = 0;

/** Make an element: attributes that are null, undefined or false are left out. */
export function h(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** Write a text node or an element's text only when it differs. */
export function setText(node, text) {
  if (node.nodeType === Node.TEXT_NODE) {
    if (node.data !== text) node.data = text;
  } else if (node.textContent !== text) node.textContent = text;
}

/** Write an attribute only when it differs; null and false remove it. */
export function setAttribute(node, name, value) {
  if (value === null || value === false) node.removeAttribute(name);
  else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}

/** A button with a class, its content and what a click does. */
export function button(className, content, onClick = null, attributes = {}) {
  const node = h("button", { type: "button", class: className, ...attributes }, ...[content].flat());
  if (onClick) node.addEventListener("click", onClick);
  return node;
}

/** A drawing of 16 × 16 px, its path stroked in the text's colour. */
export function icon(path) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  const line = svg.appendChild(document.createElementNS(svg.namespaceURI, "path"));
  line.setAttribute("d", path);
  return svg;
}

export const hidden = (text) => h("span", { class: "ep-hidden" }, text);

export const uid = (prefix) => `${prefix}-${++serial}`;

const frameQueue = new Set();
/** Run a job once in the next animation frame, however often it is asked for. */
export function nextFrame(job) {
  if (!frameQueue.size) {
    requestAnimationFrame(() => {
      const jobs = [...frameQueue];
      frameQueue.clear();
      for (const one of jobs) one();
    });
  }
  frameQueue.add(job);
}

/**
 * A job that waits until nothing has asked for it for a while; `now()` runs it if it waits. One
 * timer looks after all calls: setting a new one at each would cost more than the job's reason.
 */
export function debounced(job, wait) {
  let timer = 0, asked = 0;
  const look = () => {
    const left = asked + wait - performance.now();
    timer = left > 1 ? setTimeout(look, left) : 0;
    if (!timer) job();
  };
  const later = () => {
    asked = performance.now();
    timer ||= setTimeout(look, wait);
  };
  later.now = () => {
    if (!timer) return;
    clearTimeout(timer);
    timer = 0;
    job();
  };
  return later;
}

/** Run a job when the browser has nothing better to do. */
export const whenIdle = (job) => (globalThis.requestIdleCallback ?? ((one) => setTimeout(one, 1)))(job);

/** Whether the reader asked for little motion. */
export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** Fill `{name}` in one of the panel's own words. */
export const fillWord = (word, given) =>
  word.replace(/\{(\w+)\}/g, (whole, key) => (key in given ? given[key] : whole));
