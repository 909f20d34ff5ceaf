# SPDX-License-Identifier: Apache-2.0
"""From changes to reconciles: predicates, handlers, sources, workers, and what each outcome of a reconcile means."""
