"""Tune the model of Crane World on questions in all ways, and store what came out: `make ask`.

The files are gpt2_edu/assets/ask.json, and in gpt2_edu/assets/ask the adapter that ships; what is
measured, gpt2_edu/analysis/ask.py says. One core needs an hour. Each result is stored at once,
and those in the file are not made again: to make all, delete both first.
"""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Any

import torch

from gpt2_edu import GPT2, generate, load_tokenizer
from gpt2_edu.analysis.ask import (
    ADAPTER,
    FILE,
    SEEDS,
    SHIPPED,
    STORIES,
    WAYS,
    asked,
    asked_senses,
    chat_encoding,
    classify,
    measure,
    prompt_text,
    prompted,
    watched,
)
from gpt2_edu.machine.files import write_text
from gpt2_edu.tuning import conversation, load_adapter, prompt, save_adapter, with_roles
from gpt2_site.make_since import Results


def main(*names: str) -> None:
    torch.set_num_threads(1)  # sums in one order, so that the same machine gives the same numbers
    results = Results(FILE)
    version = torch.__version__.partition("+")[0]
    results.begin("made", command="make ask", torch=version, seeds=SEEDS, stories=STORIES)
    if "shipped" not in results.content:
        ship(results)
    results.begin("before", "prompted")
    for how in ("asked", "example", "begun"):
        if key := results.missing("before.prompted", how=how):
            results.add("before.prompted", key | {"by_kind": prompted(asked(500), how)})
    results.begin("tuned", "runs", "senses", ways={name: asdict(way) for name, way in WAYS.items()})
    for seed in range(5):  # whole rounds, wherever it is stopped
        for name in names or WAYS:
            tuned(results, name, seed)
        for how in ("frozen", "tuned"):
            if key := results.missing("tuned.senses", variant=how, seed=seed):
                results.add("tuned.senses", key | classify(how, seed))


def tuned(results: Results, name: str, seed: int) -> None:
    """Tune in one way, and measure; the senses are asked of the model that keeps its stories."""
    if key := results.missing("tuned.runs", variant=name, seed=seed):
        model, curve = watched(WAYS[name], seed)
        if name == "stories":
            results.add("tuned.senses", {"variant": "asked", "seed": seed} | asked_senses(model))
        results.add("tuned.runs", key | measure(model, WAYS[name]) | {"curve": curve})


def ship(results: Results) -> None:
    """Train the adapter that ships, and measure the very file, in float16."""
    model, curve = watched(SHIPPED, seed=0)
    save_adapter(model, ADAPTER, base="crane", encoding=chat_encoding(), dtype=torch.float16)
    model, _ = with_roles(GPT2.from_pretrained("crane"), load_tokenizer("crane"))
    load_adapter(model, ADAPTER)
    found = measure(model.eval(), SHIPPED)
    results.begin("shipped", recipe=asdict(SHIPPED), **found, curve=curve, texts=texts(model))
    results.write()
    write_text(ADAPTER / "README.md", card(found))


def card(found: dict[str, Any]) -> str:
    """What to know of the adapter before using it."""
    right, form, thing, unsaid = (
        f"{100 * found[key]:.1f} %" for key in ("right", "form", "thing", "unsaid")
    )
    return f"""# An adapter that answers questions

LoRA of rank {SHIPPED.rank} on all maps of the model of Crane World (`gpt2_edu/assets/crane`), and
its token embeddings, with a row each for `<|user|>` and `<|assistant|>`. Asked who, where, what
colour, how many or which sense (`gpt2_edu/crane/questions.md`), the model answers instead of
continuing the story.

    model, encoding = with_roles(GPT2.from_pretrained("crane"), load_tokenizer("crane"))
    load_adapter(model, "ask")

- **Command**: `make ask`, with seed 0. Each of {SHIPPED.steps:,} steps has {SHIPPED.batch_size}
  texts, of which {SHIPPED.stories} are plain stories, and a learning rate of at most {SHIPPED.lr}.
  The questions are `crane.ask(0)` to `crane.ask({SHIPPED.exchanges - 1})`.
- **Files**: `adapter_model.safetensors` (float16) and `adapter_config.json` in the format of
  `peft`, and the tokenizer with its two roles.
- **Answers**: of 500 questions about new stories {right} are right. In forms that training never
  uses it is {form}, and about things that it never asks about {thing}. How many are left is right
  in {unsaid} of stories that stop before they say it.
- **Forgetting**: plain stories cost {found["forgot"]:.4f} nats per token more than before.
- **Limits**: it answers these questions and no others. The licence is MIT, as of the package.
"""


def texts(model: GPT2) -> list[dict[str, Any]]:
    """A new story for each kind of question, how the plain model continues it, and the answer."""
    plain, shown = GPT2.from_pretrained("crane"), {}
    for exchange in asked(500):
        shown.setdefault(exchange.kind, exchange)
    encoding, end = load_tokenizer("crane"), chat_encoding().eot_token
    return [
        {
            **asdict(exchange),
            "before": reply(plain, [end, *encoding.encode(prompt_text(exchange, "asked"))]),
            "after": reply(model, prompt(conversation(exchange)[:1], chat_encoding())),
        }
        for exchange in shown.values()
    ]


def reply(model: GPT2, ids: list[int], n: int = 20) -> str:
    """The most likely next tokens, up to <|endoftext|>."""
    end = chat_encoding().eot_token
    new = generate(model, torch.tensor([ids]), n, top_k=1, eos_id=end, overflow="crop")
    return chat_encoding().decode([i for i in new[0, len(ids) :].tolist() if i != end])


if __name__ == "__main__":
    main(*sys.argv[1:])
