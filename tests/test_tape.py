"""The tape: what it records, what it refuses, what it changes, and that it leaves no trace."""

from __future__ import annotations

import copy
import threading
from collections.abc import Mapping

import pytest
import torch
from torch.nn import functional as F

import gpt2_edu.model
from gpt2_edu import GPT2, note, trace
from gpt2_edu.tape import tracing

# The whole contract, word for word: a block's tensors, and the model's around them.
IN_A_BLOCK = [
    ("ln_1", "B T C"),
    ("attn.q", "B H T D"),
    ("attn.k", "B H T D"),
    ("attn.v", "B H T D"),
    ("attn.scores", "B H T T"),
    ("attn.masked_scores", "B H T T"),
    ("attn.weights", "B H T T"),
    ("attn.heads", "B H T D"),
    ("attn.merged", "B T C"),
    ("attn.out", "B T C"),
    ("resid_mid", "B T C"),
    ("ln_2", "B T C"),
    ("mlp.pre", "B T F"),
    ("mlp.act", "B T F"),
    ("mlp.out", "B T C"),
    ("resid_post", "B T C"),
]
BEFORE = [("idx", "B T"), ("tok_emb", "B T C"), ("pos_emb", "T C"), ("embd", "B T C")]
AFTER = [("ln_f", "B T C"), ("logits", "B T V")]
IN_ORDER = [
    *BEFORE,
    *((f"transformer.h.{i}.{name}", axes) for i in range(2) for name, axes in IN_A_BLOCK),
    *AFTER,
]
SIZES = {"B": 5, "T": 11, "C": 21, "H": 3, "D": 7, "F": 84, "V": 101}


def hooks_of(model) -> int:
    """The number of forward hooks of the model's modules, and of all modules."""
    tables = ("forward_hooks", "forward_pre_hooks", "forward_hooks_always_called")
    own = (getattr(module, f"_{table}") for module in model.modules() for table in tables)
    everywhere = (getattr(torch.nn.modules.module, f"_global_{table}") for table in tables)
    return sum(map(len, own)) + sum(map(len, everywhere))


def assert_untouched(model, before: GPT2, idx) -> None:
    """The model is what it was, and nothing listens any more."""
    assert hooks_of(model) == 0
    assert not tracing()
    assert model.training == before.training
    for (name, new), (_, old) in zip(
        model.state_dict().items(), before.state_dict().items(), strict=True
    ):
        assert torch.equal(new, old), name
    assert torch.equal(model(idx)[0], before(idx)[0])


# ---- Recording ------------------------------------------------------------------------------


def test_every_promised_tensor_is_recorded_in_order_with_its_axes_and_shape(model, idx):
    with trace(model) as t:
        model(idx)
    expected = [
        (name, axes, tuple(SIZES[letter] for letter in axes.split())) for name, axes in IN_ORDER
    ]
    assert t.ledger().rows() == expected
    assert t.names == [name for name, _ in IN_ORDER]
    for name, _, shape in expected:
        assert name in t
        assert tuple(t[name].shape) == shape
        assert not t[name].requires_grad


def test_recorded_values_are_those_that_flow_on(model, idx):
    with trace(model) as t:
        model(idx)
    block, at = model.transformer.h[1], "transformer.h.1."
    torch.testing.assert_close(t["embd"], t["tok_emb"] + t["pos_emb"])
    torch.testing.assert_close(t[at + "ln_1"], block.ln_1(t["transformer.h.0.resid_post"]))
    torch.testing.assert_close(t[at + "attn.weights"], t[at + "attn.masked_scores"].softmax(-1))
    torch.testing.assert_close(t[at + "attn.heads"], t[at + "attn.weights"] @ t[at + "attn.v"])
    torch.testing.assert_close(t[at + "attn.out"], block.attn.c_proj(t[at + "attn.merged"]))
    torch.testing.assert_close(
        t[at + "resid_mid"], t["transformer.h.0.resid_post"] + t[at + "attn.out"]
    )
    torch.testing.assert_close(t[at + "ln_2"], block.ln_2(t[at + "resid_mid"]))
    torch.testing.assert_close(t[at + "mlp.act"], F.gelu(t[at + "mlp.pre"], approximate="tanh"))
    torch.testing.assert_close(t[at + "resid_post"], t[at + "resid_mid"] + t[at + "mlp.out"])
    torch.testing.assert_close(t["ln_f"], model.transformer.ln_f(t[at + "resid_post"]))
    torch.testing.assert_close(t["logits"], t["ln_f"] @ model.lm_head.weight.T)


def test_a_second_pass_of_another_length_replaces_the_first(model, idx):
    with trace(model) as t:
        model(idx)
        model(idx[:2, :7])  # T and B bind anew
        assert t["embd"].shape == (2, 7, 21)
        assert t.names == [name for name, _ in IN_ORDER]
        model(idx)
    assert t["transformer.h.0.attn.weights"].shape == (5, 3, 11, 11)


def test_another_model_is_never_heard_also_after_a_pass_that_failed(model, make_model, config, idx):
    def fail(*_):
        raise ArithmeticError

    other = make_model(config, seed=3)
    hook = model.transformer.h[1].mlp.register_forward_hook(fail)
    with trace(model) as t:
        other(idx)
        note("stray", idx, "B T")
        assert t.names == []
        with pytest.raises(ArithmeticError):
            model(idx)
        heard = t.names
        other(idx)
        assert t.names == heard
        hook.remove()
        logits, _ = model(idx)
        other(idx[:2, :7])
    assert t.names == [name for name, _ in IN_ORDER]
    assert torch.equal(t["logits"], logits)


def test_another_thread_is_never_recorded_and_loses_nothing(model, idx):
    found = []

    def run() -> None:
        note("from afar", torch.zeros(2, 3), "B T")
        found.append(model(idx[:, :7])[0])

    with trace(model) as t:
        logits, _ = model(idx)
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        assert t.names == [name for name, _ in IN_ORDER]
        assert torch.equal(t["logits"], logits)
    torch.testing.assert_close(found[0], model(idx[:, :7])[0])


def test_a_part_called_by_itself_inside_leaves_the_tape_as_it_was(model, idx):
    with trace(model) as t:
        logits, _ = model(idx)
        model.lm_head(model.transformer.ln_f(t["transformer.h.1.resid_post"]))
        model.transformer.h[0](torch.randn(2, 7, 21))
    assert t.names == [name for name, _ in IN_ORDER]
    assert torch.equal(t["logits"], logits)


def test_a_model_inside_another_is_recorded_under_its_own_paths(model, idx):
    whole = torch.nn.Sequential(model)
    with trace(model) as t:
        whole(idx)
    assert t.names == [name for name, _ in IN_ORDER]
    with trace(whole) as t:
        whole(idx)
    assert t.names == [f"0.{name}" for name, _ in IN_ORDER]


def test_a_tape_is_a_mapping_that_shows_its_ledger(model, idx):
    with trace(model) as t:
        assert len(t) == 0
        model(idx)
    assert list(t) == list(t.keys()) == t.names
    assert t.get("no such name") is None
    assert isinstance(t, Mapping)
    assert repr(t) == repr(t.ledger())


def test_tensors_of_all_blocks_are_found_by_the_end_of_their_paths(model, idx):
    with trace(model) as t:
        model(idx)
    paths = ["transformer.h.0.attn.weights", "transformer.h.1.attn.weights"]
    assert list(t.ending("attn.weights")) == paths
    assert list(t.ending("out")) == [name for name in t if name.endswith(".out")]
    assert list(t.ending("logits")) == ["logits"]
    with pytest.raises(ValueError, match=r"no tensor was noted as 'attn\.weight'"):
        t.ending("attn.weight")


def test_one_block_can_be_traced_by_itself(model):
    block = model.transformer.h[0]
    with trace(block) as t:
        block(torch.randn(5, 11, 21))
    assert t.names == [name for name, _ in IN_A_BLOCK]


def test_without_a_model_names_stand_as_they_are_noted():
    x = torch.randn(5, 11, 21)
    with trace() as t:
        assert note("x", x, "B T C") is x
        note("y", x.sum(-1), "B T")
    assert t.names == ["x", "y"]
    assert t.ledger().rows() == [("x", "B T C", (5, 11, 21)), ("y", "B T", (5, 11))]


def test_a_second_tape_is_refused_and_the_first_goes_on(model, idx):
    with trace(model) as t:
        with pytest.raises(RuntimeError, match="a tape is already running"), trace(model):
            pass
        model(idx)
    assert t.names == [name for name, _ in IN_ORDER]
    assert_untouched(model, copy.deepcopy(model), idx)


def test_a_mistyped_name_is_answered_with_the_nearest(model, idx):
    with trace(model) as t:
        model(idx)
    with pytest.raises(KeyError, match=r"Did you mean 'transformer.h.0.attn.weights'"):
        t["transformer.h.0.attn.weight"]
    with pytest.raises(KeyError, match=r"Did you mean 'logits'"):
        t.grad("logit")


# ---- The axes -------------------------------------------------------------------------------


def test_a_letter_has_one_size_and_a_mismatch_names_both():
    with trace() as t:
        note("q", torch.zeros(5, 3, 11, 7), "B H T D")
        with pytest.raises(ValueError) as error:
            note("scores", torch.zeros(5, 3, 11, 13), "B H T T")
        assert "axis T of 'scores' is 13, but T is 11 since 'q'" in str(error.value)
        assert "shape (5, 3, 11, 13), noted as B H T T" in str(error.value)
        note("scores", torch.zeros(5, 3, 11, 13), "B H T S")
    assert t.names == ["q", "scores"]


def test_too_many_or_too_few_axes_are_refused():
    with trace():
        for axes in ("B T C", "B"):
            with pytest.raises(ValueError, match=rf"\({axes}\), but the tensor has 2: shape"):
                note("q", torch.zeros(5, 11), axes)


def test_dots_stand_for_any_number_of_dimensions():
    for shape in ((11, 13), (5, 11, 13), (5, 3, 11, 13)):
        with trace() as t:
            note("scores", torch.zeros(shape), "... T S")
            with pytest.raises(ValueError, match="axis S of 'weights' is 17, but S is 13"):
                note("weights", torch.zeros(*shape[:-1], 17), "... T S")
            with pytest.raises(ValueError, match=r"with 2 axes \(... T S\).* has 1: shape"):
                note("one", torch.zeros(13), "... T S")
        assert t.ledger().rows() == [("scores", "... T S", shape)]


# ---- Edits ----------------------------------------------------------------------------------


def run_on(model, x):
    """The rest of the model, after block 0."""
    x = model.transformer.h[1](x)
    return model.lm_head(model.transformer.ln_f(x))


def test_an_edit_by_a_function_takes_effect_and_vanishes(model, idx):
    """Head 1 of block 0 switched off, against the same pass computed by hand."""
    before = copy.deepcopy(model)
    with trace(model) as plain:
        model(idx)

    def without_head_1(heads):
        heads = heads.clone()
        heads[:, 1] = 0
        return heads

    with trace(model, edits={"transformer.h.0.attn.heads": without_head_1}) as t:
        logits, _ = model(idx)

    block = model.transformer.h[0]
    merged = plain["transformer.h.0.attn.merged"].clone()
    merged[:, :, 7:14] = 0
    x = plain["embd"] + block.attn.c_proj(merged)
    x = x + block.mlp(block.ln_2(x))
    torch.testing.assert_close(logits, run_on(model, x), rtol=1e-5, atol=1e-5)
    assert (logits - plain["logits"]).abs().max() > 0.01
    assert t["transformer.h.0.attn.heads"][:, 1].eq(0).all()  # the tape holds the edited value
    torch.testing.assert_close(t["transformer.h.0.attn.merged"], merged)
    assert_untouched(model, before, idx)


def test_an_edit_of_nothing_is_refused_with_the_nearest_names(model, idx):
    edits = {"transformer.h.0.attn.head": torch.zeros_like}
    with (
        pytest.raises(ValueError, match=r"changed nothing: .*attn\.heads"),
        trace(model, edits=edits),
    ):
        model(idx)
    assert not tracing()


@pytest.mark.parametrize(
    ("edit", "got"),
    [
        (torch.zeros(5, 11), r"\(5, 11\)"),
        (lambda x: x.double(), "torch.float64"),
        (lambda x: None, "NoneType"),
    ],
)
def test_an_edit_of_another_shape_or_type_is_refused_with_both(model, idx, edit, got):
    before = copy.deepcopy(model)
    message = rf"edit of 'embd' \(B T C\) must give .*\(5, 11, 21\), torch.float32.* got .*{got}"
    with pytest.raises(ValueError, match=message), trace(model, edits={"embd": edit}):
        model(idx)
    assert_untouched(model, before, idx)


# ---- Nothing stays behind -------------------------------------------------------------------


def test_everything_is_restored_after_an_exception_in_the_forward_pass(model, idx):
    def fail(x):
        raise ArithmeticError

    before = copy.deepcopy(model)
    edits = {"transformer.h.0.mlp.out": torch.zeros_like, "transformer.h.1.attn.q": fail}
    with pytest.raises(ArithmeticError), trace(model, edits=edits):
        model(idx)
    assert_untouched(model, before, idx)


# ---- Gradients ------------------------------------------------------------------------------


def test_recorded_gradients_are_those_of_autograd(model, idx):
    """Each tensor in turn is put back as a leaf; autograd's gradient for it is what t.grad says."""
    with trace(model, grads=True) as t:
        _, loss = model(idx, idx)
    loss.backward()
    gradients = {name: p.grad.clone() for name, p in model.named_parameters()}
    for name in t.names[1:]:  # all but idx, which are integers
        leaf = t[name].clone().requires_grad_()
        with trace(model, edits={name: leaf}):
            _, loss = model(idx, idx)
        (expected,) = torch.autograd.grad(loss, leaf)
        torch.testing.assert_close(t.grad(name), expected, rtol=1e-4, atol=1e-7, msg=name)

    model.zero_grad()  # and listening for them changes no parameter's gradient
    model(idx, idx)[1].backward()
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.grad, gradients[name], rtol=1e-4, atol=1e-6, msg=name)


def test_a_gradient_that_was_not_recorded_is_refused_with_the_way_to_it(model, idx):
    with trace(model) as t:
        model(idx, idx)[1].backward()
    with pytest.raises(ValueError, match=r"'embd' has no gradient.*grads=True.*backward\(\)"):
        t.grad("embd")
    with trace(model, grads=True) as t:
        model(idx, idx)
    with pytest.raises(ValueError, match="'embd' has no gradient"):
        t.grad("embd")


# ---- The ledger as a table --------------------------------------------------------------------


def test_ledgers_add_up_chapter_by_chapter():
    with trace() as early:
        note("x", torch.zeros(5, 11), "B T")
        note("y", torch.zeros(5, 11), "B T")
    with trace() as late:
        note("z", torch.zeros(7), "D")
        note("x", torch.zeros(2, 11), "B T")
    total = early.ledger() + late.ledger()
    assert total.rows() == [
        ("x", "B T", (2, 11)),  # keeps its place, takes the later row
        ("y", "B T", (5, 11)),
        ("z", "D", (7,)),
    ]


def test_the_ledger_shows_every_row_and_escapes_names():
    with trace() as t:
        note("<b>", torch.zeros(5, 11), "B T")
        note("logits", torch.zeros(5, 11, 101), "B T V")
    page, text = t.ledger()._repr_html_(), repr(t.ledger())
    assert all(part in page for part in ("&lt;b&gt;", "5 × 11 × 101", "B T V"))
    assert "<b>" not in page
    assert text.splitlines() == ["<b>     B T       (5, 11)", "logits  B T V     (5, 11, 101)"]


# ---- Compiled ---------------------------------------------------------------------------------


@pytest.fixture
def fresh_compiler():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def operations(model, idx) -> list[list[tuple[str, str]]]:
    """What is left of the model in the graphs that the compiler captures."""
    graphs = []

    def keep(graph_module, example_inputs):
        graphs.append([(node.op, str(node.target)) for node in graph_module.graph.nodes])
        return graph_module.forward

    torch._dynamo.reset()
    torch.compile(model, backend=keep, fullgraph=True)(idx)
    return graphs


def test_note_leaves_no_trace_in_a_compiled_graph(model, idx, monkeypatch, fresh_compiler):
    with_note = operations(model, idx)
    monkeypatch.setattr(gpt2_edu.model, "note", lambda name, tensor, axes: tensor)
    monkeypatch.setattr(gpt2_edu.model, "tracing", lambda: False)
    without_note = operations(model, idx)
    assert len(with_note) == 1
    assert with_note == without_note
    assert any("scaled_dot_product_attention" in target for _, target in with_note[0])
    assert not any("note" in target or "softmax" in target for _, target in with_note[0])


@pytest.mark.parametrize("in_place", [False, True], ids=["torch.compile", "model.compile"])
def test_a_compiled_model_can_be_traced_and_stays_compiled(model, idx, fresh_compiler, in_place):
    expected, _ = model(idx)
    if in_place:
        model.compile(backend="aot_eager", fullgraph=True)
        compiled = model
    else:
        compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    with torch.no_grad():
        before = compiled(idx)[0]
        with trace(compiled) as t:
            traced, _ = compiled(idx)
        with trace(compiled, edits={"embd": torch.zeros_like}):
            edited, _ = compiled(idx)
        with torch.compiler.set_stance("fail_on_recompile"):  # the old graph still serves
            after = compiled(idx)[0]
    assert t.names == [name for name, _ in IN_ORDER]
    assert torch.equal(t["logits"], traced)
    assert torch.equal(before, after)
    torch.testing.assert_close(before, expected)
    torch.testing.assert_close(traced, expected)
    assert not edited.allclose(expected)
    assert hooks_of(model) == 0


def test_what_is_not_a_model_is_refused():
    with pytest.raises(TypeError, match="trace takes a model, got 3"), trace(3):
        pass
