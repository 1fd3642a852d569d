"""An open-loop load on an OpenAI-compatible endpoint, and what it measured.

Requests leave on a schedule drawn beforehand, whether or not earlier ones are back: a slow server
does not slow the load down. `run` always returns, with a record of every request: it never waits
longer than `Limits` allow, and what goes wrong becomes an outcome with a message.

    load = [Request("hello", max_tokens=16)] * 100
    result = await run(url, model, load, poisson(rate=5, count=100, seed=0))
    summary = summarize(result, Slo(ttft_s=2, tpot_s=0.05))

Written on httpx2, the maintained line of httpx, which parses event streams and bounds their size.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import httpx2
from common import percentile
from tqdm.auto import tqdm

SAMPLE_S = 0.01
"""Between two looks at how many requests are in flight."""
SLACK = 16
"""Chunks of text beyond the tokens asked for that are still taken: some servers send empty ones."""
ERROR_BYTES = 2000
"""Of the body of an HTTP error, as much is read."""

# --- the load -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Request:
    """One chat completion. `extra` is added to the body: a schema, an adapter as `model`."""

    prompt: str
    max_tokens: int
    extra: Mapping[str, Any] = field(default_factory=dict)

    def body(self, model: str) -> dict[str, Any]:
        return {
            "model": model,
            "messages": [{"role": "user", "content": self.prompt}],
            "max_tokens": self.max_tokens,
            "temperature": 0,
            "stream": True,
            "stream_options": {"include_usage": True},
            **self.extra,
        }


def poisson(rate: float, count: int, seed: int) -> list[float]:
    """Seconds from the start at which `count` requests leave: random, `rate` a second on average."""
    draw, at, arrivals = random.Random(seed), 0.0, []
    for _ in range(count):
        at += draw.expovariate(rate)
        arrivals.append(at)
    return arrivals


@dataclass(frozen=True)
class Limits:
    """How long to wait. silence_s: for the next byte. failures: in a row, before giving up."""

    request_s: float = 60.0
    silence_s: float = 20.0
    run_s: float = 300.0
    failures: int = 5


# --- what came back -------------------------------------------------------------------------


class Outcome(StrEnum):
    OK = "ok"
    REFUSED = "refused"
    BROKEN = "broken"
    TIMED_OUT = "timed out"
    HTTP_ERROR = "HTTP error"
    SERVER_ERROR = "server error"
    MALFORMED = "malformed"
    CUT = "cut off"
    NOT_SENT = "not sent"


@dataclass(frozen=True)
class Record:
    """One request. Times in seconds from the start of the run; None where it did not get so far.

    tokens: counted in the text where `run` was told how, else the server's count, else chunks.
    reported_tokens: the server's own count.
    """

    due_s: float
    outcome: Outcome = Outcome.NOT_SENT
    message: str = ""
    sent_s: float | None = None
    first_s: float | None = None
    last_s: float | None = None
    end_s: float | None = None
    text: str = ""
    chunks: int = 0
    tokens: int = 0
    reported_tokens: int | None = None

    @property
    def ok(self) -> bool:
        return self.outcome is Outcome.OK

    @property
    def ttft_s(self) -> float | None:
        """From when the request was due, so that a client that lags cannot hide a queue."""
        return None if self.first_s is None else self.first_s - self.due_s

    @property
    def tpot_s(self) -> float | None:
        """Without the first token: (last − first) ÷ (tokens − 1). The book's definition."""
        if self.first_s is None or self.last_s is None or self.tokens < 2:
            return None
        return (self.last_s - self.first_s) / (self.tokens - 1)

    @property
    def tpot_with_first_s(self) -> float | None:
        """With the first token: the whole latency ÷ tokens, so queueing and prefill are in it."""
        if self.last_s is None or not self.tokens:
            return None
        return (self.last_s - self.due_s) / self.tokens


@dataclass(frozen=True)
class Run:
    """A record for every request of the load, in its order.

    stopped: why not all of it was sent or awaited, "" if it was. in_flight: samples of the count.
    """

    records: tuple[Record, ...]
    stopped: str = ""
    in_flight: tuple[int, ...] = ()


# --- sending --------------------------------------------------------------------------------


class _StreamError(Exception):
    """What ends a request: an outcome and a message."""

    def __init__(self, outcome: Outcome, message: str) -> None:
        super().__init__(message)
        self.outcome = outcome


@dataclass
class _Answer:
    """A stream while it is read."""

    due_s: float
    sent_s: float
    first_s: float | None = None
    last_s: float | None = None
    texts: list[str] = field(default_factory=list)
    finish: str | None = None
    reported: int | None = None

    def take(self, data: str, now_s: float, most: int) -> None:
        """One event. Raises _StreamError for what no server should send."""
        text, finish, reported = _parse(data)
        if text:
            self.first_s = now_s if self.first_s is None else self.first_s
            self.last_s = now_s
            self.texts.append(text)
        if len(self.texts) > most + SLACK:
            raise _StreamError(Outcome.MALFORMED, f"more text than the {most} tokens asked for")
        self.finish = finish or self.finish
        self.reported = self.reported if reported is None else reported

    def record(
        self, outcome: Outcome, message: str, end_s: float, count: Callable[[str], int] | None
    ) -> Record:
        text, chunks = "".join(self.texts), len(self.texts)
        tokens = count(text) if count else self.reported or chunks
        return Record(
            self.due_s, outcome, message, self.sent_s, self.first_s, self.last_s, end_s,
            text, chunks, tokens, self.reported,
        )  # fmt: skip


def _parse(data: str) -> tuple[str, str | None, int | None]:
    """Text, reason to finish and count of tokens of one event of a chat completion."""
    try:
        chunk = json.loads(data)
    except (ValueError, RecursionError):
        raise _StreamError(Outcome.MALFORMED, f"not JSON: {_short(data)}") from None
    try:
        if error := chunk.get("error"):
            message = error.get("message", error) if isinstance(error, dict) else error
            raise _StreamError(Outcome.SERVER_ERROR, _short(message))
        tokens = (chunk.get("usage") or {}).get("completion_tokens")
        reported = None if tokens is None else int(tokens)
        if not chunk["choices"]:
            return "", None, reported
        choice = chunk["choices"][0]
        delta = choice["delta"]
        text = (delta.get("reasoning_content") or "") + (delta.get("content") or "")
        return text, choice.get("finish_reason"), reported
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        raise _StreamError(Outcome.MALFORMED, f"not a chunk: {_short(data)}") from None


def _short(text: object) -> str:
    line = " ".join(str(text).split())
    return line if len(line) <= 80 else line[:79] + "…"


class _Load:
    """One run while it lasts: what is open, what is done, when to give up."""

    def __init__(self, client: httpx2.AsyncClient, limits: Limits, model: str, bar: Any) -> None:
        self.client, self.limits, self.model, self.bar = client, limits, model, bar
        self.began = time.perf_counter()
        self.open = 0
        self.samples: list[int] = []
        self.failed_in_a_row = 0
        self.stopped = ""

    def now_s(self) -> float:
        return time.perf_counter() - self.began

    async def sample(self) -> None:
        while True:
            self.samples.append(self.open)
            await asyncio.sleep(SAMPLE_S)

    async def send(
        self, request: Request, due_s: float, count: Callable[[str], int] | None
    ) -> Record:
        """One request to its end, whatever that is."""
        answer = _Answer(due_s, self.now_s())
        self.open += 1
        outcome, message = Outcome.OK, ""
        try:
            async with asyncio.timeout(self.limits.request_s):
                await self._stream(request, answer)
        except _StreamError as e:
            outcome, message = e.outcome, str(e)
        except httpx2.SSEError as e:
            outcome, message = Outcome.MALFORMED, _short(e)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as e:
            outcome, message = Outcome.REFUSED, f"cannot connect: {_short(e)}"
        except httpx2.TimeoutException:
            outcome, message = Outcome.TIMED_OUT, f"silent for {self.limits.silence_s:g} s"
        except TimeoutError:
            outcome, message = Outcome.TIMED_OUT, f"not done after {self.limits.request_s:g} s"
        except httpx2.HTTPError as e:
            outcome, message = Outcome.BROKEN, f"connection lost: {_short(e) or type(e).__name__}"
        except asyncio.CancelledError:  # only `run` cancels, at the end of its time
            outcome, message = Outcome.CUT, f"still open after {self.limits.run_s:g} s of the run"
        finally:
            self.open -= 1
        record = answer.record(outcome, message, self.now_s(), count)
        self._note(record)
        return record

    async def _stream(self, request: Request, answer: _Answer) -> None:
        body = request.body(self.model)
        async with self.client.stream("POST", "chat/completions", json=body) as response:
            if response.status_code >= 400:
                raise _StreamError(Outcome.HTTP_ERROR, await _http_error(response))
            async for event in httpx2.EventSource(response):
                if event.data.strip() == "[DONE]":
                    break
                answer.take(event.data, self.now_s(), request.max_tokens)
        if answer.finish is None:
            raise _StreamError(Outcome.BROKEN, "the stream ended without a reason to finish")

    def _note(self, record: Record) -> None:
        self.bar.update()
        self.failed_in_a_row = 0 if record.ok else self.failed_in_a_row + 1
        if self.failed_in_a_row >= self.limits.failures and not self.stopped:
            self.stopped = (
                f"gave up after {self.failed_in_a_row} failures in a row; "
                f"the last: {record.outcome}, {record.message}"
            )


async def _http_error(response: httpx2.Response) -> str:
    """Status and the beginning of the body, which may be endless."""
    body = b""
    async for part in response.aiter_bytes(ERROR_BYTES):
        body += part
        if len(body) >= ERROR_BYTES:
            break
    return _short(f"{response.status_code}: {body.decode('utf-8', 'replace')}")


async def run(
    url: str,
    model: str,
    load: Sequence[Request],
    arrivals_s: Sequence[float],
    *,
    limits: Limits | None = None,
    count: Callable[[str], int] | None = None,
    progress: str = "",
) -> Run:
    """Send `load[i]` at `arrivals_s[i]` seconds to `url` (…/v1). A name in `progress` shows a bar.

    count: tokens of a text, from the model's tokenizer; a server's own count need not be right.
    """
    limits = limits or Limits()
    if len(load) != len(arrivals_s):
        raise ValueError(f"{len(load)} requests, but {len(arrivals_s)} arrivals")
    bar = tqdm(total=len(load), desc=progress, disable=not progress, leave=False)
    client = httpx2.AsyncClient(
        base_url=url,
        timeout=httpx2.Timeout(limits.silence_s),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None),
        trust_env=False,  # no proxy between client and server
    )
    tasks: list[asyncio.Task[Record]] = []
    with bar:
        async with client:
            state = _Load(client, limits, model, bar)
            sampler = asyncio.create_task(state.sample())
            try:
                async with asyncio.timeout(limits.run_s):
                    for request, due_s in zip(load, arrivals_s, strict=True):
                        await asyncio.sleep(max(0.0, due_s - state.now_s()))
                        if state.stopped:
                            break
                        tasks.append(asyncio.create_task(state.send(request, due_s, count)))
                    await asyncio.wait(tasks) if tasks else None
            except TimeoutError:
                state.stopped = f"the run took longer than {limits.run_s:g} s"
            finally:
                for task in (sampler, *tasks):
                    task.cancel()
                await asyncio.gather(sampler, *tasks, return_exceptions=True)
    sent = [_record(task, due_s) for task, due_s in zip(tasks, arrivals_s, strict=False)]
    unsent = [Record(due_s, message=state.stopped) for due_s in arrivals_s[len(sent) :]]
    return Run((*sent, *unsent), state.stopped, tuple(state.samples))


def _record(task: asyncio.Task[Record], due_s: float) -> Record:
    if task.cancelled():  # before its first step
        return Record(due_s, message="cut off before it was sent")
    return task.result()


# --- what it amounts to ---------------------------------------------------------------------


@dataclass(frozen=True)
class Slo:
    """What a request must keep to count as good."""

    ttft_s: float
    tpot_s: float

    def met_by(self, record: Record) -> bool:
        """A failed request meets nothing; one with a single token has no TPOT to miss."""
        ttft_s, tpot_s = record.ttft_s, record.tpot_s
        if not record.ok or ttft_s is None:
            return False
        return ttft_s <= self.ttft_s and (tpot_s is None or tpot_s <= self.tpot_s)


@dataclass(frozen=True)
class Percentiles:
    """Over the requests that came back whole; None where there was none."""

    p50: float | None
    p90: float | None
    p99: float | None


@dataclass(frozen=True)
class Summary:
    """A run in numbers.

    goodput: share of all requests, sent or not, that met the SLO. in_flight: the sampled mean.
    littles_law: rate × mean latency over the same window. lag_s: the latest that one left.
    """

    outcomes: Mapping[str, int]
    window_s: float
    sent_per_s: float
    done_per_s: float
    tokens_per_s: float
    ttft: Percentiles
    tpot: Percentiles
    tpot_with_first: Percentiles
    goodput: float
    in_flight: float
    littles_law: float
    lag_s: float
    stopped: str


def summarize(result: Run, slo: Slo) -> Summary:
    """Percentiles over the whole answers, rates over the time from the start to the last end."""
    records = result.records
    whole = [r for r in records if r.ok]
    stays = [r.end_s - r.due_s for r in records if r.end_s is not None]
    window_s = max((r.end_s for r in records if r.end_s is not None), default=0.0)
    lags = [r.sent_s - r.due_s for r in records if r.sent_s is not None]
    per_s = 1 / window_s if window_s else 0.0
    return Summary(
        outcomes=dict(Counter(str(r.outcome) for r in records)),
        window_s=window_s,
        sent_per_s=len(stays) * per_s,
        done_per_s=len(whole) * per_s,
        tokens_per_s=sum(r.tokens for r in whole) * per_s,
        ttft=_percentiles(r.ttft_s for r in whole),
        tpot=_percentiles(r.tpot_s for r in whole),
        tpot_with_first=_percentiles(r.tpot_with_first_s for r in whole),
        goodput=sum(map(slo.met_by, records)) / len(records) if records else 0.0,
        in_flight=sum(result.in_flight) / len(result.in_flight) if result.in_flight else 0.0,
        littles_law=sum(stays) * per_s,
        lag_s=max(lags, default=0.0),
        stopped=result.stopped,
    )


def _percentiles(values: Iterable[float | None]) -> Percentiles:
    known = [v for v in values if v is not None]
    if not known:
        return Percentiles(None, None, None)
    return Percentiles(*(percentile(known, share) for share in (0.5, 0.9, 0.99)))
