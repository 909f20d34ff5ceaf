# SPDX-License-Identifier: Apache-2.0
"""Log lines: a constant message, then fields, as text or JSON."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest
from hypothesis import given, strategies

from apimachinery.errors import ServerError
from apimachinery.log import (
    REQUEST_LOGGERS,
    LogContext,
    TextFormatter,
    bound,
    configure,
    fields_of,
    get_logger,
    text_of,
)
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop
from apimachinery.texts import KEPT, LONGEST, kept_text
from controller_runtime.cache.liveness import Liveness
from controller_runtime.controller.failing import error_text
from controller_runtime.testing.simulation import Simulation

log = get_logger("test.log")


@pytest.fixture(autouse=True)
def stream() -> Iterator[io.StringIO]:
    """Return the stream that the log is written to, and restore the root logger after the test."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    levels = {name: logging.getLogger(name).level for name in REQUEST_LOGGERS}
    yield io.StringIO()
    for name, own in levels.items():
        logging.getLogger(name).setLevel(own)
    root.handlers[:] = handlers
    root.setLevel(level)


def without_time(text: str) -> str:
    return text.partition("Z ")[2]


def test_text_is_one_line_of_time_level_message_and_fields(stream: io.StringIO) -> None:
    configure(stream=stream)

    log.info("became leader", lease="kube-system/x", after=1.5)

    time, rest = stream.getvalue().split("Z ", 1)
    assert rest == "INFO    became leader lease=kube-system/x after=1.5\n"
    assert len(time) == len("2026-01-01T00:00:00.000")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        pytest.param("plain/x-1", "plain/x-1", id="plain"),
        pytest.param("", '""', id="empty"),
        pytest.param("two words", '"two words"', id="space"),
        pytest.param('a"b', r'"a\"b"', id="quote"),
        pytest.param("a=b", '"a=b"', id="equals"),
        pytest.param("a\nINFO forged", r'"a\nINFO forged"', id="newline"),
        pytest.param("\x1b[31m", r'"\u001b[31m"', id="escape sequence"),
        pytest.param("blå", "blå", id="not ASCII"),
        pytest.param(None, "None", id="not a string"),
        pytest.param(2.0194679027007236, "2.01947", id="more digits than anybody reads"),
    ],
)
def test_text_quotes_what_could_be_misread(stream: io.StringIO, value: object, shown: str) -> None:
    configure(stream=stream)

    log.info("m", key=value)

    assert without_time(stream.getvalue()) == f"INFO    m key={shown}\n"


def test_json_is_one_object_a_line(stream: io.StringIO) -> None:
    configure(style="json", stream=stream)

    log.warning("will retry", seconds=0.5, error=ValueError("no"))

    entry = json.loads(stream.getvalue())
    assert entry.pop("time").endswith("Z")
    assert entry == {
        "level": "warning",
        "logger": "test.log",
        "message": "will retry",
        "seconds": 0.5,
        "error": "no",
    }


def test_a_program_that_configures_logging_by_itself_sees_the_fields(caplog: pytest.LogCaptureFixture) -> None:
    with bound(controller="ttl"):
        log.warning("will retry", seconds=0.5, error=ValueError("100 % full"))

    record = caplog.records[0]
    assert logging.Formatter("%(name)s: %(message)s").format(record) == (
        'test.log: will retry controller=ttl seconds=0.5 error="100 % full"'
    )
    assert text_of(record) == "will retry"


def test_no_field_can_pass_for_the_message(stream: io.StringIO) -> None:
    configure(style="json", stream=stream)

    log.info("true", message="forged", level="forged")

    entry = json.loads(stream.getvalue())
    assert (entry["message"], entry["level"]) == ("true", "info")


@pytest.mark.parametrize("style", ["text", "json"])
def test_an_exception_brings_its_traceback(stream: io.StringIO, style: str) -> None:
    configure(style=style, stream=stream)

    try:
        raise KeyError("lost")
    except KeyError:
        log.exception("failed", request="n")

    assert "Traceback" in stream.getvalue()
    assert "KeyError: 'lost'" in stream.getvalue()


def test_what_is_bound_is_on_every_line_inside_and_none_after(stream: io.StringIO) -> None:
    configure(stream=stream)

    with bound(controller="ttl", request="a"):
        with bound(request="b"):
            log.info("inner", outcome="done")
        log.info("outer")
    log.info("after")

    assert [without_time(line) for line in stream.getvalue().splitlines()] == [
        "INFO    inner controller=ttl request=b outcome=done",
        "INFO    outer controller=ttl request=a",
        "INFO    after",
    ]


def test_what_is_bound_reaches_threads_spawned_inside(sim: Simulation, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    host = sim.host("r0")

    with bound(controller="ttl"):
        host.spawn("worker", lambda: log.info("hello"))
    sim.settle()

    assert dict(fields_of(caplog.records[0])) == {"controller": "ttl"}


@pytest.mark.parametrize(
    ("level", "own", "shown"),
    [
        pytest.param(logging.INFO, logging.NOTSET, False, id="info"),
        pytest.param(logging.DEBUG, logging.NOTSET, True, id="debug"),
        pytest.param(logging.INFO, logging.INFO, True, id="a level of the program"),
        pytest.param(logging.WARNING, logging.NOTSET, False, id="warning"),
    ],
)
@pytest.mark.parametrize("name", REQUEST_LOGGERS)
def test_a_client_that_logs_each_request_is_heard_when_it_is_asked_for(
    stream: io.StringIO, name: str, level: int, own: int, shown: bool
) -> None:
    logging.getLogger(name).setLevel(own)
    configure(stream=stream, level=level)

    logging.getLogger(name).info("HTTP Request: GET http://broker/topics")
    assert bool(stream.getvalue()) is shown
    logging.getLogger("my_operator").info("a topic")
    assert ("a topic" in stream.getvalue()) is (level <= logging.INFO)
    logging.getLogger(name).warning("closed")
    assert "closed" in stream.getvalue()

    configure(stream=stream, level=logging.DEBUG)
    logging.getLogger(name).info("once more")
    assert "once more" in stream.getvalue()


def test_a_level_that_is_off_costs_nothing_and_shows_nothing(stream: io.StringIO) -> None:
    configure(stream=stream, level=logging.WARNING)

    log.debug("event")
    log.info("lifecycle")
    log.error("unexpected")

    assert without_time(stream.getvalue()) == "ERROR   unexpected\n"


def test_a_record_names_the_line_that_logged_it(caplog: pytest.LogCaptureFixture) -> None:
    log.error("here")

    assert caplog.records[0].funcName == "test_a_record_names_the_line_that_logged_it"


def test_records_of_others_have_no_fields(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("other").error("plain %s", "text")

    assert dict(fields_of(caplog.records[0])) == {}


def test_records_carry_the_time_and_the_thread_of_a_simulation(
    sim: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    host = sim.host("r0")
    stop = Stop(host)

    def late() -> None:
        stop.wait(90.25)
        log.info("late")

    host.spawn("worker", late)
    sim.advance(100.0)

    assert caplog.records[0].created == host.now().timestamp() - 9.75
    assert caplog.records[0].threadName == "r0/worker"


plain = logging.getLogger("plain.of.a.user")


@pytest.mark.parametrize(
    ("style", "shown"),
    [
        pytest.param("text", "INFO    scaled 3 controller=racks request=a reconcile=7\n", id="text"),
        pytest.param(
            "json",
            '"level": "info", "logger": "plain.of.a.user", "message": "scaled 3", '
            '"controller": "racks", "request": "a", "reconcile": 7}\n',
            id="json",
        ),
    ],
)
def test_lines_of_plain_logging_carry_the_fields_that_are_bound(stream: io.StringIO, style: str, shown: str) -> None:
    configure(stream=stream, style=style)

    with bound(controller="racks", request="a", reconcile=7):
        plain.info("scaled %d", 3)

    assert stream.getvalue().endswith(shown)


def test_plain_lines_outside_of_a_reconcile_are_as_they_were(stream: io.StringIO) -> None:
    configure(stream=stream)

    plain.info("scaled")

    assert without_time(stream.getvalue()) == "INFO    scaled\n"


def of_own_format(stream: io.StringIO, form: str) -> None:
    """Configure logging as a program does that knows nothing of `configure`."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter(form))
    handler.addFilter(LogContext())
    logging.getLogger().handlers[:] = [handler]
    logging.getLogger().setLevel(logging.INFO)


def test_a_format_of_ones_own_can_name_the_fields_of_a_reconcile(stream: io.StringIO) -> None:
    of_own_format(stream, "%(controller)s|%(request)s|%(reconcile)s|%(message)s")

    plain.info("outside")
    with bound(controller="racks", request="a", reconcile=7):
        plain.info("plain")
        log.info("structured", size=3)

    assert stream.getvalue().splitlines() == [
        "|||outside",
        "racks|a|7|plain",
        "racks|a|7|structured controller=racks request=a reconcile=7 size=3",
    ]


def test_the_context_follows_a_message_that_does_not_show_it(stream: io.StringIO) -> None:
    of_own_format(stream, "%(message)s%(context)s")

    with bound(controller="racks", request="two words"):
        plain.info("plain")
        log.info("structured")

    assert stream.getvalue().splitlines() == [
        'plain controller=racks request="two words"',
        'structured controller=racks request="two words"',
    ]


def test_attributes_that_a_record_has_are_left_alone(stream: io.StringIO) -> None:
    of_own_format(stream, "%(request)s")

    with bound(request="a"):
        plain.info("plain", extra={"request": "of the user"})

    assert stream.getvalue() == "of the user\n"


def test_a_record_that_is_formatted_elsewhere_has_the_fields_of_where_it_was_logged(stream: io.StringIO) -> None:
    kept: list[logging.LogRecord] = []
    queue = logging.Handler()
    queue.addFilter(LogContext())
    queue.emit = kept.append  # type: ignore[method-assign]
    logging.getLogger().handlers[:] = [queue]
    logging.getLogger().setLevel(logging.INFO)
    with bound(request="a"):
        plain.info("plain")

    with bound(request="b"):
        assert without_time(TextFormatter().format(kept[0])) == "INFO    plain request=a"


def test_a_key_is_written_in_json_as_in_text(stream: io.StringIO) -> None:
    configure(stream=stream, style="json")

    with bound(request=ObjectKey("a", "default")):
        plain.info("plain")
        log.info("structured", sizes=[1, 2])

    shown = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [line["request"] for line in shown] == ["default/a"] * 2
    assert shown[1]["sizes"] == [1, 2]


FORGED = "cannot use x\n2026-01-01T00:00:00.000Z INFO    stopping signal=SIGTERM\r\x1b]0;owned\x07\x9b31m\u2028\u202e"


def test_the_text_of_an_error_neither_starts_a_line_nor_steers_a_terminal(stream: io.StringIO) -> None:
    configure(stream=stream)

    try:
        raise ValueError(FORGED)
    except ValueError as error:
        log.exception("failed", error=error)
        logging.getLogger("test.plain").warning("failed: %s", error)

    entries = [line for line in stream.getvalue().splitlines() if not line.startswith("    ")]
    assert [entry.split()[1:3] for entry in entries] == [["ERROR", "failed"], ["WARNING", "failed:"]]
    assert stream.getvalue().replace("\n", "").isprintable()
    assert r"    ValueError: cannot use x" in stream.getvalue()
    assert r"SIGTERM\r\u001b]0;owned\u0007\u009b31m\u2028\u202e" in stream.getvalue()


@pytest.mark.parametrize("style", ["text", "json"])
def test_an_error_of_two_million_characters_is_bounded_in_the_log(stream: io.StringIO, style: str) -> None:
    configure(style=style, stream=stream)

    try:
        raise ValueError("begin " + "x" * 2_000_000 + " end")
    except ValueError as error:
        log.exception("failed", error=error)

    assert len(stream.getvalue()) < 2 * LONGEST + 1000
    assert "test_log.py" in stream.getvalue()  # the frames are kept
    assert "ValueError: begin" in stream.getvalue()
    assert "characters left out" in stream.getvalue()
    assert "xxx end" in stream.getvalue()


@given(strategies.text())
def test_kept_text_is_one_printable_line_of_bounded_length(text: str) -> None:
    kept = kept_text(text * 300)

    assert kept.isprintable()
    assert len(kept) <= 12 * (KEPT + 50)
    if text.isprintable():
        assert kept_text(text) == " ".join(text.split())


def test_what_is_kept_of_a_reconciles_error_is_bounded_and_in_one_line() -> None:
    assert error_text(ValueError(FORGED)).isprintable()
    assert len(error_text(ValueError("x" * 2_000_000))) < KEPT + 100


def test_the_last_error_of_a_cache_is_bounded_and_in_one_line() -> None:
    liveness = Liveness(0.0)

    liveness.failed(ServerError(FORGED + "x" * 2_000_000, code=500), 0.0)

    assert liveness.last_error.isprintable()
    assert len(liveness.last_error) < KEPT + 200
