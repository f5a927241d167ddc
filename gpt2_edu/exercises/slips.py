"""Slips that anyone can make anywhere: a sign, an axis, a bound, a line too many or too few.

``slips`` derives them from a solution's syntax tree, one at a time. They are what an answer is
compared with when it is none of the exercise's own mistakes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import chain
from typing import Any

OTHER = {  # what is taken for what
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div, ast.Add),
    ast.Div: (ast.Mult, ast.FloorDiv),
    ast.FloorDiv: (ast.Div, ast.Mod),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
    ast.Lt: (ast.LtE, ast.Gt, ast.GtE),
    ast.LtE: (ast.Lt, ast.GtE, ast.Gt),
    ast.Gt: (ast.GtE, ast.Lt, ast.LtE),
    ast.GtE: (ast.Gt, ast.LtE, ast.Lt),
    ast.Eq: (ast.NotEq, ast.LtE, ast.GtE),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
}
NAMES = (
    {"sum", "mean", "max", "min", "amax", "amin", "prod"},
    {"argmax", "argmin"},
    {"tril", "triu"},
    {"softmax", "log_softmax", "sigmoid"},
    {"exp", "log", "sqrt", "rsqrt", "square", "abs"},
    {"var", "std"},
    {"append", "extend"},
    {"cumsum", "cumprod"},
    {"sin", "cos"},
    {"view", "reshape"},
    {"cat", "stack"},
    {"repeat", "repeat_interleave"},
    {"gather", "scatter"},
)
LONGEST = 70  # characters of code in a message


def slips(code: str) -> Iterator[tuple[str, str]]:
    """What differs in words, and the code with that slip; the same code may come twice."""
    tree = ast.parse(code)
    for slip in chain(_in_expressions(tree), _in_lines(tree), _in_names(tree)):
        yield slip, ast.unparse(ast.fix_missing_locations(tree))


def _text(node: ast.AST) -> str:
    """A node's code in one line."""
    line = " ".join(ast.unparse(node).split("\n")[0].split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


# ---- In expressions


def _in_expressions(tree: ast.Module) -> Iterator[str]:
    for parent in _computing(tree):
        for field, i, node in _children(parent):
            for new in _others(node):
                yield from _put(parent, field, i, new)
            if _is_counted(parent) and isinstance(node, ast.Name | ast.Call | ast.Subscript):
                for op in (ast.Add(), ast.Sub()):
                    yield from _put(parent, field, i, ast.BinOp(node, op, ast.Constant(1)))
        yield from _in_operators(parent)
        if isinstance(parent, ast.Call):
            yield from _in_arguments(parent)


def _computing(tree: ast.AST) -> list[ast.AST]:
    """The nodes of what is computed, without docstrings, decorators and defaults."""
    found: list[ast.AST] = []
    left = [tree]
    while left:
        node = left.pop(0)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            left += node.body
        else:
            found.append(node)
            left += ast.iter_child_nodes(node)
    return found


def _children(parent: ast.AST) -> Iterator[tuple[str, int, ast.expr]]:
    """The expressions in a node that are read, each with its field and its place in that."""
    for field, value in list(ast.iter_fields(parent)):
        for i, node in enumerate(value if isinstance(value, list) else [value]):
            is_read = isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
            if isinstance(node, ast.expr) and is_read and not _is_module(node):
                if not (isinstance(parent, ast.UnaryOp) and isinstance(node, ast.Constant)):
                    yield field, i, node


def _is_counted(parent: ast.AST) -> bool:
    """Whether its parts may be numbers that are one too large or too small."""
    if isinstance(parent, ast.Call):
        return isinstance(parent.func, ast.Name | ast.Attribute) and (
            getattr(parent.func, "id", "") or getattr(parent.func, "attr", "")
        ) in ("range", "arange", "tril", "triu", "randint", "topk", "min", "max")
    return isinstance(parent, ast.BinOp | ast.Slice | ast.Subscript | ast.Compare | ast.Return)


def _put(parent: ast.AST, field: str, i: int, new: ast.expr) -> Iterator[str]:
    """The tree with another node in a place, until the next is asked for."""
    value = getattr(parent, field)
    old, shown = value[i] if isinstance(value, list) else value, parent
    if not isinstance(parent, ast.expr | ast.keyword) or len(ast.unparse(parent)) > LONGEST:
        shown = old
    before = _text(shown)

    def put(node: ast.AST) -> None:
        if isinstance(value, list):
            value[i] = node
        else:
            setattr(parent, field, node)

    put(new)
    yield f"with `{_text(new if shown is old else shown)}` in place of `{before}`"
    put(old)


def _others(node: ast.expr) -> Iterator[ast.expr]:
    """What a reader may write for an expression: a part of it, or a neighbour."""
    match node:
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() as value):
            yield from (ast.Constant(n) for n in (value + 1, value - 1, -1, -2, 0) if n != value)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)):
            yield from (ast.Constant(n) for n in (1 - value, -1 - value, 1, 2))
        case ast.UnaryOp():
            yield node.operand
        case ast.BinOp(left=left, op=op, right=right):
            yield from (left, right)
            if isinstance(op, ast.Sub | ast.Div | ast.MatMult | ast.FloorDiv | ast.Mod | ast.Pow):
                yield ast.BinOp(right, op, left)
            if isinstance(op, ast.MatMult):
                yield ast.BinOp(left, op, _turned(right))
                yield ast.BinOp(_turned(left), op, right)
        case ast.Call(func=ast.Attribute(value=value)) if not _is_module(value):
            yield value
        case ast.Call(args=[value], keywords=[]):
            yield value
        case ast.Attribute(value=value) if not _is_module(value):
            yield value
        case ast.IfExp(body=body, orelse=orelse):
            yield from (body, orelse)
        case ast.BoolOp(values=values):
            yield from values
        case ast.Subscript(value=value):
            yield value
    if isinstance(node, ast.Name | ast.Call | ast.Subscript):
        for op in (ast.Add(), ast.Sub()):
            yield ast.BinOp(node, op, ast.Constant(1))


def _turned(node: ast.expr) -> ast.expr:
    return ast.Attribute(node, "mT", ast.Load())


def _is_module(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("torch", "math", "nn", "F", "self")


def _in_operators(node: ast.AST) -> Iterator[str]:
    places: list[tuple[Any, str | int]] = []
    if isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign):
        places = [(node, "op")]
    elif isinstance(node, ast.Compare):
        places = [(node.ops, i) for i in range(len(node.ops))]
    elif isinstance(node, ast.Attribute):
        places = [(node, "attr")]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        places = [(node.func, "id")]
    elif isinstance(node, ast.Slice):
        places = [(node, name) for name in ("lower", "upper", "step")]
    for holder, key in places:
        old = holder[key] if isinstance(key, int) else getattr(holder, key)
        if isinstance(node, ast.Slice):
            others: list[Any] = [None] if old else []
        elif isinstance(old, str):
            others = [name for names in NAMES if old in names for name in sorted(names - {old})]
        else:
            others = [kind() for kind in OTHER.get(type(old), ())]
        before = _text(node)
        for new in others:
            _set(holder, key, new)
            yield f"with `{_text(node)}` in place of `{before}`"
            _set(holder, key, old)


def _set(holder: Any, key: str | int, value: Any) -> None:
    if isinstance(key, int):
        holder[key] = value
    else:
        setattr(holder, key, value)


def _in_arguments(call: ast.Call) -> Iterator[str]:
    """A keyword left out, two arguments swapped."""
    before = _text(call)
    for i, keyword in enumerate(list(call.keywords)):
        del call.keywords[i]
        yield f"without `{_text(keyword)}` in `{before}`"
        call.keywords.insert(i, keyword)
    for i in range(len(call.args) - 1):
        call.args[i : i + 2] = reversed(call.args[i : i + 2])
        yield f"with `{_text(call)}` in place of `{before}`"
        call.args[i : i + 2] = reversed(call.args[i : i + 2])


# ---- In lines


def _in_lines(tree: ast.Module) -> Iterator[str]:
    """A line left out, before its neighbour, or on another level."""
    for parent in list(ast.walk(tree)):
        for field in ("body", "orelse"):
            lines = getattr(parent, field, None)
            if not isinstance(lines, list) or isinstance(parent, ast.Module | ast.ClassDef):
                continue
            whole = list(lines)
            for i, line in enumerate(whole):
                name = f"`{_text(line)}`"
                lines[:] = whole[:i] + whole[i + 1 :] or [ast.Pass()]
                yield f"without {name}"
                if isinstance(line, ast.If):
                    for part in filter(None, (line.body, line.orelse)):
                        lines[:] = whole[:i] + part + whole[i + 1 :]
                        yield f"with `{_text(part[0])}` in every case, without {name}"
                if i + 1 < len(whole):
                    after = whole[i + 1]
                    lines[:] = [*whole[:i], after, line, *whole[i + 2 :]]
                    yield f"with `{_text(after)}` before {name}"
                    if isinstance(line, ast.For | ast.While | ast.If | ast.With):
                        lines[:] = whole[: i + 1] + whole[i + 2 :]
                        line.body.append(after)
                        yield f"with `{_text(after)}` inside {name}"
                        line.body.pop()
                if isinstance(line, ast.For | ast.While) and len(line.body) > 1:
                    kept = list(line.body)
                    for place, moved in ((i, kept[0]), (i + 1, kept[-1])):
                        line.body.remove(moved)
                        lines[:] = [*whole[:place], moved, *whole[place:]]
                        yield f"with `{_text(moved)}` outside {name}"
                        line.body[:] = kept
                if isinstance(line, ast.AugAssign):
                    lines[:] = whole
                    lines[i] = ast.Assign([line.target], line.value)
                    yield f"with `=` in place of the operator in {name}"
                lines[:] = whole


# ---- In names


def _in_names(tree: ast.Module) -> Iterator[str]:
    """One variable of a function where another belongs."""
    for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
        names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
        known = {node.id for node in names if isinstance(node.ctx, ast.Store)}
        known |= {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
        for parent in _computing(ast.Module(function.body, [])):
            for field, i, node in _children(parent):
                if isinstance(node, ast.Name) and node.id in known:
                    for name in sorted(known - {node.id, "self", "_"}):
                        yield from _put(parent, field, i, ast.Name(name, ast.Load()))
