"""Begin a chapter or an exercise: files that pass every check and wait to be written.

    make new-chapter NAME=quantisation             # at the end of the book
    make new-chapter NAME=quantisation TITLE="Fewer bits" AFTER=fast    # or PART="Part 5. Beyond"
    make new-exercise CHAPTER=6 NAME=my_thing

A chapter in the middle moves the later ones: files, links and numbers follow, and all notebooks are
executed, as the map in them shows the numbers. Nothing is written if a name will not do.
"""

from __future__ import annotations

import keyword
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from string import Template

import jupytext
import nbformat
from chapters import ROOT, Chapter, chapters
from execute_notebooks import store, tidy

from gpt2_edu.machine.messages import did_you_mean

TASKS = ROOT / "gpt2_edu" / "exercises" / "tasks"
TAKEN = {"check", "math", "nn", "own", "torch"}  # names that every exercise's code sees
# What says a chapter's number, and is moved with it. `In the chapter 59 units` says none.
MENTIONS = re.compile(
    r"(?<!the )\b[Cc]hapters? \d+(?:(?:, | and | to |–)\d+)*"  # chapters 4 to 9
    r"|\[(\d+)(?=[^\]]*\]\([^)]*\b0?\1_\w+\.ipynb)"  # [5](05_mask.ipynb)
    r"|\b(?:ledger_of|rows_added|CHAPTERS)[(\[]\d+|^    \d+(?=: Chapter\()",  # course.py
    re.M,
)


class Refused(ValueError):
    """What was asked for cannot be done; nothing was written."""


# ---- What is asked for


def identifier(name: str) -> str:
    if not name:
        raise Refused("NAME is missing, a word such as NAME=my_thing")
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise Refused(
            f"NAME={name!r} cannot name a file and a function: write small letters, digits and _, "
            "with a letter first, and no word that Python keeps for itself"
        )
    return name


def exercise_name(name: str) -> str:
    taken = {file.stem for file in TASKS.glob("ch*/*.py")} | TAKEN
    if identifier(name) in taken:
        raise Refused(f"NAME={name!r} is taken, by another exercise or by what its code imports")
    return name


def chapter_named(what: str, given: str) -> Chapter:
    """A chapter by its number, slug or file name."""
    for chapter in chapters():
        if given in (str(chapter.number), chapter.slug, chapter.name, chapter.path.name):
            return chapter
    slugs = [chapter.slug for chapter in chapters()]
    raise Refused(
        f"{what}={given!r}: there is no such chapter. {did_you_mean(given, slugs)}"
        f"There are 1 to {len(slugs)}: {', '.join(slugs)}"
    )


def place(part: str, after: str) -> Chapter:
    """The chapter that the new one follows."""
    if part and after:
        raise Refused("give PART or AFTER, not both")
    if after:
        return chapter_named("AFTER", after)
    if part:
        found = [chapter for chapter in chapters() if chapter.part == part]
        if not found:
            known = dict.fromkeys(chapter.part for chapter in chapters())
            raise Refused(f"PART={part!r}: there is no such part. There are: {'; '.join(known)}")
        return found[-1]
    return chapters()[-1]


# ---- Writing


def filled(template: str, **values: object) -> str:
    text = (ROOT / "book" / "templates" / template).read_text(encoding="utf-8")
    return Template(text).substitute(values)


def new_exercise(name: str, chapter: str, title: str = "") -> None:
    exercise_name(name)
    if not chapter:
        raise Refused("CHAPTER is missing, as in CHAPTER=6")
    goal = chapter_named("CHAPTER", chapter)
    write_exercise(goal.exercises, name, title or spoken(name))
    run("chapters.py")  # the plans say how long the exercises take
    run("make_practice.py")
    run("execute_notebooks.py", str(goal.practice))


def write_exercise(folder: Path, name: str, title: str) -> None:
    orders = [
        float(re.search(r"^ORDER = (\S+)", file.read_text(encoding="utf-8"), re.M)[1])
        for file in folder.glob("*.py")
    ]
    order = int(max(orders, default=0)) + 10
    folder.mkdir(exist_ok=True)
    text = filled("exercise.txt", name=name, title=title, order=order)
    (folder / f"{name}.py").write_text(text, encoding="utf-8")


def new_chapter(name: str, title: str = "", part: str = "", after: str = "") -> None:
    slugs = [chapter.slug for chapter in chapters()]
    if identifier(name) in slugs:
        raise Refused(f"there is a chapter {name!r} already: number {slugs.index(name) + 1}")
    title = title or spoken(name)
    if re.search(r"[|\[\]`*$\n]", title):
        raise Refused(f"TITLE={title!r}: a heading here is plain words, without | [ ] ` * $")
    if title in {chapter.title for chapter in chapters()}:
        raise Refused(f"TITLE={title!r}: another chapter is called so")
    before, first = place(part, after), exercise_name(f"first_{name}")
    later = [chapter for chapter in chapters() if chapter.number > before.number]
    renumber(later)
    new = Chapter(
        before.number + 1, before.path.with_name(f"{before.number + 1:02}_{name}.ipynb"), ""
    )
    add_to_toc(new, before)
    story = filled("chapter.md", title=title, before=before.number, before_name=before.name)
    store(notebook(story), new.path)
    new.questions.write_text(filled("questions.toml"), encoding="utf-8")
    write_exercise(new.exercises, first, f"A first exercise on {title}")
    run("chapters.py")
    run("make_practice.py")
    run("execute_notebooks.py", *([] if later else [str(new.path), str(new.practice)]))
    run("make_status.py", *([] if later else [new.name]))


def notebook(story: str) -> nbformat.NotebookNode:
    """A notebook from Markdown, with the hidden first cell of all below its heading."""
    nb = jupytext.reads(story, "md")
    heading, text = nb.cells[0].source.split("\n", 1)
    nb.cells[:1] = [
        nbformat.v4.new_markdown_cell(heading),
        nbformat.v4.new_code_cell(metadata={"tags": ["remove-cell"]}),
        nbformat.v4.new_markdown_cell(text.strip()),
    ]
    tidy(nb)
    return nb


def add_to_toc(new: Chapter, before: Chapter) -> None:
    entry = (
        "      - file: notebooks/{0}\n        sections:\n          - file: notebooks/practice/{0}\n"
    )
    toc = ROOT / "_toc.yml"
    old = toc.read_text(encoding="utf-8")
    here = entry.format(before.name)
    assert old.count(here) == 1, f"_toc.yml does not list {before.name} as expected"
    toc.write_text(old.replace(here, here + entry.format(new.name)), encoding="utf-8")


def renumber(later: list[Chapter]) -> None:
    """Move chapters up by one: their files, and whatever names them or says their numbers."""
    names = {c.name: f"{c.number + 1:02}_{c.slug}" for c in later}
    for chapter in reversed(later):
        for path in (chapter.path, chapter.practice):
            path.rename(path.with_stem(names[chapter.name]))
        if chapter.exercises.is_dir():
            chapter.exercises.rename(chapter.exercises.with_name(f"ch{chapter.number + 1:02}"))
    if not later:
        return
    add_to_moved(names)
    first = later[0].number
    named = re.compile(rf"\b(?:{'|'.join(names)})\b")

    def up(mention: re.Match[str]) -> str:
        return re.sub(r"\d+", lambda n: str(int(n[0]) + (int(n[0]) >= first)), mention[0])

    for path in texts():
        old = path.read_text(encoding="utf-8")
        new = named.sub(lambda found: names[found[0]], MENTIONS.sub(up, old))
        if new != old:
            path.write_text(new, encoding="utf-8")


def add_to_moved(names: dict[str, str]) -> None:
    """Addresses on the site that were, each with the one that it leads to now."""
    path = ROOT / "book" / "moved.txt"
    head, *lines = path.read_text(encoding="utf-8").splitlines()
    now = dict(line.split() for line in lines)
    for folder in ("notebooks/", "notebooks/practice/"):
        moves = {folder + old: folder + new for old, new in names.items()}
        now = {old: moves.get(new, new) for old, new in now.items()} | moves
    now = {old: new for old, new in now.items() if old not in now.values()}
    path.write_text("\n".join([head, *map(" ".join, now.items())]) + "\n", encoding="utf-8")


def texts() -> Iterator[Path]:
    """Every file that may name a chapter."""
    yield from [ROOT / "_toc.yml", *ROOT.glob("*.md"), *ROOT.glob("book/*.md")]
    yield from ROOT.glob("book/practice/*.toml")
    for folder in ("notebooks", "gpt2_edu", "tests"):
        for kind in ("*.ipynb", "*.py", "*.md"):
            yield from (ROOT / folder).rglob(kind)


def spoken(name: str) -> str:
    return name.replace("_", " ").capitalize()


def run(script: str, *args: str) -> None:
    """One of the scripts beside this file, in a process that sees the new files."""
    subprocess.run([sys.executable, ROOT / "book" / script, *args], cwd=ROOT, check=True)


def main() -> int:
    asked = {
        key.lower(): os.environ.get(key, "").strip()
        for key in ("NAME", "TITLE", "CHAPTER", "PART", "AFTER")
    }
    try:
        if sys.argv[1:] == ["chapter"]:
            new_chapter(asked["name"], asked["title"], asked["part"], asked["after"])
        elif sys.argv[1:] == ["exercise"]:
            new_exercise(asked["name"], asked["chapter"], asked["title"])
        else:
            raise Refused("say chapter or exercise")
    except Refused as error:
        print(f"{error}.", file=sys.stderr)
        return 2
    except subprocess.CalledProcessError as error:
        print(f"{error}. The files are there: see git status.", file=sys.stderr)
        return 1
    print("Done. `git status` lists the files. Write in them; make lists notebooks renews what")
    print(f"follows, .venv/bin/pytest tests -k {asked['name']} looks at it, make test at all.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
