"""The reference page of `sojourn.control`, of its docstrings; `reference.py` writes it."""

import ast
import inspect
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from sojourn import control
from sojourn.control import base, fields, vocabulary

HEAD = """# Controllers, in full

What a class of `sojourn.control` has. [Controllers](../control.md) says how it is used, and what of
Python there is.
"""

TYPES = {
    "float": "A number; whole ones are taken too.",
    "int": "A whole number of at most 64 bits.",
    "bool": "True or False, in a study `true` or `false`.",
}


def page() -> str:
    """The whole page, in Markdown."""
    tree = ast.parse(inspect.getsource(base))
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    control = classes["Control"]
    hooks = [method for method in _methods(control) if method.name in vocabulary.HOOKS]
    helpers = [method for method in _methods(control) if method.name not in vocabulary.HOOKS]
    lines = [
        HEAD,
        "## Fields that every flow has",
        *_table("field", "type", rows=_fields(control)),
        "\n## Hooks",
        *_table("hook", rows=map(_method, hooks)),
        "\n## Methods to call",
        *_table("method", rows=map(_method, helpers)),
        "\n## Ack",
        f"\n{_doc(classes['Ack'])}",
        *_table("field", "type", rows=_fields(classes["Ack"])),
        "\n## Flow",
        f"\n{_doc(classes['Flow'])}",
        *_table("field", "type", rows=_fields(classes["Flow"])),
        "\n## Types of fields",
        *_table("type", rows=_types()),
        "\n## Units of time",
        *_table("name", rows=((f"`{n}`", f"{ps:,} ps") for n, ps in vocabulary.UNITS.items())),
        "\n## Mathematics of `sojourn.control`",
        *_table("function", rows=map(_function, vocabulary.OURS)),
    ]
    return "\n".join(lines) + "\n"


def _fields(of_class: ast.ClassDef) -> Iterator[tuple[str, str, str]]:
    """Name, type and description of each field that has one."""
    for node, after in pairwise(of_class.body):
        if isinstance(node, ast.AnnAssign):
            yield f"`{ast.unparse(node.target)}`", ast.unparse(node.annotation), _text(after)


def _methods(of_class: ast.ClassDef) -> list[ast.FunctionDef]:
    found = [node for node in of_class.body if isinstance(node, ast.FunctionDef)]
    return [method for method in found if not method.name.startswith("_")]


def _method(node: ast.FunctionDef) -> tuple[str, str]:
    """How it is called, and its description without the sections."""
    arguments = [argument for argument in node.args.args if argument.arg != "self"]
    shown = ", ".join(ast.unparse(argument) for argument in arguments)
    gives = "" if node.returns is None else f" -> {ast.unparse(node.returns)}"
    return f"`{node.name}({shown}){gives}`", _doc(node)


def _function(name: str) -> tuple[str, str]:
    function = getattr(control, name)
    arguments = ", ".join(inspect.signature(function).parameters)
    return f"`{name}({arguments})`", " ".join((inspect.getdoc(function) or "").split())


def _doc(node: ast.FunctionDef | ast.ClassDef) -> str:
    doc = ast.get_docstring(node) or ""
    return " ".join(doc.replace("\nArgs:\n", "\n").split())


def _types() -> Iterator[tuple[str, str]]:
    yield from ((f"`{name}`", doc) for name, doc in TYPES.items())
    body = ast.parse(inspect.getsource(fields)).body
    for node, after in pairwise(body):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in vocabulary.OFFERED:
            yield f"`{ast.unparse(node.targets[0])}`", _text(after)


def _text(node: ast.stmt) -> str:
    """A text that stands alone, or nothing."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return " ".join(str(node.value.value).split())
    return ""


def _table(*heads: str, rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [[*heads, "what it is"], ["---"] * (len(heads) + 1), *rows]
    return ["", *(f"| {' | '.join(cell for cell in line)} |" for line in lines)]
