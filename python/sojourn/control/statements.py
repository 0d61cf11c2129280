"""Statements: which there are, and which variables have a value after each."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from sojourn.control.calls import Calls
from sojourn.control.expressions import Scope, Typed, cast
from sojourn.control.outline import Function, Outline
from sojourn.control.signatures import Kinds, annotation_kind, unfit
from sojourn.control.vocabulary import ERRORS, READ_ONLY, RESERVED, SHARED, Kind

_REFUSED: dict[str, str] = {
    "Try": "try cannot be compiled: test before",
    "TryStar": "try cannot be compiled: test before",
    "With": "with cannot be compiled: a controller opens nothing",
    "AsyncWith": "async cannot be compiled: leave it out",
    "AsyncFor": "async cannot be compiled: leave it out",
    "AsyncFunctionDef": "async cannot be compiled: leave it out",
    "Global": "global is refused, flows would share it: keep it in a field",
    "Nonlocal": "nonlocal is refused: keep it in a field",
    "Import": "an import belongs at the top of the file",
    "ImportFrom": "an import belongs at the top of the file",
    "FunctionDef": "a function within a function cannot be compiled: write it outside",
    "ClassDef": "a class belongs at the top of the file",
    "Delete": "del is refused: a field or variable keeps a number",
    "Match": "match cannot be compiled: write if",
    "TypeAlias": "a type alias has no use here",
}


def walk(outline: Outline, kinds: Kinds, function: Function) -> list[ast.stmt]:
    """The body of a function as it is to be run; what it says of kinds goes to `kinds`.

    Raises:
        InputError: something in it is refused.
    """
    return _Statements(Scope(outline, kinds, function)).body()


class _Statements(Calls):
    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        self._returns = False
        # For each loop around, the variables with a value at its breaks.
        self._breaks: list[list[frozenset[str]]] = []

    def body(self) -> list[ast.stmt]:
        scope = self.scope
        node, signature = scope.function.node, scope.signature
        has_words = ast.get_docstring(node, clean=False) is not None
        body = [*node.body[:has_words], *self._block(node.body[has_words:])]
        if scope.assigned is None:
            if signature.result is Kind.UNKNOWN and not self._returns:
                scope.kinds.widen_result(scope.function, Kind.NOTHING, node)
        else:
            if self._returns or Kind.UNKNOWN < signature.result < Kind.NOTHING:
                wanted = "a value" if signature.result is Kind.UNKNOWN else signature.result.words
                text = f"{scope.function.title} may end without {wanted}: return one on every path"
                raise self._refused(node, text)
            scope.kinds.widen_result(scope.function, Kind.NOTHING, node)
        return body

    def _block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        return [self._statement(statement) for statement in statements]

    def _statement(self, node: ast.stmt) -> ast.stmt:
        walks: dict[type[ast.AST], Callable[[Any], ast.stmt]] = {
            ast.Assign: self._assignment,
            ast.AnnAssign: self._assignment,
            ast.AugAssign: self._assignment,
            ast.If: self._if,
            ast.While: self._while,
            ast.For: self._for,
            ast.Return: self._return,
            ast.Pass: lambda unchanged: unchanged,
            ast.Break: self._leave_loop,
            ast.Continue: self._leave_loop,
            ast.Raise: self._raise,
            ast.Assert: self._assert,
            ast.Expr: self._alone,
        }
        walk = walks.get(type(node))
        if walk is None:
            text = _REFUSED.get(type(node).__name__, "this statement cannot be compiled")
            raise self._refused(node, text)
        return ast.copy_location(walk(node), node)

    def _alone(self, node: ast.Expr) -> ast.stmt:
        if not isinstance(node.value, ast.Call):
            self.number(node.value)
            raise self._refused(node, "a value alone does nothing: assign it")
        return ast.Expr(self.call(node.value).node)

    # Assignments

    def _assignment(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> ast.stmt:
        match node:
            case ast.AugAssign(target=target, op=op, value=value):
                return self._augmented(node, target, op, value)
            case ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value):
                self._declare(node, target)
                return ast.Assign([target], self._assign(target, self.number(value)), lineno=0)
            case ast.Assign(targets=[ast.Tuple() as targets], value=ast.Tuple() as values):
                return self._unpack(node, targets, values)
            case ast.Assign(targets=[ast.Tuple() | ast.List()]):
                raise self._refused(node, "write as many values as names, with commas between")
            case ast.Assign(targets=[target], value=value):
                return ast.Assign([target], self._assign(target, self.number(value)), lineno=0)
            case ast.Assign():
                raise self._refused(node, "one name an assignment: write a line for each")
        raise self._refused(node, "an annotated variable is a name with a value: x: float = 0.0")

    def _unpack(self, node: ast.stmt, targets: ast.Tuple, values: ast.Tuple) -> ast.stmt:
        if len(targets.elts) != len(values.elts):
            many = f"{len(targets.elts)} names, {len(values.elts)} values"
            raise self._refused(node, f"{many}: write as many of each")
        typed = [self.number(value) for value in values.elts]
        pairs = zip(targets.elts, typed, strict=True)
        made = [self._assign(target, value) for target, value in pairs]
        return ast.Assign([targets], ast.copy_location(ast.Tuple(made, ast.Load()), values))

    def _augmented(
        self,
        node: ast.stmt,
        target: ast.Name | ast.Attribute | ast.Subscript,
        op: ast.operator,
        value: ast.expr,
    ) -> ast.stmt:
        self._refuse_target(target)
        if not isinstance(target, ast.Name | ast.Attribute):
            raise self._refused(target, "assign to a variable or to a field of self")
        if isinstance(target, ast.Name):
            before = self.number(ast.copy_location(ast.Name(target.id, ast.Load()), target))
        else:
            load = ast.Attribute(target.value, target.attr, ast.Load())
            before = self.number(ast.copy_location(load, target))
        _, right, kind = self.binary(node, before, op, value)
        self._assign(target, Typed(right, kind))
        return ast.AugAssign(target, op, right)

    def _assign(self, target: ast.expr, value: Typed) -> ast.expr:
        """Take in an assignment; the value as its target has it."""
        self._refuse_target(target)
        match target:
            case ast.Name(id=name):
                scope = self.scope
                scope.kinds.widen_variable(scope.function, name, value.kind, target)
                if scope.assigned is not None:
                    scope.assigned |= {name}
                return cast(value, scope.kinds.variable(scope.function, name))
            case ast.Attribute():
                kind = self.scope.field_kind(target)
                why = unfit(kind, value.kind)
                if why:
                    raise self._refused(target, f"self.{target.attr}: {why}")
                return cast(value, kind)
        raise self._refused(target, "assign to a variable or to a field of self")

    def _refuse_target(self, target: ast.expr) -> None:
        match target:
            case ast.Name(id=name):
                if name in RESERVED or name.startswith("__"):
                    text = f"{name!r} is a name of Python's: choose another"
                    raise self._refused(target, text)
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                self.scope.field_kind(target)
                if name == READ_ONLY:
                    raise self._refused(target, f"{name!r} is the study's: read it only")
                if name not in SHARED and self.scope.fields[name].is_parameter:
                    text = f"{name!r} is a parameter, constant in a run: keep '_{name}' beside it"
                    raise self._refused(target, text)
            case ast.Attribute(value=ast.Name(id=of)):
                raise self._refused(target, f"{of}.{target.attr} is read only: keep it in a field")
            case _:
                raise self._refused(target, "assign to a variable or to a field of self")

    def _declare(self, node: ast.AnnAssign, target: ast.Name) -> None:
        """Take in the annotation of a variable: it is at least of this kind."""
        scope = self.scope
        kind = annotation_kind(scope.outline, scope.function, node.annotation)
        if kind > Kind.FLOAT:
            raise self._refused(node, f"a variable keeps a number, not {kind.words}")
        if scope.kinds.variable(scope.function, target.id) > kind:
            text = f"{target.id!r} is annotated as {kind.words}, and gets a wider number"
            raise self._refused(node, text)
        scope.kinds.widen_variable(scope.function, target.id, kind, target)

    # What branches

    def _if(self, node: ast.If) -> ast.stmt:
        test = self.test(node.test)
        before = self.scope.assigned
        body = self._block(node.body)
        after_body, self.scope.assigned = self.scope.assigned, before
        orelse = self._block(node.orelse)
        self.scope.assigned = _both(after_body, self.scope.assigned)
        return ast.If(test, body, orelse)

    def _while(self, node: ast.While) -> ast.stmt:
        self._no_else(node.orelse)
        test = self.test(node.test)
        is_endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
        before = self.scope.assigned
        body, breaks = self._loop(node.body)
        after = None if is_endless else before
        for at_break in breaks:
            after = _both(after, at_break)
        self.scope.assigned = after
        return ast.While(test, body, [])

    def _for(self, node: ast.For) -> ast.stmt:
        self._no_else(node.orelse)
        match node.iter:
            case ast.Call(func=ast.Name(id="range"), args=[_, *_] as given, keywords=[]) as call:
                limits = [self._limit(limit) for limit in given]
            case _:
                raise self._refused(node.iter, "a for goes over range(...)")
        if len(limits) > 3 or (len(limits) == 3 and not self._is_step(given[2])):
            raise self._refused(call, "expected range(n), range(a, b) or a constant step, not 0")
        if not isinstance(node.target, ast.Name):
            raise self._refused(node.target, "a for counts in one variable")
        before = self.scope.assigned
        self._assign(node.target, Typed(call, Kind.INT))
        if self.scope.kinds.variable(self.scope.function, node.target.id) is not Kind.INT:
            text = f"{node.target.id!r} counts a loop, and is a float elsewhere: use two names"
            raise self._refused(node.target, text)
        body, _ = self._loop(node.body)
        self.scope.assigned = before
        over = ast.copy_location(ast.Call(call.func, limits, []), call)
        return ast.For(node.target, over, body, [], lineno=0)

    def _loop(self, body: list[ast.stmt]) -> tuple[list[ast.stmt], list[frozenset[str]]]:
        self._breaks.append([])
        made = self._block(body)
        return made, self._breaks.pop()

    def _limit(self, node: ast.expr) -> ast.expr:
        found = self.number(node)
        why = unfit(Kind.INT, found.kind)
        if why:
            raise self._refused(node, f"range: {why}")
        return cast(found, Kind.INT)

    def _is_step(self, node: ast.expr) -> bool:
        match node:
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._is_step(operand)
            case ast.Constant(value=value):
                return bool(value)
            case ast.Name(id=name) if name not in self.scope.variables:
                return bool(self.scope.outline.constants.get(name))
        return False

    def _no_else(self, orelse: list[ast.stmt]) -> None:
        if orelse:
            raise self._refused(orelse[0], "the else of a loop is refused: write an if")

    # What leaves

    def _return(self, node: ast.Return) -> ast.stmt:
        scope = self.scope
        value = node.value
        if value is None or (isinstance(value, ast.Constant) and value.value is None):
            scope.kinds.widen_result(scope.function, Kind.NOTHING, node)
            scope.assigned = None
            return ast.Return(None)
        found = self.number(value)
        self._returns = True
        scope.kinds.widen_result(scope.function, found.kind, node)
        scope.assigned = None
        return ast.Return(cast(found, scope.signature.result))

    def _leave_loop(self, node: ast.Break | ast.Continue) -> ast.stmt:
        if not self._breaks:
            raise self._refused(node, "break and continue belong in a loop")
        if isinstance(node, ast.Break) and self.scope.assigned is not None:
            self._breaks[-1].append(self.scope.assigned)
        self.scope.assigned = None
        return node

    def _assert(self, node: ast.Assert) -> ast.stmt:
        if node.msg is not None and not _is_text(node.msg):
            raise self._refused(node.msg, "the words of an assert are a constant text")
        return ast.Assert(self.test(node.test), node.msg)

    def _raise(self, node: ast.Raise) -> ast.stmt:
        self.scope.assigned = None
        if node.cause is not None:
            raise self._refused(node, "raise ... from is refused: leave the from out")
        match node.exc:
            case ast.Name(id=name) | ast.Call(func=ast.Name(id=name), args=[], keywords=[]):
                pass
            case ast.Call(func=ast.Name(id=name), args=[words], keywords=[]) if _is_text(words):
                pass
            case _:
                text = "expected an exception with a constant text: raise ValueError('why')"
                raise self._refused(node, text)
        if name not in ERRORS or name in self.scope.hidden:
            raise self._refused(node, f"{name!r} cannot be raised here: write ValueError")
        return node


def _both(first: frozenset[str] | None, second: frozenset[str] | None) -> frozenset[str] | None:
    """The variables with a value where two ways meet."""
    if first is None or second is None:
        return second if first is None else first
    return first & second


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
