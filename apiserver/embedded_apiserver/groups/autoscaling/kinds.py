# SPDX-License-Identifier: Apache-2.0
"""Horizontal pod autoscalers, in both of their versions."""

from __future__ import annotations

from functools import partial

from embedded_apiserver.groups.autoscaling import autoscalers, columns, first_version
from embedded_apiserver.kinds.checks import Checks
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.kinds.policy import Policy

_autoscaler = partial(
    Kind,
    group="autoscaling",
    kind="HorizontalPodAutoscaler",
    plural="horizontalpodautoscalers",
    short_names=("hpa",),
    categories=("all",),
    subresources=("status",),
    checks=Checks(autoscalers.autoscaler, autoscalers.autoscaler_change, autoscalers.autoscaler_status),
)
AUTOSCALER = _autoscaler(version="v2", policy=Policy(status=first_version.NO_STATUS), cells=columns.AUTOSCALERS)
# The same objects as `AUTOSCALER` with one metric in a field and the others in annotations.
OLD_AUTOSCALER = _autoscaler(
    version="v1",
    stored_as=AUTOSCALER,
    policy=Policy(
        status=first_version.NO_STATUS,
        created=first_version.new_autoscaler,
        updated=first_version.updated_autoscaler,
        stored_form=first_version.stored_form,
        shown_form=first_version.shown_form,
    ),
)
KINDS = (AUTOSCALER, OLD_AUTOSCALER)
