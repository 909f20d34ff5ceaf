# SPDX-License-Identifier: Apache-2.0
"""The server as a test uses it."""

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
    """Warns that code of an earlier test, which the message names, has opened a watch in this test."""


class KubernetesServer:
    """A Kubernetes API server for one test, empty at first. The effect of each method but `user` ends with the test.

    The methods that script faults take a verb and a resource. The verb is a Kubernetes verb (`get`, `list`, `watch`,
    `create`, `update`, `patch`, `delete`, `deletecollection`), an HTTP method in upper case for all its verbs, or `*`.
    The resource is a plural (`deployments`), optionally with its group (`deployments.apps`) or a subresource
    (`deployments/scale`), or `*`. An unknown verb, or a resource that is not served, raises `UsageError`. Each call
    scripts a fault for the next `times` matching requests; None means until the test ends. If several faults match a
    request, it gets the first one that is not used up.

    Use the fixture `kubernetes_server`, `run`, or `KubernetesServerMixin` to get one.

    Attributes:
        url: The URL of the server, with a loopback address.
        kubeconfig: The path of the administrator's kubeconfig.
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
        """The requests for objects so far, and those refused for unknown paths: at most the last 10,000, oldest first.

        Discovery requests are left out.
        """
        return self._now.requests

    @property
    def programs(self) -> Programs:
        """The programs that run in place of containers, by container or image name, for exec, attach and
        port-forward.
        """
        return self._now.server.programs

    def user(self, name: str, groups: Sequence[str] = ()) -> Path:
        """Return the path of a kubeconfig for a user, whose permissions are those of roles and bindings in the
        server.
        """
        return self._site.user(name, [groups] if isinstance(groups, str) else groups)

    def reset(self, **options: Any) -> None:
        """Empty the server, remove the scripted faults, and end all watches.

        Args:
            options: Options of the new server: `release`, the Kubernetes release to serve, such as `"1.33"`;
                `cluster_objects`, True to create the objects that every cluster has (accounts, the service
                `kubernetes`, priority classes); `enable_admission_plugins` and `disable_admission_plugins`;
                `feature_gates`.

        Raises:
            UsageError: An option is invalid.
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
        """Answer matching requests with an error, without carrying them out.

        Args:
            verb: The verb; see the class.
            resource: The resource; see the class.
            status: The HTTP status code, from 400 to 599.
            reason: The `reason` of the `Status`; None for the usual one of the HTTP status code.
            message: The `message` of the `Status`.
            times: The number of requests; None for all until the test ends.
            name: The name of the object; None for any.
            retry_after: The seconds in the header `Retry-After`; None to leave it out.

        Raises:
            UsageError: The verb, the resource or the status is unknown.
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
        """Answer matching requests with 429 and the header `Retry-After` in seconds, without carrying them out."""
        self.fails(verb, resource, status=429, times=times, retry_after=retry_after)

    def delays(
        self, verb: str, resource: str, *, seconds: float, times: int | None = None, name: str | None = None
    ) -> None:
        """Carry out matching requests `seconds` after their arrival. At most 32 requests wait at the same time."""
        self._add(verb, resource, name, Delayed(seconds), times)

    def disconnects(
        self, verb: str, resource: str, *, after: bool = False, times: int | None = None, name: str | None = None
    ) -> None:
        """Close the connections of matching requests without a response; if `after` is True, carry them out before."""
        self._add(verb, resource, name, CutReply() if after else Refused(), times)

    def expire_watches(self, resource: str = ANY) -> None:
        """End the watches of `resource` (`*`: of all resources) with 410. ResourceVersions issued so far expire."""
        self._forget(resource, ends_watches=True)

    def forget_history(self, resource: str = ANY) -> None:
        """Answer 410 to new watches and continued lists that begin at a resourceVersion issued so far.

        This concerns `resource`; `*` stands for all resources. Open watches go on.
        """
        self._forget(resource, ends_watches=False)

    def freeze_time(self, at: datetime | None = None) -> None:
        """Stop the server's wall clock at a time, or at the current time if `at` is None.

        Tokens and timestamps depend on this clock; waiting times do not.

        Raises:
            UsageError: `at` has no time zone.
        """
        if at is not None and at.tzinfo is None:
            raise UsageError(f"{at} has no time zone: write datetime(…, tzinfo=UTC)")
        self._now.host.stand(at)

    def advance_time(self, seconds: float) -> None:
        """Move the server's wall clock forwards by `seconds` (backwards if negative), whether it is stopped or
        running.
        """
        self._now.host.move(seconds)

    def load(self, pattern: str | Path) -> list[dict[str, Any]]:
        """Apply the objects in YAML or JSON files and return the stored objects. `requests` does not list these writes.

        Args:
            pattern: A path, or a glob pattern such as `manifests/*.yaml`, relative to the working directory.

        Raises:
            UsageError: No file matches, a file cannot be read, or an object is refused.
        """
        now = self._now
        return manifests.load(now.server, now.token, str(pattern), self.namespace)

    def dump(self) -> str:
        """Return all objects written since the server was empty, as YAML that `load` accepts."""
        return manifests.dump(self._now.server, self._now.first)

    def pods_run(self, exit_status: ExitStatus = exit_by_restart_policy) -> None:
        """Bring all pods, existing and new ones, to Ready or to their end as soon as they are written.

        Pods with scheduling gates wait.

        Args:
            exit_status: A function that returns the exit status of a pod's containers, or None if they go on running.
                By default, pods whose `restartPolicy` is not `Always` end with 0.
        """
        now = self._now
        now.on_end(RunningPods(now.host, now.server, now.token, exit_status).close)

    def garbage_collection(self) -> None:
        """Start a thread that deletes the dependents of deleted owners, and finishes the deletion of namespaces."""
        now = self._now
        now.run("upkeep", Upkeep(now.host, now.server, now.token).run)

    def workloads(self) -> None:
        """Start controllers that create running pods for Deployments, StatefulSets, DaemonSets, Jobs and CronJobs.

        Garbage collection is started as well.

        Raises:
            UsageError: The bundled controllers are not installed.
        """
        add = beside.workloads()
        now = self._now
        self.garbage_collection()
        now.run("workloads", add(now.host, now.server, now.token))

    def close(self) -> None:
        """End the test's watches, and abort connections with a request in progress. Idempotent.

        A watch that code of an earlier test has opened causes a `LeftoverWarning`.
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
    """Check the names of a server's options.

    Raises:
        UsageError: There is no option of that name.
    """
    for name in options:
        if name not in _OPTIONS:
            raise UsageError(f"no option {name!r}: there are {', '.join(_OPTIONS)}")
