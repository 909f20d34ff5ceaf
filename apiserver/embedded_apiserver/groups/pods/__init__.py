# SPDX-License-Identifier: Apache-2.0
"""Pods, templates of pods, and claims of volumes."""
