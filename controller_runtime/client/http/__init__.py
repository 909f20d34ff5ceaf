# SPDX-License-Identifier: Apache-2.0
"""The transport over HTTP/1.1: connections, answers, streams, credentials and configuration."""
