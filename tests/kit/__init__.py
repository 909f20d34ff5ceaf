# SPDX-License-Identifier: Apache-2.0
"""Helpers that tests share: benches, scripted servers, witnesses and planted bugs."""
