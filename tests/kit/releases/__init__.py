# SPDX-License-Identifier: Apache-2.0
"""The facts that a real server tells of its own release, recorded and compared with the newest."""
