# SPDX-License-Identifier: Apache-2.0
"""The settings of an agent are parsed from a kubelet's notation, or refused with one clear line."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from apimachinery.errors import UsageError
from controllers.agent.run import AgentOptions, settings_of
from controllers.agent.settings import node_name, parse_labels, parse_node_ips, parse_reserved, parse_taints

reserved = partial(parse_reserved, "--kube-reserved")


@pytest.mark.parametrize(
    ("asked", "hostname", "name"),
    [(None, " Some-Host ", "some-host"), ("N1", "host", "n1"), ("  ", "host", "")],
    ids=["the machine's", "as asked", "nothing but blanks"],
)
def test_the_name_is_trimmed_and_in_lower_case(asked: str | None, hostname: str, name: str) -> None:
    assert node_name(asked, hostname) == name


@pytest.mark.parametrize(
    ("parse", "text", "says"),
    [
        pytest.param(parse_labels, "a", "'a' is not a pair", id="label without a value"),
        pytest.param(parse_labels, "a=b,a=c", "a is given twice", id="label twice"),
        pytest.param(parse_labels, "a b=c", "cannot be a label", id="label's key"),
        pytest.param(parse_labels, "a=b c", "cannot be a label", id="label's value"),
        pytest.param(parse_taints, "a=b", "effects are NoSchedule", id="taint without effect"),
        pytest.param(parse_taints, "a=b:Never", "effects are NoSchedule", id="taint's effect"),
        pytest.param(parse_taints, "a b:NoSchedule", "cannot be a taint", id="taint's key"),
        pytest.param(parse_taints, "a:NoSchedule,a=b:NoSchedule", "twice with NoSchedule", id="taint twice"),
        pytest.param(reserved, "gpu=1", "cannot be reserved", id="strange resource"),
        pytest.param(reserved, "cpu=x", "cpu: 'x' is not a quantity", id="no quantity"),
        pytest.param(reserved, "cpu=-1", "is negative", id="less than nothing"),
        pytest.param(parse_node_ips, "x", "is not an IP address", id="no address"),
        pytest.param(parse_node_ips, "127.0.0.1", "it is loopback", id="loopback"),
        pytest.param(parse_node_ips, "224.0.0.1", "it is multicast", id="multicast"),
        pytest.param(parse_node_ips, "fe80::1", "it is link-local", id="link-local"),
        pytest.param(parse_node_ips, "0.0.0.0,192.0.2.1", "it is unspecified", id="unspecified beside another"),
        pytest.param(parse_node_ips, "192.0.2.1,192.0.2.2", "one of each family", id="two of a family"),
    ],
)
def test_what_cannot_be_is_named(parse: Callable[[str], object], text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as refused:
        parse(text)

    assert str(refused.value).startswith("--")
    assert "\n" not in str(refused.value)


def test_lists_may_be_empty_and_have_blanks() -> None:
    assert parse_labels(" a = b , c= ,") == {"a": "b", "c": ""}
    assert parse_taints("") == ()
    assert parse_node_ips("") == ()


def test_the_disk_that_is_measured_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--root-dir: .* is not a folder"):
        settings_of(AgentOptions(root_dir=str(tmp_path / "none")), "host")


def test_no_thresholds_are_those_that_are_given_empty() -> None:
    assert settings_of(AgentOptions(eviction_hard=""), "host").thresholds == ()
    assert len(settings_of(AgentOptions(), "host").thresholds) == 3
