# SPDX-License-Identifier: Apache-2.0
"""One seed gives the same run in this process, in another, with another hash seed, and on every Python."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest
from kit.simulation import determinism_scenario

SEEDS = range(8)

# They change only when the simulation or the scenario changes; every version of Python must give the same.
DIGESTS = {
    0: "a88353fd1e8fcd5e3016cccecac85ebd",
    1: "9e58a23ca5c6fde06cdc87c8dc5ae1db",
    2: "4058d59a05ae4a96c849beca7b3b4200",
    3: "be0378a44d4a5a08f39fc6343b3b5d5c",
}


@pytest.mark.parametrize("seed", SEEDS)
def test_the_same_seed_tells_the_same_story_twice_in_one_process(seed: int) -> None:
    first = determinism_scenario.run(seed)

    garbage = [[] for _ in range(10_000)]
    for each in garbage:
        each.append(each)
    del garbage
    gc.collect()
    second = determinism_scenario.run(seed)

    assert first.trace == second.trace
    assert first.digest == second.digest


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_the_same_seed_tells_the_same_story_in_another_process(hash_seed: str) -> None:
    told = subprocess.run(
        [sys.executable, Path(determinism_scenario.__file__), *map(str, SEEDS)],
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert told.stdout.split() == [determinism_scenario.run(seed).digest for seed in SEEDS]


@pytest.mark.parametrize("seed", DIGESTS)
def test_every_python_tells_the_same_story(seed: int) -> None:
    assert determinism_scenario.run(seed).digest == DIGESTS[seed]


def test_different_seeds_tell_different_stories() -> None:
    assert len({determinism_scenario.run(seed).digest for seed in SEEDS}) == len(SEEDS)
