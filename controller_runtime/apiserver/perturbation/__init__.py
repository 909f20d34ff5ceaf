# SPDX-License-Identifier: Apache-2.0
"""Perturbation of the clients of a server: one of them ends at a write, or sees a resource late or never.

`triggers.py` says when it happens, by what can be told in every run; `plan_file.py` reads that from a file;
`handler.py` does it between the clients and the server. `testing/perturbation` is built on the same parts.
"""
