"""Calls of the public API with wrong types, shapes, sizes, types of numbers and values."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import chdir, redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"  # a name of published weights is no call over the network

import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from gpt2_edu import (
    GPT2,
    GPT2Config,
    KVCache,
    generate,
    load_tokenizer,
    pad_left,
    sample_next,
    stream_text,
)
from gpt2_edu.bpe import train_bpe
from gpt2_edu.data import TokenShards
from gpt2_edu.data.prepare import PrepareConfig
from gpt2_edu.exercises import check
from gpt2_edu.fast import pack
from gpt2_edu.flops import flops_per_token, memory
from gpt2_edu.machine.device import named_device, pick_precision
from gpt2_edu.tokenizer import make_encoding
from gpt2_edu.trainer import TrainConfig
from tests.campaigns.tally import Tally

TINY = {"vocab_size": 9, "block_size": 3, "n_layer": 1, "n_head": 1, "n_embd": 6}
SIZES = GPT2Config(vocab_size=23, block_size=7, n_layer=1, n_head=2, n_embd=6)
NUMBERS = st.one_of(
    st.integers(-3, 40), st.sampled_from([2**31, 2**63, 2**64, 10**30, -(2**70)]),
    st.floats(allow_nan=True, allow_infinity=True),
)  # fmt: skip
TYPES = st.sampled_from(
    [torch.int64, torch.int32, torch.float32, torch.bfloat16, torch.float64, torch.bool, torch.int8]
)
SHAPES = st.lists(st.integers(0, 5), max_size=4).map(tuple)


@st.composite
def tensors(draw: Any) -> torch.Tensor:
    shape, dtype = draw(SHAPES), draw(TYPES)
    generator = torch.Generator().manual_seed(draw(st.integers(0, 99)))
    least, most = draw(st.sampled_from([(0, 5), (0, 23), (-3, 40), (0, 2)]))
    made = torch.randint(least, most, shape, generator=generator).to(dtype)
    if made.is_floating_point() and made.numel() and draw(st.booleans()):
        made.view(-1)[0] = draw(st.sampled_from([float("nan"), float("inf"), -float("inf"), 1e38]))
    return made


TEXTS = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        ["", ".", "gpt2", "crane", "auto", "cpu", "../..", "\0", "\x1b[31m", "/dev/null"]
    ),
)
ANYTHING = st.one_of(
    st.none(), st.booleans(), NUMBERS, TEXTS, tensors(), TYPES, st.binary(max_size=9),
    st.lists(NUMBERS, max_size=5), st.lists(st.lists(st.integers(0, 22), max_size=4), max_size=3),
    st.dictionaries(TEXTS, NUMBERS, max_size=2), st.just(SIZES), st.just(object()),
)  # fmt: skip
IDS = st.one_of(st.just(torch.tensor([[1, 2, 3]])), tensors(), ANYTHING)


def named(**strategies: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Some of these arguments."""
    return st.fixed_dictionaries({}, optional=strategies)


def anything(*names: str) -> st.SearchStrategy[dict[str, Any]]:
    return named(**dict.fromkeys(names, ANYTHING))


KNOBS = anything("temperature", "top_k", "top_p", "min_p")


Function = tuple[Callable[..., Any], tuple[Any, ...], st.SearchStrategy[Any]]


def functions(model: GPT2, folder: Path) -> dict[str, Function]:
    """Each function with the arguments it is given, and those that it is given by name."""
    the_model, device, nothing = st.just(model), st.just(torch.device("cpu")), st.just({})
    few = st.integers(-1, 6)
    byte_ranks = st.dictionaries(st.binary(max_size=2), NUMBERS, max_size=3)
    answered = st.sampled_from(["head_size", "gelu", "row_by_hand"])
    inside = TEXTS.filter(lambda text: ".." not in text and not text.startswith("/"))
    tokenizer = load_tokenizer("crane")

    def small_model(**sizes: Any) -> GPT2:
        return GPT2(GPT2Config(**TINY | sizes))

    def text_of(ids: list[int]) -> list[str]:
        return list(stream_text(tokenizer, ids))

    def save(name: str) -> None:
        model.save_pretrained(folder / name)

    return {
        "GPT2Config": (GPT2Config, (), anything(*GPT2Config.__dataclass_fields__)),
        "GPT2": (
            small_model,
            (),
            named(n_layer=st.integers(-1, 3), n_head=st.integers(0, 3), n_embd=ANYTHING),
        ),
        "GPT2 of anything": (GPT2, (ANYTHING,), nothing),
        "model": (model, (IDS,), anything("targets", "padding", "cache")),
        "generate": (generate, (the_model, IDS, st.one_of(few, ANYTHING)), KNOBS),
        "generate with": (
            generate,
            (the_model, st.just(torch.tensor([[1]])), few),
            anything("eos_id", "padding", "overflow", "stop", "repetition_penalty"),
        ),
        "sample_next": (sample_next, (st.one_of(tensors(), ANYTHING),), KNOBS),
        "KVCache": (
            KVCache,
            (st.just(SIZES), ANYTHING),
            anything("max_len", "dtype", "device"),
        ),
        "pack": (pack, (st.one_of(the_model, ANYTHING),), anything("dtype")),
        "pad_left": (pad_left, (ANYTHING, ANYTHING), nothing),
        "from_pretrained": (GPT2.from_pretrained, (ANYTHING,), nothing),
        "load_tokenizer": (load_tokenizer, (st.one_of(TEXTS, NUMBERS),), nothing),
        "stream_text": (text_of, (st.lists(st.integers(-3, 2000), max_size=5),), nothing),
        "train_bpe": (train_bpe, (ANYTHING, ANYTHING), nothing),
        "make_encoding": (make_encoding, (TEXTS, byte_ranks), nothing),
        "TrainConfig": (
            partial(TrainConfig, data="nowhere"),
            (),
            anything("out", "lr", "steps", "seed", "model", "dropout", "keep", "prompt"),
        ),
        "PrepareConfig": (
            PrepareConfig,
            (),
            anything("sources", "out", "val_fraction", "seed", "workers", "overwrite"),
        ),
        "TokenShards": (TokenShards, (ANYTHING,), anything("split")),
        "check": (check, (TEXTS, ANYTHING), nothing),
        "check of an answer": (check, (answered, ANYTHING), nothing),
        "named_device": (named_device, (TEXTS,), nothing),
        "pick_precision": (pick_precision, (TEXTS, device), nothing),
        "flops_per_token": (flops_per_token, (st.just(SIZES), ANYTHING), nothing),
        "memory": (memory, (st.just(SIZES), ANYTHING, ANYTHING), nothing),
        "save_pretrained": (save, (inside,), nothing),
    }


def campaign(calls: int) -> Tally:
    """So many calls, as many of each function; the same ones every time."""
    tally = Tally("calls of the API")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = GPT2(SIZES)
    with tempfile.TemporaryDirectory() as name, chdir(name):
        known = functions(model, Path(name))
        each = -(-calls // len(known))
        for what, (function, arguments, options) in known.items():
            tested = given(st.tuples(st.tuples(*arguments), options))(
                one_call(tally, what, function)
            )
            settings(
                max_examples=each,
                derandomize=True,
                database=None,
                deadline=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )(tested)()
    return tally


def one_call(tally: Tally, what: str, function: Callable[..., Any]) -> Callable[[Any], None]:
    def once(drawn: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
        def call() -> None:
            with redirect_stdout(StringIO()):
                function(*drawn[0], **drawn[1])

        tally.trial(f"{what}{ascii(drawn)[:300]}", call)

    return once
