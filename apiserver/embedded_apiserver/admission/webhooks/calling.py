# SPDX-License-Identifier: Apache-2.0
"""One call of an admission webhook, and what becomes of the write if it refuses or fails."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from apimachinery.log import get_logger
from embedded_apiserver.admission.step import Attributes, Surroundings
from embedded_apiserver.admission.webhooks.encoded import encoded_request, handed_request
from embedded_apiserver.admission.webhooks.hooks import Hook
from embedded_apiserver.audit_annotations import annotate
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.quoting import quoted
from embedded_apiserver.status import StatusError, bad_request, internal
from embedded_apiserver.webhooks.admission_review import InvalidAnswer, Undecodable, Verdict, ask, handed
from embedded_apiserver.webhooks.exchange import CallFailed

log = get_logger(__name__)

_HARMLESS = ("None", "NoneOnDryRun")
_REFUSAL = 400


def call(
    around: Surroundings, hook: Hook, attributes: Attributes, seen_as: Kind, place: str, *, may_patch: bool
) -> Verdict | None:
    """Call an admission webhook for a write, and return its decision; None if the call failed and failures are ignored.

    Args:
        around: The parts of the server that make the call.
        hook: The webhook.
        attributes: The write.
        seen_as: The kind and version to which the object is converted for the webhook.
        place: The key of the audit annotation for the call.
        may_patch: True if the webhook may change the object.

    Raises:
        StatusError: The webhook refuses the write, or cannot be called.
    """
    if attributes.dry_run and hook.content.get("sideEffects") not in _HARMLESS:
        raise bad_request(f"admission webhook {quoted(hook.name)} does not support dry run")
    try:
        verdict = _asked(around, hook, attributes, seen_as, may_patch=may_patch)
    except CallFailed as error:
        text = f"failed calling webhook {quoted(hook.name)}: {error}"
        if not hook.ignores_failures:
            raise internal(text) from error
        log.warning("webhook failed, and its failures are ignored", webhook=hook.name, error=str(error))
        annotate(f"failed-open.{place}", hook.name)
        return None
    for key, value in verdict.annotations.items():
        annotate(f"{hook.name}/{key}", value)
    for warning in verdict.warnings:
        attributes.warn(warning)
    if not verdict.allowed:
        raise _refusal(hook.name, verdict.status)
    return verdict


def _asked(around: Surroundings, hook: Hook, attributes: Attributes, seen_as: Kind, *, may_patch: bool) -> Verdict:
    if hook.target is None:
        text = "could not get REST client: unable to load root certificates: unable to parse bytes as PEM block"
        raise CallFailed(text)
    try:
        whole = partial(handed_request, attributes, seen_as)
        verdict = handed(around.hand, hook.target, hook.version, whole, hook.seconds, may_patch=may_patch)
        if verdict is not None:
            return verdict
        uid = around.host.uuid()
        request = encoded_request(attributes, seen_as, uid)
        return ask(around.caller, hook.target, hook.version, uid, request, hook.seconds, may_patch=may_patch)
    except Undecodable:
        raise
    except InvalidAnswer as error:
        raise CallFailed(f"received invalid webhook response: {error}") from error
    except CallFailed as error:
        raise CallFailed(f"failed to call webhook: {error}") from error


def _refusal(name: str, status: Mapping[str, Any]) -> StatusError:
    """Return the refusal of a webhook, whose code and message it may choose."""
    refused = f"admission webhook {quoted(name)} denied the request"
    code, reason, message = status.get("code"), status.get("reason") or "", status.get("message")
    text = message or reason
    details = status.get("details")
    return StatusError(
        code if type(code) is int and code >= _REFUSAL else _REFUSAL,
        str(reason),
        f"{refused}: {text}" if text else f"{refused} without explanation",
        details=details if type(details) is dict else None,
    )
