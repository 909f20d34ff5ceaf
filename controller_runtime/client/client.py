# SPDX-License-Identifier: Apache-2.0
"""The client: reads and writes of the live state. Nothing is cached and nothing is retried."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Self, overload

from apimachinery.errors import NotFound
from apimachinery.objects import Cached, ObjectKey, cached_from_bytes
from controller_runtime.api.resources import Kind, resource_of
from controller_runtime.client.answers import document_of
from controller_runtime.client.bodies import Body, Target, key_of, target, typed, with_key, without_nones
from controller_runtime.client.calls import JSON
from controller_runtime.client.entering import LONG, caller_of, opened
from controller_runtime.client.lost_status import lost_status
from controller_runtime.client.missing_kinds import explained
from controller_runtime.client.patches import PatchType
from controller_runtime.client.pods.commands import MOST_BYTES, CommandResult, carry_out
from controller_runtime.client.pods.logs import Logs, log_query
from controller_runtime.client.pods.ports import PortForward
from controller_runtime.client.pods.session import Session
from controller_runtime.client.reads import ClientReads
from controller_runtime.client.write_options import FieldValidation, WriteOptions
from controller_runtime.crd.types import CustomResource

_APPLY = "application/apply-patch+yaml"


class Client(ClientReads):
    """Reads and writes objects of one API server.

    A read or write of an object is one request with a deadline; a list is one request for each page. A failed request
    raises the `APIError` of the server's answer, or `ConnectionLost` if there was no answer: a write may then have been
    done. Warnings of the server are logged, each text once as long as it is among the last 256. A warning is also
    logged before a `create`, `patch` or `apply` with a status that the server would drop, as far as the declared class
    shows it.

    The base class has the reads and `wait`. For the calls that enter pods, a role needs `get` on `pods/log`, and `get`
    and `create` on `pods/exec`, `pods/attach` and `pods/portforward`.

    Args:
        host: The source of the time; its name is part of the default user agent.
        transport: Sends the requests.
        request_timeout: Seconds for each request, unless `within` or a deadline leaves less; positive.
        user_agent: The header of each request; by default this package's name and version, and the host's name.
        list_bounds: The bounds of the lists that are accepted.

    Threads: any.
    """

    _options = WriteOptions()

    def writing(
        self,
        *,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
        dry_run: bool = False,
    ) -> Self:
        """Return a copy that sends these options with each write.

        Args:
            field_manager: The owner of the fields that are written; by default the user agent up to its first slash.
            field_validation: The server's treatment of unknown fields; by default its own choice.
            dry_run: Have the server check and answer each write without storing it.
        """
        other = copy.copy(self)
        other._options = WriteOptions(field_manager, field_validation, dry_run)
        return other

    @overload
    def create(self, resource: Kind[Any], obj: Body, namespace: str = "") -> Cached: ...

    @overload
    def create(self, resource: CustomResource, *, namespace: str = "") -> Cached: ...

    def create(self, resource: Target, obj: Body | None = None, namespace: str = "") -> Cached:
        """Create an object, and return it as the server stored it, with defaults, uid and resourceVersion.

        Args:
            resource: The object's resource; or the object itself, if its class declares a custom resource.
            obj: The object; `kind` and `apiVersion` may be left out.
            namespace: The object's namespace, if its metadata does not have one.

        Raises:
            AlreadyExists: An object of that name exists.
            Invalid: The object breaks a rule of its kind.
            NoSuchKind: The server does not serve the kind.
            NotFound: Its namespace does not exist.
            ValueError: The object names another namespace, or the kind is namespaced and there is no namespace.
        """
        known, given = target(resource, obj)
        body = typed(known, given)
        own = key_of(body).namespace
        if own and namespace and own != namespace:
            raise ValueError(f"{known}: the object names the namespace {own!r}, not {namespace!r}")
        if known.namespaced and not (own or namespace):
            article = "an" if known.kind[0] in "AEIO" else "a"
            raise ValueError(f"{article} {known.kind} needs a namespace: set it in its metadata, or pass it")
        self._calls.warnings.log_text(lost_status(known, body))
        try:
            return self._write("POST", known.path(own or namespace), body)
        except NotFound as error:
            raise explained(error, known) from None

    def update(self, resource: Kind[Any], obj: Body, *, subresource: str = "") -> Cached:
        """Replace a whole object, and return it as stored; if `obj` has a resourceVersion, it must still be current.

        Fields that are absent from `obj` are removed. A model of the official client drops the fields that it does not
        know, so use a dict here, or use `patch`.

        Args:
            resource: The object's resource, or its declared class.
            obj: The object, or the body of the subresource, such as a Scale.
            subresource: The subresource to write, such as `status`; empty for the object itself.

        Raises:
            Conflict: The object has changed since it was read.
            NotFound: No object has that name.
            TypeError: `obj` is of a declared class, which may lack fields that the stored object has.
        """
        if isinstance(obj, CustomResource):
            raise TypeError(
                f"{type(obj).__name__}: an update would remove the fields that the class does not know; use "
                "patch(kind, key, changes(before, after)) or apply(…), or update by a dict"
            )
        known = resource_of(resource)
        body = typed(known, obj, subresource)
        name, namespace = key_of(body)
        return self._write("PUT", known.path(namespace, name, subresource), body)

    def patch(
        self,
        resource: Kind[Any],
        key: ObjectKey,
        patch: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        type: PatchType = PatchType.MERGE,  # noqa: A002 (the field's word, and read at the call only)
        subresource: str = "",
    ) -> Cached:
        """Change parts of an object, and return the whole object as stored.

        Args:
            resource: The object's resource, or its declared class.
            key: The object's name and namespace.
            patch: The change: a mapping, or a list of operations for `PatchType.JSON`. The function `changes` makes a
                patch from two states of an object of a declared class. If the change was decided from an object that
                was read, include the `metadata.resourceVersion` of that object.
            type: The form of `patch`.
            subresource: The subresource to write, such as `status`; empty for the object itself.

        Raises:
            Conflict: The resourceVersion in `patch` is not current.
            NotFound: No object has that key.
        """
        known = resource_of(resource)
        self._calls.warnings.log_text(lost_status(known, patch, subresource))
        return self._write("PATCH", known.path(key.namespace, key.name, subresource), patch, type.value)

    @overload
    def apply(
        self,
        resource: Kind[Any],
        obj: Body,
        *,
        field_manager: str | None = None,
        force: bool = False,
        subresource: str = "",
    ) -> Cached: ...

    @overload
    def apply(
        self,
        resource: CustomResource,
        *,
        field_manager: str | None = None,
        force: bool = False,
        subresource: str = "",
    ) -> Cached: ...

    def apply(
        self,
        resource: Target,
        obj: Body | None = None,
        *,
        field_manager: str | None = None,
        force: bool = False,
        subresource: str = "",
    ) -> Cached:
        """Apply `obj` by server-side apply, and return the whole object; create the object if it does not exist.

        The field manager owns the fields of `obj`. Fields that it applied before and now leaves out are removed, unless
        another manager owns them, too. If `obj` is of a declared class, fields with the default of the class are not
        applied, and so not owned; to own such a field, apply a dict.

        Args:
            resource: The object's resource; or the object itself, if its class declares a custom resource.
            obj: The name and exactly the fields that this manager wants to own, without managedFields.
            field_manager: The owner; by default that of `writing`.
            force: Take over fields that other managers own, instead of raising `Conflict`.
            subresource: The subresource to write, such as `status`; empty for the object itself.

        Raises:
            Conflict: Other managers own some of the fields with other values; `details["causes"]` names the fields.
            Invalid: No field manager is named, or the object breaks a rule of its kind.
        """
        known, given = target(resource, obj)
        body = typed(known, given, subresource)
        name, namespace = key_of(body)
        more = {"force": "true"} if force else {}
        if field_manager is not None:
            more["fieldManager"] = field_manager
        self._calls.warnings.log_text(lost_status(known, body, subresource))
        # The content type says YAML, which JSON is a part of.
        return self._write("PATCH", known.path(namespace, name, subresource), body, _APPLY, **more)

    def create_subresource(
        self, resource: Kind[Any], key: ObjectKey, subresource: str, obj: Body | None = None
    ) -> dict[str, Any]:
        """Create a subresource: an `eviction` or `binding` of a pod, a `token` of a service account.

        Args:
            resource: The object's resource.
            key: The object's name and namespace.
            subresource: The name of the subresource in the path.
            obj: The body; its kind, name and namespace may be left out.

        Returns:
            The server's answer: a Status, or the created subresource.

        Raises:
            NotFound: No object has that key, or its kind has no such subresource.
            TooManyRequests: A disruption budget does not allow the eviction now.
        """
        known = resource_of(resource)
        body = with_key(typed(known, obj or {}, subresource), key)
        path = known.path(key.namespace, key.name, subresource)
        return document_of(self._calls.call("POST", path, body, query=self._options.query()))

    def delete(
        self,
        resource: Kind[Any],
        key: ObjectKey,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        grace_period_seconds: int | None = None,
        propagation_policy: str | None = None,
    ) -> None:
        """Delete an object. If it has finalizers or a grace period, the server only marks it for deletion at first.

        Args:
            resource: The object's resource, or its declared class.
            key: The object's name and namespace.
            uid: Delete only the object with this uid, not a newer object of the same name.
            resource_version: Delete only if the object has not changed since this resourceVersion.
            grace_period_seconds: Seconds until a pod is killed; None for the grace period of the object.
            propagation_policy: `Background`, `Foreground` or `Orphan`; None for the kind's default.

        Raises:
            NotFound: No object has that key.
            Conflict: The object has another uid or version.
        """
        preconditions = {"uid": uid, "resourceVersion": resource_version}
        options = self._options.deletion(grace_period_seconds, propagation_policy, preconditions)
        self._calls.call("DELETE", resource_of(resource).path(key.namespace, key.name), options)

    def delete_collection(
        self,
        resource: Kind[Any],
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        grace_period_seconds: int | None = None,
        propagation_policy: str | None = None,
    ) -> None:
        """Delete all objects of a collection that match the selectors; without selectors, all objects.

        This is not one transaction: objects that are created meanwhile may stay, and after an error some objects may be
        deleted already.

        Args:
            resource: The resource.
            namespace: The namespace; required for a namespaced resource, since servers do not delete across namespaces.
            label_selector: Only objects whose labels match.
            field_selector: Only objects whose fields match.
            grace_period_seconds: Seconds until pods are killed; see `delete`.
            propagation_policy: The treatment of dependents; see `delete`.

        Raises:
            ValueError: The resource is namespaced, and no namespace is named.
        """
        known = resource_of(resource)
        if known.namespaced and not namespace:
            raise ValueError(f"{known} is namespaced: name a namespace")
        query = without_nones(labelSelector=label_selector or None, fieldSelector=field_selector or None)
        options = self._options.deletion(grace_period_seconds, propagation_policy)
        self._calls.call("DELETE", known.path(namespace), options, query=tuple(query.items()))

    def logs(
        self,
        key: ObjectKey,
        *,
        container: str = "",
        follow: bool = False,
        previous: bool = False,
        since: float | datetime | None = None,
        tail: int | None = None,
        most_bytes: int | None = None,
        timestamps: bool = False,
        within: float | None = None,
    ) -> Logs:
        """Return the lines of a container's log, to iterate over.

        Args:
            key: The pod.
            container: The container; empty if the pod has only one.
            follow: Continue with new lines until the container ends.
            previous: Read the log from before the last restart.
            since: Only lines of the last so many seconds, or since a time (with a time zone).
            tail: Only so many lines from the end.
            most_bytes: Only so many bytes; the last line may be cut.
            timestamps: Begin each line with its time.
            within: Seconds until the log must have ended. None: the timeout of a request, or no limit with `follow`.

        Raises:
            NotFound: There is no such pod.
            BadRequest: The pod has no such container, has several and none is named, or the container has not started.
            ConnectionLost: The server gave no answer, or (while lines are read) the log was cut.
        """
        query = log_query(
            container,
            follow=follow,
            previous=previous,
            since=since,
            tail=tail,
            most_bytes=most_bytes,
            timestamps=timestamps,
        )
        if within is None and not follow:
            within = self._calls.timeout
        return Logs(caller_of(self._calls), caller_of(self._calls).request(key, "log", query), within)

    def exec(
        self,
        key: ObjectKey,
        command: Sequence[str],
        *,
        container: str = "",
        stdin: bytes | str | None = None,
        within: float | None = None,
        most_bytes: int = MOST_BYTES,
    ) -> CommandResult:
        """Run a command in a container, and return its exit status and its output.

        The command is a list of arguments; it is not passed to a shell. After an error the command may have run, or
        still run, so a reconciler should send only commands that can be repeated safely.

        Args:
            key: The pod.
            command: The program and its arguments.
            container: The container; empty if the pod has only one.
            stdin: The input of the command, a str as UTF-8; None for no input.
            within: Seconds until the command must have ended; None for the timeout of a request.
            most_bytes: The limit of its output in bytes.

        Raises:
            NotFound: There is no such pod.
            APIError: The server refused the request, or could not run the command.
            ConnectionLost: No exit status came in time, or the connection was cut.
            OutputTooLong: The command wrote more than `most_bytes`.
            UsageError: The transport needs `wsproto`, which is not installed.
            ValueError: The command is a str, or empty.
        """
        raw = stdin.encode() if isinstance(stdin, str) else stdin
        within = self._calls.timeout if within is None else within
        session = self.open_exec(key, command, container=container, stdin=raw is not None, within=within)
        return carry_out(self.host, session, command, raw, most_bytes)

    def open_exec(
        self,
        key: ObjectKey,
        command: Sequence[str],
        *,
        container: str = "",
        stdin: bool = True,
        tty: bool = False,
        within: float = LONG,
    ) -> Session:
        """Start a command in a container, and return its streams. The caller must close them, or use `with`.

        Args:
            key: The pod.
            command: The program and its arguments.
            container: The container; empty if the pod has only one.
            stdin: Whether the command has an input.
            tty: Whether the command has a terminal, which then gets both of its outputs.
            within: Seconds until the command must have ended.

        Raises:
            APIError: The server refused the request.
            ConnectionLost: The server gave no answer.
            ValueError: The command is a str, or empty.
        """
        if isinstance(command, str) or not command:
            raise ValueError(f"the command {command!r} must be a list of arguments, such as ['psql', '-c', 'select 1']")
        query = tuple(("command", each) for each in command)
        return opened(self._calls, key, "exec", query, container, stdin=stdin, tty=tty, within=within)

    def attach(
        self, key: ObjectKey, *, container: str = "", stdin: bool = False, tty: bool = False, within: float = LONG
    ) -> Session:
        """Attach to the main process of a container, and return its streams; arguments and errors as in `open_exec`."""
        return opened(self._calls, key, "attach", (), container, stdin=stdin, tty=tty, within=within)

    def port_forward(self, key: ObjectKey, port: int, *, within: float = LONG) -> PortForward:
        """Return an object that connects to a port of a pod: `connect` opens a connection, `listen` forwards a local
        port.

        Args:
            key: The pod.
            port: The port of the pod.
            within: Seconds that a connection may last.
        """
        caller = caller_of(self._calls)
        return PortForward(caller, caller.request(key, "portforward", (("ports", str(port)),)), within)

    def _write(self, method: str, path: str, body: object, content_type: str = JSON, **query: str) -> Cached:
        answer = self._calls.call(method, path, body, content_type=content_type, query=self._options.query(**query))
        return cached_from_bytes(answer.body)
