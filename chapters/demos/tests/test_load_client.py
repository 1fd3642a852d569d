"""The client of the serving demo: its arithmetic, and that it ends whatever the server does."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import load_client
import tiny_server
from load_client import Limits, Outcome, Record, Request, Run, Slo, poisson, run, summarize

QUICK = Limits(request_s=1.0, silence_s=0.3, run_s=5.0)
HELLO = Request("hello", max_tokens=8)
WANTED = {
    "none": (Outcome.OK, 2, ""),
    "dies while answering": (Outcome.BROKEN, 2, "connection lost"),
    "ends the stream early": (Outcome.BROKEN, 2, "without a reason to finish"),
    "stalls while answering": (Outcome.TIMED_OUT, 2, "silent for 0.3 s"),
    "never answers": (Outcome.TIMED_OUT, 0, "silent for 0.3 s"),
    "only keeps alive": (Outcome.TIMED_OUT, 0, "not done after 1 s"),
    "hangs up": (Outcome.BROKEN, 0, "connection lost"),
    "overloaded": (Outcome.HTTP_ERROR, 0, "503: try later"),
    "an error in the stream": (Outcome.SERVER_ERROR, 2, "out of memory"),
    "not HTTP": (Outcome.BROKEN, 0, "connection lost"),
    "a web page": (Outcome.MALFORMED, 0, "text/html"),
    "not JSON": (Outcome.MALFORMED, 2, "not JSON: {oops"),
    "JSON, but no chunk": (Outcome.MALFORMED, 2, "not a chunk: [1, 2]"),
    "bytes at random": (Outcome.MALFORMED, 0, "not JSON"),
    "never stops talking": (Outcome.MALFORMED, 25, "more text than the 8 tokens"),
    "a line without end": (Outcome.MALFORMED, 0, "limit"),
}


def against(script, load, arrivals, limits=QUICK, pause_s=0.0, **options) -> Run:
    """One run against a scripted server. Fails where it takes longer than its limits allow."""

    async def go() -> Run:
        async with tiny_server.faulty(script, pause_s) as url, asyncio.timeout(limits.run_s + 2):
            return await run(url, "none", load, arrivals, limits=limits, **options)

    return asyncio.run(go())


# --- what a server may do -------------------------------------------------------------------


def test_every_fault_has_its_expectation():
    assert WANTED.keys() == tiny_server.FAULTS.keys()


@pytest.mark.parametrize("fault", tiny_server.FAULTS)
def test_a_faulty_server_ends_in_a_clear_message_and_what_came_before(fault):
    pause_s = 0.01 if fault in tiny_server.SLOW else 0.0
    (record,) = against(tiny_server.FAULTS[fault], [HELLO], [0.0], pause_s=pause_s).records
    outcome, tokens, message = WANTED[fault]
    assert (record.outcome, record.tokens) == (outcome, tokens)
    assert message in record.message and bool(message) == bool(record.message)
    assert record.end_s is not None and record.end_s < QUICK.request_s + 0.5


@pytest.mark.parametrize(
    "data",
    [
        b"1", b"null", b'"text"', b"{}", b'{"choices": 5}', b'{"choices": [{}]}', b"[" * 100_000,
        b'{"choices": [{"delta": null}]}', b'{"choices": [{"delta": {"content": 7}}]}',
        b'{"choices": [], "usage": {"completion_tokens": "many"}}', b'{"choices": {"a": 1}}',
    ],
)  # fmt: skip
def test_an_event_that_is_no_chunk_is_malformed(data):
    script = [tiny_server.HEAD, b"data: " + data + b"\n\n"]
    (record,) = against(script, [HELLO], [0.0]).records
    assert record.outcome is Outcome.MALFORMED and len(record.message) < 120


def test_nobody_there():
    url = f"http://127.0.0.1:{tiny_server.free_port()}/v1"
    result = asyncio.run(run(url, "none", [HELLO], [0.0], limits=QUICK))
    assert result.records[0].outcome is Outcome.REFUSED
    assert "cannot connect" in result.records[0].message


def test_after_some_failures_in_a_row_it_stops_sending():
    load, arrivals = [HELLO] * 40, [0.02 * i for i in range(40)]
    result = against(tiny_server.FAULTS["hangs up"], load, arrivals)
    outcomes = [r.outcome for r in result.records]
    assert len(outcomes) == 40 and outcomes.count(Outcome.NOT_SENT) > 25
    assert result.stopped.startswith("gave up after 5 failures in a row; the last: broken")
    assert all(r.message for r in result.records)


def test_the_whole_run_has_an_end():
    limits = Limits(request_s=30, silence_s=30, run_s=0.5)
    load, arrivals = [HELLO] * 4, [0.0, 0.1, 0.2, 60.0]
    began = time.monotonic()
    result = against(tiny_server.FAULTS["stalls while answering"], load, arrivals, limits)
    assert time.monotonic() - began < 3
    *open_ones, unsent = result.records
    assert {r.outcome for r in open_ones} == {Outcome.CUT} and unsent.outcome is Outcome.NOT_SENT
    assert all(r.text == "ab" for r in open_ones), "what came before the cut is kept"
    assert result.stopped == unsent.message == "the run took longer than 0.5 s"


def test_a_server_that_stays_silent_does_not_slow_the_load():
    """Open loop: requests leave when they are due, whatever came back."""
    limits = Limits(request_s=5, silence_s=0.6, run_s=5, failures=100)
    arrivals = [0.02 * i for i in range(20)]
    result = against([tiny_server.SILENCE], [HELLO] * 20, arrivals, limits)
    assert all(r.sent_s - r.due_s < 0.5 for r in result.records)
    assert max(result.in_flight) == 20


def test_a_mistaken_load_is_refused():
    with pytest.raises(ValueError, match="2 requests, but 1 arrivals"):
        asyncio.run(run("http://127.0.0.1:9/v1", "none", [HELLO] * 2, [0.0]))


def test_no_requests_are_a_run_too():
    result = asyncio.run(run("http://127.0.0.1:9/v1", "none", [], []))
    summary = summarize(result, Slo(1, 1))
    assert result.records == () and summary.goodput == 0 and summary.ttft.p50 is None


# --- what a well-behaved one sends ----------------------------------------------------------


def events(*parts: object) -> list[bytes]:
    data = [p if isinstance(p, bytes) else f"data: {json.dumps(p)}\n\n".encode() for p in parts]
    return [tiny_server.HEAD, *data]


def test_usage_and_comments_and_reasoning_are_understood():
    script = events(
        b": a comment\n\n",
        {"choices": [{"delta": {"role": "assistant"}}], "usage": None, "error": None},
        {"choices": [{"delta": {"reasoning_content": "hm "}}]},
        {"choices": [{"delta": {"content": "yes"}, "finish_reason": "stop"}]},
        {"choices": [], "usage": {"completion_tokens": 5}},
        b"data:[DONE]\r\n\r\n",
    )
    (record,) = against(script, [HELLO], [0.0]).records
    assert record.ok and (record.text, record.chunks) == ("hm yes", 2)
    assert record.tokens == record.reported_tokens == 5
    (counted,) = against(script, [HELLO], [0.0], count=len).records
    assert (counted.tokens, counted.reported_tokens) == (6, 5)


def test_an_event_may_come_in_pieces():
    whole = b"".join([*tiny_server.START[1:], tiny_server.chunk("é", "stop")])
    pieces = [tiny_server.HEAD, *(whole[i : i + 7] for i in range(0, len(whole), 7))]
    (record,) = against(pieces, [HELLO], [0.0], pause_s=0.005).records
    assert record.ok and record.text == "abé"


def test_the_body_carries_what_was_asked():
    body = Request("hello", 7, {"model": "adapter-1", "response_format": {"type": "x"}}).body("m")
    assert (body["model"], body["max_tokens"], body["stream"]) == ("adapter-1", 7, True)
    assert body["messages"] == [{"role": "user", "content": "hello"}]
    assert body["response_format"] == {"type": "x"}


# --- arithmetic -----------------------------------------------------------------------------


def test_both_definitions_of_tpot():
    record = Record(due_s=1.0, sent_s=1.1, first_s=1.4, last_s=3.4, end_s=3.5, tokens=11)
    assert record.ttft_s == pytest.approx(0.4)
    assert record.tpot_s == pytest.approx(0.2)
    assert record.tpot_with_first_s == pytest.approx(2.4 / 11)
    single = Record(due_s=0.0, first_s=0.5, last_s=0.5, tokens=1)
    assert single.tpot_s is None and single.tpot_with_first_s == 0.5


def whole(due_s: float, ttft_s: float, tpot_s: float, tokens: int = 11) -> Record:
    first = due_s + ttft_s
    last = first + tpot_s * (tokens - 1)
    return Record(due_s, Outcome.OK, "", due_s, first, last, last, "x" * tokens, tokens, tokens)


def test_a_summary_counts_failures_against_goodput_but_not_in_percentiles():
    records = (
        whole(0.0, 0.1, 0.01), whole(0.5, 0.3, 0.01), whole(1.0, 0.1, 0.05),
        Record(1.5, Outcome.BROKEN, "gone", sent_s=1.6, first_s=1.7, last_s=1.7, end_s=2.0),
        Record(9.0),
    )  # fmt: skip
    s = summarize(Run(records, "gave up", (0, 1, 2)), Slo(ttft_s=0.2, tpot_s=0.02))
    assert s.outcomes == {"ok": 3, "broken": 1, "not sent": 1}
    assert s.goodput == pytest.approx(1 / 5)
    assert (s.ttft.p50, s.ttft.p99) == (pytest.approx(0.1), pytest.approx(0.3))
    assert s.window_s == 2.0 and s.sent_per_s == 2.0 and s.done_per_s == 1.5
    assert s.tokens_per_s == pytest.approx(33 / 2)
    assert s.littles_law == pytest.approx((0.2 + 0.4 + 0.6 + 0.5) / 2)
    assert s.in_flight == 1.0 and s.lag_s == pytest.approx(0.1) and s.stopped == "gave up"


def test_an_answer_of_one_token_has_no_tpot_to_miss():
    assert Slo(1.0, 1e-9).met_by(whole(0.0, 0.5, 1.0, tokens=1))
    assert not Slo(1.0, 1.0).met_by(Record(0.0, Outcome.OK))


def test_departures_are_poisson_and_repeatable():
    assert poisson(5, 10, seed=3) == poisson(5, 10, seed=3) != poisson(5, 10, seed=4)
    at = poisson(100, 20_000, seed=0)
    gaps = [b - a for a, b in zip([0.0, *at], at, strict=False)]
    assert statistics.mean(gaps) == pytest.approx(0.01, rel=0.03)
    assert statistics.stdev(gaps) == pytest.approx(0.01, rel=0.03)
    assert at == sorted(at) and poisson(5, 0, seed=0) == []


def test_in_flight_agrees_with_littles_law():
    script = [*tiny_server.START, tiny_server.chunk("c", "stop")]
    limits = Limits(request_s=5, silence_s=5, run_s=10)
    load, arrivals = [HELLO] * 60, poisson(40, 60, seed=1)
    result = against(script, load, arrivals, limits, pause_s=0.05)
    s = summarize(result, Slo(5, 5))
    assert s.outcomes == {"ok": 60} and s.littles_law > 3
    assert s.in_flight == pytest.approx(s.littles_law, rel=0.2)


# --- real servers ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("serving") / "model"
    tiny_server.write_model(folder, tiny_server.Shape(hidden=128, layers=2))
    return folder


def test_a_real_server_is_driven_then_killed_under_load(model):
    """The lengths are those asked for; after the crash the run ends with what came before."""

    async def go(server) -> tuple[Run, Run]:
        load = [Request("abc" * 10, max_tokens=16)] * 8
        good = await run(server.url, server.model, load, [0.05 * i for i in range(8)], count=len)
        load = [Request("abc" * 10, max_tokens=200)] * 40
        arrivals = [0.05 * i for i in range(40)]
        limits = Limits(request_s=5, silence_s=3, run_s=8)
        task = asyncio.create_task(run(server.url, server.model, load, arrivals, limits=limits))
        await asyncio.sleep(0.4)
        server.kill()
        async with asyncio.timeout(10):
            return good, await task

    with tiny_server.Server("transformers", model) as server:
        good, crashed = asyncio.run(go(server.wait()))
    assert [r.outcome for r in good.records] == [Outcome.OK] * 8
    assert {r.tokens for r in good.records} == {r.reported_tokens for r in good.records} == {16}
    outcomes = {r.outcome for r in crashed.records}
    assert len(crashed.records) == 40 and crashed.stopped.startswith("gave up")
    assert {Outcome.BROKEN, Outcome.NOT_SENT} <= outcomes
    assert server.process.poll() is not None


def test_a_server_that_cannot_start_shows_its_log(tmp_path):
    (tmp_path / "model").mkdir()
    with (
        tiny_server.Server("transformers", tmp_path / "model") as server,
        pytest.raises(tiny_server.ServerError, match=r"ended with 1. Its log ends:\n.*\w"),
    ):
        server.wait()


def test_what_the_small_engine_cannot_do_is_said(model):
    features = tiny_server.Features(adapters=(("a", "path"),))
    with pytest.raises(ValueError, match="needs vLLM on a GPU"):
        tiny_server.command("transformers", model, 1, features)
    with pytest.raises(ValueError, match="without batching"):
        tiny_server.command("transformers", model, 1, tiny_server.Features(drafts=4))


def test_the_command_for_a_gpu_names_every_feature(model):
    features = tiny_server.Features(True, False, 4, (("a", "/a"), ("b", "/b")), half=True)
    words = tiny_server.command("vllm", model, 1, features)
    assert {"--no-enable-prefix-caching", "--enable-lora", "a=/a", "b=/b", "half"} <= set(words)
    assert json.loads(words[words.index("--speculative-config") + 1])["num_speculative_tokens"] == 4
    assert "127.0.0.1" in words


def test_adapters_have_the_shapes_of_the_model(tmp_path):
    from safetensors import safe_open

    shape = tiny_server.Shape(hidden=128, layers=2)
    written = tiny_server.write_adapters(tmp_path, shape, 2)
    assert list(written) == ["adapter-0", "adapter-1"]
    with safe_open(written["adapter-1"] / "adapter_model.safetensors", "pt") as file:
        sizes = {name: file.get_slice(name).get_shape() for name in file.keys()}  # noqa: SIM118
    stem = "base_model.model.model.layers.1.self_attn.v_proj"
    assert len(sizes) == 2 * 2 * 2
    assert sizes[f"{stem}.lora_A.weight"] == [16, 128]
    assert sizes[f"{stem}.lora_B.weight"] == [64, 16]


def test_a_text_of_n_characters_is_n_tokens(model):
    os.environ["HF_HUB_OFFLINE"] = "1"
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    text = "All of ASCII: ~!{}[]\n and  spaces"
    ids = tokenizer(text)["input_ids"]
    assert len(ids) == len(text) and tokenizer.decode(ids) == text


def test_nothing_but_this_machine_is_named():
    assert tiny_server.HOST == "127.0.0.1" and load_client.SAMPLE_S > 0
