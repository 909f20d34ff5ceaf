# SPDX-License-Identifier: Apache-2.0
"""Decides the next step of the certificates from their ages. Pure functions: the state and the time in, a step out.

Clients trust every authority of the bundle. A new authority joins it, signs only once the bundle has reached the API
servers, and leaves it when it expires. If the Secret is lost, the authorities that the configurations have stay next to
the new one until every replica presents a certificate of it. So at each moment every certificate that any replica
presents is trusted.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from datetime import datetime, timedelta

import attrs

AUTHORITY_LIFE = timedelta(days=365)
"""The time for which an authority is valid; the next one joins it after two thirds. The number is ours."""

LEAF_LIFE = timedelta(days=90)
"""The time for which a leaf is valid; the next one follows after two thirds. The number is ours."""

SPREAD = 60.0
"""Seconds for which the configurations must have had an authority before it signs, because each API server learns of it
through a watch of its own."""

RETIREMENT = 300.0
"""Seconds for which the configurations must have had a new authority before those are removed that were found in them
when the Secret was lost. It is three times as long as a replica takes to present a certificate of the new one: one
check of 20 s, `SPREAD` and a further check.
"""


@attrs.frozen
class Life:
    """The validity of a certificate.

    Attributes:
        made: When it was made, by the clock of the replica that made it.
        expires: When it expires.
        begins: From when on it is valid: before `made`, since clocks differ.
    """

    made: datetime
    expires: datetime
    begins: datetime = attrs.field(default=attrs.Factory(lambda life: life.made, takes_self=True))

    def is_valid(self, now: datetime) -> bool:
        """Return whether the certificate is valid now: it has begun, and has not expired."""
        return self.begins <= now < self.expires

    @property
    def renewal(self) -> datetime:
        """The time at which two thirds of the validity are over, when the certificate should be renewed."""
        return self.made + (self.expires - self.made) * 2 / 3


@attrs.frozen(kw_only=True)
class CertificateState:
    """The state of the certificates in the Secret.

    Attributes:
        signer: The validity of the authority that signs.
        upcoming: The validity of the next authority, which is trusted but does not sign yet; None if there is none.
        leaf: The validity of the server certificate.
        names: The names in the server certificate.
        trusted: The validities of all authorities in the bundle.
        has_former: Whether some of those were found in configurations or definitions when the Secret was lost.
    """

    signer: Life
    upcoming: Life | None
    leaf: Life
    names: frozenset[str]
    trusted: Sequence[Life]
    has_former: bool = False


class CertificateStep(enum.Enum):
    """A change of the certificates in the Secret."""

    CREATE = "create an authority"
    SIGN = "sign a new leaf"
    INTRODUCE = "introduce the next authority"
    PROMOTE = "sign by the next authority"
    PRUNE = "remove expired authorities"
    RETIRE = "remove the authorities of a lost Secret"
    WAIT = "wait"


@attrs.frozen
class CertificatePlan:
    """The next step for the certificates.

    Attributes:
        step: The change to make now.
        why: The reason, for the log.
        until: For `WAIT`, when the next step is due at the latest.
    """

    step: CertificateStep
    why: str = ""
    until: datetime = datetime.max


def plan(
    state: CertificateState | None, now: datetime, names: Sequence[str], trusted_for: float | None
) -> CertificatePlan:
    """Return the next step for the certificates.

    Args:
        state: The state of the Secret; None if it is missing or unusable.
        now: The current time of the wall clock.
        names: The names that the server certificate must have.
        trusted_for: Seconds for which all configurations and definitions that exist have had the bundle; None if some
            do not have it.
    """
    if state is None:
        return CertificatePlan(CertificateStep.CREATE, "there is none yet")
    if state.signer.expires <= now:
        return CertificatePlan(CertificateStep.CREATE, "the authority has expired")
    if not state.signer.is_valid(now):
        return CertificatePlan(CertificateStep.CREATE, "the authority is not valid yet: a clock was wrong")
    if state.upcoming is None and state.signer.renewal <= now:
        return CertificatePlan(CertificateStep.INTRODUCE, "two thirds of the authority's life are over")
    if state.upcoming is not None and state.upcoming.is_valid(now) and (trusted_for or 0.0) >= SPREAD:
        return CertificatePlan(CertificateStep.PROMOTE, "the next authority is trusted")
    if missing := set(names) - state.names:
        return CertificatePlan(CertificateStep.SIGN, f"the certificate is not for {', '.join(sorted(missing))}")
    if state.leaf.begins > now:
        return CertificatePlan(CertificateStep.SIGN, "the certificate is not valid yet: a clock was wrong")
    # Near the end of its authority a new leaf would live no longer than the old one.
    if state.leaf.renewal <= now and min(now + LEAF_LIFE, state.signer.expires) > state.leaf.expires:
        return CertificatePlan(CertificateStep.SIGN, "two thirds of the certificate's life are over")
    if any(each.expires <= now for each in state.trusted):
        return CertificatePlan(CertificateStep.PRUNE, "an authority has expired")
    if state.has_former and trusted_for is not None and trusted_for >= RETIREMENT:
        return CertificatePlan(CertificateStep.RETIRE, "every replica presents a certificate of the new one")
    ends = [each.expires for each in state.trusted]
    renewals = [state.leaf.renewal] if state.leaf.renewal > now else []
    renewals += [state.signer.renewal] if state.upcoming is None else []
    return CertificatePlan(CertificateStep.WAIT, until=min([*ends, *renewals]))
