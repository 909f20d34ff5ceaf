# SPDX-License-Identifier: Apache-2.0
"""An embedded server whose watches send as a real one does: a chunk for each event, in records of its own.

Go's HTTP server writes the length of a chunk, its data and its end one after another, and each of these writes becomes
a TLS record of its own, or several of 16 KB. The embedded server joins the events that are ready, so a client would
look cheaper on it than on a cluster.
"""

from __future__ import annotations

import sys

from controller_runtime.apiserver.__main__ import main
from controller_runtime.apiserver.shell.watching import Connection, Watcher


def write_as_go(self: Watcher, connection: Connection, lines: list[bytes]) -> int:
    """Write events as a real server does; return the number of bytes."""
    for line in lines:
        connection.write(b"%x\r\n" % len(line))
        connection.write(line)
        connection.write(b"\r\n")
    return sum(map(len, lines))


if __name__ == "__main__":
    Watcher.write = write_as_go  # type: ignore[method-assign]
    sys.exit(main())
