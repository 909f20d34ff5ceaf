# SPDX-License-Identifier: Apache-2.0
"""The local copy of one collection: store, lister, reflector, informer."""
