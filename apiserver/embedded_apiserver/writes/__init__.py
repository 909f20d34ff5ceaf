# SPDX-License-Identifier: Apache-2.0
"""Create, update, patch, apply and delete: from a request's body to the object to be stored."""
