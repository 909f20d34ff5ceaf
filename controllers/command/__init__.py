# SPDX-License-Identifier: Apache-2.0
"""The command line: its options, what they start, and what is shown while it runs."""
