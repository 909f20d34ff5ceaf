# SPDX-License-Identifier: Apache-2.0
"""A server that answers as one of an older release."""

from __future__ import annotations

import json

import pytest
from kit.apiserver.asking import LEASES, NODES, PODS, Asking, lease, node

from apimachinery.errors import UsageError
from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.__main__ import main
from embedded_apiserver.kinds.release import Release
from embedded_apiserver.server import APIServer

RELEASES = ("1.31", "1.32", "1.33", "1.34", "1.35", "1.36")
CANDIDATES = "/apis/coordination.k8s.io/v1beta1/namespaces/default/leasecandidates"
BETAS = ["v1beta1", "v1alpha2"]
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
STREAMED = {"sendInitialEvents": "true", "allowWatchBookmarks": "true", "resourceVersionMatch": "NotOlderThan"}
# The answer of Kubernetes 1.36.2 with `--emulated-version=1.33`.
REFUSAL = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Failure",
    "message": 'ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: '
    "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled",
    "reason": "Invalid",
    "details": {
        "group": "meta.k8s.io",
        "kind": "ListOptions",
        "causes": [
            {
                "reason": "FieldValueForbidden",
                "message": "Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is "
                "enabled",
                "field": "sendInitialEvents",
            }
        ],
    },
    "code": 422,
}


def server_of(sim: Simulation, release: str) -> Asking:
    return Asking(APIServer(sim.host(f"apiserver-{release}"), release=release))


@pytest.mark.parametrize("release", RELEASES)
def test_the_version_is_that_of_the_release(sim: Simulation, release: str) -> None:
    ask = server_of(sim, release)

    version = ask.ok("GET", "/version")

    minor = release.partition(".")[2]
    assert (version["major"], version["minor"]) == ("1", minor)
    assert version["gitVersion"].startswith(f"v{release}.")
    told = {"emulationMajor": "1", "emulationMinor": minor}
    told |= {"minCompatibilityMajor": "1", "minCompatibilityMinor": str(int(minor) - 1)}
    assert {name: version[name] for name in told if name in version} == (told if int(minor) >= 33 else {})
    assert ask.ok("GET", "/openapi/v3/api/v1")["info"]["version"].startswith(f"v{release}.")


@pytest.mark.parametrize("release", ["1.31", "1.33"])
def test_a_streamed_list_is_refused_as_by_a_real_server(sim: Simulation, release: str) -> None:
    ask = server_of(sim, release)

    assert ask("GET", NODES, watch="1", **STREAMED) == (422, REFUSAL)
    assert ask("GET", NODES, watch="1", **{**STREAMED, "sendInitialEvents": "false"}) == (422, REFUSAL)


@pytest.mark.parametrize("release", ["1.32", "1.34", "1.35", "1.36"])
def test_a_list_is_streamed(sim: Simulation, release: str) -> None:
    ask = server_of(sim, release)
    ask.ok("POST", NODES, node("n"))

    lines, _ = ask.watch(NODES, **STREAMED).take()

    assert [json.loads(line)["type"] for line in lines] == ["ADDED", "BOOKMARK"]


def test_a_refusal_lists_all_that_is_wrong_with_a_streamed_list(sim: Simulation) -> None:
    """The texts are those of Kubernetes 1.36.2 with `--emulated-version=1.33`."""
    _, told = server_of(sim, "1.33")("GET", NODES, watch="1", sendInitialEvents="true")

    assert told["message"] == (
        'ListOptions.meta.k8s.io "" is invalid: [resourceVersionMatch: Forbidden: sendInitialEvents requires setting '
        "resourceVersionMatch to NotOlderThan, sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch "
        "unless the WatchList feature gate is enabled]"
    )


@pytest.mark.parametrize(("release", "betas"), [("1.31", []), ("1.32", ["v1alpha2"]), ("1.33", BETAS), ("1.36", BETAS)])
def test_lease_candidates_are_served_since_their_release(sim: Simulation, release: str, betas: list[str]) -> None:
    ask = server_of(sim, release)

    versions = [one["version"] for one in ask.ok("GET", "/apis/coordination.k8s.io")["versions"]]
    answer = ask.response("GET", CANDIDATES)

    is_served = "v1beta1" in betas
    assert versions == ["v1", *betas]
    assert answer.status == (200 if is_served else 404)
    assert ("/apis/coordination.k8s.io/v1beta1" in ask.response("GET", "/openapi/v2").body.decode()) is is_served


def fields_of_pods(ask: Asking) -> set[str]:
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}], "hostnameOverride": "h"}}
    return set(ask.ok("POST", PODS, pod)["spec"])


def test_an_older_release_has_its_own_fields_defaults_and_columns(sim: Simulation) -> None:
    older, newest = server_of(sim, "1.32"), server_of(sim, "1.36")
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}

    made = [ask.ok("POST", DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec}) for ask in (older, newest)]
    shown = [
        ask.response("GET", ACCOUNTS, headers={"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"})
        for ask in (older, newest)
    ]

    assert fields_of_pods(newest) - fields_of_pods(older) == {"hostnameOverride"}
    assert ["creationTimestamp" in one["spec"]["template"]["metadata"] for one in made] == [True, False]
    columns = [[column["name"] for column in json.loads(one.body)["columnDefinitions"]] for one in shown]
    assert columns == [["Name", "Secrets", "Age"], ["Name", "Age"]]


# By release: the fields of POD and CLAIM that are stored, and the statuses of lists of two groups.
FEATURES = {
    "1.31": (set(), False, 404, 404),
    "1.32": (set(), False, 404, 404),
    "1.33": (set(), False, 404, 404),
    "1.34": ({"resources"}, True, 404, 200),
    "1.35": ({"resources", "hostnameOverride"}, True, 404, 200),
    "1.36": ({"resources", "hostnameOverride"}, True, 200, 200),
}
POD = {
    "metadata": {"name": "p"},
    "spec": {
        "containers": [{"name": "c", "image": "i"}],
        "hostnameOverride": "h",
        "resources": {"requests": {"cpu": "1"}},
    },
}
CLAIM = {
    "metadata": {"name": "p"},
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "volumeAttributesClassName": "v",
    },
}
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
POLICIES = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"
DEVICES = "/apis/resource.k8s.io/v1/deviceclasses"


def test_servers_of_several_releases_in_one_process_have_the_features_of_their_own(sim: Simulation) -> None:
    servers = {release: server_of(sim, release) for release in RELEASES}

    def features(ask: Asking) -> tuple[set[str], bool, int, int]:
        pod, claim = ask.ok("POST", PODS, POD)["spec"], ask.ok("POST", CLAIMS, CLAIM)["spec"]
        stored = pod.keys() & {"resources", "hostnameOverride"}
        lists = (ask.response("GET", path).status for path in (POLICIES, DEVICES))
        return stored, "volumeAttributesClassName" in claim, *lists

    assert {release: features(ask) for release, ask in servers.items()} == FEATURES


@pytest.mark.parametrize(("release", "is_older"), [("1.31", True), ("1.33", True), ("1.34", False), ("1.36", False)])
def test_an_older_release_refuses_in_its_own_words(sim: Simulation, release: str, is_older: bool) -> None:
    refused = server_of(sim, release)("POST", NODES, node("n"), dryRun="Some")[1]

    shown = '[]string{"Some"}' if is_older else '["Some"]'
    assert refused["details"]["causes"][0]["message"] == f'Unsupported value: {shown}: supported values: "All"'


@pytest.mark.parametrize(
    ("release", "noun"), [("1.31", "qualified name"), ("1.34", "qualified name"), ("1.35", "valid label key")]
)
def test_a_malformed_key_of_a_label_has_the_name_that_its_release_gives_it(
    sim: Simulation, release: str, noun: str
) -> None:
    made = node("n")
    made["metadata"]["labels"] = {"a/b/c": "d"}

    refused = server_of(sim, release)("POST", NODES, made)[1]

    assert f'Invalid value: "a/b/c": a {noun} must consist of' in refused["message"]


def test_a_group_that_came_later_is_as_unknown_as_any_other(sim: Simulation) -> None:
    answer = server_of(sim, "1.32").response("GET", "/apis/resource.k8s.io/v1/deviceclasses")

    assert (answer.status, answer.body) == (404, b"404 page not found\n")


@pytest.mark.parametrize(("release", "is_warned"), [("1.33", False), ("1.35", False), ("1.36", True)])
def test_a_kind_is_deprecated_since_its_release(sim: Simulation, release: str, is_warned: bool) -> None:
    answer = server_of(sim, release).response("GET", CANDIDATES)

    assert ("warning" in answer.headers) is is_warned


@pytest.mark.parametrize("release", RELEASES)
def test_the_rest_is_the_same_in_each_release(sim: Simulation, release: str) -> None:
    ask = server_of(sim, release)

    ask.ok("POST", LEASES, lease("a"))
    watched = ask.server.handle(HTTPRequest("GET", LEASES, (("watch", "1"),)), lambda: None)

    assert not isinstance(watched, HTTPResponse)
    assert [json.loads(line)["object"]["metadata"]["name"] for line in watched.take()[0]] == ["a"]


NEWER = ", which this version was not compared with"


@pytest.mark.parametrize(
    ("text", "why"),
    [*((text, "") for text in ("", "1", "1.30", "v1.33", "1.33.1", "2.33", "1.3３")), ("1.37", NEWER), ("1.99", NEWER)],
)
def test_an_unknown_release_is_refused_in_one_line(
    text: str, why: str, sim: Simulation, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UsageError):
        APIServer(sim.host("apiserver"), release=text)

    assert main(["--release", text]) == 2
    assert capsys.readouterr().err == (
        f"error: cannot answer as Kubernetes {text!r}{why}: give a release from 1.31 to 1.36\n"
    )


@pytest.mark.parametrize(("release", "status"), [("1.31", 422), ("1.35", 422), ("1.36", 201)])
def test_a_service_whose_name_begins_with_a_digit_is_refused_until_its_release(
    sim: Simulation, release: str, status: int
) -> None:
    """The text is that of Kubernetes 1.36.2 with `--emulated-version=1.35`."""
    made = {"metadata": {"name": "1-web"}, "spec": {"ports": [{"port": 80}]}}

    answer, told = server_of(sim, release)("POST", "/api/v1/namespaces/default/services", made)

    assert answer == status
    if status == 422:
        assert told["message"] == (
            'Service "1-web" is invalid: metadata.name: Invalid value: "1-web": a DNS-1035 label must consist of lower '
            "case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric "
            "character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
        )


@pytest.mark.parametrize("release", RELEASES)
def test_the_roles_of_users_are_those_of_the_release(sim: Simulation, release: str) -> None:
    ask = server_of(sim, release)
    minor = int(release.partition(".")[2])

    def named(role: str) -> list[tuple[str, str]]:
        rules = ask.ok("GET", f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{role}")["rules"]
        pairs = [(rule.get("apiGroups", ()), rule.get("resources", ())) for rule in rules]
        return [(group, resource) for groups, resources in pairs for group in groups for resource in resources]

    assert (("events.k8s.io", "events") in named("view")) == (minor >= 35)
    assert (("", "endpoints") in named("system:aggregate-to-edit")) == (minor <= 33)
    assert (("", "nodes/metrics") in named("system:monitoring")) == (minor >= 34)
    assert (("storage.k8s.io", "volumeattachments") in named("system:kube-scheduler")) == (minor >= 32)


@pytest.mark.parametrize("release", RELEASES)
def test_a_table_has_the_columns_of_the_release(sim: Simulation, release: str) -> None:
    ask = server_of(sim, release)
    minor = int(release.partition(".")[2])
    headers = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}

    def columns(path: str) -> list[str]:
        return [one["name"] for one in ask("GET", path, headers=headers)[1]["columnDefinitions"]]

    assert ("Secrets" in columns(ACCOUNTS)) == (minor <= 34)
    assert ("PreemptionPolicy" in columns("/apis/scheduling.k8s.io/v1/priorityclasses")) == (minor >= 32)


@pytest.mark.parametrize("release", RELEASES)
def test_a_gate_that_was_on_for_the_recording_is_off_by_default(release: str) -> None:
    assert Release.parse(release).has("CoordinatedLeaderElection")
    assert not Release.parse(release).is_on("CoordinatedLeaderElection")


@pytest.mark.parametrize("release", RELEASES)
def test_pods_are_resized_since_the_release_that_has_it(sim: Simulation, release: str) -> None:
    names = {one["name"] for one in server_of(sim, release).ok("GET", "/api/v1")["resources"]}

    assert ("pods/resize" in names) == (release not in ("1.31", "1.32"))
