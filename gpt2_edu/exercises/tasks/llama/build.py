"""The parts of a Llama."""

from typing import Any

import torch
from torch import nn

from .... import llama
from ....config import LlamaConfig
from ....tape import trace
from ...comparing import Labelled
from ...exercise import Case, Mistake
from ...step import fill, numbered, random_tensor

PARTS = ("rotate", "RMSNorm", "SwiGLU", "GroupedSelfAttention", "Llama")
IMPORTS = (
    "import torch",
    "from gpt2_edu import note",
    "from torch import nn",
    "from torch.nn import functional as F",
)

START = """
def rotate(x, positions, base=10_000.0):  # (..., T, D) → (..., T, D)
    ...  # columns i and i + D/2, by positions · base^(-2i/D)


class RMSNorm(nn.Module):
    def __init__(self, n_embd, eps=1e-5):
        super().__init__()
        ...  # eps and weight (γ)

    def forward(self, x):  # (B, T, C) → (B, T, C)
        ...


class SwiGLU(nn.Module):
    def __init__(self, n_embd, n_inner):
        super().__init__()
        ...  # gate_proj, up_proj and down_proj, without biases

    def forward(self, x):  # (B, T, C) → (B, T, C)
        ...


class GroupedSelfAttention(nn.Module):
    def __init__(self, n_embd, n_head, n_kv_head, base=10_000.0):
        super().__init__()
        ...  # q_proj, k_proj, v_proj and o_proj, without biases

    def forward(self, x):  # (B, T, C) → (B, T, C)
        ...  # with your rotate and your attention


class Llama(GPT2):
    def __init__(self, *sizes, n_kv_head, n_inner):  # sizes as of GPT2
        super().__init__(*sizes)
        ...  # vocab_size, _, _, n_head, n_embd = sizes
        ...  # exchange embeddings, ln_f and, in each block, all four parts
        ...  # tie the head again, and draw the new tables and matrices
"""

SOLUTION = """
def rotate(x, positions, base=10_000.0):  # (..., T, D) → (..., T, D)
    D = x.size(-1)
    frequencies = base ** (-torch.arange(0, D, 2, device=x.device) / D)
    angles = positions[:, None] * frequencies  # (T, D/2)
    cos, sin = angles.cos(), angles.sin()
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


class RMSNorm(nn.Module):
    def __init__(self, n_embd, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(n_embd))  # γ

    def forward(self, x):  # (B, T, C) → (B, T, C)
        mean_square = x.square().mean(dim=-1, keepdim=True)
        return self.weight * (x / torch.sqrt(mean_square + self.eps))


class SwiGLU(nn.Module):
    def __init__(self, n_embd, n_inner):
        super().__init__()
        self.gate_proj = nn.Linear(n_embd, n_inner, bias=False)
        self.up_proj = nn.Linear(n_embd, n_inner, bias=False)
        self.down_proj = nn.Linear(n_inner, n_embd, bias=False)

    def forward(self, x):  # (B, T, C) → (B, T, C)
        pre = note("pre", self.gate_proj(x), "B T F")
        act = note("act", F.silu(pre) * self.up_proj(x), "B T F")
        return note("out", self.down_proj(act), "B T C")


class GroupedSelfAttention(nn.Module):
    def __init__(self, n_embd, n_head, n_kv_head, base=10_000.0):
        super().__init__()
        self.n_head, self.n_kv_head, self.base = n_head, n_kv_head, base
        self.head_size = n_embd // n_head
        self.q_proj = nn.Linear(n_embd, n_embd, bias=False)
        self.k_proj = nn.Linear(n_embd, n_kv_head * self.head_size, bias=False)
        self.v_proj = nn.Linear(n_embd, n_kv_head * self.head_size, bias=False)
        self.o_proj = nn.Linear(n_embd, n_embd, bias=False)

    def split_heads(self, x, n):  # (B, T, n · D) → (B, n, T, D)
        return x.view(*x.shape[:2], n, self.head_size).transpose(1, 2)

    def forward(self, x):  # (B, T, C) → (B, T, C)
        q = self.split_heads(self.q_proj(x), self.n_head)
        k = self.split_heads(self.k_proj(x), self.n_kv_head)
        v = self.split_heads(self.v_proj(x), self.n_kv_head)
        positions = torch.arange(x.size(1), device=x.device)
        q = note("q", rotate(q, positions, self.base), "B H T D")
        k = note("k", rotate(k, positions, self.base), "B K T D")
        v = note("v", v, "B K T D")
        readers = self.n_head // self.n_kv_head  # side by side
        k = k.repeat_interleave(readers, dim=1)  # (B, H, T, D)
        v = v.repeat_interleave(readers, dim=1)
        heads = note("heads", attention(q, k, v), "B H T D")
        merged = heads.transpose(1, 2).flatten(start_dim=2)
        return note("out", self.o_proj(merged), "B T C")


class Llama(GPT2):
    def __init__(self, *sizes, n_kv_head, n_inner):  # sizes as of GPT2
        super().__init__(*sizes)
        vocab_size, _, _, n_head, n_embd = sizes
        self.embeddings = nn.Embedding(vocab_size, n_embd)
        for block in self.h:
            block.ln_1 = RMSNorm(n_embd)
            block.attn = GroupedSelfAttention(n_embd, n_head, n_kv_head)
            block.ln_2 = RMSNorm(n_embd)
            block.mlp = SwiGLU(n_embd, n_inner)
        self.ln_f = RMSNorm(n_embd)
        self.lm_head.weight = self.embeddings.weight  # tied
        for parameter in self.parameters():
            if parameter.ndim == 2:  # the table and the matrices
                nn.init.normal_(parameter, std=0.02)
"""

TIE = "        self.lm_head.weight = self.embeddings.weight  # tied\n"
DRAW = SOLUTION[SOLUTION.index("        for parameter in") :].rstrip("\n")

MISTAKES = (
    # ---- rotate
    Mistake(
        "You turn neighbours: column 0 with 1, 2 with 3. The paper pairs them so, but in the files "
        "of the hub column i belongs to i + D/2: `a, b = x.chunk(2, dim=-1)`.",
        ("x.chunk(2, dim=-1)", "x[..., ::2], x[..., 1::2]"),
        (
            "torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)",
            "torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)",
        ),
    ),
    Mistake(
        "You read neighbours, columns 0 and 1, and write the results D/2 apart. Read them so, too: "
        "`a, b = x.chunk(2, dim=-1)`.",
        ("x.chunk(2, dim=-1)", "x[..., ::2], x[..., 1::2]"),
    ),
    Mistake(
        "The arrows turn the other way. The new first column is `a * cos - b * sin`, the second "
        "`a * sin + b * cos`.",
        ("a * cos - b * sin, a * sin + b * cos", "a * cos + b * sin, b * cos - a * sin"),
    ),
    Mistake(
        "This is a mirror image and not a rotation: at position 0 one column changes its sign. The "
        "second column is `a * sin + b * cos`.",
        ("a * sin + b * cos", "a * sin - b * cos"),
    ),
    Mistake(
        "Both sums have the same sign, so lengths change. The first is a difference: "
        "`a * cos - b * sin`.",
        ("a * cos - b * sin", "a * cos + b * sin"),
    ),
    Mistake(
        "cos and sin are swapped, so position 0 is turned by a right angle. It must stay as it is.",
        ("angles.cos(), angles.sin()", "angles.sin(), angles.cos()"),
    ),
    Mistake(
        "The exponent lacks its minus, so the frequencies rise from 1 to the base. They fall: "
        "base^(-2i/D).",
        ("(-torch.arange(", "(torch.arange("),
    ),
    Mistake(
        "The exponent is -i/D here, half of what it should be. The numerator goes in steps of two: "
        "`torch.arange(0, D, 2)`.",
        ("torch.arange(0, D, 2, device", "torch.arange(D // 2, device"),
    ),
    Mistake(
        "The argument `base` is not used. Llama 3 has 500,000 there, Qwen3 1,000,000.",
        ("base ** (", "10_000.0 ** ("),
    ),
    Mistake(
        "You count the tokens yourself, from 0. Use the `positions` that are given: a token that "
        "comes after a cache does not have position 0.",
        ("positions[:, None]", "torch.arange(len(positions))[:, None]"),
    ),
    Mistake(
        "Every token is turned by the same angles. Multiply the frequencies by the positions: "
        "`positions[:, None] * frequencies`, (T, D/2).",
        ("positions[:, None] * frequencies", "frequencies"),
    ),
    Mistake(
        "Positions and frequencies are multiplied entry by entry here. Give the positions an axis "
        "of their own: `positions[:, None]`, (T, 1).",
        ("positions[:, None] *", "positions *"),
    ),
    # ---- RMSNorm
    Mistake(
        "You subtract the mean, as LayerNorm does. RMSNorm does not: it divides x itself by the "
        "root of the mean square.",
        ("x.square().mean(", "(x - x.mean(-1, True)).square().mean("),
        ("(x / torch.sqrt", "((x - x.mean(-1, True)) / torch.sqrt"),
    ),
    Mistake(
        "You divide by the standard deviation, in which the mean is subtracted first. RMSNorm has "
        "the mean of the squares of x itself: `x.square()`.",
        ("x.square().mean(", "(x - x.mean(-1, True)).square().mean("),
    ),
    Mistake(
        "ε is outside the root, which shows for quiet tokens only. It belongs inside: "
        "`torch.sqrt(mean_square + self.eps)`.",
        ("torch.sqrt(mean_square + self.eps)", "(torch.sqrt(mean_square) + self.eps)"),
    ),
    Mistake(
        "ε is left out, which shows for quiet tokens: add `self.eps` to the mean square.",
        ("mean_square + self.eps", "mean_square"),
    ),
    Mistake(
        "The argument `eps` is not used. Keep it, `self.eps = eps`, and add `self.eps` under the "
        "root.",
        ("self.eps = eps", "self.eps = 1e-5"),
    ),
    Mistake(
        "The squares are added up, but not divided by C, so a row becomes 1 long instead of √C. "
        "Take their mean.",
        ("x.square().mean(", "x.square().sum("),
    ),
    Mistake(
        "You take the mean of the absolute values. RMS is the root of the mean of the squares.",
        ("x.square().mean(", "x.abs().mean("),
        ("torch.sqrt(mean_square + self.eps)", "(mean_square + self.eps)"),
    ),
    Mistake(
        "The mean is taken over the tokens, so each depends on the others, and on the future. Use "
        "the last axis, `dim=-1`.",
        ("x.square().mean(dim=-1", "x.square().mean(dim=1"),
    ),
    Mistake(
        "γ is there, but `forward` does not use it: `self.weight * …`.",
        ("self.weight * (x / torch.sqrt(mean_square + self.eps))", "x / torch.sqrt(mean_square + self.eps)"),
    ),
    Mistake(
        "γ starts with 0, so a new layer returns 0 whatever it reads. Begin with "
        "`torch.ones(n_embd)`.",
        ("torch.ones(n_embd)", "torch.zeros(n_embd)"),
    ),
    # ---- SwiGLU
    Mistake(
        "SiLU is on `up_proj` here. It bends the gate, and `up_proj` stays as it is.",
        ("F.silu(pre) * self.up_proj(x)", "pre * F.silu(self.up_proj(x))"),
    ),
    Mistake(
        "This gate is only σ(z), between 0 and 1. SiLU is z · σ(z), `F.silu`.",
        ("F.silu(pre)", "pre.sigmoid()"),
    ),
    Mistake(
        "`up_proj` is not used. The bent gate scales it: `F.silu(…) * self.up_proj(x)`.",
        (" * self.up_proj(x)", ""),
    ),
    Mistake(
        "`down_proj` is missing. It brings the F entries back to C.",
        ('note("out", self.down_proj(act), "B T C")', "act"),
    ),
    Mistake(
        "The MLP is four times as wide here. SwiGLU's width is given, `n_inner`.",
        ("self.gate_proj = nn.Linear(n_embd, n_inner,", "self.gate_proj = nn.Linear(n_embd, 4 * n_embd,"),
        ("self.up_proj = nn.Linear(n_embd, n_inner,", "self.up_proj = nn.Linear(n_embd, 4 * n_embd,"),
        ("nn.Linear(n_inner, n_embd,", "nn.Linear(4 * n_embd, n_embd,"),
    ),
    # ---- GroupedSelfAttention
    Mistake(
        "`repeat` lays the key heads out as 0, 1, 0, 1. Query heads that share one are side by "
        "side, 0, 0, 1, 1: `repeat_interleave(readers, dim=1)`.",
        ("k.repeat_interleave(readers, dim=1)", "k.repeat(1, readers, 1, 1)"),
        ("v.repeat_interleave(readers, dim=1)", "v.repeat(1, readers, 1, 1)"),
    ),
    Mistake(
        "Only the keys are repeated as groups, and the values as `repeat` does it: 0, 1, 0, 1. Use "
        "`repeat_interleave` for both.",
        ("v.repeat_interleave(readers, dim=1)", "v.repeat(1, readers, 1, 1)"),
    ),
    Mistake(
        "The axis to repeat along is that of the heads, `dim=1`. Here tokens are repeated.",
        ("k.repeat_interleave(readers, dim=1)", "k.repeat_interleave(readers, dim=2)"),
        ("v.repeat_interleave(readers, dim=1)", "v.repeat_interleave(readers, dim=2)"),
    ),
    Mistake(
        "q is not rotated. Both q and k are, so that their difference of positions counts.",
        ("rotate(q, positions, self.base)", "q"),
    ),
    Mistake(
        "k is not rotated. Both q and k are, so that their difference of positions counts.",
        ("rotate(k, positions, self.base)", "k"),
    ),
    Mistake(
        "Nothing is rotated, so this attention has no positions at all. Rotate q and k.",
        ("rotate(q, positions, self.base)", "q"),
        ("rotate(k, positions, self.base)", "k"),
    ),
    Mistake(
        "You rotate before you split into heads, so pairs lie in different heads. Split first, "
        "then rotate the D columns of each head.",
        ("self.split_heads(self.q_proj(x), self.n_head)", "self.split_heads(rotate(self.q_proj(x), torch.arange(x.size(1)), self.base), self.n_head)"),
        ("self.split_heads(self.k_proj(x), self.n_kv_head)", "self.split_heads(rotate(self.k_proj(x), torch.arange(x.size(1)), self.base), self.n_kv_head)"),
        ("rotate(q, positions, self.base)", "q"),
        ("rotate(k, positions, self.base)", "k"),
    ),
    Mistake(
        "The base is not passed on, so `rotate` uses its own default.",
        ("rotate(q, positions, self.base)", "rotate(q, positions)"),
        ("rotate(k, positions, self.base)", "rotate(k, positions)"),
    ),
    Mistake(
        "These heads see the future. Call your `attention`, which masks it.",
        ("attention(q, k, v)", "(q @ k.mT / q.size(-1) ** 0.5).softmax(dim=-1) @ v"),
    ),
    Mistake(
        "The heads are joined without moving H back, so one row has entries of different tokens. "
        "First `transpose(1, 2)`, then `flatten(start_dim=2)`.",
        ("heads.transpose(1, 2).flatten(start_dim=2)", "heads.reshape(x.shape)"),
    ),
    Mistake(
        "The heads are joined, but `o_proj` is not called, so nothing mixes their results.",
        ("self.o_proj(merged)", "merged"),
    ),
    Mistake(
        "`view` to the final shape at once makes pieces of one token pose as several tokens. "
        "`view` to (B, T, n, D), then `transpose(1, 2)`.",
        ("x.view(*x.shape[:2], n, self.head_size).transpose(1, 2)", "x.view(x.size(0), n, x.size(1), self.head_size)"),
    ),
    Mistake(
        "The values are made of the keys. v comes from `v_proj`.",
        ("self.split_heads(self.v_proj(x)", "self.split_heads(self.k_proj(x)"),
    ),
    Mistake(
        "q and k are swapped: queries come from `q_proj`, keys from `k_proj`. With fewer key heads "
        "than query heads they do not even have the same sizes.",
        ("heads = note(", "q, k = k, q\n        heads = note("),
    ),
    Mistake(
        "`k_proj` makes K heads of D columns, `n_kv_head * head_size`: that is what makes the "
        "cache smaller.",
        ("self.k_proj = nn.Linear(n_embd, n_kv_head * self.head_size, bias=False)", "self.k_proj = nn.Linear(n_embd, n_embd, bias=False)"),
    ),
    Mistake(
        "Llama's four projections have no biases: `bias=False`.",
        ("self.q_proj = nn.Linear(n_embd, n_embd, bias=False)", "self.q_proj = nn.Linear(n_embd, n_embd)"),
    ),
    Mistake(
        "Each query head needs keys and values: repeat both to H heads with "
        "`repeat_interleave(readers, dim=1)`.",
        ("        v = v.repeat_interleave(readers, dim=1)\n", ""),
    ),
    # ---- Llama
    Mistake(
        "The head and the table of tokens are two tensors. Tie them: "
        "`self.lm_head.weight = self.embeddings.weight`.",
        (TIE, ""),
    ),
    Mistake(
        "The last norm is still GPT-2's LayerNorm. Exchange `ln_f`, too.",
        ("        self.ln_f = RMSNorm(n_embd)\n", ""),
    ),
    Mistake(
        "The new parts start as PyTorch makes them. Draw what has two axes with the standard "
        "deviation 0.02, after the exchange.",
        (DRAW, ""),
    ),
    Mistake(
        "The second argument of `nn.init.normal_` is the mean, and the standard deviation is still "
        "1. Name it: `std=0.02`.",
        ("normal_(parameter, std=0.02)", "normal_(parameter, 0.02)"),
    ),
    Mistake(
        "γ is drawn at random, too. Draw only what has two axes: the norms begin with 1.",
        ("            if parameter.ndim == 2:  # the table and the matrices\n                nn.init", "            nn.init"),
    ),
    Mistake(
        "You draw with 0.2 here, ten times too wide. The standard deviation is 0.02.",
        ("std=0.02)", "std=0.2)"),
    ),
    Mistake(
        "One norm serves both parts of a block. `ln_1` and `ln_2` each have a γ of their own.",
        ("block.ln_2 = RMSNorm(n_embd)", "block.ln_2 = block.ln_1"),
    ),
    Mistake(
        "All blocks share one MLP. Make a new one for each, inside the loop.",
        ("        for block in self.h:", "        mlp = SwiGLU(n_embd, n_inner)\n        for block in self.h:"),
        ("block.mlp = SwiGLU(n_embd, n_inner)", "block.mlp = mlp"),
    ),
    Mistake(
        "The position vectors are still there: `Embeddings` adds them. Rotation tells positions "
        "now, so the embeddings are `nn.Embedding(vocab_size, n_embd)` and nothing else.",
        ("        self.embeddings = nn.Embedding(vocab_size, n_embd)\n", ""),
        ("self.embeddings.weight  # tied", "self.embeddings.wte.weight  # tied"),
    ),
    Mistake(
        "The second column has a · cos as well as the first, so nothing turns. It is `a * sin + b * cos`.",
        ("a * sin + b * cos", "a * cos + b * sin"),
    ),
    Mistake(
        "Only a is left in the first column and only b in the second. Each new column is made of both.",
        ("[a * cos - b * sin, a * sin + b * cos]", "[a * cos, b * sin]"),
    ),
    Mistake(
        "Pairs are counted from 1 here. Pair 0 has the frequency 1.",
        ("(-torch.arange(0, D, 2, device=x.device) / D)", "(-torch.arange(2, D + 2, 2, device=x.device) / D)"),
    ),
    Mistake(
        "The two halves come back interleaved. Column i stays column i: `torch.cat([…], dim=-1)`.",
        ("torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)", "torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)"),
    ),
    Mistake(
        "cos and sin are laid out for neighbours, 0, 0, 1, 1, but the columns are paired as halves. Repeat them as 0, 1, 0, 1: `torch.cat([cos, cos], dim=-1)`.",
        ("return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)", "cos, sin = cos.repeat_interleave(2, -1), sin.repeat_interleave(2, -1)\n    return x * cos + torch.cat([-b, a], dim=-1) * sin"),
    ),
    Mistake(
        "γ starts at random. A new norm changes only the length of a row: begin with `torch.ones(n_embd)`.",
        ("torch.ones(n_embd)", "torch.randn(n_embd)"),
    ),
    Mistake(
        "The mean is taken over everything, so tokens depend on each other. Each row has its own: `mean(dim=-1, keepdim=True)`.",
        ("mean(dim=-1, keepdim=True)", "mean()"),
    ),
    Mistake(
        "The gate is a softmax here, which divides the units of a token among each other. SwiGLU has SiLU, `F.silu`.",
        ("F.silu(pre)", "F.softmax(pre, dim=-1)"),
    ),
    Mistake(
        "This gate is tanh. SwiGLU has SiLU, `F.silu`.",
        ("F.silu(pre)", "torch.tanh(pre)"),
    ),
    Mistake(
        "`gate_proj` is not used, and `up_proj` has both roles. The gate has a matrix of its own.",
        ("F.silu(pre)", "F.silu(self.up_proj(x))"),
    ),
    Mistake(
        "Each key head is repeated K times. It has H / K readers, so it is repeated H / K times.",
        ("self.n_head // self.n_kv_head", "self.n_kv_head"),
    ),
    Mistake(
        "Only the keys are repeated, and `expand` cannot repeat them: it needs an axis of length 1.",
        ("v.repeat_interleave(readers, dim=1)", "v.expand(-1, self.n_head, -1, -1)"),
    ),
    Mistake(
        "The base is passed on for q only, so that k turns by other angles.",
        ("rotate(k, positions, self.base)", "rotate(k, positions)"),
    ),
    Mistake(
        "The base is passed on for k only, so that q turns by other angles.",
        ("rotate(q, positions, self.base)", "rotate(q, positions)"),
    ),
    Mistake(
        "The scores are neither divided by √D nor masked. Your `attention` does both: call it.",
        ("attention(q, k, v)", "(q @ k.mT).softmax(dim=-1) @ v"),
    ),
    Mistake(
        "There is a position for each column of a head here. There is one for each token: `torch.arange(x.size(1))`.",
        ("torch.arange(x.size(1), device", "torch.arange(self.head_size, device"),
    ),
    Mistake(
        "The heads are flattened without moving H back first: `transpose(1, 2)`, then `flatten(start_dim=2)`.",
        ("heads.transpose(1, 2).flatten(start_dim=2)", "heads.flatten(start_dim=2)"),
    ),
    Mistake(
        "The new numbers are drawn uniformly. Draw from the normal distribution: `nn.init.normal_(parameter, std=0.02)`.",
        ("nn.init.normal_(parameter, std=0.02)", "nn.init.uniform_(parameter, -0.02, 0.02)"),
    ),
    Mistake(
        "The halves have each other's names, so the arrows turn the other way and change places. The first half is a.",
        ("a, b = x.chunk", "b, a = x.chunk"),
    ),
    Mistake(
        "The mean is squared, so positive and negative entries cancel first. Square the entries: `x.square().mean(…)`.",
        ("x.square().mean(dim=-1, keepdim=True)", "x.mean(dim=-1, keepdim=True).square()"),
    ),
    Mistake(
        "Gate and `up_proj` are multiplied as matrices. The gate scales each entry: `*`.",
        ("F.silu(pre) * self.up_proj(x)", "F.silu(pre) @ self.up_proj(x).mT"),
    ),
    Mistake(
        "Each head takes columns from all over the row. The first D columns are head 0: `view` to (B, T, n, D), with the heads before D.",
        ("x.view(*x.shape[:2], n, self.head_size).transpose(1, 2)", "x.view(*x.shape[:2], self.head_size, n).permute(0, 3, 1, 2)"),
    ),
    Mistake(
        "a and b are the whole row here. They are its halves: `a, b = x.chunk(2, dim=-1)`.",
        ("x.chunk(2, dim=-1)", "x, x"),
    ),
)  # fmt: skip

TOLERANCE = 1e-5
NAMES = {"transformer.wte": "embeddings", "transformer.": ""}
TIED = "the head and the table of tokens are one tensor"


def config(**sizes: Any) -> LlamaConfig:
    return LlamaConfig(rope_base=sizes.pop("rope_base", 10_000.0), **sizes)


def norm(width: int) -> nn.Module:
    return numbered(nn.RMSNorm(width, eps=1e-5), seed=width)


def mlp(width: int, inner: int) -> nn.Module:
    return numbered(llama.SwiGLU(config(n_embd=width, n_inner=inner)), seed=inner)


def attn(width: int, heads: int, kv_heads: int, base: float) -> nn.Module:
    sizes = {"n_embd": width, "n_head": heads, "n_kv_head": kv_heads, "rope_base": base}
    layer = llama.GroupedSelfAttention(config(head_size=width // heads, **sizes))
    return numbered(layer, seed=width)


def whole(sizes: tuple[int, ...]) -> llama.Llama:
    names = "vocab_size", "block_size", "n_layer", "n_head", "n_embd", "n_kv_head", "n_inner"
    given = dict(zip(names, sizes, strict=True))
    model = llama.Llama(config(head_size=given["n_embd"] // given["n_head"], **given))
    numbered(model, seed=given["n_embd"])
    return model


def spreads(model: nn.Module) -> dict[str, float]:
    """A new model's numbers: how far they spread, in units of 0.02, and those of the norms."""
    matrices = torch.cat([p.detach().flatten() for p in model.parameters() if p.ndim == 2])
    norms = torch.cat([p.detach() for p in model.parameters() if p.ndim == 1])
    return {
        "spread of the table and the matrices": round(matrices.std().item() * 50, 1),
        "smallest γ": round(norms.min().item(), 1),
        "largest γ": round(norms.max().item(), 1),
    }


def use(mine: Any, what: str, *given: Any) -> Any:
    torch.default_generator.manual_seed(0)  # torch.manual_seed takes a millisecond
    with trace():  # as `note` checks its axes only there
        if what == "rotate":
            return mine.rotate(*given)
        if what == "RMSNorm":
            filled, x, *eps = given
            layer = mine.RMSNorm(x.size(-1), *eps)
            return (fill(layer, norm(x.size(-1))) if filled else layer)(x)
        if what == "SwiGLU":
            inner, x = given
            return fill(mine.SwiGLU(x.size(-1), inner), mlp(x.size(-1), inner))(x)
        if what == "GroupedSelfAttention":
            sizes, x = (given[-1].size(-1), *given[:2]), given[-1]
            base = given[2:-1]  # or its default
            layer = mine.GroupedSelfAttention(*sizes, *base)
            return fill(layer, attn(*sizes, *(base or (10_000.0,))))(x)
        sizes, idx = given
        model = mine.Llama(*sizes[:5], n_kv_head=sizes[5], n_inner=sizes[6])
        if idx is None:
            return spreads(model)
        tied = model.lm_head.weight is model.embeddings.weight
        return Labelled({"logits": fill(model, whole(sizes), NAMES)(idx), TIED: tied})


@torch.no_grad()
def right(what: str, *given: Any) -> Any:
    if what == "rotate":
        x, positions, *base = given
        turned = config(head_size=x.size(-1), rope_base=base[0] if base else 10_000.0)
        return llama.rotate(x, *llama.rotation(turned, positions))
    if what == "RMSNorm":
        filled, x, *eps = given
        layer = norm(x.size(-1)) if filled else nn.RMSNorm(x.size(-1), eps=(eps or [1e-5])[0])
        return layer(x)
    if what == "SwiGLU":
        inner, x = given
        return mlp(x.size(-1), inner)(x)
    if what == "GroupedSelfAttention":
        heads, kv_heads, *base, x = given
        positions = torch.arange(x.size(1))
        base = (base or [10_000.0])[0]
        turn = llama.rotation(config(head_size=x.size(-1) // heads, rope_base=base), positions)
        return attn(x.size(-1), heads, kv_heads, base)(x, turn)
    sizes, idx = given
    if idx is None:
        return {"spread of the table and the matrices": 1.0, "smallest γ": 1.0, "largest γ": 1.0}
    return Labelled({"logits": whole(sizes)(idx)[0], TIED: True})


def cases() -> list[Case]:
    row = torch.tensor([[[0.3, -0.2, 0.8, 0.5]]])
    arrows = torch.tensor([[0.9, 0.1]]).repeat(4, 1)
    idx = torch.tensor([[1, 2, 3, 4, 5], [5, 4, 3, 2, 1]])
    small = (13, 7, 2, 6, 24, 2, 34)

    def attended(label: str, *given: Any) -> Case:
        return Case(f"GroupedSelfAttention: {label}", ("GroupedSelfAttention", *given))

    return [
        Case("rotate: an arrow at 0, 1, 2, 3", ("rotate", arrows, torch.arange(4))),
        Case(
            "rotate: B = 2, H = 3, T = 5, D = 6",
            ("rotate", random_tensor(1, 2, 3, 5, 6), torch.arange(5)),
        ),
        Case(
            "rotate: positions 9, 2 and 4",
            ("rotate", random_tensor(2, 3, 8), torch.tensor([9, 2, 4])),
        ),
        Case(
            "rotate: another base, 100",
            ("rotate", random_tensor(3, 1, 7, 10), torch.arange(7), 100.0),
        ),
        Case("RMSNorm: new, four numbers", ("RMSNorm", False, row)),
        Case(
            "RMSNorm: γ given, B = 2, T = 5, C = 12", ("RMSNorm", True, random_tensor(4, 2, 5, 12))
        ),
        Case("RMSNorm: another ε, 0.5", ("RMSNorm", False, random_tensor(5, 2, 5, 12), 0.5)),
        Case(
            "RMSNorm: a quiet token, ε inside the root",
            ("RMSNorm", True, 1e-3 * random_tensor(6, 1, 3, 8)),
        ),
        Case("SwiGLU: one token", ("SwiGLU", 5, torch.tensor([[[0.5, -0.5]]]))),
        Case("SwiGLU: B = 2, T = 5, C = 12, F = 34", ("SwiGLU", 34, random_tensor(7, 2, 5, 12))),
        attended("a single token", 2, 1, random_tensor(8, 1, 1, 8)),
        attended("as many key heads as query heads", 3, 3, random_tensor(9, 2, 5, 12)),
        attended("B = 2, T = 5, H = 4, K = 2", 4, 2, random_tensor(10, 2, 5, 24)),
        attended("one key head, base 100", 3, 1, 100.0, random_tensor(11, 1, 7, 18)),
        Case("Llama: two texts of five tokens", ("Llama", small, idx)),
        Case("Llama: a new model's numbers", ("Llama", (101, 7, 2, 4, 32, 2, 88), None)),
    ]
