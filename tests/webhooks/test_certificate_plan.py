# SPDX-License-Identifier: Apache-2.0
"""The next step of the certificates, by their ages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import attrs
import pytest

from controller_runtime.webhooks.certificate_plan import (
    AUTHORITY_LIFE,
    LEAF_LIFE,
    RETIREMENT,
    SPREAD,
    CertificateState,
    CertificateStep,
    Life,
    plan,
)

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
AUTHORITY = Life(BEGIN, BEGIN + AUTHORITY_LIFE)
NAMES = ["hooks.cabins.svc"]


def day(number: float) -> datetime:
    return BEGIN + timedelta(days=number)


def leaf(made: float, authority: Life = AUTHORITY) -> Life:
    return Life(day(made), min(day(made) + LEAF_LIFE, authority.expires))


FRESH = CertificateState(signer=AUTHORITY, upcoming=None, leaf=leaf(0), names=frozenset(NAMES), trusted=(AUTHORITY,))
UPCOMING = Life(day(244), day(244) + AUTHORITY_LIFE)
OVERLAPPING = attrs.evolve(FRESH, upcoming=UPCOMING, leaf=leaf(240), trusted=(UPCOMING, AUTHORITY))
PROMOTED = CertificateState(
    signer=UPCOMING, upcoming=None, leaf=leaf(245, UPCOMING), names=frozenset(NAMES), trusted=(UPCOMING, AUTHORITY)
)
FOUND = attrs.evolve(FRESH, trusted=(AUTHORITY, AUTHORITY), has_former=True)


@pytest.mark.parametrize(
    ("state", "at", "trusted_for", "step"),
    [
        pytest.param(None, 0, None, CertificateStep.CREATE, id="nothing there"),
        pytest.param(FRESH, 0, None, CertificateStep.WAIT, id="new"),
        pytest.param(FRESH, 59.9, 1e6, CertificateStep.WAIT, id="before two thirds of the leaf"),
        pytest.param(FRESH, 60.1, 1e6, CertificateStep.SIGN, id="after two thirds of the leaf"),
        pytest.param(
            attrs.evolve(FRESH, names=frozenset({"old.svc"})), 1, None, CertificateStep.SIGN, id="another service"
        ),
        pytest.param(
            attrs.evolve(FRESH, names=frozenset({*NAMES, "x"})), 1, None, CertificateStep.WAIT, id="a name more"
        ),
        pytest.param(
            attrs.evolve(FRESH, leaf=leaf(240)), 243, 1e6, CertificateStep.WAIT, id="before two thirds of the authority"
        ),
        pytest.param(
            attrs.evolve(FRESH, leaf=leaf(240)), 244, 1e6, CertificateStep.INTRODUCE, id="after two thirds of it"
        ),
        pytest.param(
            OVERLAPPING, 244, None, CertificateStep.WAIT, id="the next authority is not in the configurations"
        ),
        pytest.param(OVERLAPPING, 244, SPREAD - 1, CertificateStep.WAIT, id="it is there, but not for long"),
        pytest.param(OVERLAPPING, 244, SPREAD, CertificateStep.PROMOTE, id="it is trusted everywhere"),
        pytest.param(
            OVERLAPPING, 301, None, CertificateStep.SIGN, id="a leaf is due while the next authority is not trusted"
        ),
        pytest.param(PROMOTED, 250, 1e6, CertificateStep.WAIT, id="the old authority stays trusted"),
        pytest.param(
            attrs.evolve(PROMOTED, leaf=leaf(320, UPCOMING)), 366, 1e6, CertificateStep.PRUNE, id="until it has expired"
        ),
        pytest.param(
            attrs.evolve(FRESH, leaf=leaf(330)), 366, 1e6, CertificateStep.CREATE, id="an authority that has expired"
        ),
        pytest.param(FOUND, 1, None, CertificateStep.WAIT, id="the configurations do not have the new authority"),
        pytest.param(
            FOUND, 1, RETIREMENT - 1, CertificateStep.WAIT, id="a replica may present a certificate of a lost Secret"
        ),
        pytest.param(FOUND, 1, RETIREMENT, CertificateStep.RETIRE, id="no replica presents one"),
        pytest.param(FRESH, -0.1, None, CertificateStep.CREATE, id="an authority that is not valid yet"),
        pytest.param(
            attrs.evolve(FRESH, signer=Life(day(1), day(300), begins=day(0))),
            0.5,
            None,
            CertificateStep.WAIT,
            id="begun",
        ),
        pytest.param(
            attrs.evolve(FRESH, leaf=leaf(2)), 1, None, CertificateStep.SIGN, id="a certificate that is not valid yet"
        ),
        pytest.param(
            OVERLAPPING, 243.9, SPREAD, CertificateStep.WAIT, id="the next authority is trusted, and not valid yet"
        ),
        pytest.param(
            attrs.evolve(OVERLAPPING, leaf=leaf(330)),
            360,
            None,
            CertificateStep.WAIT,
            id="no leaf outlives its authority",
        ),
    ],
)
def test_the_step_follows_from_the_ages(
    state: CertificateState | None, at: float, trusted_for: float | None, step: CertificateStep
) -> None:
    assert plan(state, day(at), NAMES, trusted_for).step is step


def test_a_wait_ends_with_the_first_renewal() -> None:
    assert plan(FRESH, day(1), NAMES, None).until == day(60)
    assert plan(attrs.evolve(FRESH, leaf=leaf(200)), day(201), NAMES, None).until == AUTHORITY.renewal
