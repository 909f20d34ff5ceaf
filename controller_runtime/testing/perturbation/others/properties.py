# SPDX-License-Identifier: Apache-2.0
"""Properties of a run that a story declares, under `always`, `never` and `eventually`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import attrs

from apimachinery.errors import UsageError
from controller_runtime.testing.perturbation.record import MANAGER, STORY
from embedded_apiserver import Change
from embedded_apiserver.perturbation import UNREAD, Property

WORDS = ("always", "never", "eventually")
_WRITERS = {MANAGER: "operator", STORY: "user"}
_Key = tuple[str, str]


@attrs.frozen
class Claim:
    """A property, and when it has to hold.

    Attributes:
        word: `always` (holds after each change), `never` (holds after no change) or `eventually` (holds at the end).
        expression: The property.
    """

    word: str
    expression: Property

    def __str__(self) -> str:
        return f"{self.word} `{self.expression.text}`"


def read(where: str, story: Mapping[str, Any]) -> list[Claim]:
    """Read the properties that have to hold from a story, which is the file of the user's actions.

    Args:
        where: The name of the story in messages.
        story: The decoded story.

    Raises:
        UsageError: A property is not a valid CEL expression, or a field is no list of texts; the message begins with
            `where`.
    """
    claims = []
    for word in WORDS:
        texts = story.get(word) or ()
        if not isinstance(texts, list | tuple) or not all(isinstance(each, str) for each in texts):
            raise UsageError(f"{where}: `{word}` takes a list of expressions in CEL, such as `- size(Pod) <= 1`")
        for number, text in enumerate(texts, 1):
            try:
                claims.append(Claim(word, Property(text)))
            except ValueError as error:
                raise UsageError(f"{where}: {word} {number}: `{text}`: {' '.join(str(error).split())}") from None
    return claims


class Properties:
    """Checks the properties of a run.

    Args:
        claims: The properties.
        kinds: Returns the kind of each served resource, by resource.

    Attributes:
        broken: A line for each property that did not hold, or could not be evaluated.

    Threads: guarded by the owner's lock.
    """

    def __init__(self, claims: Iterable[Claim], kinds: Callable[[], Mapping[str, str]]) -> None:
        self._claims, self._served = list(claims), kinds
        self._names: Mapping[str, str] = {}
        self._kinds = frozenset(kind for each in self._claims for kind in each.expression.kinds)
        self._objects: defaultdict[str, dict[_Key, Any]] = defaultdict(dict)
        self._history: list[dict[str, Any]] = []
        self.broken: list[str] = []

    def note(self, resource: str, change: Change, writer: str, step: int) -> None:
        """Check the `always` and `never` properties after a change, unless it is of an event or a lease.

        Args:
            resource: The resource of the changed object.
            change: The change.
            writer: The writer of the change.
            step: The number of the user's last action; 0 before the first.
        """
        if not self._claims or resource.partition(".")[0] in UNREAD:
            return
        old = change.old.decode() if change.old is not None else None
        new = change.new.decode() if change.new is not None else None
        shown: Any = new or old
        if resource not in self._names:  # a definition may have come
            self._names = self._served()
        kind, metadata = self._names[resource], shown["metadata"]
        key = metadata.get("namespace", ""), metadata["name"]
        if new is None:
            self._objects[kind].pop(key, None)
        else:
            self._objects[kind][key] = new
        verb = "created" if old is None else "deleted" if new is None else "updated"
        by = _WRITERS.get(writer, "cluster")
        self._history.append({"kind": kind, "namespace": key[0], "name": key[1], "verb": verb, "by": by, "step": step})
        when = f"after {kind} {'/'.join(filter(None, key))} was {verb} by the {by}"
        for each in [*self._claims]:
            if each.word != "eventually":
                self._check(each, old, new, when if step == 0 else f"step {step}, {when}")

    def end(self) -> None:
        """Check the `eventually` properties at the end of the run."""
        for each in [*self._claims]:
            if each.word == "eventually":
                self._check(each, None, None, "at the end")

    def _check(self, claim: Claim, old: Any, new: Any, when: str) -> None:
        objects: dict[str, Sequence[Any]] = {kind: [*self._objects[kind].values()] for kind in self._kinds}
        try:
            holds = claim.expression.holds(objects, old, new, self._history)
        except ValueError as error:
            self._claims.remove(claim)
            self.broken.append(f"{claim} cannot be evaluated {when}: {error}")
            return
        if holds is (claim.word == "never"):
            self._claims.remove(claim)
            self.broken.append(f"{claim} does not hold {when}")
