# SPDX-License-Identifier: Apache-2.0
"""The names that `from controller_runtime import ...` offers. Adding one is a decision; a missing one breaks users."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import itertools
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import controller_runtime
from apimachinery import errors

ROOT = Path(__file__).parents[1]
OURS = ("apimachinery", "embedded_apiserver", "controller_runtime", "controllers")
PUBLIC = {
    # run
    "Manager", "LeaderElectionConfig", "Candidacy", "Ring", "RingBy", "RingToken", "Host", "Clock", "SystemHost",
    "Stop", "stop_on_signals", "Endpoints", "Runnable", "Thread", "spawn", "Setup", "run",
    "Right", "StatusRow", "StatusTable", "Timeline",
    "__version__",
    # write a controller
    "Controller", "Reconciler", "AsyncReconciler", "Request", "Result", "Channel",
    "reconcile_deadline", "by_namespace", "is_planning",
    "Owned", "Dependents", "Applied", "DependentState", "Progress",
    "Finalizers", "AsyncFinalizers", "add_finalizers", "remove_finalizers", "set_controller", "set_owner",
    # map events
    "Delta", "Handler", "Callback", "enqueue_object", "enqueue_owner", "enqueue_mapped",
    # filter them
    "Predicate", "changed", "all_of", "any_of", "not_", "matches",
    # read and write
    "FieldValidation", "Lister", "Informer", "Subscription", "ListBounds", "OwnWrites", "CacheScope",
    "Patience", "Backoff", "edited", "without", "Client", "AsyncClient",
    "format_label_selector",
    "PatchType",
    "create_or_patch", "Change", "retry_on_conflict", "ConflictRetry",
    # tell people
    "EventRecorder", "EventAPI", "Panic",
    # look at objects
    "Cached", "ObjectKey", "ObjectMeta", "PartialObjectMetadata", "OwnerReference", "meta", "labels_of",
    "annotations_of", "microtime", "timestamp",
    "controller_of",
    # à la carte
    "WorkQueue",
}  # fmt: skip
OTHERS = {
    "caches": {"Bodies", "Compression"},
    "conditions": {
        "condition", "condition_of", "conditions_of", "with_condition", "ObjectCondition", "gone", "ready",
        "Readiness",
    },
    "errors": {
        "APIError", "AlreadyExists", "AlreadyOwned", "BadRequest", "CacheSyncTimeout", "Cancelled", "Conflict",
        "ConnectionLost", "ControllerRuntimeError", "DecodeError", "Expired", "Forbidden", "Invalid",
        "LeadershipLost", "NoSuchKind", "NotFound", "ReconcileTimeout", "ServerError", "ShutDown", "StaleCache",
        "StreamIdle", "TemporaryError", "TerminalError", "TooManyRequests", "Unauthorized", "UsageError",
        "WaitTimeout", "UnreadableObject",
    },
    "incidents": {"Incidents"},
    "log": {
        "LogContext", "Logger", "get_logger",
    },
    "rate_limiters": {
        "Bucket", "ItemExponential", "ItemFastSlow", "MaxOf", "MaxWait", "RateLimiter",
    },
    "resources": {
        "CLUSTER_ROLES", "CLUSTER_ROLE_BINDINGS", "CONFIG_MAPS", "CRON_JOBS", "CUSTOM_RESOURCE_DEFINITIONS",
        "DAEMON_SETS", "DEPLOYMENTS", "ENDPOINT_SLICES", "EVENTS", "HORIZONTAL_POD_AUTOSCALERS", "INGRESSES",
        "INGRESS_CLASSES", "JOBS", "LEASES", "LEASE_CANDIDATES", "LIMIT_RANGES",
        "MUTATING_WEBHOOK_CONFIGURATIONS", "NAMESPACES", "NETWORK_POLICIES", "NODES", "PERSISTENT_VOLUMES",
        "PERSISTENT_VOLUME_CLAIMS", "PODS", "POD_DISRUPTION_BUDGETS", "PRIORITY_CLASSES", "REPLICA_SETS",
        "RESOURCE_QUOTAS", "ROLES", "ROLE_BINDINGS", "SECRETS", "SERVICES", "SERVICE_ACCOUNTS", "STATEFUL_SETS",
        "STORAGE_CLASSES", "VALIDATING_WEBHOOK_CONFIGURATIONS", "Resource", "Collection",
    },
    "transports": {
        "HTTPRequest", "HTTPResponse", "HTTPTransport", "RESTConfig", "Stream", "Transport", "TransportWrapper",
    },
}  # fmt: skip
"""The names of the modules that are made of names alone, by module."""

ALIASES = {"Handler", "Callback", "Predicate", "Setup"}


def test_the_public_names_are_the_documented_ones() -> None:
    assert set(controller_runtime.__all__) == PUBLIC
    assert len(controller_runtime.__all__) == len(PUBLIC)
    assert set(dir(controller_runtime)) == PUBLIC
    for module, names in OTHERS.items():
        assert sorted(importlib.import_module(f"controller_runtime.{module}").__all__) == sorted(names)


def test_the_first_module_has_at_most_ninety_names() -> None:
    """It has what first operators, the examples and the bundled controllers need; other subjects have modules."""
    assert len(controller_runtime.__all__) <= 90


def test_a_public_name_has_one_home() -> None:
    """A reader who has seen a name need not ask which one it is, and an import can be found by its name."""
    owners = Counter(
        name for package in sorted(promised_packages()) for name in importlib.import_module(package).__all__
    )

    assert [name for name, count in owners.items() if count > 1] == []


@pytest.mark.parametrize(
    ("module", "name"),
    [
        *(("controller_runtime", name) for name in sorted(PUBLIC)),
        *((f"controller_runtime.{module}", name) for module, names in OTHERS.items() for name in sorted(names)),
    ],
)
def test_each_public_name_can_be_imported_and_has_a_docstring(module: str, name: str) -> None:
    value = getattr(importlib.import_module(module), name)

    assert (docstring_of_alias(name) if name in ALIASES else value.__doc__ or "").strip()


def docstring_of_alias(name: str) -> str:
    """Return the string that follows the assignment of a type alias: an alias itself has no docstring."""
    module = importlib.import_module(controller_runtime._HOMES[name])
    body = ast.parse(inspect.getsource(module)).body
    for statement, following in itertools.pairwise(body):
        match statement, following:
            case ast.Assign(targets=[ast.Name(id=bound)]), ast.Expr(value=ast.Constant(value=str(text))):
                if bound == name:
                    return text
    return ""


def test_each_error_of_the_package_is_public() -> None:
    defined = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)}

    assert defined <= OTHERS["errors"]


def test_a_name_that_is_not_public_is_refused() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Reflector'"):
        controller_runtime.Reflector  # noqa: B018  the access is the test


SHOWN = {"docs/heartbeat.md", "docs/node-agent.md", "examples/heartbeat.py", "examples/zone_outage.py"}
"""The guides and examples of the bundled controllers, the only ones that import from `controllers`."""


def shown_code() -> Iterator[tuple[str, str]]:
    """The Python of each example, and of each page together, by its path."""
    for path in sorted((ROOT / "examples").glob("*.py")):
        yield f"examples/{path.name}", path.read_text(encoding="utf-8")
    for path in sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "config").rglob("*.md")]):
        blocks = re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
        yield path.relative_to(ROOT).as_posix(), "\n".join(blocks)


def imported_from_this_project(code: str) -> Iterator[tuple[str, str]]:
    """The module and the name of each import of this project's packages; the name is empty for `import module`."""
    for node in ast.walk(ast.parse(code)):
        found = []
        match node:
            case ast.Import(names=names):
                found = [(alias.name, "") for alias in names]
            case ast.ImportFrom(module=str(module), names=names):
                found = [(module, alias.name) for alias in names]
        yield from (
            each
            for each in found
            if each[0].partition(".")[0] in ("apimachinery", "embedded_apiserver", "controller_runtime", "controllers")
        )


@functools.cache
def promised_packages() -> set[str]:
    """Return the packages whose public names `docs/stability.md` promises."""
    text = (ROOT / "docs" / "stability.md").read_text(encoding="utf-8")
    [row] = re.findall(r"^\| (.*), all in their `__all__`", text, re.MULTILINE)
    return {*re.findall(r"`([\w.]+)`", row)}


def test_the_packages_that_are_promised_are_those_that_the_reference_documents() -> None:
    pages = (ROOT / "docs" / "site" / "reference").glob("*.rst")
    entries = {name for page in pages for name in names_in(page.read_text(encoding="utf-8"))}
    documented = {name.rpartition(".")[0] for name in entries if re.match(r"controller_runtime\.\w+\.\w+$", name)}

    assert promised_packages() == documented


PARTLY = {"embedded_apiserver.server", "embedded_apiserver.shell.shell"}
"""Modules whose names in the reference may change, as it says there; those of `controllers` have a row of their own."""


def test_names_of_deeper_modules_and_of_the_server_are_promised_as_far_as_they_are_documented() -> None:
    text = (ROOT / "docs" / "stability.md").read_text(encoding="utf-8")
    [row] = re.findall(r"^\| (.*), the names that their reference has", text, re.MULTILINE)
    pages = (ROOT / "docs" / "site" / "reference").glob("*.rst")
    modules = {name.rpartition(".")[0] for page in pages for name in names_in(page.read_text(encoding="utf-8"))}
    others = {each for each in modules if not each.startswith("controllers.")} - PARTLY - {"controller_runtime"}

    assert {*re.findall(r"`([\w.]+)`", row)} == others - promised_packages()


def test_the_commands_that_are_promised_are_those_whose_options_are_documented() -> None:
    text = (ROOT / "docs" / "stability.md").read_text(encoding="utf-8")
    [row] = re.findall(r"^\| all \[options\]\(flags.md\).* of the commands (.*) \|[^|]*\|$", text, re.MULTILINE)
    page = (ROOT / "docs" / "flags.md").read_text(encoding="utf-8")

    assert re.findall(r"^## (.*)$", page, re.MULTILINE) == ["A program", *re.findall(r"`([^`]+)`", row)]


def names_in(page: str) -> Iterator[str]:
    """Yield the full names of the entries of a page of the reference."""
    module = re.search(r"^\.\. currentmodule:: (\S+)$", page, re.MULTILINE)
    for name in re.findall(r"^\.\. auto\w+:: (\S+)$", page, re.MULTILINE):
        yield name if "." in name or not module else f"{module[1]}.{name}"


def is_public(where: str, module: str, name: str) -> bool:
    match module.split("."):
        case ["controller_runtime"]:
            return name in PUBLIC
        case ["controller_runtime", _] if module in promised_packages():
            return name in importlib.import_module(module).__all__
        case ["controller_runtime", "testing", _]:  # a module of one subject, whose names the reference has
            page = ROOT / "docs" / "site" / "reference" / "testing.rst"
            return f"{module}.{name}" in names_in(page.read_text(encoding="utf-8"))
        case ["embedded_apiserver"] | [
            "embedded_apiserver",
            "programs",
        ]:  # for tests of any client
            page = ROOT / "docs" / "site" / "reference" / "apiserver.rst"
            return f"{module}.{name}" in names_in(page.read_text(encoding="utf-8"))
        case ["controllers", *parts]:
            return where in SHOWN and not any(part.startswith("_") for part in [*parts, name])
    return False


def test_guides_and_examples_import_public_names_alone() -> None:
    found = [(where, *each) for where, code in shown_code() for each in imported_from_this_project(code)]

    assert {"README.md", "docs/client.md", "docs/testing.md", "examples/finalizer.py"} <= {where for where, *_ in found}
    assert [each for each in found if not is_public(*each)] == []


@pytest.mark.parametrize(
    ("code", "seen"),
    [
        ("import apimachinery.stop", False),
        ("from apimachinery.stop import spawn", False),
        ("from controller_runtime import Reflector", False),
        ("from controller_runtime.testing import EmbeddedCluster", True),
        ("def test():\n    from controller_runtime import spawn", True),
    ],
)
def test_the_rule_of_imports_sees_each_form(code: str, seen: bool) -> None:
    assert [is_public("README.md", *each) for each in imported_from_this_project(code)] == [seen]


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        pytest.param("import controller_runtime", "kubernetes msgspec aiohttp attrs threading", id="the package alone"),
        pytest.param("from controller_runtime import Stop, WorkQueue", "kubernetes msgspec aiohttp", id="a queue"),
        pytest.param(
            "from controller_runtime import Manager; from controller_runtime.resources import NODES",
            "kubernetes aiohttp asyncio",
            id="a manager",
        ),
        pytest.param("import embedded_apiserver.server", "kubernetes aiohttp", id="the embedded server"),
    ],
)
def test_an_import_costs_only_what_it_needs(statement: str, absent: str) -> None:
    program = f"{statement}\nimport sys\nprint(*[name for name in {absent.split()} if name in sys.modules])"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == ""
