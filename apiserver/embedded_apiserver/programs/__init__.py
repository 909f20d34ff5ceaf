# SPDX-License-Identifier: Apache-2.0
"""Programs that a test gives in place of those in containers: they answer exec, attach and forwarded ports.

A program is a function. It is called with a `Process` for each command, on a thread of its own, and returns the exit
status. It can wait, in the host's time; its blocking calls raise `Killed` once its pod is gone.
"""

from embedded_apiserver.programs.process import Input, Killed, Output, Process
from embedded_apiserver.programs.registry import Function, Program, Programs
from embedded_apiserver.programs.tar import tar

__all__ = ["Function", "Input", "Killed", "Output", "Process", "Program", "Programs", "tar"]
