# SPDX-License-Identifier: Apache-2.0
"""The whole system under bad weather: replicas that elect a leader, an API server, a user, and what must hold."""
