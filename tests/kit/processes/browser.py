# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, driven by its own protocol over two pipes, so that no driver has to be installed.

Each wait has a deadline: an answer that does not come fails the test.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PATIENCE = 30.0
"""Seconds for one answer."""

FLAGS = (
    "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
    "--force-color-profile=srgb",
)  # fmt: skip


def found_browser() -> str | None:
    """Return the program: the one that `BROWSER_BINARY` names, or the first that is installed."""
    return os.environ.get("BROWSER_BINARY") or next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One browser process. Threads: one."""

    def __init__(self, reads: int, writes: int) -> None:
        self._reads, self._writes = reads, writes
        self._buffer = b""
        self._number = 0
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, session: str = "", **parameters: object) -> dict[str, Any]:
        """Call a method of the protocol, and return its result; events that come meanwhile are kept."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        os.write(self._writes, json.dumps(message | ({"sessionId": session} if session else {})).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._reads], [], [], PATIENCE)
            assert ready, "the browser does not answer"
            self._buffer += os.read(self._reads, 1 << 20)
        text, self._buffer = self._buffer.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        return message

    def page(
        self, address: str, *, width: int = 1280, height: int = 900, dark: bool = False, scripts: bool = True
    ) -> Page:
        """Open a page in a window of a size, and wait until it is loaded."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session, target)
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.call(f"{domain}.enable")
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        page.call("Emulation.setEmulatedMedia", features=[scheme])
        page.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        page.call("Page.navigate", url=address)
        while not page.events("Page.loadEventFired"):
            self.events.append(self._message())
        return page


class Page:
    """One page of a browser."""

    def __init__(self, browser: Browser, session: str, target: str) -> None:
        self._browser, self._session, self._target = browser, session, target

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        """Call a method of the protocol for this page."""
        return self._browser.call(method, self._session, **parameters)

    def value(self, expression: str) -> Any:
        """Return the value of an expression."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def until(self, condition: str, seconds: float = 15.0) -> None:
        """Wait until a condition holds in the page, over navigations; fail with the page's text if it never does."""
        # The waiting is the page's own: each try is a promise that ends at the condition or after 50 ms.
        tried = f"new Promise(r => ({condition}) ? r(true) : setTimeout(() => r(false), 50))"
        for _ in range(int(seconds / 0.05)):
            answer = self.call("Runtime.evaluate", expression=tried, returnByValue=True, awaitPromise=True)
            if answer["result"].get("value") is True:
                return
        raise AssertionError(f"never: {condition}\n{self.value('document.body.innerText')[:3000]}")

    def press(self, key: str, text: str = "") -> None:
        """Press a key, with the text that it types."""
        code = {"Enter": 13, "Tab": 9}.get(key, 0)
        typed = text or ("\r" if key == "Enter" else "")
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=typed, windowsVirtualKeyCode=code)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def type(self, text: str) -> None:
        """Type a text."""
        self.call("Input.insertText", text=text)

    def events(self, method: str) -> list[dict[str, Any]]:
        """Return the parameters of the events of one kind that came so far."""
        mine = [e for e in self._browser.events if e.get("sessionId") == self._session and e.get("method") == method]
        return [e["params"] for e in mine]

    def picture(self, path: Path) -> None:
        """Write what the window shows to a PNG file."""
        shot = self.call("Page.captureScreenshot", format="png")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def close(self) -> None:
        """Close the page, and with it its stream."""
        self._browser.call("Target.closeTarget", targetId=self._target)


@contextmanager
def browser(program: str) -> Iterator[Browser]:
    """Run a browser inside the block, with a profile of its own."""
    theirs, writes = os.pipe()
    reads, answers = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        # The protocol uses the descriptors 3 and 4, which no shell and no `Popen` can choose portably.
        move = f"import os, sys; os.dup2({theirs}, 3); os.dup2({answers}, 4); os.execvp(sys.argv[1], sys.argv[1:])"
        command = [sys.executable, "-c", move, program, *FLAGS, f"--user-data-dir={profile}"]
        process = subprocess.Popen(
            command, pass_fds=(theirs, answers), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(theirs)
        os.close(answers)
        try:
            yield Browser(reads, writes)
        finally:
            process.terminate()
            process.wait(PATIENCE)
            os.close(reads)
            os.close(writes)
