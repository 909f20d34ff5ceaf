# SPDX-License-Identifier: Apache-2.0
"""Decoders and converters: made by one thread at a time, since msgspec shows other threads half-read classes."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import pytest

from apimachinery.decoding import converter_of, decoder_of

# In a process of its own: without the lock it dies of a segmentation fault, mostly in the first rounds.
FOUR_THREADS_NAME_ONE_CLASS = """
import sys, threading, types
from apimachinery.decoding import decoder_of

lines = ["from __future__ import annotations", "import msgspec"]
for depth in range(12):
    lines.append(f"class Level{depth}(msgspec.Struct):")
    lines.append(f"    below: {f'Level{depth - 1}' if depth else 'int'} | None = None")
    lines += [f"    field{n}: dict[str, list[int]] | None = None" for n in range(9)]

sys.setswitchinterval(1e-6)
for turn in range(30):
    module = types.ModuleType(f"views{turn}")
    sys.modules[module.__name__] = module
    exec("\\n".join(lines), module.__dict__)
    barrier = threading.Barrier(4)

    def read():
        barrier.wait()
        decoder_of(module.Level11)(b'{"below": {"below": {"field1": {"a": [1]}}, "field8": {"a": [2]}}}')

    threads = [threading.Thread(target=read) for _ in range(4)]
    [each.start() for each in threads]
    [each.join() for each in threads]
print("ended")
"""


def test_threads_may_make_the_first_decoder_of_a_class_together() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FOUR_THREADS_NAME_ONE_CLASS], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (0, "ended\n"), done.stderr


class _Bed(msgspec.Struct):
    wide: int


def test_a_decoder_reads_json_and_a_converter_plain_values() -> None:
    assert decoder_of(list[_Bed])(b'[{"wide": 2}]') == [_Bed(2)]
    assert converter_of(list[_Bed])([{"wide": 2}]) == [_Bed(2)]


def test_what_does_not_fit_is_refused_with_its_place() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"Expected `int`, got `str` - at `\$\.wide`"):
        converter_of(_Bed)({"wide": "two"})
