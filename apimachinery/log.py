# SPDX-License-Identifier: Apache-2.0
"""Structured logging on the standard library: a constant message, then fields as key=value.

A library does not configure logging; a program does, by `configure`, or in its own way with `LogContext`. The fields
that `bound` adds are in a context variable, so they reach all code that runs inside, and the threads that are spawned
there. Lines that other code logs there by plain `logging` carry them, too.
"""

from __future__ import annotations

import contextvars
import json
import logging
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, TextIO

from apimachinery.texts import INDENT, bounded, indented, printable

# The types that JSON has itself. Values of others are written as text shows them: a key is `default/a`, not a list.
_PLAIN = frozenset({str, int, float, bool, type(None), list, tuple, dict})
_NOTHING: Mapping[str, Any] = {}
_OF_A_RECONCILE = ("controller", "request", "reconcile")
_KEPT = "context_fields"  # the attribute of a record in which `LogContext` keeps the fields for formatters
_context: contextvars.ContextVar[Mapping[str, Any]] = contextvars.ContextVar("log_context", default=_NOTHING)


REQUEST_LOGGERS = (
    "httpx",
    "azure.core.pipeline.policies.http_logging_policy",
    "elastic_transport.transport",
    "opensearch",
)
"""Loggers of clients for outside services that write a line of the level `INFO` for each request."""


class Line:
    """A log message: a constant text and its fields. `str` returns both, so every logging handler shows both."""

    __slots__ = ("fields", "text")

    def __init__(self, text: str, fields: Mapping[str, Any]) -> None:
        self.text = text
        self.fields = fields

    def __str__(self) -> str:
        return self.text + _shown(self.fields)


class Logger:
    """A structured logger on top of `logging`: each method takes a constant message, and fields as keyword arguments.

    Messages go through the `logging.Logger` of the same name, so handlers, levels and filters apply as usual.

    Threads: any.
    """

    __slots__ = ("_logger",)

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger

    def debug(self, message: str, /, **fields: Any) -> None:
        """Log at level DEBUG: for frequent events, such as a reconcile."""
        self._log(logging.DEBUG, message, fields)

    def info(self, message: str, /, **fields: Any) -> None:
        """Log at level INFO: for a start, a stop or another change of state."""
        self._log(logging.INFO, message, fields)

    def warning(self, message: str, /, **fields: Any) -> None:
        """Log at level WARNING: for a failure that will be retried, or that has little effect."""
        self._log(logging.WARNING, message, fields)

    def error(self, message: str, /, **fields: Any) -> None:
        """Log at level ERROR: for a failure that will not be retried."""
        self._log(logging.ERROR, message, fields)

    def exception(self, message: str, /, **fields: Any) -> None:
        """Log at level ERROR, with the traceback of the exception that is being handled: for an unexpected error."""
        self._log(logging.ERROR, message, fields, exc_info=True)

    def _log(self, level: int, message: str, fields: dict[str, Any], exc_info: bool = False) -> None:
        if self._logger.isEnabledFor(level):
            line = Line(message, {**_context.get(), **fields})
            self._logger.log(level, line, exc_info=exc_info, stacklevel=3)


def get_logger(name: str) -> Logger:
    """Return a logger for constant messages with fields, such as `log.info("scaled", replicas=3)`.

    The text format shows this message as `scaled replicas=3`, JSON has a key for each field. Inside a reconcile the
    fields `controller`, `request` and `reconcile` are added. Messages of plain `logging` get these three as well, if
    the program uses `configure` or `LogContext`.

    Args:
        name: The name of the logger in `logging`; pass `__name__`.
    """
    return Logger(logging.getLogger(name))


class _Bound:
    """The context manager of `bound`: a class, because a generator costs twice as much, and each reconcile has one."""

    __slots__ = ("_fields", "_token")

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = fields

    def __enter__(self) -> None:
        self._token = _context.set({**_context.get(), **self._fields})

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _context.reset(self._token)


def bound(**fields: Any) -> AbstractContextManager[None]:
    """Return a context manager that adds `fields` to every message logged inside it."""
    return _Bound(fields)


def bound_fields() -> Mapping[str, Any]:
    """Return the fields added by `bound`; in a reconcile `controller`, `request` and its number `reconcile`."""
    return _context.get()


def fields_of(record: logging.LogRecord) -> Mapping[str, Any]:
    """Return the fields of a log record: those of its message, and those that `bound` had added where it was logged.

    A message of plain `logging` has no fields of its own. The fields of `bound` are those that `LogContext` stored in
    the record; without `LogContext`, those of the calling thread, which is the logging thread unless records go through
    a queue.
    """
    if isinstance(record.msg, Line):
        return record.msg.fields
    kept: Mapping[str, Any] = record.__dict__.get(_KEPT, _context.get())
    return kept


def text_of(record: logging.LogRecord) -> str:
    """Return the message of a log record without its fields."""
    return record.msg.text if isinstance(record.msg, Line) else record.getMessage()


class LogContext(logging.Filter):
    """A filter that adds the fields of a reconcile to every record, for programs that configure `logging` themselves.

    Add it to a handler: filters of a logger do not see the records of its child loggers. If records go through a queue,
    add it to the `QueueHandler`, which runs on the logging thread.

    A record gets the attributes `controller`, `request` and `reconcile`, which are empty outside of a reconcile, and
    `context`: text such as ` controller=racks request=a reconcile=7`, to follow the message in a format
    (`%(message)s%(context)s`). `context` is empty for lines of this package, whose messages show their fields already.
    Attributes that the record already has are not replaced. The filter drops no record.

    Threads: any.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the attributes to `record`, and return True."""
        fields = fields_of(record)
        context = "" if isinstance(record.msg, Line) else _shown(fields)
        of_a_reconcile = {name: fields.get(name, "") for name in _OF_A_RECONCILE}
        for name, value in {_KEPT: fields, "context": context, **of_a_reconcile}.items():
            record.__dict__.setdefault(name, value)
        return True


def _shown(fields: Mapping[str, Any]) -> str:
    """Return the fields as they follow a message in a line of text."""
    return "".join(f" {key}={_quoted(value)}" for key, value in fields.items())


def _time_of(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _quoted(value: Any) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else bounded(str(value))
    plain = text and text.isprintable() and not any(c in ' "=' for c in text)
    return text if plain else printable(json.dumps(text, ensure_ascii=False))


def _json_value(value: Any) -> Any:
    return value if type(value) in _PLAIN and type(value) is not str else bounded(str(value))


class TextFormatter(logging.Formatter):
    """A formatter that writes a record as one line: time, level, message, then fields as key=value; a traceback
    follows.

    Lines of a traceback are indented, and unprintable characters are escaped, so that the text of an error can neither
    imitate a log line nor send control codes to a terminal.
    """

    def format(self, record: logging.LogRecord) -> str:
        line = f"{_time_of(record)} {record.levelname:<7} {indented(text_of(record))}{_shown(fields_of(record))}"
        if not record.exc_info:
            return line
        return f"{line}\n{INDENT}{indented(bounded(self.formatException(record.exc_info)))}"


class JSONFormatter(logging.Formatter):
    """A formatter that writes a record as one JSON object: time, level, logger, message, then the fields."""

    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": _time_of(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": text_of(record),
        }
        # `entry` first for the order of the keys, and last so that no field can replace the message.
        fields = {name: _json_value(value) for name, value in fields_of(record).items()}
        entry = {**entry, **fields, **entry}
        if record.exc_info:
            entry["traceback"] = bounded(self.formatException(record.exc_info))
        return json.dumps(entry, default=str, ensure_ascii=False)


def configure(*, style: str = "text", level: int = logging.INFO, stream: TextIO | None = None) -> logging.Handler:
    """Send this process's log to `stream`, and remove all other handlers of the root logger; for programs, not
    libraries.

    Records of every logger get the same format, and those of a reconcile have its fields. The loggers in
    `REQUEST_LOGGERS` get the level WARNING, unless `level` is below `INFO` or the program has set their level.

    Args:
        style: `text` or `json`.
        level: The lowest level that is written, such as `logging.INFO`.
        stream: The stream to write to; None is standard error.

    Returns:
        The handler, so that a program can replace or remove it.
    """
    handler = logging.StreamHandler(stream if stream is not None else sys.stderr)
    handler.setFormatter(JSONFormatter() if style == "json" else TextFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for logger in map(logging.getLogger, REQUEST_LOGGERS):
        if level >= logging.INFO and logger.level == logging.NOTSET:
            logger.setLevel(logging.WARNING)
        elif level < logging.INFO and logger.level == logging.WARNING:
            logger.setLevel(logging.NOTSET)
    return handler
