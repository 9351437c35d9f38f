"""The defects that are put into a function, each a replacement of one node of its syntax tree.

Left out: asserts, annotations, calls of a logger or of `super()`, format specifications, `__repr__`,
a `+` that joins texts or lists, and arguments that change no result (UNSEEN).
"""

import ast
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

Function = ast.FunctionDef | ast.AsyncFunctionDef
Enums = Mapping[str, tuple[str, ...]]
"""The members of each enum, by its class name."""

BOUNDARY: Final[Mapping[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
EQUALITY: Final[Mapping[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC: Final[Mapping[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
}
EXCHANGED: Final = {"min": "max", "max": "min", "any": "all", "all": "any"}
UNORDERED: Final = ("sorted", "reversed")
JOINED: Final = (ast.JoinedStr, ast.List, ast.ListComp, ast.Tuple)
NO_RULES: Final = ("log", "_log", "logger", "_logger", "super()")
UNSEEN: Final = ("strict", "prepare")
MOST_SHOWN: Final = 100


@dataclass(frozen=True, slots=True)
class Mutation:
    """One defect that a function can have.

    `old`, `new`: the statement or expression around it, as ast.unparse writes it. `occurrence`:
    which one, from 0, of those in the function with the same operator, old and new.
    """

    rule: str
    operator: str
    old: str
    new: str
    occurrence: int
    site: "_Site"

    @property
    def lines(self) -> range:
        """The lines of what is replaced."""
        return _lines(self.site.node)

    @property
    def statement_lines(self) -> range:
        """The lines of the statement around it; of a compound one, those before its body."""
        statement = self.site.path[0]
        body = getattr(statement, "body", None)
        if not isinstance(body, list):
            return _lines(statement)
        return range(_line(statement), max(_line(statement) + 1, _line(body[0])))

    @property
    def functions(self) -> tuple[Function, ...]:
        """The function, after those around it."""
        return self.site.functions

    def apply(self) -> None:
        """Put the defect into the tree."""
        self.site.put(self.site.replacement)


@dataclass(frozen=True, slots=True)
class _Site:
    """A node, what replaces it, and where: the statement that holds it, what lies between, itself."""

    functions: tuple[Function, ...]
    path: tuple[ast.AST, ...]
    parent: ast.AST
    field: str
    index: int | None
    operator: str
    replacement: ast.AST

    @property
    def node(self) -> ast.AST:
        return self.path[-1]

    def put(self, node: ast.AST) -> None:
        ast.copy_location(node, self.node)
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node
        ast.fix_missing_locations(node)

    def texts(self) -> tuple[str, str]:
        """The largest part of the statement that is short enough to read, before and after."""
        if isinstance(self.node, ast.stmt):
            return ast.unparse(self.node), ast.unparse(self.replacement)
        shown = [one for one in self.path if isinstance(one, ast.expr) or _is_simple(one)]
        around = next((one for one in shown if len(ast.unparse(one)) <= MOST_SHOWN), self.node)
        if around is self.node:
            return ast.unparse(self.node), ast.unparse(self.replacement)
        old = ast.unparse(around)
        self.put(self.replacement)
        new = ast.unparse(around)
        self.put(self.node)
        return old, new


def mutations(
    tree: ast.Module, enums: Enums, rules: Collection[str] | None = None
) -> Iterator[Mutation]:
    """All defects of the functions of a module, or of these, in the order of its source."""
    seen = Counter[tuple[str, ...]]()
    for rule, functions in _functions(tree, "", ()):
        if rules is not None and rule not in rules:
            continue
        for site in _sites(functions, enums):
            old, new = site.texts()
            if old == new or {"\n", "\t"} & {*old, *new}:
                continue
            key = (rule, site.operator, old, new)
            yield Mutation(*key, seen[key], site)
            seen[key] += 1


def enums_of(tree: ast.Module) -> dict[str, tuple[str, ...]]:
    """The members of the module's enums."""
    return {
        node.name: tuple(
            target.id
            for statement in node.body
            if isinstance(statement, ast.Assign)
            for target in statement.targets
            if isinstance(target, ast.Name) and not target.id.startswith("_")
        )
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        and any(ast.unparse(base).endswith(("Enum", "Flag")) for base in node.bases)
    }


def branching_lines(tree: ast.Module) -> int:
    """How many lines of a module's functions decide something."""
    kinds = (ast.If, ast.While, ast.IfExp, ast.BoolOp, ast.Compare, ast.Raise, ast.match_case)
    return len(
        {
            _line(node)
            for _, functions in _functions(tree, "", ())
            for statement in functions[-1].body
            for node in ast.walk(statement)
            if isinstance(node, kinds)
        }
    )


def _functions(
    node: ast.AST, prefix: str, around: tuple[Function, ...]
) -> Iterator[tuple[str, tuple[Function, ...]]]:
    """Each function by its qualified name, with those around it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function):
            chain = (*around, child)
            if child.name != "__repr__":
                yield prefix + child.name, chain
            yield from _functions(child, f"{prefix}{child.name}.<locals>.", chain)
        else:
            deeper = f"{prefix}{child.name}." if isinstance(child, ast.ClassDef) else prefix
            yield from _functions(child, deeper, around)


def _sites(functions: tuple[Function, ...], enums: Enums) -> Iterator[_Site]:
    may_be_none = "None" in ast.unparse(functions[-1].returns or ast.Pass())
    stack = _children((functions[-1],), "body")
    while stack:
        parent, field, index, path = stack.pop()
        if _is_left_out(path[-1], field):
            continue
        for operator, replacement in _replacements(path[-1], field, enums, may_be_none):
            yield _Site(functions, path, parent, field, index, operator, replacement)
        stack += _children(path)


_Child = tuple[ast.AST, str, int | None, tuple[ast.AST, ...]]
"""Its parent, the field and index there, and what leads to it from its statement."""


def _children(path: tuple[ast.AST, ...], only: str | None = None) -> list[_Child]:
    """The last one first."""
    found = list[_Child]()
    for field, value in ast.iter_fields(path[-1]):
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(child, ast.AST) and only in (None, field):
                leading = (child,) if isinstance(child, ast.stmt) else (*path, child)
                found.append((path[-1], field, index, leading))
    return found[::-1]


def _is_left_out(node: ast.AST, field: str) -> bool:
    return (
        isinstance(node, (*_DECLARED, ast.Assert))
        or field in ("annotation", "format_spec")
        or (isinstance(node, ast.Expr) and _is_no_rule(node))
        or (isinstance(node, ast.keyword) and node.arg in UNSEEN)
    )


_DECLARED: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _is_no_rule(statement: ast.Expr) -> bool:
    """A docstring, or a call that decides nothing."""
    call = statement.value
    if isinstance(call, ast.Call):
        return ast.unparse(call.func).split(".")[0] in NO_RULES
    return isinstance(call, ast.Constant)


def _replacements(
    node: ast.AST, field: str, enums: Enums, may_be_none: bool
) -> Iterator[tuple[str, ast.AST]]:
    if field in ("test", "ifs") and isinstance(node, ast.expr) and _is_negatable(node):
        yield "negated", ast.UnaryOp(ast.Not(), node)
    yield from _calculated(node)
    yield from _valued(node, enums)
    yield from _ended(node, may_be_none)


def _calculated(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.Compare():
            yield from _compared(node)
        case ast.BinOp(left, operator, right) if type(operator) in ARITHMETIC:
            if not _joins(left) and not _joins(right):
                yield "arithmetic", ast.BinOp(left, ARITHMETIC[type(operator)](), right)
        case ast.AugAssign(target, operator, value) if type(operator) in ARITHMETIC:
            if not _joins(value):
                yield "arithmetic", ast.AugAssign(target, ARITHMETIC[type(operator)](), value)
        case ast.BoolOp(operator, values):
            other = ast.Or() if isinstance(operator, ast.And) else ast.And()
            yield "and/or", ast.BoolOp(other, values)
        case ast.UnaryOp(ast.Not(), operand):
            yield "not dropped", operand
        case ast.UnaryOp(ast.USub(), operand):
            yield "minus dropped", operand


def _valued(node: ast.AST, enums: Enums) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.Constant(bool(value)):
            yield "boolean", ast.Constant(not value)
        case ast.Constant(int(value)):
            yield "constant", ast.Constant(value + 1)
            yield "constant", ast.Constant(value - 1)
        case ast.Call(ast.Name()):
            yield from _called(node)
        case ast.Attribute(ast.Name(name), member) if member in enums.get(name, ()):
            members = enums[name]
            following = members[(members.index(member) + 1) % len(members)]
            if following != member:
                yield "enum", ast.Attribute(ast.Name(name, ast.Load()), following, ast.Load())


def _ended(node: ast.AST, may_be_none: bool) -> Iterator[tuple[str, ast.AST]]:
    """Of statements that end something, or do something alone."""
    match node:
        case ast.Return(ast.expr() as value) if may_be_none and ast.unparse(value) != "None":
            yield "none returned", ast.Return(ast.Constant(None))
        case ast.Raise(ast.expr()):
            yield "raise removed", ast.Pass()
        case ast.Expr(ast.Call()):
            yield "call removed", ast.Pass()
        case ast.Continue():
            yield "continue/break", ast.Break()
        case ast.Break():
            yield "continue/break", ast.Continue()


def _compared(node: ast.Compare) -> Iterator[tuple[str, ast.AST]]:
    for index, operator in enumerate(node.ops):
        for name, exchanged in (("boundary", BOUNDARY), ("equality", EQUALITY)):
            if other := exchanged.get(type(operator)):
                operators = [*node.ops[:index], other(), *node.ops[index + 1 :]]
                yield name, ast.Compare(node.left, operators, node.comparators)


def _called(node: ast.Call) -> Iterator[tuple[str, ast.AST]]:
    if not isinstance(node.func, ast.Name):
        return
    name = node.func.id
    if name in EXCHANGED:
        yield (
            "min/max, any/all",
            ast.Call(ast.Name(EXCHANGED[name], ast.Load()), node.args, node.keywords),
        )
    if name in UNORDERED and node.args:
        yield "order removed", ast.Call(ast.Name("list", ast.Load()), node.args[:1], [])


def _is_negatable(test: ast.expr) -> bool:
    """Not those whose negation is another operator's mutant."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return type(test.ops[0]) not in EQUALITY
    return not (isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not))


def _joins(operand: ast.expr) -> bool:
    return isinstance(operand, JOINED) or (
        isinstance(operand, ast.Constant) and isinstance(operand.value, str | bytes)
    )


def _is_simple(node: ast.AST) -> bool:
    return isinstance(node, ast.stmt) and not hasattr(node, "body") and not hasattr(node, "cases")


def _line(node: ast.AST) -> int:
    """Where it begins: a node without a place of its own (a clause of a comprehension, a case)
    begins with the first of its parts.
    """
    return getattr(node, "lineno", 0) or min(
        (_line(child) for child in ast.iter_child_nodes(node)), default=0
    )


def _lines(node: ast.AST) -> range:
    return range(_line(node), (getattr(node, "end_lineno", None) or _line(node)) + 1)
