# SPDX-License-Identifier: Apache-2.0
"""The status page of a manager: tables of what it knows, for people in a browser, taken only while somebody looks."""
