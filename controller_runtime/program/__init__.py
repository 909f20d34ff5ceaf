# SPDX-License-Identifier: Apache-2.0
"""A process around a manager: its flags, its signals, its cluster, its endpoints, its log and its view."""
