# SPDX-License-Identifier: Apache-2.0
"""The conversion between two versions of a cabin."""

from __future__ import annotations

from controller_runtime.crd import converts
from kit.crd.cabins import Cabin, CabinSpec, CabinV1Alpha1, OldSpec


@converts(CabinV1Alpha1, Cabin, keep="example.com/cabin")
def cabins(old: CabinV1Alpha1) -> Cabin:
    """Return a cabin of the newer version; nine bunks do not fit."""
    if old.spec.bunks == 9:
        raise ValueError("nine bunks do not fit")
    return Cabin(CabinSpec(old.spec.bunks), metadata=old.metadata)


@cabins.back
def older(new: Cabin) -> CabinV1Alpha1:
    """Return a cabin of the older version."""
    return CabinV1Alpha1(OldSpec(new.spec.beds), metadata=new.metadata)
