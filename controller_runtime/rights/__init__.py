# SPDX-License-Identifier: Apache-2.0
"""The rights of a program, from what its managers asked of the API server in tests; see `docs/testing.md`.

Requests become accesses, those become the rules of roles, and roles are read from and written to files.
"""

from __future__ import annotations

from controller_runtime.rights.access import Access, granted_by, minimal, roles
from controller_runtime.rights.comparison import Comparison, compared
from controller_runtime.rights.file import read, text_of, write
from controller_runtime.rights.recorder import Recorder

__all__ = ["Access", "Comparison", "Recorder", "compared", "granted_by", "minimal", "read", "roles", "text_of", "write"]
