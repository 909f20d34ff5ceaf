# SPDX-License-Identifier: Apache-2.0
"""The documentation site: `tox -e docs` builds the documents, as they are, and the reference from the docstrings.

The source folder is the repository, so that a link between two documents works in the site as it does in the
repository.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
from sphinx.domains.python import PyObject
from sphinx.ext.napoleon import Config, GoogleDocstring
from sphinx.pycode import ModuleAnalyzer

import controller_runtime
from controller_runtime.resources import Resource

if TYPE_CHECKING:
    from docutils.nodes import Element, TextElement
    from sphinx.addnodes import pending_xref
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

SITE = Path(__file__).parent
BACKTICKED = re.compile(r"(?<!`)`([^`]+)`(?!`)(?=(\w?))")
NAME = re.compile(r"[A-Za-z_][\w.]*(?:\(\))?")
ENTRY = re.compile(r"^\.\. auto(?!module)\w+:: (\S+)$", re.MULTILINE)
MODULES = ("caches", "conditions", "errors", "log", "pods", "rate_limiters", "resources", "testing", "transports")
ATTRS_DEFAULT = re.compile(r"attr_dict\['(\w+)'\]\.default")

project = "controller-runtime for Python"
project_copyright = "the authors of controller-runtime for Python, Apache-2.0"
version = release = controller_runtime.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "docs/index"
include_patterns = [
    *("*.md", "docs/*.md", "docs/decisions/*.md", "docs/site/reference/*", "config/**.md", "benchmarks/*.md"),
    *("apimachinery/README.md", "apiserver/README.md", "controllers/README.md", "examples/README.md"),
    "tests/perturbation/others/operators/README.md",
]
exclude_patterns = [".tox", ".venv"]

html_theme = "furo"
html_title = project
html_copy_source = False
templates_path = ["."]
html_static_path = ["static"]
html_css_files = ["site.css"]
html_additional_pages = {"index": "index.html"}  # leads to the first page, which a web server looks for here

myst_heading_anchors = 4  # links to headings, as code hosts make them
highlight_language = "none"  # blocks without a language are commands and their output

autodoc_default_options = {"members": True}
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True  # a default as it is written, not an object's `repr`
maximum_signature_line_length = 100
# Docstrings put code in single backticks: a public name becomes a link, and all else stays code.
default_role = "py:obj"

nitpicky = True
nitpick_ignore_regex = [
    (r"py:obj", r".*"),  # see `default_role`
    # Types in annotations: other packages have no inventory at hand without a network, and names that are not public
    # have no page.
    (r"py:class", r".*"),
    (r"py:exc", r"(sqlite3|httpx|requests)\..*"),
]


def public_names() -> dict[str, str]:
    """Return the name in the reference of each public class and function, by the name of its definition."""
    found = {}
    for module in (controller_runtime, *(importlib.import_module(f"controller_runtime.{name}") for name in MODULES)):
        for name in module.__all__:
            value = getattr(module, name)
            if hasattr(value, "__qualname__"):
                found[f"{value.__module__}.{value.__qualname__}"] = f"{module.__name__}.{value.__qualname__}"
    return found


PUBLIC = public_names()

for field in PyObject.doc_field_types:
    if field.name == "variable":
        field.label = "Attributes"  # the word of the docstrings, in place of "Variables"


def setup(app: Sphinx) -> None:
    app.connect("source-read", add_contents)
    app.connect("autodoc-process-docstring", read_docstring)
    app.connect("autodoc-skip-member", skip_fields_of_tuples)
    app.connect("autodoc-process-signature", show_defaults)
    app.connect("missing-reference", find_public_name)


def add_contents(app: Sphinx, name: str, source: list[str]) -> None:
    """Append the contents below a page to it, and put a list of its names before the entries of a reference page.

    In the repository documents are read without the contents. Those of the first page are the groups of the sidebar.
    """
    source[0] += contents().get(name, "")
    if name.startswith("docs/site/reference/"):
        source[0] = with_summary(source[0])


@cache
def contents() -> dict[str, str]:
    """Return the tables of contents by the page that they belong to."""
    _, *parts = re.split(r"^<!-- page: (\S+) -->$", (SITE / "contents.md").read_text("utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def with_summary(page: str) -> str:
    """Return a page of the reference with a table of its names and their first sentences, before the first entry."""
    module = re.search(r"^\.\. currentmodule:: (\S+)$", page, re.MULTILINE)
    rows = []
    for name in ENTRY.findall(page):
        full = name if "." in name else f"{module[1]}.{name}" if module else name
        rows.append(f"   * - :py:obj:`{name.rpartition('.')[2]} <{full}>`\n     - {first_sentence(full)}\n")
    first = re.search(r"^(?:\.\. auto\w+:: |.+\n-{3,}$)", page, re.MULTILINE)
    if first is None:
        return page
    table = ".. list-table::\n   :widths: 30 70\n\n" + "".join(rows) + "\n"
    return page[: first.start()] + table + page[first.start() :]


def first_sentence(name: str) -> str:
    """Return the first sentence of the docstring of a public name, as Sphinx reads it."""
    package, _, short = name.rpartition(".")
    value = getattr(importlib.import_module(package), short)
    lines = (value.__doc__ or "").splitlines() if inspect.isroutine(value) or isinstance(value, type) else []
    paragraph = " ".join(line.strip() for line in lines or docstring_of_data(name, value)).partition("  ")[0].strip()
    sentence = re.split(r"(?<=[.:])\s", paragraph)[0].removesuffix(":")
    return sentence if not lines else BACKTICKED.sub(as_role, sentence)


def read_docstring(app: Sphinx, what: str, name: str, value: object, options: object, lines: list[str]) -> None:
    """Turn a docstring with sections in Google's style into one with Sphinx's fields.

    Sphinx's own extension for that would read the first words of an attribute's docstring as its type.
    """
    if what == "data":
        lines[:] = docstring_of_data(name, value)
    for number, line in enumerate(lines):
        lines[number] = BACKTICKED.sub(as_role, line)
        if line.endswith(":") and "".join(lines[number + 1 : number + 2]) == "" and is_indented(lines[number + 2 :]):
            lines[number] += ":"  # an indented block after an empty line is code
    lines[:] = GoogleDocstring(lines, Config(napoleon_use_ivar=True), app, name=name).lines()
    within = False
    for number, line in enumerate(lines):
        if line.startswith("Threads: "):
            lines[number] = f":{line}"
            within = True
        elif within and line:
            lines[number] = f"    {line}"  # a field goes on as far as it is indented
        else:
            within = False


def is_indented(lines: list[str]) -> bool:
    return bool(lines) and lines[0].startswith("    ")


def as_role(found: re.Match[str]) -> str:
    """Return backticked code as Sphinx wants it: a name for `default_role`, anything else as a literal."""
    code, after = found.groups()
    marks = "`" if NAME.fullmatch(code) else "``"
    return f"{marks}{code.strip()}{marks}" + ("\\ " if after else "")  # a letter may follow a role only after that


def skip_fields_of_tuples(app: Sphinx, what: str, name: str, value: object, skip: bool, options: object) -> bool | None:
    """Leave out fields of named tuples: their text is Python's, and the class's docstring has ours."""
    return True if str(getattr(value, "__doc__", "")).startswith("Alias for field number") else None


def show_defaults(
    app: Sphinx, what: str, name: str, value: object, options: object, signature: str | None, returns: str | None
) -> tuple[str, str | None] | None:
    """Write the defaults of an attrs class as values: its generated source has only the place where each is kept."""
    if signature is None or not isinstance(value, type) or not attrs.has(value):
        return None
    fields = attrs.fields_dict(value)

    def default(found: re.Match[str]) -> str:
        return repr(fields[found[1]].default)

    return ATTRS_DEFAULT.sub(default, signature).replace("=NOTHING", "=..."), returns


def docstring_of_data(name: str, value: object) -> list[str]:
    """Return the docstring of a public name that is neither a class nor a function.

    It stands below the definition, which Sphinx does not find, because public names are imported when first used.
    """
    if isinstance(value, Resource):
        kind = f"``{value.kind}`` of ``{value.api_version}``"
        scope = "namespaced" if value.namespaced else "cluster-scoped"
        return [f"{kind}, {scope}, read as ``{(value.model or 'dict').rpartition(':')[2]}``."]
    package, _, short = name.rpartition(".")
    return ModuleAnalyzer.for_module(homes_of(package)[short]).find_attr_docs().get(("", short), [])


@cache
def homes_of(package: str) -> dict[str, str]:
    """Return the module of each name that a package imports, also of those that it imports when they are used."""
    tree = ast.parse(Path(str(importlib.import_module(package).__file__)).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


def find_public_name(app: Sphinx, env: BuildEnvironment, node: pending_xref, content: TextElement) -> Element | None:
    """Resolve a reference to a definition, such as annotations make it, to the name under which it is public."""
    target = PUBLIC.get(node["reftarget"])
    if target is None:
        return None
    python = env.domains.python_domain
    return python.resolve_xref(env, node["refdoc"], app.builder, "obj", target, node, content)
