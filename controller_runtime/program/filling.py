# SPDX-License-Identifier: Apache-2.0
"""Fills a manager: by the program's own setup function, and then by the options of the command line."""

from __future__ import annotations

from controller_runtime.manager.manager import Manager, Setup
from controller_runtime.program.auditing import choose_audit
from controller_runtime.program.deletions import limit_deletions
from controller_runtime.program.origin import call_setup
from controller_runtime.program.plan import ProgramOptions, ProgramPlan
from controller_runtime.program.sharing import share_work
from controller_runtime.program.webhooks import choose_webhooks, forget_webhooks, webhook_serving


def fill(manager: Manager, setup: Setup, options: ProgramOptions, plan: ProgramPlan) -> None:
    """Call `setup` with a manager, then set deletion budgets, definitions, ring, webhooks and audits by the options.

    Args:
        manager: The manager, which does not run yet.
        setup: Adds the parts of the program to the manager.
        options: The options of the program.
        plan: Where and how the program runs.

    Raises:
        ControllerRuntimeError: `setup` failed, or an option does not fit what it added.
    """
    embedded = plan.cluster.embedded
    serving = webhook_serving(options, embedded=embedded)
    if embedded and options.reload:
        forget_webhooks(manager, serving)
    manager.deletions.default = plan.record
    call_setup(setup, manager)
    limit_deletions(manager, options.deletion_budget, options.open_deletions)
    choose_definitions(manager, embedded=embedded, asked=options.install_crds, allow_breaking=options.allow_breaking)
    share_work(manager, plan.ring)
    choose_webhooks(manager, serving, metrics=options.secure_metrics, installs=options.install_crds)
    choose_audit(manager, embedded=embedded, asked=options.audit_caches)


def choose_definitions(manager: Manager, *, embedded: bool, asked: bool, allow_breaking: bool = False) -> None:
    """Let a manager install custom resource definitions (CRDs) if `asked`, or if its server is an embedded one.

    Args:
        manager: The manager, after `setup` and before it runs.
        embedded: Whether it runs on an embedded server.
        asked: The option `--install-crds`. If `setup` installs no class, the definitions of all cached classes are
            installed, unless they exist.
        allow_breaking: The option `--allow-breaking`. On an embedded server breaking changes are always made, because
            its objects are only for trials.
    """
    if asked and not manager.definitions.wanted:
        manager.install()
    manager.definitions.are_installed = embedded or asked
    manager.definitions.allows_breaking = embedded or allow_breaking
