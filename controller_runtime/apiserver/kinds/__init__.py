# SPDX-License-Identifier: Apache-2.0
"""What is served: a line of data for each kind, and the parts that have a path of their own."""
