# SPDX-License-Identifier: Apache-2.0
"""Flow schemas and priority levels."""
