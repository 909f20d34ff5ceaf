# SPDX-License-Identifier: Apache-2.0
"""The client's verbs: reads of the live state, and writes. Nothing is cached and nothing is repeated."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Self

from controller_runtime.api.objects import Cached, ObjectKey, cached_from_bytes
from controller_runtime.api.resources import Resource
from controller_runtime.client.answers import document_of
from controller_runtime.client.bodies import Body
from controller_runtime.client.patches import PatchType
from controller_runtime.client.reader import Reader
from controller_runtime.client.writing import FieldValidation, WriteOptions, addressed, named, present, typed

_JSON = "application/json"
_APPLY = "application/apply-patch+yaml"


class Client(Reader):
    """Reads and writes objects of one API server.

    As its base, which is a class of its own for whoever only reads. A write that raises
    `ConnectionLost` may have been done all the same.

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
        """The same client, but for what it says with each write.

        Args:
            field_manager: Who owns the fields that are written; by default the user agent up to its slash.
            field_validation: What becomes of fields that the server does not know; by default its own choice.
            dry_run: Have the server answer as if, and change nothing.
        """
        other = copy.copy(self)
        other._options = WriteOptions(field_manager, field_validation, dry_run)
        return other

    def create(self, resource: Resource[Any], obj: Body, namespace: str = "") -> Cached:
        """Create an object; the answer is what the server made of it.

        Args:
            resource: Its collection.
            obj: The object; `kind` and `apiVersion` may be left out.
            namespace: Where to, unless the object says so itself.

        Raises:
            AlreadyExists: The name is taken.
            Invalid: The object breaks a rule of its kind.
            ValueError: The object names another namespace.
        """
        body = typed(resource, obj)
        own = named(body).namespace
        if own and namespace and own != namespace:
            raise ValueError(f"{resource}: the object is of namespace {own!r}, not {namespace!r}")
        return self._write("POST", resource.path(own or namespace), body)

    def update(self, resource: Resource[Any], obj: Body, *, subresource: str = "") -> Cached:
        """Write a whole object over the present one; with its resourceVersion only if that is still the present one.

        Fields that `obj` does not carry are removed: an official model drops those it does
        not know, so use a dict, or `patch`.

        Args:
            resource: Its collection.
            obj: The object, or what the subresource takes, such as a Scale.
            subresource: Such as `status`: nothing else changes then.

        Raises:
            Conflict: It has changed since it was read.
            NotFound: There is none of that name.
        """
        body = typed(resource, obj, subresource)
        name, namespace = named(body)
        return self._write("PUT", resource.path(namespace, name, subresource), body)

    def patch(
        self,
        resource: Resource[Any],
        key: ObjectKey,
        patch: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        type: PatchType = PatchType.MERGE,  # noqa: A002 (the field's word, and read at the call only)
        subresource: str = "",
    ) -> Cached:
        """Change a part of an object; the answer is the whole of it.

        Args:
            resource: Its collection.
            key: Its name.
            patch: What changes: a mapping, or a list of operations for `PatchType.JSON`.
                Name `metadata.resourceVersion` in it where the decision depended on what was read.
            type: How `patch` says so.
            subresource: Such as `status`.

        Raises:
            Conflict: The resourceVersion in `patch` is not the present one.
            NotFound: There is none of that name.
        """
        return self._write("PATCH", resource.path(key.namespace, key.name, subresource), patch, type.value)

    def apply(
        self,
        resource: Resource[Any],
        obj: Body,
        *,
        field_manager: str | None = None,
        force: bool = False,
        subresource: str = "",
    ) -> Cached:
        """Server-side apply: make the fields of `obj` so, create it if need be, and own them from then on.

        Fields that this manager applied before and now leaves out are removed, unless
        somebody else owns them too.

        Args:
            resource: Its collection.
            obj: What this manager wants, and nothing else; with its name, without managedFields.
            field_manager: Who wants it; by default that of `writing`.
            force: Take fields that others own over, instead of raising.
            subresource: Such as `status`.

        Raises:
            Conflict: Others own some of the fields with other values; `details["causes"]` names them.
            Invalid: There is no field manager, or the object breaks a rule of its kind.
        """
        body = typed(resource, obj, subresource)
        name, namespace = named(body)
        more = {"force": "true"} if force else {}
        if field_manager is not None:
            more["fieldManager"] = field_manager
        return self._write("PATCH", resource.path(namespace, name, subresource), body, _APPLY, **more)  # JSON is YAML

    def create_subresource(
        self, resource: Resource[Any], key: ObjectKey, subresource: str, obj: Body | None = None
    ) -> dict[str, Any]:
        """Create on a part of an object: an `eviction` or `binding` of a pod, a `token` of a service account.

        Args:
            resource: The object's collection.
            key: Its name.
            subresource: Which part.
            obj: What is created there; its kind and names may be left out.

        Returns:
            What the server answered: a Status, or what was created.

        Raises:
            NotFound: There is no object of that name, or no such part of it.
            TooManyRequests: An eviction that a disruption budget does not allow now.
        """
        body = addressed(typed(resource, obj or {}, subresource), key)
        path = resource.path(key.namespace, key.name, subresource)
        return document_of(self._call("POST", path, body, query=self._options.query()))

    def delete(
        self,
        resource: Resource[Any],
        key: ObjectKey,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        grace_period_seconds: int | None = None,
        propagation_policy: str | None = None,
    ) -> None:
        """Delete an object, or mark it for deletion where finalizers or a grace period hold it.

        Args:
            resource: Its collection.
            key: Its name.
            uid: Only the object of this uid, not one that has taken its name since.
            resource_version: Only if it has not changed since this version.
            grace_period_seconds: For pods; None is the object's own.
            propagation_policy: `Background`, `Foreground` or `Orphan`; None is the kind's own.

        Raises:
            NotFound: There is none of that name.
            Conflict: There is, but of another uid or version.
        """
        only = {"uid": uid, "resourceVersion": resource_version}
        options = self._options.deletion(grace_period_seconds, propagation_policy, only)
        self._call("DELETE", resource.path(key.namespace, key.name), options)

    def delete_collection(
        self,
        resource: Resource[Any],
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        grace_period_seconds: int | None = None,
        propagation_policy: str | None = None,
    ) -> None:
        """Delete all objects of a collection that the selectors match; without selectors, all.

        Not at once: what is created meanwhile may stay, and an error may come after some are gone.

        Args:
            resource: The collection.
            namespace: In which namespace; servers do not delete across all of them.
            label_selector: Only objects with such labels.
            field_selector: Only objects with such fields.
            grace_period_seconds: As for `delete`.
            propagation_policy: As for `delete`.

        Raises:
            ValueError: A namespaced kind, and no namespace.
        """
        if resource.namespaced and not namespace:
            raise ValueError(f"{resource} is namespaced: a namespace must be named")
        query = present(labelSelector=label_selector or None, fieldSelector=field_selector or None)
        options = self._options.deletion(grace_period_seconds, propagation_policy)
        self._call("DELETE", resource.path(namespace), options, query=tuple(query.items()))

    def _write(self, method: str, path: str, body: object, content_type: str = _JSON, **query: str) -> Cached:
        answer = self._call(method, path, body, content_type=content_type, query=self._options.query(**query))
        return cached_from_bytes(answer.body)
