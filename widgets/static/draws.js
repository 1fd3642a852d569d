/** "How sure" without holding up the page: at once, in slices, or in a worker. */
import { DRAWS, startDraws } from "./analysis.js";

const AT_ONCE_MS = 40, GLANCE_MS = 4, SLICE_MS = 8, TRIED = 20;
let worker = null, asked = 0;
const waiting = new Map();

/** The worker's address, where the host has one (the published page; not from a file). */
const workerAddress = () => {
  const address = document.querySelector('meta[name="draws-worker"]')?.content;
  return address && location.protocol.startsWith("http") ? new URL(address, document.baseURI).href : null;
};

function askWorker(address, spec, values) {
  worker ??= Object.assign(new Worker(address), {
    onmessage: ({ data: { id, answer } }) => { waiting.get(id)?.resolve(answer); waiting.delete(id); },
    onerror: (event) => { event.preventDefault(); for (const one of waiting.values()) one.reject(); waiting.clear(); worker = null; },
  });
  const id = ++asked;
  worker.postMessage({ id, estimate: spec.name, values });
  return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
}

/** In slices that leave the page its frames; null when `stop()` says that nobody waits any more. */
async function inSlices(run, stop) {
  for (let left = true; left;) {
    const until = performance.now() + SLICE_MS;
    while (left && performance.now() < until) left = run.advance(TRIED);
    await new Promise((resolve) => setTimeout(resolve));
    if (stop()) return null;
  }
  return run.answer();
}

/**
 * Start the draws of a scenario and give the answer to `done`: at once where that takes no longer
 * than a glance, else later. Returns a function that lets it go.
 */
export function draw(store, values, done) {
  const run = startDraws(store.spec, store.module, values);
  let dropped = false;
  const stop = () => dropped;
  const began = performance.now();
  let left = true, tried = 0, took = 0;
  while (left && took < GLANCE_MS) {
    left = run.advance(TRIED);
    tried += TRIED;
    took = performance.now() - began;
  }
  if ((took / tried) * DRAWS <= AT_ONCE_MS) {
    while (left) left = run.advance(DRAWS);
    done(run.answer(), run.count);
    return () => {};
  }
  const address = workerAddress();
  const found = address ? askWorker(address, store.spec, values).catch(() => inSlices(run, stop)) : inSlices(run, stop);
  found.then((answer) => { if (answer && !dropped) done(answer, run.count); });
  return () => { dropped = true; };
}
