# SPDX-License-Identifier: Apache-2.0
"""The plugin of pytest, in runs of pytest in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from kit.apiserver.pytest_runs import passed, run_pytest

pytestmark = pytest.mark.ends


def test_each_test_has_an_empty_server_at_one_address(tmp_path: Path) -> None:
    status, output = run_pytest(
        tmp_path,
        {
            "test_a.py": """
            import os, pytest
            from ask import created, names

            AT_IMPORT = open(os.environ["KUBECONFIG"]).read()
            seen = set()

            @pytest.mark.parametrize("number", range(3))
            def test_a(kubernetes_server, number):
                assert names() == []
                assert created("a") == 201
                assert names() == ["a"]
                seen.add(kubernetes_server.url)
                assert len(seen) == 1
                assert open(kubernetes_server.kubeconfig).read() == AT_IMPORT
                assert str(kubernetes_server.kubeconfig) == os.environ["KUBECONFIG"]
            """
        },
    )

    assert (status, passed(output)) == (0, 3), output


def test_outside_of_a_test_with_the_server_nothing_answers_or_all_is_refused(tmp_path: Path) -> None:
    status, output = run_pytest(
        tmp_path,
        {
            "test_a.py": """
            import urllib.error, pytest
            from ask import asked, created

            def test_before():
                with pytest.raises(urllib.error.URLError, match="refused"):
                    asked()

            def test_with(kubernetes_server):
                assert created("a") == 201

            def test_after():
                status, body = asked()
                assert status == 503
                now, last = body["message"].split("; ")
                assert now == "no test has this server now: use the fixture kubernetes_server in the test that asks"
                assert last == "the last test that had it was test_a.py::test_with"
            """
        },
    )

    assert (status, passed(output)) == (0, 3), output


@pytest.mark.parametrize(
    ("setting", "uses", "is_set"),
    [("auto", True, True), ("auto", False, False), ("always", False, True), ("never", True, False)],
)
def test_the_environment_is_set_before_the_first_conftest_if_the_suite_uses_it_or_asks(
    tmp_path: Path, setting: str, uses: bool, is_set: bool
) -> None:
    fixture = "kubernetes_server" if uses else "tmp_path"
    status, output = run_pytest(
        tmp_path,
        {
            "conftest.py": "import os\nAT_IMPORT = dict(os.environ)",
            "test_a.py": f"""
            from conftest import AT_IMPORT

            def test_a({fixture}):
                is_own = "embedded-apiserver-" in AT_IMPORT["KUBECONFIG"]
                assert is_own is {is_set}
                assert ("KUBERNETES_SERVICE_HOST" not in AT_IMPORT) is {is_set}
            """,
        },
        "-o",
        f"kubernetes_server_environment={setting}",
        env={"KUBECONFIG": "real", "KUBERNETES_SERVICE_HOST": "192.0.2.1"},
    )

    assert (status, passed(output)) == (0, 1), output


def test_another_value_of_the_setting_is_refused(tmp_path: Path) -> None:
    status, output = run_pytest(tmp_path, {}, "-o", "kubernetes_server_environment=yes")

    assert status == 4
    assert "kubernetes_server_environment = yes: it is one of auto, always, never" in output


def test_a_client_that_was_imported_too_early_is_told_and_asks_nobody(tmp_path: Path) -> None:
    status, output = run_pytest(
        tmp_path,
        {
            "hidden.py": """
            import pytest

            @pytest.fixture
            def cluster(request):
                return request.getfixturevalue("kubernetes" + "_server")
            """,
            "conftest.py": "import kubernetes.config\npytest_plugins = ['hidden']",
            "test_a.py": "def test_a(cluster): ...",
        },
    )

    assert status == 1
    assert "kubernetes.config.kube_config was imported before KUBECONFIG named the server" in output
    assert "set `kubernetes_server_environment = always`" in output


def test_a_failed_test_shows_its_last_twenty_requests(tmp_path: Path) -> None:
    status, output = run_pytest(
        tmp_path,
        {
            "test_a.py": """
            from ask import asked, created

            def test_a(kubernetes_server):
                for number in range(25):
                    created(f"n{number}")
                asked("/apis/example.com/v1/things")
                assert False

            def test_b():
                assert False
            """
        },
    )

    assert status == 1
    shown = output.partition("last requests to kubernetes_server")[2].partition("test_b")[0]
    assert "create configmaps default/n24 by admin: 201" in shown
    assert "create configmaps default/n5 " not in shown
    assert "get /apis/example.com/v1/things by admin: 404 (not served: docs/kinds.md lists" in shown
    assert output.count("last requests to kubernetes_server") == 1


def test_a_fixture_in_a_wrong_scope_is_told_the_fixtures_of_others(tmp_path: Path) -> None:
    status, output = run_pytest(
        tmp_path,
        {
            "test_a.py": """
            import pytest

            @pytest.fixture(scope="module")
            def filled(kubernetes_server): ...

            def test_a(filled): ...
            """
        },
    )

    assert status == 1
    assert "kubernetes_server_module and kubernetes_server_session last longer than a test" in output


def test_servers_of_longer_scopes_keep_their_objects_and_one_of_a_test_may_come_between(tmp_path: Path) -> None:
    status, output = run_pytest(
        tmp_path,
        {
            "test_a.py": """
            from ask import created, names

            def test_first(kubernetes_server_session):
                assert created("a") == 201

            def test_between(kubernetes_server):
                assert names() == []
                assert created("b") == 201

            def test_second(kubernetes_server_session):
                assert names() == ["a"]

            def test_module(kubernetes_server_module):
                assert names() == []
                assert created("c") == 201
            """,
            "test_b.py": """
            from ask import names

            def test_module(kubernetes_server_module):
                assert names() == []

            def test_third(kubernetes_server_session):
                assert kubernetes_server_session.requests
            """,
        },
    )

    assert (status, passed(output)) == (0, 6), output


def test_a_fresh_port_has_credentials_of_its_own_and_the_usual_ones_come_back(tmp_path: Path) -> None:
    status, output = run_pytest(
        tmp_path,
        {
            "test_a.py": """
            import os
            from ask import created, names

            def text():
                return open(os.environ["KUBECONFIG"]).read()

            USUAL = text()

            def test_a(kubernetes_server_fresh_port):
                assert text() != USUAL
                assert created("a") == 201
                assert len(kubernetes_server_fresh_port.requests) == 1

            def test_b(kubernetes_server):
                assert text() == USUAL
                assert names() == []
            """
        },
    )

    assert (status, passed(output)) == (0, 2), output


LEFTOVER = """
import threading, warnings
from ask import asked, created

versions = []

def test_leaves(kubernetes_server):
    created("a")
    versions.append(asked()[1]["metadata"]["resourceVersion"])

def test_meets(kubernetes_server):
    path = f"/api/v1/namespaces/default/configmaps?watch=1&timeoutSeconds=5&resourceVersion={versions[0]}"
    thread = threading.Thread(target=lambda: __import__("contextlib").suppress(ValueError).__enter__() or ask(path))
    thread.start()
    thread.join()

def ask(path):
    try:
        asked(path)
    except ValueError:
        pass
"""


def test_a_watch_that_goes_on_in_a_later_test_is_named_with_the_test_it_came_from(tmp_path: Path) -> None:
    status, output = run_pytest(tmp_path, {"test_a.py": LEFTOVER})

    assert (status, passed(output)) == (0, 2), output
    told = "LeftoverWarning: a watch of /api/v1/namespaces/default/configmaps was opened by what test_a.py::test_leaves"
    assert told in output


def test_a_watch_and_a_request_under_way_end_with_their_test(tmp_path: Path) -> None:
    status, output = run_pytest(
        tmp_path,
        {
            "test_a.py": """
            import http.client, threading
            from ask import asked, created

            ended = []

            def watch():
                try:
                    ended.append(asked("/api/v1/namespaces/default/configmaps?watch=1"))
                except ValueError as error:
                    ended.append("watch")

            def late():
                try:
                    asked(method="POST", body={"metadata": {"name": "late"}})
                except (OSError, http.client.HTTPException):
                    ended.append("late")

            def test_a(kubernetes_server):
                kubernetes_server.delays("create", "configmaps", seconds=3600)
                threads = [threading.Thread(target=each) for each in (watch, late)]
                for each in threads:
                    each.start()
                while {each.verb for each in kubernetes_server.requests} != {"watch", "create"}:
                    pass
                test_a.threads = threads

            def test_b(kubernetes_server):
                for each in test_a.threads:
                    each.join()
                assert sorted(ended) == ["late", "watch"]
            """
        },
    )

    assert (status, passed(output)) == (0, 2), output


def test_each_worker_of_xdist_has_a_server_of_its_own(tmp_path: Path) -> None:
    status, output = run_pytest(
        tmp_path,
        {
            "test_a.py": """
            import os, pytest
            from ask import created, names

            @pytest.mark.parametrize("number", range(20))
            def test_a(kubernetes_server, number):
                assert names() == []
                assert created("a") == 201
            """
        },
        *("-p", "xdist", "-n", "2"),
    )

    assert (status, passed(output)) == (0, 20), output


def test_a_test_case_of_unittest_has_the_server_under_pytest_and_without_it(tmp_path: Path) -> None:
    case = """
    import os, unittest
    from embedded_apiserver import KubernetesServerMixin
    from ask import created, names

    AT_IMPORT = os.environ["KUBECONFIG"]

    class First(KubernetesServerMixin, unittest.TestCase):
        def setUp(self):
            super().setUp()
            created("before")

        def test_a(self):
            self.assertEqual(names(), ["before"])
            self.assertEqual(AT_IMPORT, str(self.kubernetes_server.kubeconfig))

        def test_b(self):
            self.assertEqual(names(), ["before"])

    class Forgotten(KubernetesServerMixin, unittest.TestCase):
        def setUp(self):
            pass

        def test_c(self):
            with self.assertRaisesRegex(Exception, "call super...setUp.. first"):
                self.kubernetes_server

    class Later(KubernetesServerMixin, unittest.IsolatedAsyncioTestCase):
        async def test_d(self):
            self.assertEqual(names(), [])
    """
    status, output = run_pytest(tmp_path, {"test_case.py": case})
    assert (status, passed(output)) == (0, 4), output

    alone = subprocess.run(
        [sys.executable, "-m", "unittest", "test_case"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert alone.returncode == 0, alone.stderr


def test_workloads_are_started_by_their_entry_point_or_say_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "with" / "beside-0.dist-info").mkdir(parents=True)
    (tmp_path / "with" / "beside-0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: beside\nVersion: 0\n"
    )
    (tmp_path / "with" / "beside-0.dist-info" / "entry_points.txt").write_text(
        "[embedded_apiserver.beside]\nworkloads = controllers.workloads.beside:workloads_beside\n"
    )
    files = {
        "test_a.py": """
        from ask import asked

        def test_a(kubernetes_server):
            kubernetes_server.workloads()
            kubernetes_server.load("job.yaml")
            while not asked("/apis/batch/v1/namespaces/default/jobs/once")[1]["status"].get("succeeded"):
                pass
        """,
        "job.yaml": """
        apiVersion: batch/v1
        kind: Job
        metadata: {name: once}
        spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}
        """,
    }
    path = os.pathsep.join([str(tmp_path / "with"), *sys.path])
    status, output = run_pytest(tmp_path, files, env={"PYTHONPATH": path})
    assert (status, passed(output)) == (0, 1), output

    none = "from embedded_apiserver.testing import beside\nbeside.entry_points = lambda **kind: ()\n"
    files["conftest.py"] = none
    status, output = run_pytest(tmp_path, files)
    assert status == 1
    assert "workloads() needs the bundled controllers: from a clone, pip install ./apimachinery ./apiserver" in output
