"""What a search for a change may take from the solution: numbers, arguments, calls, statements."""

from __future__ import annotations

import ast
import builtins
from collections import defaultdict
from functools import lru_cache
from typing import Any, NamedTuple

COMMON = {"0", "1", "2", "True", "False"}  # tried anyway
OUTSIDE = {"torch", "nn", "F", "math", "self", *dir(builtins)}
OF_TORCH = {f"torch.{name}" for name in "inf int8 int64 uint8 float32 float64 bool".split()}
LONGEST = 50  # characters of a statement
SHORT = 24  # and of an argument


class Borrowed(NamedTuple):
    """The parts of a solution that fit into other code, as text."""

    constants: tuple[str, ...]
    indices: dict[str, set[str]]  # such as "[:, -1:]" without the brackets, and the names in them
    arguments: dict[str, dict[str, set[str]]]  # of each function, by its name
    around: tuple[str, ...]  # calls with @ for their argument, or for what they are methods of
    statements: dict[str, set[str]]  # statements and the names in them


NOTHING = Borrowed((), {}, {}, (), {})


@lru_cache(maxsize=64)
def borrowed(solution: str) -> Borrowed:
    """What the code of a solution has to lend."""
    constants: dict[str, None] = {}
    around: dict[str, None] = {}
    indices: dict[str, set[str]] = {}
    arguments: dict[str, dict[str, set[str]]] = defaultdict(dict)
    statements: dict[str, set[str]] = {}
    texts: set[int] = set()  # docstrings
    for node in ast.walk(_WithoutNotes().visit(ast.parse(solution))):
        if isinstance(node, ast.Expr):
            texts.add(id(node.value))
        if _is_constant(node) and id(node) not in texts:
            constants[ast.unparse(node)] = None
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func).rpartition(".")[2]
            for part in (*node.args, *node.keywords):
                if len(text := ast.unparse(part)) <= SHORT:
                    arguments[name][text] = _names(part)
            if text := _around(node):
                around[text] = None
        elif isinstance(node, ast.Subscript):
            text = ast.unparse(ast.Subscript(ast.Name("_", ast.Load()), node.slice, ast.Load()))
            indices[text[2:-1]] = _names(node.slice)
        elif isinstance(node, ast.Assign | ast.AugAssign | ast.Expr):
            names = _names(node)
            is_text = isinstance(node.value, ast.Constant)
            if names and not is_text and len(text := ast.unparse(node)) <= LONGEST:
                statements[text] = names
    for text in COMMON:
        constants.pop(text, None)
    short = [text for text in constants if len(text) <= LONGEST]
    return Borrowed(tuple(short), indices, dict(arguments), tuple(around), statements)


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} - OUTSIDE


class _WithoutNotes(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        return node.args[1] if ast.unparse(node.func) == "note" else node


def _is_constant(node: Any) -> bool:
    """A number or a text, also with a sign, or one of torch's names for a number or a type."""
    if isinstance(node, ast.UnaryOp):
        return _is_constant(node.operand)
    of_torch = isinstance(node, ast.Attribute) and ast.unparse(node.value) == "torch"
    named = of_torch and node.attr in (
        "inf",
        "int8",
        "int64",
        "uint8",
        "float32",
        "float64",
        "bool",
    )
    return isinstance(node, ast.Constant) or named


def _around(call: ast.Call) -> str:
    """A call whose other arguments are constants, with @ for the one that is not, or empty."""
    if not all(_is_constant(k.value) for k in call.keywords):
        return ""
    function = ast.unparse(call.func)
    receiver = getattr(call.func, "value", None)
    is_method = receiver is not None and ast.unparse(receiver) not in OUTSIDE
    args = list(call.args)
    values = [arg for arg in args if not _is_constant(arg)]
    if is_method and not values and isinstance(call.func, ast.Attribute):
        function, given = f"@.{call.func.attr}", [ast.unparse(a) for a in args]
    elif not is_method and len(values) == 1 and function.partition(".")[0] in OUTSIDE:
        given = ["@" if a is values[0] else ast.unparse(a) for a in args]
    else:
        return ""
    return f"{function}({', '.join([*given, *(ast.unparse(k) for k in call.keywords)])})"
