# SPDX-License-Identifier: Apache-2.0
"""`MutatingAdmissionWebhook` and `ValidatingAdmissionWebhook`: webhooks that change writes, or refuse them.

No lock is held while a webhook is called. The configurations themselves, and policies, are not shown to webhooks: one
that fails could otherwise not be removed.
"""

from __future__ import annotations

from apimachinery.equality import same_json
from embedded_apiserver.admission.policies.expressions import (
    MOST_OF_CONDITIONS,
    Evaluation,
    Failed,
    seen_by_expressions,
)
from embedded_apiserver.admission.reinvocation import Reinvocations
from embedded_apiserver.admission.step import EVERY_OPERATION, Attributes, Operation, Step, Surroundings
from embedded_apiserver.admission.webhooks.calling import call
from embedded_apiserver.admission.webhooks.choices import Choice, Choices
from embedded_apiserver.admission.webhooks.hooks import Hook, Hooks
from embedded_apiserver.admission.webhooks.patches import patched_by_webhook
from embedded_apiserver.admission.webhooks.shown import shown, taken
from embedded_apiserver.audit_annotations import annotate, as_json
from embedded_apiserver.groups.registration.kinds import MUTATING_HOOKS, VALIDATING_HOOKS
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.objects import Object
from embedded_apiserver.quoting import quoted
from embedded_apiserver.status import StatusError, internal
from embedded_apiserver.storage.storage import Storage

_EXEMPT = MUTATING_HOOKS.group


class _Webhooks(Step):
    """A step that calls the webhooks of one kind of configuration."""

    operations = EVERY_OPERATION
    subresources = None

    def __init__(self, storage: Storage, around: Surroundings, configurations: Kind) -> None:
        super().__init__(storage, around)
        self._hooks = Hooks(around.host, storage, configurations)
        self._choices = Choices(storage, around.kinds, self._hooks)

    def is_idle(self) -> bool:
        return self._hooks.are_none()

    def _seen_as(self, choice: Choice, attributes: Attributes) -> Kind | None:
        """Return the kind in whose version a webhook sees a write; None if it is not called."""
        hook, seen_as = choice.hook, self._choices.seen_as(choice, attributes)
        if seen_as is None or not hook.conditions:
            return seen_as
        bindings = seen_by_expressions(self._storage, attributes, seen_as, namespace=False)
        try:
            return seen_as if Evaluation(bindings, MOST_OF_CONDITIONS).are_met(hook.conditions) else None
        except Failed as error:
            if hook.ignores_failures:
                return None
            raise attributes.refused(str(error)) from error


class MutatingAdmissionWebhook(_Webhooks):
    """Calls mutating webhooks one after another, each with the result of the previous one.

    A webhook with `reinvocationPolicy: IfNeeded` is called a second time if the object changed after its call.
    """

    name = "MutatingAdmissionWebhook"

    def __init__(self, storage: Storage, around: Surroundings) -> None:
        super().__init__(storage, around, MUTATING_HOOKS)

    def admit(self, attributes: Attributes) -> Object:
        rounds = attributes.rounds
        if attributes.kind.group == _EXEMPT or rounds is None:
            return attributes.obj
        again = Reinvocations.of(rounds, self.name)
        again.begin(attributes.obj)
        for choice in self._choices.of(attributes):
            hook = choice.hook
            if not again.is_due(hook.uid):
                continue
            seen_as = self._seen_as(choice, attributes)
            if seen_as is None:
                continue
            place = f"mutation.webhook.admission.k8s.io/round_{int(rounds.is_second)}_index_{choice.number}"
            obj = attributes.obj
            try:
                obj = self._changed(hook, attributes, seen_as, place)
            finally:
                annotate(place, _noted(hook, obj is not attributes.obj))
            if obj is not attributes.obj:
                attributes = attributes._replace(obj=obj)
                again.note_change()
            if hook.content.get("reinvocationPolicy") == "IfNeeded":
                again.note_call(hook.uid)
        again.end(attributes.obj)
        return attributes.obj

    def _changed(self, hook: Hook, attributes: Attributes, seen_as: Kind, place: str) -> Object:
        """Return the object as a webhook has left it; the same one if it has changed nothing."""
        verdict = call(self._around, hook, attributes, seen_as, place, may_patch=True)
        if verdict is None or not verdict.patch:
            return attributes.obj
        if attributes.operation is Operation.DELETE:
            text = f"admission webhook {quoted(hook.name)} attempted to modify the object"
            raise internal(f"{text}, which is not supported for this operation")
        before = shown(attributes, seen_as, attributes.obj)
        after = patched_by_webhook(attributes.sent or seen_as, before, verdict.patch)
        if same_json(after, {name: value for name, value in before.items() if name not in ("kind", "apiVersion")}):
            return attributes.obj
        return taken(attributes, seen_as, after)


def _noted(hook: Hook, mutated: bool) -> str:
    """Return what the audit log has of a call of a webhook that may change the object."""
    return as_json({"configuration": hook.uid.partition("/")[0], "webhook": hook.name, "mutated": mutated})


class ValidatingAdmissionWebhook(_Webhooks):
    """Calls all validating webhooks one after another, even after a refusal; the first refusal is reported."""

    name = "ValidatingAdmissionWebhook"

    def __init__(self, storage: Storage, around: Surroundings) -> None:
        super().__init__(storage, around, VALIDATING_HOOKS)

    def validate(self, attributes: Attributes) -> None:
        if attributes.kind.group == _EXEMPT:
            return
        seen = [(choice, self._seen_as(choice, attributes)) for choice in self._choices.of(attributes)]
        first: StatusError | None = None
        for choice, seen_as in seen:
            if seen_as is None:
                continue
            place = f"validating.webhook.admission.k8s.io/round_0_index_{choice.number}"
            try:
                call(self._around, choice.hook, attributes, seen_as, place, may_patch=False)
            except StatusError as error:
                first = first or error
        if first is not None:
            raise first
