# SPDX-License-Identifier: Apache-2.0
"""The status page of a manager: tables of its state, for people in a browser, made only while a page is open."""
