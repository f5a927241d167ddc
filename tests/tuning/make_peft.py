"""Adapters that peft made, and the logits that it computes with them: ``tests/tuning/peft``.

    pip install --target /somewhere peft==0.21.2
    PYTHONPATH=.:/somewhere python -m tests.tuning.make_peft

peft is no requirement of the tests, which read the files. The models have sin 1, sin 2, sin 3 … as
weights, so that no file needs to hold them.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors.torch import save_file

from gpt2_edu import GPT2, GPT2Config, Llama, LlamaConfig

HERE = Path(__file__).parent / "peft"
IDX = torch.arange(11).mul(7).remainder(41).unsqueeze(0)
SIZES = {"vocab_size": 41, "block_size": 13, "n_layer": 2, "n_head": 3}
GPT2_SIZES = GPT2Config(**SIZES, n_embd=15, embd_pdrop=0, attn_pdrop=0, resid_pdrop=0)
LLAMA_SIZES = LlamaConfig(**SIZES, n_kv_head=1, n_embd=15, n_inner=19, head_size=4)


def base(family: str) -> GPT2 | Llama:
    """The model below the adapters, in eval mode."""
    model = GPT2(GPT2_SIZES) if family == "gpt2" else Llama(LLAMA_SIZES)
    fill(dict(model.named_parameters()), start=1)
    return model.eval()


@torch.no_grad()
def fill(parameters: dict[str, torch.Tensor], start: int) -> None:
    """sin start, sin start + 1 … in each tensor, about as large as weights are."""
    for name, tensor in sorted(parameters.items()):
        values = torch.arange(start, start + tensor.numel()).double().sin().view(tensor.shape)
        scale = tensor.size(-1) ** -0.5 if tensor.ndim > 1 else 0.3
        tensor.copy_(scale * values + ("norm" in name or "ln_" in name) * name.endswith("weight"))


def main() -> None:
    """Write every adapter anew."""
    import tempfile

    import peft
    from transformers import AutoModelForCausalLM

    made = {
        "gpt2": ("gpt2", {"target_modules": ["c_attn", "c_proj", "c_fc"], "fan_in_fan_out": True}),
        "gpt2_tables": (
            "gpt2",
            {"target_modules": ["c_attn"], "modules_to_save": ["lm_head"], "fan_in_fan_out": True}
            | {"ensure_weight_tying": True},
        ),
        "llama": ("llama", {"target_modules": ["q_proj", "o_proj", "up_proj"]}),
    }
    for name, (family, settings) in made.items():
        with tempfile.TemporaryDirectory() as folder:
            base(family).save_pretrained(folder)
            theirs = AutoModelForCausalLM.from_pretrained(folder).eval()
        config = peft.LoraConfig(r=2, lora_alpha=5, task_type="CAUSAL_LM", **settings)
        model = peft.get_peft_model(theirs, config)
        fill({n: p for n, p in model.named_parameters() if p.requires_grad}, start=1000)
        model.eval()
        place = HERE / name
        model.save_pretrained(place)
        (place / "README.md").unlink()
        settings = json.loads((place / "adapter_config.json").read_text())
        settings["base_model_name_or_path"] = name
        (place / "adapter_config.json").write_text(json.dumps(settings, indent=2) + "\n")
        with torch.no_grad():
            logits = model(IDX).logits
            with model.disable_adapter():
                without = model(IDX).logits
            merged = model.merge_and_unload()(IDX).logits
        results = {"logits": logits, "without": without, "merged": merged}
        save_file(results, place / "logits.safetensors", {"peft": peft.__version__})
        print(name, sorted(path.name for path in place.iterdir()))


if __name__ == "__main__":
    main()
