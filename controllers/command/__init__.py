# SPDX-License-Identifier: Apache-2.0
"""The command line: what is run, where, and what one sees of it."""
