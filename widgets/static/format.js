/** Numbers as texts: the same rules as Python's `engine/units.py`. */
import { fillWord } from "./dom.js";

const NBSP = "\u00a0", MINUS = "\u2212", NOTHING = "–";
const MOST_DECIMALS = 6, FINEST = 6, TOLERANCE = 1e-9; // as in units.py; a test compares them

/** A number without the noise of its last bits. */
export const clean = (value) => Number(value.toPrecision(12));

export const near = (a, b) => Math.abs(a - b) <= TOLERANCE * Math.max(Math.abs(a), Math.abs(b));

/** Digits of a non-negative number. toFixed and toExponential round exact halves away from zero. */
function digitsOf(n, { style, digits }) {
  if (n >= 1e21) return BigInt(n).toString();
  if (style === "integer") return n.toFixed(0);
  if (style === "fixed") return n.toFixed(digits);
  if (n === 0) return "0";
  const exponent = Number(n.toExponential(digits - 1).split("e")[1]);
  const text = n.toFixed(Math.min(MOST_DECIMALS, Math.max(0, digits - 1 - exponent)));
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

export const grouped = (digits) => digits.replace(/\B(?=(\d{3})+$)/g, ",");

function written(n, display) {
  const [whole, part] = digitsOf(Math.abs(n), display).split(".");
  const text = grouped(whole) + (part ? `.${part}` : "");
  const sign = n < 0 && /[1-9]/.test(text) ? MINUS : "";
  return sign + (display.prefix ?? "") + text;
}

const finer = (display) =>
  display.style === "integer" ? { ...display, style: "fixed", digits: 1 }
    : { ...display, digits: display.digits + 1 };

/** A number with more digits until it reads unlike each of the limits beside it. */
function apart(n, others, display) {
  let now = display, text = written(n, now);
  for (let i = 0; i < FINEST && others.some((one) => written(one, now) === text); i++) {
    now = finer(now);
    text = written(n, now);
  }
  return text;
}

/** Number and unit of a finite value as texts: `number + unit` is the full text. */
export function formatParts(display, value, limits = []) {
  if (!Number.isFinite(value)) return { number: NOTHING, unit: "" };
  const ladder = display.ladder;
  const [scale, label] =
    ladder.find(([step]) => (Math.abs(value) * (1 + 1e-9) || 1) >= step) ?? ladder[ladder.length - 1];
  const others = limits.filter((one) => Math.abs(one - value) > TOLERANCE * Math.abs(value));
  const number = apart(value / scale, others.map((one) => one / scale), display);
  const name = number === "1" && display.one ? display.one : label;
  return { number, unit: name ? (display.attach ? "" : NBSP) + name : "" };
}

const isShare = (display) => display.ladder.length === 1 && display.ladder[0][1] === "%";

/** How a value stands against another: "+44%", "+33 points", "12×"; "" when it is the same. */
export function changeText(entry, now, base, strings, short = false) {
  if (typeof now === "boolean" || now === base || !Number.isFinite(now) || !Number.isFinite(base)) return "";
  if (entry.none && (now === 0 || base === 0) || entry.words?.length) return "";
  const signed = (size, digits) => (size < 0 ? MINUS : "+") + Math.abs(size).toFixed(digits);
  if (isShare(entry.display)) {
    const points = (now - base) * 100, text = signed(points, Math.abs(points) < 0.95 ? 1 : 0);
    if (/^.0(\.0)?$/.test(text)) return "";
    const word = short ? strings.points_short : /^.1$/.test(text) ? strings.point : strings.points;
    return fillWord(word, { n: text });
  }
  const ratio = now / base;
  if (!Number.isFinite(ratio) || ratio <= 0) return "";
  if (ratio >= 10) return `${digitsOf(ratio, { style: "auto", digits: 2 })}×`;
  const percent = (ratio - 1) * 100;
  if (Math.abs(percent) < 0.05) return "";
  return `${signed(percent, Math.abs(percent) < 0.95 ? 1 : 0)}%`;
}

/** The text of a number box: whole numbers grouped, millions as 2M, others with six digits. */
export function boxText(assumption, value) {
  const number = clean(value / assumption.box.scale), millions = clean(number / 1e6);
  if (millions >= 1 && millions === Number(millions.toPrecision(4))) return `${groupedNumber(String(millions))}M`;
  return groupedNumber(String(Number.isInteger(number) ? number : Number(number.toPrecision(6))));
}

function groupedNumber(text) {
  if (text.includes("e")) return text;
  const [whole, part] = text.split(".");
  return grouped(whole) + (part ? `.${part}` : "");
}
