# SPDX-License-Identifier: Apache-2.0
"""In place of the package of this name, which starts a cluster with kind: the cluster is there already."""

from __future__ import annotations
