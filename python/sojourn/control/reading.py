"""A syntax tree as an outline: what may stand in a module and in a class, and what may not."""

from __future__ import annotations

import ast
import typing

from sojourn._internal.errors import InputError, did_you_mean
from sojourn.control.constants import Constants, Number
from sojourn.control.fields import ANNOTATIONS, Field, fitting
from sojourn.control.outline import Class, Function, Outline, class_of_ours
from sojourn.control.vocabulary import (
    CONSTANTS,
    HOOKS,
    MATH,
    MATH_CONSTANTS,
    OF_FIELD,
    OF_TYPE,
    OFFERED,
    RESERVED,
    at,
    instead_of,
)

_ROOTS = " or ".join(HOOKS)
_IN_A_MODULE = "a module has imports, constants, functions and classes"
_MODULES = ("sojourn.control", "math", "typing", "__future__")
_OFFERED = {
    "math": (*MATH, *MATH_CONSTANTS),
    "sojourn.control": OFFERED,
    "typing": tuple(typing.__all__),
}


def read_outline(tree: ast.Module, file: str) -> Outline:
    """The outline of a file; values of constants and defaults replace their expressions.

    Raises:
        InputError: there is what cannot stand in a module or a class.
    """
    reading = _Reading(tree, file)
    for number, statement in enumerate(tree.body):
        if not (number == 0 and is_text(statement)):
            reading.statement(statement)
    return reading.outline


def is_text(node: ast.stmt) -> bool:
    """Whether a statement is a text alone: a docstring, or the words on a field."""
    match node:
        case ast.Expr(value=ast.Constant(value=str())):
            return True
    return False


class _Reading:
    def __init__(self, tree: ast.Module, file: str) -> None:
        self.outline = Outline(file, tree)
        self._constants = Constants(file, self.outline.constants)
        self._lines: dict[str, int] = {}

    def refused(self, where: ast.AST, text: str) -> InputError:
        return at(self.outline.file, where, text)

    def statement(self, node: ast.stmt) -> None:
        """Take in one statement of the module."""
        match node:
            case ast.Import():
                self._import(node)
            case ast.ImportFrom():
                self._import_from(node)
            case ast.Assign(targets=[ast.Name(id=name)]):
                node.value = self._constant(node, name, node.value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                node.value = self._annotated(node, name, value)
            case ast.FunctionDef(name=name):
                self._define(node, name)
                self.outline.functions[name] = self._function(node, None)
            case ast.ClassDef():
                self._class(node)
            case ast.Pass():
                pass
            case ast.AsyncFunctionDef():
                raise self.refused(node, "an async function cannot be compiled: write def")
            case _:
                raise self.refused(node, f"this is not allowed here: {_IN_A_MODULE}")

    # Names

    def _define(self, node: ast.AST, name: str) -> None:
        if name.startswith("__"):
            raise self.refused(node, f"{name!r}: names with two underscores first are Python's")
        if name in RESERVED:
            raise self.refused(node, f"{name!r} is taken: choose another")
        if name in self._lines:
            before = self._lines[name]
            raise self.refused(node, f"{name!r} is defined twice, before on line {before}")
        self._lines[name] = getattr(node, "lineno", 1)

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name not in _MODULES:
                raise self._foreign(node, alias.name)
            if alias.name != "math":
                text = f"write 'from {alias.name} import ...' with the names that are used"
                raise self.refused(node, text)
            self._no_alias(node, alias)
            self._constants.has_math = True
            self.outline.imported["math"] = "math"

    def _import_from(self, node: ast.ImportFrom) -> None:
        module = "." * node.level + (node.module or "")
        if module not in _MODULES:
            raise self._foreign(node, module)
        for alias in node.names:
            self._no_alias(node, alias)
            if module == "__future__":
                if alias.name != "annotations":
                    raise self.refused(node, "of __future__ there is only annotations")
                continue
            if alias.name not in _OFFERED[module]:
                hint = did_you_mean(alias.name, _OFFERED[module], otherwise=instead_of(alias.name))
                raise self.refused(node, f"{module} offers no {alias.name!r}{hint}")
            self._import_name(node, module, alias.name)

    def _import_name(self, node: ast.stmt, module: str, name: str) -> None:
        self._define(node, name)
        self.outline.imported[name] = module
        if name in MATH_CONSTANTS and module == "math":
            self.outline.constants[name] = MATH_CONSTANTS[name]
        if name in CONSTANTS and module == "sojourn.control":
            self.outline.constants[name] = CONSTANTS[name]
        if name in HOOKS:
            self.outline.classes[name] = class_of_ours(name)

    def _no_alias(self, node: ast.stmt, alias: ast.alias) -> None:
        if alias.asname is not None and alias.asname != alias.name:
            raise self.refused(node, f"use {alias.name} by its name: 'as' is refused here")

    def _foreign(self, node: ast.stmt, module: str) -> InputError:
        text = f"import of {module!r} is refused: there are {', '.join(_MODULES)}"
        return self.refused(node, f"{text}{instead_of(module)}")

    # Constants

    def _constant(self, node: ast.stmt, name: str, value: ast.expr) -> ast.expr:
        self._define(node, name)
        found = self._constants.value(value)
        self.outline.constants[name] = found
        return literal(value, found)

    def _annotated(self, node: ast.AnnAssign, name: str, value: ast.expr) -> ast.expr:
        annotation = annotation_name(node.annotation)
        if annotation == "Final" and self.outline.imported.get("Final") == "typing":
            return self._constant(node, name, value)
        return literal(value, self._typed(node, name, value, self.outline.constants))

    def _typed(
        self, node: ast.AnnAssign, name: str, value: ast.expr, into: dict[str, Number] | None
    ) -> Number:
        """The value of an annotated constant or field, as its type has it."""
        type_name = self._field_type(node)
        found = self._constants.value(value)
        fits = fitting(found, type_name)
        if fits is None:
            wanted, is_now = OF_FIELD[type_name].words, OF_TYPE[type(found)].words
            raise self.refused(node, f"{name!r} is {wanted}, its value {found!r} is {is_now}")
        if into is not None:
            self._define(node, name)
            into[name] = fits
        return fits

    def _field_type(self, node: ast.AnnAssign) -> str:
        annotation = annotation_name(node.annotation)
        if annotation not in ANNOTATIONS:
            given = ast.unparse(node.annotation)
            hint = did_you_mean(given, ANNOTATIONS)
            raise self.refused(node.annotation, f"unknown type {given!r}{hint}")
        if annotation in OFFERED and annotation not in self.outline.imported:
            text = f"{annotation!r} is not imported: from sojourn.control import {annotation}"
            raise self.refused(node.annotation, text)
        return ANNOTATIONS[annotation]

    # Functions and classes

    def _function(self, node: ast.FunctionDef, owner: Class | None) -> Function:
        if node.decorator_list:
            first = node.decorator_list[0]
            raise self.refused(first, "a decorator cannot be compiled: leave it out")
        if getattr(node, "type_params", []):
            raise self.refused(node, "a function has no type parameters here")
        given = node.args
        if given.vararg or given.kwarg:
            raise self.refused(node, "*args and **kwargs cannot be compiled: name each argument")
        if given.posonlyargs or given.kwonlyargs:
            raise self.refused(node, "arguments are plain here, without / and *")
        if given.defaults:
            raise self.refused(node, "an argument has no default here: give it at each call")
        names = [argument.arg for argument in given.args]
        if len(set(names)) < len(names):
            raise self.refused(node, f"{node.name!r} has two arguments of one name")
        if owner and names[:1] != ["self"]:
            raise self.refused(node, f"the first argument of a method is self, in {node.name!r}")
        for argument in given.args[1:] if owner else given.args:
            if argument.arg in RESERVED or argument.arg.startswith("__"):
                text = f"{argument.arg!r} is taken: choose another"
                raise self.refused(argument, text)
        return Function(node, owner)

    def _class(self, node: ast.ClassDef) -> None:
        if node.decorator_list or node.keywords or getattr(node, "type_params", []):
            raise self.refused(node, "a class has no decorators, keywords or type parameters here")
        base = node.bases[0] if len(node.bases) == 1 else None
        first = next((name for name in HOOKS if name in self.outline.classes), "Control")
        if not isinstance(base, ast.Name):
            text = f"write class {node.name}({first}): a class is derived from {_ROOTS}"
            raise self.refused(node, f"{text}, or a class above")
        if base.id not in self.outline.classes:
            hint = did_you_mean(base.id, self.outline.classes, otherwise="")
            missing = f"; from sojourn.control import {base.id}" if base.id in HOOKS else hint
            raise self.refused(node, f"unknown base {base.id!r} of {node.name!r}{missing}")
        self._define(node, node.name)
        found = Class(node.name, self.outline.classes[base.id], node)
        before: Field | None = None
        for number, part in enumerate(node.body):
            if is_text(part):
                self._words(part, found, before, is_first=number == 0)
                before = None
            else:
                before = self._part(part, found)
        self.outline.classes[node.name] = found

    def _words(
        self, node: ast.stmt, of_class: Class, before: Field | None, *, is_first: bool
    ) -> None:
        """Keep the text that follows a field."""
        if before is None and not is_first:
            raise self.refused(node, "a text alone stands first in a class or after a field")
        if before is not None and isinstance(node, ast.Expr):
            text = typing.cast("ast.Constant", node.value).value
            doc = " ".join(str(text).split())
            name = before.name
            of_class.fields[name] = Field(name, before.type, before.default, doc, before.line)

    def _part(self, node: ast.stmt, of_class: Class) -> Field | None:
        """Take in a statement of a class; the field that it is."""
        match node:
            case ast.AnnAssign(target=ast.Name(id=name), value=None):
                raise self.refused(node, f"the field {name!r} has no default: write = and a value")
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                self._free(node, name, of_class)
                field = Field(
                    name,
                    type=self._field_type(node),
                    default=self._typed(node, name, value, None),
                    line=node.lineno,
                )
                before = of_class.known_fields().get(name)
                if before is not None and before.type != field.type:
                    raise self.refused(node, f"{name!r} is of type {before.type} in a base")
                node.value = literal(value, field.default)
                of_class.fields[name] = field
                return field
            case ast.Assign(targets=[ast.Name(id=name)]):
                self._constants.value(node.value)
                text = f"the field {name!r} has no type: write {name}: float = ..., int or bool"
                raise self.refused(node, text)
            case ast.FunctionDef(name=name):
                self._free(node, name, of_class)
                of_class.methods[name] = self._function(node, of_class)
            case ast.Pass():
                pass
            case ast.AsyncFunctionDef():
                raise self.refused(node, "an async method cannot be compiled: write def")
            case _:
                raise self.refused(node, "this is not allowed here: a class has fields and methods")
        return None

    def _free(self, node: ast.stmt, name: str, of_class: Class) -> None:
        """Refuse a name that a class has, or that Python keeps."""
        if name == "__init__":
            start = class_of_ours(of_class.root.name).methods["start"]
            begins = ", ".join(["self", *start.arguments])
            raise self.refused(node, f"'__init__' is made of the fields: write start({begins})")
        is_field = isinstance(node, ast.AnnAssign)
        if name.startswith("__"):
            text = "one underscore is enough for what is kept"
            text = text if is_field else "names with two underscores first are Python's"
            raise self.refused(node, f"{name!r}: {text}")
        if is_field and name in ANNOTATIONS:
            raise self.refused(node, f"{name!r} is a type: choose another name for the field")
        if name in of_class.fields or name in of_class.methods:
            raise self.refused(node, f"{of_class.name} has {name!r} twice")
        if name in (of_class.known_methods() if is_field else of_class.known_fields()):
            there = "a method" if is_field else "a field"
            raise self.refused(node, f"{name!r} is {there} in a base of {of_class.name}")


def annotation_name(node: ast.expr | None) -> str:
    """The name that an annotation is, written plainly or as a text; else an empty one."""
    match node:
        case ast.Name(id=name) | ast.Constant(value=str() as name):
            return name
    return ""


def literal(node: ast.expr, value: Number) -> ast.expr:
    """A value in the place of an expression."""
    return ast.copy_location(ast.Constant(value), node)
