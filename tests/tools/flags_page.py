# SPDX-License-Identifier: Apache-2.0
"""Writes docs/flags.md, the options of all commands, from the commands: `python tests/tools/flags_page.py`.

With --check nothing is written and a difference is an error.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "flags.md"

from controller_runtime.__main__ import cli as programs  # noqa: E402
from controller_runtime.program.cli_run import run_command  # noqa: E402
from controller_runtime.testing.perturbation.others.command import perturb  # noqa: E402
from controllers.command.cli import cli as controllers  # noqa: E402
from embedded_apiserver.__main__ import command as apiserver  # noqa: E402

HEAD = """# Options of all commands

Generated from the commands by `python tests/tools/flags_page.py`; a test keeps it current.

Each option of a program, and of `controllers`, may come from the environment: `CONTROLLER_LEADER_ELECT=true` is
`--leader-elect`, and `CONTROLLER_METRICS_BIND_ADDRESS=:8080` is `--metrics-bind-address :8080`. The command line
comes first.
"""


def sections() -> Iterator[tuple[str, str, click.Command, set[str]]]:
    """Yield the heading of each command, how it is called, the command, and the options that it leaves out."""
    shared = {name for option in run_command.params for name in option.opts}
    yield "A program", "python program.py`, or `python -m controller_runtime run program.py", run_command, set()
    for group, called in ((programs, "python -m controller_runtime"), (controllers, "python -m controllers")):
        context = click.Context(group)
        for name in group.list_commands(context):
            found = group.get_command(context, name)
            assert found is not None
            if group is controllers and name == "run":
                yield "controllers run", f"{called} run`, with those of a program and", found, shared
            elif name != "run":
                yield f"{called.rpartition(' ')[2].replace('_', '-')} {name}", f"{called} {name}", found, set()
    yield "embedded-apiserver", "python -m embedded_apiserver`, also called `embedded-apiserver", apiserver, set()
    yield "perturb", "python -m controller_runtime.testing.perturb", perturb, set()


def row(option: click.Option) -> str:
    """Return the row of an option: its names, its default, and its help."""
    names = "`, `".join((*option.opts, *option.secondary_opts))
    choices = f" {'|'.join(option.type.choices)}" if isinstance(option.type, click.Choice) else ""
    shown = f" {option.metavar or ''}".rstrip() + choices
    has_default = option.show_default is True and option.default not in (None, False, ())
    default = f" Default: `{option.default}`." if has_default else ""
    text = " ".join((option.help or "").split()).replace("|", "\\|")
    return f"| `{names}`{f' `{shown.strip()}`'.replace('|', chr(92) + '|') if shown else ''} | {text}{default} |"


def page() -> str:
    """Return the page."""
    parts = [HEAD]
    for heading, called, command, left_out in sections():
        options = [each for each in command.params if isinstance(each, click.Option) and not {*each.opts} & left_out]
        after = "" if called.endswith(" and") else "`"
        rows = "\n".join(row(each) for each in options if not each.hidden)
        parts.append(f"## {heading}\n\n`{called}{after}:\n\n| option | effect |\n| --- | --- |\n{rows}\n")
    return "\n".join(parts)


def main() -> int:
    """Write the page, or check it."""
    text = page()
    if "--check" not in sys.argv:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == text:
        return 0
    print("docs/flags.md is out of date: run python tests/tools/flags_page.py", file=sys.stderr)  # noqa: T201
    return 1


if __name__ == "__main__":
    sys.exit(main())
