# SPDX-License-Identifier: Apache-2.0
"""The server's storage: objects as bytes under one version counter, their recent history, and a journal on disk."""
