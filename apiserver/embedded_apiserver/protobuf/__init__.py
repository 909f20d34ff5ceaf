# SPDX-License-Identifier: Apache-2.0
"""Protobuf, the form in which clients written in Go send and read objects: messages, envelopes and frames."""
