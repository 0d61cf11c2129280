"""What stands in a user's file: its imports, constants, functions and classes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from sojourn.control import congestion, queues
from sojourn.control.fields import Field


@dataclass(eq=False)
class Function:
    """A method, or a function of the module."""

    node: ast.FunctionDef
    owner: Class | None

    @property
    def arguments(self) -> list[str]:
        """Their names, without `self`."""
        names = [argument.arg for argument in self.node.args.args]
        return names[1:] if self.owner else names

    @property
    def title(self) -> str:
        """Its name for people: `Gentle.reduce`."""
        return f"{self.owner.name}.{self.node.name}" if self.owner else self.node.name


@dataclass(eq=False)
class Class:
    """A class, its fields and methods without those of its bases."""

    name: str
    base: Class | None
    node: ast.ClassDef
    fields: dict[str, Field] = field(default_factory=dict)
    methods: dict[str, Function] = field(default_factory=dict)

    def line_of_bases(self) -> Iterator[Class]:
        """This class, then its base, up to Control or Queue."""
        step: Class | None = self
        while step:
            yield step
            step = step.base

    @property
    def root(self) -> Class:
        """The class of ours that it is derived from: Control or Queue."""
        *_, root = self.line_of_bases()
        return root

    def method(self, name: str) -> Function | None:
        """The method that a call of `self.name` means in an object of this class."""
        found = (step.methods[name] for step in self.line_of_bases() if name in step.methods)
        return next(found, None)

    def known_fields(self) -> dict[str, Field]:
        """All that an object of this class has, those of the bases first."""
        known: dict[str, Field] = {}
        for step in reversed([*self.line_of_bases()]):
            known.update(step.fields)
        return known

    def known_methods(self) -> list[str]:
        """The names of all methods that an object of this class has."""
        return sorted({name for step in self.line_of_bases() for name in step.methods})


@dataclass
class Outline:
    """A file as its parts.

    Attributes:
        file: its name for people.
        tree: its syntax tree.
        imported: for each name that is imported, the module that it comes from.
        constants: the module's constants, and what was imported of them.
        functions: the module's functions.
        classes: the classes of the file, and those of ours that it imports.
    """

    file: str
    tree: ast.Module
    imported: dict[str, str] = field(default_factory=dict)
    constants: dict[str, float | int | bool] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    classes: dict[str, Class] = field(default_factory=dict)

    def all_functions(self) -> Iterator[Function]:
        """Every function and method: ours first, then those of the file in its order."""
        for of_class in self.classes.values():
            yield from of_class.methods.values()
        yield from self.functions.values()


_OURS = {"Control": congestion, "Queue": queues}


def file_of_ours(name: str) -> str:
    """The file that Control or Queue is in."""
    return str(_OURS[name].__file__)


@cache
def class_of_ours(name: str) -> Class:
    """Control or Queue, read from its source; it never changes."""
    tree = ast.parse(Path(file_of_ours(name)).read_text(encoding="utf-8"))
    (node,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    found = Class(name, None, node, dict(getattr(_OURS[name], name).__fields__))
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and part.name != "__init__":
            found.methods[part.name] = Function(part, found)
    return found
