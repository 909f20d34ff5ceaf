# SPDX-License-Identifier: Apache-2.0
"""The tables of figures in the documents are those of the measured runs, and watches are framed as by a real server."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.__main__ import DOCUMENTS, read
from benchmarks.figures import OURS, About, Measured, shown
from benchmarks.harness import Row
from benchmarks.peers.framed_server import BUFFER, sends
from benchmarks.shard_suite import of_one_epoch
from benchmarks.tables import rewritten

MEASURED = Path(__file__).parent.parent / "benchmarks" / "measured" / "figures.json"
ABOUT = About("2026-11-23", "abc1234", "python -m benchmarks", "3.11", "2 cores", "kr8s 1", "", (1.0, 2.0), 3)
PLACE = "before\n<!-- figures: lease -->\nold\n<!-- end of figures -->\nafter\n"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.parent.name)
def test_the_tables_of_a_document_are_made_from_the_file_of_measured_figures(document: Path) -> None:
    text, run = document.read_text("utf-8"), read(MEASURED)

    assert "<!-- figures: " in text
    assert rewritten(text, Measured(run.about, run.rows)) == text


def test_a_table_shows_what_was_measured_and_a_dash_for_the_rest() -> None:
    rows = [Row("lease renewal over TLS", "lightkube", {"cpu_us": 513.4, "wall_us": 1.0})]

    made = rewritten(PLACE, Measured(ABOUT, rows))

    assert "| lightkube | 513 |" in made
    assert "| kr8s (patch) | – |" in made
    assert "Commit abc1234 on 2026-11-23, with a load of 1 to 2." in made
    assert made.startswith("before\n")
    assert made.endswith("<!-- end of figures -->\nafter\n")


@pytest.mark.parametrize(
    ("name", "row", "line"),
    [
        pytest.param(
            "webhooks",
            Row("write with one check in process", OURS, {"times": 1.5}, "times: budget <= 1.3, MISSED"),
            "| the second as a multiple of the first | at most 1.3 | 1.5, **missed** |",
            id="a missed budget is said",
        ),
        pytest.param(
            "shards",
            Row("a ring of 2 with 100000 nodes of 1500 bytes", "the server sends all", {"rss_mib": 184.0}),
            "| 2 | – | 184 | – | – |",
            id="each peer has its column",
        ),
        pytest.param(
            "rings",
            Row("reconciles of a ring of 1, 2000 nodes of 7 KB", OURS, {"per_cpu_s": 900.0}),
            "Not measured in that run: reconciles of a ring of 2, 2000 nodes of 7 KB;",
            id="works that are absent are named",
        ),
        pytest.param(
            "rings",
            Row(
                "600 objects created for three replicas", OURS, {"objects": 600.0, "per_s": 9.5}, "published: 10 per_s"
            ),
            "| 600 objects, 10 a second, for three replicas: done in a second | 9.5 |  |",
            id="a note that is not about an early end hides no figures",
        ),
        pytest.param(
            "lease",
            Row("lease renewal over TLS", "lightkube", {"cpu_us": 1.0}),
            "lease renewal over TLS by kr8s (patch).",
            id="peers that are absent are named",
        ),
    ],
)
def test_a_table_says_what_was_missed_and_what_was_not_measured(name: str, row: Row, line: str) -> None:
    made = rewritten(PLACE.replace("lease", name), Measured(ABOUT, [row]))

    assert line in made.replace("\n", " ") or line in made


def test_a_table_of_which_nothing_was_measured_is_left_as_it_is() -> None:
    assert rewritten(PLACE, Measured(ABOUT, [Row("queue cycle", OURS, {"cpu_us": 4.0})])) == PLACE


@pytest.mark.parametrize(
    ("number", "text"),
    [(12345.6, "12,346"), (10.0, "10"), (9.96, "10.0"), (1.26, "1.3"), (0.0186, "0.019"), (0.0, "0")],
)
def test_numbers_have_as_many_digits_as_they_deserve(number: float, text: str) -> None:
    assert shown(number) == text


@pytest.mark.parametrize(
    ("lengths", "sent"),
    [
        pytest.param([100], [106], id="a short event is sent with its frame"),
        pytest.param([8000], [BUFFER, 3912], id="of a long event the buffer is filled first"),
        pytest.param([100, 100], [212], id="short events that are ready together are sent together"),
        pytest.param([7000, 7000], [BUFFER, BUFFER, 5822, 2], id="long ones share a buffer"),
        pytest.param([20000], [BUFFER, 15910, 2], id="a rest that is longer than the buffer is sent at once"),
    ],
)
def test_events_are_sent_as_through_the_buffer_of_a_go_server(lengths: list[int], sent: list[int]) -> None:
    lines = [b"x" * length for length in lengths]

    parts = list(sends(lines))

    assert b"".join(parts) == b"".join(b"%x\r\n%b\r\n" % (len(line), line) for line in lines)
    assert [len(part) for part in parts] == sent


def test_the_shares_of_replicas_are_those_under_one_assignment() -> None:
    """A replica that told its figures before another one missed its lease tells them again."""
    first = iter([{"epoch": 2, "objects": 50}, {"epoch": 4, "objects": 40}, {"epoch": 5, "objects": 60}])
    other = iter([{"epoch": 4, "objects": 30}, {"epoch": 5, "objects": 40}])

    found = of_one_epoch([lambda: next(first), lambda: next(other)])

    assert found == [{"epoch": 4, "objects": 40}, {"epoch": 4, "objects": 30}]
