# SPDX-License-Identifier: Apache-2.0
"""What the server keeps: objects as bytes under one version counter, their recent history, the journal on disk."""
