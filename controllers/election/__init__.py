# SPDX-License-Identifier: Apache-2.0
"""Coordinated leader election: a controller decides which of several candidates leads."""
