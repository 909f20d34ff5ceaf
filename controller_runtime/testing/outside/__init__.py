# SPDX-License-Identifier: Apache-2.0
"""Fakes of services that a program manages outside of the cluster, for `cluster.outside`; see `docs/outside.md`."""

from __future__ import annotations

from controller_runtime.testing.outside.declaring import outside, reads

__all__ = ["outside", "reads"]
