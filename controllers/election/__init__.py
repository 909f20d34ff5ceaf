# SPDX-License-Identifier: Apache-2.0
"""Coordinated leader election: who of the candidates shall lead, decided from outside of them."""
