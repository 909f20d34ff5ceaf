# SPDX-License-Identifier: Apache-2.0
"""The node agent: what a kubelet does to stay alive in the API, on the machine it runs on."""
