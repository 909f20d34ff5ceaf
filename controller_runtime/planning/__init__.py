# SPDX-License-Identifier: Apache-2.0
"""One pass over all objects of a program, in which every write is a dry run, and what it would have changed."""
