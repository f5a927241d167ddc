"""What the picture of a whole pass shows before the model is loaded: passes that the page holds."""

from __future__ import annotations

import base64
import io
import json
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

import torch
from PIL import Image
from torch import Tensor

from gpt2_edu import flops, load_tokenizer
from gpt2_edu.analysis.published import published_runs
from gpt2_edu.exercises.crane_run import crane
from gpt2_edu.machine.display import table
from gpt2_edu.web import crane_deeds
from gpt2_site import front_facts as facts
from gpt2_site.chapters import chapters

PLAIN = ' class="table"'  # a table that is no exhibit
SHOWN = 6  # bars
FIRST = 9  # numbers of a token's vector
DIGITS = 4  # decimals that a page holds
UNIT = 10**-DIGITS  # of attention weights, which are whole numbers there
LIT = 0.5  # a unit of the MLP is lit above this
EACH = 8  # of the weights that are drawn before the model is there: each eighth row and column
STRENGTHS = 3  # of a colour there
FULL = 2.5  # root mean squares: a weight as far from zero as this has the full colour (matrix.mjs)
# As on the dark stage (deep_style.mjs): q, k, v, others, and what is below zero.
INKS = {"q": 0x66ABDD, "k": 0xEE8F55, "v": 0x43B892, "plain": 0x8FB0D8, "minus": 0x8A8072}
# The largest text of the first page on a phone, from the first paint; then the picture has it.
WHO = (
    '<p class="soft flow-who">Crane World’s model answers: {parameters} parameters for '
    "a small language of stories. <span>use GPT-2</span></p>"
)
CHIPS = (
    "In the city, the crane",
    "In the marsh, the crane",
    "By the river, the crane",
    "Five crows sat on the roof. One of the",
)


def settings() -> dict[str, Any]:
    """What the picture is told, with the passes of the marsh and the city."""
    first = facts.beginning(facts.PLACES[0])
    config = crane().config
    return {
        "text": first,
        "chips": CHIPS,
        "chapters": [f"../notebooks/{chapter.name}.html" for chapter in chapters()],
        "sizes": {
            "nLayer": config.n_layer,
            "nHead": config.n_head,
            "nEmbd": config.n_embd,
            "vocabSize": config.vocab_size,
            "blockSize": config.block_size,
        },
        "parameters": f"{flops.num_parameters(config):,}",
        "gpt2": [run.prompt for run in published_runs()],
        "passes": [stored(facts.beginning(place)) for place in facts.PLACES],
    }


def element(**more: Any) -> str:
    """The picture with more settings, around what stands there without a script."""
    if more.get("tensors") == "folded":  # where the model is opened
        more["learned"] = learned()
    all_ = settings() | more
    if "plays" in more:  # where its first frame is the first that a reader sees
        all_["boxes"] = boxes()
    told = escape(json.dumps(all_, separators=(",", ":")))
    who = WHO.format(**all_) if "plays" in more else ""
    return (
        f'<gpt2-flow class="g2-live" data-stored data-settings="{told}">{who}'
        f'<div class="printed">{guesses_as_tables()}</div></gpt2-flow>'
    )


def boxes() -> list[str]:
    """Every matrix of a block as one picture, block by block, and the two tables."""
    body = crane().transformer
    pictures = []
    for h in body.h:
        q, k, v = h.attn.c_attn.weight.detach().chunk(3)
        attention = [("q", q), ("k", k), ("v", v), ("v", h.attn.c_proj.weight.detach())]
        first = [_inked(weight, role) for role, weight in attention]
        lines = [torch.hstack(first), _inked(h.mlp.c_fc.weight.detach(), "plain")]
        pictures.append(torch.vstack([*lines, _inked(h.mlp.c_proj.weight.detach().T, "plain")]))
    tables = [_inked(table.weight.detach(), "plain") for table in (body.wte, body.wpe)]
    return [png(picture) for picture in [*pictures, *tables]]


def _inked(weight: Tensor, role: str) -> Tensor:
    """Colours of INKS and their strengths as numbers; inputs downwards, outputs to the right."""
    strength = (weight.abs() / (FULL * weight.square().mean().sqrt())).clamp(max=1)
    steps = (strength * STRENGTHS).round().long()
    roles = list(INKS)
    ink = torch.where(weight < 0, roles.index("minus"), roles.index(role))
    colour = torch.where(steps > 0, ink * STRENGTHS + steps, 0)
    return colour.T[::EACH, ::EACH]


def png(picture: Tensor) -> str:
    """Numbers of INKS as an address that holds the picture: sixteen colours, four bits a pixel."""
    palette = b"".join(ink.to_bytes(3, "big") * STRENGTHS for ink in INKS.values())
    alphas = bytes([0, *(255 * (1 + i) // STRENGTHS for _ in INKS for i in range(STRENGTHS))])
    image = Image.fromarray(picture.to(torch.uint8).numpy(), "P")
    image.putpalette(bytes(3) + palette)
    file = io.BytesIO()
    image.save(file, "PNG", bits=4, transparency=alphas, compress_level=9)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


def learned() -> dict[str, Any]:
    """The crane while it learned: what was kept at some steps, as web/flow/learned.mjs reads it.

    The attention comes when somebody asks for it.
    """
    folder = files("gpt2_edu") / "assets" / "crane"
    kept = json.loads((folder / "snapshots.json").read_text(encoding="utf-8"))
    rows = map(json.loads, (folder / "log.jsonl").read_text(encoding="utf-8").splitlines())
    losses = {row["step"]: row.get("loss", row.get("val_loss")) for row in rows if "step" in row}
    ids = [load_tokenizer("crane").encode_ordinary(text) for text in kept["sentences"]]
    return {
        "texts": kept["sentences"],
        "ids": ids,
        "tokens": [facts.names(of) for of in ids],
        "shots": [
            {
                "step": shot["step"],
                "loss": round(losses[shot["step"]], 3),
                "good": shot["grammatical"],
                "story": shot["sample"],
            }
            for shot in kept["snapshots"]
        ],
    }


@cache
def stored(text: str) -> dict[str, Any]:
    """A pass as web/flow/stored.mjs reads it, rounded."""
    tape, config, ids = facts.tape(text), crane().config, facts.ids(text)
    deeds = crane_deeds().items()
    first = {sense: {facts.ids(f" {deed}")[1] for deed in all_} for sense, all_ in deeds}
    blocks = [f"transformer.h.{n}." for n in range(config.n_layer)]
    final = facts.shares(text).argmax().item()
    stages = ["embd", *(h + part for h in blocks for part in ("resid_mid", "resid_post"))]
    lens = []
    for path in stages:
        said = []
        for p in facts.read(tape[path][0]):
            best = int(p.argmax())
            sums = [sum(p[i].item() for i in ids_) for ids_ in first.values()]
            said.append([facts.name(best), *_rounded([p[best].item(), *sums, p[final].item()])])
        lens.append(said)
    senses = {i: sense for sense, ids_ in first.items() for i in ids_}
    p, best = facts.shares(text).topk(SHOWN)
    return {
        "text": text,
        "ids": ids,
        "tokens": facts.names(ids),
        "attention": [
            [
                [round(w / UNIT) for t, row in enumerate(head.tolist()) for w in row[: t + 1]]
                for head in tape[f"{h}attn.weights"][0]
            ]
            for h in blocks
        ],
        "unit": UNIT,
        "lens": lens,
        "lit": [
            [(unit > LIT).nonzero().flatten().tolist() for unit in tape[f"{h}mlp.act"][0]]
            for h in blocks
        ],
        "lengths": [_rounded(tape[path][0].norm(dim=-1).tolist(), 2) for path in stages],
        "units": 4 * config.n_embd,
        "vectors": [_rounded(row) for row in tape["embd"][0, :, :FIRST].tolist()],
        "next": [
            {
                "id": i,
                "name": guess.token,
                "p": round(guess.p, DIGITS),
                "rest": guess.rest,
                "sense": senses.get(i),
            }
            for i, guess in zip(best.tolist(), facts.guesses(text, SHOWN), strict=True)
        ],
    }


def guesses_as_tables() -> str:
    """What stands in the picture's place without a script."""
    return "".join(
        table(f"After “{text}”", ["token", "probability"], _bars(text), attributes=PLAIN)
        for text in map(facts.beginning, facts.PLACES)
    )


def _bars(text: str) -> list[list[str]]:
    return [[guess.token, f"{guess.p:.3f}"] for guess in facts.guesses(text, 5)]


def _rounded(values: list[float], digits: int = DIGITS) -> list[float]:
    return [round(value, digits) for value in values]
