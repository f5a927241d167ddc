"""Learning from a reward: write texts, mark them, make the better ones likelier.

The book's chapter on reward explains it line by line. A reward is any function from a text to a
number; the texts are Crane World's. Letters: B texts of T tokens in G groups, V the vocabulary.

Sources: Williams 1992 (REINFORCE), Schulman et al. 2017 (PPO, which clips), Shao et al. 2024 (GRPO,
whose baseline is the group), Liu et al. 2025 (what its two divisions do).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from threading import Event, Thread

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..generation import generate
from ..language_model import LanguageModel
from ..machine.messages import short_repr
from ..tokenizer import load_tokenizer

Reward = Callable[[str], float]


# ---- Write --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Texts:
    """Texts that a model has written, after the beginnings that it was given."""

    ids: Tensor  # (B, T + 1)
    drawn: Tensor  # (B, T) bool: which of ids[:, 1:] the model drew, up to the first <|endoftext|>

    def __getitem__(self, rows: Tensor | slice) -> Texts:
        return Texts(self.ids[rows], self.drawn[rows])

    def __len__(self) -> int:
        return len(self.ids)


@torch.no_grad()
def write(
    model: LanguageModel, beginnings: Tensor, generator: torch.Generator | None = None
) -> Texts:
    """Continue beginnings (B, S), each to <|endoftext|> or to the end of the window.

    They begin with an <|endoftext|> of their own. Every token is drawn as likely as the model says:
    another temperature would ask about another model.
    """
    end, S = int(beginnings[0, 0]), beginnings.size(1)
    most = model.config.block_size + 1 - S  # the last token needs no position: nothing follows it
    ids = generate(model, beginnings, most, eos_id=end, generator=generator)
    ends = (ids[:, S:] == end).long()
    drawn = ends.cumsum(dim=1) - ends == 0  # no earlier token was an end
    return Texts(ids, F.pad(drawn, (S - 1, 0)))


def decode(texts: Texts) -> list[str]:
    """The texts as the reward sees them; one that the window has cut off ends in an ellipsis."""
    encoding, rows = load_tokenizer("crane"), texts.ids[:, 1:].tolist()
    end = encoding.eot_token
    return [
        encoding.decode(row[: row.index(end)]) if end in row else encoding.decode(row) + " …"
        for row in rows
    ]


# ---- Mark ---------------------------------------------------------------------------------------


def mark(texts: Sequence[str], reward: Reward, seconds: float = 60.0) -> Tensor:
    """The reward of each text, (B,).

    Raises ValueError for a reward that is not finite, RuntimeError if the function raises, and
    TimeoutError if all the texts together take longer than ``seconds``. Each names the text.
    """
    marks: list[float] = []
    failed: list[Exception] = []
    late = Event()

    def judge() -> None:
        try:
            for text in texts:
                if late.is_set():
                    return
                marks.append(float(reward(text)))
        except Exception as error:
            failed.append(error)

    thread = Thread(target=judge, daemon=True)  # one that never returns must not keep Python alive
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        late.set()
        raise TimeoutError(
            f"marking took longer than {seconds:g} seconds: {len(marks)} of {len(texts)} texts are "
            f"marked, and the reward is still busy with {short_repr(texts[len(marks)])}"
        )
    if failed:
        text = short_repr(texts[len(marks)])
        raise RuntimeError(f"the reward failed on {text}: {failed[0]!r}") from failed[0]
    for text, value in zip(texts, marks, strict=True):
        if not math.isfinite(value):
            raise ValueError(f"a reward must be finite, got {value} for {short_repr(text)}")
    return torch.tensor(marks)


def advantages(rewards: Tensor, *, baseline: bool = True, divide: bool = False) -> Tensor:
    """How much better each text is than its group: rewards (G, n) → (G, n).

    The mean of the group is the baseline. As each text is part of its own baseline, the gradient
    is (n - 1) / n of the true one. Without ``baseline`` the rewards are returned as they are: right
    as well in the mean over many groups, but with a larger variance. ``divide`` by the group's
    standard deviation, as GRPO does, and groups that are nearly all right or nearly all wrong
    weigh more than others.
    """
    if not baseline:
        return rewards
    above = rewards - rewards.mean(dim=1, keepdim=True)
    return above / (rewards.std(dim=1, keepdim=True, correction=0) + 1e-6) if divide else above


# ---- Make the better ones likelier --------------------------------------------------------------


def log_probs(model: nn.Module, texts: Texts) -> Tensor:
    """What the model predicts at every position, (B, T, V)."""
    logits, _ = model(texts.ids[:, :-1])
    return logits.log_softmax(dim=-1)


def of_tokens(table: Tensor, texts: Texts) -> Tensor:
    """The log-probabilities of the tokens of the texts, (B, T), from those of all tokens."""
    return table.gather(-1, texts.ids[:, 1:, None])[..., 0]


def entropy(table: Tensor) -> Tensor:
    """The entropy in nats of each prediction: (B, T, V) → (B, T)."""
    return -(table.exp() * table).sum(dim=-1)


def divergence(table: Tensor, start: Tensor) -> Tensor:
    """KL(now, start) in nats of each prediction: (B, T, V) twice → (B, T).

    With a vocabulary of 50,000 or more it is estimated from the drawn token.
    """
    return (table.exp() * (table - start)).sum(dim=-1)


def token_weights(drawn: Tensor, by_length: bool = False) -> Tensor:
    """The weight of each drawn token, (B, T), 1 in all.

    All weigh the same; ``by_length``, as in GRPO, those of a text share 1 / B, so that a mistake
    costs less per token in a long text.
    """
    if by_length:
        return drawn / drawn.sum(dim=1, keepdim=True) / len(drawn)
    return drawn / drawn.sum()


def gain(now: Tensor, old: Tensor, advantage: Tensor, clip: float = 0.2) -> Tensor:
    """What each token contributes to the objective, (B, T); its gradient is what matters.

    ``now`` and ``old`` (B, T) are log-probabilities, old those under which the texts were drawn;
    ``advantage`` is (B,). In the first pass over the texts both are equal, the ratio is 1, and the
    gradient is A · ∇ log p, REINFORCE. In later passes the ratio corrects for texts drawn from an
    older model, and beyond 1 ± clip, where the change has gone far enough, no gradient is left.
    """
    ratio = (now - old).exp()
    A = advantage.unsqueeze(1)
    return torch.minimum(ratio * A, ratio.clamp(1 - clip, 1 + clip) * A)


@dataclass(frozen=True)
class Step:
    """What one step of ``learn`` has seen before its update."""

    texts: list[str]
    rewards: Tensor  # (G, n)
    entropy: float  # nats per drawn token, of the model's own predictions
    divergence: float  # KL from where it started, nats per drawn token
    equal: int  # groups whose rewards are all the same, from which nothing can be learned


def learn(
    model: LanguageModel,
    reward: Reward,
    steps: int,
    *,
    n: int = 64,
    beginnings: Callable[[], Tensor] | None = None,
    spell: Callable[[Texts], list[str]] = decode,
    lr: float = 3e-4,
    rein: float = 0.0,
    bonus: float = 0.0,
    baseline: bool = True,
    divide: bool = False,
    by_length: bool = False,
    passes: int = 1,
    clip: float = 0.2,
    also: Callable[[], Tensor] | None = None,
    seconds: float = 60.0,
    generator: torch.Generator | None = None,
    on_step: Callable[[Step], object] = lambda step: None,
) -> list[Step]:
    """Policy gradients. Each step writes groups of n texts, marks them, and learns from them.

    A group continues one beginning: the rows that ``beginnings`` returns, (G, S), at each step
    another; without it there is one group, whose texts begin with nothing. ``spell`` decodes
    ids of another vocabulary. ``rein`` is the coefficient β of the KL penalty, ``bonus`` that of
    the entropy bonus; ``also`` returns a further loss. See ``advantages``, ``token_weights`` and
    ``gain`` for the others. Where no reward differs from its group's mean, and there is no rein,
    bonus or other loss, the step is skipped with a warning: AdamW's averages would still move the
    weights. Raises what ``mark`` raises; the step in which it does changes nothing.
    """
    start = deepcopy(model).eval().requires_grad_(False)
    nothing = torch.full((1, 1), load_tokenizer("crane").eot_token)
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.0)
    found = []
    for number in range(steps):
        groups = beginnings() if beginnings else nothing
        texts = write(model, groups.repeat_interleave(n, dim=0), generator)
        shown = spell(texts)
        rewards = mark(shown, reward, seconds).view(-1, n)  # (G, n)
        advantage = advantages(rewards, baseline=baseline, divide=divide).flatten()  # (B,)
        equal = (rewards == rewards[:, :1]).all(dim=1)
        table = log_probs(model, texts)  # (B, T, V)
        old = of_tokens(table, texts).detach()  # (B, T)
        with torch.no_grad():
            before = log_probs(start, texts)
            spread = entropy(table)[texts.drawn].mean().item()
            moved = divergence(table, before)[texts.drawn].mean().item()
        idle = bool(equal.all()) and not (rein or bonus or also)
        if idle:
            same = f"step {number}: all rewards of a group are equal, so there is no gradient"
            warnings.warn(same, RuntimeWarning, stacklevel=2)
        weights = token_weights(texts.drawn, by_length)  # (B, T)
        for turn in range(0 if idle else passes):
            if turn:
                table = log_probs(model, texts)
            objective = gain(of_tokens(table, texts), old, advantage, clip)  # (B, T)
            if rein:
                objective = objective - rein * divergence(table, before)
            if bonus:
                objective = objective + bonus * entropy(table)
            loss = -(objective * weights).sum()
            if also:
                loss = loss + also()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        found.append(Step(shown, rewards, spread, moved, int(equal.sum())))
        on_step(found[-1])
    return found
