# SPDX-License-Identifier: Apache-2.0
"""The manager: builds the parts of a process, starts them in order and stops them in reverse."""
