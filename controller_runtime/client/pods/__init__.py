# SPDX-License-Identifier: Apache-2.0
"""Logs, commands, streams and ports of pods; `Client.logs`, `exec`, `open_exec`, `attach` and `port_forward` make them.

Each is bounded in time, and a command in its output, too. Each message to a pod is held to the limits of the client's
requests, such as a leadership or a deadline of a reconcile. `client.pods.asynchronous` has the
classes that `AsyncClient` returns.
"""
