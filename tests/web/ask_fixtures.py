"""Adapters as the package computes them, and conversations as it renders them, for web/test."""

from __future__ import annotations

import base64
import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save
from torch import Tensor

from gpt2_edu import GPT2, GPT2Config, crane, load_tokenizer
from gpt2_edu.tuning import (
    LoraConfig,
    add_lora,
    conversation,
    disabled,
    merge,
    prompt,
    render,
    save_adapter,
    with_roles,
)

IDS = [3, 1, 4, 1, 5, 9, 2]
STRENGTHS = (0, 0.5, 1, 1.5)
KINDS = {
    "all maps": LoraConfig(rank=3, alpha=5),
    "some maps": LoraConfig(rank=1, alpha=2, targets=("c_attn", "c_fc")),
    "maps and a longer table": LoraConfig(rank=2, alpha=1, train_tables=True),
}


def ask(config: GPT2Config, state: dict[str, Tensor]) -> dict[str, Any]:
    """Adapters of a model with these weights, and questions as ids."""
    return {
        "adapters": {kind: adapter(config, state, lora) for kind, lora in KINDS.items()},
        "conversations": list(conversations()),
    }


def adapter(config: GPT2Config, state: dict[str, Tensor], lora: LoraConfig) -> dict[str, Any]:
    """The two files, and logits with more and less of the adapter, by the package's merge."""
    generator = torch.Generator().manual_seed(lora.rank)

    def random(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator)

    if lora.train_tables:  # two tokens more, as with_roles adds them
        wte = torch.cat([state["transformer.wte.weight"], random(2, config.n_embd)])
        state = state | {"transformer.wte.weight": wte, "lm_head.weight": wte}
        config = GPT2Config(**{**vars(config), "vocab_size": len(wte)})
    model = GPT2(config)
    model.load_state_dict(state)
    model.tie_weights()
    add_lora(model.eval(), lora)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.requires_grad:
                before = 0 if "lora_" in name else parameter  # A begins with other random numbers
                parameter.copy_(before + 0.3 * random(*parameter.shape))
    tuned = merge(model).state_dict()
    with disabled(model):
        plain = merge(model).state_dict()
    if lora.train_tables:  # rows that only the adapter has do not depend on its strength
        for name in ("transformer.wte.weight", "lm_head.weight"):
            plain[name] = torch.cat([plain[name][:-2], tuned[name][-2:]])
    cases = []
    for strength in STRENGTHS:
        between = GPT2(config)
        between.load_state_dict({name: plain[name].lerp(tuned[name], strength) for name in tuned})
        with torch.no_grad():
            logits, _ = between.eval()(torch.tensor([IDS]))
            if strength == 1:
                torch.testing.assert_close(logits, model(torch.tensor([IDS]))[0])
        cases.append(
            {"strength": strength, "logits": [round(v, 5) for v in logits.flatten().tolist()]}
        )
    with tempfile.TemporaryDirectory() as folder:
        save_adapter(model, folder)
        weights = save(load_file(Path(folder) / "adapter_model.safetensors"))  # without metadata
        text = (Path(folder) / "adapter_config.json").read_text(encoding="utf-8")
    return {"config": text, "weights": base64.b64encode(weights).decode(), "cases": cases}


def conversations() -> Iterator[dict[str, Any]]:
    """Questions of every kind, and texts as nobody should type them."""
    _, encoding = with_roles(GPT2.from_pretrained("crane"), load_tokenizer("crane"))
    odd = [("A  b \n", "c?", "d"), ("été 😀", " 12?", "“x”"), ("A crane", "\u3000?", "<|user|>")]
    asked = [(one.story, one.question, one.answer) for one in map(crane.ask, range(12))]
    for story, question, answer in itertools.chain(asked, odd):
        messages = conversation(crane.Exchange(story, question, answer, "who", None))
        whole = render(messages, encoding)
        yield {
            "story": story,
            "question": question,
            "answer": answer,
            "prompt": prompt(messages[:1], encoding),
            "ids": whole.ids,
            "inAnswer": whole.answer,
        }
