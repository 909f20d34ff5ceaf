# SPDX-License-Identifier: Apache-2.0
"""The options `--rbac-record` and `--rbac-check`, with a run of pytest inside this one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from controller_runtime.rights import Access, granted_by, read, write
from controller_runtime.testing.rights_plugin import RightsPlugin, RightsRecord, RightsVerdict, checked, recorded

pytestmark = pytest.mark.ends

PLUGIN = "controller_runtime.testing.pytest_plugin"
OPERATOR = """
import pytest
from controller_runtime import Controller, ObjectKey, Reconciler, Result, Right
from controller_runtime.resources import CONFIG_MAPS, PODS
from controller_runtime.testing import a_pod

class Reads(Reconciler):
    def __init__(self, client): self.client = client
    def reconcile(self, request):
        self.client.get(CONFIG_MAPS, ObjectKey("settings", "default"), dict)
        return Result()

def setup(manager):
    manager.declare(Right(CONFIG_MAPS, names=["settings"]))
    manager.add(Controller("reads", Reads(manager.client)).watch(PODS))
"""
TESTS = (
    OPERATOR
    + """
@pytest.mark.rights("reader")
def test_it_reads(simulation, cluster):
    cluster.user.create(CONFIG_MAPS, {"metadata": {"name": "settings", "namespace": "default"}})
    cluster.user.create(PODS, a_pod("p"))
    cluster.run(setup)
    simulation.settle()

@pytest.mark.rights("limited")
@pytest.mark.embedded_cluster(namespace="team")
def test_limited(simulation, cluster):
    cluster.run(setup)
    simulation.settle()

@pytest.mark.rights(None)
def test_that_is_not_recorded(simulation, cluster):
    cluster.client.list(PODS)
    cluster.user.list(CONFIG_MAPS)
"""
)
READER = {"list pods", "watch pods", "get configmaps settings"}
LIMITED = {"list pods in the namespace team", "watch pods in the namespace team"}


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", PLUGIN, "-p", "no:cacheprovider", "--strict-markers", "-q"]
    return subprocess.run([*command, *arguments], cwd=folder, capture_output=True, text=True, check=False)


def shown(file: Path) -> set[str]:
    return {str(access) for access in granted_by(read(file))}


def test_a_worker_hands_in_what_its_tests_asked(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS, encoding="utf-8")

    done = run(tmp_path, "-n", "1", "--rbac-record", "rights")

    assert done.returncode == 0, done.stdout + done.stderr
    assert {file.name: shown(file) for file in (tmp_path / "rights").iterdir()} == {
        "reader.yaml": READER,
        "limited.yaml": LIMITED,
    }


def test_a_run_fails_for_a_right_that_is_missing_and_for_one_that_no_test_used(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TESTS)
    write("rights/reader.yaml", [Access("", "", "pods", verb) for verb in ("list", "watch", "delete")])

    done = pytester.runpytest_inprocess("-p", PLUGIN, "-p", "no:xdist", "--rbac-check", "rights")

    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.assert_outcomes(passed=3)
    here = "(needed by test_a_run_fails_for_a_right_that_is_missing_and_for_one_that_no_test_used.py::"
    missing = [f"rights/limited.yaml lacks: {access} {here}test_limited)" for access in sorted(LIMITED)]
    done.stdout.fnmatch_lines(
        [
            *missing,
            f"rights/reader.yaml lacks: get configmaps settings {here}test_it_reads)",
            "rights/reader.yaml grants what no test used: delete pods",
        ]
    )


LIST, WATCH, DELETE = (Access("", "", "pods", verb) for verb in ("list", "watch", "delete"))


def record(**programs: list[Access]) -> RightsRecord:
    made = RightsRecord()
    for name, accesses in programs.items():
        made.add("" if name == "unmarked" else name, dict.fromkeys(accesses, f"test_{name}"))
    return made


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("asked", "granted", "partial", "lines"),
    [
        pytest.param([LIST], [LIST], "", ["f.yaml: the tests use all of these rights and no others"], id="exact"),
        pytest.param([LIST, WATCH], [LIST], "", ["!f.yaml lacks: watch pods (needed by test_a)"], id="missing"),
        pytest.param([LIST], [LIST, DELETE], "", ["!f.yaml grants what no test used: delete pods"], id="unused"),
        pytest.param(
            [LIST],
            [LIST, DELETE],
            "-k",
            ["rights that no test used are not judged (1), for -k"],
            id="a part of the run",
        ),
        pytest.param([], [LIST], "", ["!no manager of these tests asked anything of an API server"], id="nothing"),
    ],
)
def test_a_record_is_checked(
    asked: list[Access], granted: list[Access], partial: str, lines: list[str], here: Path
) -> None:
    write("f.yaml", granted)

    verdict = checked(record(a=asked), Path("f.yaml"), partial=partial)

    assert verdict == RightsVerdict([line.lstrip("!") for line in lines], is_failure=lines[0].startswith("!"))


def test_skipped_tests_are_told_of_when_a_right_is_unused(here: Path) -> None:
    write("f.yaml", [LIST, DELETE])
    made = record(a=[LIST])
    made.counts["skipped"] = 2

    assert checked(made, Path("f.yaml"), partial="").lines[-1] == "tests that were skipped may use them: 2"


def test_one_file_has_what_all_programs_asked_under_the_only_name_there_is(here: Path) -> None:
    assert recorded(record(cabins=[LIST], unmarked=[WATCH]), Path("f.yaml")).lines == ["f.yaml: 2 rights, written"]
    assert shown(Path("f.yaml")) == {"list pods", "watch pods"}
    assert [role["metadata"]["name"] for role in read("f.yaml")] == ["cabins"]

    recorded(record(cabins=[LIST], rooms=[LIST]), Path("g.yaml"))
    assert [role["metadata"]["name"] for role in read("g.yaml")] == ["g"]


def test_a_folder_has_a_file_for_each_program_and_a_check_reads_them_all(here: Path) -> None:
    verdict = recorded(record(a=[LIST], b=[WATCH], unmarked=[DELETE]), Path("all"))

    assert verdict.lines == [
        "all/a.yaml: 1 rights, written",
        "all/b.yaml: 1 rights, written",
        "left out, for it has no marker rights: test_unmarked",
    ]
    assert checked(record(a=[LIST], b=[WATCH]), Path("all"), partial="").is_failure is False
    assert checked(record(a=[LIST]), Path("all"), partial="").lines == [
        "all/b.yaml grants what no test used: watch pods"
    ]


@pytest.mark.parametrize(
    ("asked", "target", "told"),
    [
        pytest.param({}, "f.yaml", "no manager of these tests asked anything", id="nothing"),
        pytest.param({"unmarked": [LIST]}, "all", 'no test has the marker rights("NAME")', id="no names"),
    ],
)
def test_nothing_is_written_for_nothing(asked: dict[str, list[Access]], target: str, told: str, here: Path) -> None:
    verdict = recorded(record(**asked), Path(target))

    assert verdict.is_failure
    assert told in verdict.lines[0]
    assert not Path(target).exists()


def test_a_record_of_a_part_says_so(here: Path) -> None:
    made = record(a=[LIST])
    made.counts.update(deselected=1, failed=2)

    assert recorded(made, Path("f.yaml")).lines[1:] == [
        "rights may be missing, for not all tests ran and passed: 1 deselected, 2 failed"
    ]


def test_a_record_goes_from_a_worker_to_the_main_process() -> None:
    made, main = record(a=[LIST], unmarked=[WATCH]), record(a=[DELETE])
    made.counts.update(deselected=1, failed=2)

    main.load(json.loads(json.dumps(made.dumped())))

    assert main.asked == {"a": {DELETE: "test_a", LIST: "test_a"}, "": {WATCH: "test_unmarked"}}
    assert main.counts == {"deselected": 1}, "failures are counted where they are reported"


class Options:
    """The part of pytest's configuration that the plugin reads at its start."""

    def __init__(self, record: str | None = None, check: str | None = None) -> None:
        self.values = {"--rbac-record": record, "--rbac-check": check}

    def getoption(self, name: str) -> str | None:
        return self.values[name]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        pytest.param(Options("a.yaml", "b.yaml"), "exclude each other: record first, then check", id="both"),
        pytest.param(Options(""), "need the name of a file or folder", id="empty"),
        pytest.param(Options(check="none.yaml"), "there is no none.yaml; write it with --rbac-record", id="no file"),
        pytest.param(Options(check="x.txt"), "x.txt is neither a folder nor named *.yaml", id="another file"),
        pytest.param(Options(check="bad.yaml"), "--rbac-check: bad.yaml is not YAML: ", id="not YAML"),
        pytest.param(Options("bad.yaml"), "--rbac-record: bad.yaml is not YAML: ", id="a record would replace it"),
        pytest.param(Options(check="."), "--rbac-check: bad.yaml is not YAML: ", id="in a folder"),
    ],
)
def test_bad_input_is_refused_before_the_first_test(options: Any, told: str, here: Path) -> None:
    (here / "bad.yaml").write_text("a: [b", encoding="utf-8")
    (here / "x.txt").write_text("", encoding="utf-8")

    with pytest.raises(pytest.UsageError) as caught:
        RightsPlugin(options)

    assert told in str(caught.value)
    assert "\n" not in str(caught.value)
