# SPDX-License-Identifier: Apache-2.0
"""The fixtures of the embedded server for tests of code that calls Kubernetes, with any client.

It imports the server when a test first uses it. `KUBECONFIG` is set before any file of a suite is imported, because
clients read it then: if a file of the suite names the fixture, or if the setting `kubernetes_server_environment` is
`always`. With `never` the environment is left alone.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from embedded_apiserver.testing.server import KubernetesServer
    from embedded_apiserver.testing.suite import Suite

FIXTURE = "kubernetes_server"
SETTING = "kubernetes_server_environment"
_VALUES = ("auto", "always", "never")
_SCOPED = f"{FIXTURE}_module and {FIXTURE}_session last longer than a test"
_begun = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the plugin's only setting for pytest's configuration file."""
    text = (
        "have KUBECONFIG name the server of the fixture kubernetes_server, and a dead address outside of its tests: "
        "auto (if a file of the tests names the fixture), always, never"
    )
    parser.addini(SETTING, text, default="auto")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Prepare the environment variables before the first `conftest.py` is imported."""
    _prepare(early_config)


def pytest_configure(config: pytest.Config) -> None:
    """Prepare the environment variables if the plugin was loaded after the first `conftest.py`."""
    _prepare(config)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the shared server and restore the environment variables."""
    if config.stash.get(_begun, False):
        from embedded_apiserver.testing import shared

        shared.end()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the last requests to the report of a failed test that uses the server.

    If the failure is that the fixture has the wrong scope, advice is added as well.
    """
    report = yield
    if report.failed:
        if FIXTURE in report.longreprtext and "ScopeMismatch" in report.longreprtext:
            report.sections.append((FIXTURE, _SCOPED))
        if _uses_server(item) and (told := _suite(item.config).requests_told):
            report.sections.append((f"last requests to {FIXTURE}", told))
    return report


@pytest.fixture
def kubernetes_server(request: pytest.FixtureRequest) -> Iterator[KubernetesServer]:
    """Provide an empty Kubernetes API server, to which `KUBECONFIG` refers unless the plugin's setting is `never`."""
    yield from _served(request)


@pytest.fixture(scope="module")
def kubernetes_server_module(request: pytest.FixtureRequest) -> Iterator[KubernetesServer]:
    """Provide a Kubernetes API server that the tests of a module share."""
    yield from _served(request)


@pytest.fixture(scope="session")
def kubernetes_server_session(request: pytest.FixtureRequest) -> Iterator[KubernetesServer]:
    """Provide a Kubernetes API server that all tests share; each process of pytest-xdist has its own."""
    yield from _served(request)


@pytest.fixture
def kubernetes_server_fresh_port(request: pytest.FixtureRequest) -> Iterator[KubernetesServer]:
    """Provide a Kubernetes API server at a new port, with a new certificate authority and a new token."""
    with _suite(request.config).fresh(request.node.nodeid) as server:
        yield server


def _served(request: pytest.FixtureRequest) -> Iterator[KubernetesServer]:
    with _suite(request.config).server(request.node.nodeid or "the session") as server:
        yield server


def _suite(config: pytest.Config) -> Suite:
    from embedded_apiserver.testing import shared

    config.stash[_begun] = True
    return shared.begin(changes_environment=config.getini(SETTING) != "never", prepare=False)


def _uses_server(item: pytest.Item) -> bool:
    names = getattr(item, "fixturenames", ())
    return any(name.startswith(FIXTURE) for name in names) or hasattr(getattr(item, "cls", None), FIXTURE)


def _prepare(config: pytest.Config) -> None:
    wanted = config.getini(SETTING)
    if wanted not in _VALUES:
        raise pytest.UsageError(f"{SETTING} = {wanted}: it is one of {', '.join(_VALUES)}")
    if wanted == "always" or (wanted == "auto" and not config.stash.get(_begun, False) and _is_used(config)):
        _suite(config).prepare()


def _is_used(config: pytest.Config) -> bool:
    """Tell whether the suite uses the server, by its files, which are not imported yet."""
    from embedded_apiserver.testing.scan import paths_of, uses_server

    if FIXTURE in config.getini("usefixtures"):
        return True
    invoked, root = config.invocation_params.dir, config.rootpath
    named = config.known_args_namespace.file_or_dir
    if named:
        paths = paths_of(named, invoked)
    elif invoked == root and (listed := config.getini("testpaths")):
        paths = [path for pattern in listed for path in root.glob(pattern)]
    else:
        paths = [Path(invoked)]
    return uses_server(paths, root, config.getini("norecursedirs"))
