"""Everything of this project that needs a GPU, in one call of at most nine minutes: `make gpu`.

First whether it is right, then how fast it is. A part that fails is reported, and the next one
runs. A machine with torch is enough; where transformers is installed, it is measured beside ours.
`--quick` runs every part at tiny sizes, also without a GPU, to see that it runs. Writes a JSON and
a Markdown file to results/.
"""

from __future__ import annotations

import gc
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the repository: no install needed

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks import contenders
from benchmarks.common import RESULTS, alternate, machine, parser, random_ids, short, top_kernels
from gpt2_edu import GPT2, fast, flops, generate, stream
from gpt2_edu.config import LlamaConfig
from gpt2_edu.llama import Llama
from gpt2_edu.machine.device import cpp_compiler
from gpt2_edu.machine.measure import copy_rate, matrix_vector_rate, seconds

BUDGET = 540  # seconds for all parts


@dataclass
class Bench:
    """What the parts share: where they run, how large, and what they found."""

    device: torch.device
    quick: bool
    figures: dict[str, Any] = field(default_factory=dict)
    begun: float = field(default_factory=time.perf_counter)

    @property
    def dtype(self) -> torch.dtype:
        old = self.on_gpu and torch.cuda.get_device_capability(self.device) < (8, 0)
        return torch.float16 if old else torch.bfloat16

    @property
    def on_gpu(self) -> bool:
        return self.device.type == "cuda"

    @property
    def seconds_left(self) -> float:
        return BUDGET - (time.perf_counter() - self.begun)

    @property
    def config(self) -> Any:
        return contenders.size(self.quick)

    @cached_property
    def rates(self) -> dict[str, float]:
        """The limits. The matrix rate is a mean over two seconds: no GPU holds its best."""
        n = 128 if self.quick else 8192
        a, b = (torch.randn(n, n, device=self.device).to(self.dtype) for _ in range(2))

        def product() -> list[Tensor]:
            return [a @ b for _ in range(20)]

        product()
        times, begun = [], time.perf_counter()
        while time.perf_counter() - begun < (0.1 if self.quick else 2):
            times.append(seconds(product, self.device) / 20)
        reading = matrix_vector_rate(self.device, self.dtype, (512, 64) if self.quick else None)
        size = 2**20 if self.quick or not self.on_gpu else 2**32
        copying = copy_rate(self.device, size)
        matrix = 2 * n**3 / statistics.mean(times)
        return {"matrix FLOP/s": matrix, "bytes/s": max(reading, copying)}

    def model(self, dtype: torch.dtype = torch.float32) -> GPT2:
        return contenders.ours(self.config, self.device, dtype)

    def ids(self, B: int, T: int, seed: int = 0) -> Tensor:
        return random_ids(B, T, self.config.vocab_size, self.device, seed)


PARTS: dict[str, Callable[[Bench], str]] = {}


def part(title: str) -> Callable[[Callable[[Bench], str]], Callable[[Bench], str]]:
    """Register a part: it returns what it found in a sentence, or raises."""

    def register(run: Callable[[Bench], str]) -> Callable[[Bench], str]:
        PARTS[title] = run
        return run

    return register


# ---- Is it right? --------------------------------------------------------------------------------


@part("Generation with a cache is generation without one")
def cached_is_plain(bench: Bench) -> str:
    model, window = bench.model(), bench.config.block_size
    checked = 0
    for B, T, n in ((1, 1, 300), (1, 127, 3), (3, 100, 60), (64, 5, 20)):
        if bench.quick:
            T, n = min(T, window - 3), min(n, 9)
        n = min(n, window - T)
        for padding in (None, torch.arange(B, device=bench.device) % max(T, 1)):
            given = {"temperature": 0.0, "padding": padding}
            cached = generate(model, bench.ids(B, T), n, **given)
            plain = generate(model, bench.ids(B, T), n, use_cache=False, **given)
            assert agree(model, cached, plain, T), f"B {B}, T {T}, {n} tokens, padding {padding}"
            checked += B * n
    return f"{checked:,} tokens the same"


def agree(model: GPT2 | Llama, one: Tensor, other: Tensor, T: int) -> bool:
    """Whether two greedy texts are the same, but where two logits are as good as equal."""
    for ours, theirs in zip(one, other, strict=True):
        unlike = (ours != theirs).nonzero()
        if len(unlike):
            i = int(unlike[0])
            logits = model(theirs[None, :i])[0][0, -1]
            if abs(float(logits[ours[i]] - logits[theirs[i]])) > 1e-3 or i < T:
                return False
    return True


@part("The same seed draws the same text, and the text of a plain loop")
def seeds_are_kept(bench: Bench) -> str:
    model, idx = bench.model(), bench.ids(2, 10)
    n = 30 if bench.quick else 150
    texts = []
    for use_cache in (True, True, False):
        generator = torch.Generator(bench.device).manual_seed(7)
        texts.append(generate(model, idx, n, top_k=50, generator=generator, use_cache=use_cache))
    assert torch.equal(texts[0], texts[1]), "the same seed, another text"
    same = int((texts[0] == texts[2]).all(dim=0).cumprod(dim=0).sum()) - idx.size(1)
    assert same >= min(n, 20), f"parted from the plain loop after {same} tokens"
    generator = torch.Generator(bench.device).manual_seed(7)
    both = [generate(model, idx, 9, generator=generator) for _ in range(2)]
    assert not torch.equal(*both), "a second draw repeats the first"
    return f"{same} of {n} tokens are those of the plain loop"


@part("Texts after each other, at once, and after a change of the weights")
def texts_in_turn(bench: Bench) -> str:
    model = bench.model()
    n = 20 if bench.quick else 60
    expected = [generate(model, bench.ids(1, 9, s), n, temperature=0) for s in (1, 2)]
    again = generate(model, bench.ids(1, 9, 1), n, temperature=0)
    assert torch.equal(again, expected[0]), "the second call is another text"
    pairs = zip(
        stream(model, bench.ids(1, 9, 1), n, temperature=0),
        stream(model, bench.ids(1, 9, 2), n, temperature=0),
        strict=True,
    )
    columns = [torch.stack(pair) for pair in pairs]
    for number in (0, 1):
        mixed = torch.stack([column[number] for column in columns], dim=1)
        assert torch.equal(mixed, expected[number][:, 9:]), "two streams disturb each other"
    with torch.no_grad():
        model.wte.weight.mul_(-1.1)
    cached, plain = (
        generate(model, bench.ids(1, 9, 1), n, temperature=0, use_cache=use_cache)
        for use_cache in (True, False)
    )
    assert agree(model, cached, plain, 9), "a changed weight is not seen"
    calls: list[int] = []
    model.transformer.h[0].register_forward_hook(lambda block, x, out: calls.append(out.size(1)))
    generate(model, bench.ids(1, 9, 1), n, temperature=0)
    assert calls == [9] + [1] * (n - 1), "a hook is not called"
    return "as alone"


@part("A compiled step is the plain one, also after a change")
def compiled_steps(bench: Bench) -> str:
    if not bench.on_gpu and cpp_compiler() is None:
        return "needs a GPU or a C++ compiler"
    model, checked = bench.model(), 0
    for B in (2,) if bench.quick else (1, 4, 64):
        step = fast.Compiled(model, B)
        for T in (20,) if bench.quick else (20, 200, 900):
            compiled = generate(model, bench.ids(B, T), 9, temperature=0, predict=step)
            plain = generate(model, bench.ids(B, T), 9, temperature=0)
            assert agree(model, compiled, plain, T), f"B {B}, T {T}"
            checked += B * 9
    with torch.no_grad():
        model.wte.weight.mul_(-1.1)
    compiled = generate(model, bench.ids(B, 9), 9, temperature=0, predict=step)
    plain = generate(model, bench.ids(B, 9), 9, temperature=0)
    assert agree(model, compiled, plain, 9), "a changed weight is not seen"
    copies = torch.cuda.max_memory_allocated(bench.device) if bench.on_gpu else 0
    return f"{checked:,} tokens the same" + f", at most {copies / 2**30:.1f} GiB" * bench.on_gpu


@part("A Llama: a cache, a compiled step")
def llama(bench: Bench) -> str:
    config = LlamaConfig(n_layer=4, block_size=1024)  # SmolLM2-135M has thirty, which compile long
    if bench.quick:
        config = LlamaConfig(
            vocab_size=97, block_size=64, n_layer=2, n_head=4, n_kv_head=2, n_embd=32, n_inner=48
        )
    torch.manual_seed(0)
    model = Llama(config).to(bench.device).eval()
    checked, n = 0, 9 if bench.quick else 60
    for B, T in ((1, 5), (3, 40)):
        idx = random_ids(B, T, config.vocab_size, bench.device, 0)
        for padding in (None, torch.arange(B, device=bench.device)):
            given = {"temperature": 0.0, "padding": padding}
            plain = generate(model, idx, n, use_cache=False, **given)
            ways = {"cached": generate(model, idx, n, **given)}
            if bench.on_gpu or cpp_compiler() is not None:
                step = fast.Compiled(model, B, T + n, padding)
                ways["compiled"] = generate(model, idx, n, temperature=0, predict=step)
            for way, text in ways.items():
                assert agree(model, text, plain, T), f"{way}, B {B}, T {T}, padding {padding}"
                checked += B * n
    return f"{checked:,} tokens the same"


@part("Another device than the current one")
def second_device(bench: Bench) -> str:
    if torch.cuda.device_count() < 2:
        return "needs two GPUs"
    model = bench.model().to("cuda:1")
    cached, plain = (
        generate(model, bench.ids(1, 9).to("cuda:1"), 40, temperature=0, use_cache=use_cache)
        for use_cache in (True, False)
    )
    assert torch.equal(cached, plain)
    return "cuda:1 writes what it should"


@part("Training stops, resumes and moves to a processor and back")
def resumes(bench: Bench) -> str:
    # These need more than torch.
    from gpt2_edu.data.prepare import PrepareConfig, prepare
    from gpt2_edu.training import TrainConfig, Trainer

    here = str(bench.device)
    ways = {"whole": [here], "in parts": [here] * 3, "moved": [here, "cpu", here]}
    with tempfile.TemporaryDirectory() as name:
        folder, losses = Path(name), {}
        data = str(folder / "data")
        prepare(PrepareConfig(sources=("crane:200",), out=data, tokenizer="crane"))
        for way, devices in ways.items():
            given = {
                "data": data, "out": str(folder / way), "steps": 9, "warmup_steps": 2,
                "n_layer": 2, "n_head": 2, "n_embd": 32, "block_size": 32, "batch_size": 4,
                "dropout": 0.1, "precision": "float32", "compile": "off", "quiet": True,
                "eval_every": 0, "sample_every": 0, "log_every": 1,
            }  # fmt: skip
            for number, device in enumerate(devices):
                trainer = Trainer(TrainConfig(**given, device=device, resume=number > 0))
                if number < len(devices) - 1:
                    trainer.on_log = stopping(trainer, 3 * (number + 1))
                summary = trainer.train()
            losses[way] = summary.loss
    assert losses["whole"] == losses["in parts"], losses
    assert abs(losses["moved"] - losses["whole"]) < 0.3, losses
    return f"the same loss, {losses['whole']:.6f}; moved {losses['moved']:.6f}"


def stopping(trainer: Any, after: int) -> Callable[[Any], None]:
    """For on_log: stop after a step."""
    return lambda row: trainer.stop() if row["step"] >= after else None


@part("Training in float16, from a scale that overflows")
def half_precision(bench: Bench) -> str:
    model, idx = bench.model(), bench.ids(2, 33)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler(bench.device.type, init_scale=2.0**40)
    losses, skipped = [], 0
    for _ in range(40):
        with torch.autocast(bench.device.type, torch.float16):
            _, loss = model(idx[:, :-1], idx[:, 1:])
        scaler.scale(loss).backward()
        before = scaler.get_scale()
        scaler.step(optimiser)
        scaler.update()
        optimiser.zero_grad()
        skipped += scaler.get_scale() < before
        losses.append(float(loss.detach()))
    assert skipped and losses[-1] < losses[0] - 0.1, (skipped, losses)
    return f"{skipped} steps skipped, loss {losses[0]:.2f} → {losses[-1]:.2f}"


@part("Two GPUs: replicated, and split, with samples")
def two_devices(bench: Bench) -> str:
    if torch.cuda.device_count() < 2:
        return "needs two GPUs"
    from gpt2_edu.data.prepare import PrepareConfig, prepare

    said = []
    with tempfile.TemporaryDirectory() as name:
        prepare(PrepareConfig(sources=("crane:200",), out=f"{name}/data", tokenizer="crane"))
        for way in ("--no-fsdp", "--fsdp"):
            command = f"""{sys.executable} -m torch.distributed.run --standalone --nproc-per-node 2
                -m gpt2_edu train --data {name}/data --out {name}/{way} --steps 6 --warmup-steps 2
                --n-layer 2 --n-head 2 --n-embd 32 --block-size 32 --batch-size 4 --sample-every 3
                --eval-every 3 --device {bench.device.type} {way}"""
            done = subprocess.run(
                command.split(), capture_output=True, text=True, cwd=RESULTS.parents[1]
            )
            assert done.returncode == 0, (done.stdout + done.stderr)[:900]
            log = (Path(name) / way / "log.jsonl").read_text("utf-8")
            said.append(f"{way[2:]}: loss {json.loads(log.splitlines()[-1])['loss']:.4f}")
    return ", ".join(said)


@part("Out of memory, and a smaller run after it")
def out_of_memory(bench: Bench) -> str:
    if not bench.on_gpu:
        return "needs a GPU"
    model, said = bench.model(bench.dtype), ""
    room = torch.cuda.get_device_properties(bench.device).total_memory
    T, new = 600, 3
    each = flops.cache_bytes_per_token(bench.config, kind_of(bench.dtype)) * (T + new)
    texts = 2 * room // each
    try:
        generate(model, bench.ids(texts, T), new)
    except (ValueError, torch.OutOfMemoryError) as error:
        said = str(error).splitlines()[0][:90]
    assert said, f"{texts} texts fit"
    assert generate(model, bench.ids(2, 9), 5).shape == (2, 14)
    return f"said: {said}"


# ---- How fast is it? -----------------------------------------------------------------------------


@part("The limits of this machine")
def limits(bench: Bench) -> str:
    return ", ".join(f"{name} {short(rate)}" for name, rate in bench.rates.items())


@part("Decoding, one text and many")
def decoding_speed(bench: Bench) -> str:
    model, said = bench.model(bench.dtype), []
    prompt, new = (5, 7) if bench.quick else (16, 256)
    theirs = None
    if contenders.has_transformers():
        theirs = contenders.theirs(bench.config, bench.device, bench.dtype)
    for B in (1, 3) if bench.quick else (1, 64):
        idx = bench.ids(B, prompt)
        runs = {"ours": contenders.our_generation(model, idx, new)}
        if bench.on_gpu:
            step = fast.Compiled(model, B, prompt + new)
            runs["ours, compiled"] = contenders.our_generation(model, idx, new, predict=step)
        if theirs is not None:
            runs["transformers"] = contenders.their_generation(theirs, idx, new)
            if bench.on_gpu:
                runs["transformers static, compiled"] = contenders.their_generation(
                    theirs, idx, new, cache_implementation="static"
                )
        taken = alternate(runs, 3, bench.device, warm_up=1)
        rates = {name: B * new / statistics.median(times) for name, times in taken.items()}
        bound = flops.decode_tokens_per_second_bound(
            bench.config, B, prompt + new // 2, bench.rates["bytes/s"], kind_of(bench.dtype)
        )
        rates["the limit of reading"] = bound
        bench.figures[f"decode, batch {B}, tokens/s"] = rates
        said.append(f"batch {B}: " + ", ".join(f"{k} {short(v)}" for k, v in rates.items()))
    return "; ".join(said)


def kind_of(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


@part("A token early and late, the first token")
def tokens_by_length(bench: Bench) -> str:
    model, steps = bench.model(bench.dtype), 3 if bench.quick else 32
    found = {}
    generate(model, bench.ids(1, 9), 9, temperature=0)  # the first loads kernels
    for T in (8, 40) if bench.quick else (64, 256, 900):
        new = stream(model, bench.ids(1, T), steps + 1, temperature=0)
        next(new)
        each = seconds(lambda new=new: [next(new) for _ in range(steps)], bench.device) / steps
        found[f"after {T}"] = 1 / each
    bench.figures["tokens/s by length"] = found
    lengths = range(3, 23) if bench.quick else range(37, 1000, 50)
    firsts = []
    for T in lengths:
        idx = bench.ids(1, T)
        firsts.append(seconds(lambda idx=idx: next(stream(model, idx, 2)), bench.device))
    bench.figures["seconds to the first token"] = dict(zip(lengths, firsts, strict=True))
    rates = ", ".join(f"{name}: {short(rate)} tokens/s" for name, rate in found.items())
    return f"{rates}; first token at most {max(firsts) * 1e3:.1f} ms"


@part("Training")
def training_speed(bench: Bench) -> str:
    config = bench.config
    B, T, steps = (3, 31, 1) if bench.quick else (64, 1024, 4)
    if bench.on_gpu and not bench.quick:  # as many as fit
        room = torch.cuda.get_device_properties(bench.device).total_memory
        fits = flops.largest_batch(config, T, int(0.9 * room), kind_of(bench.dtype))
        B = min(B, fits)
    torch.set_float32_matmul_precision("high")
    idx = bench.ids(B, T + 1)

    def loop(model: torch.nn.Module, loss: Callable) -> Callable[[], object]:
        step = contenders.training_step(model, loss, idx, bench.dtype)
        return lambda: [step() for _ in range(steps)]

    def plain_loss(model: torch.nn.Module) -> Callable:
        def loss(idx: Tensor, targets: Tensor) -> Tensor:
            logits, _ = model(idx)
            return F.cross_entropy(logits.flatten(0, 1), targets.flatten())

        return loss

    if bench.on_gpu:
        torch.cuda.reset_peak_memory_stats(bench.device)
    ours = bench.model()  # compiled as the trainer does: with its loss, and without its logits
    runs = {"ours": loop(ours, contenders.compiled(contenders.our_loss(ours), bench.quick))}
    runs["ours"]()
    peak = torch.cuda.max_memory_allocated(bench.device) if bench.on_gpu else 0
    plain = bench.model()
    whole = contenders.compiled(plain, bench.quick)
    runs["a plain compiled loop"] = loop(plain, plain_loss(whole))
    if contenders.has_transformers():
        theirs = contenders.theirs(config, bench.device)
        whole = contenders.compiled(theirs, bench.quick)
        runs["transformers"] = loop(theirs, contenders.their_loss(whole))
    taken = alternate(runs, 3, bench.device, warm_up=1)
    rates = {name: B * T * steps / statistics.median(times) for name, times in taken.items()}
    limit = bench.rates["matrix FLOP/s"] / flops.flops_per_token(config, T)
    kind = bench.device.type
    paper = flops.memory(config, B, T, kind_of(bench.dtype), device_type=kind).total
    bench.figures[f"training, batch {B}, T {T}, tokens/s"] = rates | {"the matrix rate": limit}
    bench.figures["peak memory of a step, bytes"] = {"measured": peak, "flops.py": paper}
    if bench.on_gpu:
        bench.figures["kernels of a training step"] = top_kernels(runs["ours"], 12)
    told = ", ".join(f"{name} {short(rate)}" for name, rate in rates.items())
    sizes = f"; peak {peak / 2**30:.2f} GiB, on paper and uncompiled {paper / 2**30:.2f}"
    memory = sizes if peak else ""
    return f"{told}; {rates['ours'] / limit:.0%} of the matrix rate{memory}"


@part("The commands as a reader starts them: prepare, train, generate")
def commands(bench: Bench) -> str:
    def run(*words: str) -> str:
        command = [sys.executable, "-m", "gpt2_edu", *words]
        done = subprocess.run(command, capture_output=True, text=True, cwd=RESULTS.parents[1])
        assert done.returncode == 0, (done.stdout + done.stderr)[-900:]
        return done.stdout

    stories, steps = (200, 9) if bench.quick else (20_000, 1800)
    with tempfile.TemporaryDirectory() as name:
        run("prepare", f"crane:{stories}", "--tokenizer", "crane", "--out", f"{name}/data")
        start = time.perf_counter()
        run(
            *f"train --data {name}/data --out {name}/run --device {bench.device.type}".split(),
            *f"--steps {steps} --n-layer 3 --n-head 4 --n-embd 128 --block-size 128".split(),
            *f"--batch-size 16 --warmup-steps {min(100, steps - 1)} --lr 3e-3 --quiet".split(),
        )
        took = time.perf_counter() - start
        log = (Path(name) / "run" / "log.jsonl").read_text("utf-8").splitlines()
        rows = [json.loads(line) for line in log]
        wrote = run("generate", "In the marsh", "--model", f"{name}/run", "--seed", "1")
    last = rows[-1]
    found = {"seconds": took, "tokens/s": last["tokens_per_second"]}
    found |= {"loss": last["loss"], "held loss": last["val_loss"]}
    bench.figures[f"gpt2-edu train, {steps} steps"] = found
    told = ", ".join(f"{name} {short(value)}" for name, value in found.items())
    return f"{told}; wrote {' '.join(wrote.split())!r}"


@part("Where a step of decoding spends its time")
def decoding_profile(bench: Bench) -> str:
    if not bench.on_gpu:
        return "needs a GPU"
    model, idx = bench.model(bench.dtype), bench.ids(1, 16)
    write = partial(generate, model, idx, 16 if bench.quick else 64, temperature=0)
    write()
    found = top_kernels(write, 12)
    bench.figures["kernels of decoding"] = found
    return ", ".join(f"{k['kernel'][:30]} {k['share']:.0%}" for k in found[:4])


# ---- The run -------------------------------------------------------------------------------------


def main(argv: list[str] | None = None) -> int:
    options = parser(__doc__)
    options.add_argument("--only", help="the parts that have this in their title")
    options = options.parse_args(argv)
    bench = Bench(torch.device(options.device), options.quick)
    if not (bench.on_gpu or options.quick):
        raise SystemExit("This needs a CUDA device; --quick runs every part on a CPU.")
    results = []
    device = torch.cuda.device(bench.device) if bench.on_gpu else nullcontext()
    for title, run in PARTS.items():
        if options.only and options.only.lower() not in title.lower():
            continue
        start = time.perf_counter()
        state, said = "ok", ""
        if bench.seconds_left < 0:
            state, said = "left out", "the nine minutes were over"
        else:
            try:
                with device:
                    said = run(bench)
                if said.startswith("needs "):
                    state = "left out"
            except Exception as error:
                state = "failed"
                where = traceback.extract_tb(error.__traceback__)[-1]
                said = (
                    f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
                )
        took = time.perf_counter() - start
        results.append({"part": title, "state": state, "found": said, "seconds": round(took, 1)})
        print(f"{state:8} {title} ({took:.0f} s): {said}", flush=True)
        write(bench, results, options.json)  # a run may be stopped
        torch.compiler.reset()
        gc.collect()
        if bench.on_gpu:
            torch.cuda.empty_cache()
    print(f"written to {write(bench, results, options.json)}")
    return int(any(result["state"] == "failed" for result in results))


def write(bench: Bench, parts: list[dict[str, Any]], path: Path | None) -> Path:
    """Store what was found so far, as JSON and as Markdown beside it."""
    found = machine(bench.device)
    report = {
        "benchmark": "gpu",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": found,
        "quick": bench.quick,
        "parts": parts,
        "rates": vars(bench).get("rates", {}),
        "figures": bench.figures,
    }
    chip = re.sub(r"[^a-z0-9]+", "-", found.get("gpu", found["cpu"]).lower()).strip("-")
    path = path or RESULTS / f"gpu-{chip}-{report['date'][:10]}.json"
    path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    path.with_suffix(".md").write_text(as_markdown(report), encoding="utf-8")
    return path


def as_markdown(report: dict[str, Any]) -> str:
    machine = ", ".join(f"{k} {v}" for k, v in report["machine"].items() if v is not None)
    lines = [
        f"# GPU, {report['date'][:10]}",
        "",
        machine,
        "",
        "| part | | found | s |",
        "|-|-|-|-:|",
    ]
    for one in report["parts"]:
        found = one["found"].replace("|", "\\|").replace("\n", " ")
        lines.append(f"| {one['part']} | {one['state']} | {found} | {one['seconds']:.0f} |")
    for name, figures in report["figures"].items():
        if isinstance(figures, dict):
            lines += ["", f"## {name}", "", "| | |", "|-|-:|"]
            lines += [f"| {key} | {short(value)} |" for key, value in figures.items()]
        elif isinstance(figures, list):
            lines += ["", f"## {name}", "", "| kernel | calls | ms | share |", "|-|-:|-:|-:|"]
            for k in figures:
                cells = f"`{k['kernel'][:70]}`", k["calls"], f"{k['milliseconds']:.3f}"
                lines.append(f"| {' | '.join(map(str, cells))} | {k['share']:.0%} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
