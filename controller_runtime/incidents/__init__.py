# SPDX-License-Identifier: Apache-2.0
"""The recorder: what reconciles read, asked and wrote, in a bounded memory and in files that can be replayed."""

from controller_runtime.incidents.options import Incidents

__all__ = ["Incidents"]
