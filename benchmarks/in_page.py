"""GPT-2 in a page: the engine of web in Chromium, beside onnxruntime-web.

Two models: the bundled Crane, fetched from this machine, and the shape of "gpt2" (124 million
random weights) from files on the disk, and once more from the browser's storage where the weights
are rounded. Each contender runs in a worker, on one thread, and in each round in a Chromium of its
own. Memory and CPU time are those of the process that draws the page and runs its workers; they are
read from Linux's /proc.
"""

from __future__ import annotations

import gzip
import json
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the repository: no install needed

import torch
from torch import Tensor

from benchmarks import chromium, contenders
from benchmarks.chromium import Page
from benchmarks.common import Report, Row, parser, random_ids, rounds, short
from gpt2_edu import GPT2, GPT2Config, flops, generate, load_tokenizer, trace
from gpt2_edu.crane import random_seeds, story, surprisals
from gpt2_edu.machine.measure import matrix_vector_rate
from gpt2_edu.web import files_script

ROOT = Path(__file__).resolve().parents[1]
CPU = torch.device("cpu")
CRANE = "/gpt2_edu/assets/crane/"
FILES = "/gpt2_edu/exhibits/static/files/crane.js"  # on the site, beside the packed engine
RECORDING = "/benchmarks/in_page/recording.mjs"
ORT = ROOT / "benchmarks" / "in_page" / "node_modules" / "onnxruntime-web"
ORT_FILES = ["ort.wasm.min.mjs", "ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm"]
PROMPT, NEW, DRAGS = 16, 30, 30


@dataclass(frozen=True)
class Contender:
    name: str
    backend: str
    worker: str = "/web/worker.mjs"
    bytes_per_weight: float = 4


OURS = Contender("ours", "wasm")
PLAIN = Contender("ours, plain JavaScript", "plain")
HALF = Contender("ours, float16 weights", "wasm-half", bytes_per_weight=2)
INT8 = Contender("ours, int8 weights", "wasm-int8", bytes_per_weight=1)
INT4 = Contender("ours, int4 weights", "wasm-int4", bytes_per_weight=5 / 8)
THEIRS = Contender("onnxruntime-web", "", "/benchmarks/in_page/ort.mjs")


class Figures:
    """Rows that grow by a value each round, and what else is found in the same run."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], Row] = {}
        self.long: list[str] = []
        self.empty: list[int] = []  # peak memory of a page before anything is loaded
        self.differences: dict[str, dict[str, float]] = {}

    def add(self, task: str, contender: Contender, value: float, unit: str = "s") -> None:
        row = Row(task, contender.name, [], unit, higher_is_better=unit == "tokens/s")
        self.rows.setdefault((task, contender.name), row).values.append(value)

    def look(self, page: Page, about: str) -> None:
        """Note the tasks and frames that kept the page busy for more than 50 ms since last time."""
        self.long += [
            f"{about}: {kind} of {ms:.0f} ms, {scripts:.0f} ms of them scripts"
            for kind, ms, scripts in page.ask("long", 0)
        ]

    def table(self) -> list[Row]:
        """All rows, the contenders of a task below each other."""
        tasks = list(dict.fromkeys(row.task for row in self.rows.values()))
        return sorted(self.rows.values(), key=lambda row: tasks.index(row.task))


# ---------------------------------------------------------------------------------------------
# One turn of a contender, in a fresh Chromium.


def answers(page: Page, model: str, contender: Contender, found: Figures) -> None:
    """A first answer to a prompt, when everything is new and when it is not."""
    ids = list(range(PROMPT))
    cold, *warm = (page.ask("answer", ids) / 1e3 for _ in range(6))
    found.add(f"{model}: first answer, cold", contender, cold)
    found.add(f"{model}: first answer, warm", contender, statistics.median(warm))


def small_turn(page: Page, contender: Contender, found: Figures, times: int) -> None:
    """Crane, as an exhibit uses it."""
    name = f"Crane, {contender.name}"
    page.ask("long", 0)  # how the page itself started
    ready = page.ask("published", contender.backend) / 1e3
    found.look(page, f"{name}, loading")
    found.add("Crane: ready", contender, ready)
    answers(page, "Crane", contender, found)
    page.ask("long", 0)
    if page.ask("drag", DRAGS) < 1:
        raise SystemExit(f"{name}: nothing that was dragged was answered")
    found.look(page, f"{name}, dragging")
    found.add("Crane: writing", contender, writing(page, times), "tokens/s")
    found.look(page, f"{name}, writing")
    page.ask("load", RECORDING, contender.backend, CRANE)
    found.add("Crane: writing, recorded", contender, writing(page, times), "tokens/s")
    check_the_watch(page)


def writing(page: Page, times: int) -> float:
    """Tokens/s behind the first, to the end of Crane's window; the first two texts warm it up."""
    ids, new = list(range(PROMPT)), 128 - PROMPT
    taken = [page.ask("write", ids, new)["taken"] / 1e3 for _ in range(2 + times)]
    return new * times / sum(taken[2:])


def check_the_watch(page: Page) -> None:
    """If the page is kept busy on purpose, that is seen."""
    seen, busy = set(), 150
    for _ in range(20):  # the browser may tell of it later
        seen |= {kind for kind, ms, _ in page.ask("long", busy) if ms > 100}
        if seen == {"longtask", "long-animation-frame"}:
            return
        busy = 0
    raise SystemExit(f"a task of 150 ms was seen only as {seen}: long tasks cannot be measured")


def large_turn(
    page: Page, name: str, contender: Contender, found: Figures, files: list[Path]
) -> None:
    """The shape of "gpt2", from files."""
    marks: list[float] = []
    page.choose(files)
    page.ask("long", 0)
    found.empty.append(chromium.peak_memory(page.renderer()))
    ready = page.ask("load", contender.worker, contender.backend, None) / 1e3
    process = page.renderer()
    found.look(page, f"{name}, {contender.name}, loading")
    found.add(f"{name}: ready", contender, ready)
    answers(page, name, contender, found)
    page.page.expose_function("mark", lambda: marks.append(chromium.processor_seconds(process)))
    taken = page.ask("write", list(range(PROMPT)), NEW)["taken"] / 1e3
    found.look(page, f"{name}, {contender.name}, answering and writing")
    first, last = marks
    found.add(f"{name}: a token", contender, taken / NEW)
    found.add(f"{name}: a token, CPU time", contender, max(last - first, chromium.TICK) / NEW)
    found.add(f"{name}: peak memory", contender, chromium.peak_memory(process), "bytes")


def second_visit(
    page: Page, name: str, contender: Contender, found: Figures, files: list[Path]
) -> None:
    """The rounded weights from the browser's storage, where a first visit leaves them."""
    page.choose(files)
    page.ask("store", contender.worker, contender.backend)
    ready, size = page.ask("again", contender.worker, contender.backend)
    found.add(f"{name}: ready on a second visit", contender, ready / 1e3)
    found.add(f"{name}: stored", contender, size, "bytes")


# ---------------------------------------------------------------------------------------------
# The same numbers?


@torch.no_grad()
def compare(
    page: Page,
    name: str,
    contender: Contender,
    found: Figures,
    model: GPT2,
    prompts: Tensor,
    *,
    quick: bool,
) -> None:
    """Largest differences to PyTorch, and how many greedy texts are the same."""
    inside = name == "Crane"  # its worker records
    layers = range(model.config.n_layer if inside else 0)
    paths = [f"transformer.h.{n}.attn.weights" for n in layers]
    idx = prompts[:1]
    loss = above_the_floor(page, 3 if quick else 300) if inside else None
    with trace(model) as t:
        logits, _ = model(idx, last_only=not inside)
    off = [
        (torch.tensor(values) - tensor.flatten()).abs().max().item()
        for values, tensor in zip(
            page.ask("numbers", idx[0].tolist(), paths),
            [logits, *(t[path] for path in paths)],
            strict=True,
        )
    ]
    new = 20
    texts = generate(model, prompts, new, temperature=0)[:, PROMPT:].tolist()
    answers = [page.ask("write", prompt, new - 1) for prompt in prompts.tolist()]
    if inside and set(answers[0]["recorded"]) != set(t.names) - {"idx"}:
        raise SystemExit("what was recorded in the page is not what is recorded in Python")
    same = sum(text == answer["ids"] for text, answer in zip(texts, answers, strict=True))
    if contender == THEIRS and off[0] > 1e-4:
        raise SystemExit(f"{THEIRS.name} computes something else: its logits are {off[0]:.1e} off")
    found.differences[f"{name}, {contender.name}"] = {
        "logits": off[0],
        "standard deviation of the logits": logits.std().item(),
        **({"attention weights": max(off[1:]), "nats above the floor": loss} if inside else {}),
        f"greedy texts of {new} tokens": len(texts),
        "the same": same,
    }


def above_the_floor(page: Page, n: int) -> float:
    """Nats a token of Crane's model on n stories, less those of Crane World itself."""
    encoding = load_tokenizer("crane")
    end = encoding.eot_token
    texts = [story(seed) for seed in random_seeds(n, 7)]
    loss = page.ask("loss", [[end, *encoding.encode(text), end] for text in texts])
    return loss - statistics.fmean(nats for text in texts for nats in surprisals(text))


def random_model(config: GPT2Config) -> GPT2:
    """Biases and LayerNorms are random too: a forgotten one would be seen."""
    model = contenders.ours(config, CPU)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 1:
                parameter += 0.1 * torch.randn_like(parameter)
    return model


# ---------------------------------------------------------------------------------------------


def onnx_graph(config: GPT2Config, weights: Path) -> bytes | None:
    """What onnxruntime-web runs, or None with a sentence where it is not installed."""
    try:
        from benchmarks.onnx_graph import make_graph
    except ModuleNotFoundError:
        print("onnx is not installed (pip install onnx): these are our figures alone.")
        return None
    if not ORT.is_dir():
        print("onnxruntime-web is not installed (npm ci in its folder): our figures alone.")
        return None
    return make_graph(config, weights)


def downloads() -> dict[str, dict[str, int]]:
    """Bytes that a page fetches before any weights, as they are and compressed."""
    parts = {"ours": [ROOT / "gpt2_edu" / "exhibits" / "static" / "gpt2.js"]}
    if ORT.is_dir():
        parts[THEIRS.name] = [ORT / "dist" / name for name in ORT_FILES]
    sizes = {}
    for name, paths in parts.items():
        files = [path.read_bytes() for path in paths]
        packed = sum(len(gzip.compress(content)) for content in files)
        sizes[name] = {"bytes": sum(map(len, files)), "gzip": packed}
    return sizes


def main(argv: list[str] | None = None) -> None:
    options = parser(__doc__, device="cpu").parse_args(argv)
    torch.set_num_threads(1)  # as a page has it
    quick = options.quick
    config = contenders.size(quick)
    name = "tiny" if quick else f"{flops.num_parameters(config) / 1e6:.0f}M"
    large, crane = random_model(config), GPT2.from_pretrained("crane").eval()
    started = torch.full((2 if quick else 20, 1), 1023)
    stories = generate(crane, started, PROMPT - 1, generator=torch.Generator().manual_seed(0))
    texts = random_ids(1 if quick else 20, PROMPT, config.vocab_size, CPU)
    found = Figures()
    read: list[float] = []

    with (
        tempfile.TemporaryDirectory() as temporary,
        chromium.served(ROOT, {FILES: files_script("crane")}) as address,
        chromium.starter(sys.exit) as launch,
    ):
        folder = Path(temporary) / "model"
        large.save_pretrained(folder)
        graph = onnx_graph(config, folder / "model.safetensors")
        if graph:
            (folder / "graph.onnx").write_bytes(graph)
        files = sorted(folder.iterdir())
        rivals = [OURS, INT4] if quick else [OURS, HALF, INT8, INT4]
        rivals += [THEIRS] if graph else []
        start = f"{address}/benchmarks/in_page/page.html"
        for turn in range(rounds(options)):
            read.append(matrix_vector_rate(CPU, torch.float32, (512, 64) if quick else None))
            for contender in (OURS, INT4) if quick else (OURS, PLAIN, HALF, INT8, INT4):
                with chromium.page_of_its_own(launch, start) as page:
                    small_turn(page, contender, found, 1 if quick else 5)
                    if turn == 0:
                        compare(page, "Crane", contender, found, crane, stories, quick=quick)
            for contender in rivals:
                with chromium.page_of_its_own(launch, start) as page:
                    large_turn(page, name, contender, found, files)
                    if turn == 0:
                        compare(page, name, contender, found, large, texts, quick=quick)
                    version = page.page.context.browser.version
            for contender in (INT8, INT4):
                with chromium.page_of_its_own(launch, start) as page:
                    second_visit(page, name, contender, found, files)

    settings = {"chromium": version, "prompt": PROMPT, "new_tokens": NEW}
    if graph:
        settings[THEIRS.name] = json.loads((ORT / "package.json").read_text())["version"]
    report = Report("in_page", CPU, settings)
    report.rates = {"matrix-vector float32 bytes/s, one thread": statistics.median(read)}
    report.rows = found.table()
    for contender in rivals:
        for task in ("a token", "a token, CPU time"):
            weights = flops.num_parameters(config) * contender.bytes_per_weight
            found.rows[f"{name}: {task}", contender.name].limit = weights / statistics.median(read)
    report.extra = {
        "differences": found.differences,
        "long": found.long,
        "download": downloads(),
        "memory of an empty page": statistics.median(found.empty),
    }
    for about, numbers in found.differences.items():
        print(f"{about}: " + ", ".join(f"{key} {short(value)}" for key, value in numbers.items()))
    print("Kept the page busy for more than 50 ms: " + ("; ".join(found.long) or "nothing"))
    report.finish(options.json)


if __name__ == "__main__":
    main()
