# SPDX-License-Identifier: Apache-2.0
"""Sends the same requests to the embedded server and to a real one, and tells where the answers differ."""
