# SPDX-License-Identifier: Apache-2.0
"""Deterministic simulation: real threads in virtual time; their schedule and faults follow from a seed."""

from controller_runtime.testing.simulation.clocks import EPOCH
from controller_runtime.testing.simulation.locks import SimulatedThread
from controller_runtime.testing.simulation.simulation import SimulatedHost, Simulation
from controller_runtime.testing.simulation.strategies import Strategy
from controller_runtime.testing.simulation.tasks import Crashed, Hang, LockHeld

__all__ = ["EPOCH", "Crashed", "Hang", "LockHeld", "SimulatedHost", "SimulatedThread", "Simulation", "Strategy"]
