# SPDX-License-Identifier: Apache-2.0
"""What happened, told to the people who look after the cluster: few events, each worth reading."""
