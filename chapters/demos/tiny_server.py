"""Servers on 127.0.0.1 for the serving demo: real ones with a model made on the spot, and faulty ones.

The model has random weights and a tokenizer of single characters, so that a text of n characters
is n tokens. Nothing is downloaded. On a GPU the engine is vLLM, elsewhere `transformers serve`.
"""

from __future__ import annotations

import asyncio
import atexit
import importlib.util
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

HOST = "127.0.0.1"
START_S = {"vllm": 600.0, "transformers": 60.0}
"""How long a server may take to start."""

# --- the model ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shape:
    """Of a Llama. The head size is 64, with two query heads to a KV head."""

    hidden: int
    layers: int


TINY = Shape(hidden=256, layers=4)
"""Some four million parameters: what a CPU decodes in milliseconds."""
ONE_BILLION = Shape(hidden=2048, layers=20)
"""Some 1.3 billion: 2.7 GB, so that a step on a GPU is bound by reading them."""
RANK = 16


def write_model(folder: Path, shape: Shape, weights: bool = True) -> None:
    """Tokenizer, configuration and random weights. vLLM makes its own weights."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    printable = [*map(chr, range(33, 127)), "Ġ", "Ċ"]  # the last two: space, line break
    vocabulary = {text: i for i, text in enumerate(["<s>", "</s>", *printable])}
    characters = Tokenizer(models.BPE(vocabulary, []))
    characters.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    characters.decoder = decoders.ByteLevel()
    template = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
    PreTrainedTokenizerFast(
        tokenizer_object=characters, bos_token="<s>", eos_token="</s>", chat_template=template
    ).save_pretrained(folder)
    heads = shape.hidden // 64
    config = LlamaConfig(
        vocab_size=len(vocabulary), hidden_size=shape.hidden, num_hidden_layers=shape.layers,
        intermediate_size=4 * shape.hidden, num_attention_heads=heads,
        num_key_value_heads=heads // 2, max_position_embeddings=4096,
        bos_token_id=0, eos_token_id=None, pad_token_id=1,
        architectures=["LlamaForCausalLM"], dtype="float32" if weights else "bfloat16",
    )  # fmt: skip
    if not weights:
        config.save_pretrained(folder)
        return
    torch.manual_seed(0)
    model = LlamaForCausalLM(config)
    model.lm_head.weight.data[:2] = 0  # never the best: a special token has no text
    model.generation_config.eos_token_id = None  # an answer has the length that was asked for
    model.save_pretrained(folder)


def write_adapters(folder: Path, shape: Shape, count: int) -> dict[str, Path]:
    """Name → folder of random LoRA adapters on the query and value projections."""
    import torch
    from safetensors.torch import save_file

    widths = {"q_proj": shape.hidden, "v_proj": shape.hidden // 2}
    about = {
        "peft_type": "LORA", "task_type": "CAUSAL_LM", "r": RANK, "lora_alpha": RANK,
        "target_modules": list(widths), "bias": "none", "base_model_name_or_path": "",
    }  # fmt: skip
    draw = torch.Generator().manual_seed(1)
    written = {}
    for number in range(count):
        path = folder / f"adapter-{number}"
        path.mkdir(parents=True)
        tensors = {}
        for layer in range(shape.layers):
            for name, width in widths.items():
                stem = f"base_model.model.model.layers.{layer}.self_attn.{name}"
                down = torch.randn(RANK, shape.hidden, generator=draw) / shape.hidden**0.5
                tensors[f"{stem}.lora_A.weight"] = down
                tensors[f"{stem}.lora_B.weight"] = torch.randn(width, RANK, generator=draw) / RANK
        save_file(tensors, path / "adapter_model.safetensors")
        (path / "adapter_config.json").write_text(json.dumps(about), "utf-8")
        written[path.name] = path
    return written


# --- a real server --------------------------------------------------------------------------


@dataclass(frozen=True)
class Features:
    """What a server does. drafts: tokens that prompt lookup proposes each step."""

    batching: bool = True
    prefix_cache: bool = True
    drafts: int = 0
    adapters: tuple[tuple[str, str], ...] = ()
    half: bool = False


def engine() -> str:
    """`vllm` where there is a GPU and the package, else `transformers`."""
    import torch

    there = importlib.util.find_spec("vllm") is not None
    return "vllm" if there and torch.cuda.is_available() else "transformers"


def command(kind: str, folder: Path, port: int, features: Features) -> list[str]:
    """What starts a server. ValueError for what the engine cannot do."""
    at = ["--host", HOST, "--port", str(port)]
    if kind == "transformers":
        if features.adapters:
            raise ValueError("transformers serve has no adapters: this needs vLLM on a GPU")
        if features.drafts and features.batching:
            raise ValueError("transformers serve drafts only without batching")
        program = [sys.executable, "-m", "transformers.cli.transformers", "serve", str(folder)]
        if not features.batching:
            return [*program, "--device", "cpu", *at]
        # Blocks are shared when they are full. A block longer than any prompt never is.
        block, tokens = (32 if features.prefix_cache else 2048), 1 << 16
        cache = ["--cb-block-size", str(block), "--cb-num-blocks", str(tokens // block)]
        batched = ["--continuous-batching", *cache, "--cb-max-batch-tokens", "1024"]
        return [*program, "--device", "cpu", *batched, *at]
    program = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(folder)]
    program += ["--load-format", "dummy", "--max-model-len", "4096", *at]
    program += ["--dtype", "half" if features.half else "bfloat16"]
    if not features.batching:
        program += ["--max-num-seqs", "1"]
    program.append(f"--{'' if features.prefix_cache else 'no-'}enable-prefix-caching")
    if features.drafts:
        how = {"method": "ngram", "prompt_lookup_max": 4, "num_speculative_tokens": features.drafts}
        program += ["--speculative-config", json.dumps(how)]
    if features.adapters:
        names = [f"{name}={path}" for name, path in features.adapters]
        slots = str(len(names))
        program += ["--enable-lora", "--max-lora-rank", str(RANK), "--max-loras", slots]
        program += ["--lora-modules", *names]
    return program


class ServerError(RuntimeError):
    """A server did not start; the message ends with the last lines of its log."""


class Server:
    """A process of its own, stopped on `stop()`, on leaving `with`, and at exit."""

    def __init__(self, kind: str, folder: Path, features: Features | None = None) -> None:
        port = free_port()
        self.kind, self.model, self.url = kind, str(folder), f"http://{HOST}:{port}/v1"
        self.log = folder.parent / f"server-{port}.log"
        started = command(kind, folder, port, features or Features())
        environment = {**os.environ, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
        if kind == "transformers":  # threads of several servers that wait for each other are slow
            environment["OMP_NUM_THREADS"] = "1"
        environment.pop("TRITON_INTERPRET", None)
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                started, stdout=log, stderr=log, env=environment, start_new_session=True
            )
        atexit.register(self.stop)

    def wait(self) -> Server:
        """Return when it answers; ServerError when it ended or takes too long."""
        limit_s = START_S[self.kind]
        until = time.monotonic() + limit_s
        address = self.url.removesuffix("v1") + "health"
        with httpx2.Client(timeout=2, trust_env=False) as client:
            while time.monotonic() < until:
                if self.process.poll() is not None:
                    raise self._error(f"ended with {self.process.returncode}")
                try:
                    if client.get(address).status_code == 200:
                        return self
                except httpx2.HTTPError:
                    pass
                time.sleep(0.1)
        self.stop()
        raise self._error(f"did not answer within {limit_s:g} s")

    def _error(self, what: str) -> ServerError:
        last = self.log.read_text("utf-8", "replace").splitlines()[-5:]
        return ServerError(f"{self.kind} {what}. Its log ends:\n" + "\n".join(last))

    def kill(self) -> None:
        """At once, as a crash would."""
        self._signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        atexit.unregister(self.stop)
        self._signal(signal.SIGTERM)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.kill()

    def _signal(self, number: int) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, number)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class Servers:
    """A server for each set of features: side by side on a CPU, one at a time on a GPU."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind, self.folder = kind, folder
        self.running: dict[Features, Server] = {}

    def prepare(self, *wanted: Features) -> None:
        """Begin to start them, where they can run side by side."""
        if self.kind == "transformers":
            for features in wanted:
                self.running[features] = Server(self.kind, self.folder, features)

    def get(self, features: Features) -> Server:
        """One that answers. ValueError for what the engine cannot do."""
        if features not in self.running:
            if self.kind == "vllm":
                self.stop()
            self.running[features] = Server(self.kind, self.folder, features)
        return self.running[features].wait()

    def stop(self) -> None:
        for server in self.running.values():
            server.stop()
        self.running.clear()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


# --- faulty servers -------------------------------------------------------------------------

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
SILENCE, RESET = "silence", "reset"


def chunk(text: str = "", finish: str | None = None) -> bytes:
    """One event of a chat completion."""
    choice: dict[str, Any] = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n"


def _error(status: str, body: bytes) -> bytes:
    return f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


START = [HEAD, chunk("a"), chunk("b")]
FAULTS: dict[str, Sequence[bytes | str]] = {
    "none": [*START, chunk(finish="stop"), b"data: [DONE]\n\n"],
    "dies while answering": [*START, RESET],
    "ends the stream early": START,
    "stalls while answering": [*START, SILENCE],
    "never answers": [SILENCE],
    "only keeps alive": [HEAD, *[b": still here\n\n"] * 400],
    "hangs up": [RESET],
    "overloaded": [_error("503 Service Unavailable", b"try later")],
    "an error in the stream": [*START, b'data: {"error": {"message": "out of memory"}}\n\n'],
    "not HTTP": [b"\x00\x01\x02\x03" * 100],
    "a web page": [b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n<html>hello</html>"],
    "not JSON": [*START, b"data: {oops\n\n"],
    "JSON, but no chunk": [*START, b"data: [1, 2]\n\n"],
    "bytes at random": [HEAD, b"data: \xff\xfe\x80\n\n"],
    "never stops talking": [HEAD, *[chunk("x")] * 10_000],
    "a line without end": [HEAD, b"data: ", *[b"x" * 65536] * 40],
}
"""Name → what the server sends: bytes, a silence without end, or a reset connection."""
SLOW = {"only keeps alive"}
"""Sent with pauses."""


@asynccontextmanager
async def faulty(script: Sequence[bytes | str], pause_s: float = 0.0) -> AsyncIterator[str]:
    """The address of a server that answers every request with `script`."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            for part in script:
                if isinstance(part, bytes):
                    writer.write(part)
                    await writer.drain()
                    await asyncio.sleep(pause_s)
                elif part == SILENCE:
                    await asyncio.sleep(3600)
                else:  # a reset instead of an orderly end, as from a process that died
                    linger = struct.pack("ii", 1, 0)
                    writer.get_extra_info("socket").setsockopt(
                        socket.SOL_SOCKET, socket.SO_LINGER, linger
                    )
                    writer.transport.abort()
            writer.close()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    tasks: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(answer(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(accept, HOST, 0)
    try:
        port = server.sockets[0].getsockname()[1]
        yield f"http://{HOST}:{port}/v1"
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
