# SPDX-License-Identifier: Apache-2.0
"""Records what a real server stores for the cases in `tests/kit/apiserver/stored_samples.py`, for the test of them.

    python tests/tools/stored_objects.py --kubeconfig FILE

Nothing is stored: all requests are dry runs, and those that the server refuses are left out. The server must not have
the admission plugin ServiceAccount.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from pathlib import Path

from tests.kit.apiserver.stored_samples import cases, comparable
from tests.kit.webhooks.shown_by_webhook import Server

FILE = Path(__file__).resolve().parents[1] / "data" / "stored-objects-1.36.json.gz"


def main() -> int:
    """Ask, write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kubeconfig", type=Path, required=True)
    server, stored = Server(parser.parse_args().kubeconfig), {}
    for case in cases():
        answer = server.request("POST", f"{server.path(case.kind, 'default')}?dryRun=All", case.body)
        if answer.get("kind") == case.kind.kind:
            stored[case.name] = comparable(answer)
    FILE.write_bytes(gzip.compress(json.dumps(stored, sort_keys=True, separators=(",", ":")).encode(), 9, mtime=0))
    sys.stdout.write(f"{len(stored)} objects, {FILE.stat().st_size} bytes\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
