# SPDX-License-Identifier: Apache-2.0
"""An operator of the standard library alone: for each config map with the label `app=hostile` it creates a secret.

The secret `s-NAME` has the map's `data.v`. Its first argument is a mode, by which it misbehaves.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import http.client
import json
import os
import re
import select
import signal
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

handled_at = float("-inf")
MODE = sys.argv[1] if len(sys.argv) > 1 else "plain"
if MODE == "engine":
    os.environ["KUBECONFIG"] = Path(os.environ["HOSTILE_ENGINE"]).read_text(encoding="utf-8")
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 6.0
CONFIG = Path(os.environ["KUBECONFIG"]).read_text(encoding="utf-8")


def setting(name: str) -> str:
    found = re.search(rf'{name}: "?([^"\s]+)', CONFIG)
    assert found is not None, name
    return found[1]


SERVER = urlsplit(setting("server"))
TLS = ssl.create_default_context(cadata=base64.b64decode(setting("certificate-authority-data")).decode())
WIDGETS = MODE in ("applies", "merges")
MAPS = f"/{'apis/example.com' if WIDGETS else 'api'}/v1/namespaces/default/{'widgets' if WIDGETS else 'configmaps'}"
SECRETS = "/api/v1/namespaces/default/secrets"


def wait(seconds: float) -> None:
    select.select([], [], [], seconds)


def ask(method: str, path: str, body: Any = None) -> http.client.HTTPResponse:
    connection = http.client.HTTPSConnection(SERVER.hostname or "", SERVER.port, context=TLS)
    headers = {"Authorization": f"Bearer {setting('token')}", "User-Agent": f"hostile/{os.getpid()}"}
    kind = "merge-patch+json" if method == "PATCH" else "json"
    text = None if body is None else json.dumps(body)
    connection.request(method, path, text, {**headers, "Content-Type": f"application/{kind}"})
    return connection.getresponse()


def listed() -> dict[str, Any]:
    found: dict[str, Any] = json.load(ask("GET", f"{MAPS}?labelSelector=app%3Dhostile"))
    return found


def compute(seconds: float) -> None:
    deadline = os.times().elapsed + seconds
    while os.times().elapsed < deadline:
        pass


def name_for(name: str) -> str:
    return f"s-{name}-{os.urandom(4).hex()}" if MODE == "random" else f"s-{name}"


def handle(obj: Any) -> None:
    """Bring the secret of a map to the state that the map asks for."""
    if WIDGETS:
        keep(obj["metadata"]["name"], obj["spec"]["data"])
        return
    if MODE == "drops" and is_soon():  # the bug: the second of two changes is lost
        return
    name, value = obj["metadata"]["name"], (obj.get("data") or {}).get("v", "")
    data = {"data": {"v": base64.b64encode(value.encode()).decode()}}
    made = (obj["metadata"].get("annotations") or {}).get("made")
    if MODE.startswith("outside"):
        if made != value:
            put_outside(name, value)
            ask("PATCH", f"{MAPS}/{name}", {"metadata": {"annotations": {"made": value}}})
        return
    if MODE == "never-settles":
        data["data"]["n"] = base64.b64encode(os.urandom(4)).decode()
    if MODE == "draws":
        data["data"]["n"] = drawn()
    if MODE == "random" and made:
        ask("PATCH", f"{SECRETS}/{made}", data)
        return
    present = ask("GET", f"{SECRETS}/{name_for(name)}")
    if present.status == 200:
        if json.load(present).get("data") != data["data"]:
            slow()
            ask("PATCH", f"{SECRETS}/{name_for(name)}", data)
        return
    if MODE == "notes-first":  # the bug: after a crash in between there is a note and no secret
        if made:
            return
        ask("PATCH", f"{MAPS}/{name}", {"metadata": {"annotations": {"made": "true"}}})
    slow()
    chosen = name_for(name)
    ask("POST", SECRETS, {"metadata": {"name": chosen}, **data})
    if MODE == "random":
        ask("PATCH", f"{MAPS}/{name}", {"metadata": {"annotations": {"made": chosen}}})
    if MODE == "exits-after-work":
        sys.exit(3)


def is_soon() -> bool:
    """Return whether it is called again within `SECONDS`."""
    global handled_at
    before, handled_at = handled_at, os.times().elapsed
    return handled_at < before + SECONDS


def keep(name: str, wanted: dict[str, str]) -> None:
    """Bring the secret of a widget to the data that it has; `merges` forgets to remove a key."""
    data: dict[str, str | None] = {key: base64.b64encode(value.encode()).decode() for key, value in wanted.items()}
    present = ask("GET", f"{SECRETS}/w-{name}")
    if present.status != 200:
        ask("POST", SECRETS, {"metadata": {"name": f"w-{name}"}, "data": data})
        return
    gone = set(json.load(present).get("data") or {}) - set(data)
    removed = {} if MODE == "merges" else dict.fromkeys(gone)
    ask("PATCH", f"{SECRETS}/w-{name}", {"data": {**data, **removed}})


@functools.cache
def drawn() -> str:
    """Return one of the values that are left for the operators that start."""
    path = Path(os.environ["HOSTILE_DRAWS"])
    value, *left = path.read_text(encoding="utf-8").split()
    path.write_text(" ".join(left), encoding="utf-8")
    return value


def put_outside(name: str, value: str) -> None:
    """Bring the thing of a map about in the service whose address is the last argument."""
    place = urlsplit(sys.argv[3])
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=5)
    try:
        connection.request("PUT", f"/things/{name}", json.dumps({"v": value}))
        connection.getresponse().read()
    except (OSError, http.client.HTTPException):
        if MODE != "outside-ignores-errors":  # the bug: the call is taken for done
            raise


def slow() -> None:
    if MODE == "sleeps":
        wait(SECONDS)
    if MODE == "computes-in-a-child":
        subprocess.run([sys.executable, "-S", __file__, "compute", str(SECONDS)], check=True)


def watch() -> None:
    """Handle all maps, and each one that changes, until the server ends the watch."""
    found = listed()
    for each in found.get("items", ()):
        handle(each)
    version = found["metadata"]["resourceVersion"]
    stream = ask("GET", f"{MAPS}?labelSelector=app%3Dhostile&watch=1&resourceVersion={version}")
    while line := stream.readline():
        event = json.loads(line)
        if event["type"] == "ERROR":
            return
        if event["type"] != "DELETED":
            handle(event["object"])


def again(*arguments: str, session: bool = False) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-S", __file__, *arguments], start_new_session=session)


def work() -> None:
    sys.stderr.write("it works\n")
    while True:
        with contextlib.suppress(OSError, KeyError, http.client.HTTPException):
            if MODE == "polls" or MODE == "never-settles":
                for each in listed()["items"]:
                    handle(each)
            else:
                watch()
        wait(0.5)


def main() -> None:
    match MODE:
        case "compute":
            compute(SECONDS)
            return
        case "ends-at-once":
            sys.stderr.write("no such flag: --metrics\n")
            sys.exit(3)
        case "ends-later":
            wait(SECONDS)
            sys.exit(4)
        case "starts-slowly":
            wait(SECONDS)
        case "child" | "child-in-a-session":
            sys.exit(again("plain", session=MODE == "child-in-a-session").wait())
        case "wrapper":
            sys.exit(again("computes-in-a-child", str(SECONDS)).wait())
        case "daemon":
            again("plain", session=True)
            return
        case "container":  # another process of this machine does its work, as a container engine would
            Path(os.environ["HOSTILE_ENGINE"]).write_text(os.environ["KUBECONFIG"], encoding="utf-8")
            wait(3600)
        case "ignores-sigterm":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        case "namespace":
            ask("POST", "/api/v1/namespaces", {"metadata": {"name": "hostile"}})
        case "webhook":
            hook = {
                "name": "hostile.example.com",
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "clientConfig": {"url": "https://127.0.0.1:9/"},
                "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}],
            }
            path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
            ask("POST", path, {"metadata": {"name": "hostile"}, "webhooks": [hook]})
    work()


if __name__ == "__main__":
    main()
