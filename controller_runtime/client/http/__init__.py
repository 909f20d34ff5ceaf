# SPDX-License-Identifier: Apache-2.0
"""Plain HTTP connections to an API server: how they are made, kept, authorized and read."""
