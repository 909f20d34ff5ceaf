# SPDX-License-Identifier: Apache-2.0
"""Draws the diagrams of the guides again: `python tests/tools/diagrams.py` writes docs/pictures/diagram-*.svg.

They load nothing, and have colours for a light and a dark screen. A text of several lines is one text.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from html import escape
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "pictures"
STYLE = (
    "text{font:13px sans-serif;fill:#1b1b1f}.title{font-weight:bold}.dim{fill:#4c4c57}.bad{fill:#a8321e}"
    ".back{fill:#fff}.box{fill:#eaf1fb;stroke:#3f6aa6;stroke-width:1.5}.soft{fill:#f1f1f4;stroke:#8a8a96}"
    ".on{fill:#cfe6d4;stroke:#2f7d46}.off{fill:#f6d9d3;stroke:#a8321e}"
    ".line{fill:none;stroke:#4c4c57;stroke-width:1.5}.dash{stroke-dasharray:5 4}.head{fill:#4c4c57}"
    "@media(prefers-color-scheme:dark){text{fill:#e9e9ee}.dim{fill:#b4b4c0}.bad{fill:#ff9c87}.back{fill:#16161a}"
    ".box{fill:#1d2b40;stroke:#7aa7e0}.soft{fill:#25252b;stroke:#8a8a96}.on{fill:#1d3a27;stroke:#6cc188}"
    ".off{fill:#472219;stroke:#ff9c87}.line{stroke:#b4b4c0}.head{fill:#b4b4c0}}"
)
LINE = 16
"""Height of a line of text."""
Point = tuple[float, float]

# The changes of the states that are drawn, for readers who hear a picture, and for the tests.
ELECTOR = """\
    Waiting --> Leading: our write of the lease was answered in time
    Waiting --> Ended: stopped before we led
    Leading --> Yielding: the lease names another candidate as preferred
    Leading --> Resigned: stopped, and the work has ended in time
    Leading --> Ended: lost, or stopped with work that has not ended
    Yielding --> Resigned: stopped, and the work has ended in time
    Yielding --> Ended: the deadline passed before the work had ended
    Resigned --> Ended: the lease was given back, or is left to expire
"""
RING = """\
    New --> Member: the server has stored the first claim
    New --> Leaving: the same, while the program stops
    New --> Left: stopped before the server had a lease of ours
    Member --> Member: a claim is stored, or slots are drained
    Member --> Leaving: the program stops
    Member --> New: the deadline has passed, or the server has gone back
    Leaving --> Leaving: a claim is stored, or slots are drained
    Leaving --> New: as from Member
    Leaving --> Left: the server has stored that it leaves with no slot
"""
REFLECTOR = """\
    Streaming --> Receiving: the server has opened the stream
    Streaming --> Streaming: the version was refused, or the server is down or busy
    Streaming --> Listing: the server cannot stream lists
    Receiving --> Watching: the bookmark that ends the list has come, and the stream goes on
    Receiving --> Streaming: the version was refused, or the server is down or busy
    Receiving --> Listing: the server cannot stream lists, or does not say when they end
    Listing --> Resuming: the last page has come
    Listing --> Listing: failed, so all pages again
    Resuming --> Watching: the server has opened the watch
    Resuming --> Resuming: failed for the first time, or the server is down or busy
    Resuming --> Streaming: the version was refused, or the second failure in a row
    Resuming --> Listing: the same, where lists are not streamed
    Watching --> Watching: a line has come, the first after a failure
    Watching --> Resuming: ended, or failed for the first time, or the server is down or busy
    Watching --> Streaming: the version or an event cannot be had, or the second failure in a row
    Watching --> Listing: the same, where lists are not streamed
"""


class Drawing:
    """An SVG picture of a size, to which parts are added."""

    def __init__(self, width: int, height: int, title: str, description: str = "") -> None:
        self.size = f"0 0 {width} {height}"
        self.title = title
        self.description = description
        self.lines, self.labels, self.boxes = list[str](), list[str](), list[str]()

    def text(self, x: float, y: float, text: str, kind: str = "", anchor: str = "middle") -> None:
        """Write a text of one or more lines, whose middle is at y, over all else."""
        lines = text.split("\n")
        first = y + 4.5 - LINE * (len(lines) - 1) / 2
        spans = (f'<tspan x="{x:g}" y="{first + LINE * n:g}">{escape(line)} </tspan>' for n, line in enumerate(lines))
        self.boxes.append(f'<text class="{kind}" text-anchor="{anchor}">{"".join(spans)}</text>')

    def box(self, x: float, y: float, text: str, kind: str = "box", width: float = 110, height: float = 44) -> None:
        """Draw a box around a text, with its middle at x and y."""
        place = f'x="{x - width / 2:g}" y="{y - height / 2:g}" width="{width:g}" height="{height:g}"'
        self.boxes.append(f'<rect class="{kind}" rx="6" {place}/>')
        self.text(x, y, text)

    def bar(self, left: float, right: float, y: float, text: str, kind: str) -> None:
        """Draw a bar of a time line."""
        self.box((left + right) / 2, y, text, kind, right - left, 30)

    def line(self, *points: Point, kind: str = "") -> None:
        """Draw a line through points."""
        path = "L".join(f"{x:g},{y:g}" for x, y in points)
        self.lines.append(f'<path class="line {kind}" d="M{path}"/>')

    def arrow(self, *points: Point, label: str = "", at: Point | None = None, kind: str = "") -> None:
        """Draw a line with a head at its end, and a label at a place, or at the middle of its first part."""
        (x0, y0), (x1, y1) = points[-2:]
        angle = math.atan2(y1 - y0, x1 - x0)
        corners = [(x1, y1)]
        corners += [(x1 - 10 * math.cos(angle + turn), y1 - 10 * math.sin(angle + turn)) for turn in (0.42, -0.42)]
        self.line(*points, kind=kind)
        self.lines.append(f'<polygon class="head" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in corners)}"/>')
        if label:
            (a, b), (c, d) = points[:2]
            self.label(*(at or ((a + c) / 2, (b + d) / 2)), label)

    def label(self, x: float, y: float, text: str, kind: str = "") -> None:
        """Write a text that interrupts the line below it."""
        lines = text.split("\n")
        width, height = 6.4 * max(len(line) for line in lines) + 6, LINE * len(lines)
        place = f'x="{x - width / 2:g}" y="{y - height / 2:g}" width="{width:g}" height="{height:g}"'
        self.labels.append(f'<rect class="back" {place}/>')
        self.text(x, y, text, kind)

    def svg(self) -> str:
        """Return the picture."""
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{self.size}" role="img">'
        title = f"<title>{escape(self.title)}</title>"
        if self.description:
            title += f"\n<desc>\n{escape(self.description, quote=False)}</desc>"
        back = '<rect class="back" width="100%" height="100%"/>'
        return "\n".join(
            (head, title, f"<style>{STYLE}</style>", back, *self.lines, *self.labels, *self.boxes, "</svg>", "")
        )


def loop() -> Drawing:
    """Return the loop of a controller."""
    it = Drawing(900, 260, "The loop of a controller")
    for x, name in (
        (90, "API server"),
        (270, "reflector"),
        (440, "cache"),
        (610, "mapper\nand predicate"),
        (800, "queue\nof keys"),
    ):
        it.box(x, 70, name)
    for x, name in ((800, "worker"), (440, "reconcile")):
        it.box(x, 200, name, "on" if name == "reconcile" else "box")
    it.arrow((145, 70), (215, 70), label="list,\nwatch")
    it.arrow((325, 70), (385, 70), label="bytes", at=(355, 58))
    it.arrow((495, 70), (555, 70), label="change", at=(524, 58))
    it.arrow((665, 70), (745, 70), label="request", at=(704, 58))
    it.arrow((800, 92), (800, 178), label="one key to one worker at a time", at=(716, 136))
    it.arrow((745, 200), (495, 200), label="the key, not the event", at=(620, 188))
    it.arrow((440, 92), (440, 178), label="reads: own copies", at=(440, 134))
    it.arrow((385, 200), (90, 200), (90, 92), label="writes: the smallest patch", at=(238, 188))
    it.arrow(
        (470, 222),
        (470, 244),
        (870, 244),
        (870, 70),
        (855, 70),
        label="an error, or requeue_after: the key again, later",
        at=(640, 244),
    )
    return it


def webhook() -> Drawing:
    """Return the way of one write through the webhooks of a program."""
    it = Drawing(860, 400, "A write and the webhooks of a program")
    for x, name in ((90, "client"), (420, "API server"), (750, "the program")):
        it.box(x, 34, name, width=130, height=36)
        it.line((x, 52), (x, 390), kind="dash")
    it.arrow((90, 84), (420, 84), label="create a cabin", at=(255, 74))
    it.arrow((420, 122), (750, 122), label="AdmissionReview: the object", at=(585, 112))
    it.box(750, 148, "Defaults: fill(cabin)", "on", 170, 30)
    it.arrow((750, 182), (420, 182), label="a patch of the fields that changed", at=(580, 173))
    it.box(420, 208, "the schema and its rules", "soft", 190, 30)
    it.arrow((420, 240), (750, 240), label="AdmissionReview: object and old object", at=(585, 230))
    it.box(750, 266, "Checks: refuse(cabin)", "on", 170, 30)
    it.arrow((750, 300), (420, 300), label="allowed, or the causes", at=(585, 290))
    it.box(420, 328, "stored, in the storage version", "soft", 210, 30)
    it.arrow((420, 362), (90, 362), label="the object, or 422 with the causes", at=(255, 352))
    return it


def leader() -> Drawing:
    """Return the time line of a leader that is cut off."""
    it = Drawing(900, 290, "A leader that is cut off from the server, and the next one")

    def x(second: float) -> float:
        return 110 + second * 34

    for second in range(0, 23, 2):
        it.line((x(second), 40), (x(second), 236), kind="dash")
        it.text(x(second), 254, f"{second} s", "dim")
    it.text(12, 80, "replica A", "title", "start")
    it.text(12, 190, "replica B", "title", "start")
    it.bar(x(0), x(14), 80, "leads; its client sends nothing after the deadline", "on")
    it.bar(x(14), x(22), 80, "LeadershipLost; the process ends", "off")
    for second in (0, 2, 4):
        it.arrow((x(second), 128), (x(second), 98))
    it.label(x(2), 138, "renewals, each 2 s", "dim")
    it.arrow((x(6), 128), (x(6), 98), kind="dash")
    it.label(x(7.6), 138, "cut off: no answer", "bad")
    it.arrow((x(14), 128), (x(14), 98))
    it.label(x(14), 138, "deadline: 10 s after the\nlast renewal was sent", "dim")
    it.bar(x(0), x(19), 190, "waits until the lease has not changed for 15 s, by its own clock", "soft")
    it.bar(x(19), x(22), 190, "leads", "on")
    it.label(x(16.5), 220, "14 s to 19 s: no replica leads", "dim")
    it.text(450, 278, "lease_duration 15 s, renew_deadline 10 s, retry_period 2 s", "dim")
    return it


def story() -> Drawing:
    """Return a test's story with the points at which it is perturbed."""
    it = Drawing(900, 300, "A story, and the points at which it is perturbed")
    it.text(12, 70, "calm run", "title", "start")
    for left, right, text, kind in (
        (110, 250, "step 1: create", "soft"),
        (290, 390, "write 1", "on"),
        (440, 540, "write 2", "on"),
        (590, 690, "status", "on"),
        (740, 880, "at rest: world W", "box"),
    ):
        it.bar(left, right, 70, text, kind)
    for left, right in ((250, 290), (390, 440), (540, 590), (690, 740)):
        it.arrow((left, 70), (right, 70))
    for place in (282, 398, 432, 548, 582, 698):
        it.text(place, 104, "×", "bad title")
    it.text(490, 124, "a crash before each write and after it: one run for each ×", "bad")
    it.text(12, 180, "one of them", "title", "start")
    for left, right, text, kind in (
        (110, 250, "step 1: create", "soft"),
        (290, 390, "write 1", "on"),
        (410, 470, "crash", "off"),
        (490, 690, "a new manager reconciles", "on"),
        (740, 880, "at rest: again W?", "box"),
    ):
        it.bar(left, right, 180, text, kind)
    it.arrow((250, 180), (290, 180))
    it.arrow((690, 180), (740, 180))
    it.arrow((810, 86), (810, 164), label="compared", at=(810, 124))
    it.text(450, 232, "Other runs keep a cache late (stale) or never show it a change (missed).", "dim")
    it.text(
        450,
        256,
        "A world that differs, or a test that fails, is a finding: the shortest story that shows it is printed.",
        "dim",
    )
    return it


def elector() -> Drawing:
    """Return the states of an elector."""
    it = Drawing(900, 400, "The states of an elector", ELECTOR)
    places = {
        "Waiting": (75, 200),
        "Leading": (330, 200),
        "Yielding": (600, 200),
        "Resigned": (825, 60),
        "Ended": (825, 340),
    }
    for name, (x, y) in places.items():
        it.box(x, y, name, "on" if name == "Leading" else "box")
    it.arrow((130, 200), (275, 200), label="our write of\nthe lease was\nanswered in time")
    it.arrow((385, 200), (545, 200), label="the lease prefers\nanother candidate")
    it.arrow((370, 178), (770, 60), label="stopped, and the work has ended in time", at=(500, 118))
    it.arrow((370, 222), (770, 335), label="lost, or stopped with work that has not ended", at=(510, 284))
    it.arrow((630, 178), (790, 82), label="stopped, and the\nwork has ended", at=(720, 140))
    it.arrow((630, 222), (790, 318), label="the deadline\npassed first", at=(720, 262))
    it.arrow((850, 82), (850, 318), label="the lease was\ngiven back, or\nis left to expire", at=(838, 200))
    it.arrow((75, 222), (75, 350), (770, 350), label="stopped before we led", at=(300, 350))
    return it


def reflector() -> Drawing:
    """Return the states of a reflector."""
    it = Drawing(900, 390, "The states of a reflector", REFLECTOR)
    places = {
        "Streaming": (100, 70),
        "Receiving": (430, 70),
        "Watching": (800, 160),
        "Listing": (100, 250),
        "Resuming": (430, 250),
    }
    for name, (x, y) in places.items():
        it.box(x, y, name, "on" if name == "Watching" else "box")
    it.arrow((155, 60), (375, 60), label="the stream is open", at=(265, 48))
    it.arrow((375, 80), (155, 80), label="1", kind="dash")
    it.arrow((485, 70), (760, 138), label="the bookmark that ends the list has come", at=(630, 92))
    it.arrow((100, 92), (100, 228), label="the server cannot\nstream lists")
    it.arrow((395, 92), (145, 228), label="the same", at=(290, 150))
    it.arrow((155, 240), (375, 240), label="the last page came", at=(265, 228))
    it.arrow((375, 260), (155, 260), label="2", kind="dash")
    it.arrow((485, 240), (745, 170), label="the server has opened the watch", at=(600, 196))
    it.arrow((790, 182), (790, 262), (485, 262), label="it ended, or failed for the first time", at=(640, 262))
    it.arrow((800, 138), (800, 22), (100, 22), (100, 48), label="2", at=(450, 22), kind="dash")
    it.text(30, 318, "1  the version was refused, or the server is down or busy", "dim", "start")
    it.text(
        30,
        338,
        "2  the version or an event cannot be had, or a second failure in a row: from Watching and Resuming,",
        "dim",
        "start",
    )
    it.text(46, 356, "to Streaming, or to Listing where lists are not streamed", "dim", "start")
    it.text(
        30,
        376,
        "A state tries again where the server is down or busy; Listing begins with the first page.",
        "dim",
        "start",
    )
    return it


def ring() -> Drawing:
    """Return the states of a ring's member."""
    it = Drawing(900, 310, "The states of a member of a ring", RING)
    places = {"New": (80, 90), "Member": (430, 90), "Leaving": (430, 230), "Left": (800, 230)}
    for name, (x, y) in places.items():
        it.box(x, y, name, "on" if name == "Member" else "box")
    it.arrow((135, 80), (375, 80), label="the server has stored\nthe first claim", at=(255, 60))
    it.arrow((375, 104), (135, 104), label="the deadline has passed,\nor the server has gone back", at=(255, 124))
    it.arrow((430, 112), (430, 208), label="the program stops")
    it.arrow((485, 230), (745, 230), label="the server has stored that\nit leaves with no slot")
    it.arrow(
        (60, 112), (60, 240), (375, 240), label="the first claim is stored\nwhile the program stops", at=(215, 240)
    )
    it.arrow(
        (80, 68), (80, 24), (800, 24), (800, 208), label="stopped before the server had a lease of ours", at=(560, 24)
    )
    it.arrow(
        (485, 80), (560, 80), (560, 104), (485, 104), label="a claim is stored,\nor slots are drained", at=(640, 92)
    )
    it.text(
        450,
        292,
        "Leaving stores claims and drains slots as Member does, and becomes New for the same reasons (not drawn).",
        "dim",
    )
    return it


DRAWINGS: Mapping[str, Callable[[], Drawing]] = {
    "controller-loop": loop,
    "webhook": webhook,
    "leader": leader,
    "story": story,
    "elector-states": elector,
    "reflector-states": reflector,
    "ring-states": ring,
}


def main() -> int:
    """Write all drawings, or check them."""
    drawn = {FOLDER / f"diagram-{name}.svg": draw().svg() for name, draw in DRAWINGS.items()}
    if "--check" not in sys.argv:
        for path, text in drawn.items():
            path.write_text(text, encoding="utf-8")
        return 0
    if drawn == {path: path.read_text(encoding="utf-8") for path in FOLDER.glob("diagram-*.svg")}:
        return 0
    print("diagrams are out of date: run python tests/tools/diagrams.py", file=sys.stderr)  # noqa: T201
    return 1


if __name__ == "__main__":
    sys.exit(main())
