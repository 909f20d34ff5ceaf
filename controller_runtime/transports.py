# SPDX-License-Identifier: Apache-2.0
"""Transports: the connections over which a client sends its requests, and what wraps them."""

from __future__ import annotations

from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.client.http.rest_config import RESTConfig
from controller_runtime.client.http.transport import HTTPTransport
from controller_runtime.client.transport import Stream, Transport, TransportWrapper

__all__ = [
    "HTTPRequest",
    "HTTPResponse",
    "HTTPTransport",
    "RESTConfig",
    "Stream",
    "Transport",
    "TransportWrapper",
]
