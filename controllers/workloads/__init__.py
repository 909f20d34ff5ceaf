# SPDX-License-Identifier: Apache-2.0
"""The controllers of workloads: what makes a Deployment, StatefulSet, DaemonSet, Job or CronJob into pods that run.

Each follows the observable behaviour of the controller of that name in kube-controller-manager, held against
recordings of it. `workloads.py` composes them; pure modules (`…_plan.py`) decide, and reconcilers act.
"""
