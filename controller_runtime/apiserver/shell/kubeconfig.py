# SPDX-License-Identifier: Apache-2.0
"""The kubeconfig that leads to this server: address, authority and token in one private file."""

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
    """The text of a kubeconfig for `server` (a URL), trusting `authority` (PEM), as the bearer of `token`."""
    return _TEMPLATE.format(
        mark=_MARK,
        name=_NAME,
        server=json.dumps(server),
        authority=base64.b64encode(authority).decode(),
        token=json.dumps(token),
    )


def write_kubeconfig(path: Path, text: str) -> None:
    """Put `text` at `path`; see `write_private`.

    Raises:
        FileExistsError: There is a file that this function did not write, such as somebody's own kubeconfig.
        OSError: The folder is missing or not writable.
    """
    if path.exists() and not _may_be_replaced(path):
        raise FileExistsError(f"{path} exists and is not one of ours")
    write_private(path, text.encode())


def write_private(path: Path, content: bytes) -> None:
    """Put `content` at `path`, readable by its owner alone (0600), in one step: nobody sees half of it.

    Raises:
        OSError: The folder is missing or not writable.
    """
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, 0o600)  # the umask may have taken more
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # else the new name could be on the disk before the content is
        os.replace(name, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _may_be_replaced(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_MARK)) in (b"", _MARK.encode())
