/** What a reader types into a number box: 5k, 1,000, 1e6, 50%, 1.3 TB, 30 ms, $2, 1.5×, 3 万. */
import { fillWord } from "./dom.js";
import { clean } from "./format.js";

const POWERS = { "": 1, k: 1e3, K: 1e3, M: 1e6, G: 1e9, T: 1e12, "千": 1e3, "万": 1e4, "亿": 1e8 };
const UNITS = {
  byte: {
    B: 1, kB: 1e3, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, PB: 1e15,
    KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40,
  },
  bit: { bit: 1, kbit: 1e3, Mbit: 1e6, Gbit: 1e9, Tbit: 1e12, Mbps: 1e6, Gbps: 1e9, Tbps: 1e12 },
  s: { s: 1, ms: 1e-3, us: 1e-6, "µs": 1e-6, "μs": 1e-6, min: 60, h: 3600, "秒": 1, "毫秒": 1e-3, "微秒": 1e-6, "分钟": 60, "小时": 3600 },
  flop: { FLOP: 1, MFLOP: 1e6, GFLOP: 1e9, TFLOP: 1e12, PFLOP: 1e15, EFLOP: 1e18 },
  parameter: { B: 1e9 },
  usd: { "$": 1, usd: 1, USD: 1, "美元": 1 },
};
const PARTS = { h: "hour", tok: "token", req: "request", seq: "sequence", GPU: "gpu", "GPUs": "gpu", sec: "s" };
const TYPED_NUMBER = /^([-+]?)(\$?)([-+]?)((?:\d[\d,]*)?\.?\d*(?:e[-+]?\d+)?)(.*)$/i;

const kindOf = (unit) => unit.split("/")[0].split("*")[0];
const everyUnit = Object.values(UNITS).reduce((all, own) => Object.assign(all, own), {});

/** Full-width digits and signs as their narrow ones; spaces, also the thin ones, are dropped. */
const plain = (text) => text.normalize("NFKC").replace(/[\s\u00a0]+/g, "").replace("−", "-");

/** Whether a typed "/s/GPU" belongs to the unit: each of its parts is one of the unit's. */
function fitsBelow(typed, unit) {
  const own = unit.split("/").slice(1);
  return typed.every((part) => own.includes(PARTS[part] ?? part));
}

/** The factor of a typed suffix for an assumption, in base units; undefined when there is none. */
function unitFactor(suffix, assumption) {
  const { box, display, unit } = assumption;
  const [head, ...below] = suffix.split("/");
  if (head === "" && !below.length) return box.scale;
  if (suffix === box.unit || suffix === box.unit.replace("$", "")) return box.scale;
  const share = display.ladder.find(([, label]) => label === head && (head === "%" || head === "×"));
  if (share && !below.length) return share[0];
  if (head.toLowerCase() === "x" && box.unit === "×") return 1;
  if (!fitsBelow(below, unit)) return undefined;
  const named = UNITS[kindOf(unit)]?.[head];
  if (named !== undefined) return named;
  const labels = [...display.ladder.map(([scale, label]) => [scale, label.split("/")[0]]), [1, kindOf(unit)]];
  const step = labels.find(([, label]) => label && (label === head || label === `${head}s` || `${label}s` === head));
  if (step) return step[0];
  if (head in PARTS && PARTS[head] === kindOf(unit)) return 1; // req, also where the page says 请求
  if (head in POWERS) return POWERS[head] * box.scale;
  return head === "B" && kindOf(unit) !== "byte" ? 1e9 * box.scale : undefined;
}

/** The same where a power may stand before the unit: 5k req/s. */
function factorOf(suffix, assumption) {
  const alone = unitFactor(suffix, assumption);
  if (alone !== undefined || !(suffix[0] in POWERS)) return alone;
  const unit = unitFactor(suffix.slice(1), assumption);
  return unit === undefined ? unit : POWERS[suffix[0]] * unit;
}

/** Read a typed text: {value} in base units, or {why} it cannot be taken, for the reader. */
export function readTyped(text, assumption, strings, show) {
  const typed = plain(text);
  if (!typed) return { why: strings.type_a_number };
  const [, sign, dollar, inner, digits, rest] = typed.match(TYPED_NUMBER) ?? [];
  if (!digits || !/\d/.test(digits)) return { why: fillWord(strings.not_a_number, { text: text.trim().slice(0, 24) }) };
  if (digits.includes(",") && !/^\d{1,3}(,\d{3})+(\.\d+)?(e[-+]?\d+)?$/i.test(digits)) {
    return { why: fillWord(strings.comma, { text: digits.replace(",", ".") }) };
  }
  const wanted = assumption.box.unit || strings.plain_number;
  if (dollar && kindOf(assumption.unit) !== "usd") return { why: fillWord(strings.other_unit, { label: assumption.label, unit: wanted, text: "$" }) };
  const factor = factorOf(rest, assumption);
  if (factor === undefined) {
    const head = rest.split("/")[0];
    const known = head in everyUnit || head === "%" || head === "×";
    return { why: fillWord(known ? strings.other_unit : strings.no_unit, { label: assumption.label, unit: wanted, text: rest.slice(0, 16) }) };
  }
  const value = clean(Number(sign + inner + digits.replaceAll(",", "")) * factor);
  if (!Number.isFinite(value)) return { why: fillWord(strings.not_a_number, { text: text.trim().slice(0, 24) }) };
  if (assumption.scale === "integer" && !Number.isInteger(value)) return { why: strings.whole };
  if (!(value >= assumption.low && value <= assumption.high)) {
    return { why: fillWord(strings.between, { low: show(assumption.low), high: show(assumption.high) }) };
  }
  return { value };
}
