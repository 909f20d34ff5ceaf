# SPDX-License-Identifier: Apache-2.0
"""Runs each command of README and tutorial as it is printed, in order: `python tests/tools/as_printed.py`.

Each page begins in an empty folder, and the files that it shows are written where it says. A command that runs until it
is stopped gets SIGINT before the next one of its terminal. An embedded server in another process stands for a cluster.
`--page README.md` runs one page. Each command prints one line; the exit status is 1 if one failed or showed something
else than the page.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests")]

from kit.tutorial import Block, blocks_of, commands_of, write  # noqa: E402

SUBSTITUTIONS = (
    ("git clone URL ", f"git clone --quiet {ROOT} "),
    ("/path/to/the/clone", "{folder}/clone"),
    (" FILE", " ~/.kube/config"),
)
"""Words of a page that each reader replaces, and ours."""
LEFT_OUT = {"tox": "the tests themselves, which take most of an hour"}
"""Commands that are not run, each with the reason."""
UNTIL_STOPPED = re.compile(r"^python (?:-m controllers run|examples/\w+\.py|restarts\.py)\b(?!.* --plan)")
STARTED = "controller started"
WOULD_CHANGE = 3
"""The exit status of `--plan` where something would change."""
PATIENCE = 600.0
"""Seconds that one command may take: pip builds and installs everything."""


class Reader:
    """The state of the commands of a page: folder, variables, and the command that runs in the first terminal."""

    def __init__(self, folder: Path) -> None:
        self.folder = self.place = folder
        kept = ("PATH", "LANG", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "PIP_INDEX_URL", "PIP_CERT")
        self.environment = {name: os.environ[name] for name in kept if name in os.environ} | {"HOME": str(folder)}
        self.running: subprocess.Popen[str] | None = None
        self.failures = list[str]()

    def do(self, command: str, shown: list[str] | None = None) -> None:
        """Run a command, and compare the lines that it writes with those that the page shows."""
        if reason := LEFT_OUT.get(command):
            print(f"left out: {command} ({reason})")
            return
        for word, ours in SUBSTITUTIONS:
            command = command.replace(word, ours.format(folder=self.folder))
        began = time.monotonic()
        if UNTIL_STOPPED.match(command):
            self.stop()
            status, written = self.start(command)
        else:
            status, written = self.finish(command)
        is_as_shown = shown is None or is_shown(shown, written)
        may_fail = (shown is not None and "failed" in shown[-1]) or (status == WOULD_CHANGE and "--plan" in command)
        is_good = (status == 0 or may_fail) and is_as_shown
        print(f"{'ok' if is_good else 'FAILED'}: {command} ({time.monotonic() - began:.0f} s)", flush=True)
        if not is_good:
            self.failures.append(f"{command}\nexit status {status}\n{written[-3000:]}")

    def finish(self, command: str) -> tuple[int, str]:
        """Run a command to its end, and keep what it changed in the shell: its folder and its variables."""
        state = self.folder / "state"
        script = f"{command}\nstatus=$?\n(pwd; env -0) > {state}\nexit $status\n"
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self.place,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        place, _, variables = state.read_text().partition("\n")
        self.place = Path(place)
        self.environment = dict(each.split("=", 1) for each in variables.split("\0") if "=" in each)
        return done.returncode, done.stdout

    def start(self, command: str) -> tuple[int, str]:
        """Start a command that runs until it is stopped, and wait until its controllers have started."""
        self.running = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            cwd=self.place,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self.running.stdout is not None
        written = ""
        for line in self.running.stdout:
            written += line
            if found := re.search(r"kubeconfig=(\S+)", line):
                self.environment["KUBECONFIG"] = found[1]
            if STARTED in line:
                return 0, written
        return self.running.wait() or 1, written

    def stop(self) -> None:
        """Interrupt the command that still runs, as Ctrl-C does."""
        if self.running is not None:
            self.running.send_signal(signal.SIGINT)
            written, _ = self.running.communicate(timeout=60.0)
            if self.running.returncode:
                self.failures.append(f"{self.running.args} ended with {self.running.returncode}:\n{written[-3000:]}")
            self.running = None
            self.environment.pop("KUBECONFIG", None)


def is_shown(shown: list[str], written: str) -> bool:
    """Return whether each line that a page shows begins a line that was written; pytest adds how long it took."""
    lines = [line.removeprefix("FAILED ").strip("= ") for line in written.splitlines()]
    return all(any(line.startswith(each.removeprefix("FAILED ")) for line in lines) for each in shown)


def read(page: Path, reader: Reader) -> None:
    """Do what a page says, from its first block to its last."""
    for block in blocks_of(page.read_text(encoding="utf-8")):
        if block.mark.startswith("example: "):
            save(block, reader)
        elif block.mark.startswith(("file: ", "merge: ")):
            write(reader.place, block)
        elif block.language == "console":
            for command, shown in commands_of(block):
                reader.do(command, shown)
        elif not block.language:
            for command in block.text.splitlines():
                if command and not command.startswith("#"):
                    reader.do(command.partition("  #")[0].rstrip())
    reader.stop()


def save(block: Block, reader: Reader) -> None:
    """Save an example in a folder of its own, and run the tests there when it is one."""
    folder = reader.folder / "saved"
    folder.mkdir(exist_ok=True)
    name = Path(block.mark.removeprefix("example: ")).name
    (folder / name).write_text(block.text, encoding="utf-8")
    if name.startswith("test_"):
        reader.do(f"(cd {folder} && pytest -q)", ["1 passed"])


def main() -> None:
    """Read the pages, and end with status 1 if a command failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", action="append", help="a page, relative to the repository; by default both")
    failures = []
    for name in parser.parse_args().page or ["README.md", "docs/tutorial.md"]:
        with tempfile.TemporaryDirectory() as temporary:
            print(f"== {name}")
            reader = Reader(Path(temporary))
            (reader.folder / ".kube").mkdir()
            subprocess.run(["git", "clone", "--quiet", ROOT, reader.folder / "clone"], check=True)
            server = [sys.executable, "-m", "embedded_apiserver", "--kubeconfig-out", f"{temporary}/.kube/config"]
            with subprocess.Popen(
                server, cwd=ROOT, env=os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT}/apiserver"}
            ) as cluster:
                read(ROOT / name, reader)
                cluster.send_signal(signal.SIGINT)
            failures += reader.failures
    sys.exit("\n\n".join(failures) or None)


if __name__ == "__main__":
    main()
