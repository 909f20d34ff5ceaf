# SPDX-License-Identifier: Apache-2.0
"""The only room that speaks HTTP: transports, and the client's verbs on them."""
