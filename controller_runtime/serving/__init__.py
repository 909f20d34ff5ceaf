# SPDX-License-Identifier: Apache-2.0
"""A small HTTP server for probes, metrics and webhooks: bounds for everything that a peer can hold."""
