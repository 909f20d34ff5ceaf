# SPDX-License-Identifier: Apache-2.0
"""K8SSAND-1362 (cass-operator): after a crash a server that is labelled as starting is never started.

The label is written, and then the server is told to start, which stands here in an annotation. The report is not
public; the miniature follows the plan of Sieve, which ends the operator after the label.
"""

from __future__ import annotations

from kit.perturbation.miniatures import Body, Bug, Operator, World, name_of, servers, uid_of

from controller_runtime.resources import PODS, STATEFUL_SETS

_START = {"metadata": {"annotations": {"start": "requested"}}}
_LABEL = {"metadata": {"labels": {"node-state": "Starting"}}}


class Buggy(Operator):
    kinds = (STATEFUL_SETS, PODS)
    steps = (_LABEL, _START)

    def run(self, database: Body) -> None:
        self.bring(STATEFUL_SETS, name_of(database), database, servers(database, 1))
        for pod in self.seen(PODS, of=uid_of(database)):
            if "node-state" not in pod["metadata"]["labels"]:
                for change in self.steps:
                    self.patch(PODS, name_of(pod), change)


class Mended(Buggy):
    steps = (_START, _LABEL)


def story(world: World) -> None:
    world.declare()


BUG = Bug("K8SSAND-1362", "crash", Buggy, Mended, story)
