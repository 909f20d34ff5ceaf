# SPDX-License-Identifier: Apache-2.0
"""The built-in kinds, by groups of the API: each is one value, with its names, its policy, its checks and its cells."""
