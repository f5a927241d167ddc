"""My own GPT-2, written chapter by chapter."""

import json
import math
from itertools import pairwise
from pathlib import Path

import regex
import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional as F


# from chapter 1: tokens
def encode(text, ranks, pattern):
    """Text → ids. ranks: a token as bytes → id; pattern cuts into pieces."""
    ids = []
    for piece in regex.findall(pattern, text):
        parts = [bytes([byte]) for byte in piece.encode("utf-8")]
        while len(parts) > 1:
            pairs = [a + b for a, b in pairwise(parts)]
            best = min(pairs, key=lambda pair: ranks.get(pair, math.inf))
            if best not in ranks:
                break
            i = pairs.index(best)
            parts[i : i + 2] = [best]  # merge
        ids += [ranks[part] for part in parts]
    return ids


# from chapter 1: tokens
def decode(ids, ranks):
    """Ids → text. Bytes that make no character become �."""
    token = {i: part for part, i in ranks.items()}
    return b"".join(token[i] for i in ids).decode("utf-8", errors="replace")


# from chapter 2: embeddings
class Embeddings(nn.Module):
    def __init__(self, vocab_size, block_size, n_embd):
        super().__init__()
        self.wte = nn.Embedding(vocab_size, n_embd)  # a row for each token
        self.wpe = nn.Embedding(block_size, n_embd)  # a row for each position

    def forward(self, idx):  # (B, T) → (B, T, C)
        positions = torch.arange(idx.size(1), device=idx.device)
        return self.wte(idx) + self.wpe(positions)


# from chapter 18: fast
def attention(q, k, v):
    """Causal attention in one call: q (..., T, D), k and v (..., S, D)."""
    T, S = q.size(-2), k.size(-2)
    if T == S:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    visible = torch.ones(T, S, dtype=torch.bool, device=q.device).tril(S - T)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=visible)


# from chapter 6: heads
class CausalSelfAttention(nn.Module):
    def __init__(self, n_embd, n_head):
        super().__init__()
        self.n_head = n_head
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)  # q, k and v, side by side
        self.c_proj = nn.Linear(n_embd, n_embd)

    def split_heads(self, x):  # (B, T, C) → (B, H, T, D)
        B, T, C = x.shape
        return x.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)

    def forward(self, x):  # (B, T, C) → (B, T, C)
        q, k, v = self.c_attn(x).split(x.size(-1), dim=-1)
        heads = attention(*map(self.split_heads, (q, k, v)))
        return self.c_proj(heads.transpose(1, 2).flatten(start_dim=2))


# from chapter 7: mlp
class MLP(nn.Module):
    def __init__(self, n_embd):
        super().__init__()
        self.c_fc = nn.Linear(n_embd, 4 * n_embd)
        self.c_proj = nn.Linear(4 * n_embd, n_embd)

    def forward(self, x):  # (B, T, C) → (B, T, C)
        return self.c_proj(F.gelu(self.c_fc(x), approximate="tanh"))


# from chapter 9: layernorm
class LayerNorm(nn.Module):
    def __init__(self, n_embd, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(n_embd))  # γ
        self.bias = nn.Parameter(torch.zeros(n_embd))  # β

    def forward(self, x):  # (B, T, C) → (B, T, C)
        mean = x.mean(dim=-1, keepdim=True)
        variance = (x - mean).square().mean(dim=-1, keepdim=True)
        normed = (x - mean) / torch.sqrt(variance + self.eps)
        return self.weight * normed + self.bias


# from chapter 10: block
class Block(nn.Module):
    def __init__(self, n_embd, n_head):
        super().__init__()
        self.ln_1 = LayerNorm(n_embd)
        self.attn = CausalSelfAttention(n_embd, n_head)
        self.ln_2 = LayerNorm(n_embd)
        self.mlp = MLP(n_embd)

    def forward(self, x):  # (B, T, C) → (B, T, C)
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


# from chapter 11: gpt2
class GPT2(nn.Module):
    def __init__(self, vocab_size, block_size, n_layer, n_head, n_embd):
        super().__init__()
        self.block_size = block_size
        self.embeddings = Embeddings(vocab_size, block_size, n_embd)
        self.h = nn.ModuleList(Block(n_embd, n_head) for _ in range(n_layer))
        self.ln_f = LayerNorm(n_embd)
        self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)
        self.lm_head.weight = self.embeddings.wte.weight  # tied
        for name, parameter in self.named_parameters():
            if parameter.ndim == 2:  # the tables and the matrices
                narrow = math.sqrt(2 * n_layer) if "c_proj" in name else 1
                nn.init.normal_(parameter, std=0.02 / narrow)
            elif "bias" in name:
                nn.init.zeros_(parameter)

    def forward(self, idx):  # (B, T) → (B, T, V)
        x = self.embeddings(idx)
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


# from chapter 15: generation
def choose(logits, temperature=1.0, top_k=None, top_p=None):  # (B, V) → (B, 1)
    """Draw a token from what the knobs make of the logits."""
    if temperature == 0:
        return logits.argmax(dim=-1, keepdim=True)
    logits = logits / temperature
    if top_k is not None:
        last_kept = logits.topk(top_k, dim=-1).values[:, -1:]
        logits = logits.masked_fill(logits < last_kept, -torch.inf)
    probs = logits.softmax(dim=-1)
    if top_p is not None:
        falling, order = probs.sort(dim=-1, descending=True)
        likelier = falling.cumsum(dim=-1) - falling  # what likelier tokens hold
        kept = falling.masked_fill(likelier >= top_p, 0)
        probs = torch.zeros_like(probs).scatter(-1, order, kept)
    return torch.multinomial(probs, num_samples=1)  # divides by their sum


# from chapter 15: generation
@torch.no_grad()
def generate(model, idx, n, **knobs):  # (B, T) → (B, T + n)
    for _ in range(n):
        logits = model(idx[:, -model.block_size :])[:, -1]  # (B, V), the last
        idx = torch.cat([idx, choose(logits, **knobs)], dim=1)
    return idx


# from chapter 12: weights
def load(folder):
    """The model in a folder with config.json and model.safetensors."""
    config = json.loads((Path(folder) / "config.json").read_text())
    sizes = ("vocab_size", "n_positions", "n_layer", "n_head", "n_embd")
    model = GPT2(*(config[size] for size in sizes))
    tensors = {}
    for name, tensor in load_file(Path(folder) / "model.safetensors").items():
        name = name.removeprefix("transformer.")
        if name.endswith((".attn.bias", ".attn.masked_bias")):
            continue  # the mask, which older files carry along
        if name.startswith(("wte", "wpe")):
            name = f"embeddings.{name}"
        if name.endswith(("c_attn.weight", "c_proj.weight", "c_fc.weight")):
            tensor = tensor.T  # stored as (in, out)
        tensors[name] = tensor
    tensors["lm_head.weight"] = tensors["embeddings.wte.weight"]
    model.load_state_dict(tensors)
    return model


# from chapter 13: training
def batch(ids, batch_size, T):
    """Windows from anywhere in ids: inputs (B, T), and their targets."""
    starts = torch.randint(len(ids) - T, (batch_size,))
    windows = torch.stack([ids[start : start + T + 1] for start in starts])
    return windows[:, :-1], windows[:, 1:]


# from chapter 14: training_well
def rate(step, steps, lr, min_lr, warmup):
    """The learning rate of a step, counted from 0: up to lr, down to min_lr."""
    if step < warmup:
        return lr * (step + 1) / warmup
    done = (step + 1 - warmup) / (steps - warmup)
    return min_lr + (lr - min_lr) * (1 + math.cos(math.pi * done)) / 2


# from chapter 14: training_well
def train(
    model,
    ids,
    steps,
    batch_size=16,
    T=64,
    lr=1e-3,
    min_lr=1e-4,
    warmup=20,
    decay=0.1,
    clip=1.0,
    accumulate=1,
):
    """The loop, for longer runs. Returns the loss of every step."""
    matrices = [p for p in model.parameters() if p.ndim >= 2]
    others = [p for p in model.parameters() if p.ndim < 2]
    groups = [
        {"params": matrices, "weight_decay": decay},
        {"params": others, "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups)
    losses = []
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = rate(step, steps, lr, min_lr, warmup)
        optimizer.zero_grad()
        total = 0.0
        for _ in range(accumulate):
            inputs, targets = batch(ids, batch_size, T)
            logits = model(inputs)
            loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
            (loss / accumulate).backward()
            total += loss.item() / accumulate
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        losses.append(total)
    return losses


# from chapter 16: cache
@torch.no_grad()
def next_logits(model, idx, kept):
    """Logits (B, V) after the new tokens idx (B, T). kept: {layer: (k, v)}."""
    start = kept[0][0].size(2) if kept else 0
    positions = torch.arange(start, start + idx.size(1), device=idx.device)
    x = model.embeddings.wte(idx) + model.embeddings.wpe(positions)
    for layer, block in enumerate(model.h):
        attn = block.attn
        q, k, v = attn.c_attn(block.ln_1(x)).split(x.size(-1), dim=-1)
        q, k, v = map(attn.split_heads, (q, k, v))
        if layer in kept:
            k, v = (torch.cat(pair, dim=2) for pair in zip(kept[layer], (k, v)))
        kept[layer] = k, v
        heads = attention(q, k, v).transpose(1, 2)  # (B, T, H, D)
        x = x + attn.c_proj(heads.flatten(start_dim=2))
        x = x + block.mlp(block.ln_2(x))
    return model.lm_head(model.ln_f(x[:, -1]))


# from chapter 17: inside
@torch.no_grad()
def attention_maps(model, idx):
    """The weights of every head for one text: idx (1, T) → (N, H, T, T)."""
    maps, x = [], model.embeddings(idx)
    for block in model.h:
        q, k, _ = block.attn.c_attn(block.ln_1(x)).split(x.size(-1), dim=-1)
        q, k = map(block.attn.split_heads, (q, k))
        apart = torch.eye(idx.size(1), device=x.device)  # a column each
        maps.append(attention(q, k, apart))
        x = block(x)
    return torch.cat(maps)


# from chapter 19: bugs
@torch.no_grad()
def audit(model, idx):
    """What is wrong with a model, as a list of words. idx (1, T)."""
    logits = model(idx)
    if not logits.isfinite().all():
        return ["not finite"]
    if not torch.equal(model(idx), logits):
        return ["not repeatable"]  # dropout is on
    found, changed = [], idx.clone()
    changed[:, -1] = (idx[:, -1] + 1) % logits.size(-1)
    if not torch.equal(model(changed)[:, :-1], logits[:, :-1]):
        found.append("looks ahead")
    if model.lm_head.weight is not model.embeddings.wte.weight:
        found.append("not tied")
    return found
