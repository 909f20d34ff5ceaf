# SPDX-License-Identifier: Apache-2.0
"""Manifests of a program, made from its code: YAML, a kustomization or a Helm chart."""
