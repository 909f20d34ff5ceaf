# SPDX-License-Identifier: Apache-2.0
"""The example of a coordinated election, with two replicas."""

import coordinated as example
import pytest

pytestmark = pytest.mark.ends


@pytest.mark.stress
@pytest.mark.timeout(600)
def test_the_oldest_leads_and_an_upgrade_hands_leadership_over(capsys: pytest.CaptureFixture[str]) -> None:
    led = example.play(["1.36.0", "1.35.0"], "1.37.0")

    versions = [who.split(" ")[1] for who in led]
    assert "1.35.0" in versions
    assert "1.36.0" in versions[versions.index("1.35.0") :]
    assert versions[-1] == "1.37.0"
    assert "two at a time: never" in capsys.readouterr().out
