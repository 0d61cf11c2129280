"""Rewrites the methods of a class so that each operation is a call of `arithmetic`."""

import ast
import copy
from collections.abc import Mapping
from functools import reduce
from types import FunctionType
from typing import Any

from sojourn.control.loading import Definition
from sojourn.control.machine import arithmetic
from sojourn.control.machine.records import Kind, Layout
from sojourn.control.outline import class_of_ours, file_of_ours
from sojourn.control.vocabulary import at


def runnable(
    definition: Definition, record: Layout, own: Mapping[str, Any]
) -> dict[str, FunctionType]:
    """The functions of a class over the record of an object, which call operations of `arithmetic`.

    They share a namespace, in which they find each other: `__globals__` of each.

    Args:
        definition: the class.
        record: the layout of its fields.
        own: what they call of the engine: mathematics, random numbers.

    Raises:
        InputError: a number in the file has more than 64 bits.
    """
    namespace: dict[str, Any] = {**arithmetic.NAMES, **definition.constants, **own}
    written = {
        node.lineno: node.name
        for node in ast.walk(ast.parse(definition.source))
        if isinstance(node, ast.FunctionDef)
    }
    root = definition.base
    names_of_ours = {f"{root}_{method}" for method in class_of_ours(root).methods}
    found = {}
    for name, node in definition.functions.items():
        # The lines of our methods are those of another file.
        ours = name.rstrip("_") in names_of_ours
        file = file_of_ours(root) if ours else definition.file
        rewriting = _Rewriting(file, dict(record.fields))
        tree = ast.Module([rewriting.visit(copy.deepcopy(node))], [])
        code = compile(ast.fix_missing_locations(tree), file, "exec", dont_inherit=True)
        exec(code, namespace)  # noqa: S102 - the file was checked
        found[name] = function = namespace[name]
        if not ours:
            function.__code__ = function.__code__.replace(co_name=written[node.lineno])
    return found


class _Rewriting(ast.NodeTransformer):
    def __init__(self, file: str, kinds: Mapping[str, Kind]) -> None:
        self._file = file
        self._kinds = kinds

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        value = node.value
        if isinstance(value, int) and not -arithmetic.LIMIT <= value < arithmetic.LIMIT:
            raise at(self._file, node, f"{value} is a whole number beyond 64 bits")
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        return _call(node, type(node.op).__name__, node.left, node.right)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        match node:
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return self.visit_Constant(ast.copy_location(ast.Constant(-value), node))
        self.generic_visit(node)
        if isinstance(node.op, ast.Not):
            return node
        return _call(node, type(node.op).__name__, node.operand)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        left, links = node.left, []
        for relation, right in zip(node.ops, node.comparators, strict=True):
            links.append(_call(node, type(relation).__name__, left, right))
            left = copy.deepcopy(right)
        if len(links) == 1:
            return links[0]
        # The checker lets no middle call a function of the file, which might change a field.
        return ast.BoolOp(ast.And(), links)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        read = copy.copy(node.target)
        read.ctx = ast.Load()
        changed = ast.copy_location(ast.BinOp(read, node.op, node.value), node)
        return self.visit_Assign(ast.copy_location(ast.Assign([node.target], changed), node))

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        self.generic_visit(node)
        for target in node.targets:
            if isinstance(target, ast.Attribute):
                node.value = _call(node.value, f"keep {self._kinds[target.attr]}", node.value)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node.func:
            case ast.Name(id="min" | "max" as name):
                # Three values are compared as the first two are, then that one with the third.
                return reduce(lambda best, value: _call(node, name, best, value), node.args)
            case ast.Name(id=name) if name in arithmetic.BUILTINS:
                return _call(node, name, *node.args)
            case ast.Attribute(value=ast.Name(id="math"), attr=name):
                return _call(node, name, *node.args)
        return node


def _call(place: ast.expr, operation: str, *values: ast.expr) -> ast.expr:
    function = ast.Name(f"{arithmetic.PREFIX}{operation}", ast.Load())
    return ast.copy_location(ast.Call(function, list(values), []), place)
