"""From the page to a machine and back: commands, results that are pasted, constants that fit."""

from __future__ import annotations

import json
import re
import shlex

import pytest
from served import LANGUAGES, Panel

from widgets import engine, load
from widgets.facts.tables import configs
from widgets.language import translate
from widgets.show import machine, script
from widgets.show.machine import SERVE, TEST, WORDS, command

PAGE = "chapters/instance.html"
INSTANCE = load("instance")
RANKS = {"tensor_parallel": 1, "data_parallel": 8}
DENSE = {"experts": 0, "expert_parameters": 0, "experts_per_token": 0}


def section(opened, query="", language="en", **options) -> Panel:
    return Panel(opened(LANGUAGES[language] + PAGE + query, **options), "instance")


def card(panel: Panel, word: str):
    """A card of the section by its title."""
    return panel.page.locator(".ep-command").filter(
        has=panel.page.locator("h3", has_text=re.compile(f"^{re.escape(WORDS[word])}$"))
    )


def query(values: dict[str, float]) -> str:
    return "?" + "&".join(f"instance.{name}={value}" for name, value in values.items())


# --- commands -------------------------------------------------------------------------------


def test_commands_name_what_the_estimate_has():
    known = {*INSTANCE.assumptions, *INSTANCE.outputs, "model", "loads"}
    for parts in (SERVE | TEST).values():
        for part in parts:
            assert set(re.findall(r"\{(\w+)", part.text + part.why)) <= known, part


@pytest.mark.parametrize("kind", [*SERVE, *TEST])
@pytest.mark.parametrize("values", [{}, RANKS, DENSE, DENSE | RANKS, {"concurrency": 1}])
def test_a_shell_reads_each_command(kind, values):
    words = shlex.split(command(kind, INSTANCE, model="Qwen/Qwen3-32B", **values).replace(";", " "))
    flags = [word for word in words if word.startswith("--")]
    assert len(flags) == len(set(flags)) and "Qwen/Qwen3-32B" in " ".join(words)
    assert not any("{" in word for word in words)


def test_copies_of_attention_change_the_flags():
    vllm, sglang = (command(key, INSTANCE, **RANKS) for key in SERVE)
    assert "--data-parallel-size 8" in vllm and "--enable-expert-parallel" in vllm
    assert "--max-num-seqs 8 " in vllm, "a limit of each copy"
    assert "--tp-size 8" in sglang and "--enable-dp-attention" in sglang
    dense = command("sglang", INSTANCE, **(DENSE | RANKS))
    assert "--tp-size 1" in dense and "--enable-dp-attention" not in dense


def test_the_budget_of_a_step_holds_what_a_step_brings():
    for values in ({}, {"concurrency": 4096, "output_tokens": 64}, {"input_tokens": 100_000}):
        r = INSTANCE(**values)
        a = r.assumptions
        brought = r.running / a["data_parallel"] * (1 + a["input_tokens"] / a["output_tokens"])
        assert r.step_tokens >= brought
        assert r.context_limit >= a["input_tokens"] + a["output_tokens"]


@pytest.mark.parametrize(
    "name", ["x; rm -rf ~", "$(reboot)", "-rf", "a/b/c", "a b", "`id`", "", "a/../b"]
)
def test_a_name_from_a_config_cannot_run(name, opened):
    assert machine.repository(name) == machine.NO_MODEL
    panel = section(opened)
    config = dict(configs()["llama_3_1_8b"]["config"]) | {"_name_or_path": name}
    panel.root.locator(".ep-yours summary").click()
    panel.root.locator("[data-config]").fill(json.dumps(config))
    panel.page.wait_for_function(
        "() => document.querySelector('.ep-yours [role=status]').textContent"
    )
    assert f"vllm serve {machine.NO_MODEL} " in card(panel, "serve").locator("pre").inner_text()


@pytest.mark.parametrize("values", [{}, RANKS, DENSE, {"concurrency": 3, "memory_share": 0.85}])
def test_the_page_writes_python_s_commands(values, opened):
    panel = section(opened, query(values))
    for word, kinds in (("serve", SERVE), ("test", TEST)):
        box = card(panel, word)
        names = machine.ENGINES | machine.TESTS
        for kind in kinds:
            box.get_by_role("button", name=names[kind], exact=True).click()
            shown = box.locator("pre").text_content()
            repo = re.search(
                r"(?:vllm serve |--model |--model-path |model=)([\w.-]+(?:/[\w.-]+)?)",
                shown.replace("vllm bench serve", ""),
            )[1]
            assert shown == command(kind, INSTANCE, model=repo, **values)


def test_the_pickers_lead_the_command(opened):
    panel = section(opened)
    text = card(panel, "serve").locator("pre")
    assert "vllm serve Qwen/Qwen3-235B-A22B-FP8 " in text.text_content()
    panel.root.get_by_label("Engine", exact=True).select_option("sglang")
    assert "sglang.launch_server" in text.text_content()
    panel.root.get_by_label("Model", exact=True).select_option("llama_3_1_70b")
    panel.root.get_by_label("Format", exact=True).select_option("fp8/fp8")
    assert "meta-llama/" in text.text_content()
    assert "--quantization fp8 " in text.text_content()
    assert "--kv-cache-dtype fp8_e4m3 " in text.text_content()
    panel.root.get_by_label("Format", exact=True).select_option("nvfp4/bf16")
    assert "--quantization" not in text.text_content()
    note = card(panel, "serve").locator(".ep-machine-notes")
    assert note.inner_text() == WORDS["other_format"].format(format="NVFP4")


def test_the_reasons_bear_live_numbers(opened):
    panel = section(opened)
    box = card(panel, "serve")
    box.locator("summary").click()
    before = box.locator("dl").inner_text()
    panel.page.locator("input[name=tensor_parallel]").first.evaluate(
        "one => { one.value = +one.value - 3; one.dispatchEvent(new Event('input', {bubbles: true})); }"
    )
    assert box.locator("dl").inner_text() != before


# --- results --------------------------------------------------------------------------------


def bench(concurrency: float, inputs=1024, outputs=512, **constants) -> dict:
    """What `vllm bench serve` would save of a machine with these constants."""
    r = INSTANCE(concurrency=concurrency, input_tokens=inputs, output_tokens=outputs, **constants)
    n = 5 * concurrency
    return {
        "backend": "openai", "model_id": "m", "max_concurrency": concurrency, "completed": n,
        "total_input_tokens": inputs * n, "total_output_tokens": outputs * n,
        "mean_tpot_ms": 1000 * r.tpot_s, "mean_ttft_ms": 1000 * r.ttft_s,
        "output_throughput": r.output_tokens_per_s,
    }  # fmt: skip


def guidellm(run: dict) -> dict:
    """The same as GuideLLM's report has it."""
    n = run["completed"]
    means = {
        "prompt_token_count": run["total_input_tokens"] / n,
        "output_token_count": run["total_output_tokens"] / n,
        "inter_token_latency_ms": run["mean_tpot_ms"],
        "time_to_first_token_ms": run["mean_ttft_ms"],
        "output_tokens_per_second": run["output_throughput"],
        "request_concurrency": run["max_concurrency"],
    }
    metrics = {name: {"successful": {"mean": mean}} for name, mean in means.items()}
    return {"metadata": {"version": 2}, "benchmarks": [{"config": {}, "metrics": metrics}]}


def paste(panel: Panel, text: str) -> None:
    panel.page.locator("[data-measured]").fill(text)
    panel.page.wait_for_function(
        """wait => {
          const said = document.querySelector(".ep-came-back .ep-said")?.textContent ?? "";
          const wrong = document.querySelector(".estimate-machine .ep-wrong");
          return wrong || (said && said !== wait);
        }""",
        arg=WORDS["fitting"],
    )


def fitted(panel: Panel) -> dict[str, float]:
    rows = panel.page.locator(".ep-came-back [data-constant]")
    return dict(
        rows.evaluate_all("all => all.map(one => [one.dataset.constant, +one.dataset.value])")
    )


def errors(panel: Panel, row: str) -> list[float]:
    return panel.page.locator(f"[data-row={row}] [data-error]").evaluate_all(
        "all => all.map(one => +one.dataset.error)"
    )


VLLM = engine("vllm")
MACHINES = (
    {"layer_overhead_s": 1.5 * VLLM["layer_overhead_s"]},
    {"expert_mfu_prefill": 0.6 * VLLM["expert_mfu_prefill"]},
    {"expert_bandwidth_share": 0.55},
    {
        "layer_overhead_s": 1.3 * VLLM["layer_overhead_s"],
        "expert_mfu_prefill": 0.7 * VLLM["expert_mfu_prefill"],
    },
)


@pytest.mark.parametrize("form", ["bench", "guidellm"])
@pytest.mark.parametrize("constants", MACHINES, ids=lambda one: "+".join(one))
def test_the_machine_is_found_from_its_runs(constants, form, opened):
    panel = section(opened)
    loads = [(1, 1024, 512), (8, 1024, 512), (64, 1024, 512), (256, 1024, 512), (64, 8192, 256)]
    runs = [bench(c, i, o, **constants) for c, i, o in loads]
    texts = runs if form == "bench" else [guidellm(run) for run in runs]
    paste(panel, "\n".join(json.dumps(one) for one in texts))
    assert min(errors(panel, "tpot")) < -0.05, "the estimate is too fast"
    found = fitted(panel)
    for name, value in constants.items():
        assert found[name] == pytest.approx(value, rel=0.12), (name, found)
    moved = {n: v / VLLM[n] for n, v in found.items() if n not in constants and n in VLLM}
    assert all(0.7 < factor < 1.4 for factor in moved.values()), moved
    panel.page.locator(".ep-use").click()
    assert max(abs(error) for error in errors(panel, "tpot")) < 0.03
    panel.page.wait_for_function(
        "name => location.search.includes(`instance.${name}=`)", arg=next(iter(constants))
    )
    values = panel.values()
    panel.page.reload()
    panel.page.wait_for_function("performance.getEntriesByName('estimates-ready').length")
    assert panel.values() == values, "your machine stays in the address"


def test_one_run_moves_few_constants_and_meets_it(opened):
    panel = section(opened)
    paste(panel, json.dumps(bench(64, layer_overhead_s=1.5 * VLLM["layer_overhead_s"])))
    assert 1 <= len(fitted(panel)) <= 2
    panel.page.locator(".ep-use").click()
    assert abs(errors(panel, "tpot")[0]) < 0.05


def test_an_estimate_that_is_right_needs_no_fit(opened):
    panel = section(opened)
    paste(panel, json.dumps(bench(64)))
    assert panel.page.locator(".ep-said").inner_text() == WORDS["within"].format(error="0%")
    assert not panel.page.locator(".ep-use").count()


GIB = 2**30
LOGS = {
    "vllm": "INFO 09-01 12:00:00 [gpu_model_runner.py] Model loading took {weights:.2f} GiB memory and 31.2 seconds\n"
    "INFO [gpu_worker.py] Available KV cache memory: {pool:.2f} GiB\n"
    "INFO [kv_cache_utils.py] GPU KV cache size: {tokens:,} tokens\n"
    "INFO [kv_cache_utils.py] Maximum concurrency for 1,792 tokens per request: 400.00x\n",
    "vllm_merged": "INFO GPU KV cache size: {tokens:,} tokens, Maximum concurrency for 1,792 tokens per request: 4.00x",
    "sglang": "[TP0] Load weight end. type=Qwen3MoeForCausalLM, dtype=torch.bfloat16, avail mem=49.5 GB, mem usage={weights:.2f} GB.\n"
    "[TP0] max_total_num_tokens={tokens}, chunked_prefill_size=2048, max_running_requests=64\n",
}


@pytest.mark.parametrize("kind", LOGS)
@pytest.mark.parametrize("ranks", [{}, RANKS], ids=["one", "ranks"])
def test_log_lines_tell_the_memory_kept_back(kind, ranks, opened):
    kept = 4.5e9
    r = INSTANCE(reserved_bytes_per_gpu=kept, **ranks)
    text = LOGS[kind].format(
        weights=r.weight_bytes_per_gpu / GIB,
        pool=r.kv_pool_bytes_per_gpu / GIB,
        tokens=int(r.tokens_that_fit / r.assumptions["data_parallel"]),
    )
    panel = section(opened, query(ranks))
    paste(panel, text)
    assert errors(panel, "tokens")[0] > 0.005
    if "weights" in LOGS[kind]:
        assert abs(errors(panel, "weights")[0]) < 0.001
    assert fitted(panel) == {"reserved_bytes_per_gpu": pytest.approx(kept, rel=0.02)}
    panel.page.locator(".ep-use").click()
    assert abs(errors(panel, "tokens")[0]) < 0.005


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("hello", "unknown"),
        ("{", "unknown"),
        ("[1]", "unknown"),
        ("null", "unknown"),
        ('{"a": 1}', "unknown"),
        ('{"mean_tpot_ms": 10}', "no_tokens"),
        (json.dumps(bench(8) | {"completed": 0}), "no_tokens"),
        (json.dumps(bench(8) | {"mean_tpot_ms": "1e3"}), "no_tokens"),
        (json.dumps(bench(8) | {"max_concurrency": None}), "no_load"),
        ('{"benchmarks": [{"metrics": {}}]}', "no_tokens"),
        ('{"mean_tpot_ms": 1, "x": "<img src=x onerror=alert(1)>"}', "no_tokens"),
    ],
)
def test_what_cannot_be_used_gets_a_sentence(text, word, opened):
    panel = section(opened)
    before = panel.values()
    paste(panel, text)
    says = panel.page.locator(".estimate-machine [role=status]")
    assert says.inner_text() == WORDS[word]
    assert not panel.page.locator(".ep-came-back > *").count() and panel.values() == before


def test_files_that_are_chosen_are_read_together_and_cleared(opened):
    panel = section(opened)
    files = [
        {"name": f"load-{c}.json", "mimeType": "application/json", "buffer": json.dumps(bench(c, layer_overhead_s=1e-4)).encode()}
        for c in (1, 64)
    ]  # fmt: skip
    panel.page.locator(".estimate-machine input[type=file]").set_input_files(files)
    panel.page.wait_for_selector(".ep-use")
    assert len(errors(panel, "tpot")) == 2 and len(errors(panel, "ttft_idle")) == 1
    panel.page.get_by_role("button", name=WORDS["clear"], exact=True).click()
    assert not panel.page.locator(".ep-came-back > *").count()


def test_the_comparison_follows_the_sliders(opened):
    panel = section(opened)
    paste(panel, json.dumps(bench(64)))
    before = errors(panel, "tpot")
    panel.root.get_by_label("Model", exact=True).select_option("llama_3_1_70b")
    assert errors(panel, "tpot") != before


# --- the section ----------------------------------------------------------------------------


def test_the_section_is_in_both_languages(language, opened):
    panel = section(opened, language=language)
    titles = panel.page.locator(".ep-command h3").all_inner_texts()
    assert titles == [translate(WORDS[word]) for word in ("serve", "test", "results")]


@pytest.mark.parametrize("width", [390, 1280])
def test_the_section_keeps_inside_the_page(width, opened):
    panel = section(opened, size=(width, 900))
    paste(panel, "\n".join(json.dumps(bench(c, layer_overhead_s=1e-4)) for c in (1, 4096)))
    assert panel.page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_page_without_a_script_shows_the_commands(site):
    from served import SITE

    html = (SITE / PAGE).read_text("utf-8")
    assert "<pre>vllm serve MODEL" in html and "--max-num-seqs" in html


def test_only_pages_with_pickers_load_the_extension(site):
    from served import SITE

    for name, expected in (("instance", True), ("moe_serving", False)):
        html = (SITE / "chapters" / f"{name}.html").read_text("utf-8")
        assert ("_static/machine.js" in html) is expected


def test_extensions_take_what_the_page_keeps_for_them():
    page = script.page_script()
    kept = set(re.search(r"self\.bookKit = \{ (.*?) \};", page)[1].split(", "))
    for name in script.EXTENSIONS:
        taken = re.search(r"const \{ (.*?) \} = kit;", script.extension_script(name))[1]
        assert set(taken.split(", ")) <= kept
