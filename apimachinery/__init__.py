# SPDX-License-Identifier: Apache-2.0
"""The shared ground of the runtime and the embedded API server: objects and requests as values, errors, the host.

Nothing else is here: a test compares the modules with those that both import. Programs take these names from
`controller_runtime` or `embedded_apiserver`.
"""
