"""The reader's own GPT-2: every step, the file that grows, and what can go wrong with it."""

from __future__ import annotations

import ast
import linecache
import re
import sys
from pathlib import Path

import nbformat
import pytest
import torch

import gpt2_edu
from gpt2_edu import GPT2, GPT2Config, crane, generate, load_tokenizer, stream, trace
from gpt2_edu.analysis.heads import attention_statistics, head_effects
from gpt2_edu.exercises import build, my_gpt2
from gpt2_edu.exercises import step as step_module
from gpt2_edu.exercises.checking import examine_with
from gpt2_edu.exercises.exercise import changed
from gpt2_edu.exercises.mine import BOOK, FILE, PREVIOUS, count_lines
from gpt2_edu.exercises.source import definitions, source_of
from gpt2_edu.exercises.step import Step, book_parts, current, fill, find_step, steps
from gpt2_edu.exercises.steps.gpt2 import NAMES
from gpt2_edu.training import plain
from gpt2_site import make_practice
from gpt2_site.chapters import chapters

HERE = Path(__file__).parent
CRANE = Path(gpt2_edu.__file__).parent / "assets" / "crane"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GPT2_EDU_BOOK", raising=False)
    return tmp_path


@pytest.fixture(params=steps())
def step(request) -> Step:
    return find_step(request.param)


def written(code: str, before: str) -> list:
    """What a reader's cell with this code defines, as a notebook would have it."""
    space = vars(my_gpt2(before)).copy()
    file = f"<cell {hash(code)}>"
    linecache.cache[file] = (len(code), None, code.splitlines(True), file)
    exec(compile(code, file, "exec"), space)
    return [space[name] for name in definitions(code)]


def ranks(tokenizer: str = "crane") -> dict[bytes, int]:
    encoding = load_tokenizer(tokenizer)
    return {encoding.decode_single_token_bytes(i): i for i in range(encoding.n_vocab)}


# ---- The steps


def test_steps_are_those_of_chapters_in_their_order():
    slugs = [chapter.slug for chapter in chapters()]
    assert list(steps()) == [slug for slug in slugs if slug in steps()]
    files = {file.stem for file in Path(step_module.__file__).parent.glob("steps/*.py")}
    assert files - {"__init__"} == set(steps())


def test_the_books_answer_passes_and_the_start_says_not_yet(step, capsys):
    assert list(definitions(step.start)) == list(definitions(step.solution)) == list(step.defines)
    assert build(step.name, *written(step.start, step.name)) is False
    assert "Not yet" in capsys.readouterr().out
    assert not Path(FILE).exists()
    assert build(step.name, *written(step.solution, step.name)) is True


def test_each_known_mistake_is_told_by_its_own_message(step):
    messages = [mistake.message for mistake in step.mistakes]
    assert len(set(messages)) == len(messages) >= 3
    for mistake in step.mistakes:
        report = examine_with(step, step.answer(mistake.code))
        assert not report.passed, mistake.message
        assert report.diagnosis == mistake.message


@pytest.mark.parametrize("old", ["y", "x"], ids=["missing", "twice"])
def test_a_mistake_that_no_longer_fits_its_solution_is_told(old):
    assert changed("x = 1 + x", ("1", "2"), ("x =", "y =")) == "y = 2 + x"
    with pytest.raises(ValueError, match=f"'{old}' occurs . times"):
        changed("x = 1 + x", (old, "z"))


def test_a_step_needs_nothing_but_earlier_steps_and_its_imports(step):
    until = ast.parse("\n".join(step.imports))
    imported = {(a.asname or a.name) for node in until.body for a in node.names}
    parts = set(current(list(steps().values())[: list(steps()).index(step.name) + 1]))
    builtin = set(dir(__builtins__)) if not isinstance(__builtins__, dict) else set(__builtins__)
    for source in definitions(step.solution).values():
        tree = ast.parse(source)
        bound = {
            n.id
            for n in ast.walk(tree)
            if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)
        }
        bound |= {a.arg for a in ast.walk(tree) if isinstance(a, ast.arg)}
        used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} - bound - builtin
        assert used <= imported | parts | set(definitions(step.solution)), step.name


def test_a_step_fits_a_notebooks_width(step):
    lines = (step.start + "\n" + step.solution).splitlines()
    assert [line for line in lines if len(line) > 80] == []


def test_chapters_with_a_step_are_those_that_ask_for_one():
    asking = [chapter.slug for chapter in chapters() if "## Now write it" in chapter.markdown]
    assert asking == list(steps())


@pytest.mark.parametrize(
    "chapter", [c for c in chapters() if c.slug in steps()], ids=lambda c: c.name
)
def test_a_chapters_cells_are_those_of_its_step(chapter):
    nb = nbformat.read(chapter.path, as_version=4)
    cells = [c.source for c in nb.cells if c.cell_type == "code"]
    assert sum(f'build("{chapter.slug}"' in source for source in cells) == 1
    answer = (
        f"<summary>The book's answer</summary>\n\n```python\n{steps()[chapter.slug].solution}\n"
    )
    assert answer in chapter.markdown
    assert not make_practice.with_step(nb, steps()[chapter.slug]), "run: make notebooks"


def code_alone(function: str) -> str:
    """A function's code without its docstring, its annotations and its comments."""
    tree = ast.parse(function)
    (node,) = tree.body
    node.returns, node.body = None, node.body[ast.get_docstring(node) is not None :]
    for arg in ast.walk(node.args):
        if isinstance(arg, ast.arg):
            arg.annotation = None
    return ast.unparse(tree)


@pytest.mark.parametrize("name", ["batch", "train"])
def test_the_plain_loop_is_the_same_in_the_package_in_the_story_and_in_the_answer(name):
    """By design the package has annotations as well, and its docstrings say more."""
    (chapter,) = (chapter for chapter in chapters() if chapter.slug == "training")
    cells = [c.source for c in nbformat.read(chapter.path, as_version=4).cells]
    (story,) = (c for c in cells if c.startswith(f"def {name}(") and "build(" not in c)
    sources = [story, Path(plain.__file__).read_text("utf-8"), find_step("training").solution]
    assert len({code_alone(definitions(source)[name]) for source in sources}) == 1


# ---- The whole


def test_a_reader_who_writes_every_part_has_a_gpt2_that_equals_the_packages(folder, capsys):
    for step in steps().values():
        assert build(step.name, *written(step.solution, step.name)), step.name
        if step.name == "gpt2":
            lines = count_lines(Path(FILE).read_text("utf-8"))
    assert BOOK not in Path(FILE).read_text("utf-8")
    assert 80 <= lines <= 130
    capsys.readouterr()
    mine = my_gpt2("bugs")
    assert capsys.readouterr().out == ""
    assert mine.__file__ == str(folder / FILE)

    model, reference = mine.load(CRANE), GPT2.from_pretrained("crane").eval()
    torch.manual_seed(0)
    idx = torch.randint(1024, (2, 100))
    torch.testing.assert_close(model(idx), reference(idx)[0], atol=1e-4, rtol=1e-4)


def test_the_file_needs_nothing_of_the_package_but_note_and_writes_grammatical_stories(folder):
    assert build("weights", *written(find_step("weights").solution, "weights"))
    text = Path(FILE).read_text("utf-8")
    assert [line for line in text.splitlines() if "gpt2_edu" in line] == [
        "from gpt2_edu import note"
    ]
    mine = my_gpt2("weights")
    model, encoding = mine.load(CRANE), ranks()
    torch.manual_seed(0)
    good = 0
    for _ in range(10):
        ids = mine.generate(model, torch.tensor([[1023]]), 100)[0, 1:].tolist()
        story = mine.decode(ids, encoding).partition("<|endoftext|>")[0]
        good += crane.judge(story).grammatical
    assert good >= 8


def test_logits_equal_the_packages_at_the_widths_of_gpt2():
    mine = my_gpt2("gpt2")
    config = GPT2Config(vocab_size=1000, n_layer=2)
    torch.manual_seed(0)
    reference = GPT2(config).eval()
    model = fill(mine.GPT2(1000, 1024, 2, 12, 768), reference, NAMES)
    idx = torch.randint(1000, (1, 64))
    torch.testing.assert_close(model(idx), reference(idx)[0], atol=1e-4, rtol=1e-4)


# ---- Looking inside


def test_a_tape_of_the_readers_model_has_the_packages_tensors():
    idx = torch.arange(14).view(2, 7)
    tapes = []
    for model in (my_gpt2("weights").load(CRANE), GPT2.from_pretrained("crane")):
        with trace(model) as t:
            model(idx)
        tapes.append(t)
    mine, theirs = tapes
    assert [path.removeprefix("embeddings.") for path in mine] == [
        path.removeprefix("transformer.") for path in theirs
    ]
    for path, own in zip(mine, theirs, strict=True):
        torch.testing.assert_close(mine[path], theirs[own], atol=1e-4, rtol=1e-4)
    for (_, axes, shape), (_, expected, size) in zip(
        mine.ledger().rows(), theirs.ledger().rows(), strict=True
    ):
        assert (axes.replace("...", "B H"), shape) == (expected, size)


def test_trace_heads_and_text_follow_the_readers_mlp(folder):
    """The reader changes one line of the file, and looks at both models with the same weights."""
    assert build("mlp", *written(find_step("mlp").solution, "mlp"))
    assert build("weights", *written(find_step("weights").solution, "weights"))
    gelu = my_gpt2("weights").load(CRANE)
    text = changed(
        Path(FILE).read_text("utf-8"), ('F.gelu(pre, approximate="tanh")', "F.relu(pre)")
    )
    Path(FILE).write_text(text, "utf-8")
    relu = my_gpt2("weights").load(CRANE)

    encoding = load_tokenizer("crane")
    idx = torch.tensor([[encoding.eot_token, *encoding.encode("By the river, the crane")]])
    with trace(gelu) as before:
        gelu(idx)
    with trace(relu) as after:
        relu(idx)
    assert before.names == after.names
    assert torch.equal(before["h.0.mlp.pre"], after["h.0.mlp.pre"])
    assert torch.equal(after["h.0.mlp.act"], before["h.0.mlp.pre"].relu())
    assert not torch.allclose(before["h.0.mlp.act"], after["h.0.mlp.act"], atol=0.01)
    assert torch.equal(before["h.0.attn.weights"], after["h.0.attn.weights"])
    assert not torch.allclose(before["h.1.attn.weights"], after["h.1.attn.weights"], atol=0.01)

    first, *_, last = zip(*(attention_statistics(m, encoding, [2]).heads for m in (gelu, relu)))
    assert first[0] == first[1]
    assert last[0] != last[1]
    ours, theirs = (head_effects(m, encoding, [2]).heads for m in (gelu, relu))
    assert len(ours) == len(theirs) == 12
    assert all(a.margin_drops != b.margin_drops for a, b in zip(ours, theirs, strict=True))

    texts = [generate(model, idx, 40, temperature=0) for model in (gelu, relu)]
    assert not torch.equal(*texts)
    streamed = torch.stack(list(stream(relu, idx, 40, temperature=0)), dim=1)
    assert torch.equal(texts[1][:, idx.size(1) :], streamed)
    edited = trace(relu, edits={"h.0.mlp.act": before["h.0.mlp.act"]})
    with edited as t:
        relu(idx)
    assert torch.equal(t["h.1.attn.weights"], before["h.1.attn.weights"])


def test_heads_of_the_readers_model_are_those_of_the_packages():
    encoding, reference = load_tokenizer("crane"), GPT2.from_pretrained("crane")
    mine = my_gpt2("weights").load(CRANE)
    ours, theirs = (attention_statistics(m, encoding, [2, 3]).heads for m in (mine, reference))
    for a, b in zip(ours, theirs, strict=True):
        assert (a.layer, a.head) == (b.layer, b.head)
        assert a.weights == pytest.approx(b.weights, abs=1e-4)
    ours, theirs = (head_effects(m, encoding, [2], replacement="mean") for m in (mine, reference))
    for a, b in zip(ours.heads, theirs.heads, strict=True):
        assert a.margin_drops == pytest.approx(b.margin_drops, abs=1e-2)


def test_fused_attention_has_heads_to_remove_but_no_weights_to_show():
    encoding, model = load_tokenizer("crane"), my_gpt2("fast").load(CRANE)
    assert len(head_effects(model, encoding, [2]).heads) == 12
    with pytest.raises(ValueError, match=r"no tensor was noted as 'attn\.weights'"):
        attention_statistics(model, encoding, [2])


def test_a_file_from_before_note_opens_passes_and_generates(folder, capsys):
    old = (HERE / "my_gpt2_without_note.txt").read_text("utf-8")
    assert "note" not in old
    Path(FILE).write_text(old, "utf-8")
    mine = my_gpt2("weights")
    assert capsys.readouterr().out == ""
    model, reference = mine.load(CRANE), GPT2.from_pretrained("crane")
    idx = torch.tensor([[1023, 258, 483]])
    torch.testing.assert_close(model(idx), reference(idx)[0], atol=1e-4, rtol=1e-4)
    ids = generate(model, idx, 20, temperature=0)
    assert torch.equal(ids, generate(reference, idx, 20, temperature=0))
    assert mine.generate(model, idx, 3).shape == (1, 6)
    with trace(model) as t:
        model(idx)
    assert len(t) == 0
    with pytest.raises(ValueError, match=r"no tensor was noted as 'attn\.weights'"):
        attention_statistics(model, load_tokenizer("crane"), [2])

    for name in steps():  # its parts are what they were, whatever is built beside them
        if name in ("tokens", "embeddings", "mask", "heads", "mlp", "block", "gpt2", "weights"):
            parts = [getattr(mine, part) for part in find_step(name).defines]
            assert build(name, *parts), name
    assert build("generation", *written(find_step("generation").solution, "generation"))
    new = definitions(Path(FILE).read_text("utf-8"))
    kept = definitions(old)
    assert {name: new[name] for name in kept if name != "generate"} == {
        name: source for name, source in kept.items() if name != "generate"
    }


# ---- The file


def test_what_is_skipped_is_the_books_and_the_file_says_so(capsys):
    assert build("mlp", *written(find_step("mlp").solution, "mlp"))
    out = capsys.readouterr().out
    assert "The book's: encode, decode, Embeddings, attention, CausalSelfAttention." in out
    text = Path(FILE).read_text("utf-8")
    assert "# from chapter 7: mlp\nclass MLP" in text
    assert f"# from chapter 6: heads{BOOK}\nclass CausalSelfAttention" in text

    assert build("heads", *written(find_step("heads").solution, "heads"))
    text = Path(FILE).read_text("utf-8")
    assert "# from chapter 6: heads\nclass CausalSelfAttention" in text
    assert "# from chapter 7: mlp\nclass MLP" in text


def test_a_part_takes_the_place_of_its_earlier_form():
    for name in ("attention", "mask"):
        assert build(name, *written(find_step(name).solution, name))
    text = Path(FILE).read_text("utf-8")
    assert text.count("def attention") == 1
    assert "tril" in text
    assert build("heads", *written(find_step("heads").solution, "heads"))
    assert "class Head(" not in Path(FILE).read_text("utf-8")


def test_an_earlier_chapter_again_does_not_undo_a_later_one(capsys):
    for name in ("crane", "mask"):
        assert build(name, *written(find_step(name).solution, name))
    before = Path(FILE).read_text("utf-8")
    assert build("crane", *written(find_step("crane").solution, "crane"))
    assert "a later chapter has taken the place of attention" in capsys.readouterr().out
    assert Path(FILE).read_text("utf-8") == before


def test_a_part_that_no_chapter_asks_for_anew_stays_the_readers():
    """Chapter 14 is skipped, and nothing in chapter 15 calls ``train``."""
    mine = changed(find_step("training").solution, ("losses = []", "losses = list()"))
    assert build("training", *written(mine, "training"))
    assert build("generation", *written(find_step("generation").solution, "generation"))
    text = Path(FILE).read_text("utf-8")
    assert "# from chapter 13: training\ndef train(" in text
    assert text.count("def train(") == text.count("losses = list()") == 1
    assert "warmup" not in my_gpt2("generation").train.__code__.co_varnames
    assert "warmup" in my_gpt2("training_well").train.__code__.co_varnames  # that is its point


def test_a_readers_part_comes_back_in_place_of_the_books_later_form(capsys):
    assert build("generation", *written(find_step("generation").solution, "generation"))
    assert f"# from chapter 14: training_well{BOOK}\ndef train(" in Path(FILE).read_text("utf-8")
    assert build("training", *written(find_step("training").solution, "training"))
    assert "# from chapter 13: training\ndef train(" in Path(FILE).read_text("utf-8")
    assert "a later chapter" not in capsys.readouterr().out


def test_a_part_that_a_later_one_calls_in_a_newer_form_is_the_books(capsys):
    """Chapters 5 and 10 are skipped, and heads need a mask, GPT2 its norms."""
    for name in ("attention", "residual", "gpt2"):
        assert build(name, *written(find_step(name).solution, name))
    text = Path(FILE).read_text("utf-8")
    assert f"# from chapter 5: mask{BOOK}\ndef attention(" in text
    assert f"# from chapter 10: block{BOOK}\nclass Block(" in text
    for name in ("attention", "residual"):
        assert build(name, *written(find_step(name).solution, name))
        assert "stays as it is: a later chapter" in capsys.readouterr().out
    assert Path(FILE).read_text("utf-8") == text
    assert build("mask", *written(find_step("mask").solution, "mask"))
    assert "# from chapter 5: mask\ndef attention(" in Path(FILE).read_text("utf-8")


def test_chapters_in_any_order_give_the_same_file(folder):
    texts = []
    for names in (list(steps()), list(reversed(steps()))):
        (folder / FILE).unlink(missing_ok=True)
        for name in names:
            assert build(name, *written(find_step(name).solution, name))
        texts.append((folder / FILE).read_text("utf-8"))
    assert texts[0] == texts[1]


def test_a_chapter_again_changes_its_own_parts_alone(capsys):
    for name in ("training", "training_well"):
        assert build(name, *written(find_step(name).solution, name))
    before = definitions(Path(FILE).read_text("utf-8"))
    mine = changed(
        find_step("training").solution, ("for start in starts", "for start in [*starts]")
    )
    capsys.readouterr()
    assert build("training", *written(mine, "training"))
    assert "Not written: a later chapter has taken the place of train." in capsys.readouterr().out
    after = definitions(Path(FILE).read_text("utf-8"))
    assert after == before | {"batch": definitions(mine)["batch"]}


def test_what_the_reader_adds_to_the_file_stays_and_the_last_version_is_kept():
    assert build("mlp", *written(find_step("mlp").solution, "mlp"))
    text = Path(FILE).read_text("utf-8")
    text = text.replace('chapter."""', 'chapter."""\nimport os  # mine')
    text += "\n\ndef mine_too():\n    return 1\n"
    Path(FILE).write_text(text, "utf-8")
    assert build("heads", *written(find_step("heads").solution, "heads"))
    new = Path(FILE).read_text("utf-8")
    assert "import os  # mine" in new
    assert "def mine_too" in new
    assert Path(PREVIOUS).read_text("utf-8") == text
    assert my_gpt2("mlp").mine_too() == 1


def test_a_part_that_the_reader_changes_by_hand_is_used():
    assert build("mlp", *written(find_step("mlp").solution, "mlp"))
    text = Path(FILE).read_text("utf-8")
    Path(FILE).write_text(text.replace("4 * n_embd", "2 * n_embd"), "utf-8")
    assert my_gpt2("mlp").MLP(6).c_fc.weight.shape == (12, 6)


TRIANGLES = {
    "the shape of the scores": (
        "torch.ones(T, T, dtype=torch.bool, device=q.device).tril()",
        "torch.ones_like(scores, dtype=torch.bool).tril()",
    ),
    "is_causal": (
        "return weights @ v",
        "return F.scaled_dot_product_attention(q, k, v, is_causal=True)",
    ),
}


@pytest.mark.parametrize("triangle", TRIANGLES.values(), ids=TRIANGLES)
def test_a_triangle_at_the_top_left_is_told_when_keys_are_kept(triangle, capsys):
    """Chapter 5 accepts it, for as many keys as queries. Mended in the file, it does."""
    mine = changed(find_step("mask").solution, triangle)
    assert build("mask", *written(mine, "mask"))
    cache = find_step("cache").solution
    capsys.readouterr()
    assert build("cache", *written(cache, "cache")) is False
    assert "lays its triangle at the top left" in capsys.readouterr().out
    text = Path(FILE).read_text("utf-8")
    mended = "torch.ones(T, k.size(-2), dtype=torch.bool).tril(k.size(-2) - T)"
    text = text.replace(TRIANGLES["the shape of the scores"][1], mended)
    text = text.replace("is_causal=True", f"attn_mask={mended}")
    Path(FILE).write_text(text, "utf-8")
    assert build("cache", *written(cache, "cache"))
    for name in ("inside", "fast", "bugs"):
        assert build(name, *written(find_step(name).solution, name)), name


@pytest.mark.parametrize("part", ["heads", "mlp"])
def test_a_mark_with_an_unknown_chapter_is_a_comment(part, capsys):
    for name in ("heads", "mlp"):
        assert build(name, *written(find_step(name).solution, name))
    text = Path(FILE).read_text("utf-8")
    chapter = find_step(part).chapter
    unknown = text.replace(f"# from chapter {chapter}: {part}", f"# from chapter {chapter}: mine")
    Path(FILE).write_text(unknown, "utf-8")
    assert hasattr(my_gpt2("mlp"), "MLP")
    capsys.readouterr()
    assert build("residual", *written(find_step("residual").solution, "residual"))
    assert find_step(part).defines[0] in capsys.readouterr().out.partition("The book's:")[2]
    assert Path(PREVIOUS).read_text("utf-8") == unknown


def test_a_file_with_an_error_is_told_and_left(capsys):
    broken = "class MLP(:\n"
    Path(FILE).write_text(broken, "utf-8")
    mine = my_gpt2("mlp")
    assert "error in line 1" in capsys.readouterr().out
    assert mine.MLP(6).c_fc.weight.shape == (24, 6)
    assert build("mlp", *written(find_step("mlp").solution, "mlp"))
    assert "left as it is" in capsys.readouterr().out
    assert Path(FILE).read_text("utf-8") == broken


def test_a_file_that_stops_when_it_is_run_is_told_and_left(capsys):
    assert build("mlp", *written(find_step("mlp").solution, "mlp"))
    Path(FILE).write_text(Path(FILE).read_text("utf-8") + "\n1 / 0\n", "utf-8")
    mine = my_gpt2("mlp")
    assert "does not run: ZeroDivisionError" in capsys.readouterr().out
    assert hasattr(mine, "MLP")


def test_a_folder_that_cannot_be_written_loses_nothing(monkeypatch, capsys):
    def refuse(*_args):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(sys.modules["gpt2_edu.exercises.mine"], "write_text", refuse)
    assert build("mlp", *written(find_step("mlp").solution, "mlp"))
    assert "Not written" in capsys.readouterr().out


def test_while_the_book_is_made_nothing_is_written_and_all_parts_are_the_books(monkeypatch, capsys):
    monkeypatch.setenv("GPT2_EDU_BOOK", "1")
    assert build("mlp", *written(find_step("mlp").solution, "mlp"))
    assert not Path(FILE).exists()
    capsys.readouterr()
    assert my_gpt2("mlp").MLP(6)
    assert capsys.readouterr().out.startswith("All ")


def test_of_two_definitions_in_one_file_the_one_that_is_given_is_taken():
    code = (
        "def f():\n    return 1\n\n\nfirst = f\n\n\nclass A:\n    def f(self):\n        return 1\n"
    )
    code += "\n\nolder = A\n\n\n" + code.replace("1", "2").replace("first", "second")
    space, file = {}, "<two of a name>"
    linecache.cache[file] = (len(code), None, code.splitlines(True), file)
    exec(compile(code, file, "exec"), space)
    assert source_of(space["first"]) == "def f():\n    return 1"
    assert source_of(space["second"]) == "def f():\n    return 2"
    assert source_of(space["older"]) == "class A:\n    def f(self):\n        return 1"
    assert source_of(space["A"]) == "class A:\n    def f(self):\n        return 2"


def test_parts_stand_behind_those_that_they_need_and_imports_together():
    for name in ("residual", "layernorm", "mlp", "weights", "training"):
        assert build(name, *written(find_step(name).solution, name))
    text = Path(FILE).read_text("utf-8")
    names = list(definitions(text))
    assert names.index("LayerNorm") < names.index("Block") < names.index("GPT2")
    assert names.index("attention") < names.index("CausalSelfAttention") < names.index("Block")
    head = text.partition("\n\n\n")[0].splitlines()
    imports = [line for line in head if line.startswith(("import ", "from "))]
    assert len(imports) == len(set(imports)) == 10
    assert head.count("") == 2  # below the title, and between Python's own and the others


def test_an_answer_may_use_what_readers_usually_import():
    code = find_step("mask").solution.replace(
        "masked_scores.softmax(dim=-1)", "F.softmax(masked_scores, dim=-1)"
    )
    assert "F.softmax" in code
    assert build("mask", *written(code, "mask"))


# ---- Wrong calls


def test_an_unknown_chapter_is_refused_with_the_nearest():
    with pytest.raises(ValueError, match="mlp"):
        build("mpl", int)
    with pytest.raises(ValueError, match="There are: tokens"):
        my_gpt2("nothing")


def test_other_parts_than_the_chapters_are_told(capsys):
    assert build("mlp") is False
    assert (
        'this chapter asks for MLP, and got nothing: build("mlp", MLP)' in capsys.readouterr().out
    )
    assert build("mlp", 3) is False
    assert "got 3" in capsys.readouterr().out


def test_a_part_that_needs_other_cells_is_told(capsys):
    code = "def rate(step, *rest):\n    return helper(step)\n\n\n"
    code += definitions(find_step("training_well").solution)["train"]
    assert build("training_well", *written(code, "training_well")) is False
    assert (
        "name 'helper' is not defined (in rate: return helper(step)). If another cell defines it, "
        "move it into rate or train: build takes nothing else\n"
    ) in capsys.readouterr().out


def test_a_class_that_needs_other_cells_when_it_is_defined_is_told(capsys):
    code = "wide = 4\n\n\n" + changed(
        find_step("mlp").solution, ("(self, n_embd):", "(self, n_embd, times=wide):")
    )
    *_, mlp = written(code, "mlp")
    assert build("mlp", mlp) is False
    assert (
        "Defining it stops with NameError: name 'wide' is not defined. If another cell defines it, "
        "move it into MLP: build takes nothing else."
    ) in capsys.readouterr().out


# A step, a change that makes one of its parts wrong, the part that is left as it was at the start,
# and what is said of either.
HALF = {
    "attention": (
        "attention",
        (" / math.sqrt(D)", ""),
        "Head",
        "The division is missing",
        "Not yet: write Head, then",
    ),
    "encode": (
        "tokens",
        ("[best]  # merge", "[best]\n            break"),
        "decode",
        "You merge one pair only",
        "Not yet: write decode, then",
    ),
    "decode": (
        "tokens",
        (', errors="replace"', ""),
        "encode",
        "Half a character stops your `decode`",
        "Not yet: write encode, then",
    ),
    "GPT2": (
        "gpt2",
        ("self.ln_f(x)", "x"),
        "generate",
        "The last norm is missing",
        "Not yet: write generate, then",
    ),
}


@pytest.mark.parametrize(("name", "slip", "left", "told", "then"), HALF.values(), ids=HALF)
def test_one_part_is_judged_while_the_other_is_unfinished(name, slip, left, told, then, capsys):
    step = find_step(name)
    for code, said in ((changed(step.solution, slip), told), (step.solution, then)):
        parts = definitions(code) | {left: definitions(step.start)[left]}
        assert build(name, *written("\n\n\n".join(parts.values()), name)) is False
        out = capsys.readouterr().out
        assert said in out
        assert "return` missing" not in out and "has no parameter" not in out
    assert out.count("  ok   ") >= 1
    assert not Path(FILE).exists()


def test_a_class_with_an_unfinished_method_is_not_yet_written(capsys):
    head = definitions(find_step("attention").solution)
    head["Head"] = head["Head"].partition("        q, k, v")[0] + "        ..."
    assert build("attention", *written("\n\n\n".join(head.values()), "attention")) is False
    assert "Not yet: write Head.forward, then run the cell again." in capsys.readouterr().out


def test_a_line_of_dots_that_is_left_in_a_finished_part_does_no_harm():
    code = changed(find_step("mlp").solution, ("        pre =", "        ...\n        pre ="))
    assert build("mlp", *written(code, "mlp"))


def test_the_class_without_its_method_is_told_by_pytorchs_own_words(capsys):
    code = changed(find_step("mlp").solution, ("def forward", "def foward"))
    assert build("mlp", *written(code, "mlp")) is False
    assert 'missing the required "forward" function' in capsys.readouterr().out


@pytest.mark.parametrize(
    "positions",
    [
        (
            "torch.arange(idx.size(1), device=idx.device)",
            "torch.arange(idx.size(1)).to(idx.device)",
        ),
        ("self.wpe(positions)", "self.wpe.weight[: idx.size(1)]"),
        ("device=idx.device", "device=self.wpe.weight.device"),
    ],
)
def test_positions_may_come_to_the_device_of_the_ids_in_other_ways(positions):
    code = changed(find_step("embeddings").solution, positions)
    assert build("embeddings", *written(code, "embeddings"))


@pytest.mark.parametrize("given", ["logits", "logits.log_softmax(dim=-1)"])
def test_drawing_by_what_are_no_probabilities_is_told(given, capsys):
    code = changed(find_step("gpt2").solution, ("logits.softmax(dim=-1)", given))
    assert build("gpt2", *written(code, "gpt2")) is False
    assert "`multinomial` draws by probabilities" in capsys.readouterr().out


def test_the_books_answer_is_asked_for_even_where_the_fence_is_empty():
    """An empty one was once taken for none, and stayed empty."""
    step = find_step("fast")
    fold = "<details><summary>The book's answer</summary>\n\n```python\n```\n\n</details>"
    nb = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_code_cell('build("fast", attention)'),
            nbformat.v4.new_markdown_cell(fold),
        ]
    )
    assert make_practice.with_step(nb, step)
    assert f"```python\n{step.solution}\n```" in nb.cells[1].source


def test_a_name_that_only_the_notebook_has_is_told(capsys):
    code = find_step("residual").solution.replace("MLP(", "mine.MLP(")
    assert build("residual", *written(code, "residual")) is False
    assert "in your file the parts have their bare names" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ('elif "bias" in name:', 'elif "bias" in name and "c_proj" not in name:', "largest bias"),
        ('elif "bias" in name:', "else:", "smallest γ"),
        ("math.sqrt(2 * n_layer)", "math.sqrt(n_layer)", "spread of c_proj"),
        ("std=0.02 / narrow", "std=1 / narrow", "spread of tables"),
    ],
)
def test_a_model_that_starts_wrong_is_told(capsys, right, wrong, said):
    code = find_step("gpt2").solution
    assert right in code
    assert build("gpt2", *written(code.replace(right, wrong), "gpt2")) is False
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("step", "right", "wrong", "case"),
    [
        ("training_well", "total += loss.item() / accumulate", "total = loss.item()", "portions"),
        (
            "training_well",
            "nn.utils.clip_grad_norm_(model.parameters(), clip)",
            "[nn.utils.clip_grad_norm_([p], clip) for p in model.parameters()]",
            "clipped",
        ),
        ("training", "torch.randint(len(ids) - T, (batch_size,))", "[0] * batch_size", "batch: 3"),
        (
            "training",
            "torch.randint(len(ids) - T, (batch_size,))",
            "range(batch_size)",
            "batch: 3",
        ),
        ("training", "return losses", "return [99.0] * steps", "train: 40"),
    ],
)
def test_slips_that_cost_little_are_found_too(capsys, step, right, wrong, case):
    code = find_step(step).solution
    assert right in code
    assert build(step, *written(code.replace(right, wrong), step)) is False
    assert re.search(rf"no   .*{case}", capsys.readouterr().out)


def test_other_parameters_than_gpt2s_are_told(capsys):
    code = find_step("mlp").solution.replace("c_fc", "first")
    assert build("mlp", *written(code, "mlp")) is False
    out = capsys.readouterr().out
    assert "MLP has no parameter c_fc.weight; it has first.weight, first.bias" in out


def test_every_part_of_the_last_chapter_has_a_source():
    assert all(source for _, source in book_parts("bugs").values())
