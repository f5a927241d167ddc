"""Decoding as on a GPU, without one: what is recorded, what is kept, whose numbers it draws."""

from __future__ import annotations

import gc
import weakref
from contextlib import nullcontext
from functools import partial
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor
from torch._dynamo.testing import CompileCounterWithBackend

from gpt2_edu import GPT2, GPT2Config, KVCache, decoding, generate, sample_next, stream, trace
from gpt2_edu.decoding import Decoder, bucket
from gpt2_edu.generation import _is_recorded
from gpt2_edu.kernels import decode_logits

CONFIG = GPT2Config(vocab_size=101, block_size=307, n_layer=2, n_head=3, n_embd=21)
GREEDY = partial(sample_next, temperature=0)


class Played(Decoder):
    """The bookkeeping without a GPU: a replay is the step itself."""

    def record(self, model, S):
        model = weakref.ref(model)  # a graph knows addresses only
        return SimpleNamespace(replay=lambda: self.step(model(), S))

    def replay(self, S, generator):
        self.generator = generator
        self.graphs[S].replay()


def test_buckets_double_up_to_the_room_that_there_is():
    sizes = [bucket(n, 307) for n in range(1, 308)]
    assert sorted(set(sizes)) == [128, 256, 307]
    assert all(size >= n for n, size in enumerate(sizes, start=1))
    assert bucket(3, 11) == 11


def written(model: GPT2, decoder: Decoder, prompt: Tensor, n: int) -> Tensor:
    """n ids (B, n) that follow the prompt, all but the first by the decoder."""
    with torch.no_grad():
        logits, _ = model(prompt, cache=decoder.cache, last_only=True)
        ids = [decoder.draw(logits[:, 0])]
        while len(ids) < n:
            ids.append(decoder(model, ids[-1], torch.default_generator))
    return torch.stack(ids, dim=1)


def test_the_step_in_buckets_draws_what_the_plain_loop_draws(make_model):
    model, prompt = make_model(CONFIG), torch.randint(101, (3, 100))
    padding = torch.tensor([0, 7, 31])
    decoder = Played(KVCache(CONFIG, 3, 290, padding=padding), GREEDY, compile=False)
    expected = generate(model, prompt, 181, temperature=0, padding=padding, use_cache=False)
    assert torch.equal(written(model, decoder, prompt, 181), expected[:, 100:])
    assert decoder.cache.length == 280
    assert list(decoder.graphs) == [128, 256, 290]


def test_a_graph_that_was_recorded_at_the_end_of_its_bucket_serves_its_beginning(make_model):
    """What is recorded hides the keys that are not there yet, though here all of them are."""
    model, decoder = make_model(CONFIG), Played(KVCache(CONFIG, 1, 128), GREEDY, compile=False)
    long, short = torch.randint(101, (1, 127)), torch.randint(101, (1, 5))
    written(model, decoder, long, 2)
    decoder.cache.reset()
    expected = generate(model, short, 4, temperature=0)
    assert torch.equal(written(model, decoder, short, 4), expected[:, 5:])
    assert list(decoder.graphs) == [128]


def test_a_hook_is_called_for_each_token(make_model):
    """Neither the step written out nor a recording of it would call one."""
    model, prompt, seen = make_model(CONFIG), torch.randint(101, (2, 7)), []

    def off(mlp, args, out):
        seen.append(out.shape[1])
        return out * 0

    on_cuda = SimpleNamespace(is_cuda=True)
    assert _is_recorded(model, on_cuda) and not _is_recorded(model, prompt)
    hook = model.transformer["h"][1].mlp.register_forward_hook(off)
    assert not _is_recorded(model, on_cuda)
    expected = generate(model, prompt, 30, temperature=0, use_cache=False)
    seen.clear()
    assert torch.equal(generate(model, prompt, 30, temperature=0), expected)
    assert seen == [7] + [1] * 29
    hook.remove()
    with trace(model):
        assert not _is_recorded(model, on_cuda)
    assert _is_recorded(model, on_cuda)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_hook_is_called_for_each_token_on_a_gpu(make_model):
    model, prompt = make_model(CONFIG).cuda(), torch.randint(101, (2, 7)).cuda()
    seen, factors = [], []

    def scaled(mlp, args, out):
        seen.append(out.shape[1])
        return out * factors[-1]

    generate(model, prompt, 30)  # recorded, and kept
    model.transformer["h"][1].mlp.register_forward_hook(scaled)
    for factor in (0.0, 3.0):
        factors.append(factor)
        expected = generate(model, prompt, 30, temperature=0, use_cache=False)
        seen.clear()
        assert torch.equal(generate(model, prompt, 30, temperature=0), expected)
        assert seen == [7] + [1] * 29


def test_the_compiled_step_has_no_graph_break_and_one_compilation_per_bucket(make_model):
    model, idx = make_model(CONFIG), torch.randint(101, (3, 300))
    expected, _ = model(idx)
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()  # of what other tests have compiled
    counter = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(decode_logits, backend=counter, fullgraph=True, dynamic=False)
    cache = KVCache(CONFIG, 3)
    with torch.no_grad():
        for i in range(300):
            logits = compiled(model, cache, idx[:, i], torch.tensor([i]), bucket(i + 1, 307))
            torch.testing.assert_close(logits, expected[:, i], atol=1e-5, rtol=1e-5)
    assert counter.frame_count == 3
    assert torch._dynamo.utils.counters["graph_break"] == {}


def test_many_sizes_can_be_compiled(make_model, monkeypatch):
    """By default torch gives up at the ninth: two batch sizes and five buckets are ten."""
    model = make_model(CONFIG)
    torch._dynamo.reset()
    compile = partial(torch.compile, backend="eager")
    monkeypatch.setattr(torch, "compile", compile)
    with torch.no_grad():
        for size in (1, 2):
            cache, ids = KVCache(CONFIG, size), torch.zeros(size, dtype=torch.int64)
            for S in (16, 32, 64, 128, 256):
                logits = decoding.compiled_logits(model, cache, ids, torch.tensor([0]), S)
                assert logits.shape == (size, 101)


# ---- What is kept --------------------------------------------------------------------------------


@pytest.fixture
def made(monkeypatch) -> list[Decoder]:
    """The decoders that were made."""
    made: list[Decoder] = []

    class Counted(Played):
        def __init__(self, *settings):
            super().__init__(*settings)
            made.append(self)

    monkeypatch.setattr(decoding, "Decoder", Counted)
    decoding._KEPT.clear()
    return made


def size(B: int = 1, room: int = 128) -> tuple:
    return B, room, torch.device("cpu"), torch.float32


def text(model: GPT2, prompt: Tensor, n: int, **other) -> Tensor:
    given = {"size": size(), "padding": None, "draw": GREEDY, "compile": False} | other
    with decoding.kept_decoder(model, **given) as decoder:
        return written(model, decoder, prompt, n)


def test_a_second_text_of_the_same_size_records_nothing(make_model, made):
    model, prompts = make_model(CONFIG), torch.randint(101, (3, 1, 9))
    for prompt in prompts:
        expected = generate(model, prompt, 20, temperature=0, use_cache=False)
        assert torch.equal(text(model, prompt, 20), expected[:, 9:])
    assert len(made) == 1
    with torch.no_grad():  # a weight changed in place is seen
        model.wte.weight.mul_(-1.5)
    expected = generate(model, prompts[0], 20, temperature=0, use_cache=False)
    assert torch.equal(text(model, prompts[0], 20), expected[:, 9:])
    assert len(made) == 1


def test_whatever_a_graph_cannot_follow_makes_another(make_model, made):
    model, prompt = make_model(CONFIG), torch.randint(101, (1, 9))
    text(model, prompt, 5)
    for number, other in enumerate(
        (
            {"size": size(room=256)},
            {"draw": partial(sample_next, temperature=0, top_k=3)},
            {"padding": torch.tensor([2])},
            {},
        ),
        start=2,
    ):
        text(model, prompt, 5, **other)
        assert len(made) == number
    text(model, prompt, 5)
    assert len(made) == 5
    model.load_state_dict({k: v.clone() for k, v in model.state_dict().items()}, assign=True)
    model.tie_weights()
    text(model, prompt, 5)
    assert len(made) == 6


def test_padding_of_another_text_is_taken_over(make_model, made):
    model, prompts = make_model(CONFIG), torch.randint(101, (2, 9))
    for padding in (torch.tensor([0, 5]), torch.tensor([3, 1])):
        expected = generate(model, prompts, 9, temperature=0, padding=padding, use_cache=False)
        found = text(model, prompts, 9, size=size(2), padding=padding)
        assert torch.equal(found, expected[:, 9:])
        assert padding.tolist() in ([0, 5], [3, 1])
    assert len(made) == 1


def test_two_texts_at_once_have_a_decoder_each_and_an_error_keeps_none(make_model, made):
    model, prompt = make_model(CONFIG), torch.randint(101, (1, 9))
    with (
        decoding.kept_decoder(model, size(), None, GREEDY, False) as first,
        decoding.kept_decoder(model, size(), None, GREEDY, False) as second,
    ):
        assert first is not second
    with (
        pytest.raises(RuntimeError, match="out of memory"),
        decoding.kept_decoder(model, size(), None, GREEDY, False),
    ):
        raise RuntimeError("out of memory")
    assert len(made) == 2 and len(decoding._KEPT) == 0
    text(model, prompt, 5)
    assert len(made) == 3


def test_a_decoder_does_not_keep_its_model_alive(make_model, made):
    model = make_model(CONFIG)
    text(model, torch.randint(101, (1, 9)), 5)
    made.clear()
    assert len(decoding._KEPT) == 1
    del model
    gc.collect()
    assert len(decoding._KEPT) == 0


# ---- CUDA, mocked --------------------------------------------------------------------------------


class Recorder:
    """Stands in for torch.cuda, and remembers what was asked of it."""

    def __init__(self) -> None:
        self.calls: list = []

    def __getattr__(self, name):
        def call(*given, **named):
            self.calls.append((name, *given, *named.items()))
            return nullcontext(self) if name in ("device", "stream", "graph") else self

        return call


def test_a_graph_is_recorded_on_the_device_of_its_tensors_and_on_its_own_stream(
    make_model, monkeypatch
):
    """torch.cuda.graph would take a stream of the current device, and give stale tokens."""
    recorder = Recorder()
    monkeypatch.setattr(torch, "cuda", recorder)
    decoder = Decoder(KVCache(CONFIG, 1, 128), GREEDY, compile=False)
    casts = []
    monkeypatch.setattr(
        Decoder, "step", lambda *step: casts.append(torch.is_autocast_cache_enabled())
    )
    graph = decoder.record(make_model(CONFIG), 128)
    assert recorder.calls[0] == ("device", decoder.ids.device)
    (recorded,) = [call for call in recorder.calls if call[0] == "graph"]
    assert recorded == ("graph", graph, ("stream", recorder))
    assert casts == [False] * 3 and torch.is_autocast_cache_enabled()
    assert ("register_generator_state", decoder.generator) in recorder.calls


def test_a_replay_draws_what_the_callers_generator_would():
    """Generators of a GPU count what they have drawn: the graphs' own one begins there."""

    class Counting:
        def __init__(self, seed, offset):
            self.seed, self.offset = seed, offset

        def initial_seed(self):
            return self.seed

        def manual_seed(self, seed):
            self.seed, self.offset = seed, 0

        def get_offset(self):
            return self.offset

        def set_offset(self, offset):
            self.offset = offset

    decoder = Decoder(KVCache(CONFIG, 1, 128), GREEDY, compile=False)
    ours, theirs, drawn = Counting(1, 40), Counting(7, 8), []

    def play():
        drawn.append((ours.seed, ours.offset))
        ours.offset += 4

    decoder.generator, decoder.graphs = ours, {128: SimpleNamespace(replay=play)}
    for _ in range(2):
        decoder.replay(128, theirs)
    assert drawn == [(7, 8), (7, 12)] and theirs.offset == 16


def test_texts_that_have_ended_are_looked_for_every_few_tokens(make_model):
    model, prompt = make_model(CONFIG), torch.randint(101, (3, 9))
    greedy = generate(model, prompt, 60, temperature=0)
    eos_id = int(greedy[0, 20])
    often = generate(model, prompt, 60, temperature=0, eos_id=eos_id)
    seldom = generate(model, prompt, 60, temperature=0, eos_id=eos_id, look_every=16)
    assert torch.equal(often, seldom)
    every = list(stream(model, prompt, 60, temperature=0, eos_id=eos_id, look_every=16))
    assert len(every) >= often.size(1) - 9


def test_out_of_memory_is_a_sentence_and_a_smaller_text_is_written_after_it(
    make_model, monkeypatch
):
    model, decode = make_model(CONFIG), decoding.decode_logits
    asked = []

    def full(model, cache, ids, position, S=None):
        asked.append(len(ids))
        if len(ids) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 9.00 GiB")
        return decode(model, cache, ids, position, S)

    monkeypatch.setattr("gpt2_edu.generation.decode_logits", full)
    with pytest.raises(ValueError, match="out of memory with 3 texts of up to 11 tokens, whose"):
        generate(model, torch.randint(101, (3, 7)), 4)
    assert generate(model, torch.randint(101, (2, 7)), 4).shape == (2, 11)
    assert asked == [3, 2, 2, 2]
