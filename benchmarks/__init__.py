# SPDX-License-Identifier: Apache-2.0
"""What the project claims about speed, measured beside its peers in one run."""
