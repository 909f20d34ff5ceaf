# SPDX-License-Identifier: Apache-2.0
"""An application that reads the files of a folder when it is asked to; its arguments are the port and the folder."""

from __future__ import annotations

import json
import shutil
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

FOLDER = Path(sys.argv[2])
read: dict[str, str] = {}


class Application(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.do_GET()

    def do_GET(self) -> None:
        if self.path == "/reload":
            read.clear()
            read.update({each.name: each.read_text(encoding="utf-8") for each in FOLDER.iterdir() if each.is_file()})
        content = json.dumps(read).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *text: object) -> None:
        """Print nothing."""


if __name__ == "__main__":
    shutil.rmtree(FOLDER, ignore_errors=True)  # each run begins without files
    FOLDER.mkdir()
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Application).serve_forever()
