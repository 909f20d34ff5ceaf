# SPDX-License-Identifier: Apache-2.0
"""The rules that objects of built-in kinds are checked by: one function each, shared by all kinds that embed the part.

Each function takes a part in stored form and its path, and returns the causes in a real server's order and words. A
missing field and its zero value mean the same, as in the structs of a real server.
"""
