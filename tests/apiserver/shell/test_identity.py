# SPDX-License-Identifier: Apache-2.0
"""The identity of a server, which stays the same from one start to the next."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from apimachinery.errors import UsageError
from embedded_apiserver.shell.identity import identity_from_child, kept_identity, new_identity

NOW = datetime(2026, 11, 20, 10, 0, tzinfo=UTC)


def test_a_server_comes_back_as_the_one_it_was(tmp_path: Path) -> None:
    first = kept_identity(tmp_path / "data", NOW)

    second = kept_identity(tmp_path / "data", NOW + timedelta(days=200))

    assert second == first
    assert new_identity(NOW) != first


def test_certificates_that_end_soon_are_made_anew(tmp_path: Path) -> None:
    first = kept_identity(tmp_path, NOW)

    later = NOW + timedelta(days=300)

    assert kept_identity(tmp_path, later).certificates.valid_until() > first.certificates.valid_until()
    assert kept_identity(tmp_path, later) != first


def test_certificates_that_lack_a_name_are_replaced_and_those_that_have_more_are_kept(tmp_path: Path) -> None:
    first = kept_identity(tmp_path, NOW)

    second = kept_identity(tmp_path, NOW, ["db.test", "192.0.2.7"])

    assert second.certificates.names() == {"127.0.0.1", "::1", "localhost", "db.test", "192.0.2.7"}
    assert second.signing_key == first.signing_key
    assert kept_identity(tmp_path, NOW, ["127.0.0.1", "db.test"]) == second


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_only_its_owner_reads_it_and_it_is_not_shown(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        identity = kept_identity(tmp_path / "data", NOW)
    finally:
        os.umask(before)

    (file,) = (tmp_path / "data").iterdir()
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert identity.token not in repr(identity)


@pytest.mark.parametrize("content", [b"", b"{}", b'{"certificates":{"authority":"","server":"","key":""},"token":"t"}'])
def test_a_damaged_file_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "identity.json").write_bytes(content)

    with pytest.raises(UsageError, match=r"identity\.json is damaged"):
        kept_identity(tmp_path, NOW)


def test_a_directory_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(UsageError, match=r"data directory .*file"):
        kept_identity(tmp_path / "file", NOW)


def test_the_key_that_signs_tokens_outlives_certificates(tmp_path: Path) -> None:
    first = kept_identity(tmp_path, NOW)

    later = kept_identity(tmp_path, NOW + timedelta(days=300))

    assert later.signing_key == first.signing_key
    assert later.token != first.token


def test_an_identity_of_before_gets_a_key_and_stays_otherwise(tmp_path: Path) -> None:
    first = kept_identity(tmp_path, NOW)
    old = json.loads((tmp_path / "identity.json").read_bytes())
    del old["signing_key"]
    (tmp_path / "identity.json").write_text(json.dumps(old))

    second = kept_identity(tmp_path, NOW)

    assert (second.token, second.certificates) == (first.token, first.certificates)
    assert second.signing_key not in ("", first.signing_key)
    assert kept_identity(tmp_path, NOW) == second
    assert second.signing_key not in repr(second)


IN_A_CHILD = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from embedded_apiserver.shell.identity import identity_from_child, kept_identity
from apimachinery.errors import UsageError

data, now = Path(sys.argv[1]), datetime.now(UTC)
identity = identity_from_child(data, now)()
identity.certificates.server_context()
assert "cryptography" not in sys.modules
(data / "identity.json").write_text("damaged")
try:
    identity_from_child(data, now)()
except UsageError as error:
    print(identity.token, error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_child_process_makes_the_identity_and_this_one_tells_of_errors(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", IN_A_CHILD, str(tmp_path / "data")]

    done = subprocess.run(command, capture_output=True, text=True, check=True)

    token, _, error = done.stdout.partition(" ")
    assert len(token) > 40
    assert "identity.json is damaged" in error
    assert done.stderr == ""


def test_a_process_with_several_threads_makes_it_by_itself() -> None:
    going_on = threading.Event()
    thread = threading.Thread(target=going_on.wait)
    thread.start()
    try:
        assert identity_from_child(None, NOW)().token
    finally:
        going_on.set()
        thread.join()
