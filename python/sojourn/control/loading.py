"""A user's file as a class that can run, and as functions that can be compiled."""

from __future__ import annotations

import ast
import hashlib
import stat
import traceback
import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from sojourn._internal.errors import InputError, did_you_mean, one_line, reason
from sojourn._internal.trust import expect_trusted
from sojourn.control.checking import check
from sojourn.control.congestion import Control
from sojourn.control.fields import Field, fitting
from sojourn.control.flattening import Flat, flatten
from sojourn.control.outline import Class, Outline
from sojourn.control.queues import Queue
from sojourn.control.vocabulary import HOOKS, OF_FIELD, at

_LARGEST = 10**6

_FROM_THE_ENGINE: Mapping[str, tuple[str, ...]] = {
    "Control": tuple(Control.__fields__),
    "Queue": ("__stream__",),
}
"""What each object has from the engine, by what its class is derived from."""

_EITHER = " or ".join(HOOKS)


@dataclass(frozen=True)
class Definition:
    """A class of a user's file.

    Attributes:
        file: the file, as it was named.
        name: the class's.
        base: that of ours that it is derived from: `Control` or `Queue`.
        doc: its docstring; empty without one.
        source: the text of the file.
        sha256: of the file's bytes.
        fields: without those of ours; those of base classes come first.
        hooks: those in which the file has a part, by a hook or by a helper that a hook calls.
        lines: where the file defines those of them that are its own.
        cls: the class, for plain runs.
        functions: what these hooks reach, as plain functions with the user's line numbers, callees
            first: `self.reduce(x)` has become `Gentle_reduce(self, x)`, and `super().acked(a)`
            `Control_acked(self, a)`.
        entry: for each of the hooks the name of its function.
        constants: what the functions name of the module but functions; units among it.
    """

    file: str
    name: str
    base: str
    doc: str
    source: str
    sha256: str
    fields: tuple[Field, ...]
    hooks: tuple[str, ...]
    lines: Mapping[str, int]
    cls: type[Control | Queue]
    functions: Mapping[str, ast.FunctionDef]
    entry: Mapping[str, str]
    constants: Mapping[str, float | int | bool]

    def reads(self, names: Collection[str]) -> bool:
        """Whether a hook reads one of these attributes, which cost the engine memory or time."""
        nodes = (node for function in self.functions.values() for node in ast.walk(function))
        return any(isinstance(node, ast.Attribute) and node.attr in names for node in nodes)

    def parameters(self) -> tuple[Field, ...]:
        """The fields that a study may set."""
        return tuple(field for field in self.fields if field.is_parameter)


def load(
    file: str, name: str | None = None, shown: str | None = None, base: str | None = None
) -> Definition:
    """Read a user's file and check it.

    Args:
        file: the path of the file.
        name: the class; None where the file has exactly one with that base.
        shown: what messages and tracebacks call the file, where that is not its path: a run keeps
            a copy under another name.
        base: what the class has to be derived from, `Control` or `Queue`; None for either.

    Raises:
        InputError: the file cannot be read, has something that is refused, or has no such class.
    """
    data = _read(file)
    file = shown or file
    source = _text(data, file)
    try:
        outline = check(_parsed(source, file), file)
        of_class = _chosen(outline, name, base)
        flat = flatten(outline, of_class)
        _refuse_idle(outline, of_class, flat)
        namespace = _executed(outline)
    except (RecursionError, MemoryError):
        raise InputError(one_line(f"{file}: nested too deeply")) from None
    cls, root = namespace[of_class.name], of_class.root.name
    own = _FROM_THE_ENGINE[root]
    if not (isinstance(cls, type) and issubclass(cls, (Control, Queue))):
        raise TypeError(of_class.name)
    return Definition(
        file=file,
        name=of_class.name,
        base=root,
        doc=ast.get_docstring(of_class.node) or "",
        source=source,
        sha256=hashlib.sha256(data).hexdigest(),
        fields=tuple(field for field in of_class.known_fields().values() if field.name not in own),
        hooks=tuple(flat.entry),
        lines=flat.lines,
        cls=cls,
        functions=flat.functions,
        entry=flat.entry,
        constants={
            used: outline.constants[used] for used in sorted(flat.names & set(outline.constants))
        },
    )


def classes(file: str, base: str) -> list[str]:
    """The names of the classes of a file that are derived from `Control` or `Queue`.

    Raises:
        InputError: the file cannot be read, or has something that is refused.
    """
    try:
        outline = check(_parsed(_text(_read(file), file), file), file)
    except (RecursionError, MemoryError):
        raise InputError(one_line(f"{file}: nested too deeply")) from None
    return [*_of_users(outline, base)]


def new(
    definition: Definition, values: Mapping[str, float | int | bool]
) -> Callable[..., Control | Queue]:
    """What makes a new object from what it has from the engine.

    That is of a flow `cwnd`, `ssthresh`, `timer` and `abc_limit`, of a port its stream of random
    numbers.

    Args:
        definition: the class.
        values: of its parameters; those left out have their defaults.

    Raises:
        InputError: there is no parameter of a name, or a value is not of its type.
    """
    cls = definition.cls
    of_engine = [_setter(cls, name) for name in _FROM_THE_ENGINE[definition.base]]
    set_values = [
        (_setter(cls, field.name), _value(definition, field, values)) for field in definition.fields
    ]
    parameters = [field.name for field in definition.parameters()]
    for unknown in sorted(values.keys() - set(parameters)):
        hint = did_you_mean(unknown, parameters)
        raise InputError(one_line(f"{definition.name} has no parameter {unknown!r}{hint}"))

    def make(*own: object) -> Control | Queue:
        made = cls.__new__(cls)
        for set_value, value in zip(of_engine, own, strict=True):
            set_value(made, value)
        for set_value, value in set_values:
            set_value(made, value)
        return made

    return make


def explain_error(error: BaseException, definition: Definition) -> str:
    """An exception that a user's code raised, as a text.

    Returns:
        First `my_cc.py:14: ValueError: ...`, then the traceback, of the user's own lines alone.
    """
    lines = definition.source.split("\n")
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == definition.file
    ]
    message = f"{type(error).__name__}: {_message(error, definition)}".removesuffix(": ")
    where = f"{definition.file}:{frames[-1].lineno}" if frames else definition.file
    said = [one_line(f"{where}: {message}")]
    for frame in frames:
        line = lines[frame.lineno - 1].strip() if frame.lineno else ""
        said.append(f'  File "{definition.file}", line {frame.lineno}, in {frame.name}')
        said.append(f"    {line}")
    return "\n".join(said)


def _message(error: BaseException, definition: Definition) -> str:
    if isinstance(error, AttributeError) and error.name and isinstance(error.obj, (Control, Queue)):
        hint = did_you_mean(error.name, definition.cls.__fields__)
        return f"{definition.name} has no field {error.name!r}{hint}"
    return str(error)


def _setter(cls: type, name: str) -> Callable[[object, object], None]:
    """What writes one slot, without looking for its name."""
    found: Callable[[object, object], None] = getattr(cls, name).__set__
    return found


def _value(
    definition: Definition, field: Field, values: Mapping[str, float | int | bool]
) -> float | int | bool:
    given = values.get(field.name, field.default)
    found = fitting(given, field.type)
    if found is None:
        expected = OF_FIELD[field.type].words
        text = f"{definition.name}.{field.name} = {given!r}: expected {expected}"
        raise InputError(one_line(text))
    return found


def _read(file: str) -> bytes:
    path = Path(file)
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise InputError(one_line(f"{file}: expected a file of Python, this is none"))
        with path.open("rb") as opened:
            data = opened.read(_LARGEST + 1)
            if len(data) > _LARGEST:
                large = f"{file}: over {_LARGEST:,} bytes, expected a class of Python"
                raise InputError(one_line(large))
            expect_trusted(path, opened, data)
    except OSError as error:
        raise InputError(one_line(f"cannot read the class's file: {reason(error)}")) from None
    except InputError:
        raise
    except ValueError:  # a null byte in the name
        raise InputError(one_line(f"{file}: no name of a file")) from None
    return data


def _parsed(source: str, file: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source, file)
    except SyntaxError as error:
        raise at(file, error.lineno or 1, f"syntax: {error.msg}") from None
    except ValueError as error:
        raise InputError(one_line(f"{file}: {error}")) from None


def _text(data: bytes, file: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(one_line(f"{file}: not UTF-8 text (byte {error.start})")) from None


def _of_users(outline: Outline, base: str | None) -> dict[str, Class]:
    """The classes of a file that are derived from one of ours, by name."""
    users = (one for one in outline.classes.values() if one.base)
    return {one.name: one for one in users if base in (None, one.root.name)}


def _chosen(outline: Outline, name: str | None, base: str | None) -> Class:
    found = _of_users(outline, base)
    if name is None:
        if len(found) != 1:
            there = f"the name of a class; available: {', '.join(found)}"
            wanted = there if found else f"a class of {base or _EITHER}, there is none"
            raise InputError(one_line(f"{outline.file}: expected {wanted}"))
        return next(iter(found.values()))
    if name not in found:
        other = outline.classes.get(name)
        if other and other.base:
            text = (
                f"{outline.file}: {name!r} is a class of {other.root.name}, expected one of {base}"
            )
            raise InputError(one_line(text))
        hint = did_you_mean(name, found)
        raise InputError(one_line(f"{outline.file}: there is no class {name!r}{hint}"))
    return found[name]


def _refuse_idle(outline: Outline, of_class: Class, flat: Flat) -> None:
    """Refuse a class that has methods, none of which is a hook or called by one."""
    own = [name for step in of_class.line_of_bases() if step.base for name in step.methods]
    if own and not flat.entry:
        hooks = ", ".join(HOOKS[of_class.root.name])
        method = of_class.method(own[0])
        text = f"nothing calls {of_class.name}.{own[0]}: hooks are {hooks}"
        raise at(outline.file, method.node if method else of_class.node, text)


def _executed(outline: Outline) -> dict[str, object]:
    """The names of the module, each load's apart.

    What was checked has no side effects: constants, functions, classes and imports.
    """
    namespace: dict[str, object] = {"__name__": "<control>"}
    try:
        code = compile(outline.tree, outline.file, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise at(outline.file, error.lineno or 1, f"syntax: {error.msg}") from None
    exec(code, namespace)  # noqa: S102
    return namespace
