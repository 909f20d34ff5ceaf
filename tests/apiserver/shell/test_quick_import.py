# SPDX-License-Identifier: Apache-2.0
"""The modules that the server's command imports before it serves: the others cost its start nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.ends

# As the command does, from a process that has imported nothing else.
PROGRAM = """
import gc, sys
import embedded_apiserver.__main__
assert "embedded_apiserver.server" not in sys.modules, "the server is imported while the child makes its certificates"
from apimachinery.system import SystemHost
from embedded_apiserver.shell.address import Address
from embedded_apiserver.shell.quick_import import identity_beside_imports
identity = identity_beside_imports(None, SystemHost(), Address())
assert identity.token and gc.isenabled()
print(*sys.modules)
import aiohttp
assert aiohttp.ClientSession.__name__ == "ClientSession" and aiohttp.__version__[0].isdigit()
from aiohttp import TCPConnector, web
assert web.Server and aiohttp.TCPConnector is TCPConnector
"""
NOT_NEEDED = (
    "aiohttp.client",
    "aiohttp.web",
    "cryptography",
    "embedded_apiserver.cel.checker",
    "embedded_apiserver.cel.library.libraries",
    "embedded_apiserver.cel.parser",
    "embedded_apiserver.perturbation.plan_file",
    "sqlite3",
    "tarfile",
    "yaml",
)


def test_a_server_imports_no_client_and_nothing_for_expressions_before_it_serves() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, timeout=100, check=False, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    imported = set(done.stdout.split())
    assert "embedded_apiserver.shell.process" in imported
    assert imported.isdisjoint(NOT_NEEDED), imported.intersection(NOT_NEEDED)
