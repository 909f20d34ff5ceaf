# SPDX-License-Identifier: Apache-2.0
"""Pieces that several controllers use: quantities, indices, a session with the API server, and logs of troubles."""
