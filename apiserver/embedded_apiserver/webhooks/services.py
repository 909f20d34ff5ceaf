# SPDX-License-Identifier: Apache-2.0
"""Why a service cannot be called that no caller knows: nothing listens at the addresses that services have here."""

from __future__ import annotations

from apimachinery.http import HTTPRequest, HTTPResponse
from embedded_apiserver.storage.storage import Storage
from embedded_apiserver.storage.stored import key_of
from embedded_apiserver.webhooks.caller import (
    Caller,
    Service,
    Target,
    UnknownService,
    Unreached,
    hand_of,
    refused,
)

_SERVICES = "services"


class WithServices:
    """Calls webhooks through `caller`; for a service unknown to `caller`, raises the error of a real API server.

    A real API server looks up the Service object itself, so its error tells whether the service is absent, has no
    cluster IP, lacks the port, or refuses the connection. The same error is derived here from the stored objects.

    Args:
        caller: Sends the requests to the webhooks.
        storage: The objects, including the services.

    Threads: any.
    """

    def __init__(self, caller: Caller, storage: Storage) -> None:
        self._caller = caller
        self._storage = storage
        self.hand = hand_of(caller)  # as it is: a service that is not known is one of those that are called

    def call(self, target: Target, request: HTTPRequest, timeout: float) -> HTTPResponse:
        """Send a request to a webhook and return the response; see `Caller.call`."""
        try:
            return self._caller.call(target, request, timeout)
        except UnknownService as error:
            if target.service is None:
                raise
            raise _explained(self._storage, target.service) from error


def _explained(storage: Storage, service: Service) -> Unreached:
    found = storage.get(_SERVICES, key_of(service.namespace, service.name))
    if found is None:
        return Unreached(f'service "{service.name}" not found')
    spec = found.decode().get("spec") or {}
    if spec.get("type") == "ExternalName":
        return refused(str(spec.get("externalName", "")), service.port)
    if (address := spec.get("clusterIP", "None")) == "None":
        return Unreached('cannot route to service with ClusterIP "None"')
    if all(one.get("port") != service.port for one in spec.get("ports") or ()):
        return Unreached(f'no service port {service.port} found for service "{service.name}"')
    return refused(address, service.port)
