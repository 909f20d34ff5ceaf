# SPDX-License-Identifier: Apache-2.0
"""Helpers of the tests that run against several servers, real ones and recordings among them."""
