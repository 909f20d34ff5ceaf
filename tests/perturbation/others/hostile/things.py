# SPDX-License-Identifier: Apache-2.0
"""A service of the standard library alone: things by name, at /things; its argument is the port."""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

things: dict[str, Any] = {}


class Things(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status: int, body: object = None) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_GET(self) -> None:
        self.answer(200, things)

    def do_PUT(self) -> None:
        things[self.path.rpartition("/")[2]] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer(201)

    def log_message(self, *text: object) -> None:
        """Print nothing."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Things).serve_forever()
