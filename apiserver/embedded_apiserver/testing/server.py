# SPDX-License-Identifier: Apache-2.0
"""The server as a test has it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from apimachinery.errors import UsageError
from apimachinery.faults import Answered, CutReply, Delayed, Refused
from embedded_apiserver.answers import refusal
from embedded_apiserver.programs.registry import Programs
from embedded_apiserver.status import StatusError
from embedded_apiserver.testing import beside, manifests
from embedded_apiserver.testing.matching import ANY, check_resource, target_of
from embedded_apiserver.testing.pods import ExitStatus, RunningPods, exit_by_restart_policy
from embedded_apiserver.testing.requests import Requests
from embedded_apiserver.testing.round import Round
from embedded_apiserver.testing.script import ServerFault
from embedded_apiserver.testing.site import Site
from embedded_apiserver.upkeep.upkeep import Upkeep

_REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    409: "Conflict",
    410: "Expired",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}
_STATUSES = range(400, 600)


class LeftoverWarning(UserWarning):
    """A watch of this test was opened by what an earlier test, which is named, has left running."""


class KubernetesServer:
    """A Kubernetes API server that is empty at first; each of its methods holds until its test ends.

    The methods that script its behaviour take a verb and a resource. The verb is one of Kubernetes (`get`, `list`,
    `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`), a method of HTTP in upper case, which means all
    its verbs, or `*`. The resource is a plural (`deployments`), with its group (`deployments.apps`) or a subresource
    (`deployments/scale`) if need be, or `*`. A `UsageError` refuses another verb, and a resource that is not served.
    Of several lines that mean a request, the first that is not used up happens. `times` is how often a line happens,
    None until the test ends.

    Use the fixture `kubernetes_server`, `run`, or `KubernetesServerMixin` to get one.

    Attributes:
        url: The URL, of loopback.
        kubeconfig: The path of a kubeconfig of its administrator.
        namespace: The namespace of the kubeconfig's context, `default`.

    Threads: any.
    """

    namespace = "default"

    def __init__(self, site: Site, test: str, **options: Any) -> None:
        self._site = site
        self._round: Round | None = site.begin(test, options)
        self.url = site.url
        self.kubeconfig = site.kubeconfig

    @property
    def requests(self) -> Requests:
        """The requests for objects so far, oldest first, at most the last 10,000; discovery is left out."""
        return self._now.requests

    @property
    def programs(self) -> Programs:
        """The programs of containers, by the name of the container or the image: what exec, attach and ports reach."""
        return self._now.server.programs

    def user(self, name: str, groups: Sequence[str] = ()) -> Path:
        """Return the path of a kubeconfig of a user, who may do what roles and bindings in the server allow."""
        return self._site.user(name, [groups] if isinstance(groups, str) else groups)

    def reset(self, **options: Any) -> None:
        """Empty the server, forget what was scripted, and end all watches.

        Args:
            options: Options of the new server: `release`, such as `"1.33"`, as which it answers; `cluster_objects`, to
                have what every cluster has (accounts, the service `kubernetes`, priorities);
                `enable_admission_plugins` and `disable_admission_plugins`; `feature_gates`.

        Raises:
            UsageError: An option is wrong.
        """
        check_options(options)
        self._round = self._site.renew(self._now, options)

    def fails(
        self,
        verb: str,
        resource: str,
        *,
        status: int = 500,
        reason: str | None = None,
        message: str = "",
        times: int | None = None,
        name: str | None = None,
        retry_after: int | None = None,
    ) -> None:
        """Answer requests with a failure, without carrying them out.

        Args:
            verb: The verb; see the class.
            resource: The resource; see the class.
            status: The status of HTTP, from 400 to 599.
            reason: The reason of the answer's `Status`; None for the usual one of the status.
            message: The text for people.
            times: How often; None until the test ends.
            name: The name of the object; None for each.
            retry_after: Seconds of the header `Retry-After`; None for none.

        Raises:
            UsageError: The verb, the resource or the status does not exist.
        """
        if status not in _STATUSES:
            raise UsageError(f"status={status} is no failure: give one from 400 to 599")
        if reason is None:
            exists = status == 409 and verb in ("create", "POST")
            reason = "AlreadyExists" if exists else _REASONS.get(status, "")
        text = message or f"scripted by the test: {reason or status}"
        error = StatusError(status, reason, text, details={}, retry_after=retry_after)
        self._add(verb, resource, name, Answered(refusal(error)), times)

    def throttles(
        self, verb: str = ANY, resource: str = ANY, *, retry_after: int = 1, times: int | None = None
    ) -> None:
        """Answer requests with 429 and the header `Retry-After`, in seconds, without carrying them out."""
        self.fails(verb, resource, status=429, times=times, retry_after=retry_after)

    def delays(
        self, verb: str, resource: str, *, seconds: float, times: int | None = None, name: str | None = None
    ) -> None:
        """Carry requests out some seconds after they have arrived. At most 32 requests wait at a time."""
        self._add(verb, resource, name, Delayed(seconds), times)

    def disconnects(
        self, verb: str, resource: str, *, after: bool = False, times: int | None = None, name: str | None = None
    ) -> None:
        """Close the connections of requests without an answer, `after` they are carried out or without doing so."""
        self._add(verb, resource, name, CutReply() if after else Refused(), times)

    def expire_watches(self, resource: str = ANY) -> None:
        """End the watches of a resource, or all, with 410; what clients have seen before is expired as well."""
        self._forget(resource, ends_watches=True)

    def forget_history(self, resource: str = ANY) -> None:
        """Answer 410 to new watches and continued lists from what clients have seen so far; open watches go on."""
        self._forget(resource, ends_watches=False)

    def freeze_time(self, at: datetime | None = None) -> None:
        """Stop the server's wall clock, at an aware time or as it is; tokens and timestamps follow it, waits do not.

        Raises:
            UsageError: The time has no time zone.
        """
        if at is not None and at.tzinfo is None:
            raise UsageError(f"{at} has no time zone: write datetime(…, tzinfo=UTC)")
        self._now.host.stand(at)

    def advance_time(self, seconds: float) -> None:
        """Move the server's wall clock, forwards or, below 0, backwards, whether it stands or goes."""
        self._now.host.move(seconds)

    def load(self, pattern: str | Path) -> list[dict[str, Any]]:
        """Apply the objects of YAML or JSON files and return them as they are stored; it is not among `requests`.

        Args:
            pattern: A path, or a pattern of paths such as `manifests/*.yaml`, from the working directory.

        Raises:
            UsageError: No file is named so, one cannot be read, or an object is refused.
        """
        now = self._now
        return manifests.load(now.server, now.token, str(pattern), self.namespace)

    def dump(self) -> str:
        """Return all objects that were written since the server was empty, as YAML that `load` takes."""
        return manifests.dump(self._now.server, self._now.first)

    def pods_run(self, exit_status: ExitStatus = exit_by_restart_policy) -> None:
        """Bring pods to Ready or to their end, as soon as they are written: the present ones and those that come.

        Args:
            exit_status: Called with each pod: returns the exit status of its containers, or None if it goes on running.
                By default pods end with 0 whose `restartPolicy` is not `Always`.
        """
        now = self._now
        now.on_end(RunningPods(now.host, now.server, now.token, exit_status).close)

    def garbage_collection(self) -> None:
        """Delete the dependents of deleted owners, and finish the deletion of namespaces, on a thread."""
        now = self._now
        now.run("upkeep", Upkeep(now.host, now.server, now.token).run)

    def workloads(self) -> None:
        """Have Deployments, StatefulSets, DaemonSets, Jobs and CronJobs make pods that run, with garbage collection.

        Raises:
            UsageError: The bundled controllers are not installed.
        """
        add = beside.workloads()
        now = self._now
        self.garbage_collection()
        now.run("workloads", add(now.host, now.server, now.token))

    def close(self) -> None:
        """End the test's part of the server: watches, and connections whose requests are under way. Idempotent.

        A watch that came from an earlier test is reported by a `LeftoverWarning`.
        """
        ended, self._round = self._round, None
        if ended is not None:
            for text in self._site.end(ended):
                warnings.warn(text, LeftoverWarning, stacklevel=2)

    @property
    def _now(self) -> Round:
        if self._round is None:
            raise UsageError("this server ended with its test: use the one of the present test")
        return self._round

    def _add(self, verb: str, resource: str, name: str | None, fault: ServerFault, times: int | None) -> None:
        now = self._now
        now.script.add(target_of(now.server.kinds, verb, resource, name), fault, times)

    def _forget(self, resource: str, *, ends_watches: bool) -> None:
        server = self._now.server
        check_resource(server.kinds, resource)
        names = {kind.stored.resource for kind in server.kinds if resource in (kind.plural, kind.resource)}
        server.storage.forget(None if resource == ANY else [*names], ends_watches=ends_watches)


_OPTIONS = ("release", "cluster_objects", "enable_admission_plugins", "disable_admission_plugins", "feature_gates")


def check_options(options: dict[str, Any]) -> None:
    """Check the names of options of a server; raise `UsageError` for one that there is not."""
    for name in options:
        if name not in _OPTIONS:
            raise UsageError(f"no option {name!r}: there are {', '.join(_OPTIONS)}")
