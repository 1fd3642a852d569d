/**
 * Constants that explain what was measured: the most likely ones when a measurement scatters by
 * NOISE and how far a machine's constant is from today's falls off as a Laplace distribution of
 * width PRIOR. So few constants move, a single run moves the one that explains it with the
 * smallest change, and what no run tells apart stays.
 */
import { clean } from "./format.js";

const NOISE = 0.03, PRIOR = 0.3, WORTH = 0.5, ROUNDS = 12, SEARCH = 24, SETTLED = 1e-3;
const GOLDEN = (Math.sqrt(5) - 1) / 2;
const COARSE = 10;

/** A scale on which constants move: by factors, or evenly where the range begins at nought. */
function scaleOf({ low, high }) {
  const ends = low > 0 ? [Math.log(low), Math.log(high)] : [low, high];
  return {
    from: (x) => (low > 0 ? Math.exp(x) : x), ends,
    /** How far a constant has gone, in widths of the prior. */
    away: (value, start) => (low > 0 ? Math.log(value / start) : (value - start) / Math.max(start, high / 50)) / PRIOR,
  };
}

/** The lowest point of `f` on [low, high]: a coarse look, then golden sections around the best. */
function lowest(f, low, high) {
  let best = 0, value = Infinity;
  for (let i = 0; i <= COARSE; i++) {
    const found = f(low + ((high - low) * i) / COARSE);
    if (found < value) { best = i; value = found; }
  }
  let a = low + ((high - low) * Math.max(0, best - 1)) / COARSE, b = low + ((high - low) * Math.min(COARSE, best + 1)) / COARSE;
  for (let i = 0; i < SEARCH; i++) {
    const c = b - (b - a) * GOLDEN, d = a + (b - a) * GOLDEN;
    if (f(c) < f(d)) b = d; else a = c;
  }
  return (a + b) / 2;
}

const pause = () => new Promise((resolve) => { setTimeout(resolve, 0); });

/**
 * Values of `constants` (assumptions) that bring `estimate(values)`, one number a run, to
 * `measured`. First the one that alone explains most, then those moved so far together, and so on:
 * all at once would end where two that do nearly the same have met halfway. Stops for a moment
 * after each search; null once `stale()`.
 */
export async function fitConstants(constants, start, measured, estimate, stale) {
  const values = Object.fromEntries(constants.map(({ name }) => [name, start[name]]));
  const scales = new Map(constants.map((one) => [one.name, scaleOf(one)]));
  const cost = () => {
    const errors = estimate(values).map((one, i) => Math.log(one / measured[i]) / NOISE);
    const aways = constants.map(({ name }) => Math.abs(scales.get(name).away(values[name], start[name])));
    return errors.reduce((sum, one) => sum + (one * one) / 2, 0) + aways.reduce((sum, one) => sum + one, 0);
  };
  /** The best value of one constant, the others as they are, and the cost there. */
  const search = async ({ name }) => {
    const { from, ends } = scales.get(name), held = values[name];
    const at = (x) => { values[name] = from(x); return cost(); };
    const found = from(lowest(at, ends[0], ends[1]));
    values[name] = found;
    const reached = cost();
    values[name] = held;
    await pause();
    return { name, found, reached };
  };
  const take = ({ name, found, reached }, best) => {
    if (reached < best) values[name] = found;
    return Math.min(reached, best);
  };
  const moved = [];
  for (let best = cost(); moved.length < constants.length;) {
    let next = null;
    for (const one of constants.filter((each) => !moved.includes(each))) {
      const tried = await search(one);
      if (stale()) return null;
      if (!next || tried.reached < next.reached) next = { ...tried, one };
    }
    if (next.reached > best - WORTH) break;
    best = take(next, best);
    moved.push(next.one);
    for (let round = 0; round < ROUNDS && moved.length > 1; round++) {
      const before = best;
      for (const one of moved) {
        best = take(await search(one), best);
        if (stale()) return null;
      }
      if (before - best < SETTLED * before) break;
    }
  }
  return Object.fromEntries(moved.map(({ name, low, high }) => [name, clean(Math.min(high, Math.max(low, Number(values[name].toPrecision(3)))))]));
}

/** The value of one assumption at which a falling result meets `wanted`, or the nearest end. */
export function meet({ low, high }, wanted, result) {
  let [a, b] = [low, high];
  for (let i = 0; i < 50; i++) {
    const middle = (a + b) / 2;
    if (result(middle) > wanted) a = middle; else b = middle;
  }
  return clean(Number(((a + b) / 2).toPrecision(3)));
}
