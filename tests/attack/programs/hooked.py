# SPDX-License-Identifier: Apache-2.0
"""An operator whose webhooks are served over TLS and registered with a server: `hooked.py KUBECONFIG [MEBIBYTES]`.

With a number its address space has that limit, from which its bounds follow as from the limit of a container. It prints
the port of the webhooks once they are served.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Sequence

import attrs

from apimachinery.stop import Stop
from controller_runtime import Manager
from controller_runtime.crd import CustomResource, Struct, converts, custom_resource
from controller_runtime.resources import CONFIG_MAPS
from controller_runtime.webhooks import Checks, Converts, WebhookServing


class CabinSpec(Struct):
    beds: int = 1


class HutSpec(Struct):
    bunks: int = 1


@custom_resource("example.com/v1")
class Cabin(CustomResource):
    spec: CabinSpec


@custom_resource("example.com/v1alpha1", kind="Cabin")
class Hut(CustomResource):
    spec: HutSpec


@converts(Hut, Cabin, keep="example.com/cabin")
def cabins(hut: Hut) -> Cabin:
    return Cabin(CabinSpec(hut.spec.bunks), metadata=hut.metadata)


@cabins.back
def huts(cabin: Cabin) -> Hut:
    return Hut(HutSpec(cabin.spec.beds), metadata=cabin.metadata)


def main(arguments: Sequence[str]) -> None:
    """Run the operator until it is ended."""
    kubeconfig, *limit = arguments
    for mebibytes in map(int, limit):
        resource.setrlimit(resource.RLIMIT_AS, (mebibytes << 20, mebibytes << 20))
    manager = Manager.from_kubeconfig(kubeconfig)
    manager.webhooks.add(Checks(CONFIG_MAPS, lambda *_: None, view=dict), Converts(cabins))
    # In a namespace that the webhooks leave out.
    manager.webhooks.serve(WebhookServing(address="127.0.0.1:0", namespace="kube-system", installed=True))
    manager.add(_Telling(manager))
    manager.run()


@attrs.frozen
class _Telling:
    manager: Manager
    name: str = "telling"

    def run(self, stop: Stop) -> None:
        """Print the port of the webhooks, which are served before any runnable begins."""
        sys.stdout.write(f"{self.manager.webhooks.port}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
