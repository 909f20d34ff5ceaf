# SPDX-License-Identifier: Apache-2.0
"""Replicas share one authority in a Secret, renew it with overlap, and have the server trust it."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

import attrs
import pytest
from cryptography.hazmat.primitives import serialization
from kit.webhooks.certifying import DAY, NAME, PLACE, SECRET, certified, is_signed

from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime import Client, ObjectKey
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.client.transport import Transport, TransportWrapper
from controller_runtime.crd import DEFINITIONS
from controller_runtime.webhooks.authority import Pair, created, with_former
from controller_runtime.webhooks.certificates import SECRETS, names_of
from controller_runtime.webhooks.configurations import WebhookPlace
from controller_runtime.webhooks.injecting import VALIDATING, FoundTargets, Target, bundles, injection


@pytest.mark.scenario("WH-08")
@pytest.mark.parametrize("seed", range(4))
def test_replicas_that_start_together_share_one_authority(seed: int) -> None:
    with certified(seed) as run:
        run.install()
        replicas = [run.start(name) for name in ("a", "b", "c")]
        run.settle(10)

        assert len(run.bundle()) == 1
        assert len({replica.presented[-1] for replica in replicas}) == 1
        assert [len(replica.presented) for replica in replicas] == [1, 1, 1]
        assert {replica.keeper.problem for replica in replicas} == {""}
        assert run.data()["ca.crt"] == base64.b64encode(b"".join(_pem(each) for each in run.bundle())).decode()


def _pem(certificate: object) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.PEM)  # type: ignore[attr-defined,no-any-return]


@pytest.mark.scenario("WH-09")
def test_years_of_rotation_never_present_what_the_server_does_not_trust() -> None:
    with certified() as run:
        run.install()
        first = run.start("a")
        run.settle(10)
        second = run.start("b")  # it looks at other times than the first, so it presents the old one for a while
        run.settle(5)
        authorities = {*run.bundle()}
        for _ in range(26):
            run.pass_days(20)
            run.settle(60)  # the next authority signs once it has been trusted for this long
            authorities |= {*run.bundle()}
            assert len(run.bundle()) <= 2

        assert first.presented == second.presented
        # In 520 days: a leaf each 60 days, an authority each 243.
        assert 9 <= len(first.presented) <= 11
        assert len(authorities) == 3


def test_a_certificate_is_replaced_at_two_thirds_of_its_life_and_not_before() -> None:
    with certified() as run:
        run.install()
        replica = run.start("a")
        run.settle(5)
        run.pass_days(59)
        before = len(replica.presented)
        run.pass_days(2)

        assert (before, len(replica.presented)) == (1, 2)


def test_a_secret_that_is_deleted_or_broken_is_made_again() -> None:
    with certified() as run:
        run.install()
        replica = run.start("a")
        run.settle(5)
        data = run.data()
        run.user.delete(SECRETS, SECRET)
        run.settle(25)

        assert run.data() == data  # from memory, since other replicas present it
        run.user.patch(SECRETS, SECRET, {"data": {"signer.key": data["tls.key"]}})
        run.settle(25)
        assert run.data() != data
        assert len(replica.presented) == 1  # until API servers have had the time to learn of the new authority
        run.settle(80)

        assert len(replica.presented) == 2


@pytest.mark.parametrize("seed", range(4))
def test_a_secret_that_is_deleted_as_a_replica_starts_leaves_each_replica_trusted(seed: int) -> None:
    """The runbook "delete the Secret, and roll the pods": what the others present is trusted until they change."""
    with certified(seed) as run:
        run.install()
        replicas = [run.start(name) for name in ("a", "b")]
        run.settle(30)
        (old,) = run.bundle()
        run.user.delete(SECRETS, SECRET)
        replicas.append(run.start("c"))
        for _ in range(60):
            run.settle(2.5)
            assert {replica.keeper.problem for replica in replicas[:2]} == {""}, "they are ready, so they are called"

        assert len({replica.presented[-1] for replica in replicas}) == 1
        if run.data()["ca.crt"] != base64.b64encode(_pem(old)).decode():  # c was the first to see that it is gone
            assert [len(run.bundle()), run.bundle()[1]] == [2, old]
            run.settle(320)
            assert old not in run.bundle()
            assert len(run.bundle()) == 1
            assert "former.crt" not in run.data()


def test_the_next_authority_signs_once_the_server_has_had_it_for_a_while_whichever_replica_wrote_it() -> None:
    with certified() as run:
        run.install()
        first = run.start("a")
        run.settle(7)
        second = run.start("b")  # it finds the new Secret and the new bundle at one look, and the old one until then
        run.settle(70)
        old = run.bundle()
        for each in (first, second):
            run.simulation.jump(each.host, 244 * DAY)
        run.simulation.advance(45)
        (new,) = (each for each in run.bundle() if each not in old)
        assert not any(is_signed(each.presented[-1], new) for each in (first, second)), "45 s are less than SPREAD"
        run.settle(60)

        assert all(is_signed(each.presented[-1], new) for each in (first, second))


def test_replicas_that_are_old_when_the_secret_is_lost_stay_trusted() -> None:
    with certified() as run:
        run.install()
        replicas = [run.start("a")]
        run.settle(7)
        replicas.append(run.start("b"))
        run.simulation.advance(400)  # the configurations have had the old bundle for longer than any deadline
        (old,) = run.bundle()
        run.user.delete(SECRETS, SECRET)
        replicas.append(run.start("c"))
        run.settle(120)

        assert run.bundle()[1:] == [old]
        assert len({each.presented[-1] for each in replicas}) == 1
        run.simulation.advance(200)
        assert old not in run.bundle()


@pytest.mark.parametrize("ahead", [2 / 24, 30.0])
def test_certificates_of_a_clock_that_was_ahead_are_made_again(ahead: float) -> None:
    with certified() as run:
        run.install()
        wrong = run.start("wrong")
        run.simulation.jump(wrong.host, ahead * DAY)
        run.simulation.advance(5)
        right = run.start("right")
        run.simulation.advance(120)

        assert right.presented[-1].not_valid_before_utc <= right.host.now()
        assert wrong.presented[-1] == right.presented[-1], "they agree, since the wrong clock finds it valid, too"
        assert len(right.presented) == 1


def test_a_replica_whose_certificate_has_expired_does_not_wait_for_a_new_authority_to_spread() -> None:
    with certified() as run:
        run.install()
        replica = run.start("a")
        run.simulation.advance(5)
        run.user.delete(SECRETS, SECRET)
        run.start("c")
        run.simulation.jump(replica.host, 91 * DAY)
        run.simulation.advance(30)

        assert replica.presented[-1].not_valid_after_utc > replica.host.now()
        assert is_signed(replica.presented[-1], run.bundle()[0])


def test_expired_authorities_of_a_lost_secret_do_not_come_back() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    made, old, young = (created(now - timedelta(days=days), ["a"]) for days in (0, 400, 300))

    found = with_former(made, [old.bundle + young.bundle], now)

    assert found.bundle == made.bundle + young.bundle
    assert found.former == young.bundle


_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
_ONE, _OTHER = created(_BEGIN, ["a"]), created(_BEGIN, ["a"])


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        ({"bundle": _OTHER.bundle}, "ca.crt does not have signer.crt"),
        ({"upcoming": _OTHER.signer}, "ca.crt does not have upcoming.crt"),
        ({"leaf": _OTHER.leaf}, "(?i)issuer"),
        ({"leaf": Pair(_ONE.leaf.certificate, _OTHER.leaf.key)}, "a key is not that of its certificate"),
    ],
)
def test_parts_that_do_not_belong_together_are_refused(damage: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        attrs.evolve(_ONE, **damage).state()


def test_a_bundle_that_cannot_be_read_does_not_stay() -> None:
    with certified() as run:
        run.install()
        config = {"webhook": {"clientConfig": {"caBundle": base64.b64encode(_rubbish()).decode()}}}
        run.user.patch(DEFINITIONS, ObjectKey(NAME), {"spec": {"conversion": config}})
        replica = run.start("a")
        run.simulation.advance(10)

        assert len(run.bundle()) == 1
        assert replica.keeper.problem == ""


def _rubbish() -> bytes:
    """Return what an API server takes for a certificate, and OpenSSL does not."""
    return b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


def test_a_secret_that_cannot_be_written_is_told_once_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    with certified() as run:
        run.install()
        body = {"metadata": {"name": SECRET.name, "namespace": SECRET.namespace}, "immutable": True, "data": {"a": ""}}
        run.user.create(SECRETS, body)
        replica = run.start("a")
        run.simulation.advance(10)
        assert caplog.text.count("the Secret default/hooks-certificates cannot be kept: ") == 1
        assert "immutable" in replica.keeper.problem
        run.user.delete(SECRETS, SECRET)
        run.settle(10)

        assert len(replica.presented) == 1


def test_a_secret_with_an_encrypted_key_is_made_again() -> None:
    with certified() as run:
        run.install()
        replica = run.start("a")
        run.simulation.advance(5)
        text = base64.b64encode(_encrypted(base64.b64decode(run.data()["signer.key"]))).decode()
        run.user.patch(SECRETS, SECRET, {"data": {"signer.key": text}})
        run.simulation.advance(100)

        assert len(replica.presented) == 2
        assert replica.keeper.problem == ""


def _encrypted(key: bytes) -> bytes:
    loaded = serialization.load_pem_private_key(key, None)
    encryption = serialization.BestAvailableEncryption(b"a password")
    return loaded.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)


class Answering(TransportWrapper):
    """Answers each request with one status and body."""

    def __init__(self, inner: Transport, answer: HTTPResponse) -> None:
        super().__init__(inner)
        self._answer = answer

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        return self._answer


@pytest.mark.parametrize(("status", "body"), [(401, b""), (400, b""), (200, b"no JSON")])
def test_no_answer_of_the_server_ends_a_replica(status: int, body: bytes) -> None:
    with certified() as run:
        run.install()
        replica = run.start("a")
        client = replica.keeper.client
        inner = InProcessTransport(replica.host, run.server)
        replica.keeper.client = Client(replica.host, Answering(inner, HTTPResponse(status, {}, body)))
        run.simulation.advance(5)
        assert "the Secret default/hooks-certificates cannot be kept: " in replica.keeper.problem
        replica.keeper.client = client
        run.simulation.advance(5)

        assert replica.keeper.problem == ""
        assert len(replica.presented) == 1


def test_an_address_in_another_form_is_the_address_of_its_certificate() -> None:
    place = WebhookPlace(name="hooks", namespace="default", url="https://[0:0:0:0:0:0:0:1]:9443")
    with certified() as run:
        run.place = place
        run.install()
        replica = run.start("a")
        run.simulation.advance(10)

        assert len(replica.presented) == 1


def test_a_bundle_that_another_hand_removes_is_put_back() -> None:
    with certified() as run:
        run.install()
        run.start("a")
        run.settle(5)
        config = {"webhook": {"clientConfig": {"caBundle": None}}}
        run.user.patch(DEFINITIONS, ObjectKey(NAME), {"spec": {"conversion": config}})
        run.simulation.advance(25)

        assert len(run.bundle()) == 1


def test_a_definition_that_comes_later_is_trusted_then(caplog: pytest.LogCaptureFixture) -> None:
    with certified() as run:
        replica = run.start("a")
        run.simulation.advance(10)
        assert replica.keeper.problem == ""  # nothing calls, so nothing distrusts
        assert "is missing" not in caplog.text
        run.simulation.advance(20)
        missing = f"CustomResourceDefinition {NAME} is missing, so no API server calls its webhooks"
        assert caplog.text.count(missing) == 1
        assert replica.keeper.unregistered.startswith(missing)
        run.install()
        run.simulation.advance(5)

        assert len(run.bundle()) == 1
        assert replica.keeper.unregistered == ""


def test_a_definition_that_was_just_installed_is_trusted_without_waiting_for_a_look() -> None:
    with certified() as run:
        replica = run.start("a")
        run.simulation.advance(10)
        run.install()
        assert run.bundle() == []

        replica.keeper.trust_new()
        assert len(run.bundle()) == 1

        other = {"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": "bmV3ZXI="}}}}}
        run.user.patch(DEFINITIONS, ObjectKey(NAME), other)
        replica.keeper.trust_new()
        found = run.user.get(DEFINITIONS, ObjectKey(NAME))
        assert found["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"] == "bmV3ZXI="


def _role(*rules: dict[str, list[str]]) -> list[tuple[object, dict[str, object]]]:
    from controller_runtime.resources import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES

    group = "rbac.authorization.k8s.io"
    subject = {"kind": "User", "apiGroup": group, "name": "replica"}
    ref = {"apiGroup": group, "kind": "ClusterRole", "name": "replica"}
    return [
        (CLUSTER_ROLES, {"metadata": {"name": "replica"}, "rules": list(rules)}),
        (CLUSTER_ROLE_BINDINGS, {"metadata": {"name": "replica"}, "roleRef": ref, "subjects": [subject]}),
    ]


def test_without_the_right_to_write_definitions_one_line_says_what_to_apply(caplog: pytest.LogCaptureFixture) -> None:
    with certified() as run:
        run.install()
        secrets = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "create", "update"]}
        reads = {"apiGroups": [DEFINITIONS.group], "resources": [DEFINITIONS.plural], "verbs": ["get"]}
        for kind, body in _role(secrets, reads):
            run.user.create(kind, body)  # type: ignore[call-overload]
        replica = run.start("a", user="replica")
        run.simulation.advance(120)

        line = f"no right to patch CustomResourceDefinition {NAME}: apply roles.yaml of this program's manifests"
        assert caplog.text.count(line) == 1
        assert replica.keeper.problem.startswith(line)
        assert len(replica.presented) == 1


def test_without_the_right_to_keep_a_secret_one_line_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with certified() as run:
        run.install()
        replica = run.start("a", user="replica")
        run.simulation.advance(30)

        assert caplog.text.count("the Secret default/hooks-certificates cannot be kept") == 1
        assert "apply roles.yaml of this program's manifests" in replica.keeper.problem


def test_only_the_webhooks_of_this_place_get_the_bundle() -> None:
    ours = {"name": "a.b.c", "clientConfig": PLACE.client_config("/a.b.c")}
    theirs = {"name": "x.y.z", "clientConfig": {"url": "https://example.com/", "caBundle": "dGhlaXJz"}}
    obj = {"metadata": {"name": "hooks", "resourceVersion": "7"}, "webhooks": [ours, theirs]}
    target = Target(VALIDATING, "hooks")

    patch = injection(target, obj, PLACE, b"bundle")

    assert patch is not None
    assert patch["metadata"] == {"resourceVersion": "7"}
    assert patch["webhooks"][0]["clientConfig"]["caBundle"] == base64.b64encode(b"bundle").decode()
    assert patch["webhooks"][1] == theirs
    assert injection(target, {**obj, "webhooks": patch["webhooks"]}, PLACE, b"bundle") is None
    assert bundles(FoundTargets({target: {**obj, "webhooks": patch["webhooks"]}}), PLACE) == [b"bundle"]


def test_a_certificate_is_for_the_names_of_the_service_or_for_the_host_of_the_address() -> None:
    assert names_of(PLACE)[0] == "hooks.default.svc"  # the name that API servers verify
    assert names_of(WebhookPlace(name="hooks", namespace="default", url="https://127.0.0.1:9443")) == ["127.0.0.1"]
