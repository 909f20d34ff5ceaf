# SPDX-License-Identifier: Apache-2.0
"""Work that the server does by itself: garbage collection, the cleanup of deleted namespaces, its identity lease."""
