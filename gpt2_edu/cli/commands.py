"""The command line: ``gpt2-edu prepare | train | generate | tokenize | inspect | export | …``.

A command is a dataclass of its options and a function that takes one. The options of the command
line are made from the fields: the name, the type, the default and a word of help stand there
once. An option that does not exist is an error, and so is a shortened one.
"""

from __future__ import annotations

import argparse
import os
import sys
import types
from collections.abc import Callable, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import torch

from .. import __version__, flops
from ..analysis import evals
from ..config import PRESETS, GPT2Config
from ..data.prepare import PrepareConfig
from ..data.prepare import prepare as run_prepare
from ..generation import stream
from ..machine.device import named_device, pick_device, pick_precision
from ..model import GPT2
from ..packed import pack
from ..tape import trace
from ..tokenizer import load_tokenizer, stream_text, tokenizer_name
from ..training.checkpoint import best_checkpoint, checkpoints, newest_checkpoint
from ..training.config import TrainConfig, read_train_config
from ..training.recipes import train_crane
from ..training.trainer import Trainer
from ..weights.pretrained import locate, read_config
from .bench import bench as run_bench
from .doctor import findings


def _help(text: str, default: Any = MISSING) -> Any:
    """A field of options: what it means, and its value where none is given."""
    return field(default=default, metadata={"help": text})


# ---------------------------------------------------------------------------------------------
# The commands.


def prepare(config: PrepareConfig) -> None:
    """Turn text files, folders, JSONL, Parquet or a named dataset into token shards."""
    header = run_prepare(config)
    for split in ("train", "val"):
        print(f"{split:6}{header.tokens(split):>16,} tokens")
    print(f"in {config.out}. Train on it: gpt2-edu train --data {config.out} --out runs/first")


def train(config: TrainConfig) -> None:
    """Train a model on token shards, on one device or, under torchrun, on many."""
    done = Trainer(config).train()
    if config.quiet or int(os.environ.get("RANK", "0")) or not done.finished:
        return
    best = done.best_checkpoint or done.checkpoint
    loss = "" if done.best_val_loss is None else f", validation loss {done.best_val_loss:.4f}"
    print(f"{done.step} steps in {done.seconds:,.0f} s{loss}. The best weights: {best}")
    print(f'Let it write: gpt2-edu generate "Once" --model {config.out}')


def train_config(**given: Any) -> TrainConfig:
    """The settings of a run; one that is resumed keeps those that it began with."""
    if given.get("resume") and "out" in given:
        return replace(read_train_config(given["out"]), **given)
    return TrainConfig(**given)


@dataclass(frozen=True, kw_only=True)
class GenerateOptions:
    """What to continue, with which model, and how to draw."""

    prompt: str = _help('the text to continue; "-" reads it from standard input')
    model: str = _help(
        "a published size, a run folder, or a folder with config.json and weights", "gpt2"
    )
    tokenizer: str | None = _help(
        "the tokenizer that the model was trained with; if not given, the one of its size", None
    )
    max_new_tokens: int = _help("the most tokens to add; the prompt does not count", 100)
    samples: int = _help("how many continuations", 1)
    temperature: float = _help("below 1 is safer, above 1 wilder, 0 takes the likeliest", 1.0)
    top_k: int | None = _help("draw from the k likeliest tokens only", 50)
    top_p: float | None = _help("draw from the likeliest tokens that together reach p", None)
    seed: int | None = _help("the same seed, the same text on the same machine", None)
    stop: bool = _help("stop at <|endoftext|>", True)
    overflow: Literal["raise", "crop"] = _help(
        "past the model's window: refuse, or forget the oldest tokens", "raise"
    )
    cache: bool = _help("keep keys and values; without it each token costs a full pass", True)
    compile: bool = _help("compile the step on a CUDA device: slow at first, then faster", False)
    device: str = _help("auto, cpu, cuda, cuda:1, mps …", "auto")
    precision: Literal["auto", "float32", "bf16", "fp16"] = _help(
        "type of the weights; auto: the fastest of the device", "auto"
    )


def generate(options: GenerateOptions) -> None:
    """Continue a text. One sample is shown as it comes."""
    if options.samples < 1:
        raise ValueError(f"--samples must be at least 1, got {options.samples}")
    device = _device(options.device)
    text = sys.stdin.read() if options.prompt == "-" else options.prompt
    model = GPT2.from_pretrained(_model_folder(options.model))
    tokenizer = load_tokenizer(options.tokenizer or tokenizer_name(model.config.vocab_size))
    ids = tokenizer.encode_ordinary(text) or [tokenizer.eot_token]  # an empty prompt: a new text
    if model.config.vocab_size != tokenizer.n_vocab:
        raise ValueError(
            f"the model {options.model!r} has {model.config.vocab_size:,} tokens, the tokenizer "
            f"{tokenizer.name!r} {tokenizer.n_vocab:,}: name the model's own with --tokenizer"
        )
    fast = pack(model.to(device), pick_precision(options.precision, device))
    generator = None
    if options.seed is not None:
        generator = torch.Generator(device).manual_seed(options.seed)
    new = stream(
        fast,
        torch.tensor([ids] * options.samples, device=device),
        options.max_new_tokens,
        temperature=options.temperature,
        top_k=options.top_k,
        top_p=options.top_p,
        eos_id=tokenizer.eot_token if options.stop else None,
        generator=generator,
        use_cache=options.cache,
        overflow=options.overflow,
        compile=options.compile,
    )
    if options.samples == 1:
        texts = (int(ids) for ids in new)
        shown = (i for i in texts if not (options.stop and i == tokenizer.eot_token))
        pieces = stream_text(tokenizer, shown)
        print(text + next(pieces), end="", flush=True)  # what is refused is refused before this
        for piece in pieces:
            print(piece, end="", flush=True)
        print()
        return
    columns = list(new)
    for sample in range(options.samples):
        drawn = [int(column[sample]) for column in columns]
        if options.stop and tokenizer.eot_token in drawn:
            drawn = drawn[: drawn.index(tokenizer.eot_token)]
        print(f"--- {sample + 1}\n{text}{tokenizer.decode(drawn)}")


@dataclass(frozen=True, kw_only=True)
class TokenizeOptions:
    """What to cut into tokens."""

    text: str = _help('the text; "-" reads it from standard input')
    tokenizer: str = _help("name of the tokenizer", "gpt2")
    decode: bool = _help("the text is a list of ids: turn them into text", False)
    ids: bool = _help("print the ids alone, on one line", False)


def tokenize(options: TokenizeOptions) -> None:
    """Show how a text is cut into tokens, or turn ids into text."""
    tokenizer = load_tokenizer(options.tokenizer)
    text = sys.stdin.read() if options.text == "-" else options.text
    if options.decode:
        words = text.replace(",", " ").split()
        wrong = [word for word in words if not word.isdecimal() or int(word) >= tokenizer.n_vocab]
        if wrong:
            raise ValueError(
                f"{wrong[0]!r} is no id of {tokenizer.name!r}: ids are whole numbers from 0 to "
                f"{tokenizer.n_vocab - 1:,}"
            )
        print(tokenizer.decode([int(word) for word in words]))
        return
    ids = tokenizer.encode_ordinary(text)
    if options.ids:
        print(*ids)
        return
    for i in ids:
        piece = tokenizer.decode_single_token_bytes(i)
        try:
            shown = repr(piece.decode())
        except UnicodeDecodeError:  # part of a character
            shown = repr(piece)
        print(f"{i:>6}  {shown}")
    print(f"{len(ids)} tokens, {len(text)} characters, {len(text.encode())} bytes")


@dataclass(frozen=True, kw_only=True)
class InspectOptions:
    """What to look at."""

    model: str = _help(
        "a published size, a run folder, or a folder with config.json and weights", "gpt2"
    )
    text: str = _help("trace this text and print the shape of every tensor; needs weights", "")
    tokenizer: str | None = _help("the tokenizer for --text; if not given, the model's", None)
    batch_size: int = _help("sequences in a training step, for its memory", 8)


def inspect(options: InspectOptions) -> None:
    """Print a model's sizes, parameters, cost and, for a text, its shape ledger."""
    known = options.model in PRESETS and not Path(options.model).is_dir()
    if known and not options.text:
        config = PRESETS[options.model]  # its sizes are known without its weights
    elif known or options.text:
        config = GPT2.from_pretrained(_model_folder(options.model)).config
    else:
        config = read_config(locate(_model_folder(options.model)) / "config.json")
    for name, value in asdict(config).items():
        print(f"{name:22}{value:>16}")
    print()
    for part, count in flops.parameters_by_part(config).items():
        print(f"{'parameters, ' + part:22}{count:>16,}")
    print(f"{'parameters, all':22}{flops.num_parameters(config):>16,}\n")
    T = config.block_size
    per_token = flops.flops_per_token(config, T)
    print(f"FLOPs to train on a token, at T = {T}: {per_token:,}")
    memory = flops.memory(config, options.batch_size, T)
    print(f"memory to train in float32, batch {options.batch_size}: {memory.total / 2**30:.2f} GiB")
    cache = flops.cache_bytes_per_token(config, "bfloat16")
    print(f"cache in bfloat16, a token of one text: {cache:,} bytes")
    if options.text:
        model = GPT2.from_pretrained(_model_folder(options.model))
        name = options.tokenizer or tokenizer_name(model.config.vocab_size)
        ids = load_tokenizer(name).encode_ordinary(options.text)
        with trace(model) as tape, torch.no_grad():
            model(torch.tensor([ids]))
        print(f"\n{tape.ledger()}")


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """Which weights to write where."""

    run: str = _help("a run folder of gpt2-edu train, or one of its checkpoints")
    out: str = _help("folder to write: new or empty")
    which: Literal["best", "last"] = _help("of a run folder: which checkpoint", "best")
    dtype: Literal["float32", "float16", "bfloat16"] = _help(
        "type of the stored weights", "float32"
    )


def export(options: ExportOptions) -> None:
    """Write a trained model as a folder that transformers and from_pretrained load."""
    out = Path(options.out).expanduser()
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ValueError(f"{out} is not an empty folder: name a new one with --out")
    source = _model_folder(options.run, options.which)
    model = GPT2.from_pretrained(source).to(getattr(torch, options.dtype))
    model.save_pretrained(out)
    print(f"{source} → {out}, {model.num_parameters():,} parameters in {options.dtype}")


@dataclass(frozen=True, kw_only=True)
class CraneOptions:
    """Which run, and where."""

    out: str = _help("folder for the stories and the run: new or empty")
    recipe: Literal["laptop", "shipped"] = _help(
        "some three minutes on two cores, or the model that ships with this package", "laptop"
    )
    seed: int = _help("number from which weights and order of the stories follow", 0)
    device: str = _help("auto, cpu, cuda, cuda:1 or mps", "auto")
    samples: int = _help("stories that the trained model writes for its marks; 0: no marks", 300)
    quiet: bool = _help("show no progress bar and no samples", False)


def crane(options: CraneOptions) -> None:
    """Train a model on Crane World from nothing, and mark what it writes."""
    if options.samples < 0:
        raise ValueError(f"--samples must be at least 0, got {options.samples}")
    done = train_crane(
        options.recipe, options.out, seed=options.seed, device=options.device, quiet=options.quiet
    )
    print(f"{done.step} steps in {done.seconds:,.0f} s. The weights: {done.checkpoint}")
    if options.samples and done.finished:
        model, tokenizer = GPT2.from_pretrained(done.checkpoint), load_tokenizer("crane")
        print(evals.validation(model, tokenizer, max(options.samples, 2)))
        print(evals.grade(evals.sample_stories(model, tokenizer, options.samples)))
        safer = evals.sample_stories(model, tokenizer, options.samples, top_p=0.99)
        share = evals.grade(safer).stories.share
        print(f"Without the least likely hundredth of each guess (top_p=0.99): {share:.1%}")
    print(f'Let it write: gpt2-edu generate "A crane" --model {options.out}/run')


@dataclass(frozen=True, kw_only=True)
class BenchOptions:
    """What to measure."""

    preset: str = _help("the size to measure, with random weights", "gpt2")
    batch_size: int = _help("texts at once, generating and training", 1)
    prompt: int = _help("tokens in the prompt", 32)
    new_tokens: int = _help("tokens to generate", 128)
    block_size: int = _help("tokens of each text in a training step", 128)
    rounds: int = _help("repetitions; the median counts", 3)
    compile: bool = _help("compile", False)
    device: str = _help("auto, cpu, cuda …", "auto")
    precision: Literal["auto", "float32", "bf16", "fp16"] = _help("type of the products", "auto")


def bench(options: BenchOptions) -> None:
    """Measure tokens/s, utilisation and the share of this machine's bandwidth."""
    device = _device(options.device)
    print(options.preset, end=": ")
    run_bench(
        GPT2Config.preset(options.preset),
        device=device,
        dtype=pick_precision(options.precision, device),
        batch_size=options.batch_size,
        prompt=options.prompt,
        new_tokens=options.new_tokens,
        block_size=options.block_size,
        rounds=options.rounds,
        compile=options.compile,
    )


@dataclass(frozen=True, kw_only=True)
class DoctorOptions:
    """Nothing to choose."""


def doctor(options: DoctorOptions) -> None:
    """Print versions, device, fast paths and caches, and what to do about what is missing."""
    advice = []
    for finding in findings():
        print(f"{finding.what:26}{finding.found}")
        if finding.advice:
            advice.append(f"- {finding.what}: {finding.advice}")
    print("\nWhat could be better:\n" + "\n".join(advice) if advice else "\nNothing is missing.")


# ---------------------------------------------------------------------------------------------
# From dataclasses to options.


@dataclass(frozen=True)
class Command:
    """A function, the dataclass of its options, and examples for --help."""

    run: Callable[[Any], None]
    options: Any
    examples: Sequence[str]
    positional: Sequence[str] = ()
    make: Callable[..., Any] | None = None  # the options from what was given, if not by itself


COMMANDS = {
    "prepare": Command(
        prepare,
        PrepareConfig,
        (
            "gpt2-edu prepare shakespeare.txt --out data/shakespeare",
            "gpt2-edu prepare books/ more.jsonl --text-field body --out data/books",
            "gpt2-edu prepare dataset:roneneldan/TinyStories --out data/stories",
        ),
        positional=("sources",),
    ),
    "train": Command(
        train,
        TrainConfig,
        (
            "gpt2-edu train --data data/shakespeare --out runs/first --n-layer 6 --n-head 6 "
            "--n-embd 192 --block-size 128 --batch-size 16 --steps 2000",
            "gpt2-edu train --out runs/first --resume",
            "gpt2-edu train --data data/shakespeare --out runs/tuned --init-from gpt2 --lr 3e-5 "
            "--min-lr 3e-6",
            "torchrun --nproc-per-node=8 -m gpt2_edu train --data data/books --out runs/large",
        ),
        make=train_config,
    ),
    "generate": Command(
        generate,
        GenerateOptions,
        (
            'gpt2-edu generate "A crane"',
            'gpt2-edu generate "By the river, the crane" --model crane',
            'gpt2-edu generate "A crane" --model runs/first --seed 42',
            "gpt2-edu generate - --samples 5 --top-p 0.9 < prompt.txt",
        ),
        positional=("prompt",),
    ),
    "tokenize": Command(
        tokenize,
        TokenizeOptions,
        (
            'gpt2-edu tokenize "A crane ate fish"',
            "gpt2-edu tokenize - --ids < story.txt",
            'gpt2-edu tokenize --decode "32 41175 15063 5916"',
        ),
        positional=("text",),
    ),
    "inspect": Command(
        inspect,
        InspectOptions,
        (
            "gpt2-edu inspect gpt2-xl",
            'gpt2-edu inspect runs/first --text "A crane ate fish"',
        ),
        positional=("model",),
    ),
    "export": Command(
        export,
        ExportOptions,
        ("gpt2-edu export runs/first --out my-gpt2 --dtype float16",),
        positional=("run",),
    ),
    "crane": Command(
        crane,
        CraneOptions,
        (
            "gpt2-edu crane --out runs/laptop",
            "gpt2-edu crane --out runs/crane --recipe shipped",
        ),
    ),
    "bench": Command(
        bench,
        BenchOptions,
        ("gpt2-edu bench", "gpt2-edu bench --preset gpt2-medium --batch-size 64 --compile"),
    ),
    "doctor": Command(doctor, DoctorOptions, ("gpt2-edu doctor",)),
}


def add_options(parser: argparse.ArgumentParser, options: Any, positional: Sequence[str]) -> None:
    """One option for each field of a dataclass: ``n_layer`` is ``--n-layer``."""
    hints = get_type_hints(options)
    for f in fields(options):
        kind, many = _kind(hints[f.name])
        # What is not given is left to the dataclass: its defaults are not repeated here.
        settings: dict[str, Any] = {"default": argparse.SUPPRESS}
        settings["help"] = f.metadata["help"].replace("%", "%%")
        if f.default not in (MISSING, None, ""):
            shown = ("off", "on")[f.default] if kind is bool else f.default
            settings["help"] += f" (default: {shown})"
        if get_origin(kind) is Literal:
            settings |= {"choices": get_args(kind)}
        elif kind is bool:
            settings |= {"action": argparse.BooleanOptionalAction}
        else:
            settings |= {"type": kind}
        if many:
            settings["nargs"] = many
        if f.name in positional:
            if f.default is not MISSING:
                settings["nargs"] = "?"
            parser.add_argument(f.name, **settings)
        else:
            settings["required"] = f.default is MISSING
            if kind is not bool:
                settings["metavar"] = settings.get("choices") and "|".join(settings["choices"])
            parser.add_argument("--" + f.name.replace("_", "-"), **settings)


def _kind(hint: Any) -> tuple[Any, str | int | None]:
    """The type of one value, and how many of them: (int, None), (str, "+") or (float, 2)."""
    if get_origin(hint) in (Union, types.UnionType):  # X | None
        hint = next(kind for kind in get_args(hint) if kind is not type(None))
    if get_origin(hint) is tuple:
        inner = get_args(hint)
        return inner[0], "+" if inner[-1] is Ellipsis else len(inner)
    return hint, None


def build_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="gpt2-edu",
        description="GPT-2, built to be read: prepare text, train, generate, look inside.",
        epilog="Each command has its own --help with examples.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"gpt2-edu {__version__}")
    parser.add_argument("--traceback", action="store_true", help="show where an error comes from")
    below = parser.add_subparsers(dest="command", metavar="command", required=True)
    for name, command in COMMANDS.items():
        summary = (command.run.__doc__ or "").splitlines()[0]
        sub = below.add_parser(
            name,
            help=summary,
            description=summary,
            epilog="examples:\n" + "\n".join(f"  {line}" for line in command.examples),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        add_options(sub, command.options, command.positional)
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    """Run one command. What the user can put right is said in a sentence; the exit status is 1."""
    given = vars(build_parser().parse_args(argv))
    name, traceback = given.pop("command"), given.pop("traceback")
    command = COMMANDS[name]
    try:
        values = {k: tuple(v) if isinstance(v, list) else v for k, v in given.items()}
        command.run((command.make or command.options)(**values))
    except KeyboardInterrupt:
        print(f"\ngpt2-edu {name}: stopped", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # as in `gpt2-edu tokenize … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except (ValueError, TypeError, OSError, ArithmeticError, RuntimeError, ImportError) as error:
        if traceback:
            raise
        print(f"gpt2-edu {name}: {error}", file=sys.stderr)
        sys.exit(1)


def _model_folder(name: str, which: Literal["best", "last"] = "best") -> str:
    """A run folder stands for one of its checkpoints; every other name for itself."""
    run = Path(name).expanduser()
    if not (run / "checkpoints").is_dir():
        return name
    best = best_checkpoint(run) if which == "best" and checkpoints(run) else None
    found = best or newest_checkpoint(run)  # without validation none is the best
    if found is None:
        raise FileNotFoundError(f"the run {run} has no checkpoint yet")
    return str(found)


def _device(name: str) -> torch.device:
    """A device by its name; "auto" is the fastest here."""
    return pick_device() if name == "auto" else named_device(name)
