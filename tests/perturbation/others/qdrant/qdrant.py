# SPDX-License-Identifier: Apache-2.0
"""The part of Qdrant's HTTP API that keeps collections, payload indexes and aliases. Its argument is the port."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

collections: dict[str, Any] = {}
aliases: dict[str, str] = {}


def answer(method: str, path: list[str], body: Any) -> tuple[int, Any]:
    match method, path:
        case "GET", ["readyz"]:
            return 200, {}
        case "GET", ["state"]:
            return 200, {**collections, "aliases": aliases}
        case "GET", ["aliases"]:
            return 200, {"aliases": [{"alias_name": a, "collection_name": c} for a, c in aliases.items()]}
        case "POST", ["collections", "aliases"]:
            for action in body["actions"]:
                if made := action.get("create_alias"):
                    aliases[made["alias_name"]] = made["collection_name"]
                if gone := action.get("delete_alias"):
                    aliases.pop(gone["alias_name"], None)
            return 200, True
        case "GET", ["collections", name, "exists"]:
            return 200, {"exists": name in collections}
        case "PUT", ["collections", name]:
            if name in collections:
                return 409, None
            collections[name] = {"params": body, "indexes": {}}
            return 200, True
        case _, ["collections", name, *_] if name not in collections:
            return 404, None
        case "DELETE", ["collections", name]:
            del collections[name]
            for alias in [each for each, at in aliases.items() if at == name]:
                del aliases[alias]
            return 200, True
        case "GET", ["collections", name]:
            schema = {field: {"data_type": kind} for field, kind in collections[name]["indexes"].items()}
            config = {"params": collections[name]["params"]}
            return 200, {"status": "green", "config": config, "payload_schema": schema, "points_count": 0}
        case "PATCH", ["collections", name]:
            collections[name]["params"] |= body.get("params", {})
            return 200, True
        case "PUT", ["collections", name, "index"]:
            collections[name]["indexes"][body["field_name"]] = body["field_schema"]
            return 200, True
        case "DELETE", ["collections", name, "index", field]:
            collections[name]["indexes"].pop(field, None)
            return 200, True
    return 404, None


class Qdrant(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = [part for part in urlsplit(self.path).path.split("/") if part]  # as to a proxy: with the host
        status, result = answer(self.command, path, json.loads(body) if body else None)
        content = json.dumps(result if path == ["state"] else {"result": result}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):
            return self.do
        raise AttributeError(name)

    def log_message(self, *text: object) -> None:
        """Print nothing."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Qdrant).serve_forever()
