# SPDX-License-Identifier: Apache-2.0
"""The kinds that the server serves, as data, and the subresources that they can have."""
