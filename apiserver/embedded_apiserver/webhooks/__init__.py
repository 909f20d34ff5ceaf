# SPDX-License-Identifier: Apache-2.0
"""Calls of the server to webhooks: who makes them, what is sent, and how answers are read."""

from embedded_apiserver.webhooks.caller import TIMED_OUT, Target, Unreached, refused, unreachable

__all__ = ["TIMED_OUT", "Target", "Unreached", "refused", "unreachable"]
