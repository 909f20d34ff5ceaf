# SPDX-License-Identifier: Apache-2.0
"""What the server does by itself: garbage collection, the end of namespaces, its own lease."""
