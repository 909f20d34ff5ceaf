# SPDX-License-Identifier: Apache-2.0
"""Asks a real server what it makes of an object before it validates it, by a webhook that repeats what it is shown."""

from __future__ import annotations

import base64
import datetime
import http.client
import http.server
import ipaddress
import json
import ssl
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from embedded_apiserver.kinds.kind import Kind

ABSENT = "<absent>"
NAME = "shows.tests.example.com"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
NAMESPACE = "shown"
MARK = "denied the request: "


class Echo(http.server.BaseHTTPRequestHandler):
    """Refuses each object with the object as the message."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer one review."""
        review = json.loads(self.rfile.read(int(self.headers["content-length"])))
        message = json.dumps(review["request"]["object"], separators=(",", ":"))
        answer = {"uid": review["request"]["uid"], "allowed": False, "status": {"message": message}}
        body = json.dumps({**review, "request": None, "response": answer}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as the base class has it
        """Say nothing."""


class Server:
    """A real server, asked in JSON over one connection.

    Args:
        kubeconfig: The administrator's kubeconfig with a token.
    """

    def __init__(self, kubeconfig: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
        self._address = config["clusters"][0]["cluster"]["server"].partition("://")[2]
        self._token = config["users"][0]["user"]["token"]
        self._connection = http.client.HTTPSConnection(self._address, context=ssl._create_unverified_context())

    def path(self, kind: Kind, namespace: str) -> str:
        """Return the path of a collection."""
        root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
        return f"{root}{f'/namespaces/{namespace}' if kind.namespaced else ''}/{kind.plural}"

    def request(self, method: str, path: str, body: Any) -> Any:
        """Send one request and return its answer."""
        headers = {"authorization": f"Bearer {self._token}", "content-type": "application/json"}
        self._connection.request(method, path, None if body is None else json.dumps(body), headers)
        return json.loads(self._connection.getresponse().read() or "null")


class Asker(Server):
    """A webhook on loopback, registered with a server on this machine while the context lasts."""

    def __init__(self, kubeconfig: Path) -> None:
        super().__init__(kubeconfig)
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)

    def __enter__(self) -> Asker:
        certificate, context = _tls()
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.request("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        hook = {
            "name": NAME,
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "clientConfig": {
                "url": f"https://127.0.0.1:{self._server.server_port}/",
                "caBundle": base64.b64encode(certificate).decode(),
            },
            "rules": [{"operations": ["CREATE"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}],
            "matchConditions": [{"name": "probes", "expression": "object.metadata.name.startsWith('probe')"}],
        }
        self.request("DELETE", f"{WEBHOOKS}/{NAME}", None)
        self.request("POST", WEBHOOKS, {"metadata": {"name": NAME}, "webhooks": [hook]})
        config_map = {"metadata": {"name": "probe"}}
        for _ in range(100):  # until the server has noticed its new webhook
            if MARK in json.dumps(
                self.request("POST", f"/api/v1/namespaces/{NAMESPACE}/configmaps?dryRun=All", config_map)
            ):
                return self
            threading.Event().wait(0.1)
        raise RuntimeError("the webhook is not called")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.request("DELETE", f"{WEBHOOKS}/{NAME}", None)
        self._server.shutdown()

    def shown(self, kind: Kind, document: dict[str, Any]) -> Any:
        """Return the object that the webhook was shown for `document`, or the text of a refusal before that."""
        answer = self.request("POST", f"{self.path(kind, NAMESPACE)}?dryRun=All", document)
        text: str = answer.get("message", "")
        _, mark, shown = text.partition(MARK)
        return json.loads(shown) if mark else f"refused: {text or answer}"


def _tls() -> tuple[bytes, ssl.SSLContext]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate = made.public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile() as file:
        file.write(certificate + private)
        file.flush()
        context.load_cert_chain(file.name)
    return certificate, context
