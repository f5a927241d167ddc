"""One change after another to the code of an answer, for the one that makes it right.

Each undoes a slip: another operator, number, axis, name or function, a part less or a part more, a
statement elsewhere, or a number, a call or a statement that the solution has. A slip that occurs in
several places is undone in all of them.
"""

from __future__ import annotations

import ast
import copy
import itertools
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator
from typing import Any, NamedTuple

from .borrowing import NOTHING, Borrowed

POWER = "_power"  # `a ** b` is this function, because a power of whole numbers may take for ever
OPERATORS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.MatMult: "@",
}
SHIFTS = {ast.LShift: "<<", ast.BitOr: "|", ast.BitAnd: "&"}
COMPARISONS = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
ALIKE = [  # functions that are taken for each other
    line.split()
    for line in """
    all any
    sum mean max min amax amin cumsum cumprod prod std var argmax argmin median
    maximum minimum
    exp log log2 log10 sqrt square abs
    floor ceil round trunc int
    softmax log_softmax sigmoid logsigmoid tanh silu relu gelu
    repeat repeat_interleave expand
    cat stack
    view reshape transpose permute
    cos sin
    ones zeros
    tril triu
    append extend
    comb perm
    """.splitlines()
]
FUNCTIONS = (
    "float(@);int(@);@+1;@-1;2*@;3*@;@/2;1-@;1/@;_power(@,2);_power(@,0.5);not @;~@;round(@);"
    "list(@);len(@);sum(@);sum(@)/len(@);math.ceil(@);math.exp(@);math.log(@);math.sqrt(@);"
    "torch.tensor(@);torch.tensor([@]);torch.stack(@);torch.cat(@);@.abs();@.exp();@.log();"
    "@.sqrt();@.square();@.mean();@.sum();@.sum(-1);@.mean(-1);@.sum(0);@.mean(0);@.sum(1);"
    "@.mean(1);@.item();@.tolist();@.clone();@.detach();@.float();@.long();@.bool();@.squeeze(0);"
    "@.unsqueeze(0);@.unsqueeze(1);@.unsqueeze(-1);@.squeeze(-1);@.softmax(-1);@.log_softmax(-1);"
    "@.sigmoid();@.round();@.T;@.mT;@.transpose(1,2);@.clamp(min=0);@.clamp(max=1);@.flatten(2);"
    "@.flip(0);@.size(-1);@.size(1);@.max();@.min();@.repeat(2)"
).split(";")


class Change(NamedTuple):
    """A field of a node of the code, its value before and after, and the code that changes.

    ``new`` is None where ``words`` says what is done with the old code.
    """

    owner: Any
    field: str
    before: Any
    after: Any
    old: Any
    new: ast.AST | None
    words: str = ""

    def apply(self) -> None:
        setattr(self.owner, self.field, self.after)

    def undo(self) -> None:
        setattr(self.owner, self.field, self.before)

    def line(self, top: Any) -> int:
        number: int = self.old.lineno - top.lineno + 1
        return number

    def said(self, top: Any, with_owner: bool = True) -> str:
        """The change in words, while the tree has it; ``top`` is the definition that it is in.

        Of a small one, such as of a number, with the code around it.
        """
        where = f"in line {self.line(top)}"
        if isinstance(top, ast.ClassDef):
            methods = [m for m in top.body if m.lineno <= self.old.lineno]
            where = f"in `{top.name}.{getattr(methods[-1], 'name', '')}`"
        if self.new is None:
            return f"{where}, {self.words.format(_text(self.old))}"
        old, new = (_text(node, self.field == "slice") for node in (self.old, self.new))
        small = isinstance(self.old, ast.Constant | ast.Name | ast.UnaryOp | ast.Slice)
        small = small and (with_owner or isinstance(self.old, ast.Slice))
        if small and isinstance(self.owner, ast.expr | ast.keyword | ast.Assign | ast.Return):
            around = copy.copy(self.owner)
            setattr(around, self.field, self.before)
            if len(_text(self.owner)) <= 60:
                old, new = _text(around), _text(self.owner)
        return f"{where}, `{new}` in place of `{old}`"


class Several(NamedTuple):
    """The same change in several places."""

    changes: tuple[Change, ...]

    def apply(self) -> None:
        for change in self.changes:
            change.apply()

    def undo(self) -> None:
        for change in reversed(self.changes):
            change.undo()

    def said(self, top: Any) -> str:
        first, *others = self.changes
        alike = len({change.said(top).partition(", ")[2] for change in self.changes}) == 1
        said = first.said(top, alike)
        if isinstance(top, ast.ClassDef):
            return f"{said}, and likewise in {len(others)} more places"
        lines = [c.line(top) for c in others]
        after = [str(n) for n in sorted({*lines} - {first.line(top)})]
        where = f"and likewise in line{'s' * (len(after) > 1)} {' and '.join(after)}"
        each = ["each time"] * (first.line(top) in lines)
        return ", ".join([said, *each, *[where] * bool(after)])


Changes = Generator[Change | Several, None, None]


class Place(NamedTuple):
    """Where an expression or a list of statements is, with the names that the code knows.

    Of these, ``called`` are functions and modules.
    """

    owner: Any
    field: str
    at: int | None  # in a list
    names: list[str]
    called: list[str]
    borrowed: Borrowed

    @property
    def node(self) -> Any:
        value = getattr(self.owner, self.field)
        return value if self.at is None else value[self.at]

    def with_text(self, text: str) -> Change:
        """Another expression in this place. Raises SyntaxError for a text that is none."""
        old, before = self.node, getattr(self.owner, self.field)
        index = isinstance(old, ast.Slice) or self.field == "slice"
        new: Any = parsed(f"_[{text}]" if index else text).body[0]
        new = new.value.slice if index else new.value
        i = self.at
        after = new if i is None else [*before[:i], new, *before[i + 1 :]]
        return Change(self.owner, self.field, before, after, old, new)

    def with_lines(self, after: list[Any], line: Any, words: str) -> Change:
        """Other statements, which these words say of one of them."""
        return Change(self.owner, self.field, self.node, after, line, None, words)

    def with_line(self, i: int, text: str) -> Change:
        """Another statement in place of statement i."""
        body = self.node
        (new,) = parsed(text).body if text not in ("break", "continue") else (_KEYWORDS[text],)
        after = [*body[:i], ast.copy_location(new, body[i]), *body[i + 1 :]]
        return Change(self.owner, self.field, body, after, body[i], new)


def changes(tree: ast.Module, borrowed: Borrowed = NOTHING) -> Changes:
    """The changes, the likeliest first. The tree has each of them until the next is asked for."""
    places = list(_places(tree, borrowed))
    yield from _of_kinds(places, _shorter, _statements, _other, _renamed)
    yield from _in_all(places, _shorter, _other, _renamed)
    yield from _of_kinds(places, _borrowed, _lines_borrowed, _with_more, _wrapped)
    yield from _in_all(places, _wrapped)
    yield from _of_kinds(places[::-1], _joined)  # formulas come last


def quick_changes(tree: ast.Module, borrowed: Borrowed = NOTHING) -> Changes:
    """The likeliest of the changes."""
    yield from _of_kinds(list(_places(tree, borrowed)), _shorter, _other, _renamed, _borrowed)


def _of_kinds(places: list[Place], *kinds: Callable[[Place], Iterator[Any]]) -> Changes:
    for kind in kinds:
        for place in places:
            for change in _each(place, kind):
                change.apply()
                try:
                    yield change
                finally:
                    change.undo()


def _alike(places: list[Place]) -> Iterator[list[Place]]:
    """Places with equal contents, and those of equal parts of calls and of operations."""
    groups: dict[tuple[Any, ...], list[Place]] = defaultdict(list)
    for place in places:
        owner, node, at = place.owner, place.node, (place.field, place.at)
        if isinstance(node, list):
            continue
        dump = ast.dump(node)
        name = getattr(owner, "func", None)
        called = getattr(name, "attr", getattr(name, "id", getattr(owner, "arg", "")))
        if isinstance(node, ast.Name):
            groups["name", dump].append(place)
        elif isinstance(node, ast.Constant | ast.Slice | ast.UnaryOp):
            groups[type(owner), called, *at, dump].append(place)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            rest = [ast.dump(part) for part in (*node.args, *node.keywords)]
            groups[node.func.attr, *rest].append(place)
        if isinstance(owner, ast.BinOp):
            other = owner.right if place.field == "left" else owner.left
            groups[type(owner.op), *at, ast.dump(other)].append(place)
    yield from (group for group in groups.values() if 1 < len(group) < 5)


def _in_all(places: list[Place], *kinds: Callable[[Place], Iterator[str]]) -> Iterator[Several]:
    """Each change in all of the places that are alike at once."""
    for alike, kind in itertools.product(_alike(places), kinds):
        for texts in zip(*(list(kind(place)) for place in alike), strict=False):
            made: list[Change] = []
            try:
                for place, text in zip(alike, texts, strict=True):
                    made.append(place.with_text(text))
                    made[-1].apply()
                if any(ast.dump(c.new or c.old) != ast.dump(c.old) for c in made):
                    yield Several(tuple(made))
            except (SyntaxError, AttributeError):
                continue
            finally:
                Several(tuple(made)).undo()


def _each(place: Place, kind: Callable[[Place], Iterator[Any]]) -> Iterator[Change]:
    """The changes of a kind in a place."""
    node = place.node
    if (kind in (_statements, _lines_borrowed)) != isinstance(node, list):
        return
    for found in kind(place):
        if isinstance(found, Change):
            yield found
            continue
        try:
            change = place.with_text(found)
        except (SyntaxError, AttributeError):
            continue
        if ast.dump(change.new or node) != ast.dump(node):
            yield change


def parsed(source: str) -> ast.Module:
    """The code as a tree, in which powers are calls of POWER."""
    tree: ast.Module = _Powers().visit(ast.parse(source))
    return tree


class _Powers(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Pow):
            return node
        call = ast.Call(ast.Name(POWER, ast.Load()), [node.left, node.right], [])
        return ast.fix_missing_locations(ast.copy_location(call, node))


class _Back(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        power = ast.unparse(node.func) == POWER
        return ast.BinOp(node.args[0], ast.Pow(), node.args[1]) if power else node


def lines_of(top: Any) -> dict[int, str]:
    """The first line of each statement in a definition, by its number in it."""
    inside = (node for node in ast.walk(top) if isinstance(node, ast.stmt) and node is not top)
    return {node.lineno - top.lineno + 1: _text(node) for node in inside}


def _text(node: ast.AST, is_index: bool = False) -> str:
    """The code of a node, for readers."""
    text = ast.unparse(_Back().visit(copy.deepcopy(node)))
    if isinstance(node, ast.stmt):
        text = text.split("\n")[0]  # of a loop, what it is over
    text = " ".join(text.split())
    slices = [part for part in getattr(node, "elts", ()) if isinstance(part, ast.Slice)]
    if is_index or slices:
        text = f"[{text.strip('()') if isinstance(node, ast.Tuple) else text}]"
    return text if len(text) <= 90 else text[:87] + "…"


# ---- Where


def _names(tree: ast.Module) -> tuple[list[str], list[str]]:
    """The names that the code gives a value, its arguments, and the attributes of ``self``.

    The second list has those that it calls.
    """
    found: dict[str, None] = {}
    called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.arg != "self":
            found[node.arg] = None
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found[node.id] = None
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self":
            found[f"self.{node.attr}"] = None
    return [n for n in found if n not in called], [n for n in found if n in called]


def _places(tree: ast.Module, borrowed: Borrowed) -> Iterator[Place]:
    """All places in functions, one in another and their defaults included."""
    known = (*_names(tree), borrowed)
    tops = [top for node in tree.body for top in getattr(node, "body", [])]
    functions = [n for n in [*tree.body, *tops] if isinstance(n, ast.FunctionDef)]
    for node in (inner for function in functions for inner in ast.walk(function)):
        for field, value in ast.iter_fields(node):
            many = value if isinstance(value, list) else [value]
            if field in ("annotation", "returns", "decorator_list") or not many:
                continue
            if isinstance(many[0], ast.stmt):
                yield Place(node, field, None, *known)
                continue
            for i, part in enumerate(many):
                stored = isinstance(getattr(part, "ctx", None), ast.Store)
                function = isinstance(node, ast.Call) and field == "func"
                if isinstance(part, ast.expr) and not stored and not function:
                    yield Place(node, field, i if isinstance(value, list) else None, *known)


def _is_module(node: Any, names: list[str]) -> bool:
    """Whether an expression is a module, such as torch.nn, or another name from outside."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id not in names and node.id != "self"


# ---- The changes, each as the text of an expression


def _sides(node: Any) -> tuple[str, str, str] | None:
    """The left side of an operation, its operator, and the right side."""
    if isinstance(node, ast.BinOp):
        operator = {**OPERATORS, **SHIFTS}.get(type(node.op), "")
        sides = ast.unparse(node.left), operator, ast.unparse(node.right)
        return sides if operator else None
    if isinstance(node, ast.Call) and ast.unparse(node.func) == POWER:
        return ast.unparse(node.args[0]), "**", ast.unparse(node.args[1])
    return None


def _operation(left: str, operator: str, right: str) -> str:
    return f"{POWER}({left}, {right})" if operator == "**" else f"({left}) {operator} ({right})"


def _shorter(place: Place) -> Iterator[str]:
    """A part of an expression in place of the whole."""
    node = place.node
    parts: list[Any] = []
    if isinstance(place.owner, ast.Expr):  # it is left out as a statement
        return
    if isinstance(node, ast.BinOp):
        parts = [node.left, node.right]
    elif isinstance(node, ast.Call):
        receiver = getattr(node.func, "value", None)
        parts = [
            *node.args,
            *([] if _is_module(receiver, [*place.names, *place.called]) else [receiver]),
        ]
    elif isinstance(node, ast.Subscript) or getattr(node, "attr", "") in ("T", "mT"):
        parts = [node.value]
    elif isinstance(node, ast.List | ast.Tuple):
        parts = [*node.elts]
    elif isinstance(node, ast.BoolOp):
        parts = [*node.values]
    elif isinstance(node, ast.UnaryOp):
        parts = [node.operand]
    elif isinstance(node, ast.Name) and isinstance(place.owner, ast.Assign):
        yield f"{node.id}.clone()"  # what is written into later
    yield from (ast.unparse(p) for p in parts if p and not isinstance(p, ast.Starred | ast.Slice))
    if isinstance(node, ast.BinOp) and isinstance(node.left, ast.UnaryOp):
        yield f"-({ast.unparse(node.right)})"


def _other(place: Place) -> Iterator[str]:
    """Another operator, number, order or function."""
    node = place.node
    if _is_value(place):
        yield f"-({ast.unparse(node)})"
    if isinstance(node, ast.Constant) and not isinstance(place.owner, ast.UnaryOp):
        n = node.value
        if isinstance(n, bool):
            yield str(not n)
        elif isinstance(n, int | float):
            whole = (0, 1, -1, 2, -2) if isinstance(n, int) else ()
            yield from (str(m) for m in dict.fromkeys((n + 1, n - 1, -n, *whole)))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
        yield from ("0", "1", "2", "-1", "-2")
    elif sides := _sides(node):
        yield from _other_operations(node, *sides)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = ast.unparse(node.left), ast.unparse(node.comparators[0])
        yield from (f"({left}) {sign} ({right})" for sign in COMPARISONS.values())
        yield f"({left}) is not None"
    elif isinstance(node, ast.BoolOp):
        yield (" or " if isinstance(node.op, ast.And) else " and ").join(
            f"({ast.unparse(value)})" for value in node.values
        )
    elif isinstance(node, ast.IfExp):
        parts = [ast.unparse(part) for part in (node.orelse, node.test, node.body)]
        yield "({}) if ({}) else ({})".format(*parts)
        yield from (f"{parts[2]}", f"{parts[0]}")
    elif isinstance(node, ast.Tuple | ast.List):
        yield from (ast.unparse(type(node)(items, ast.Load())) for items in _orders(node.elts))
    elif isinstance(node, ast.Slice):
        low, up, step = (ast.unparse(b) if b else "" for b in (node.lower, node.upper, node.step))
        yield from (f"{up}:{low}", f"{low}:", f":{up}", f"1:{up}", f"{low}:-1", f":{step}", "1:")
        yield from (f":-1:{step}", f"1::{step}", "...")
    elif isinstance(node, ast.Call):
        yield from _other_calls(node, place.called)


def _other_operations(node: Any, left: str, operator: str, right: str) -> Iterator[str]:
    signs = SHIFTS if operator in SHIFTS.values() else OPERATORS
    yield from (_operation(left, sign, right) for sign in (*signs.values(), "**"))
    yield _operation(right, operator, left)
    parts = [node.left, node.right] if isinstance(node, ast.BinOp) else node.args
    if inner := _sides(parts[1]):  # brackets
        yield _operation(_operation(left, operator, inner[0]), *inner[1:])
    if inner := _sides(parts[0]):
        yield _operation(*inner[:2], _operation(inner[2], operator, right))
    for call, other in (parts, parts[::-1]):
        if isinstance(call, ast.Call) and len(call.args) == 1 and operator != "**":
            given = _operation(ast.unparse(call.args[0]), operator, ast.unparse(other))
            yield f"{ast.unparse(call.func)}({given})"


def _orders(items: list[Any]) -> Iterator[list[Any]]:
    for i in range(len(items) - 1):
        yield [*items[:i], items[i + 1], items[i], *items[i + 2 :]]


def _other_calls(node: ast.Call, called: list[str]) -> Iterator[str]:
    """Another function, and other arguments."""
    *owner, name = ast.unparse(node.func).rpartition(".")
    given = [ast.unparse(part) for part in (*node.args, *node.keywords)]
    for other in (other for group in ALIKE if name in group for other in group):
        yield f"{''.join(owner)}{other}({', '.join(given)})"
    for other in called if "".join([*owner, name]) in called else ():
        yield f"{other}({', '.join(given)})"
    for i in range(len(given)):
        yield f"{ast.unparse(node.func)}({', '.join(given[:i] + given[i + 1 :])})"
    for order in _orders(given[: len(node.args)]):
        yield f"{ast.unparse(node.func)}({', '.join([*order, *given[len(node.args) :]])})"
    if len(given) == 1 and (inner := _sides(node.args[0] if node.args else None)):
        yield _operation(f"{ast.unparse(node.func)}({inner[0]})", *inner[1:])
    for more in ("keepdim=True", "dim=-1", "dim=0", "dim=1"):
        yield f"{ast.unparse(node.func)}({', '.join([*given, more])})"
    for i, part in enumerate(given):
        key, _, value = part.partition("=")
        if key in ("min", "max"):
            both = {"min": "max", "max": "min"}[key]
            new = [*given[:i], f"{both}={value}", *given[i + 1 :]]
            yield f"{ast.unparse(node.func)}({', '.join(new)})"


def _renamed(place: Place) -> Iterator[str]:
    """Another name, or one for a number."""
    node = place.node
    if isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node) in place.names:
        yield from place.names
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield from (way.format(name) for name in place.names for way in ("{}", "len({})"))


def _borrowed(place: Place) -> Iterator[Any]:
    """What the solution has: a number or a text, an index, an argument, a call around."""
    node, lent = place.node, place.borrowed
    known = {*place.names, *place.called}
    if isinstance(node, ast.Name | ast.Constant | ast.UnaryOp):
        text = isinstance(getattr(node, "value", None), str)
        if not isinstance(place.owner, ast.Expr):
            yield from (c for c in lent.constants if (c[0] == "'") >= text)
    if isinstance(place.owner, ast.Subscript) and place.field == "slice":
        yield from (index for index, names in lent.indices.items() if names <= known)
    if isinstance(node, ast.Call):
        function = ast.unparse(node.func)
        args = [ast.unparse(part) for part in node.args]
        given = {part.arg: ast.unparse(part) for part in node.keywords}
        for more, names in lent.arguments.get(function.rpartition(".")[2], {}).items():
            if not names <= known:
                continue
            key, is_keyword, _ = more.partition("=")
            new = [*args, *given.values(), more]
            if is_keyword:
                new = [*args, *{**given, key: more}.values()]
            yield f"{function}({', '.join(new)})"
    if _is_value(place):
        inner = f"({ast.unparse(node)})"
        yield from (text.replace("@", inner) for text in lent.around)


def _lines_borrowed(place: Place) -> Iterator[Change]:
    """A statement of the solution, in place of one that gives a value to the same name, or more."""
    body: list[Any] = place.node
    known = {*place.names, *place.called}
    for text, names in place.borrowed.statements.items():
        if not names <= known:
            continue
        target = text.partition(" = ")[0]
        same = [
            i
            for i, line in enumerate(body)
            if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == target
        ]
        yield from (place.with_line(i, text) for i in same)
        for i, line in enumerate(() if same else body):
            if isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant):  # a docstring
                continue
            (new,) = parsed(text).body
            new = ast.fix_missing_locations(ast.copy_location(new, line))
            words = f"put `{text}` before `{{}}`"
            yield place.with_lines([*body[:i], new, *body[i:]], line, words)


def _with_more(place: Place) -> Iterator[str]:
    """One more argument."""
    node = place.node
    if isinstance(node, ast.Call):
        args = [ast.unparse(arg) for arg in node.args]
        rest = [ast.unparse(keyword) for keyword in node.keywords]
        for more in ("-1", "0", "1", *place.names):
            yield f"{ast.unparse(node.func)}({', '.join([*args, more, *rest])})"


def _is_value(place: Place) -> bool:
    """Whether an expression is a number, a tensor or a list, as far as its form tells."""
    if isinstance(place.node, ast.Name | ast.Attribute):
        return not _is_module(place.node, [*place.names, *place.called])
    return isinstance(place.node, ast.Call | ast.BinOp | ast.Subscript | ast.Compare | ast.ListComp)


def _wrapped(place: Place) -> Iterator[str]:
    """A function of what is there."""
    if _is_value(place):
        inner = f"({ast.unparse(place.node)})"
        yield from (function.replace("@", inner) for function in FUNCTIONS)


def _joined(place: Place) -> Iterator[str]:
    """What is there, with another value of the code."""
    if _is_value(place):
        inner = ast.unparse(place.node)
        for name in place.names:
            yield from (_operation(inner, sign, name) for sign in "*/-+")
            yield _operation(inner, "/", f"len({name})")


# ---- Statements


def _statements(place: Place) -> Iterator[Change]:
    """A statement less, or in another place, or with another operator."""
    body: list[Any] = place.node

    lines, instead = place.with_lines, place.with_line
    for i, line in enumerate(body):
        before, after = body[:i], body[i + 1 :]
        if len(body) > 1:
            yield lines(before + after, line, "leave out `{}`")
        if after:
            new = [*before, after[0], line, *after[1:]]
            yield lines(new, line, "move `{}` one statement down")
        if isinstance(line, ast.AugAssign):
            target, value = ast.unparse(line.target), ast.unparse(line.value)
            if sign := OPERATORS.get(type(line.op)):  # not in place
                yield instead(i, f"{target} = {_operation(target, sign, value)}")
            for sign in ("", *OPERATORS.values()):
                if not isinstance(line.op, ast.Pow):
                    yield instead(i, f"{target} {sign}= {value}")
        elif isinstance(line, ast.Assign):
            target, value = ast.unparse(line.targets[0]), ast.unparse(line.value)
            yield from (instead(i, f"{target} {s}= {value}") for s in "+*" if "," not in target)
            if not after:
                end = ast.copy_location(parsed(f"return {target}").body[0], line)
                yield lines([*body, end], line, f"put `return {target}` after `{{}}`")
        elif isinstance(line, ast.Expr):
            yield from _kept(place, i)
        elif isinstance(line, ast.Break):
            yield instead(i, "continue")
        elif isinstance(line, ast.Continue):
            yield instead(i, "break")
        elif isinstance(line, ast.For | ast.While | ast.If):
            *rest, last = line.body
            what = "`if`" if isinstance(line, ast.If) else "loop"
            if rest:
                new = [*before, _with(line, body=rest), last, *after]
                yield lines(new, last, f"move `{{}}` out of the {what}")
            if after:
                new = [*before, _with(line, body=[*line.body, after[0]]), *after[1:]]
                yield lines(new, after[0], f"move `{{}}` into the {what}")
            follows = i and isinstance(body[i - 1], ast.If) and isinstance(line, ast.If)
            if follows and not body[i - 1].orelse:
                new = [*before[:-1], _with(before[-1], orelse=[line]), *after]
                yield lines(new, getattr(line, "test", None), "write `elif {}`")


def _kept(place: Place, i: int) -> Iterator[Change]:
    """What statement i computes is returned, or given to the name that it computes it of."""
    line = place.node[i].value
    value = ast.unparse(line)
    if place.node[i] is place.node[-1]:
        yield place.with_line(i, f"return {value}")
    method: Any = getattr(line, "func", line)
    if isinstance(method, ast.Attribute) and isinstance(method.value, ast.Name | ast.Attribute):
        name = ast.unparse(method.value)
        if method.attr[-1] == "_":  # in place
            value = value.replace(f"{name}.{method.attr}(", f"{name}.{method.attr[:-1]}(")
        if not _is_module(method.value, [*place.names, *place.called]):
            yield place.with_line(i, f"{name} = {value}")


_KEYWORDS: dict[str, ast.stmt] = {"break": ast.Break(), "continue": ast.Continue()}


def _with(line: ast.stmt, **fields: list[ast.stmt]) -> ast.stmt:
    new = copy.copy(line)
    for name, value in fields.items():
        setattr(new, name, value)
    return new
