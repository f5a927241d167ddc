"""What the tests in web/test compare with: numbers and ids from PyTorch and tiktoken, as JSON.

    python -m tests.web.fixtures

writes web/test/fixtures. Run it after a change to how the package computes, samples, tokenizes or
judges an answer; test_fixtures.py says when it is time.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import math
import random
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor, nn
from torch.nn import functional as F

from gpt2_edu import (
    GPT2,
    GPT2Config,
    KVCache,
    Llama,
    LlamaConfig,
    crane,
    generate,
    llama_weights,
    load_tokenizer,
    trace,
    web,
)
from gpt2_edu.exercises.comparing import difference
from gpt2_edu.exercises.exercise import Exercise, exercises
from gpt2_edu.gpt2_weights import config_to_hugging_face, to_hugging_face
from gpt2_edu.quantize import quantize, round_to
from gpt2_edu.sampling import next_probabilities
from gpt2_edu.training.config import TrainConfig
from gpt2_edu.training.optim import learning_rate, make_optimizer
from gpt2_edu.weights import CONFIG, WEIGHTS
from gpt2_site import one_pass
from gpt2_site.practice_tasks import answered_in_page, leaves, task
from tests.web.ask_fixtures import ask
from tests.web.card_fixtures import cards
from tests.web.language_fixtures import language, own_text
from tests.web.scaling_fixtures import scaling

FOLDER = Path(__file__).resolve().parents[2] / "web" / "test" / "fixtures"
ODD = GPT2Config(vocab_size=101, block_size=13, n_layer=2, n_head=3, n_embd=21)
FEW = 60  # values of a tensor that are stored, spread over all of it
Edits = dict[str, Callable[[Tensor], Tensor]]


def all_fixtures() -> dict[str, Any]:
    return {
        "model": model(),
        "llama": llama(),
        "integers": integers(),
        "training": training(),
        "host": host(),
        "text": text(),
        "answers": answers(),
        "flow": {**one_pass.settings(), "deeds": web.crane_deeds()},
        "language": language(),
        "own_text": own_text(),
        "card": cards(),
        "rounding": rounding(),
        "ask": ask(ODD, random_model().state_dict()),
        "scaling": scaling(),
    }


def rounding() -> list[dict[str, Any]]:
    """Weights (4, 64) in fewer bits: a row with ties, one of zeros, one with an outlier."""
    weight = torch.randn(4, 64, generator=torch.Generator().manual_seed(0))
    weight[0] = torch.arange(64) / 2 - 7  # in 5 bits half of them lie between two whole numbers
    weight[0, 30:] = 0
    weight[1] = 0
    weight[2, 5] = -40
    found = []
    for bits, per in itertools.product((2, 3, 4, 5, 8, 16), ("tensor", "row", "group")):
        rows = weight.reshape(1, -1) if per == "tensor" else weight
        rounded = round_to(rows, bits, 32 if per == "group" else None)
        found.append({"bits": bits, "per": per, "rounded": rounded.flatten().tolist()})
    return [{"columns": 64, "weight": weight.flatten().tolist()}, *found]


# ---- The model, tensor by tensor ----------------------------------------------------------------


def random_model(config: GPT2Config | LlamaConfig = ODD) -> GPT2 | Llama:
    """Every parameter is random, so that a forgotten bias is seen."""
    model = (GPT2(config) if isinstance(config, GPT2Config) else Llama(config)).eval()
    generator = torch.Generator().manual_seed(0)
    for name, parameter in model.named_parameters():
        std = 0.3 if parameter.ndim == 1 else parameter.size(-1) ** -0.5
        parameter.data.normal_(std=std, generator=generator)
        if name.endswith("weight") and re.search("ln_|_norm", name):
            parameter.data += 1
    return model


def sample(tensor: Tensor) -> dict[str, Any]:
    """Every n-th value, n a prime that divides no row's length, so that all columns are met."""
    every = next(
        n
        for n in (1, 2, 3, 5, 7, 11, 13, 17, 31, 61, 127, 251, 557, 1103)
        if tensor.numel() <= n * FEW and (n == 1 or tensor.size(-1) % n)
    )
    values = [float(f"{v:.7g}") for v in tensor.flatten().tolist()[::every]]
    return {
        "shape": list(tensor.shape),
        "every": every,
        "values": [v if math.isfinite(v) else str(v).replace("inf", "Infinity") for v in values],
    }


@torch.no_grad()
def case(
    model: GPT2,
    chunks: list[list[int]],
    *,
    edits: Edits | None = None,
    record: bool = False,
    last_only: bool = False,
    **request: Any,
) -> dict[str, Any]:
    """What is asked of the page, and what PyTorch gives."""
    cache = KVCache(model.config, 1) if len(chunks) > 1 else None
    passes = []
    for ids in chunks:
        with trace(model, edits=edits) as t:
            logits, _ = model(torch.tensor([ids]), cache=cache, last_only=last_only)
        axes = {name: axes for name, axes, _ in t.ledger().rows()}
        noted = [
            {"path": name, "axes": axes[name], **sample(t[name])}
            for name in t.names
            if name != "idx"
        ]
        passes.append({"logits": sample(logits), "noted": noted if record else None})
    return {"chunks": chunks, "lastOnly": last_only, **request, "passes": passes}


def zero_head(x: Tensor) -> Tensor:
    x = x.clone()
    x[:, 1] = 0
    return x


def exact_gelu() -> Edits:
    edits: Edits = {}
    for path in ("transformer.h.0.mlp", "transformer.h.1.mlp"):
        kept: dict[str, Tensor] = {}
        edits[f"{path}.pre"] = lambda x, kept=kept: kept.setdefault("pre", x)  # type: ignore[misc]
        edits[f"{path}.act"] = lambda x, kept=kept: F.gelu(kept["pre"])  # type: ignore[misc]
    return edits


def in_int8(weight: Tensor) -> Tensor:
    return round_to(weight, 8)


def in_int4(weight: Tensor) -> Tensor:
    """A scale for each 32 weights; the last group of a row may be shorter."""
    return torch.cat([round_to(part, 4) for part in weight.split(32, dim=-1)], dim=-1)


def rounded(model: GPT2, to: Callable[[Tensor], Tensor], but: str = "") -> GPT2:
    """The model with matrices rounded as the page keeps them; the one named ``but`` is left."""
    for name, parameter in model.named_parameters():
        if parameter.ndim == 2 and name != but:
            parameter.data.copy_(to(parameter.data))
    return model


WPE = "transformer.wpe.weight"  # is only looked up


def rounded_inputs(model: GPT2) -> GPT2:
    """A model whose linear maps round what they are given."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.register_forward_pre_hook(lambda _, given: (round_to(given[0], 14),))
    return model


def roundings() -> dict[str, Any]:
    """Rows with ties, with zeros, and of lengths around one group, two and three."""
    generator = torch.Generator().manual_seed(1)
    ties = torch.arange(-6.5, 7)
    rows = [torch.cat([ties, torch.tensor([largest])]) for largest in (7.0, -127.0)]
    rows += [torch.zeros(40)]
    lengths = (1, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100)
    rows += [torch.randn(n, generator=generator) * 10.0 ** (n % 5 - 3) for n in lengths]
    return {
        "rows": [row.tolist() for row in rows],
        "int8": [(in_int8(row) + 0.0).tolist() for row in rows],  # no -0
        "int4": [(in_int4(row) + 0.0).tolist() for row in rows],
    }


@torch.no_grad()
def losses() -> dict[str, Any]:
    """Stories that the bundled model has not seen, and nats a token with weights of each kind."""
    encoding = load_tokenizer("crane")
    end = encoding.eot_token
    seeds = crane.random_seeds(40, 7)
    stories = [[end, *encoding.encode(crane.story(seed)), end] for seed in seeds]

    def nats(model: GPT2) -> float:
        total = 0.0
        for ids in stories:
            logits, _ = model(torch.tensor([ids[:-1]]))
            total += F.cross_entropy(logits[0], torch.tensor(ids[1:]), reduction="sum").item()
        return total / sum(len(ids) - 1 for ids in stories)

    def shipped() -> GPT2:
        return GPT2.from_pretrained("crane").eval()

    kinds = {"int8": in_int8, "int4": in_int4}
    return {
        "stories": stories,
        "exact": nats(shipped()),
        **{kind: nats(rounded(shipped(), to, WPE)) for kind, to in kinds.items()},
    }


def model() -> dict[str, Any]:
    odd = random_model()
    int8, int4 = (rounded_inputs(rounded(random_model(), to, WPE)) for to in (in_int8, in_int4))
    turned = random_model()
    turned.transformer.h = nn.ModuleList(reversed(turned.transformer.h))
    paths = ["tok_emb", "transformer.h.0.attn.k", "transformer.h.1.attn.weights"]
    paths += ["transformer.h.0.mlp.act", "transformer.h.1.resid_post"]
    larger: Edits = {path: lambda x: 2.5 * x for path in paths}
    four, pieces = [[5, 6, 7, 8]], [[3, 1, 4], [1], [5, 9, 2], [6] * 6]
    exact: dict[str, dict[str, Any]] = {
        "one pass": case(odd, [[3, 1, 4, 1, 5, 9, 2]], record=True),
        "only the last token": case(odd, [[3, 1, 4, 1, 5, 9, 2]], last_only=True),
        "a cache": case(odd, pieces, record=True),
        "a cache, only the last token": case(odd, pieces, last_only=True),
        "edits": case(odd, [[5, 6, 7]], edits=larger, scaled=dict.fromkeys(paths, 2.5)),
        "a head off": case(
            odd,
            four,
            edits={"transformer.h.0.attn.heads": zero_head},
            switches={"headsOff": ["0.1"]},
        ),
        "positions off": case(
            odd, four, edits={"pos_emb": torch.zeros_like}, switches={"positions": False}
        ),
        "exact GELU": case(odd, four, edits=exact_gelu(), switches={"gelu": "erf"}),
        "blocks in another order": case(turned, four, switches={"order": [1, 0]}),
        "the bundled model": case(
            GPT2.from_pretrained("crane").eval(),
            [[1023, 32, 400, 500, 7, 8, 9]],
            record=True,
            of="crane",
        ),
    }
    return {
        "config": json.dumps(config_to_hugging_face(ODD)),
        "weights": base64.b64encode(save(to_hugging_face(odd.state_dict()))).decode(),
        "exact": exact,
        "float16": case(rounded(random_model(), lambda x: x.half().float()), pieces, record=True),
        "int8": case(int8, pieces),
        "int4": case(int4, pieces),
        "roundings": roundings(),
        "losses": losses(),
    }


# As in Qwen2 with a head of its own, and as in Qwen3 with Llama 3.1's rotation.
LLAMA = LlamaConfig(
    vocab_size=101,
    block_size=13,
    n_layer=2,
    n_head=6,
    n_kv_head=2,
    n_embd=21,
    n_inner=35,
    head_size=10,
    rope_base=100.0,
    tie_word_embeddings=False,
    qkv_bias=True,
)
LLAMAS = {"biases, and a head of its own": LLAMA, "norms of q and k": llama_weights.PROBE}


def llama() -> dict[str, Any]:
    """Models with Llama's parts, and what they compute."""
    return {name: passes_of(random_model(config)) for name, config in LLAMAS.items()}


def passes_of(model: GPT2 | Llama) -> dict[str, Any]:
    """A file as ``gpt2-edu export --page`` describes it, and what PyTorch computes with it."""
    four, layout = [[5, 6, 7, 8]], model.layout
    off: Edits = {"transformer.h.0.attn.heads": zero_head}
    return {
        "config": json.dumps(layout.config_to_hugging_face(model.config)),
        "weights": base64.b64encode(save(layout.to_hugging_face(model.state_dict()))).decode(),
        "cases": {
            "one pass": case(model, [[3, 1, 4, 1, 5, 9, 2]], record=True),
            "a cache": case(model, [[3, 1, 4], [1], [5, 9, 2], [6] * 6], record=True),
            "a head off": case(model, four, edits=off, switches={"headsOff": ["0.1"]}),
        },
    }


@torch.no_grad()
def integers() -> list[dict[str, Any]]:
    """Files of quantize(model).save_pretrained, and the logits of their models."""
    kinds = [(bits, group, ODD) for bits in (8, 4) for group in (None, 7, 21)]
    found = []
    for bits, group, config in [*kinds, (8, None, LLAMA), (4, None, LLAMA)]:
        model = quantize(random_model(config), bits, group)
        with TemporaryDirectory() as folder:
            model.save_pretrained(folder)
            files = {name: (Path(folder) / name).read_bytes() for name in (CONFIG, WEIGHTS)}
        found.append(
            {
                "bits": bits,
                "group": group,
                "config": files[CONFIG].decode(),
                "weights": base64.b64encode(files[WEIGHTS]).decode(),
                **case(model, [[3, 1, 4, 1, 5]]),
            }
        )
    return found


# ---- Training -----------------------------------------------------------------------------------

# Sizes that agree in nothing; sizes of which the page's kernels take four or eight at once, with
# all targets of a row ignored; more tokens and a wider head, with room for more tokens still; and
# Crane World's vocabulary and rows, whose columns are 4,096 bytes apart.
TRAINED = {
    "odd sizes": (ODD, 3, 13),
    "even sizes": (GPT2Config(vocab_size=48, block_size=8, n_layer=1, n_head=2, n_embd=16), 4, 8),
    "larger sizes": (
        GPT2Config(vocab_size=515, block_size=80, n_layer=2, n_head=4, n_embd=64),
        2,
        64,
    ),
    "crane's vocabulary": (
        GPT2Config(vocab_size=1024, block_size=100, n_layer=1, n_head=4, n_embd=64),
        1,
        100,
    ),
}
RUN: dict[str, Any] = {"steps": 50, "lr": 3e-3, "min_lr": 1e-4, "warmup_steps": 5}
DECAY, BETAS, CLIP = 0.1, (0.9, 0.95), 1.0
REIN = 0.3


def sfc32(seed: int) -> Iterator[float]:
    """The random numbers of web/sampling.mjs, by which both sides make the same weights."""
    mask = 2**32 - 1
    a, b, c, counter = seed & mask, seed >> 32, 0, 1
    for i in itertools.count():
        total = (a + b + counter) & mask
        counter += 1
        a, b = b ^ (b >> 9), (c + (c << 3)) & mask
        c = (((c << 21) & mask | c >> 11) + total) & mask
        if i >= 12:
            yield total / 2**32


def seeded(config: GPT2Config, numbers: Iterator[float]) -> GPT2:
    """Every parameter random, as test/training.test.mjs makes it."""
    model = GPT2(config)
    for name, parameter in model.named_parameters():
        scale = 1.0 if parameter.ndim == 1 else 3 * min(parameter.shape) ** -0.5
        shift = 1.0 if "ln_" in name and name.endswith("weight") else 0.0
        drawn = [shift + scale * (next(numbers) - 0.5) for _ in range(parameter.numel())]
        parameter.data = torch.tensor(drawn, dtype=torch.float64).float().view(parameter.shape)
    model.tie_weights()
    return model.train()


def training() -> dict[str, Any]:
    cases = {name: learnt(*case, noted=name == "odd sizes") for name, case in TRAINED.items()}
    settings = RUN | {
        "weight_decay": DECAY,
        "beta1": BETAS[0],
        "beta2": BETAS[1],
        "grad_clip": CLIP,
    }
    defaults = {name: getattr(TrainConfig(), name) for name in settings}
    return {
        "cases": cases,
        "settings": in_javascript(settings),
        "defaults": in_javascript(defaults),
        "initial": initial(TRAINED["larger sizes"][0]),
        "policy": {name: policy(*TRAINED[name]) for name in ("odd sizes", "crane's vocabulary")},
    }


def policy(config: GPT2Config, B: int, T: int) -> dict[str, Any]:
    """Gradients of a loss with a weight at each position and a rein to a copy, halved weights."""
    config = replace(config, embd_pdrop=0.0, attn_pdrop=0.0, resid_pdrop=0.0)
    numbers = sfc32(T)
    model = seeded(config, numbers)
    copy = deepcopy(model)
    for parameter in copy.parameters():
        parameter.data /= 2
    rows = [[int(next(numbers) * config.vocab_size) for _ in range(T + 1)] for _ in range(B)]
    weights = torch.tensor([[round(2 * next(numbers) - 1, 6) for _ in range(T)] for _ in range(B)])
    ids = torch.tensor(rows)
    inputs, targets = ids[:, :-1], ids[:, 1:].clone()
    targets[:, 2 * T // 3 :] = -100
    counts = targets != -100

    table, before = (one(inputs)[0].log_softmax(dim=-1) for one in (model, copy))
    apart = (table.exp() * (table - before.detach())).sum(dim=-1)[counts].mean()
    nats = F.cross_entropy(table.transpose(1, 2), targets, ignore_index=-100, reduction="none")
    loss = (weights * nats).sum() / counts.sum()
    (loss + REIN * apart).backward()
    return {
        "rein": REIN,
        "weights": [float(f"{w:.6g}") for w in weights.flatten().tolist()],
        "targets": targets.flatten().tolist(),
        "loss": loss.item(),
        "entropy": -(table.exp() * table).sum(dim=-1)[counts].mean().item(),
        "divergence": apart.item(),
        "grads": [{"name": name, **gradient(p, numbers)} for name, p in model.named_parameters()],
    }


def in_javascript(settings: dict[str, Any]) -> dict[str, Any]:
    return {re.sub("_(.)", lambda m: m[1].upper(), name): v for name, v in settings.items()}


@torch.no_grad()
def initial(config: GPT2Config) -> list[dict[str, Any]]:
    """What a new model's parameters are like: the mean of each and the standard deviation."""
    torch.manual_seed(0)
    return [
        {"name": name, "mean": round(p.mean().item(), 3), "std": round(p.std().item(), 4)}
        for name, p in GPT2(config).named_parameters()
    ]


def learnt(config: GPT2Config, B: int, T: int, *, noted: bool) -> dict[str, Any]:
    """What PyTorch gets from a batch: gradients, and the losses of steps that all see it."""
    config = replace(config, embd_pdrop=0.0, attn_pdrop=0.0, resid_pdrop=0.0)
    numbers = sfc32(T)
    model = seeded(config, numbers)
    weights = torch.cat([p.detach().flatten() for p in model.parameters()]).tolist()
    rows = [[int(next(numbers) * config.vocab_size) for _ in range(T + 1)] for _ in range(B)]
    ids = torch.tensor(rows)
    inputs, targets = ids[:, :-1], ids[:, 1:].clone()
    targets[0, 1::3] = -100
    if B > 3:
        targets[1] = -100

    with trace(model, grads=True) as t:
        _, loss = model(inputs, targets)
    assert loss is not None
    loss.backward()
    axes = {name: axes for name, axes, _ in t.ledger().rows()}
    names = [name for name in t.names if name != "idx" and noted]
    tape = [
        {"path": name, "axes": axes[name], **sample(t[name]), "grad": sample(t.grad(name))}
        for name in names
    ]
    grads = [{"name": name, **gradient(p, numbers)} for name, p in model.named_parameters()]

    optimizer = make_optimizer(model, lr=RUN["lr"], betas=BETAS, weight_decay=DECAY)
    losses, norms = [], []
    for step in range(RUN["steps"]):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, **RUN)
        _, loss = model(inputs, targets)
        assert loss is not None
        optimizer.zero_grad()
        loss.backward()
        norms.append(float(nn.utils.clip_grad_norm_(model.parameters(), CLIP)))
        optimizer.step()
        losses.append(loss.item())
    return {
        "config": json.dumps(config_to_hugging_face(config)),
        "seed": T,
        "checksum": sum(i * w for i, w in enumerate(weights, 1)),
        "ids": inputs.flatten().tolist(),
        "targets": targets.flatten().tolist(),
        "T": T,
        "grads": grads,
        "noted": tape,
        "losses": [round(v, 6) for v in losses],
        "norms": [round(v, 6) for v in norms],
    }


def gradient(parameter: nn.Parameter, numbers: Iterator[float]) -> dict[str, Any]:
    """Some numbers of a gradient, its largest, and its product with random ones: with all of it."""
    assert parameter.grad is not None
    grad = parameter.grad.double()
    random = torch.tensor([next(numbers) - 0.5 for _ in range(grad.numel())], dtype=torch.double)
    return {
        **sample(parameter.grad),
        "largest": grad.abs().max().item(),
        "product": float(grad.flatten() @ random),
    }


# ---- Texts that the bundled model writes --------------------------------------------------------


def host() -> dict[str, Any]:
    model, encoding = GPT2.from_pretrained("crane").eval(), load_tokenizer("crane")

    def written(ids: list[int], n: int, **settings: Any) -> list[int]:
        return generate(model, torch.tensor([ids]), n, **settings)[0, len(ids) :].tolist()

    greedy = []
    for seed in range(30):
        ids = [encoding.eot_token, *encoding.encode_ordinary(crane.story(seed))][: 3 + seed]
        greedy.append({"ids": ids, "next": written(ids, 20, temperature=0)})
    long = list(range(120))
    return {"greedy": greedy, "cropped": written(long, 20, temperature=0, overflow="crop")}


# ---- Tokens and probabilities -------------------------------------------------------------------

HARD = ["", " ", "\n", "A crane ate fish", "a  b   c\t\td \n\n e", "trailing   ", "\ufefffirst"]
HARD += ["don't we'll they've I'd it's he'RE", "x\x85y\xa0z\u2003w\u2028v\u3000u\u200bt"]
HARD += [
    "日本語のテキスト",
    "ÅÄÖ café e\u0301",
    "😀👩‍👩‍👧‍👦🇩🇪",
    "½ ² ٣ Ⅳ",
    "<|endoftext|>",
    "\x00\x01\x7f",
]
HARD += ["\ud800", "a\udc00b \ud83d x \udca9\ud83d"]
# A unit and how often it stands in a row.
LONG = [("a", 20_000), ("1234567890", 50), ("e\u0301", 2000), (" ", 9000), ("\x00", 3000)]
LONG += [("\ud800", 500), ("👩\u200d👩\u200d👧\u200d👦", 300), ("tokenizedwordsinarow", 300)]
PIECES = [
    *"abcXYZ019.,!?'\"-_ \t\n\r",
    *" \x85\xa0\u1680\u2009\u2028\u3000\ufeff\u200b\u180e",
    *"éßñжя中文字한글あア😀🏳️‍🌈ⅣⅧ½²٣۵\u0301\u0327",
    *("'s", "'ll", " the", " crane", "ing", "<|endoftext|>", "\r\n", "   "),
]
LOGITS = [3.0, 1.0, 1.0, -2.0, 0.5, 3.0, -50.0, 2.25, 1.0]


def text() -> dict[str, Any]:
    draw = random.Random(0)
    texts = HARD + ["".join(draw.choices(PIECES, k=draw.randint(1, 40))) for _ in range(400)]
    tokens = {}
    for name in ("crane", "gpt2"):
        encoding = load_tokenizer(name)
        long = [encoding.encode_ordinary(unit * n) for unit, n in LONG]
        tokens[name] = {
            "ids": [encoding.encode_ordinary(text) for text in texts],
            # of many ids their number, and one number that no other ids give
            "long": [[len(ids), sum(i * id for i, id in enumerate(ids, 1))] for ids in long],
            "merges": hashlib.sha256(web.merges(encoding)).hexdigest(),
        }
    knobs = [
        {"temperature": temperature, "topK": k, "topP": p, "minP": m}
        for temperature in (0, 1e-40, 0.1, 0.7, 5)
        for k in (None, 1, 2, 4, 20)
        for p in (None, 1e-9, 0.5, 0.9, 1)
        for m in (None, 0.05, 0.4, 1)
    ]
    probabilities = [
        next_probabilities(
            torch.tensor([LOGITS]),
            temperature=given["temperature"] or 0,
            top_k=given["topK"],
            top_p=given["topP"],
            min_p=given["minP"],
        )[0].tolist()
        for given in knobs
    ]
    between = torch.arange(1, 31743, 97, dtype=torch.int32).to(torch.int16)  # bits of float16
    halves = (between.view(torch.half).float() + (between + 1).view(torch.half).float()) / 2
    spread = torch.tensor([(draw.random() - 0.5) * 2 ** draw.randint(-27, 16) for _ in range(300)])
    numbers = torch.cat([halves, spread])
    return {
        "texts": texts,
        "longTexts": LONG,
        "tokens": tokens,
        "logits": LOGITS,
        "knobs": knobs,
        "probabilities": [[float(f"{p:.7g}") for p in row] for row in probabilities],
        "numbers": numbers.tolist(),
        "halves": (numbers.half().view(torch.int16).int() & 0xFFFF).tolist(),
    }


# ---- Answers to the exercises whose answer is a value -------------------------------------------


def flat(value: Any) -> list[Any]:
    return [leaf for _, leaf in leaves(value)]


def by_hand(v: float, digits: int) -> str:
    """Rounded with its zeros, and never as a power of ten."""
    if v == 0 or isinstance(v, int):
        return str(v)
    return f"{v:.{max(digits - 1 - math.floor(math.log10(abs(v))), 0)}f}"


def with_comma(v: Any) -> str:
    return repr(v).replace(".", ",") if isinstance(v, float) else repr(v)


SPELLINGS: list[Callable[[Any], str]] = [
    repr,
    lambda v: repr(v).replace("-", "−"),
    lambda v: "".join(chr(ord(c) + 0xFEE0) if c.isdigit() else c for c in f"{v:.15g}"),
    with_comma,  # from here on not in a list in one field, in which blanks separate
    lambda v: f"{v:.6g}" if isinstance(v, float) else f"{v:,}",
    lambda v: f"about {v!r}",
    lambda v: f"{v:.10e}",
    lambda v: f"{v:,}".replace(",", " ") if isinstance(v, int) else repr(v),
    lambda v: by_hand(v, 3),
]


def answers() -> list[dict[str, Any]]:
    """For each exercise what is right, and what is wrong with the message that its author gets."""
    return [answers_to(e) for e in exercises().values() if answered_in_page(e)]


def answers_to(exercise: Exercise) -> dict[str, Any]:
    data = task(exercise)
    in_one_field = data["kind"] == "list"
    in_numbers = not isinstance(exercise.right, str) and exercise.name != "three_merges"

    def typed(value: Any, spelled: Callable[[Any], str]) -> list[str]:
        parts = [spelled(part) for part in flat(value)]
        return [" ".join(parts)] if in_one_field else parts

    right = []
    if in_numbers:
        right = [typed(exercise.right, s) for s in SPELLINGS[: 3 if in_one_field else None]]
        right += [[str(exercise.right)] + [""] * (len(right[0]) - 1)]  # pasted into the first
    wrong, never_right = [], []
    for mistake in data["mistakes"]:
        value = mistake["value"]
        numbers = all(isinstance(v, int | float) for v in value)
        ways = (repr, "{:.6g}".format, with_comma) if numbers else (str,)
        for way in ways:
            parts = [way(part) for part in value]
            wrong.append([["; ".join(parts)] if in_one_field else parts, mistake["says"]])
        if not in_numbers or not numbers:
            continue
        for digits in range(1, 6):
            parts = [by_hand(v, digits) for v in value]
            given = [float(part) for part in parts]
            many = isinstance(exercise.right, list | tuple)
            wanted = list(exercise.right) if many else exercise.right
            if difference(given if many else given[0], wanted, exercise.tolerance) is not None:
                never_right.append([" ".join(parts)] if in_one_field else parts)
    return {"name": exercise.name, "task": data, "right": right, "wrong": wrong} | {
        "neverRight": never_right
    }


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, content in all_fixtures().items():
        (FOLDER / f"{name}.json").write_text(
            json.dumps(content, separators=(",", ":")) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
