"""What the printed text stands on: JavaScript for operations that the languages do differently.

Python's remainder has the sign of the divisor, its quotient rounds down, its minimum keeps the
first of two equals; a key that is absent is an error and not ``undefined``.
"""

HELPERS = """\
const least = (a, b) => (b < a ? b : a);
const most = (a, b) => (b > a ? b : a);
const whole = (x) => Math.trunc(x) + 0;
const zero = (b) => (b < 0 || Object.is(b, -0) ? -0 : 0);
function mod(a, b) {
  const m = a % b;
  return m === 0 ? zero(b) : m < 0 !== b < 0 ? m + b : m;
}
function quotient(a, b) {
  const m = a % b;
  const d = (a - m) / b - (m !== 0 && m < 0 !== b < 0 ? 1 : 0);
  if (d === 0) return zero(a / b);
  return d - Math.floor(d) > 0.5 ? Math.floor(d) + 1 : Math.floor(d);
}
function at(held, key) {
  if (!Object.hasOwn(held, key)) throw new RangeError(`nothing at ${key}`);
  return held[key];
}
const divisor = (b) => {
  if (b === 0) throw new RangeError("division by zero");
  return b;
};
const refusal = (kind, message) => Object.assign(new Error(message), { name: kind });
"""

# Printed calls of Python's own functions: the text and the number of its arguments.
CALLS = {
    "int": "whole({})", "float": "({})", "abs": "Math.abs({})", "sqrt": "Math.sqrt({})",
    "floor": "(Math.floor({}) + 0)", "min": "least({}, {})", "max": "most({}, {})",
    "zeros": "new Float64Array({})", "integers": "new Int32Array({})",
}  # fmt: skip

_WORDS = """
arguments await break case catch class const continue debugger default delete do else enum eval
export extends false finally for function if implements import in instanceof interface let new
null package private protected public return static super switch this throw true try typeof
undefined var void while with yield NaN Infinity Math Object Error RangeError Array String Number
JSON Float64Array Int32Array least most whole zero mod quotient at divisor refusal len range append
"""
RESERVED = {*_WORDS.split(), *CALLS}
