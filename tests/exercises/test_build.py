"""The reader's own GPT-2: every step, the file that grows, and what can go wrong with it."""

from __future__ import annotations

import ast
import builtins
import linecache
import re
import sys
from pathlib import Path

import nbformat
import pytest
import torch
from torch import nn

import gpt2_edu
from gpt2_edu import GPT2, crane, generate, load_tokenizer, stream, trace
from gpt2_edu.analysis.heads import attention_statistics
from gpt2_edu.exercises import build, checking, my_gpt2
from gpt2_edu.exercises.checking import examine_with
from gpt2_edu.exercises.exercise import Exercise, changed, find_step, steps
from gpt2_edu.exercises.mine import BOOK, FILE, PREVIOUS, count_lines
from gpt2_edu.exercises.source import definitions, source_of
from gpt2_edu.exercises.step import book_parts, current, fill, steps_until
from gpt2_edu.training import plain
from gpt2_site.chapters import chapters
from tests.exercises.conftest import EACH_SIXTH, missing_names

pytestmark = pytest.mark.slow

CRANE = Path(gpt2_edu.__file__).parent / "assets" / "crane"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GPT2_EDU_BOOK", raising=False)
    return tmp_path


@pytest.fixture(params=steps())
def step(request) -> Exercise:
    return find_step(request.param)


def written(code: str, before: str) -> list:
    """What a reader's cell with this code defines, as a notebook would have it."""
    space = vars(my_gpt2(before)).copy()
    file = f"<cell {hash(code)}>"
    linecache.cache[file] = (len(code), None, code.splitlines(True), file)
    exec(compile(code, file, "exec"), space)
    return [space[name] for name in definitions(code)]


def build_book(*names: str) -> None:
    """Build the book's answers of these chapters, one after another."""
    for name in names:
        assert build(name, *written(find_step(name).solution, name)), name


def build_changed(name: str, *slips: tuple[str, str]) -> bool:
    """Build a chapter's answer with slips in it."""
    return build(name, *written(changed(find_step(name).solution, *slips), name))


def file_text() -> str:
    return Path(FILE).read_text("utf-8")


def ranks(tokenizer: str = "crane") -> dict[bytes, int]:
    encoding = load_tokenizer(tokenizer)
    return {encoding.decode_single_token_bytes(i): i for i in range(encoding.n_vocab)}


# ---- The steps


def test_steps_are_those_of_chapters_that_ask_for_one():
    asking = [chapter.slug for chapter in chapters() if "## Now write it" in chapter.markdown]
    assert asking == list(steps())


def test_the_books_answer_passes_and_the_start_says_not_yet(step, capsys):
    assert list(definitions(step.start)) == list(definitions(step.solution)) == list(step.parts)
    assert max(map(len, (step.start + "\n" + step.solution).splitlines())) <= 80
    assert build(step.name, *written(step.start, step.name)) is False
    assert "Not yet" in capsys.readouterr().out
    assert not Path(FILE).exists()
    assert build(step.name, *written(step.solution, step.name)) is True


@EACH_SIXTH
def test_each_known_mistake_is_told_by_its_own_message(step, some, execute_once):
    """The same one may be made in two ways."""
    assert len(step.mistakes) >= 3
    for mistake in step.mistakes[some]:
        report = examine_with(step, execute_once(step, step.code_of(mistake)))
        assert not report.passed, mistake.message
        assert report.diagnosis == mistake.message
        assert not missing_names(step, mistake), mistake.message


def test_a_mistake_must_fit_its_solution():
    assert changed("x = 1 + x", ("1", "2"), ("x =", "y =")) == "y = 2 + x"
    for old in ("y", "x"):
        with pytest.raises(ValueError, match=f"'{old}' occurs"):
            changed("x = 1 + x", (old, "z"))


def test_a_step_needs_nothing_but_earlier_steps_and_its_imports(step):
    """Its own parts and imports, those of earlier steps, and what Python has."""
    imports = [a for node in ast.parse("\n".join(step.imports)).body for a in node.names]
    given = {alias.asname or alias.name for alias in imports} | set(dir(builtins))
    given |= set(current(steps_until(step.name))) | set(step.parts)
    tree = ast.parse(step.solution)
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    bound = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    bound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    assert {node.id for node in names} <= given | bound


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


def test_a_file_may_begin_with_a_byte_order_mark_and_be_a_link(folder):
    (folder / "elsewhere.py").write_text("own = 1\n", encoding="utf-8-sig")
    Path(FILE).symlink_to("elsewhere.py")
    build_book("crane")
    assert Path(FILE).is_symlink()
    assert file_text().startswith("own = 1\n")


# ---- The whole


def test_a_reader_who_writes_every_part_has_a_gpt2_that_equals_the_packages(folder, capsys):
    first = [step.name for step in steps_until("gpt2")]
    build_book(*reversed(first))
    text = file_text()
    Path(FILE).unlink()
    build_book(*first)
    assert file_text() == text, "the order of the chapters makes no difference"
    assert 80 <= count_lines(text) <= 130
    build_book(*[name for name in steps() if name not in first])
    text = file_text()
    assert BOOK not in text
    capsys.readouterr()
    mine = my_gpt2("bugs")
    assert capsys.readouterr().out == ""
    assert mine.__file__ == str(folder / FILE)

    model, reference = mine.load(CRANE), GPT2.from_pretrained("crane")
    idx = torch.randint(1024, (2, 100), generator=torch.manual_seed(0))
    torch.testing.assert_close(model(idx), reference(idx)[0], atol=1e-4, rtol=1e-4)


def test_the_file_needs_nothing_of_the_package_but_note_and_writes_grammatical_stories(folder):
    build_book("weights")
    text = file_text()
    assert [line for line in text.splitlines() if "gpt2_edu" in line] == [
        "from gpt2_edu import note"
    ]
    mine = my_gpt2("weights")
    model, encoding = mine.load(CRANE), ranks()
    torch.manual_seed(0)
    good = 0
    for _ in range(4):
        ids = mine.generate(model, torch.tensor([[1023]]), 100)[0, 1:].tolist()
        story = mine.decode(ids, encoding).partition("<|endoftext|>")[0]
        good += crane.judge(story).grammatical
    assert good >= 3


def test_a_readers_llama_is_their_gpt2_with_other_parts_and_writes_with_the_same_loop():
    build_book("generation", "llama")
    assert "# from chapter 20: llama\nclass Llama(GPT2)" in file_text()
    mine = my_gpt2("llama")
    assert mine.Llama.forward is mine.GPT2.forward
    torch.manual_seed(0)
    model = mine.Llama(101, 8, 2, 4, 24, n_kv_head=2, n_inner=34)
    ids = mine.generate(model, torch.tensor([[1]]), 20, temperature=0)  # beyond its window
    assert ids.shape == (1, 21)
    with trace(model) as t:
        model(ids[:, :8])
    shapes = {name: tuple(t[f"h.1.attn.{name}"].shape) for name in ("q", "k", "heads")}
    assert shapes == {"q": (1, 4, 8, 6), "k": (1, 2, 8, 6), "heads": (1, 4, 8, 6)}


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
    build_book("mlp")
    build_book("weights")
    gelu = my_gpt2("weights").load(CRANE)
    text = changed(file_text(), ('F.gelu(pre, approximate="tanh")', "F.relu(pre)"))
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

    texts = [generate(model, idx, 40, temperature=0) for model in (gelu, relu)]
    assert not torch.equal(*texts)
    streamed = torch.stack(list(stream(relu, idx, 40, temperature=0)), dim=1)
    assert torch.equal(texts[1][:, idx.size(1) :], streamed)


# ---- On the trained model


def likely(model: GPT2, stream: torch.Tensor) -> str:
    """The next word that the model would predict after this stream, as a sentence has it."""
    p, i = model.lm_head(model.transformer.ln_f(stream))[0, -1].softmax(dim=-1).max(dim=-1)
    return f'"{load_tokenizer("crane").decode([int(i)]).strip()}" ({p:.2f})'


@torch.no_grad()
def numbers_of_the_package(name: str) -> list[str]:
    """What the package's own pass has where a step says what the reader's parts make of it."""
    model, encoding = GPT2.from_pretrained("crane"), load_tokenizer("crane")
    ids = [encoding.eot_token, *encoding.encode("In the marsh, the crane")]
    with trace(model) as t:
        logits, _ = model(torch.tensor([ids]))
    words = [encoding.decode([i]).strip() for i in ids]
    marsh, crane, (first, second) = words.index("marsh"), words.index("crane"), (2, 5)
    assert words[first] == words[second] == "the"
    weights = t["transformer.h.1.attn.weights"][0]
    streams = [t["embd"], *t.ending("resid_post").values()]
    lengths = [stream[0].norm(dim=-1).tolist() for stream in streams]
    normed = torch.nn.functional.layer_norm(streams[2], (128,))[0].norm(dim=-1).tolist()
    alike = torch.nn.functional.normalize(t["embd"][0], dim=-1)
    alike = alike @ alike.T
    found = {
        "embeddings": [alike[first, second], alike[marsh, crane]],
        "crane": [weights[0, crane, marsh], weights[0, crane, crane]],
        "attention": [*weights[:, crane, marsh]],
        "mask": [weights[0, crane, marsh], weights[0, marsh, crane]],
        "heads": [likely(model, streams[1]), likely(model, t["transformer.h.1.resid_mid"])],
        "mlp": [likely(model, t["transformer.h.0.resid_mid"]), likely(model, streams[1])],
        "residual": [f"{length[crane]:.1f}" for length in lengths],
        "layernorm": [f"{n:.1f}" for n in (min(lengths[2]), max(lengths[2]), max(normed))],
        "block": [likely(model, stream) for stream in streams[1:]],
        "gpt2": [likely(model, streams[3])],
    }
    if name == "gpt2":  # and the second likeliest
        p, i = logits[0, -1].softmax(dim=-1).topk(2)
        found[name].append(f'"{encoding.decode([i[1].item()]).strip()}" ({p[1]:.2f})')
    return [one if isinstance(one, str) else f"{one:.2f}" for one in found[name]]


ON_THE_MODEL = [step.name for step in steps().values() if step.after]


def shown(capsys) -> list[str]:
    """The sentences on the trained model among what was printed."""
    return [line for line in capsys.readouterr().out.splitlines() if "the trained" in line]


def test_the_parts_of_chapters_2_to_11_are_shown_at_work():
    assert ON_THE_MODEL == list(steps())[1:11]


@pytest.mark.parametrize("name", ON_THE_MODEL)
def test_a_right_part_is_shown_on_the_trained_model_with_its_numbers(name, capsys):
    build_book(name)
    (said,) = shown(capsys)
    assert said.startswith("  Your ") and 'reading "In the marsh, the crane"' in said
    assert re.findall(r'"\w+" \([\d.]+\)|-?\d+\.\d+', said) == numbers_of_the_package(name)


@pytest.mark.parametrize("name", ON_THE_MODEL)
def test_a_wrong_part_is_not_shown(name, capsys):
    mistakes = [mistake for mistake in find_step(name).mistakes if mistake.edits]
    assert build_changed(name, *mistakes[0].edits) is False
    assert shown(capsys) == []


@pytest.mark.parametrize("line", ["1 // 0", "while True: pass", "x = x * float('nan')"])
def test_a_right_part_that_fails_on_the_model_is_taken_and_not_shown(line, capsys, monkeypatch):
    monkeypatch.setattr(checking, "SHOWN", 0.2)
    line = f"        if x.size(-1) == 128:\n            {line}\n        pre = "
    assert build_changed("mlp", ("        pre = ", line))
    assert shown(capsys) == []
    assert "class MLP" in file_text()


# ---- The file


def test_what_is_skipped_is_the_books_and_the_file_says_so(capsys):
    build_book("mlp")
    out = capsys.readouterr().out
    assert "The book's: encode, decode, Embeddings, attention, CausalSelfAttention." in out
    assert "# from chapter 7: mlp\nclass MLP" in file_text()
    assert f"# from chapter 6: heads{BOOK}\nclass CausalSelfAttention" in file_text()
    build_book("heads")
    assert "# from chapter 6: heads\nclass CausalSelfAttention" in file_text()
    assert "# from chapter 7: mlp\nclass MLP" in file_text()


def test_a_newer_form_replaces_an_older_one_and_not_the_reverse(capsys):
    build_book("crane", "attention", "mask")
    before = file_text()
    assert before.count("def attention") == 1 and "tril" in before
    build_book("attention")
    assert "a later chapter has taken the place of" in capsys.readouterr().out
    assert file_text() == before
    build_book("heads")
    assert "class Head(" not in file_text()


def test_a_part_that_no_later_chapter_needs_anew_stays_the_readers():
    """Chapter 14 is skipped, and nothing in chapter 15 calls ``train``."""
    assert build_changed("training", ("losses = []", "losses = list()"))
    build_book("generation")
    assert "# from chapter 13: training\ndef train(" in file_text()
    assert file_text().count("def train(") == file_text().count("losses = list()") == 1
    assert "warmup" not in my_gpt2("generation").train.__code__.co_varnames
    assert "warmup" in my_gpt2("training_well").train.__code__.co_varnames  # that is its point


def test_a_readers_older_form_replaces_the_books_newer_one():
    build_book("generation")
    assert f"# from chapter 14: training_well{BOOK}\ndef train(" in file_text()
    build_book("training")
    assert "# from chapter 13: training\ndef train(" in file_text()


def test_a_part_that_a_later_one_calls_in_a_newer_form_is_the_books(capsys):
    """Chapters 5 and 10 are skipped, and heads need a mask, GPT2 its norms."""
    build_book("attention", "residual", "gpt2")
    text = file_text()
    assert f"# from chapter 5: mask{BOOK}\ndef attention(" in text
    assert f"# from chapter 10: block{BOOK}\nclass Block(" in text
    build_book("residual")
    assert "stays as it is: a later chapter" in capsys.readouterr().out
    assert file_text() == text
    build_book("mask")
    assert "# from chapter 5: mask\ndef attention(" in file_text()


def test_a_chapter_again_changes_its_own_parts_alone(capsys):
    build_book("training", "training_well")
    before = definitions(file_text())
    slip = ("for start in starts", "for start in [*starts]")
    assert build_changed("training", slip)
    assert "Not written: a later chapter has taken the place of train." in capsys.readouterr().out
    mine = definitions(changed(find_step("training").solution, slip))
    assert definitions(file_text()) == before | {"batch": mine["batch"]}


def test_what_the_reader_adds_or_changes_stays_and_the_last_version_is_kept():
    build_book("mlp")
    text = file_text().replace('chapter."""', 'chapter."""\nimport os  # mine')
    text = text.replace("4 * n_embd", "2 * n_embd") + "\n\ndef mine_too():\n    return 1\n"
    Path(FILE).write_text(text, "utf-8")
    assert my_gpt2("mlp").MLP(6).c_fc.weight.shape == (12, 6)
    build_book("heads")
    assert "import os  # mine" in file_text()
    assert Path(PREVIOUS).read_text("utf-8") == text
    assert my_gpt2("mlp").mine_too() == 1


TRIANGLES = [
    (
        "torch.ones(T, T, dtype=torch.bool, device=q.device).tril()",
        "torch.ones_like(scores, dtype=torch.bool).tril()",
    ),
    ("return weights @ v", "return F.scaled_dot_product_attention(q, k, v, is_causal=True)"),
]


@pytest.mark.parametrize("triangle", TRIANGLES, ids=["shape of the scores", "is_causal"])
def test_a_triangle_at_the_top_left_is_told_when_keys_are_kept(triangle, capsys):
    """Chapter 5 accepts it, for as many keys as queries. Mended in the file, it does."""
    assert build_changed("mask", triangle)
    assert build_changed("cache") is False
    assert "puts its triangle at the top left" in capsys.readouterr().out
    mended = "torch.ones(T, k.size(-2), dtype=torch.bool).tril(k.size(-2) - T)"
    text = file_text().replace(TRIANGLES[0][1], mended)
    Path(FILE).write_text(text.replace("is_causal=True", f"attn_mask={mended}"), "utf-8")
    build_book("cache", "inside", "fast", "bugs")


def test_a_mark_with_an_unknown_chapter_is_a_comment(capsys):
    build_book("heads", "mlp")
    unknown = file_text().replace("# from chapter 7: mlp", "# from chapter 7: mine")
    Path(FILE).write_text(unknown, "utf-8")
    assert hasattr(my_gpt2("mlp"), "MLP")
    capsys.readouterr()
    build_book("residual")
    assert "MLP" in capsys.readouterr().out.partition("The book's:")[2]
    assert Path(PREVIOUS).read_text("utf-8") == unknown


@pytest.mark.parametrize("text", ["class MLP(:\n", "\udcff"], ids=["syntax", "bytes"])
def test_a_file_that_cannot_be_read_is_reported_and_left(text, capsys):
    Path(FILE).write_bytes(text.encode("utf-8", "surrogateescape"))
    assert my_gpt2("mlp").MLP(6).c_fc.weight.shape == (24, 6)
    assert "left as it is" in capsys.readouterr().out
    build_book("mlp")
    assert "left as it is" in capsys.readouterr().out
    assert Path(FILE).read_bytes() == text.encode("utf-8", "surrogateescape")


def test_a_file_that_does_not_run_is_replaced_by_the_books_parts(capsys):
    build_book("mlp")
    Path(FILE).write_text(file_text() + "\n1 / 0\n", "utf-8")
    assert hasattr(my_gpt2("mlp"), "MLP")
    assert "does not run: ZeroDivisionError" in capsys.readouterr().out


def test_a_folder_that_cannot_be_written_is_reported(monkeypatch, capsys):
    def refuse(*_args):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(sys.modules["gpt2_edu.exercises.mine"], "write_text", refuse)
    build_book("mlp")
    assert "Not written" in capsys.readouterr().out


def test_while_the_book_is_made_nothing_is_written(monkeypatch, capsys):
    monkeypatch.setenv("GPT2_EDU_BOOK", "1")
    build_book("mlp")
    assert not Path(FILE).exists()
    capsys.readouterr()
    mine = my_gpt2("mlp")
    assert mine.MLP(6)
    assert capsys.readouterr().out.startswith("All ")
    text = "".join(linecache.getlines(mine.__file__))  # one text, which readers can print
    assert set(definitions(text)) == set(book_parts("mlp"))


def test_of_two_definitions_in_one_file_the_one_that_is_given_is_taken():
    function = "def f():\n    return 1"
    kind = "class A:\n    def f(self):\n        return 1"
    code = f"{function}\n\n\nfirst, A = f, None\n\n\n{kind}\n\n\nolder = A\n\n\n"
    code += f"{function}\n\n\n{kind}\n".replace("1", "2")
    space, file = {}, "<two of a name>"
    linecache.cache[file] = (len(code), None, code.splitlines(True), file)
    exec(compile(code, file, "exec"), space)
    assert [source_of(space[name]) for name in ("first", "older")] == [function, kind]
    assert source_of(space["f"]) == function.replace("1", "2")
    assert source_of(space["A"]) == kind.replace("1", "2")


def test_parts_come_after_those_that_they_need_and_imports_together():
    build_book("residual", "layernorm", "mlp", "weights", "training")
    names = list(definitions(file_text()))
    assert names.index("LayerNorm") < names.index("Block") < names.index("GPT2")
    assert names.index("attention") < names.index("CausalSelfAttention") < names.index("Block")
    head = file_text().partition("\n\n\n")[0].splitlines()
    imports = [line for line in head if line.startswith(("import ", "from "))]
    assert len(imports) == len(set(imports)) == 10
    assert head.count("") == 2  # below the title, and between Python's own and the others


# ---- Wrong calls and answers


def test_unknown_chapters_and_parts_are_refused(capsys):
    with pytest.raises(ValueError, match="mlp"):
        build("mpl", int)
    with pytest.raises(ValueError, match="There are: tokens"):
        my_gpt2("nothing")
    assert build("mlp") is False
    assert 'got nothing: build("mlp", MLP)' in capsys.readouterr().out
    assert build("mlp", 3) is False
    assert "got 3" in capsys.readouterr().out


@pytest.mark.usefixtures("no_search")
def test_a_part_that_needs_other_cells_is_reported(capsys):
    assert not build_changed("mask", ("masked_scores.softmax(dim=-1)", "helper(masked_scores)"))
    out = capsys.readouterr().out
    assert "name 'helper' is not defined (in attention: " in out
    assert "If another cell defines it, move it into attention: build takes nothing else" in out
    code = "wide = 4\n\n\n" + changed(
        find_step("mlp").solution, ("(self, n_embd):", "(self, n_embd, times=wide):")
    )
    *_, mlp = written(code, "mlp")
    assert build("mlp", mlp) is False
    assert (
        "Defining it stops with NameError: name 'wide' is not defined. If another cell defines it, "
        "move it into MLP"
    ) in capsys.readouterr().out


@pytest.mark.parametrize(
    "name, right, wrong, message",
    [
        ("layernorm", "variance + self.eps", "variance + eps", "Did you mean `self.eps`?"),
        ("attention", "= self.c_attn(x)", "= c_attn(x)", "Did you mean `self.c_attn`?"),
        ("heads", 'k = note("k", self.split', 'k = note("k", split', "`self.split_heads`?"),
        ("heads", "T, self.n_head", "T, n_head", "Did you mean `self.n_head`?"),
        ("gpt2", "in self.h:", "in h:", "Did you mean `self.h`?"),
        ("gpt2", "-model.block_size", "-block_size", "Did you mean `model.block_size`?"),
        ("embeddings", "        self.wte =", "        wte =", "no parameter wte"),
        ("embeddings", "arange(idx.size(1)", "arange(block_size", "`self.block_size = block_size`"),
        ("mask", "masked_scores.softmax", "masked_score.softmax", "Did you mean `masked_scores`?"),
        ("mask", "~visible", "~visble", "Did you mean `visible`?"),
        ("residual", "MLP(n_embd)", "Mlp(n_embd)", "Did you mean `MLP`?"),
        ("mask", "-torch.inf", "-inf", 'Write `-torch.inf`, or `float("-inf")`'),
        ("mask", "-torch.inf", "-np.inf", 'Write `-torch.inf`, or `float("-inf")`'),
        ("mask", "math.sqrt", "np.sqrt", "`math.sqrt` for a number, `torch.sqrt` for a tensor"),
        ("mask", "scores.masked_fill", "scores.mask_fill", "Did you mean `masked_fill`?"),
        ("heads", "self.split_heads(q)", "self.split_head(q)", "Did you mean `split_heads`?"),
        ("heads", "attention(q, k, v)", "self.attention(q, k, v)", "leave out `self.`"),
        ("layernorm", "= x.mean(dim=-1, keepdim=True)", "= true", "Did you mean `True`?"),
        ("layernorm", "torch.ones(n_embd)", "n_embd", "`nn.Parameter` takes a tensor"),
        ("mask", "~visible", "not visible", "`not`, `and`, `or` are `~`, `&`, `|`"),
        ("block", "self.attn(normed)", "self.attn(self.ln_1)", "The LayerNorm itself is used"),
        ("residual", "x + self.mlp(x)", "x + self.mlp", "The MLP itself is used"),
        (
            "gpt2",
            "for block in self.h:\n            x = block(x)",
            "x = self.h(x)",
            "is a list: call",
        ),
        ("gpt2", "torch.cat([idx, new], dim=1)", "torch.cat(idx, new)", "in square brackets"),
        ("gpt2", "cat([idx, new]", "cat([idx, new[:, 0]]", "drops an axis"),
        (
            "training",
            "        logits =",
            "        with torch.no_grad(): logits =",
            "Nothing connects",
        ),
        ("mlp", '"tanh"', "tanh", 'Put it in quotes: `approximate="tanh"`'),
        ("attention", "super().__init__()", "pass", "Begin `__init__` with `super().__init__()`"),
    ],
)
@pytest.mark.usefixtures("no_search")
def test_what_a_missing_name_was_to_be_is_said(name, right, wrong, message, capsys):
    assert build_changed(name, (right, wrong)) is False
    out = capsys.readouterr().out
    assert message in out
    assert "another cell" not in out and "(T, T)" not in out


def test_a_part_that_belongs_to_a_later_chapter_is_said_to(capsys):
    norms = "self.mlp = MLP(n_embd)\n        self.ln_1 = nn.LayerNorm(n_embd)"
    code = changed(find_step("residual").solution, ("self.mlp = MLP(n_embd)", norms))
    assert build("residual", *written(code, "residual")) is False
    said = "ln_1 comes into Block in chapter 10. This Block has only attn and mlp"
    assert said in capsys.readouterr().out


# A step, a change that makes one of its parts wrong, the part that is left as it was at the start,
# and what is said of the wrong one.
UNFINISHED = [
    ("attention", (" / math.sqrt(D)", ""), "Head", "The division is missing"),
    ("tokens", ("[best]  # merge", "[best]\n            break"), "decode", "one pair only"),
    ("tokens", (', errors="replace"', ""), "encode", "Half a character stops your `decode`"),
    ("gpt2", ("self.ln_f(x)", "x"), "generate", "The last norm is missing"),
]


@pytest.mark.parametrize("name, slip, left, message", UNFINISHED)
def test_one_part_is_judged_while_the_other_is_unfinished(name, slip, left, message, capsys):
    step = find_step(name)
    not_yet = f"Not yet: write {left}, then"
    for code, expected in ((changed(step.solution, slip), message), (step.solution, not_yet)):
        parts = definitions(code) | {left: definitions(step.start)[left]}
        assert build(name, *written("\n\n\n".join(parts.values()), name)) is False
        out = capsys.readouterr().out
        assert expected in out
        assert "return` missing" not in out and "has no parameter" not in out
    assert "  ok   " in out
    assert not Path(FILE).exists()


@pytest.mark.usefixtures("no_search")
def test_a_part_is_checked_with_the_books_other_while_that_is_unfinished(capsys):
    step = find_step("attention")
    left = {"attention": definitions(step.start)["attention"]}
    for slip, message in [
        ("q, k, v = self", "  ok   Head: a single token"),
        ("k, q, v = self", "The pieces are right, but in another order"),
        ("q, k, v = elf", "name 'elf' is not defined (in forward: q, k, v = elf.c_attn"),
    ]:
        parts = definitions(changed(step.solution, ("q, k, v = self", slip)))
        assert build("attention", *written("\n\n\n".join((parts | left).values()), "mask")) is False
        out = capsys.readouterr().out
        assert message in out
        assert "Not yet: write attention, then" in out
        assert "  ok   attention" not in out
    assert not Path(FILE).exists()


def test_an_error_of_other_sizes_is_not_told_as_a_mistakes(capsys):
    assert build_changed("attention", ("return weights @ v", "return v @ weights")) is False
    out = capsys.readouterr().out
    assert "shapes cannot be multiplied" in out and "k must be transposed" not in out


def test_of_two_parts_with_a_slip_each_has_its_own_sentence(capsys):
    tie = "        self.lm_head.weight = self.embeddings.wte.weight  # tied\n"
    likeliest = "logits.argmax(dim=-1, keepdim=True)"
    draw = "torch.multinomial(logits.softmax(dim=-1), num_samples=1)"
    assert build_changed("gpt2", (tie, ""), (draw, likeliest)) is False
    out = capsys.readouterr().out
    assert "In `GPT2`: The tables are not tied" in out
    assert "In `generate`: You take the likeliest token each time." in out
    assert (
        build_changed("attention", (" / math.sqrt(D)", ""), ("q, k, v = s", "k, q, v = s")) is False
    )
    out = capsys.readouterr().out
    assert "In `attention`: The division is missing" in out and "In `Head`: The pieces" in out


def test_a_class_with_an_unfinished_method_is_not_yet_written(capsys):
    head = definitions(find_step("attention").solution)
    head["Head"] = head["Head"].partition("        q, k, v")[0] + "        ..."
    assert build("attention", *written("\n\n\n".join(head.values()), "attention")) is False
    assert "Not yet: write Head.forward, then run the cell again." in capsys.readouterr().out


@pytest.mark.parametrize(
    "name, slip",
    [
        ("mlp", ("        pre =", "        ...\n        pre =")),
        ("mask", ("masked_scores.softmax(dim=-1)", "F.softmax(masked_scores, dim=-1)")),
        ("embeddings", ("self.wpe(positions)", "self.wpe.weight[: idx.size(1)]")),
        ("embeddings", ("device=idx.device", "device=self.wpe.weight.device")),
    ],
)
def test_other_ways_are_right_too(name, slip):
    assert build_changed(name, slip)


CLIP = "nn.utils.clip_grad_norm_(model.parameters(), clip)"
EACH_CLIP = "nn.utils.clip_grad_norm_([p], clip)"
HALF = "batch(ids, batch_size // accumulate, T)"
GREEDY = "logits.argmax(dim=-1, keepdim=True)"
NO_TOP_P = 'choose(logits, knobs.get("temperature", 1), knobs.get("top_k"))'
SEED = "    torch.manual_seed(1)\n"
UNTIED = "    model.lm_head.weight = nn.Parameter(model.lm_head.weight.clone())\n"
STARTS = "torch.randint(len(ids) - T, (batch_size,))"


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name, right, wrong, message",
    [
        ("mlp", "def forward", "def foward", 'missing the required "forward" function'),
        ("gpt2", "logits.softmax(dim=-1)", "logits", "`multinomial` needs probabilities"),
        ("residual", "= MLP(", "= mine.MLP(", "in your file the parts have their bare names"),
        ("gpt2", 'elif "bias" in name:', "else:", "smallest γ"),
        (
            "gpt2",
            'elif "bias" in name:',
            'elif "bias" in name and "c_proj" not in name:',
            "size of the biases",
        ),
        ("gpt2", "math.sqrt(2 * n_layer)", "math.sqrt(n_layer)", "spread of c_proj"),
        ("gpt2", "std=0.02 / narrow", "std=1 / narrow", "spread of tables"),
        ("training_well", "total += loss.item() / accumulate", "total = loss.item()", "two parts"),
        ("training_well", "loss.item() / accumulate", "loss / accumulate", "hold the graph"),
        ("training_well", "batch(ids, batch_size, T)", HALF, "Each part is a full batch"),
        (
            "training_well",
            "total += loss",
            "return model\n            total += loss",
            "a list, with",
        ),
        ("generation", "choose(logits, **knobs)", GREEDY, "The knobs do nothing in `generate`"),
        ("generation", "choose(logits, **knobs)", NO_TOP_P, "top_p = 0.01"),
        ("generation", "    return torch.mul", SEED + "    return torch.mul", "sets the seed"),
        ("generation", "    return torch.mul", "    None and torch.mul", "is a `return` missing?"),
        ("generation", "logits = logits /", "logits /=", "divides the caller's own logits"),
        ("weights", "    return model", UNTIED + "    return model", "The head has a copy"),
        ("weights", "return model", "return tensors", "load returns a dict. Return `model`"),
        ("weights", "    return model", "", "is a `return` missing?"),
        ("weights", "tensor = tensor.T", "tensor = tensr.T", "Did you mean `tensor`?"),
        ("weights", "tensor = tensor.T", "nowhere()", "If another cell defines it"),
        ("cache", "attn.split_heads", "attn.splitheads", "Did you mean `split_heads`?"),
        (
            "cache",
            "x[:, -1]",
            "x[:, -1:]",
            "(1, 1, 13) where (1, 13) is right (the logits of call 1)",
        ),
        ("training", "return losses", "print(losses)", "is a `return` missing?"),
        ("training", STARTS, "range(batch_size)", "it is not so that two batches begin elsewhere"),
        ("training_well", CLIP, f"[{EACH_CLIP} for p in model.parameters()]", "clipped"),
        ("training", STARTS, "[0] * batch_size", "batch: 3"),
        ("training", STARTS, "range(batch_size)", "batch: 3"),
        ("training", "return losses", "return [99.0] * steps", "train: 40"),
    ],
)
@pytest.mark.usefixtures("no_search")
def test_slips_are_found_and_named(name, right, wrong, message, capsys):
    assert build_changed(name, (right, wrong)) is False
    assert message in capsys.readouterr().out


def test_other_parameters_than_gpt2s_are_named(capsys):
    code = find_step("mlp").solution.replace("c_fc", "first")
    assert build("mlp", *written(code, "mlp")) is False
    assert "no parameter c_fc.weight. `first` should be called `c_fc`" in capsys.readouterr().out


@pytest.mark.parametrize(
    "part, said",
    [
        ([nn.Linear(2, 2)], "h in Module is a plain list, which hides its parameters"),
        (nn.Linear, "h in Module is the class Linear. Call it to make a module"),
        (torch.zeros(2, 2), "h in Module is a plain tensor, not a parameter"),
        (nn.Parameter(torch.zeros(2, 2)), "Module has no parameter h.weight; it has h"),
    ],
)
def test_a_parameter_that_pytorch_does_not_see_is_told(part, said):
    mine, ours = nn.Module(), nn.Module()
    mine.h, ours.h = part, nn.Linear(2, 2, bias=False)
    with pytest.raises(ValueError, match=re.escape(said)):
        fill(mine, ours)
