"""Time of a training step on a CPU: 2.9M parameters, B = 16, T = 128.

"ours" is the step that the trainer takes with its own defaults: the precision that it picks for
this CPU, AdamW fused, gradients clipped, batches read from shards. It stands beside the plain
float32 loop that one would write around our model, and beside transformers as it comes, whose
default dropout is 0.1 and whose AdamW is the plain one. As dropout costs time, both are measured
with and without it.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the repository: no install needed

import torch
from torch import nn

from benchmarks import contenders
from benchmarks.common import Report, Row, alternate, hardware_rates, parser, random_ids, rounds
from gpt2_edu import GPT2Config, flops, load_tokenizer
from gpt2_edu.data.shards import HEADER, Header, Shard, tokenizer_hash
from gpt2_edu.trainer import TrainConfig, Trainer
from gpt2_edu.training.distributed import Ranks

SMALL = GPT2Config(
    vocab_size=1024, block_size=128, n_layer=6, n_head=6, n_embd=192, **contenders.NO_DROPOUT
)


def write_shards(folder: Path, config: GPT2Config) -> None:
    """A hundred thousand random ids."""
    ids = random_ids(1, 100_000, config.vocab_size, torch.device("cpu"))
    raw = ids.numpy().astype("<u2").tobytes()
    shard = Shard("train-00000.bin", "train", ids.numel(), hashlib.sha256(raw).hexdigest())
    (folder / shard.file).write_bytes(raw)
    hashed = tokenizer_hash(load_tokenizer("gpt2"))
    header = Header("gpt2", hashed, config.vocab_size, "uint16", 1, (shard,), {})
    (folder / HEADER).write_text(header.to_json(), encoding="utf-8")


def trainers_step(
    folder: Path, name: str, config: GPT2Config, batch: int, **changed: object
) -> tuple[Callable[[], object], str]:
    """The training step of an open run, and the precision that it picked."""
    settings = {
        "data": str(folder),
        "out": str(folder / name),
        "n_layer": config.n_layer,
        "n_head": config.n_head,
        "n_embd": config.n_embd,
        "block_size": config.block_size,
        "batch_size": batch,
        "device": "cpu",
        "eval_every": 0,
        "sample_every": 0,
    }
    trainer = Trainer(TrainConfig(**(settings | changed)))
    trainer.open(Ranks(0, 1, torch.device("cpu")))
    return trainer.train_step, trainer.memory.precision


def their_step(config: GPT2Config, batch: int, dropout: float) -> Callable[[], object]:
    """transformers, eager, float32, with torch's AdamW as it comes."""
    model = contenders.theirs(config, torch.device("cpu"))
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = dropout
    ids = random_ids(batch, config.block_size + 1, config.vocab_size, torch.device("cpu"))
    return contenders.training_step(model, contenders.their_loss(model), ids, fused=False)


def main(argv: list[str] | None = None) -> None:
    options = parser(__doc__, device="cpu").parse_args(argv)
    device = torch.device(options.device)
    if device.type != "cpu":
        raise SystemExit("This measures a CPU: leave --device out.")
    config, batch, steps = (contenders.TINY, 3, 1) if options.quick else (SMALL, 16, 3)
    T = config.block_size

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_shards(folder, config)
        ours, precision = trainers_step(folder, "run", config, batch)
        dropped, _ = trainers_step(folder, "dropped", config, batch, dropout=0.1)
        compiled = {}
        if not options.quick:
            compiled["ours, compiled"] = trainers_step(
                folder, "compiled", config, batch, compile="on"
            )[0]
        model = contenders.ours(config, device)
        ids = random_ids(batch, T + 1, config.vocab_size, device)
        runs = {
            "ours": ours,
            **compiled,
            "ours, dropout 0.1": dropped,
            "our model, plain float32 loop": contenders.training_step(
                model, contenders.our_loss(model), ids
            ),
        }
        if contenders.has_transformers():
            runs["transformers"] = their_step(config, batch, 0.1)
            runs["transformers, no dropout"] = their_step(config, batch, 0.0)

        def repeat(step: Callable[[], object]) -> Callable[[], object]:
            return lambda: [step() for _ in range(steps)]

        rates = hardware_rates(device, [torch.float32, torch.bfloat16], quick=options.quick)
        settings = {
            "parameters": flops.num_parameters(config),
            "batch": batch,
            "T": T,
            "ours in": precision,
        }
        report = Report("cpu_training", device, settings, rates=rates)
        taken = alternate({k: repeat(v) for k, v in runs.items()}, rounds(options), device)

    limit = flops.flops_per_token(config, T) * batch * T / rates[f"matrix {precision} FLOP/s"]
    for contender, times in taken.items():
        values = [seconds / steps for seconds in times]
        report.rows.append(
            Row("training", contender, values, "s/step", higher_is_better=False, limit=limit)
        )
    report.finish(options.json)


if __name__ == "__main__":
    main()
