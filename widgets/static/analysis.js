/**
 * What matters most, how sure, solve for: the rules and the random numbers of Python's
 * `engine/analysis.py`, so that both give the same answers. No DOM: a worker runs it too.
 */
const STEP = 0.2, POINTS = 401; // as in analysis.py
export const DRAWS = 10000;
const SEED = 7, SLACK = 1e-9;

// ----------------------------------------------------------------------------- what matters most

/** Low and high to which an assumption is moved around a value. */
export function endsOf(one, value) {
  const inBand = one.band && one.band[0] <= value && value <= one.band[1];
  let [low, high] = inBand ? one.band
    : value === 0 ? [STEP * Math.min(one.low, 0), STEP * Math.max(one.high, 0)]
      : [value * (1 - STEP), value * (1 + STEP)].sort((a, b) => a - b);
  if (one.scale === "integer") { // one up and one down at least
    low = Math.min(Math.floor(low + 0.5), value - 1);
    high = Math.max(Math.floor(high + 0.5), value + 1);
  }
  return [Math.max(low, one.low), Math.min(high, one.high)];
}

/** Each assumption alone from low to high; what moves `output` most comes first. */
export function sensitivity(spec, evaluate, values, output) {
  return spec.assumptions.map((one) => {
    const [low, high] = endsOf(one, values[one.name]);
    const [atLow, atHigh] = [low, high].map((x) => evaluate({ ...values, [one.name]: x })[output]);
    return { one, low, high, atLow, atHigh, spread: Math.abs(atHigh - atLow) };
  }).sort((a, b) => b.spread - a.spread);
}

// -------------------------------------------------------------------------------------- how sure

/** The k-th number (from 1) of the generator mulberry32, whose state is a counter. */
function uniform(k) {
  const seed = (Math.imul(k, 0x6d2b79f5) + SEED) | 0;
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
}

/** A triangle between a band's ends with its peak at the value, which takes its band along. */
function triangle(one, value) {
  const outside = value < one.band[0] || value > one.band[1];
  const moved = outside && one.default ? value / one.default : 1;
  const low = Math.min(value, Math.max(one.low, one.band[0] * moved));
  const high = Math.max(value, Math.min(one.high, one.band[1] * moved));
  if (low === high) return () => value;
  const cut = (value - low) / (high - low);
  const whole = one.scale === "integer" ? (x) => Math.floor(x + 0.5) : (x) => x;
  return (u) => whole(u < cut ? low + Math.sqrt(u * (high - low) * (value - low))
    : high - Math.sqrt((1 - u) * (high - low) * (high - value)));
}

/**
 * A run of draws that can be done in pieces: `advance(count)` says whether some are left,
 * `answer()` gives {sorted: {headline → values}, held: {verdict → how often}}.
 */
export function startDraws(spec, module, values) {
  const unsure = spec.assumptions.filter((one) => one.band);
  const leaders = unsure.filter((one) => !one.follows);
  const column = new Map(leaders.map((one, j) => [one.name, j]));
  const shapes = unsure.map((one) => ({
    name: one.name,
    column: column.get(one.follows.replace(/^-/, "") || one.name),
    against: one.follows.startsWith("-"),
    quantile: triangle(one, values[one.name]),
  }));
  const headlines = spec.results.filter((one) => one.headline && one.kind === "number");
  const verdicts = spec.results.filter((one) => one.verdict);
  const sorted = Object.fromEntries(headlines.map((one) => [one.name, new Float64Array(DRAWS)]));
  const held = Object.fromEntries(verdicts.map((one) => [one.name, 0]));
  const bought = module.evaluate(values);
  const decided = Object.fromEntries(spec.results.filter((one) => one.decision).map((one) => [one.name, bought[one.name]]));
  const drawn = { ...values };
  let done = 0;
  return {
    count: unsure.length,
    advance(count) {
      for (const end = Math.min(DRAWS, done + count); done < end; done++) {
        for (const { name, column: j, against, quantile } of shapes) {
          const u = uniform(done * leaders.length + j + 1);
          drawn[name] = quantile(against ? 1 - u : u);
        }
        const found = module.evaluate(drawn);
        const judged = module.held ? module.held({ ...drawn, ...decided }) : found;
        for (const name in sorted) sorted[name][done] = found[name];
        for (const name in held) if (judged[name]) held[name]++;
      }
      return done < DRAWS;
    },
    answer() {
      for (const name in sorted) sorted[name].sort();
      return { sorted, held };
    },
  };
}

export const quantile = (sorted, q) => sorted[Math.floor(q * (sorted.length - 1))];

// ------------------------------------------------------------------------------------- solve for

function pointsOf(one) {
  const { low, high, scale } = one;
  if (scale === "integer" && high - low < POINTS) return Array.from({ length: high - low + 1 }, (_, i) => low + i);
  const at = (t) => (scale === "log" ? low * (high / low) ** t : low + (high - low) * t);
  const found = Array.from({ length: POINTS }, (_, i) => at(i / (POINTS - 1)));
  found[0] = low; found[POINTS - 1] = high;
  return scale === "integer" ? [...new Set(found.map((x) => Math.floor(x + 0.5)))] : found;
}

/** Where a value stands on its assumption's scale, 0 to 1. */
export const place = ({ low, high, scale }, value) =>
  scale === "log" ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);

/** The last value from `inside` towards `out` that still does it. */
function edgeOf(out, inside, holds, whole) {
  for (let i = 0; i < 60; i++) {
    const half = (out + inside) / 2, middle = whole ? Math.floor(half + 0.5) : half;
    if (middle === out || middle === inside) break;
    if (holds(middle)) inside = middle; else out = middle;
  }
  return inside;
}

/** A round number near the edge of a range that still does it, away from the edge. */
function roundNear(one, edge, holds) {
  if (one.scale === "integer") return edge;
  for (let digits = 2; digits < 9; digits++) {
    const size = 10 ** (Math.floor(Math.log10(Math.abs(edge) || 1)) - digits + 1);
    const near = [Math.floor(edge / size), Math.ceil(edge / size)]
      .map((k) => Number((k * size).toPrecision(12)))
      .filter((v) => v >= one.low && v <= one.high && Math.abs(place(one, v) - place(one, edge)) < 0.03 && holds(v));
    if (near.length) return near[0];
  }
  return Number(edge.toPrecision(12));
}

/**
 * Where an assumption makes `wanted(results)` true, the others as they are: {value, ranges,
 * distance} for the nearest, or {miss: {value, result}} where `gap(results)` says how far off.
 */
export function solve(one, evaluate, values, wanted, gap = null) {
  const at = (v) => evaluate({ ...values, [one.name]: v });
  const holds = (v) => wanted(at(v));
  const tried = pointsOf(one), found = tried.map(at), yes = found.map(wanted);
  const whole = one.scale === "integer", ranges = [];
  tried.forEach((point, i) => {
    if (yes[i] && !yes[i - 1]) ranges.push([i ? edgeOf(tried[i - 1], point, holds, whole) : point, point]);
    if (yes[i] && !yes[i + 1]) ranges.at(-1)[1] = i + 1 < tried.length ? edgeOf(tried[i + 1], point, holds, whole) : point;
  });
  if (!ranges.length) {
    if (!gap) return { ranges };
    const gaps = found.map(gap), best = gaps.indexOf(Math.min(...gaps));
    return { ranges, miss: { value: tried[best], result: found[best], moves: Math.max(...gaps) - gaps[best] > SLACK * Math.abs(gaps[best]) } };
  }
  const here = place(one, values[one.name]), away = (v) => Math.abs(place(one, v) - here);
  const edge = ranges.flat().reduce((best, v) => (away(v) < away(best) ? v : best));
  return { ranges, value: roundNear(one, edge, holds), distance: away(edge) };
}
