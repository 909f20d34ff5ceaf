# SPDX-License-Identifier: Apache-2.0
"""Systems that run under the simulation, and bugs that are planted into them."""
