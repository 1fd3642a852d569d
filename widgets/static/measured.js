/**
 * Results that come back from a machine, as their tools write them: `vllm bench serve
 * --save-result`, GuideLLM's benchmarks.json (report version 2), and log lines of vLLM and SGLang.
 */

const GIB = 2 ** 30, GB_OF_LOG = GIB; // both engines write "GB" for GiB in older versions

/** A result that cannot be used: `word` names the sentence that says why. */
export class Unusable extends Error {
  constructor(word) {
    super(word);
    this.word = word;
  }
}

const number = (value) => (typeof value === "number" && Number.isFinite(value) ? value : null);

function benchRun(found) {
  const completed = number(found.completed), output = number(found.total_output_tokens), tpot = number(found.mean_tpot_ms);
  if (!(completed > 0) || !(output > completed) || !(tpot > 0)) throw new Unusable("no_tokens");
  const concurrency = number(found.max_concurrency);
  if (!(concurrency > 0)) throw new Unusable("no_load");
  return {
    concurrency, input_tokens: number(found.total_input_tokens) / completed, output_tokens: output / completed,
    tpot_s: tpot / 1000, ttft_s: number(found.mean_ttft_ms) > 0 ? found.mean_ttft_ms / 1000 : null,
    output_tokens_per_s: number(found.output_throughput),
  };
}

function guideRun({ metrics, config }) {
  const mean = (name) => number(metrics?.[name]?.successful?.mean);
  const output = mean("output_token_count"), tpot = mean("inter_token_latency_ms");
  if (!(output > 1) || !(tpot > 0)) throw new Unusable("no_tokens");
  const concurrency = number(config?.strategy?.streams) ?? mean("request_concurrency");
  if (!(concurrency > 0)) throw new Unusable("no_load");
  return {
    concurrency, input_tokens: mean("prompt_token_count") ?? 0, output_tokens: output, tpot_s: tpot / 1000,
    ttft_s: mean("time_to_first_token_ms") > 0 ? mean("time_to_first_token_ms") / 1000 : null,
    output_tokens_per_s: mean("output_tokens_per_second"),
  };
}

function runsOf(found) {
  if (Array.isArray(found)) return found.flatMap(runsOf);
  if (found === null || typeof found !== "object") throw new Unusable("unknown");
  if (Array.isArray(found.benchmarks)) return found.benchmarks.map(guideRun);
  if ("mean_tpot_ms" in found) return [benchRun(found)];
  throw new Unusable("unknown");
}

const LINES = [
  ["tokens", /GPU KV cache size: ([\d,]+) tokens/, 1],
  ["tokens", /\bmax_total_num_tokens=(\d+)/, 1],
  ["pool", /Available KV cache memory: ([\d.]+) GiB/, GIB],
  ["weights", /Model loading took ([\d.]+) Gi?B/, GIB],
  ["weights", /Load weight end\..*?mem usage=([\d.]+) GB/, GB_OF_LOG],
];

/** What log lines tell, of one GPU or one copy of attention; the last line of a kind counts. */
function readLog(text) {
  const log = {};
  for (const [name, pattern, scale] of LINES) {
    const found = [...text.matchAll(new RegExp(pattern, "g"))].at(-1);
    if (found) log[name] = Number(found[1].replaceAll(",", "")) * scale;
  }
  return log;
}

/** One JSON text, or several one after the other, as `--append-result` leaves them. */
function jsonsOf(text) {
  try { return [JSON.parse(text)]; } catch { /* several, or none */ }
  const lines = text.split(/\n+/).filter((line) => line.trim());
  try { return lines.map((line) => JSON.parse(line)); } catch { return null; }
}

/** Runs and log of all texts together; throws Unusable for a text that holds neither. */
export function readMeasured(texts) {
  const runs = [], log = {};
  for (const text of texts.filter((one) => one.trim())) {
    const found = jsonsOf(text);
    if (found) runs.push(...found.flatMap(runsOf));
    else {
      const lines = readLog(text);
      if (!Object.keys(lines).length) throw new Unusable("unknown");
      Object.assign(log, lines);
    }
  }
  return { runs, log };
}
