# SPDX-License-Identifier: Apache-2.0
"""The client of the API server, and the transports that carry its requests."""
