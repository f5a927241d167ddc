"""Exhibits: their HTML is a plain table with the right numbers, and it never changes by itself."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import matplotlib
import pytest
import torch
from bs4 import BeautifulSoup

from gpt2_edu import GPT2, course, exhibits, load_tokenizer, note, trace
from gpt2_edu.exhibits import jupyter
from gpt2_edu.exhibits.setup import COLOURS, stylesheet
from gpt2_edu.exhibits.tokens import token_label

matplotlib.use("Agg")

ROOT = Path(__file__).resolve().parents[2]

WORDS = ["A", "crane", "ate"]
CAUSAL = torch.tensor([[1.0, 0.0, 0.0], [0.25, 0.75, 0.0], [0.2, 0.3, 0.5]])


def parse(exhibit) -> BeautifulSoup:
    return BeautifulSoup(exhibit._repr_html_(), "html.parser")


def table(soup) -> list[list[str]]:
    return [[cell.get_text() for cell in row.find_all(["th", "td"])] for row in soup.find_all("tr")]


def ledger() -> exhibits.Ledger:
    with trace() as t:
        note("q", torch.zeros(2, 3), "T D")
        note("<i>", torch.zeros(2), "T")
    return t.ledger()


ALL = {
    "attention": lambda: exhibits.Attention(CAUSAL, WORDS, caption="<b>"),
    "heads": lambda: exhibits.Attention(torch.stack([CAUSAL] * 5), WORDS),
    "ledger": ledger,
    "matrix": lambda: exhibits.Matrix([[1.5, -2.0]], rows=["<r>"], columns=["a", "b"]),
    "vector": lambda: exhibits.Matrix([1.0, float("-inf")]),
    "tokens": lambda: exhibits.Tokens("A <b>crane</b>"),
}


@pytest.fixture(params=ALL, ids=str)
def make(request):
    return ALL[request.param]


def test_same_data_same_html_without_markup_javascript_or_other_hosts(make):
    html = make()._repr_html_()
    assert html == make()._repr_html_()
    assert repr(make()) == repr(make())
    assert not parse(make()).find_all(["b", "i", "r", "script"]), "text is shown as text"
    assert not re.search(r"<script|\son\w+=|https?:|src=", html)


def test_jupyter_gets_the_files_that_exhibits_cannot_do_without():
    """On the site they come from scripts beside those of the page."""
    load = re.compile(r'(?:bundle|bundledModel|bundledAdapter|loadTokenizer)\("(\w+)"\)(?!\.catch)')
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "web/exhibits").glob("*.mjs")]
    loaded = {name for source in sources for name in load.findall(source)}
    assert {"crane", "crane_grammar"} <= loaded
    there = set(re.findall(r"gpt2Files \?\?= \{\}\)\.(\w+) =", jupyter.script()))
    assert loaded <= there


def test_plot_leaves_masked_cells_white():
    scores = exhibits.Matrix(torch.tensor([[2.0, -torch.inf], [0.0, 2.0]]))
    assert scores.plot().axes[0].images[0].get_array().tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("name", ["attention", "heads", "matrix", "vector"])
def test_tables_of_numbers_can_be_plotted(name):
    figure = ALL[name]().plot()
    figure.canvas.draw()
    matplotlib.pyplot.close(figure)


def test_a_matrix_shows_rounded_numbers_with_their_labels():
    shown = exhibits.Matrix(
        [[0.12345, -1.0], [-0.0001, float("-inf")]],
        rows=["r0", "r1"],
        columns=["c0", "c1"],
        corner="row ↓ column →",
    )
    assert table(parse(shown)) == [
        ["row ↓ column →", "c0", "c1"],
        ["r0", "0.12", "−1.00"],
        ["r1", "0.00", "−∞"],
    ]


def test_negative_and_hidden_cells_are_marked_by_more_than_colour():
    soup = parse(exhibits.Matrix([[1.0, -1.0, float("-inf")]]))
    assert [cell.get("class") for cell in soup.find_all("td")] == [None, ["neg"], ["off"]]


def test_heat_is_the_share_of_the_scale_and_never_more_than_one():
    soup = parse(exhibits.Matrix([0.0, 1.0, -2.0, 4.0], scale=2.0))
    heats = [float(td["style"].removeprefix("--heat:")) for td in soup.find_all("td")]
    assert heats == [0.0, 0.5, 1.0, 1.0]


def test_attention_names_both_sides_and_hides_what_lies_ahead():
    soup = parse(exhibits.Attention(CAUSAL, WORDS))
    assert "Row = query" in soup.figcaption.get_text()
    rows = table(soup)
    assert rows[0] == ["query ↓ key →", *WORDS]
    assert rows[2] == ["crane", "0.25", "0.75", "0"]  # row = who looks
    assert len(soup.find_all("td", class_="off")) == 3
    open_map = exhibits.Attention(torch.full((3, 3), 1 / 3), WORDS)
    assert not parse(open_map).find_all("td", class_="off")


def test_of_many_heads_one_is_large_and_each_says_where_it_looks_most():
    maps = torch.stack([CAUSAL, CAUSAL.flip(0).flip(1).contiguous()])
    soup = parse(exhibits.Attention(maps, WORDS, titles=["1.0", "1.1"], enlarge=1))
    heads = soup.find_all("details")
    assert [head.summary.get_text() for head in heads] == ["1.0", "1.1"]
    assert ["open" in head.attrs for head in heads] == [False, True]
    assert len({head["name"] for head in heads}) == 1
    assert [svg["aria-label"] for svg in soup.find_all("svg")] == [
        "crane looks at crane with 0.75.",
        "ate looks at ate with 1.00.",
    ]
    with pytest.raises(ValueError, match="enlarge=2"):
        exhibits.Attention(maps, WORDS, enlarge=2)


def test_a_small_picture_has_a_cell_for_each_weight_as_dark_as_it_is_large():
    soup = parse(exhibits.Attention(torch.stack([CAUSAL, CAUSAL]), WORDS))
    drawn = {
        (int(i), j): float(path["opacity"])
        for path in soup.svg.find_all("path")
        for start, i, length in re.findall(r"M(\d+) (\d+)h(\d+)", path["d"])
        for j in range(int(start), int(start) + int(length))
    }
    assert drawn.keys() == {(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2)}
    for (i, j), shade in drawn.items():
        assert shade == pytest.approx(CAUSAL[i, j].item(), abs=0.051)


def test_twelve_heads_of_twenty_tokens_are_light():
    torch.manual_seed(0)
    weights = torch.randn(12, 20, 20).tril().softmax(dim=-1)
    assert len(exhibits.Attention(weights, ["word"] * 20)._repr_html_()) < 200_000


@pytest.mark.parametrize(
    "weights, message",
    [
        (torch.ones(3, 3), r"sums to 1.*3\.0000"),
        (CAUSAL.T.contiguous(), "along another axis"),
        (CAUSAL.expand(2, 4, 3, 3), r"weights\[0\]"),
        (CAUSAL[:2, :2], r"over 3 tokens.*got \(2, 2\)"),
    ],
)
def test_attention_refuses_what_are_no_weights(weights, message):
    with pytest.raises(ValueError, match=message):
        exhibits.Attention(weights, WORDS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"values": torch.zeros(2, 2, 2)}, "1 or 2 axes"),
        ({"values": [1.0, 2.0], "columns": ["a"]}, "1 labels for 2 columns"),
        ({"values": [1.0, 2.0], "rows": ["a", "b"]}, "2 labels for 1 rows"),
        ({"values": [1.0], "role": "query"}, "unknown role"),
    ],
)
def test_matrix_says_what_does_not_fit(arguments, message):
    with pytest.raises(ValueError, match=message):
        exhibits.Matrix(**arguments)


def test_bars_have_a_column_of_earlier_probabilities_if_there_are_any():
    now = {"ate": 0.53, "stood": 0.12}
    assert table(parse(exhibits.Bars(now))) == [
        ["", "probability"],
        ["ate", "0.530"],
        ["stood", "0.120"],
    ]
    assert table(parse(exhibits.Bars(now, before={"ate": 0.5, "stood": 0.0}))) == [
        ["", "probability", "before"],
        ["ate", "0.530", "0.500"],
        ["stood", "0.120", "0.000"],
    ]


def test_tokens_show_spaces_line_breaks_and_halves_of_characters():
    shown = exhibits.Tokens("A crane\n🐟")
    assert shown.labels[:3] == ["A", "␣crane", "↵"]
    assert all(re.fullmatch(r"[0-9A-F]{2}( [0-9A-F]{2})*", label) for label in shown.labels[3:])
    assert shown.ids == load_tokenizer("gpt2").encode("A crane\n🐟")
    assert exhibits.Tokens(torch.tensor(shown.ids)).html() == shown.html()


def test_no_token_has_an_invisible_label():
    encoding = load_tokenizer("gpt2")
    labels = [token_label(encoding.decode_single_token_bytes(i)) for i in range(50257)]
    assert all(label.strip() and label.isprintable() for label in labels)


# Text stands on the heat, so the two must be told apart at every heat, in both themes.


def luminance(colour: tuple[float, ...]) -> float:
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def rgb(text: str) -> tuple[float, ...]:
    digits = text.removeprefix("#")
    if len(digits) == 3:  # "#fff" is "#ffffff"
        digits = "".join(2 * digit for digit in digits)
    return tuple(int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4))


def contrast(a: tuple[float, ...], b: tuple[float, ...]) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


COLOUR = re.compile(r"--([a-z0-9-]+):\s*light-dark\((#\w+), (#\w+)\);")


def colours() -> list[tuple[str, str, str, str]]:
    """Every colour of the stylesheet: where, its name, in light, in dark."""
    css = re.sub(r"/\*.*?\*/", "", stylesheet(), flags=re.S)
    rules = re.findall(r"([^{}]+)\{([^{}]*)\}", css)
    return [(selector.strip(), *one) for selector, body in rules for one in COLOUR.findall(body)]


def themes() -> dict[str, dict[str, str]]:
    """The stylesheet's variables, in light and dark, with each role's hue under its name."""
    found: dict[str, dict[str, str]] = {"light": {}, "dark": {}}
    for selector, name, light, dark in colours():
        role = selector.removeprefix(".g2-") if name == "hue" and selector != ".g2" else name
        found["light"][role], found["dark"][role] = light, dark
    return found


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_numbers_can_be_read_on_every_heat(theme):
    variables = themes()[theme]
    paper, ink = rgb(variables["paper"]), rgb(variables["ink"])
    for role in ("hue", *(COLOURS.keys() - {"plain"}), "negative"):
        hue = rgb(variables[role])
        for heat in range(0, 101, 5):
            mixed = tuple(heat / 100 * h + (1 - heat / 100) * p for h, p in zip(hue, paper))
            assert contrast(ink, mixed) >= 4.5, (theme, role, heat)
    assert contrast(rgb(variables["soft"]), paper) >= 4.5


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_lines_and_words_of_a_drawing_can_be_seen_on_the_page(theme):
    paper = rgb(themes()[theme]["paper"])
    of_lines = {}
    for selector, name, *both in colours():
        if name.startswith("g2-"):
            shade, words = both[theme == "dark"], " text" in selector
            assert contrast(rgb(shade), paper) >= (4.5 if words else 3), (selector, name)
            if not words:
                of_lines[name.removeprefix("g2-")] = shade
    assert of_lines.keys() == COLOURS.keys()
    assert theme == "dark" or of_lines == COLOURS


def test_stylesheet_is_in_every_output_on_colab_once_in_jupyter_and_never_on_the_page(
    monkeypatch, notebook
):
    style, before = f"<style>{stylesheet()}</style>", ledger()._repr_html_()
    monkeypatch.setenv("GPT2_EDU_BOOK", "1")
    exhibits.setup()
    assert notebook == []
    monkeypatch.delenv("GPT2_EDU_BOOK")
    exhibits.setup()
    assert notebook == [style]
    assert ledger()._repr_html_() == before
    monkeypatch.setitem(sys.modules, "google.colab", object())
    exhibits.setup()
    assert ledger()._repr_html_() == style + before
    assert notebook == [style]


# The running example.


def test_the_toy_has_sizes_that_all_differ_and_two_sentences_that_do():
    toy, sizes, idx = course.TOY, course.SIZES, course.toy_batch()
    assert idx.shape == (sizes["B"], sizes["T"])
    assert (idx[0] != idx[1]).nonzero().flatten().tolist() == [2, 3]
    assert (toy.n_embd, toy.n_head, toy.head_size) == (sizes["C"], sizes["H"], sizes["D"])
    assert (4 * toy.n_embd, toy.vocab_size) == (sizes["F"], sizes["V"])
    assert len({*sizes.values(), toy.block_size}) == len(sizes) + 1


def test_the_book_ledger_is_what_the_model_notes():
    model = GPT2(course.TOY).eval()
    with trace(model) as t:
        model(course.toy_batch())
    noted = [
        (name.removeprefix("transformer.h.0."), axes, shape)
        for name, axes, shape in t.ledger().rows()
    ]
    told = {}  # later chapters give some tensors a new form
    for chapter in course.CHAPTERS:
        if chapter != "cache":
            told |= {row[0]: row for row in course.rows_added(chapter).rows()}
    assert [row for row in noted if row[0] in told] == [told[n] for n in course.ORDER if n in told]


@pytest.mark.parametrize("chapter", course.CHAPTERS)
def test_a_chapters_ledger_has_its_rows_their_sources_and_one_size_for_a_letter(chapter):
    rows, added = course.ledger_of(chapter).rows(), course.rows_added(chapter).rows()
    assert [row for row in rows if row in added] == sorted(added, key=rows.index)
    assert {row[0] for row in rows} - {row[0] for row in added} == set(
        course.SOURCES.get(chapter, ())
    )
    sizes: dict[str, int] = {}
    for name, axes, shape in rows:
        for letter, size in zip(axes.split(), shape, strict=True):
            assert sizes.setdefault(letter, size) == size, (name, letter)
