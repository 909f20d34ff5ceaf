# SPDX-License-Identifier: Apache-2.0
"""The results of many records, as text and as JUnit XML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from xml.etree import ElementTree

from apimachinery.texts import bounded, indented, printable
from controller_runtime.testing.replay.many import Fate, One, Summary

_SHOWN = 20  # groups, reasons and files of one kind


def summed_up(summary: Summary) -> str:
    """Return the report: the differing records, grouped by their changes, the reasons of undecided ones, and the
    counts.
    """
    return "\n".join(_lines(summary))


def _lines(summary: Summary) -> Iterator[str]:
    groups = summary.groups()
    for controller, changes, ones in groups[:_SHOWN]:
        yield f"{len(ones)} of {controller} differ, such as {printable(str(ones[0].path))}:"
        yield from (f"  {controller}: {each}" for each in changes)
        text = next((each.text for each in ones if each.text), "")
        if text:
            yield f"    {indented(bounded(text))}"
    if len(groups) > _SHOWN:
        yield f"and {len(groups) - _SHOWN} further groups"
    reasons = Counter((each.controller, _kind_of(each.why)) for each in summary.every if each.fate is Fate.UNDECIDED)
    for (controller, why), count in reasons.most_common(_SHOWN):
        yield f"{count} of {printable(controller)} undecided: {why}"
    for each in [each for each in summary.every if each.fate is Fate.UNREADABLE][:_SHOWN]:
        yield f"not read: {printable(each.why)}"
    for line in sorted(summary.allowed.lines - summary.allowed.used):
        yield f"allows nothing: {line}"
    yield _total(summary)


def _total(summary: Summary) -> str:
    counts = ", ".join(f"{summary.counts[fate]} {fate.value}" for fate in Fate if summary.counts[fate])
    return f"{len(summary.every)} records: {counts} ({summary.undecided:.1%} undecided)"


def _kind_of(why: str) -> str:
    """Return a reason without the name of an object, so that those of many records are one."""
    head, colon, tail = why.rpartition(": ")
    return printable(head if colon and "/" in tail and " " not in tail else why)


def junit(summary: Summary) -> bytes:
    """Return the results as JUnit XML, with a test case for each record."""
    counts = summary.counts
    suite = ElementTree.Element(
        "testsuite",
        name="replay",
        tests=str(len(summary.every)),
        failures=str(counts[Fate.DIFFERS]),
        skipped=str(counts[Fate.UNDECIDED] + counts[Fate.ALLOWED]),
        errors=str(counts[Fate.UNREADABLE]),
    )
    for each in summary.every:
        _add(suite, each)
    found: bytes = ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True)
    return found


def _add(suite: ElementTree.Element, one: One) -> None:
    case = ElementTree.SubElement(
        suite, "testcase", classname=printable(one.controller) or "unreadable", name=printable(str(one.path))
    )
    changes = printable("; ".join(one.changes))
    if one.fate is Fate.DIFFERS:
        ElementTree.SubElement(case, "failure", message=changes).text = "\n".join(map(printable, one.text.splitlines()))
    elif one.fate is Fate.UNREADABLE:
        ElementTree.SubElement(case, "error", message=printable(one.why))
    elif one.fate is not Fate.SAME:
        ElementTree.SubElement(case, "skipped", message=printable(one.why) or f"allowed: {changes}")
