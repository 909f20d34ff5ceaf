# SPDX-License-Identifier: Apache-2.0
"""The names that `from controller_runtime import ...` offers. Adding one is a decision; a missing one breaks users."""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import subprocess
import sys

import pytest

import controller_runtime
from controller_runtime.core import errors

PUBLIC = {
    # run
    "Manager", "LeaderElectionConfig", "Candidacy", "Host", "Clock", "SystemHost", "Stop", "stop_on_signals",
    "Endpoints", "Runnable", "__version__",
    # write a controller
    "Controller", "Reconciler", "Request", "Result", "TerminalError", "Channel", "reconcile_deadline",
    "Finalizers", "add_finalizers", "remove_finalizers", "set_controller", "set_owner",
    # map events
    "Delta", "Handler", "Callback", "enqueue_object", "enqueue_owner", "enqueue_mapped",
    # filter them
    "Predicate", "changed", "all_of", "any_of", "not_", "matches",
    # read and write
    "FieldValidation", "Lister", "Informer", "Subscription", "ListBounds", "OwnWrites", "Patience", "Backoff", "edited",
    "without", "Client",
    "PatchType", "Resource", "Collection", "NODES", "PODS", "LEASES", "LEASE_CANDIDATES", "NAMESPACES", "EVENTS",
    "create_or_patch", "Change", "retry_on_conflict", "ConflictRetry",
    # declare kinds
    "CustomResource", "Struct", "custom_resource", "definition", "Rule", "changes",
    # tell people
    "EventRecorder", "EventAPI",
    # look at objects
    "Cached", "ObjectKey", "ObjectMeta", "OwnerReference", "meta", "labels_of", "annotations_of", "microtime",
    "timestamp",
    "condition_of", "conditions_of", "with_condition", "controller_of",
    # à la carte
    "WorkQueue", "ShutDown", "RateLimiter", "ItemExponential", "ItemFastSlow", "Bucket", "MaxOf", "MaxWait",
    # errors
    "ControllerRuntimeError", "UsageError", "APIError", "BadRequest", "Unauthorized", "Forbidden", "NotFound",
    "Conflict", "AlreadyExists", "Expired", "Invalid", "TooManyRequests", "ServerError", "ConnectionLost",
    "StreamIdle", "StaleCache", "DecodeError", "CacheSyncTimeout", "LeadershipLost", "Cancelled", "AlreadyOwned",
    "ReconcileTimeout",
}  # fmt: skip
ALIASES = {"Handler", "Callback", "Predicate"}


def test_the_public_names_are_the_documented_ones() -> None:
    assert set(controller_runtime.__all__) == PUBLIC
    assert len(controller_runtime.__all__) == len(PUBLIC)
    assert set(dir(controller_runtime)) == PUBLIC


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_each_public_name_can_be_imported_and_has_a_docstring(name: str) -> None:
    value = getattr(controller_runtime, name)

    assert (docstring_of_alias(name) if name in ALIASES else value.__doc__ or "").strip()


def docstring_of_alias(name: str) -> str:
    """Return the string that follows the assignment of a type alias: an alias itself has no docstring."""
    module = importlib.import_module(f"controller_runtime.{controller_runtime._HOMES[name]}")
    body = ast.parse(inspect.getsource(module)).body
    for statement, following in itertools.pairwise(body):
        match statement, following:
            case ast.Assign(targets=[ast.Name(id=bound)]), ast.Expr(value=ast.Constant(value=str(text))):
                if bound == name:
                    return text
    return ""


def test_each_error_of_the_package_is_public() -> None:
    defined = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)}

    assert defined <= PUBLIC


def test_a_name_that_is_not_public_is_refused() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Reflector'"):
        controller_runtime.Reflector  # noqa: B018  the access is the test


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        pytest.param("import controller_runtime", "kubernetes msgspec aiohttp attrs threading", id="the package alone"),
        pytest.param("from controller_runtime import Stop, WorkQueue", "kubernetes msgspec aiohttp", id="a queue"),
        pytest.param("from controller_runtime import Manager, NODES", "kubernetes aiohttp", id="a manager"),
        pytest.param("import controller_runtime.apiserver.server", "kubernetes aiohttp", id="the embedded server"),
    ],
)
def test_an_import_costs_only_what_it_needs(statement: str, absent: str) -> None:
    program = f"{statement}\nimport sys\nprint(*[name for name in {absent.split()} if name in sys.modules])"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == ""
