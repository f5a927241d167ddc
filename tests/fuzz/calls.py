"""Calls of the public API with wrong types, shapes, sizes and values."""

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
from hypothesis import seed as with_seed
from hypothesis import strategies as st

from gpt2_edu import GPT2, GPT2Config, KVCache, generate, load_tokenizer, pad_left, sample_next
from gpt2_edu.bpe import train_bpe
from gpt2_edu.data import TokenShards
from gpt2_edu.data.prepare import PrepareConfig
from gpt2_edu.exercises import check
from gpt2_edu.fast import pack
from gpt2_edu.flops import flops_per_token, memory
from gpt2_edu.machine.device import named_device, pick_precision
from gpt2_edu.tokenizer import make_encoding
from gpt2_edu.trainer import TrainConfig
from gpt2_edu.tuning import LoraConfig, render
from gpt2_edu.tuning.messages import role_encoding
from tests.fuzz.tally import Tally

SIZES = GPT2Config(vocab_size=23, block_size=7, n_layer=1, n_head=2, n_embd=6)
NUMBERS = st.integers(-3, 40) | st.floats() | st.sampled_from([2**31, 2**64, 10**30, -(2**70)])
TYPES = st.sampled_from([torch.int64, torch.int32, torch.float32, torch.bfloat16, torch.bool])


@st.composite
def tensors(draw: Any) -> torch.Tensor:
    shape = draw(st.lists(st.integers(0, 5), max_size=4))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 99)))
    least, most = draw(st.sampled_from([(0, 5), (0, 23), (-3, 40)]))
    made = torch.randint(least, most, shape, generator=generator).to(draw(TYPES))
    if made.is_floating_point() and made.numel() and draw(st.booleans()):
        made.view(-1)[0] = draw(st.sampled_from([float("nan"), float("inf"), -float("inf"), 1e38]))
    return made


ODD_TEXTS = ["", ".", "gpt2", "crane", "auto", "cpu", "../..", "\0", "\x1b[31m", "/dev/null"]
TEXTS = st.text(max_size=20) | st.sampled_from(ODD_TEXTS)
ANYTHING = st.one_of(
    st.none(), st.booleans(), NUMBERS, TEXTS, tensors(), TYPES, st.binary(max_size=9),
    st.lists(NUMBERS, max_size=5), st.lists(st.lists(st.integers(0, 22), max_size=4), max_size=3),
    st.dictionaries(TEXTS, NUMBERS, max_size=2), st.just(SIZES), st.just(object()),
)  # fmt: skip
IDS = st.just(torch.tensor([[1, 2, 3]])) | ANYTHING
MESSAGES = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]) | ANYTHING},
                          optional={"content": TEXTS | ANYTHING}) | ANYTHING, max_size=3
)  # fmt: skip
ROLES = role_encoding(load_tokenizer("crane"))
INSIDE = TEXTS.filter(lambda text: ".." not in text and not text.startswith("/"))


def small_model(**sizes: Any) -> GPT2:
    tiny = {"vocab_size": 9, "block_size": 3, "n_layer": 1, "n_head": 1, "n_embd": 6}
    return GPT2(
        GPT2Config(**tiny | {k: min(v, 9) if type(v) is int else v for k, v in sizes.items()})
    )


def functions(model: GPT2) -> list[tuple[Callable[..., Any], tuple[Any, ...], str]]:
    """Each function, what it is given in order, and by name."""
    the_model, few = st.just(model), st.integers(-1, 6)
    knobs = "temperature top_k top_p min_p eos_id padding overflow stop repetition_penalty"
    answered = st.sampled_from(["head_size", "gelu", "row_by_hand"])
    ranks = st.dictionaries(st.binary(max_size=2), NUMBERS, max_size=3)
    return [
        (GPT2Config, (), " ".join(GPT2Config.__dataclass_fields__)),
        (small_model, (), "n_layer n_head n_embd"),
        (GPT2, (ANYTHING,), ""),
        (model, (IDS,), "targets padding cache"),
        (generate, (the_model, IDS, few | ANYTHING), "temperature top_k top_p min_p"),
        (generate, (the_model, st.just(torch.tensor([[1]])), few), knobs),
        (sample_next, (tensors() | ANYTHING,), "temperature top_k top_p min_p generator"),
        (KVCache, (st.just(SIZES), ANYTHING), "max_len dtype device"),
        (pack, (the_model | ANYTHING,), "dtype"),
        (pad_left, (ANYTHING, ANYTHING), ""),
        (GPT2.from_pretrained, (ANYTHING,), ""),
        (model.save_pretrained, (INSIDE,), ""),
        (load_tokenizer, (TEXTS | NUMBERS,), ""),
        (train_bpe, (ANYTHING, ANYTHING), ""),
        (make_encoding, (TEXTS, ranks), ""),
        (
            partial(TrainConfig, data="nowhere"),
            (),
            "out lr steps seed model dropout keep prompt lora_rank",
        ),
        (LoraConfig, (), "rank alpha targets train_tables"),
        (render, (ANYTHING | MESSAGES, st.just(ROLES)), ""),
        (PrepareConfig, (), "sources out val_fraction seed workers overwrite"),
        (TokenShards, (ANYTHING,), "split"),
        (check, (TEXTS | answered, ANYTHING), ""),
        (named_device, (TEXTS,), ""),
        (pick_precision, (TEXTS, st.just(torch.device("cpu"))), ""),
        (flops_per_token, (st.just(SIZES), ANYTHING), ""),
        (memory, (st.just(SIZES), ANYTHING, ANYTHING), ""),
    ]


def one_call(tally: Tally, function: Callable[..., Any]) -> Callable[..., None]:
    def once(positional: Any, named: Any) -> None:
        def call() -> None:
            with redirect_stdout(StringIO()):
                function(*positional, **named)

        name = getattr(function, "__name__", function)
        tally.trial(f"{name!s:.60} {positional!a} {named!a}"[:300], call)

    return once


def fuzz(tries: int, seed: int = 0) -> Tally:
    """So many calls, of each function as many."""
    tally = Tally()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name, chdir(name):
        model = GPT2(SIZES)
        model.save_pretrained(Path(name) / "crane-like")
        known = functions(model)
        for function, arguments, names in known:
            by_name = st.fixed_dictionaries({}, optional=dict.fromkeys(names.split(), ANYTHING))

            tested = given(st.tuples(*arguments), by_name)(one_call(tally, function))
            options = settings(
                max_examples=-(-tries // len(known)),
                database=None,
                deadline=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            with_seed(seed)(options(tested))()
    return tally
