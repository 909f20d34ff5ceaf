# SPDX-License-Identifier: Apache-2.0
"""The page for tests of client code: each of its blocks is a test that passes, where its client is installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "testing-clients.md"
BLOCKS = re.findall(r"<!-- client: (\S+) -->\n```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
FILES = {
    "shop_operator.py": """
import kopf

@kopf.on.create("configmaps")
def created(patch, **_):
    patch.metadata.labels["seen"] = "yes"
""",
    "config_map.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {key: value}}",
    "pytest.ini": "[pytest]\n",
}
ANYIO = """import pytest

pytestmark = [pytest.mark.ends, pytest.mark.anyio]


@pytest.fixture
def anyio_backend():
    return "asyncio"


"""
ASYNCIO = (
    "-p",
    "pytest_asyncio.plugin",
    "-o",
    "asyncio_mode=auto",
    "-o",
    "asyncio_default_fixture_loop_scope=function",
)


def is_installed(name: str) -> bool:
    if name in ("kubectl", "unittest"):
        return name == "unittest" or shutil.which("kubectl") is not None
    return find_spec(name.partition(".")[0]) is not None and find_spec(name) is not None


def test_the_page_has_a_block_for_each_client() -> None:
    clients = ["kubernetes", "kubernetes.aio", "kubernetes_asyncio", "lightkube", "kr8s", "kopf", "kubectl", "unittest"]

    assert [name for name, _ in BLOCKS] == [*clients, "kubernetes"]
    for _, text in BLOCKS[:-2]:
        body = text.partition("def test_")[2].splitlines()[1:]
        assert len([line for line in body if line.strip()]) <= 5


@pytest.mark.parametrize(
    ("name", "text", "loop"),
    [
        pytest.param(name, text, loop, id=f"{name} {loop}".strip())
        for name, text in BLOCKS
        for loop in (("asyncio", "anyio") if "async def" in text else ("",))
    ],
)
def test_a_block_passes_twice_in_one_run_with_the_plugin_alone(tmp_path: Path, name: str, text: str, loop: str) -> None:
    plugin = {"asyncio": "pytest_asyncio", "anyio": "anyio"}.get(loop)
    if not is_installed(name) or (plugin and find_spec(plugin) is None):
        pytest.skip(f"{name} is not installed: tox -e peers")
    for file, content in FILES.items():
        (tmp_path / file).write_text(content)
    for number in (1, 2):
        (tmp_path / f"test_{number}.py").write_text(ANYIO + text if loop == "anyio" else text)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "KUBECONFIG": str(tmp_path / "none"),
    }
    runner = {"asyncio": ASYNCIO, "anyio": ("-p", "anyio.pytest_plugin")}.get(loop, ())
    options = ["-p", "embedded_apiserver.pytest_plugin", "-p", "no:cacheprovider", *runner]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *options],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout
