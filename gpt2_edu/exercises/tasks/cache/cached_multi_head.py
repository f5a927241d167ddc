"""A layer with a memory."""

import torch

from gpt2_edu import GPT2Config
from gpt2_edu.model import CausalSelfAttention, visible_keys

from ...exercise import Case, Mistake

ORDER = 50
KIND = "write"
LEVEL = 3
RANK = "good"
MINUTES = 20

TASK = r"""
Write the `multi_head` of chapter 6 with a cache. `x` (B, T, C) holds the new tokens only. `past` is None at first, and later the pair (k, v) of the tokens before, each (B, H, S − T, D). Return two things: the layer's output for the new tokens, (B, T, C), and the pair (k, v) of all tokens, each (B, H, S, D), for the next call.

`weights` has the keys "c_attn.weight", "c_attn.bias", "c_proj.weight" and "c_proj.bias", in the layout (out, in) of a Linear. You have `split_heads`, `merge_heads` and `chunk_attention`. A text given in pieces must come out as if it had been given at once.
"""

HINTS = (
    "Compute q, k and v of the new tokens as in chapter 6, by one product with c_attn, split in three along the last axis, each split into heads.",
    "Before attention, put the kept keys in front of the new ones, and the values likewise. Which axis of (B, H, S, D) counts the tokens?",
    "`k = torch.cat([past[0], k], dim=2)`, the same for v with `past[1]`, then `chunk_attention(q, k, v)`, `merge_heads` and c_proj.",
)

START = '''
split_heads, merge_heads = own("split_heads", "merge_heads")
chunk_attention = own("chunk_attention")


def cached_multi_head(x, weights, n_head, past):
    """x (B, T, C). Returns (B, T, C) and the pair (k, v) of all tokens."""
    ...
'''

SOLUTION = """
split_heads, merge_heads = own("split_heads", "merge_heads")
chunk_attention = own("chunk_attention")


def cached_multi_head(x, weights, n_head, past):
    qkv = F.linear(x, weights["c_attn.weight"], weights["c_attn.bias"])
    parts = qkv.split(x.size(-1), dim=-1)
    q, k, v = (split_heads(part, n_head) for part in parts)
    if past is not None:
        k = torch.cat([past[0], k], dim=2)  # along the tokens
        v = torch.cat([past[1], v], dim=2)
    merged = merge_heads(chunk_attention(q, k, v))
    out = F.linear(merged, weights["c_proj.weight"], weights["c_proj.bias"])
    return out, (k, v)
"""

_WRONG = """
split_heads, merge_heads = own("split_heads", "merge_heads")
chunk_attention = own("chunk_attention")


def cached_multi_head(x, weights, n_head, past):
    qkv = F.linear(x, weights["c_attn.weight"], weights["c_attn.bias"])
    parts = qkv.split(x.size(-1), dim=-1)
    q, k, v = (split_heads(part, n_head) for part in parts)
"""

MISTAKES = (
    Mistake(
        "The kept keys and values are not used, so each chunk sees only itself. Put `past` in front before attention.",
        (
            """\
    if past is not None:
        k = torch.cat([past[0], k], dim=2)  # along the tokens
        v = torch.cat([past[1], v], dim=2)
""",
            "",
        ),
    ),
    Mistake(
        "The output is right, but you return the new keys and values only, so the next call has forgotten the rest. Return the joined ones.",
        ("    if past is not None:", "    new = (k, v)\n    if past is not None:"),
        ("out, (k, v)", "out, new"),
    ),
    Mistake(
        "The new keys are in front of the old ones. The old ones come first, so that the last key is the newest.",
        ("past[0], k", "k, past[0]"),
        ("past[1], v", "v, past[1]"),
    ),
    Mistake(
        "The kept and the new ones do not fit together. Join keys *and* values, both along axis 2, which counts the tokens in (B, H, S, D).",
        ("[past[0], k], dim=2", "[past[0], k], dim=1"),
    ),
    Mistake(
        "c_proj is left out. It mixes the heads' results at the end.",
        ('F.linear(merged, weights["c_proj.weight"], weights["c_proj.bias"])', "merged"),
    ),
    Mistake(
        "In the first call `past` is None, and there is nothing to unpack or to join. Ask with `if past is not None:` first.",
        ("    if past is not None:\n", "    kept_k, kept_v = past\n    if past is not None:\n"),
    ),
    Mistake(
        "In the first call `past` is None, and there is nothing to unpack or to join. Ask with `if past is not None:` first.",
        ("if past is not None", "if True"),
    ),
    Mistake(
        "The keys are joined and the values are not, so weights and values do not fit. Put `past[1]` in front of v as well.",
        ("        v = torch.cat([past[1], v], dim=2)\n", ""),
    ),
    Mistake(
        "Return two things, the output and the pair (k, v) for the next call.",
        ("return out, (k, v)", "return out"),
    ),
    Mistake(
        "The kept queries are not needed, and what you put in front of q are keys. Only the new tokens ask.",
        (
            "    if past is not None:\n",
            "    if past is not None:\n        q = torch.cat([past[0], q], dim=2)\n",
        ),
    ),
    Mistake(
        "Keys and values are swapped. `past` is the pair (k, v), so `past[0]` has the keys.",
        ("[past[0], k]", "[past[1], k]"),
        ("[past[1], v]", "[past[0], v]"),
    ),
    Mistake(
        "The weights have the layout (out, in) of a Linear. Use `F.linear`, or transpose them.",
        (
            'F.linear(x, weights["c_attn.weight"], weights["c_attn.bias"])',
            'x @ weights["c_attn.weight"] + weights["c_attn.bias"]',
        ),
    ),
    Mistake(
        "The bias of `c_attn` is missing. Give it to `F.linear`.",
        ('weights["c_attn.weight"], weights["c_attn.bias"]', 'weights["c_attn.weight"]'),
    ),
    Mistake(
        "The bias of `c_proj` is missing. Give it to `F.linear`.",
        ('weights["c_proj.weight"], weights["c_proj.bias"]', 'weights["c_proj.weight"]'),
    ),
    Mistake(
        "q, k and v are in another order. `c_attn` gives q first, then k, then v.",
        ("q, k, v = (split", "k, q, v = (split"),
    ),
    Mistake(
        "The old keys stand where the old values should. The pair is (k, v), so the old values are `past[1]`.",
        ("past[1], v]", "past[0], v]"),
    ),
)


@torch.no_grad()
def right(x, weights, n_head, past):
    T, C = x.shape[1:]
    config = GPT2Config(n_embd=C, n_head=n_head, attn_pdrop=0.0, resid_pdrop=0.0)
    layer = CausalSelfAttention(config).eval()
    layer.load_state_dict(weights)
    S = T if past is None else T + past[0].size(2)
    kept = []

    def update_kv(k, v):
        pairs = ((k,), (v,)) if past is None else ((past[0], k), (past[1], v))
        kept[:] = [torch.cat(pair, dim=2) for pair in pairs]
        return kept

    out = layer(x, visible_keys(torch.arange(S - T, S), S), update_kv)
    return out, tuple(kept)


def cases():
    generator = torch.Generator().manual_seed(15)
    B, H, D = 2, 3, 4
    C = H * D
    weights = {
        "c_attn.weight": torch.randn(3 * C, C, generator=generator) / 2,
        "c_attn.bias": torch.randn(3 * C, generator=generator) / 2,
        "c_proj.weight": torch.randn(C, C, generator=generator) / 2,
        "c_proj.bias": torch.randn(C, generator=generator) / 2,
    }
    x = torch.randn(B, 7, C, generator=generator)
    k, v = torch.randn(2, B, H, 5, D, generator=generator)
    return [
        Case("the prompt: nothing is kept yet", (x[:, :5], weights, H, None)),
        Case("one more token after five", (x[:, 5:6], weights, H, (k, v))),
        Case("a chunk of two after five", (x[:, 5:], weights, H, (k, v))),
        Case("one text, one head", (x[:1, :1], weights, 1, None)),
    ]
