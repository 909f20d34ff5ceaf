# SPDX-License-Identifier: Apache-2.0
"""The options that the agent's guide names are some of the command, and its numbers those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from controller_runtime.program.session import RETRY
from controllers.agent.pressure import HOLD
from controllers.agent.reporter import REGISTRATION, STARTUP_INTERVAL, STARTUP_PERIOD
from controllers.agent.run import AgentOptions, settings_of
from controllers.command.cli_agent import agent

GUIDE = (Path(__file__).resolve().parents[3] / "docs" / "node-agent.md").read_text(encoding="utf-8")
DEFAULTS = settings_of(AgentOptions(), "host")


def test_the_options_of_the_guide_are_options_of_the_command() -> None:
    named = set(re.findall(r"`(--[a-z-]+)", GUIDE))

    assert named <= {max(parameter.opts, key=len) for parameter in agent.params}


@pytest.mark.parametrize(
    "said",
    [
        f"asked again after {RETRY.initial:g}, {2 * RETRY.initial:g} … {RETRY.cap:g} s for as long as it takes",
        f"{REGISTRATION.initial:g} s after the start, then after {2 * REGISTRATION.initial:g}",
        f"… {REGISTRATION.cap:g} s, until it succeeds",
        f"every {STARTUP_INTERVAL:g} s at the start until the node is ready",
        f"for {STARTUP_PERIOD / 60:g} minutes at most",
        f"every {DEFAULTS.update_interval:g} s (up to 4 % later)",
        f"else every {DEFAULTS.report_interval / 60:g} minutes, shifted by up to {DEFAULTS.report_interval / 2:g} s",
        f"{HOLD / 60:g} minutes after it was last measured",
    ],
)
def test_the_numbers_of_the_guide_are_those_of_the_code(said: str) -> None:
    assert said in " ".join(GUIDE.split())
