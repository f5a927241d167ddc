"""``gpt2-edu generate``: continue a text, or answer a question."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from .. import fast, flops
from ..checkpoints import checkpoints
from ..config import GPT2Config, LlamaConfig
from ..crane.constraint import Constraint
from ..generation import Choice, stream
from ..llama import Llama
from ..machine.device import available_memory, named_device, pick_precision
from ..machine.files import named_path
from ..machine.messages import escape_control, join_some, short_repr
from ..machine.options import option
from ..model import GPT2
from ..models import check_vocabulary, load_model, load_model_tokenizer, read_any_config
from ..sampling import sample_next
from ..thought.speculative import Drafted, drafting
from ..tokenizer import RANKS, Encoding, load_encoding, stream_text, until
from ..tuning import load_adapter, merge, prompt, with_roles
from ..tuning.messages import has_roles
from ..tuning.peft_files import adapter_folder
from ..weights import locate
from . import command, standard_input

NEW_TOKENS = 100
MOST_SAMPLES = 10_000  # at once: the cache of one text takes megabytes


@dataclass(frozen=True, kw_only=True)
class GenerateOptions:
    """What to continue, with which model, and how to draw."""

    prompt: str | None = option('the text to continue; "-" reads it from standard input', None)
    ask: str | None = option(
        "in place of a text: a question to a model that was tuned on conversations", None
    )
    model: str = option(
        "gpt2 … gpt2-xl, crane, a run folder, one with config.json and weights, or on the hub "
        "owner/name or owner/name@revision",
        "gpt2",
    )
    adapter: str | None = option(
        "a LoRA adapter to add to the model: its folder, or ask, for crane", None
    )
    draft: str | None = option(
        "a smaller model with the same tokenizer, which drafts what the model checks; the text has "
        "the model's distribution all the same",
        None,
    )
    tokenizer: str | None = option(
        "another tokenizer than the model's own: a name, or a file of ranks", None
    )
    max_new_tokens: int | None = option(
        f"the most tokens to add, without the prompt (default: {NEW_TOKENS}, or what fits)", None
    )
    samples: int = option("how many continuations", 1)
    temperature: float = option("below 1 is safer, above 1 wilder, 0 takes the likeliest", 1.0)
    top_k: int | None = option("draw from the k likeliest tokens only", 50)
    top_p: float | None = option("draw from the likeliest tokens that together reach p", None)
    min_p: float | None = option("draw only from tokens with this share of the likeliest", None)
    repetition_penalty: float = option("above 1 makes tokens of the text so far less likely", 1.0)
    seed: int | None = option("the same seed, the same text on the same machine", None)
    stop: bool = option("stop at <|endoftext|>", True)
    stop_at: tuple[str, ...] = option('end a text before any of these strings, such as "."', ())
    grammar: bool = option("write only what the grammar of Crane World allows", False)
    overflow: Literal["raise", "crop"] = option(
        "past the model's window: refuse, or forget the oldest tokens", "raise"
    )
    cache: bool = option("keep keys and values; without it each token costs a full pass", True)
    fast: bool = option("pack the weights where that pays; off: the plain model, float32", True)
    compile: bool = option("compile the step of one token: half a minute, then faster", False)
    device: str = option("auto, cpu, cuda, cuda:1, mps …", "auto")
    precision: Literal["auto", "float32", "bf16", "fp16"] = option(
        "type of the packed weights; auto: the fastest of the device", "auto"
    )


@command(
    'gpt2-edu generate "A crane"',
    'gpt2-edu generate "By the river, the crane" --model crane',
    'gpt2-edu generate "A crane" --model runs/first --seed 42',
    "gpt2-edu generate - --samples 5 --top-p 0.9 < prompt.txt",
    'gpt2-edu generate "A crane" --temperature 1.5 --min-p 0.1 --stop-at "." "!"',
    'gpt2-edu generate "By the river, the crane" --model crane --grammar',
    'gpt2-edu generate "A crane" --model HuggingFaceTB/SmolLM2-135M',
    'gpt2-edu generate "By the river, the crane" --model crane --draft draft',
    'gpt2-edu generate --ask "Who found the map?" --model runs/ask --temperature 0',
    positional="prompt",
)
def generate(options: GenerateOptions) -> None:
    """Continue a text, or answer a question. One sample is shown as it is generated."""
    device, dtype = checked(options)
    text = options.prompt if options.ask is None else options.ask
    text = standard_input() if text == "-" else text or ""
    model, tokenizer = load(options.model, options.tokenizer, options.adapter)
    ids = tokenizer.encode_ordinary(text) or [tokenizer.eot_token]  # an empty prompt: a new text
    if options.ask is not None:
        ids = prompt([{"role": "user", "content": text.strip()}], tokenizer)
        text = ""  # only the answer is shown
    n, fewer = new_tokens(options, len(ids), model.config.block_size)
    length = max(1, min(len(ids) + n, model.config.block_size))
    if options.cache:
        check_memory(model.config, options.samples, length, dtype, device)
    model, predict, note = accelerate(model.to(device), options, dtype, length)
    knobs: dict[str, Any] = {
        "temperature": options.temperature,
        "top_k": options.top_k,
        "top_p": options.top_p,
        "min_p": options.min_p,
    }
    if options.seed is not None:
        knobs["generator"] = torch.Generator(device).manual_seed(options.seed)
    if options.grammar:
        choose = partial(sample_next, **knobs)
        knobs = {"choose": Constraint(tokenizer, [text] * options.samples, choose)}
    elif tokenizer.n_vocab < model.config.vocab_size and options.draft is not None:
        raise ValueError("--draft is for models all of whose rows are tokens: leave it out")
    elif tokenizer.n_vocab < model.config.vocab_size:  # rows that no token uses are not drawn
        drawn_from: Choice = partial(sample_next, **knobs)
        knobs = {"choose": lambda logits: drawn_from(logits[:, : tokenizer.n_vocab])}
    eos_id = tokenizer.eot_token if options.stop else None
    idx = torch.tensor([ids] * options.samples, device=device)
    rounds: list[Drafted] = []
    if options.draft is not None:
        columns = from_draft(model, options.draft, idx, n, rounds, eos_id=eos_id, **knobs)
    else:
        columns = stream(
            model,
            idx,
            n,
            repetition_penalty=options.repetition_penalty,
            eos_id=eos_id,
            use_cache=options.cache,
            overflow=options.overflow,
            predict=predict,
            **knobs,
        )
    for line in filter(None, (fewer, note)):
        print(line, file=sys.stderr)
    if options.samples == 1:
        new = stream_text(tokenizer, (i for i in map(int, columns) if i != eos_id))
        pieces = until(new, options.stop_at)
        first = text + next(pieces)  # stream has checked its arguments by now
        show(first if options.ask is None else first.lstrip())
        for piece in pieces:
            show(piece)
        print()
        if rounds:
            last = rounds[-1]
            kept = f"{last.accepted} of {last.drafted} drafted ones were kept"
            new_ids = last.idx.size(1) - len(ids)
            print(f"{new_ids} tokens in {last.rounds} passes: {kept}", file=sys.stderr)
        return
    drawn = [column.tolist() for column in columns]  # one list for each step
    for sample in range(options.samples):
        new = stream_text(tokenizer, (ids[sample] for ids in drawn if ids[sample] != eos_id))
        written = text + "".join(until(new, options.stop_at))
        show(f"--- {sample + 1}\n{written if options.ask is None else written.lstrip()}\n")


def from_draft(
    model: GPT2 | Llama, name: str, idx: Tensor, n: int, rounds: list[Drafted], **knobs: Any
) -> Iterator[Tensor]:
    """Yield the ids (1,) of each new token, which a smaller model drafts; ``rounds`` says how."""
    draft, T = load_model(name).to(model.device), idx.size(1)
    for found in drafting(model, draft, idx, n, **knobs):
        rounds.append(found)
        yield from found.idx[0, T:].split(1)
        T = found.idx.size(1)


def checked(options: GenerateOptions) -> tuple[torch.device, torch.dtype]:
    """The device and the type that they name; raises ValueError for what does not go together."""
    if (options.prompt is None) == (options.ask is None):
        raise ValueError("give a text to continue, or a question with --ask; not both")
    if options.grammar and options.ask is not None:
        raise ValueError("--grammar is for stories: leave out --ask")
    if not 1 <= options.samples <= MOST_SAMPLES:
        raise ValueError(f"--samples must lie in 1 … {MOST_SAMPLES:,}, got {options.samples}")
    if options.seed is not None and not 0 <= options.seed < 2**63:
        raise ValueError(f"--seed must lie in 0 … 2^63 - 1, got {short_repr(options.seed)}")
    if options.compile and not options.cache:
        raise ValueError("--compile is for generation with a cache: leave out --no-cache")
    if options.grammar and not options.stop:
        raise ValueError("--grammar ends with the story: leave out --no-stop")
    if not options.fast and options.precision in ("bf16", "fp16"):
        raise ValueError(f"--no-fast is in float32: leave out --precision {options.precision}")
    if options.draft is not None:
        refused = {
            "--samples": options.samples > 1,
            "--grammar": options.grammar,
            "--repetition-penalty": options.repetition_penalty != 1,
            "--overflow crop": options.overflow == "crop",
            "--compile": options.compile,
            "--no-cache": not options.cache,
        }
        if given := [name for name, is_given in refused.items() if is_given]:
            raise ValueError(f"--draft is for one plain text: leave out {join_some(given)}")
    device = named_device(options.device)
    dtype = pick_precision(options.precision, device)
    return device, dtype if options.fast else torch.float32


def new_tokens(options: GenerateOptions, T: int, window: int) -> tuple[int, str]:
    """How many tokens to add to T, and a note if they are fewer than usual.

    Raises ValueError if the window cannot hold the number that was asked for.
    """
    asked, most = options.max_new_tokens, window + 1 - T
    if options.overflow == "crop" or (NEW_TOKENS if asked is None else asked) <= most:
        return NEW_TOKENS if asked is None else asked, ""
    longer = "--overflow crop goes on and forgets the oldest tokens"
    if most < 1:
        raise ValueError(
            f"the prompt has {T:,} tokens, but this model sees block_size={window}. Shorten it; "
            f"{longer}"
        )
    if asked is None:
        return most, f"at most {most} new tokens, which fill the window of {window}; {longer}"
    raise ValueError(
        f"{T:,} prompt tokens and {short_repr(asked)} new ones need a window of "
        f"{short_repr(T + asked - 1)}, but this model sees block_size={window}. Ask for at most "
        f"--max-new-tokens {most}; {longer}"
    )


def load(
    name: str, tokenizer_of: str | None, adapter: str | None = None
) -> tuple[GPT2 | Llama, Encoding]:
    """A model and its tokenizer, by default the one that lies beside it, or that of its size.

    An adapter is merged into it. One that was tuned on conversations has a tokenizer with roles.
    """
    folder = chosen_weights(name)
    model = load_model(folder)
    if tokenizer_of is None:
        tokenizer = load_model_tokenizer(folder, model)
    else:
        tokenizer = load_encoding(tokenizer_of)
        check_vocabulary(model, tokenizer)
    if adapter is None:
        return model, tokenizer
    beside = adapter_folder(adapter)
    if (beside / RANKS).is_file() and has_roles(load_encoding(beside)):
        model, tokenizer = with_roles(model, tokenizer)
    return merge(load_adapter(model, beside)), tokenizer


def chosen_weights(name: str, which: Literal["best", "last"] = "best") -> Path:
    """The folder of a model's files. Of a run it says on stderr if they are not the newest."""
    folder, run = locate(name, which, check=read_any_config), named_path(name)
    newest = checkpoints(run)[-1:]
    if newest and newest[0] != folder:
        print(
            f"The weights of {folder.name} have the lowest validation loss of this run. The "
            f"newest: {newest[0]}",
            file=sys.stderr,
        )
    return folder


def accelerate(
    model: GPT2 | Llama, options: GenerateOptions, dtype: torch.dtype, length: int
) -> tuple[GPT2 | Llama, fast.Compiled | None, str]:
    """The model and predictor that --fast and --compile ask for, and a note about them."""
    predict, used, without = None, [], []
    if options.fast:
        rounding = model.rounding
        if rounding and model.device.type == "cpu" and options.precision == "auto":
            dtype = torch.float32  # of the results: the weights are integers
        # On a processor with AMX, packed float32 is slower.
        slower = dtype == torch.float32 and torch.cpu._is_amx_tile_supported() and not rounding
        if slower or (options.compile and not rounding):
            model = model.to(dtype)
        else:
            model = fast.pack(model, dtype, for_compiler=options.compile)
        kind = f"{rounding.bits} bits" if rounding else type_name(dtype)
        if packed(model) or dtype != torch.float32:
            used, without = [f"weights{packed(model)} in {kind}"], ["--no-fast"]
    if options.compile:
        predict = fast.Compiled(model, options.samples, length)
        used, without = [*used, "step compiled"], [*without, "--no-compile"]
    note = f"{', '.join(used)}; {' '.join(without)} runs the plain model in float32"
    return model, predict, note if used else ""


def check_memory(
    config: GPT2Config | LlamaConfig,
    samples: int,
    length: int,
    dtype: torch.dtype,
    device: torch.device,
) -> None:
    """Raise ValueError if weights and cache, for ``length`` tokens a text, exceed free memory."""
    cache_type = torch.float32 if device.type == "cpu" else dtype  # as in LanguageModel.make_cache
    weights = flops.generation_memory(config, samples, length, type_name(dtype)).weights
    cache = flops.generation_memory(config, samples, length, type_name(cache_type)).cache
    free = available_memory(device)
    if free is not None and weights + cache > free:
        raise ValueError(
            f"the cache of {samples:,} texts of up to {length:,} tokens needs "
            f"{cache / 2**30:,.2f} GiB and the weights {weights / 2**30:,.2f}, but the "
            f"{device.type} has {free / 2**30:,.2f} GiB free. Ask for fewer texts at a time, or "
            "fewer tokens"
        )


def packed(model: nn.Module) -> str:
    """The word for a model with packed layers; without oneDNN it has only been cast."""
    return " packed" * any(isinstance(module, fast.Packed) for module in model.modules())


def type_name(dtype: torch.dtype) -> str:
    """The name of a type without torch's."""
    return str(dtype).removeprefix("torch.")


def show(text: str) -> None:
    """Print a text that a model made; a terminal gets its control characters as escapes."""
    print(escape_control(text) if sys.stdout.isatty() else text, end="", flush=True)
