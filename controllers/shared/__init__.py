# SPDX-License-Identifier: Apache-2.0
"""Parts that several controllers and commands use: quantities, an index of pods, signals, the start of a command."""
