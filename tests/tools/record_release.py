# SPDX-License-Identifier: Apache-2.0
"""Records a release of Kubernetes from its own binary: `python tests/tools/record_release.py --real-apiserver DIR OUT`.

DIR has `kube-apiserver` and `etcd`, which are started here; `--kubeconfig FILE` asks a server that runs already, on
this machine and without the admission plugins below. OUT gets a file for each subject. A recording that was interrupted
goes on: what is in OUT is not asked about again. `tests/tools/release_data.py` makes the server's data of it.
`--emulated v1.34.2 --schemas FILE --roles FOLDER` records a release from a newer binary that emulates it. That
binary says which resources are served and which features are on; the schemas are those of FILE, which is
`pkg/generated/openapi/zz_generated.openapi.go` of its source tree, and the rules of roles those of FOLDER, which is
`plugin/pkg/auth/authorizer/rbac/bootstrappolicy/testdata` there.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parents[1])]

from differential.real import started  # noqa: E402

from tests.kit.releases.emulated import Emulated  # noqa: E402
from tests.kit.releases.go_schemas import schemas  # noqa: E402
from tests.kit.releases.record import Recorder, text_of  # noqa: E402
from tests.kit.releases.roles import rules  # noqa: E402

# They change objects, so that defaults could not be told from what they fill in.
CHANGING = ("ServiceAccount", "Priority", "DefaultTolerationSeconds", "TaintNodesByCondition")


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(arguments: list[str]) -> int:
    """Record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--real-apiserver", type=Path)
    where.add_argument("--kubeconfig", type=Path)
    parser.add_argument("--emulated", metavar="RELEASE", help="as which the binary answers, such as v1.34.2")
    parser.add_argument("--schemas", type=Path, help="the schemas of the emulated release: zz_generated.openapi.go")
    parser.add_argument("--roles", type=Path, help="the roles of the emulated release: bootstrappolicy/testdata")
    parser.add_argument("out", type=Path)
    options = parser.parse_args(arguments)
    if not bool(options.emulated) == bool(options.schemas) == bool(options.roles):
        parser.error("--emulated, --schemas and --roles need each other")
    emulated = None
    if options.emulated:
        read = dict(schemas(options.schemas.read_text(encoding="utf-8")))
        emulated = Emulated(options.emulated, read, rules(options.roles))
    with contextlib.ExitStack() as stack:
        kubeconfig = options.kubeconfig
        if options.real_apiserver is not None:
            kubeconfig = stack.enter_context(
                started(options.real_apiserver, CHANGING, emulated.minor if emulated else "")
            )
            options.out.mkdir(parents=True, exist_ok=True)
            digest = hashlib.sha256((options.real_apiserver / "kube-apiserver").read_bytes()).hexdigest()
            source = {"kube-apiserver": digest, "emulated": options.emulated or ""}
            (options.out / "source.json").write_text(text_of(source), encoding="utf-8")
        Recorder(kubeconfig, options.out, _tell, emulated).record()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
