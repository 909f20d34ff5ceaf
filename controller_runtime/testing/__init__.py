# SPDX-License-Identifier: Apache-2.0
"""What tests are written with: the simulated host, the embedded server, helpers."""
