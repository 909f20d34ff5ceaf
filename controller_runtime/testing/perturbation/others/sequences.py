# SPDX-License-Identifier: Apache-2.0
"""The pattern `sequence` for operators in any language: an object of the story is declared in other states of its
schema.

Runs take real time, so sequences are drawn differently than for `pytest --perturb`. Each sequence begins and ends with
the last state that the story declares, so that a few runs without a fault, in which only this state is declared, show
the expected end of all of them. In between, the first sequence deletes the object, and each other one declares it in
states with one change each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import attrs
from msgspec import json

from apimachinery.http import HTTPRequest
from controller_runtime.api.differ import merge_patch
from controller_runtime.testing.perturbation.judging import Baseline
from controller_runtime.testing.perturbation.others.story import Act, Story
from controller_runtime.testing.perturbation.record import Run, Told
from controller_runtime.testing.perturbation.sequence import Walk, may_stay, plan_of, walk_of
from controller_runtime.testing.perturbation.sequence_plan import StateSequence
from controller_runtime.testing.perturbation.sequence_states import neighbours
from controller_runtime.testing.perturbation.sequence_story import Content, Primary, primaries
from controller_runtime.testing.perturbation.verdict import Verdict
from controller_runtime.testing.perturbation.world import Difference, State
from embedded_apiserver import Kind, Kinds

_STATES = 3
"""The number of states of one sequence between its ends. There are several, because each run starts the operator
again.
"""
_SEQUENCES = 12
"""The most sequences for one object."""
_MEDIA = {"apply": "application/apply-patch+yaml", "patch": "application/merge-patch+json", "delete": ""}
_METHODS = {"apply": "PATCH", "patch": "PATCH", "delete": "DELETE"}


class LastRest(NamedTuple):
    """The expected end of a sequence: the end of unperturbed runs in which only its last state is declared.

    Attributes:
        baseline: The results of these runs.
        number: The number of the rest after the last state, counted from 0.
    """

    baseline: Baseline
    number: int

    @property
    def run(self) -> Run:
        """The first of the runs without a fault."""
        return self.baseline.run

    def is_at(self, number: int, run: Run, state: State) -> bool:
        """Return whether `state` is the expected one; always True before the last state is declared."""
        return number < self.number or not differing(self.baseline, run, state)


def declared(kinds: Kinds, story: Story) -> list[Primary]:
    """Return the objects of custom kinds that a story, the file of the user's actions, declares, with their states.

    Args:
        kinds: The kinds of the server.
        story: The story.
    """
    served = {(kind.kind, kind.api_version): kind for kind in kinds}
    own = {kind.resource for kind in served.values() if kind.definition is not None}
    told = [Told(request) for each in story.acts if (request := _request(served, each)) is not None]
    return primaries(kinds, told, own)


def sequences(primary: Primary) -> list[StateSequence]:
    """Return the sequences for an object, at most 12: first its deletion, then its neighboring states, those of
    different fields together.
    """
    home = primary.states[-1]
    near = in_turn(home, neighbours(primary.schema, home))
    parts: list[Walk] = [[None], *(near[at : at + _STATES] for at in range(0, len(near), _STATES))]
    return [_plan(primary, part, number) for number, part in enumerate(parts[:_SEQUENCES], 1)]


def in_turn(home: Content, near: Sequence[Content]) -> list[Content]:
    """Return the states `near`, which differ from `home` in one field each, sorted so that the fields take turns."""
    fields: dict[str, list[Content]] = {}
    for each in near:
        fields.setdefault(_path(merge_patch(home, each)), []).append(each)
    found: list[Content] = []
    for turn in range(max(map(len, fields.values()), default=0)):
        found += [states[turn] for states in fields.values() if turn < len(states)]
    return found


def shorter(primary: Primary, plan: StateSequence) -> list[StateSequence]:
    """Return, for each state between the ends of a sequence, the sequence with only this state; none if there is one
    only.
    """
    between = walk_of(primary, plan)[1:-1]
    return [_plan(primary, [each], plan.number) for each in between] if len(between) > 1 else []


def calm_story(story: Story, primary: Primary) -> Story:
    """Return the actions of an unperturbed run: they declare the other objects, and the last state of `primary`.

    The story's patches, deletions, conditions and properties are left out.
    """
    return attrs.evolve(story, steps=[*_others(story, primary), _act(primary, primary.states[-1])], claims=())


def story_of(story: Story, primary: Primary, plan: StateSequence) -> Story:
    """Return the actions that declare the other objects of the story, and then the states of a sequence.

    A state that the server refuses does not end the run, because those between the first and the last are drawn from
    the schema alone. Operator and cluster need not come to rest after any state but the last.
    """
    *between, last = [attrs.evolve(_act(primary, each), is_drawn=True) for each in walk_of(primary, plan)]
    acts = [*(attrs.evolve(each, is_passing=True) for each in between), last]
    return attrs.evolve(story, steps=[*_others(story, primary), *acts], claims=())


def judge(baseline: Baseline, run: Run) -> Verdict:
    """Return the judgement of a sequence's run, whose end has to be that of the baseline."""
    own = [*run.failures, *run.broken]
    found = differing(baseline, run, run.rests[-1].state) if run.is_whole and run.rests else []
    is_value = bool(found) and not own and all(each.path for each in found)
    return Verdict([*own, *map(str, found)], baseline.rests[-1].coverage, is_value)


def differing(baseline: Baseline, run: Run, state: State) -> list[Difference]:
    """Return the differences of `state` from the end of the baseline, except for objects that may stay on purpose."""
    last = baseline.rests[-1].state
    return [
        each
        for each in baseline.differences(len(baseline.rests) - 1, run, state)
        if each.name in last or not may_stay(each.name, state.get(each.name, ({},)))
    ]


def told(primary: Primary, plan: StateSequence) -> str:
    """Return one line of text with the states of a sequence, each as a patch of the one before."""
    texts = ["deleted" if patch is None else json.encode(patch).decode() for patch in plan.patches[1:]]
    return f"{primary.target} was declared as by the story, then {', then '.join(texts)}"


def _plan(primary: Primary, between: Walk, number: int) -> StateSequence:
    home = primary.states[-1]
    return attrs.evolve(plan_of(primary, [home, *between, home]), number=number)


def _path(patch: Any) -> str:
    """Return the way to the one field that a patch changes."""
    steps = []
    while isinstance(patch, dict) and len(patch) == 1:
        ((step, patch),) = patch.items()
        steps.append(step)
    return ".".join(steps)


def _others(story: Story, primary: Primary) -> Iterator[Act]:
    for each in story.acts:
        metadata = each.body.get("metadata") or each.body
        is_primary = (each.body["kind"], metadata["name"]) == (primary.kind.kind, primary.name)
        if each.verb == "apply" and not is_primary:
            yield attrs.evolve(each, until=None)


def _act(primary: Primary, state: Content | None) -> Act:
    kind = {"apiVersion": primary.kind.api_version, "kind": primary.kind.kind}
    key = {"name": primary.name, **({"namespace": primary.namespace} if primary.namespace else {})}
    if state is None:
        return Act("delete", {**kind, **key})
    return Act("apply", {**kind, "metadata": {**key, **primary.metadata}, **state})


def _request(served: Mapping[tuple[str, str], Kind], act: Act) -> HTTPRequest | None:
    """Return the request by which an act is carried out; None if its kind is not served."""
    kind = served.get((str(act.body["kind"]), str(act.body.get("apiVersion"))))
    if kind is None:
        return None
    metadata = act.body.get("metadata") or act.body
    namespace = f"/namespaces/{metadata.get('namespace') or 'default'}" if kind.namespaced else ""
    root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    body = act.body["patch"] if act.verb == "patch" else act.body
    path = f"{root}{namespace}/{kind.plural}/{metadata['name']}"
    return HTTPRequest(_METHODS[act.verb], path, (), {"content-type": _MEDIA[act.verb]}, json.encode(body))
