# SPDX-License-Identifier: Apache-2.0
"""Local copies of collections: the reflector fills a store, handlers receive its changes, listers read it."""
