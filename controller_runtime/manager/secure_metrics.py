# SPDX-License-Identifier: Apache-2.0
"""Serves metrics and the status page with the TLS certificate of the webhooks, to users that the API server allows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.manager.manager import Manager
from controller_runtime.manager.page.answers import StatusPage
from controller_runtime.manager.page.links import PAGE
from controller_runtime.webhooks.authorizing import AccessFilter

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

PATH = "/metrics"
"""The path of the metrics, as `nonResourceURLs` of a role names it."""


def show_metrics(manager: Manager, *, registries: Sequence[CollectorRegistry] | None = None) -> None:
    """Serve a manager's metrics and its status page at the address of its webhooks, over TLS.

    Call this after `setup`, before the manager runs.

    A reader must send the token of an account with the right to `get` the path `/metrics`, or `/debug` for the page.
    The page is not updated live there, because a browser cannot send a token with a stream. The program needs the right
    to create `tokenreviews` and `subjectaccessreviews`, which the ClusterRole `system:auth-delegator` gives.

    Args:
        manager: The manager.
        registries: The registries to show after the manager's own; see `Endpoints`.

    Raises:
        UsageError: Two metrics have the same name.
    """
    # Imported here, because a program that serves no metrics does not need Prometheus' client.
    from controller_runtime.manager.metrics import CONTENT_TYPE, Metrics

    metrics = Metrics(manager, registries)
    metrics.refuse_double_names()
    readers = AccessFilter(manager.host, manager.transport)

    seen = StatusPage(manager)

    def page(request: HTTPRequest) -> HTTPResponse:
        return readers.refusal(request) or HTTPResponse(200, {"content-type": CONTENT_TYPE}, metrics.text())

    def status(request: HTTPRequest) -> HTTPResponse:
        return readers.refusal(request) or seen.html(request)

    manager.webhooks.show(PATH, page)
    manager.webhooks.show(PAGE, status)
