# SPDX-License-Identifier: Apache-2.0
"""Compares the embedded server with a real one: `python tests/differential/run.py --kubeconfig FILE --seeds 0-20`.

The embedded server is that of the tree that is imported (PYTHONPATH). The real one needs no controllers and no
kubelets; it gets namespaces, nodes, definitions and other objects whose names begin with `--prefix`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
if sys.path[1:2] == [str(Path(__file__).resolve().parent)]:  # of the script: its modules are those of the package
    del sys.path[1]

import controller_runtime
from differential.corpus import compare, load, record
from differential.generate import PROFILES, sequence
from differential.play import Play
from differential.real import started
from differential.report import Report
from differential.servers import Embedded, Real
from differential.shrink import Shrinker

NO_CONTROLLER = ("ResourceQuota",)
"""The steps of admission that do nothing on a real server without controllers: nobody writes the limits to status."""
SKIPPED = "skipped: no real API server; give --kubeconfig FILE, --real-apiserver DIR, or set REAL_KUBECONFIG"


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    where = os.environ.get("REAL_KUBECONFIG")
    parser.add_argument("--kubeconfig", type=Path, default=where and Path(where), help="of the real server")
    parser.add_argument("--real-apiserver", type=Path, help="a folder with kube-apiserver and etcd, to start here")
    parser.add_argument("--release", help="as which the embedded server answers, such as 1.33; by default the newest")
    parser.add_argument("--emulated", action="store_true", help="the started server emulates the release, too")
    parser.add_argument("--seeds", default="0-9", help="a seed, or the first and the last of several")
    parser.add_argument("--profiles", default=",".join(PROFILES), help="some of the profiles, by commas")
    parser.add_argument("--kinds", default="", help="count only these kinds in the lists of differences")
    parser.add_argument("--draw", default="", help="draw from these kinds alone: their plurals, by commas")
    parser.add_argument("--most", type=int, default=15, help="signatures to list of each class")
    parser.add_argument("--shrink", type=int, default=0, metavar="N", help="shrink the N most frequent of each class")
    parser.add_argument("--classes", default="3,1a,1b,1c,2a,2b,2c", help="the classes to shrink")
    parser.add_argument("--prefix", default=f"d{os.getpid()}", help="of the names of namespaces")
    parser.add_argument("--show", metavar="PROFILE/SEED", help="print each operation of one sequence with its class")
    parser.add_argument("--request", type=Path, help="a file of cases to compare, in place of random ones; - for all")
    parser.add_argument("--record", action="store_true", help="write the real answers of the corpus")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; return 0, or 1 if a case of the corpus differs that is not known to."""
    warnings.simplefilter("ignore")
    chosen = options(arguments)
    with contextlib.ExitStack() as stack:
        kubeconfig = chosen.kubeconfig
        if chosen.real_apiserver is not None:
            kubeconfig = stack.enter_context(
                started(chosen.real_apiserver, emulated=chosen.release if chosen.emulated else "")
            )
        if kubeconfig is None:
            print(SKIPPED)
            return 0
        real = stack.enter_context(contextlib.closing(Real(kubeconfig)))
        embedded = stack.enter_context(contextlib.closing(Embedded(NO_CONTROLLER, chosen.release)))
        if chosen.record:
            return record(real, chosen.prefix, chosen.release or "")
        if chosen.request is not None:
            return compare(load(chosen.request), embedded, real, chosen.prefix, chosen.release or "")
        return random_runs(chosen, embedded, real)


def random_runs(chosen: argparse.Namespace, embedded: Embedded, real: Real) -> int:
    """Play the sequences of all seeds and print the report."""
    if chosen.show:
        profile, _, seed = chosen.show.partition("/")
        play = Play(embedded, real, chosen.prefix)
        for index, result in enumerate(
            play.run(sequence(int(seed), profile, chosen.draw.split(",") if chosen.draw else ()))
        ):
            print(f"#{index} {result.number}: {result.real.status} {result.operation}"[:600])
            for one in result.found:
                print(f"      {one.number} {one.where}: ours {str(one.ours)[:300]} | real {str(one.real)[:300]}")
        return 0
    drawn = [name for name in chosen.draw.split(",") if name]
    report = Report()
    first, _, last = chosen.seeds.partition("-")
    for seed in range(int(first), int(last or first) + 1):
        for profile in chosen.profiles.split(","):
            play = Play(embedded, real, f"{chosen.prefix}-{profile[:2]}{seed}")
            for index, result in enumerate(play.run(sequence(seed, profile, drawn))):
                report.add(profile, seed, index, result)
    print(f"embedded server: {Path(controller_runtime.__file__).parent}")
    if chosen.kinds:
        kept = chosen.kinds.split(",")
        found = {key: [s for s in seen if s.operation.kind in kept] for key, seen in report.signatures.items()}
        report.signatures = {key: seen for key, seen in found.items() if seen}
    print("\n".join(report.lines(chosen.most)), flush=True)
    if chosen.shrink:
        shrunk(chosen, report, Shrinker(embedded, real, f"{chosen.prefix}-s"))
    return 0


def shrunk(chosen: argparse.Namespace, report: Report, shrinker: Shrinker) -> None:
    """Print the smallest requests of the most frequent differences."""
    for number in chosen.classes.split(","):
        found = sorted((one for one in report.signatures.items() if one[0][0] == number), key=lambda one: -len(one[1]))
        for signature, seen in found[: chosen.shrink]:
            first = seen[0]
            operations = sequence(first.seed, first.profile, [n for n in chosen.draw.split(",") if n])[
                : first.index + 1
            ]
            print(f"\n### {number} {len(seen)}x {signature[1]}")
            for operation in shrinker.shrink(operations, signature):
                print(f"    {operation}")
            print(
                f"    ours {str(first.difference.ours)[:400]}\n    real {str(first.difference.real)[:400]}", flush=True
            )


if __name__ == "__main__":
    sys.exit(main())
