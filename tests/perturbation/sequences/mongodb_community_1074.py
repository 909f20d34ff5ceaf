# SPDX-License-Identifier: Apache-2.0
"""mongodb/mongodb-kubernetes-operator#1074: credentials stay in a secret whose name is not declared any more.

A user's credentials go to the secret that the spec names. If another one is named, the first is forgotten.
"""

from __future__ import annotations

from typing import Annotated

from kit.perturbation.declaring import Bug, Operator, owned
from msgspec import Meta

from controller_runtime.crd import CustomResource, Struct, custom_resource
from controller_runtime.resources import SECRETS

Label = Annotated[str, Meta(pattern="^[a-z]{1,20}$")]


class User(Struct, frozen=True):
    name: Label
    scram_credentials_secret_name: Label


class Spec(Struct):
    users: list[User]


@custom_resource("mongodb.example.com/v1")
class Community(CustomResource):
    spec: Spec


class Buggy(Operator):
    declared = Community
    kinds = (SECRETS,)

    def bring(self, obj: Community, spec: Spec) -> None:
        for name in self.names(spec):
            self.apply(SECRETS, owned(obj, {"stringData": {"salt": "0815"}}, name))

    def names(self, spec: Spec) -> set[str]:
        return {f"{user.scram_credentials_secret_name}-scram" for user in spec.users}


class Mended(Buggy):
    def bring(self, obj: Community, spec: Spec) -> None:
        super().bring(obj, spec)
        for secret in self.all(SECRETS):
            owners = [owner["uid"] for owner in secret["metadata"].get("ownerReferences", ())]
            if obj.metadata.uid in owners and secret["metadata"]["name"] not in self.names(spec):
                self.drop(SECRETS, secret["metadata"]["name"])


BUG = Bug(
    "mongodb/mongodb-kubernetes-operator#1074",
    "secrets default/scram-scram: absent",
    Buggy,
    Mended,
    Spec([User("my", "scram")]),
)
