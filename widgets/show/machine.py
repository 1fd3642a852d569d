"""From the page to a machine: the commands that serve today's values and test the estimate.

Read in September 2026: vLLM (`vllm serve`, `vllm bench serve`), SGLang (`sglang.launch_server`)
and GuideLLM 0.7 (`guidellm run`), at their repositories and documentation.

A command is a list of parts. A part is a text with names of assumptions and results in braces, the
reason for it as a sentence with live numbers, and the conditions (`when`) under which it stands.
The page's script fills the same parts by the same rules; a test compares both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from ..engine.estimate import Estimate
from ..facts import choices
from ..language import translate
from .bindings import fill
from .host import Html
from .spec import inert, json_of

NO_MODEL = "MODEL"
"""Stands where no picked model tells its repository."""

_NAME = re.compile(r"(?!-)[\w.-]+(?:/[\w.-]+)?", re.ASCII)


@dataclass(frozen=True)
class Part:
    """A line of a command: its text, the sentence that says why, and when it stands."""

    text: str
    why: str = ""
    when: tuple[str, ...] = ()


TENSOR_PARALLEL = "Weights and heads are split over {tensor_parallel:noun}."
RANKS = "{data_parallel:number} copies of attention, each with requests of its own."
ONE_COPY = "The experts are spread over all {gpus:noun}, one copy of each."
CONTEXT = (
    "Prompt and answer, and a twentieth more for what a template adds. With the model’s full "
    "length an engine may refuse to start, when one such request would not fit."
)
LIMIT = "A copy of attention serves {sequences_per_rank:number} requests; more would wait in the engine, unseen by TPOT."
BUDGET = "A step brings fewer on average; a larger budget makes prefills short and TPOT uneven."
NO_CACHE = (
    "The estimate counts prompt tokens that no cache holds. A second run of the same test would "
    "find its own prompts in the cache, and TTFT would look better than it is."
)
KV_FP8 = "Keys and values in 8 bits: {kv_bytes_per_token} a token."
ONLINE = "The published weights are wider; they are converted while they are loaded."

SERVE: dict[str, tuple[Part, ...]] = {
    "vllm": (
        Part("vllm serve {model}"),
        Part("--tensor-parallel-size {tensor_parallel}", TENSOR_PARALLEL),
        Part("--data-parallel-size {data_parallel}", RANKS, ("ranks",)),
        Part("--enable-expert-parallel", ONE_COPY, ("ranks", "experts")),
        Part("--quantization fp8", ONLINE, ("to_fp8",)),
        Part("--kv-cache-dtype fp8", KV_FP8, ("kv_fp8",)),
        Part(
            "--gpu-memory-utilization {memory_share}",
            "Of {hbm_bytes_per_gpu} a GPU. Weights take {weight_bytes_per_gpu}, and "
            "{kv_pool_bytes_per_gpu} are left for KV, room for {tokens_that_fit:number} tokens.",
        ),
        Part("--max-model-len {context_limit}", CONTEXT),
        Part("--max-num-seqs {sequences_per_rank}", LIMIT),
        Part("--max-num-batched-tokens {step_tokens}", BUDGET),
        Part("--no-enable-prefix-caching", NO_CACHE),
    ),
    "sglang": (
        Part("python3 -m sglang.launch_server --model-path {model} --port 8000"),
        Part("--tp-size {gpus}", ONE_COPY, ("ranks", "experts")),
        Part("--tp-size {tensor_parallel}", TENSOR_PARALLEL, ("one_rank",)),
        Part("--tp-size {tensor_parallel}", TENSOR_PARALLEL, ("ranks", "dense")),
        Part("--dp-size {data_parallel}", RANKS, ("ranks",)),
        Part(
            "--enable-dp-attention",
            "Only attention is copied, not the whole model.",
            ("ranks", "experts"),
        ),
        Part("--quantization fp8", ONLINE, ("to_fp8",)),
        Part("--kv-cache-dtype fp8_e4m3", KV_FP8, ("kv_fp8",)),
        Part(
            "--mem-fraction-static {static_share}",
            "SGLang counts weights and KV alone: {memory_share} of the memory, less the "
            "{reserved_bytes_per_gpu} kept back. That leaves room for {tokens_that_fit:number} tokens.",
        ),
        Part("--context-length {context_limit}", CONTEXT),
        Part(
            "--max-running-requests {concurrency}",
            "All {concurrency:number} requests; more would wait in the engine, unseen by TPOT.",
        ),
        Part("--chunked-prefill-size {step_tokens}", BUDGET),
        Part("--disable-radix-cache", NO_CACHE),
    ),
}
ENGINES = {"vllm": "vLLM", "sglang": "SGLang"}

SAME_LENGTHS = "The lengths of the estimate, the same for every request."
ENOUGH = "Five requests for each that is held in flight, so that filling and draining weigh little."
SWEEP = "Alone, a quarter, and all {concurrency:number}: launches show alone, KV and prefills in a crowd."
TEST: dict[str, tuple[Part, ...]] = {
    "vllm_bench": (
        Part("for n in {loads}; do vllm bench serve", SWEEP),
        Part("--base-url http://localhost:8000 --model {model}"),
        Part(
            "--dataset-name random --random-input-len {input_tokens} --random-output-len {output_tokens}",
            SAME_LENGTHS,
        ),
        Part("--max-concurrency $n --num-prompts $((5 * n)) --num-warmups $n", ENOUGH),
        Part("--temperature 0 --save-result --result-filename load-$n.json; done"),
    ),
    "guidellm": (
        Part("guidellm run"),
        Part("--backend kind=openai_http,target=http://localhost:8000,model={model}"),
        Part(
            "--profile kind=concurrent,streams={concurrency}",
            "{concurrency:number} requests in flight, each followed by the next.",
        ),
        Part("--constraint kind=max_requests,count={test_requests}", ENOUGH),
        Part(
            "--data kind=synthetic_text,prompt_tokens={input_tokens},output_tokens={output_tokens}",
            SAME_LENGTHS,
        ),
    ),
}
TESTS = {"vllm_bench": "vllm bench serve", "guidellm": "GuideLLM"}

WORDS: dict[str, str] = {
    "serve": "Serve it",
    "test": "Test it",
    "engine": "Engine",
    "tool": "Tool",
    "copy": "Copy",
    "why": "Why these flags",
    "other_format": "The weights are chosen in {format}. Name a checkpoint in that format.",
    "nodes": "{gpus:noun} span several nodes; the engines’ pages tell how their processes find each other.",
    "results": "Bring the results back",
    "paste": "Saved results of vllm bench serve or GuideLLM, or the engine’s log at its start. They stay on this page.",
    "choose": "Choose files",
    "clear": "Clear",
    "unknown": "Expected the JSON that vllm bench serve saves (max_concurrency, mean_tpot_ms), GuideLLM’s benchmarks.json, or log lines such as “GPU KV cache size: … tokens” and “max_total_num_tokens=…”.",
    "no_tokens": "The result has no completed request with output tokens.",
    "no_load": "The result does not say how many requests were in flight: max_concurrency is missing.",
    "read": "Read: {n}.",
    "load": "Load",
    "measured": "Measured",
    "estimated": "Estimated",
    "error": "Error",
    "load_cell": "{concurrency} in flight, {input} → {output}",
    "load_note": "Prompt → answer, in tokens. Everything but the load is taken from the sliders.",
    "tpot": "TPOT",
    "ttft_idle": "TTFT alone",
    "output": "Output rate",
    "weights": "Weights of a GPU",
    "pool": "KV of a GPU",
    "tokens": "Tokens that fit",
    "fitting": "Looking for constants that explain the difference …",
    "within": "The estimate is {error} off in the median. No constant needs to move.",
    "explained": "The estimate is {error} off in the median. What explains it best: {label}, {fitted} instead of {now}. With the constants below {left} remain.",
    "explained_memory": "The log shows another amount of memory kept back: {fitted} instead of {now}.",
    "unexplained": "{left} remain all the same: look at what the estimate does not hold, such as another length, a cache that was hit, a slow client.",
    "constant": "Constant",
    "now": "Now",
    "fitted": "Fitted value",
    "use": "Use as your machine",
    "used": "Your machine: the constants stand in the panel and in the address.",
}


def plain(value: float) -> str:
    """A number as a command takes it: no unit, no grouping, at most three decimals.

    >>> plain(1536.0), plain(0.9), plain(0.87523)
    ('1536', '0.9', '0.875')
    """
    return f"{value:.3f}".rstrip("0").rstrip(".")


def loads(concurrency: float) -> str:
    """Loads of the test: alone, a quarter, all. They rise, and none stands twice.

    >>> loads(64), loads(2), loads(1)
    ('1 16 64', '1 2', '1')
    """
    steps = {1, max(1, round(concurrency / 4)), max(1, round(concurrency))}
    return " ".join(str(one) for one in sorted(steps))


def subject(part: Part) -> str:
    """What a reason is about: the first flag, or the variable of the loop."""
    found = re.search(r"--[\w-]+", part.text)
    return found[0] if found else "$n"


def conditions(
    values: Mapping[str, Any], *, to_fp8: bool = False, kv_fp8: bool = False
) -> set[str]:
    """Which conditions of a part hold."""
    found = {"ranks" if values["data_parallel"] > 1 else "one_rank"}
    found.add("experts" if values["experts"] > 0 else "dense")
    return found | {name for name, on in (("to_fp8", to_fp8), ("kv_fp8", kv_fp8)) if on}


def standing(parts: tuple[Part, ...], holding: set[str]) -> list[Part]:
    """The parts whose conditions all hold."""
    return [part for part in parts if set(part.when) <= holding]


def command(
    kind: str,
    estimate: Estimate,
    *,
    model: str = NO_MODEL,
    to_fp8: bool = False,
    kv_fp8: bool = False,
    **values: float,
) -> str:
    """A command as text, one flag a line. `kind`: a key of SERVE or TEST.

    model: repository or path, as the engine takes it. values: assumptions, as for the estimate.
    to_fp8: convert published weights of 16 bits. kv_fp8: keys and values in 8 bits.
    Raises KeyError for an unknown kind, and what the estimate raises.
    """
    parts = (SERVE | TEST)[kind]
    numbers = _numbers(estimate, values)
    texts = {name: plain(float(value)) for name, value in numbers.items()}
    texts |= {"model": repository(model), "loads": loads(numbers["concurrency"])}
    holding = conditions(numbers, to_fp8=to_fp8, kv_fp8=kv_fp8)
    lines = (
        re.sub(r"\{(\w+)\}", lambda found: texts[found[1]], part.text)
        for part in standing(parts, holding)
    )
    return " \\\n  ".join(lines)


def repository(name: str) -> str:
    """A name that is safe in a shell, or the placeholder: a config may state anything."""
    return name if _NAME.fullmatch(name) else NO_MODEL


def _numbers(estimate: Estimate, values: Mapping[str, float]) -> dict[str, Any]:
    result = estimate(**values)
    return result.assumptions | dict(result)


def messages() -> list[str]:
    """English texts for the catalogue."""
    whys = [part.why for parts in (SERVE | TEST).values() for part in parts if part.why]
    return list(dict.fromkeys([*WORDS.values(), *whys]))


def _parts(parts: tuple[Part, ...]) -> list[dict[str, Any]]:
    return [
        asdict(part) | {"why": translate(part.why) if part.why else "", "subject": subject(part)}
        for part in parts
    ]


def _data(estimate: Estimate) -> dict[str, Any]:
    return {
        "estimate": estimate.name,
        "serve": {key: _parts(parts) for key, parts in SERVE.items()},
        "test": {key: _parts(parts) for key, parts in TEST.items()},
        "names": ENGINES | TESTS,
        "constants": [name for name in choices.engine("vllm") if name != "ttft_fixed_s"],
        "strings": {key: translate(text) for key, text in WORDS.items()},
    }


def _static(estimate: Estimate, kind: str) -> str:
    """A command and its reasons at the defaults, for a page without a script and for print."""
    parts = standing((SERVE | TEST)[kind], conditions(_numbers(estimate, {})))
    reasons = "".join(
        f"<dt><code>{escape(subject(part))}</code></dt><dd>{escape(fill(estimate, translate(part.why)))}</dd>"
        for part in parts
        if part.why
    )
    text = escape(command(kind, estimate))
    return f"<pre>{text}</pre><dl>{reasons}</dl>"


def run_on_gpus(estimate: Estimate) -> Html:
    """The section "Run it on your GPUs" of an estimate: commands, reasons, results pasted back.

    Without a script, and in a notebook, the commands at the defaults.
    """
    still = "".join(
        f"<h3>{escape(translate(WORDS[word]))}</h3>{_static(estimate, kind)}"
        for word, kind in (("serve", "vllm"), ("test", "vllm_bench"))
    )
    data = inert(json_of(_data(estimate)))
    return Html(
        f'<section class="estimate-machine" data-machine="{escape(estimate.name)}">'
        f'<div class="ep-machine-static">{still}</div></section>'
        f'<script type="application/json" data-machine-spec>{data}</script>'
    )
