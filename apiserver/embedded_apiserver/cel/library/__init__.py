# SPDX-License-Identifier: Apache-2.0
"""The functions that Kubernetes adds to the language: those that rules of definitions may use.

Each library has its declarations next to plain functions of values. `costs` has what calls cost, by which a server
refuses rules when they are written.
"""
