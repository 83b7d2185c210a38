"""Mutants of the package: its modules are imported with a call of the switch at each operator."""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, ModuleType

from tests.mutation.sources import Mutant
from tests.mutation.switch import Switch

AREA = "python"
FILES = (
    "core/accumulate.py",
    "core/binning.py",
    "core/cells.py",
    "core/grid.py",
    "core/labels.py",
    "core/modes.py",
    "core/periods.py",
    "core/rows.py",
    "core/window.py",
    "images/bands.py",
    "images/colours.py",
    "images/levels.py",
    "images/pixels.py",
    "images/segmentation.py",
    "tracking/tracker.py",
    "tracking/windows.py",
)
ARITHMETIC = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "+"),
    ast.Pow: ("**", "*"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.BitXor: ("^", "&"),
}
COMPARISONS = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
OPPOSITES = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)  # each negates its condition
FUNCTIONS = (("min", "max"), ("minimum", "maximum"), ("any", "all"), ("floor", "ceil"))
SWAPPED = {a: b for pair in FUNCTIONS for a, b in (pair, pair[::-1])}
SWITCH = "__switch__"


class Mutator(ast.NodeTransformer):
    """Rewrites the functions of a module, and lists the mutants that it puts into them.

    Annotations, defaults and decorators are left out: they are evaluated at import, when no mutant
    is active. So are messages: formatted strings and the arguments of `raise`.
    """

    def __init__(self, file: str, source: str, mutants: list[Mutant]) -> None:
        self._file, self._lines, self._mutants = file, source.split("\n"), mutants
        self._constants: set[str] = set()  # numbers of the module
        self._in_function = False

    def visit_Module(self, module: ast.Module) -> ast.AST:
        for node in module.body:
            if isinstance(node, ast.Assign):
                pairs = [(node.targets[0], node.value)]
                if isinstance(node.targets[0], ast.Tuple):
                    pairs = zip(node.targets[0].elts, node.value.elts)
                self._constants |= {target.id for target, value in pairs if _is_number(value)}
        return self.generic_visit(module)

    def visit_FunctionDef(self, function: ast.FunctionDef) -> ast.AST:
        outside, self._in_function = self._in_function, True
        function.body = [self.visit(statement) for statement in function.body]
        self._in_function = outside
        return function

    def visit(self, node: ast.AST) -> ast.AST:
        if self._in_function or isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            changed = super().visit(node)
            return node if changed is node else ast.copy_location(changed, node)
        return node

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.value = node.value and self.visit(node.value)
        return node

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        return node if node.arg == "strict" else self.generic_visit(node)  # zip checks lengths

    # -- operators ----------------------------------------------------------------------------

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        if _is_number(node):
            return self._number(node)
        if isinstance(node.op, ast.MatMult):
            return self.generic_visit(node)
        usual, changed = ARITHMETIC[type(node.op)]
        id = self._after(node.left, changed)
        return _call("operate", id, usual, changed, self.visit(node.left), self.visit(node.right))

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        _, changed = ARITHMETIC[type(node.op)]
        (kind,) = (kind for kind, (sign, _) in ARITHMETIC.items() if sign == changed)
        id = self._after(node.target, changed)
        node = self.generic_visit(node)
        other = ast.AugAssign(node.target, kind(), node.value)
        return ast.If(_call("on", id), [ast.copy_location(other, node)], [node])

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        operands, links = [node.left, *node.comparators], []
        for left, op in zip(operands, node.ops):
            usual, changed = COMPARISONS[type(op)]
            links.append(_constant((self._after(left, changed), usual, changed)))
        values = ast.Tuple([self.visit(operand) for operand in operands], ast.Load())
        return _call("compare", values, *links)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        neutral = isinstance(node.op, ast.And)
        for k, value in enumerate(node.values):
            if isinstance(value, ast.Constant):
                continue
            id = self._before(value, str(neutral))
            node.values[k] = _call("unless", id, self.visit(value), neutral)
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        if _is_number(node):
            return self._number(node)
        id = self._before(node, "without")
        value = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            return ast.UnaryOp(node.op, _call("negated", id, value))
        return ast.IfExp(_call("on", id), value, ast.UnaryOp(node.op, value))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        function = node.func
        name = getattr(function, "id", getattr(function, "attr", None))
        if name == "isinstance":  # of types there are no other operators
            node.args[0] = self.visit(node.args[0])
            return node
        node = self.generic_visit(node)
        if name in SWAPPED and isinstance(function, ast.Name):
            id = self._before(function, SWAPPED[name])
            node.func = _call("function", id, function, ast.Name(SWAPPED[name], ast.Load()))
        elif name in SWAPPED:
            id = self._mark(function.end_lineno, function.end_col_offset - len(name), SWAPPED[name])
            node.func = _call("method", id, node.func.value, name, SWAPPED[name])
        return node

    # -- numbers ------------------------------------------------------------------------------

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, bool):
            return _call("negated", self._before(node, "not"), node)
        return self._number(node) if _is_number(node) else node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self._number(node) if node.id in self._constants else node

    def _number(self, node: ast.expr) -> ast.AST:
        return _call("number", self._before(node, "more"), node)

    # -- conditions ---------------------------------------------------------------------------

    def visit_If(self, node: ast.If | ast.IfExp | ast.While) -> ast.AST:
        test = node.test
        node = self.generic_visit(node)
        if not isinstance(test, ast.UnaryOp | ast.Constant) and not _has_opposite(test):
            node.test = _call("negated", self._before(test, "not"), node.test)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        return self.visit_If(node)

    def visit_While(self, node: ast.While) -> ast.AST:
        return self.visit_If(node)

    # -- the list -----------------------------------------------------------------------------

    def _before(self, node: ast.expr, change: str) -> int:
        return self._mark(node.lineno, node.col_offset, change)

    def _after(self, node: ast.expr, change: str) -> int:
        rest = self._lines[node.end_lineno - 1].encode()[node.end_col_offset :]
        closing = len(rest) - len(rest.lstrip(b")"))
        return self._mark(node.end_lineno, node.end_col_offset + closing, change, " ")

    def _mark(self, line: int, column: int, change: str, space: str = "") -> int:
        code = self._lines[line - 1].encode()
        begin, end = code[:column].decode(), code[column:].decode()
        text = f"{begin}{space}[{change}]{end if space else ' ' + end}".strip()
        self._mutants.append(Mutant(len(self._mutants), AREA, self._file, line, text))
        return len(self._mutants) - 1


def _call(name: str, *args: object) -> ast.Call:
    method = ast.Attribute(ast.Name(SWITCH, ast.Load()), name, ast.Load())
    return ast.Call(method, [a if isinstance(a, ast.AST) else _constant(a) for a in args], [])


def _constant(value: object) -> ast.expr:
    return ast.parse(repr(value), mode="eval").body


def _is_number(node: ast.expr) -> bool:
    """Return whether an expression has only numbers and operators."""
    parts = (ast.BinOp, ast.UnaryOp, ast.operator, ast.USub)
    return all(
        isinstance(part, parts) or type(getattr(part, "value", None)) in (int, float)
        for part in ast.walk(node)
    )


def _has_opposite(test: ast.expr) -> bool:
    """Return whether the mutant of a comparison is its negation."""
    return isinstance(test, ast.Compare) and [type(op) in OPPOSITES for op in test.ops] == [True]


class Importer(importlib.abc.MetaPathFinder):
    """Finds the modules of the package that have mutants."""

    def __init__(self, root: Path) -> None:
        self._folder = root / "src" / "meanshiftpp"
        self._code: dict[str, CodeType] = {}
        self.mutants: list[Mutant] = []
        for file in FILES:
            path = self._folder / file
            source = path.read_text("utf-8")
            tree = Mutator(file, source, self.mutants).visit(ast.parse(source))
            name = f"meanshiftpp.{file.removesuffix('.py').replace('/', '.')}"
            self._code[name] = compile(ast.fix_missing_locations(tree), path, "exec")

    def install(self, switch: Switch) -> None:
        """Import these modules with the switch from now on."""
        self._switch = switch
        sys.meta_path.insert(0, self)

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the specification of a module, or None for other modules."""
        code = self._code.get(name)
        if code is None:
            return None
        loader = Loader(name, code.co_filename, code, self._switch)
        return importlib.util.spec_from_file_location(name, code.co_filename, loader=loader)


class Loader(importlib.machinery.SourceFileLoader):
    """Runs the rewritten code of a module; the file is that of its source."""

    def __init__(self, name: str, path: str, code: CodeType, switch: Switch) -> None:
        super().__init__(name, path)
        self._code, self._switch = code, switch

    def get_code(self, name: str) -> CodeType:
        """Return the rewritten code, which is not cached in a file."""
        return self._code

    def exec_module(self, module: ModuleType) -> None:
        """Run the module with its switch."""
        vars(module)[SWITCH] = self._switch
        super().exec_module(module)
