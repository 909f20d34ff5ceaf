# SPDX-License-Identifier: Apache-2.0
"""Makes the drawn pictures of the documents again: timelines of the examples, and the live view of README's command.

The examples run on simulated hosts, so their pictures are the same each time. The live view is the last picture that
the command drew on a terminal of 88 columns, some seconds after all its nodes had joined. Those of the status page are
screenshots, which `tox -e browser` makes.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "examples")]

import shared_work  # noqa: E402
import two_replicas  # noqa: E402
import zone_outage  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.text import Text  # noqa: E402

from controller_runtime.testing import Simulation  # noqa: E402

FOLDER = ROOT / "docs" / "pictures"
COMMAND = "python -m controllers run --embedded --hollow-nodes 120"
"""The command of the README that the picture below it shows."""
COLUMNS, ROWS = 88, 36
REDRAWN = re.compile(r"(?:\x1b\[2K|\x1b\[1A|\r)*\x1b\[2K")
"""The movements by which a live view goes back to its first line."""


def drawn_by(words: Sequence[str], until: str, seconds: float) -> str:
    """Run a command on a terminal until it has drawn a text, and return the picture that is there some seconds later.

    Raises:
        TimeoutError: The text was not drawn within a minute.
    """
    process, terminal = pty.fork()
    if process == 0:  # the command, in place of this program
        environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONPATH": str(ROOT)}
        os.execvpe(words[0], words, environment)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    written, deadline, is_drawn = b"", time.monotonic() + 60.0, False
    try:
        while time.monotonic() < deadline:
            if select.select([terminal], [], [], 0.2)[0]:
                written += os.read(terminal, 1 << 16)
            if not is_drawn and until in plain(written):
                is_drawn, deadline = True, time.monotonic() + seconds
    finally:
        os.kill(process, signal.SIGINT)
        with contextlib.suppress(OSError):  # the other end is closed when the program has ended
            while os.read(terminal, 1 << 16):
                pass
        os.waitpid(process, 0)
    if not is_drawn:
        raise TimeoutError(f"{' '.join(words)} did not draw {until!r}:\n{plain(written)[-2000:]}")
    return REDRAWN.split(written.decode())[-1].replace("\r\n", "\n")


def plain(written: bytes) -> str:
    """Return the text that was written, without colours."""
    return Text.from_ansi(written.decode(errors="replace")).plain


def svg_of(picture: str, title: str) -> str:
    """Return a picture of a terminal as SVG that loads nothing from elsewhere."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi(picture))
    made = console.export_svg(title=title, unique_id="live")
    text = re.sub(r"@font-face \{.*?\}", "", made, flags=re.DOTALL)
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines() if line.strip())


def main() -> None:
    """Write the pictures."""
    FOLDER.mkdir(exist_ok=True)
    with contextlib.redirect_stdout(io.StringIO()):
        with Simulation(0) as sim:
            two_replicas.play(sim.host("replica-a"), sim.host("replica-b"), FOLDER / "election.svg")
        with Simulation(0) as sim:
            shared_work.play([sim.host(f"replica-{letter}") for letter in "abc"], FOLDER / "ring.svg")
        with Simulation(0) as sim:
            zone_outage.play(sim.host("outage"), nodes=30, plot=FOLDER / "zones.svg")
    picture = drawn_by([sys.executable, *COMMAND.split()[1:]], "hollow nodes registered", 12.0)
    (FOLDER / "live-view.svg").write_text(svg_of(picture, COMMAND), encoding="utf-8")


if __name__ == "__main__":
    main()
