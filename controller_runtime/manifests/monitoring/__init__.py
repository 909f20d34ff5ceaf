# SPDX-License-Identifier: Apache-2.0
"""A Grafana dashboard and Prometheus alerts for the metrics of a program, and objects that bring up both."""
