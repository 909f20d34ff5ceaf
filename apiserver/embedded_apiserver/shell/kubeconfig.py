# SPDX-License-Identifier: Apache-2.0
"""The kubeconfig of this server: its address, certificate authority and token in one private file."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import tempfile
from pathlib import Path

_NAME = "controller-runtime"
_MARK = "# The embedded API server of controller-runtime; rewritten at each start."

_TEMPLATE = """\
{mark}
apiVersion: v1
kind: Config
clusters:
- name: {name}
  cluster:
    server: {server}
    certificate-authority-data: {authority}
users:
- name: {name}
  user:
    token: {token}
contexts:
- name: {name}
  context:
    cluster: {name}
    user: {name}
    namespace: default
current-context: {name}
"""


def kubeconfig(server: str, authority: bytes, token: str) -> str:
    """Return the text of a kubeconfig file.

    Args:
        server: The URL of the server.
        authority: The certificate authority, in PEM form.
        token: The bearer token.
    """
    return _TEMPLATE.format(
        mark=_MARK,
        name=_NAME,
        server=json.dumps(server),
        authority=base64.b64encode(authority).decode(),
        token=json.dumps(token),
    )


def write_kubeconfig(path: Path, text: str) -> None:
    """Write the text of a kubeconfig to `path`, readable only by its owner.

    Only an empty file or one from an earlier call is overwritten, so that a user's own kubeconfig is not lost.

    Raises:
        FileExistsError: The file at `path` was not written by an embedded server.
        OSError: The folder does not exist or is not writable.
    """
    if path.exists() and not _may_be_replaced(path):
        raise FileExistsError(f"{path} exists and was not written by an embedded server")
    write_private(path, text.encode())


def write_private(path: Path, content: bytes) -> None:
    """Write `content` to `path` in one step, readable only by its owner (mode 0600).

    The file is replaced by a rename, so that no reader sees an incomplete file, even after a crash.

    Raises:
        OSError: The folder does not exist or is not writable.
    """
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, 0o600)  # the umask may have removed even the owner's permissions
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # otherwise a crash could leave the new name on the disk without the content
        os.replace(name, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _may_be_replaced(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_MARK)) in (b"", _MARK.encode())
