# SPDX-License-Identifier: Apache-2.0
"""Credential plugins receive their input, their answers are read, and every wait for one has a limit."""

from __future__ import annotations

import json
import os
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from kubernetes.client import Configuration

from apimachinery.system import SystemHost
from controller_runtime.client.http.credentials import Credential
from controller_runtime.client.http.exec_plugin import LONGEST_CREDENTIAL, ExecPlugin

V1 = "client.authentication.k8s.io/v1"


def script(folder: Path, text: str) -> str:
    path = folder / "plugin"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def saying(folder: Path, answer: object) -> str:
    (folder / "answer").write_text(answer if isinstance(answer, str) else json.dumps(answer))
    return script(folder, f"cat {folder / 'answer'}")


def credential(**status: object) -> dict[str, object]:
    return {"kind": "ExecCredential", "apiVersion": V1, "status": status}


def plugin(*command: str, **more: Any) -> ExecPlugin:
    return ExecPlugin(command, environment=more.pop("environment", {}), api_version=V1, **more)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param({"token": "t"}, Credential("Bearer t"), id="token"),
        pytest.param(
            {"clientCertificateData": "C", "clientKeyData": "K"}, Credential(None, ("C", "K")), id="certificate"
        ),
        pytest.param(
            {"token": "t", "clientCertificateData": "C", "clientKeyData": "K"},
            Credential("Bearer t", ("C", "K")),
            id="both",
        ),
        pytest.param(
            {"token": "t", "expirationTimestamp": "2026-11-21T05:00:00Z"},
            Credential("Bearer t", None, datetime(2026, 11, 21, 5, tzinfo=UTC)),
            id="for a time",
        ),
    ],
)
def test_answers_are_read(tmp_path: Path, status: dict[str, object], expected: Credential) -> None:
    assert plugin(saying(tmp_path, credential(**status))).ask() == expected


def test_secrets_are_not_shown() -> None:
    assert "s3cret" not in repr(Credential("Bearer s3cret", ("s3cret", "s3cret")))


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        pytest.param("no JSON", "returned no credential: Expecting value", id="text"),
        pytest.param("[]", "returned no credential", id="a list"),
        pytest.param({**credential(token="t"), "kind": "Pod"}, "it is a .* Pod, not a", id="another kind"),
        pytest.param({**credential(token="t"), "apiVersion": "v9"}, "it is a v9 Exec", id="another version"),
        pytest.param({"kind": "ExecCredential", "apiVersion": V1}, "'status'", id="no status"),
        pytest.param(credential(), "neither a token", id="nothing in it"),
        pytest.param(
            credential(clientCertificateData="C"), "neither a token nor a certificate", id="half a certificate"
        ),
        pytest.param(credential(token="t", expirationTimestamp="soon"), "isoformat", id="no time"),
        pytest.param(credential(token="t", expirationTimestamp="2026-11-21T05:00:00"), "no time zone", id="no zone"),
        pytest.param(credential(token="t\nt"), "the token cannot be sent: it contains a line break", id="two lines"),
    ],
)
def test_what_is_no_credential_is_told_in_one_line_that_names_the_plugin(
    tmp_path: Path, answer: object, told: str
) -> None:
    with pytest.raises(ValueError, match=told) as caught:
        plugin(saying(tmp_path, answer)).ask()

    assert f"the credential plugin '{tmp_path}/plugin'" in str(caught.value)


def test_a_plugin_that_fails_has_the_last_word(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"failed with exit status 3: log in first$"):
        plugin(script(tmp_path, "echo log in first >&2; exit 3")).ask()


def test_a_plugin_that_is_not_installed_comes_with_the_hint(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="cannot be run: No such file or directory; install it with make"):
        plugin(str(tmp_path / "nowhere"), hint="install it with make").ask()


def test_a_plugin_that_takes_too_long_is_killed_with_all_it_started(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    slow = script(tmp_path, f"exec 3> {pipe}; echo begun >&3; sleep 60 & wait")

    for timeout in (0.3, 3.0, 30.0):  # on a busy machine the plugin may not even have begun after the first timeout
        with open(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)) as reader:
            with pytest.raises(OSError, match=f"did not answer within {timeout:g} s"):
                plugin(slow, timeout=timeout).ask()
            os.set_blocking(reader.fileno(), True)
            begun = reader.read()  # the read ends when no process is left that could write
        if begun:
            break

    assert begun == "begun\n"


def test_a_plugin_that_is_given_up_ends_at_once(tmp_path: Path) -> None:
    host = SystemHost()
    forever = plugin(script(tmp_path, "sleep 60"))
    failed: list[str] = []

    def ask() -> None:
        with pytest.raises(OSError, match="exit status -9") as caught:
            forever.ask()
        failed.append(str(caught.value))

    asker = host.spawn("asker", ask)
    while not asker.join_until(host.monotonic() + 0.01):
        forever.give_up()

    assert len(failed) == 1


def test_a_plugin_is_told_of_the_cluster_and_never_has_a_terminal(tmp_path: Path) -> None:
    text = 'echo "$KUBERNETES_EXEC_INFO" > "$OUT"; cat >> "$OUT"; echo "$1" >> "$OUT"; cat "$ANSWER"'
    (tmp_path / "answer").write_text(json.dumps(credential(token="t")))
    told = plugin(
        script(tmp_path, text),
        "argument",
        environment={"OUT": str(tmp_path / "out"), "ANSWER": str(tmp_path / "answer")},
        cluster={"server": "https://api.test"},
    )

    told.ask()

    info, argument = (tmp_path / "out").read_text().splitlines()
    spec = {"interactive": False, "cluster": {"server": "https://api.test"}}
    assert json.loads(info) == {"kind": "ExecCredential", "apiVersion": V1, "spec": spec}
    assert argument == "argument"


def test_the_official_client_can_use_it_as_a_hook(tmp_path: Path) -> None:
    configuration = Configuration(host="http://127.0.0.1:1")
    configuration.refresh_api_key_hook = plugin(saying(tmp_path, credential(token="t")))

    assert configuration.get_api_key_with_prefix("BearerToken") == "Bearer t"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("first\nlog in first", "log in first"),
        ("", "its stderr is empty"),
        ("login failed: user=me password=hunter2, try again", "login failed: user=me password=<hidden>, try again"),
        ('{"access_token": "abc.def"}', '{"access_token": <hidden>'),
        ("Authorization: Bearer abcdef refused", "Authorization: <hidden> refused"),
        ("refused eyJhbGciOiJSUzI1NiIsImtpZCI6IjEyMzQ1Njc4OTAifQ.e30.c2ln", "refused <hidden>"),
        ("\x1b]0;title\x07 2026-01-01 INFO stopping", "\\x1b]0;title\\x07 2026-01-01 INFO stopping"),
        ("x " * 1_000, " x" * 150),
        (
            "no such host login.example.com, see https://example.com/help",
            "no such host login.example.com, see https://example.com/help",
        ),
    ],
)
def test_the_last_line_of_a_failed_plugin_is_told_without_credentials_and_escapes(
    tmp_path: Path, said: str, told: str
) -> None:
    (tmp_path / "said").write_text(said)

    with pytest.raises(OSError) as caught:  # noqa: PT011  the whole text is compared
        plugin(script(tmp_path, f"cat {tmp_path}/said >&2; exit 3")).ask()

    assert str(caught.value).partition("exit status 3: ")[2] == told


def test_a_plugin_that_talks_without_end_is_killed(tmp_path: Path) -> None:
    talking = plugin(script(tmp_path, f"echo $$ > {tmp_path}/pid; exec yes token"))

    with pytest.raises(OSError, match=f"wrote more than {LONGEST_CREDENTIAL} bytes, which is not a credential"):
        talking.ask()

    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_of_long_complaints_the_last_words_are_told(tmp_path: Path) -> None:
    text = "yes complaint | head -c 20000000 >&2; echo the end >&2; exit 3"

    with pytest.raises(OSError, match=r"failed with exit status 3: the end$"):
        plugin("/bin/sh", "-c", text).ask()


def test_complaints_do_not_keep_a_plugin_from_answering(tmp_path: Path) -> None:
    answer = saying(tmp_path, credential(token="t"))

    assert plugin("/bin/sh", "-c", f"yes complaint | head -c 2000000 >&2; {answer}").ask() == Credential("Bearer t")
