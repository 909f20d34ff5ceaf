# SPDX-License-Identifier: Apache-2.0
"""From changes to reconciles: handlers, predicates, sources, workers, and the one switch for outcomes."""
