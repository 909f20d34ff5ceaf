# SPDX-License-Identifier: Apache-2.0
"""A broker that keeps topics in memory: PUT and DELETE of /topics/NAME, GET of /topics. Its argument is the port."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

topics: dict[str, object] = {}


class Broker(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.answer(200, json.dumps(topics).encode())

    def do_PUT(self) -> None:
        topics[self.path.removeprefix("/topics/")] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer(201)

    def do_DELETE(self) -> None:
        topics.pop(self.path.removeprefix("/topics/"), None)
        self.answer(200)

    def answer(self, status: int, content: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Broker).serve_forever()
