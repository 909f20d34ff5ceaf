# SPDX-License-Identifier: Apache-2.0
"""A real kubectl runs its everyday commands against the embedded server."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from kit.processes.kubectl import Kubectl, rows

pytestmark = [pytest.mark.ends, pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")]

RENEWED = "2026-01-01T00:00:00.000000Z"


def node(name: str, **labels: str) -> dict[str, Any]:
    info = dict.fromkeys(("machineID", "systemUUID", "bootID", "kubeProxyVersion"), "")
    about = {"kubeletVersion": "v1.36.2", "kernelVersion": "6.1", "architecture": "amd64", "osImage": "Debian"}
    status = {
        "conditions": [{"type": "Ready", "status": "True"}],
        "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
        "nodeInfo": {**info, **about, "operatingSystem": "linux", "containerRuntimeVersion": "containerd://2"},
    }
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "status": status}


def lease(name: str, namespace: str = "default", **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "namespace": namespace, **metadata},
        "spec": {"holderIdentity": f"{name}-holder", "leaseDurationSeconds": 40, "renewTime": RENEWED},
    }


def pod(name: str, node_name: str, **labels: str) -> dict[str, Any]:
    containers = [{"name": "c", "image": "i"}]
    spec = {"nodeName": node_name, "terminationGracePeriodSeconds": 0, "containers": containers}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": spec}


def config(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


@pytest.mark.scenario("H-64")
def test_wide_nodes_have_ten_columns_and_a_cordoned_one_says_so(kubectl: Kubectl) -> None:
    """`kubectl get nodes -o wide` prints ten columns; a cordoned ready node is Ready,SchedulingDisabled."""
    kubectl.apply(node("wide", **{"node-role.kubernetes.io/worker": ""}))
    kubectl("cordon", "wide")

    head, row = rows(kubectl("get", "nodes", "wide", "-o", "wide"))

    assert " ".join(head) == (
        "NAME STATUS ROLES AGE VERSION INTERNAL-IP EXTERNAL-IP OS-IMAGE KERNEL-VERSION CONTAINER-RUNTIME"
    )
    assert row[:3] == ["wide", "Ready,SchedulingDisabled", "worker"]
    assert row[4:] == ["v1.36.2", "10.0.0.1", "<none>", "Debian", "6.1", "(amd64)", "containerd://2"]
    kubectl("uncordon", "wide")
    assert rows(kubectl("get", "nodes", "wide"))[1][1] == "Ready"


def test_leases_show_their_holders_in_all_namespaces(kubectl: Kubectl) -> None:
    kubectl.apply(lease("shown", "kube-node-lease"))

    head, *found = rows(kubectl("get", "lease", "-A"))

    assert head == ["NAMESPACE", "NAME", "HOLDER", "AGE"]
    assert ["kube-node-lease", "shown", "shown-holder"] in [row[:3] for row in found]


def test_a_described_lease_tells_when_it_was_renewed_and_whose_it_is(kubectl: Kubectl) -> None:
    kubectl.apply(node("owner"))
    uid = kubectl("get", "node", "owner", "-o", "jsonpath={.metadata.uid}")
    kubectl.apply(lease("owned", ownerReferences=[{"apiVersion": "v1", "kind": "Node", "name": "owner", "uid": uid}]))

    text = " ".join(kubectl("describe", "lease", "owned").split())

    assert f"Renew Time: {RENEWED}" in text
    assert f"Owner References: API Version: v1 Kind: Node Name: owner UID: {uid}" in text


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("namespace c-ns", id="namespace"),
        pytest.param("configmap c-cm --from-literal=a=b", id="config map"),
        pytest.param("secret generic c-secret --from-literal=a=b", id="secret"),
        pytest.param("serviceaccount c-sa", id="service account"),
        pytest.param("deployment c-deploy --image=i --replicas=0", id="deployment"),
        pytest.param("service clusterip c-svc --tcp=80:http", id="service"),
        pytest.param("job c-job --image=i", id="job"),
        pytest.param("cronjob c-cron --image=i --schedule=@daily", id="cron job"),
        pytest.param("role c-role --verb=get --resource=pods", id="role"),
        pytest.param("rolebinding c-rb --role=c-role --user=u", id="role binding"),
        pytest.param("clusterrole c-cr --verb=get --resource=nodes", id="cluster role"),
        pytest.param("clusterrolebinding c-crb --clusterrole=c-cr --group=g", id="cluster role binding"),
        pytest.param("poddisruptionbudget c-pdb --selector=a=b --min-available=1", id="disruption budget"),
        pytest.param("quota c-quota --hard=pods=2", id="quota"),
        pytest.param("ingress c-ing --rule=a.io/b=c:80", id="ingress"),
    ],
)
def test_everything_usual_can_be_created_seen_and_deleted(command: str, kubectl: Kubectl) -> None:
    resource, *arguments = command.split()

    created = kubectl("create", resource, *arguments)

    name = next(word for word in arguments if word.startswith("c-"))
    assert created.endswith(f"{name} created\n")
    assert rows(kubectl("get", resource, name))[1][0] == name
    assert kubectl("delete", resource, name, "--wait=false").split()[-1] == "deleted"


def test_a_deployment_created_with_no_replicas_has_none(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "zero", "--image=i", "--replicas=0")

    assert kubectl("get", "deployment", "zero", "-o", "jsonpath={.spec.replicas}") == "0"
    kubectl("set", "image", "deployment/zero", "i=j")
    assert "Image: j" in " ".join(kubectl("describe", "deployment", "zero").split())


def test_output_comes_in_every_form(kubectl: Kubectl) -> None:
    kubectl.apply(config("forms", a="b"))

    assert "data:\n  a: b\n" in kubectl("get", "cm", "forms", "-o", "yaml")
    assert json.loads(kubectl("get", "cm", "forms", "-o", "json"))["data"] == {"a": "b"}
    assert kubectl("get", "cm", "forms", "-o", "jsonpath={.data.a}") == "b"
    assert kubectl("get", "cm", "forms", "-o", "name") == "configmap/forms\n"
    assert rows(kubectl("get", "cm", "forms", "-o", "custom-columns=A:.data.a")) == [["A"], ["b"]]
    assert rows(kubectl("get", "cm", "forms", "--no-headers"))[0][:2] == ["forms", "1"]
    assert rows(kubectl("get", "cm", "forms", "--show-labels"))[1][-1] == "<none>"


def test_lists_are_selected_sorted_and_read_in_chunks(kubectl: Kubectl) -> None:
    kubectl.apply(*(node(f"list-{index}", set="list") for index in range(5)))
    kubectl.apply(pod("here", "list-0"), pod("there", "list-1"))

    chunks = rows(kubectl("get", "nodes", "-l", "set=list", "--chunk-size=2", "--sort-by=.metadata.name"))
    here = kubectl("get", "pods", "--field-selector", "spec.nodeName=list-0", "-o", "name")

    assert [row[0] for row in chunks] == ["NAME", *(f"list-{index}" for index in range(5))]
    assert here == "pod/here\n"


def test_a_watch_prints_what_changes(kubectl: Kubectl) -> None:
    kubectl.apply(lease("watched"))

    with kubectl.running("get", "lease", "watched", "-w") as watch:
        assert watch.stdout is not None
        before = [watch.stdout.readline().split()[:2] for _ in range(2)]
        kubectl("patch", "lease", "watched", "--type=merge", "-p", '{"spec":{"holderIdentity":"next"}}')
        after = watch.stdout.readline().split()[:2]

    assert before == [["NAME", "HOLDER"], ["watched", "watched-holder"]]
    assert after == ["watched", "next"]


def test_apply_creates_changes_and_takes_back(kubectl: Kubectl) -> None:
    first = kubectl.apply(config("applied", a="1", b="1"))
    again = kubectl.apply(config("applied", a="1", b="1"))
    kubectl("patch", "cm", "applied", "-p", '{"data":{"other":"kept"}}')
    changed = kubectl.apply(config("applied", a="2"))

    assert [text.split()[-1] for text in (first, again, changed)] == ["created", "unchanged", "configured"]
    assert json.loads(kubectl("get", "cm", "applied", "-o", "json"))["data"] == {"a": "2", "other": "kept"}


def test_apply_merges_lists_by_their_keys(kubectl: Kubectl) -> None:
    template = {"metadata": {"labels": {"app": "m"}}, "spec": {"containers": [{"name": "a", "image": "1"}]}}
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": "m"}}, "template": template}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "merged"}, "spec": spec}
    kubectl.apply(deployment)
    kubectl("patch", "deployment", "merged", "-p",
            '{"spec":{"template":{"spec":{"containers":[{"name":"b","image":"1"}]}}}}')  # fmt: skip
    template["spec"]["containers"][0]["image"] = "2"

    kubectl.apply(deployment)

    path = "jsonpath={range .spec.template.spec.containers[*]}{.name}={.image} {end}"
    assert sorted(kubectl("get", "deployment", "merged", "-o", path).split()) == ["a=2", "b=1"]


def test_a_difference_is_shown_and_then_gone(kubectl: Kubectl) -> None:
    kubectl.apply(config("different", a="1"))
    wanted = json.dumps(config("different", a="2"))

    differs = kubectl.run("diff", "-f", "-", sent=wanted)
    kubectl("apply", "-f", "-", sent=wanted)
    same = kubectl.run("diff", "-f", "-", sent=wanted)

    assert (differs.returncode, same.returncode) == (1, 0)
    assert '-  a: "1"\n+  a: "2"' in differs.stdout


def test_a_field_that_does_not_exist_is_refused_by_its_name(kubectl: Kubectl) -> None:
    misspelt = {**lease("misspelt"), "spec": {"holderIdentify": "x"}}

    assert 'unknown field "spec.holderIdentify"' in kubectl.fails("apply", "-f", "-", sent=json.dumps(misspelt))


def test_a_dry_run_on_the_server_changes_nothing(kubectl: Kubectl) -> None:
    made = kubectl("create", "configmap", "dry", "--dry-run=server", "-o", "jsonpath={.metadata.uid}")

    assert len(made) == 36
    assert "NotFound" in kubectl.fails("get", "cm", "dry")


def test_replace_and_edit_write_the_whole_object(kubectl: Kubectl, tmp_path: Path) -> None:
    kubectl.apply(config("whole", a="1"))
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nsed -i 's/two/three/' \"$1\"\n")
    editor.chmod(0o755)

    kubectl("replace", "-f", "-", sent=json.dumps(config("whole", a="two")))
    edited = kubectl.run("edit", "cm", "whole", environment={"KUBE_EDITOR": str(editor)})

    assert edited.stdout == "configmap/whole edited\n"
    assert kubectl("get", "cm", "whole", "-o", "jsonpath={.data.a}") == "three"


@pytest.mark.parametrize(
    ("form", "patch"),
    [
        pytest.param("strategic", '{"metadata":{"labels":{"a":"x"}}}', id="strategic"),
        pytest.param("merge", '{"metadata":{"labels":{"a":"x"}}}', id="merge"),
        pytest.param("json", '[{"op":"add","path":"/metadata/labels","value":{"a":"x"}}]', id="json"),
    ],
)
def test_every_form_of_patch_is_taken(form: str, patch: str, kubectl: Kubectl) -> None:
    kubectl.apply(config(f"patched-{form}"))

    kubectl("patch", "cm", f"patched-{form}", f"--type={form}", "-p", patch)

    assert kubectl("get", "cm", f"patched-{form}", "-o", "jsonpath={.metadata.labels.a}") == "x"


def test_labels_annotations_and_taints_come_and_go(kubectl: Kubectl) -> None:
    kubectl.apply(node("marked"))

    kubectl("label", "node", "marked", "a=b")
    kubectl("annotate", "node", "marked", "c=d")
    kubectl("taint", "node", "marked", "e=f:NoExecute")
    text = " ".join(kubectl("describe", "node", "marked").split())
    for command in ("label node marked a-", "annotate node marked c-", "taint node marked e-"):
        kubectl(*command.split())

    assert "Labels: a=b Annotations: c: d" in text
    assert "Taints: e=f:NoExecute" in text
    left = json.loads(kubectl("get", "node", "marked", "-o", "json"))
    assert [one["key"] for one in left["spec"]["taints"]] == ["node.kubernetes.io/not-ready"]
    assert "labels" not in left["metadata"]


def test_a_drained_node_has_no_pods(kubectl: Kubectl) -> None:
    kubectl.apply(node("drained"), pod("evicted-1", "drained"), pod("evicted-2", "drained"))

    told = kubectl("drain", "drained", "--force", "--timeout=60s")

    assert told.splitlines()[-1] == "node/drained drained"
    assert kubectl("get", "pods", "--field-selector", "spec.nodeName=drained", "-o", "name") == ""
    assert rows(kubectl("get", "node", "drained"))[1][1] == "Ready,SchedulingDisabled"


def test_a_budget_keeps_a_node_from_being_drained(kubectl: Kubectl) -> None:
    kubectl.apply(node("kept"), pod("budgeted", "kept", app="budgeted"))
    kubectl("patch", "pod", "budgeted", "--subresource=status", "-p", '{"status":{"phase":"Running"}}')
    kubectl("create", "pdb", "budget", "--selector=app=budgeted", "--min-available=1")
    kubectl(
        "patch", "pdb", "budget", "--subresource=status", "--type=merge", "-p", '{"status":{"observedGeneration":1}}'
    )

    told = kubectl.fails("drain", "kept", "--force", "--timeout=1s")

    assert "Cannot evict pod as it would violate the pod's disruption budget." in told


def test_a_deletion_waits_for_finalizers(kubectl: Kubectl) -> None:
    kubectl.apply({**config("held"), "metadata": {"name": "held", "finalizers": ["example.com/hold"]}})

    with kubectl.running("delete", "cm", "held") as deletion:
        kubectl("wait", "--for=jsonpath={.metadata.deletionTimestamp}", "cm/held", "--timeout=60s")
        assert deletion.poll() is None
        kubectl("patch", "cm", "held", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
        assert deletion.wait(10) == 0

    assert "NotFound" in kubectl.fails("get", "cm", "held")


def test_waiting_ends_when_what_is_waited_for_happens(kubectl: Kubectl) -> None:
    kubectl.apply(node("waited"), config("waited"))

    with kubectl.running("wait", "--for=jsonpath={.data.done}=yes", "cm/waited", "--timeout=60s") as waiting:
        kubectl("patch", "cm", "waited", "-p", '{"data":{"done":"yes"}}')
        assert waiting.wait(10) == 0

    assert "condition met" in kubectl("wait", "--for=condition=Ready", "node/waited", "--timeout=60s")
    assert "timed out" in kubectl.fails("wait", "--for=condition=Nope", "node/waited", "--timeout=1s")


def test_events_are_listed_and_described_with_what_they_are_about(kubectl: Kubectl) -> None:
    kubectl.apply(node("eventful"))
    uid = kubectl("get", "node", "eventful", "-o", "jsonpath={.metadata.uid}")
    about = {"apiVersion": "v1", "kind": "Node", "name": "eventful", "uid": uid}
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "eventful.1"}, "involvedObject": about}
    kubectl.apply({**event, "type": "Warning", "reason": "Hurts", "message": "it hurts", "count": 2})

    table = rows(kubectl("get", "events", "--field-selector", "involvedObject.name=eventful"))
    newest = kubectl("events", "--for", "node/eventful")
    described = kubectl("describe", "node", "eventful")

    assert table == [["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"],
                     ["<unknown>", "Warning", "Hurts", "node/eventful", "it", "hurts"]]  # fmt: skip
    assert "it hurts" in newest
    assert "it hurts" in described


def test_a_pod_is_described_and_run(kubectl: Kubectl) -> None:
    kubectl("run", "ran", "--image=i")

    described = " ".join(kubectl("describe", "pod", "ran").split())

    assert rows(kubectl("get", "pod", "ran"))[1][:4] == ["ran", "0/1", "Pending", "0"]
    assert "QoS Class: BestEffort" in described
    assert "node.kubernetes.io/not-ready:NoExecute op=Exists for 300s" in described


def test_all_means_the_kinds_people_mean(kubectl: Kubectl) -> None:
    kubectl("create", "namespace", "everything")
    kubectl("create", "deployment", "d", "--image=i", "-n", "everything")
    kubectl("create", "configmap", "c", "-n", "everything")

    assert kubectl("get", "all", "-n", "everything", "-o", "name") == "deployment.apps/d\n"


def test_the_server_says_what_it_serves(kubectl: Kubectl) -> None:
    resources = {tuple(row) for row in rows(kubectl("api-resources"))}

    assert ("nodes", "no", "v1", "false", "Node") in resources
    assert ("leases", "coordination.k8s.io/v1", "true", "Lease") in resources
    assert "coordination.k8s.io/v1" in kubectl("api-versions").split()
    assert "is running at https://127.0.0.1:" in kubectl("cluster-info")
    assert json.loads(kubectl("version", "-o", "json"))["serverVersion"]["minor"] == "36"


def test_fields_are_explained(kubectl: Kubectl) -> None:
    text = kubectl("explain", "lease.spec", "--recursive")

    assert "GROUP:      coordination.k8s.io" in text
    assert "renewTime\t<string>" in text
    assert "enum: NoExecute, NoSchedule, PreferNoSchedule" in kubectl("explain", "node.spec.taints")


def test_one_may_ask_what_one_may_do(kubectl: Kubectl) -> None:
    assert kubectl("auth", "can-i", "delete", "nodes") == "yes\n"
    assert rows(kubectl("auth", "can-i", "--list"))[1] == ["*.*", "[]", "[]", "[*]"]
    assert ["Username", "admin"] in rows(kubectl("auth", "whoami"))
