"""What the functions of a file take and give, and the kinds of their variables."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from sojourn._internal.errors import InputError, did_you_mean
from sojourn.control.outline import Function, Outline
from sojourn.control.reading import annotation_name
from sojourn.control.vocabulary import OF_ANNOTATION, Kind, at

_CONVERT = {Kind.INT: ": write int(...)", Kind.BOOL: ": write bool(...)"}


def unfit(wanted: Kind, given: Kind) -> str:
    """Why a value cannot be where one of another kind is wanted; empty where it can.

    A whole number is made a float, and a truth value a whole number; nothing is made narrower.
    """
    if Kind.UNKNOWN in (wanted, given) or wanted is given or given <= wanted <= Kind.FLOAT:
        return ""
    narrower = wanted <= Kind.FLOAT and given <= Kind.FLOAT
    return f"expected {wanted.words}, this is {given.words}{_CONVERT[wanted] if narrower else ''}"


@dataclass(eq=False)
class Signature:
    """Of a function, or of a method and those that override it.

    Attributes:
        title: its name for people.
        names: of its arguments, without `self`.
        arguments: their kinds, as far as calls and annotations say.
        fixed: which of them an annotation says.
        result: the kind of its value.
        is_fixed: whether an annotation says so.
    """

    title: str
    names: list[str]
    arguments: list[Kind]
    fixed: list[bool]
    result: Kind = Kind.UNKNOWN
    is_fixed: bool = False


@dataclass
class Kinds:
    """What is known so far; it grows until nothing changes.

    Attributes:
        file: its name, for messages.
        signatures: of each function.
        variables: the kind of each local variable that is no argument.
        changed: whether something became wider since this was last set to False.
    """

    file: str
    signatures: dict[Function, Signature]
    variables: dict[tuple[Function, str], Kind] = field(default_factory=dict)
    changed: bool = False

    def variable(self, function: Function, name: str) -> Kind:
        """The kind of a local variable or an argument."""
        if name in function.arguments:
            return self.signatures[function].arguments[function.arguments.index(name)]
        return self.variables.get((function, name), Kind.UNKNOWN)

    def widen_variable(self, function: Function, name: str, kind: Kind, where: ast.AST) -> None:
        """Take in a value that is assigned to a variable."""
        if name in function.arguments:
            signature, number = self.signatures[function], function.arguments.index(name)
            before = signature.arguments[number]
            if signature.fixed[number] and unfit(before, kind):
                text = f"argument {name!r} is {before.words}, this is {kind.words}"
                raise at(self.file, where, f"{text}: choose another name")
            self.widen_argument(signature, number, kind, where)
            return
        before = self.variable(function, name)
        self.changed |= kind > before
        self.variables[function, name] = max(before, kind)

    def widen_argument(self, signature: Signature, number: int, kind: Kind, where: ast.AST) -> None:
        """Take in a value that is given for an argument.

        Raises:
            InputError: the argument is of another kind.
        """
        before = signature.arguments[number]
        why = unfit(before, kind)
        if before is Kind.UNKNOWN or (before < kind <= Kind.FLOAT and not signature.fixed[number]):
            signature.arguments[number] = kind
            self.changed |= kind != before
        elif why:
            name = signature.names[number]
            raise at(self.file, where, f"argument {name!r} of {signature.title}: {why}")

    def widen_result(self, function: Function, kind: Kind, where: ast.AST) -> None:
        """Take in a value that a function returns, or that it returns none.

        Raises:
            InputError: other returns give another kind.
        """
        signature = self.signatures[function]
        before = signature.result
        why = unfit(before, kind)
        if before is Kind.UNKNOWN or (before < kind <= Kind.FLOAT and not signature.is_fixed):
            signature.result = kind
            self.changed |= kind != before
        elif why:
            raise at(self.file, where, f"the value of {function.title}: {why}")


def signatures(outline: Outline) -> dict[Function, Signature]:
    """The signatures of all functions, with what their annotations say.

    Raises:
        InputError: an annotation is unknown, or an overriding method takes other arguments.
    """
    found: dict[Function, Signature] = {}
    for function in outline.all_functions():
        base = function.owner.base if function.owner else None
        overridden = base.method(function.node.name) if base else None
        if overridden is None:
            unknown = [Kind.UNKNOWN] * len(function.arguments)
            fixed = [False] * len(function.arguments)
            found[function] = Signature(function.title, function.arguments, unknown, fixed)
        else:
            found[function] = found[overridden]
        _annotate(outline, function, found[function])
    return found


def _annotate(outline: Outline, function: Function, signature: Signature) -> None:
    """Take in the annotations of a function."""
    if len(function.arguments) != len(signature.names):
        raise _other_arguments(outline, function, signature)
    arguments = function.node.args.args[1:] if function.owner else function.node.args.args
    for number, argument in enumerate(arguments):
        if argument.annotation is None:
            continue
        kind = annotation_kind(outline, function, argument.annotation)
        before = signature.arguments[number]
        if before not in (Kind.UNKNOWN, kind):
            name = f"argument {argument.arg!r} of {function.title}"
            text = f"{name} is {before.words}, annotated as {kind.words}"
            raise at(outline.file, argument, text)
        signature.arguments[number] = kind
        signature.fixed[number] = True
    if function.node.returns is not None:
        kind = annotation_kind(outline, function, function.node.returns)
        if signature.result not in (Kind.UNKNOWN, kind):
            gives = f"{function.title} gives {signature.result.words}"
            text = f"{gives}, annotated as {kind.words}"
            raise at(outline.file, function.node.returns, text)
        signature.result = kind
        signature.is_fixed = True


def _other_arguments(outline: Outline, function: Function, signature: Signature) -> InputError:
    wanted = ", ".join(["self", *signature.names])
    given = ", ".join(["self", *function.arguments])
    text = f"{function.title}({given}): expected {signature.title}({wanted})"
    return at(outline.file, function.node, text)


def annotation_kind(outline: Outline, function: Function, annotation: ast.expr) -> Kind:
    """The kind that an annotation in a function says.

    Raises:
        InputError: it is unknown, or not imported.
    """
    if isinstance(annotation, ast.Constant) and annotation.value is None:
        return Kind.NOTHING
    name = annotation_name(annotation)
    if name not in OF_ANNOTATION:
        given = ast.unparse(annotation)
        hint = did_you_mean(given, OF_ANNOTATION)
        raise at(outline.file, annotation, f"unknown type {given!r}{hint}")
    is_own = function.owner is None or function.owner.base is not None
    if is_own and name not in ("float", "int", "bool") and name not in outline.imported:
        text = f"{name!r} is not imported: from sojourn.control import {name}"
        raise at(outline.file, annotation, text)
    return OF_ANNOTATION[name]
