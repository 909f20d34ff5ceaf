# SPDX-License-Identifier: Apache-2.0
"""The source of a setup function: a module and a name in it, or a file and a name in it."""

from __future__ import annotations

import contextlib
import difflib
import functools
import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import cast

import attrs

from apimachinery.errors import ControllerRuntimeError, UsageError
from apimachinery.plain_functions import plain, refuse_awaitable
from controller_runtime.manager.manager import Manager, Setup

DEFAULT = "setup"
"""The name of the function if none is given."""

_ALWAYS_KEPT = ("controller_runtime",)
_INSTALLED = frozenset({"site-packages", "dist-packages"})

_importing: list[Origin] = []
"""The origins whose import is under way, so that `run` can refuse to be called by it."""


class ProgramFailed(ControllerRuntimeError):
    """Raised if the program's own code raised an error when it was imported or set up.

    Args:
        what: The step that failed.
        error: The error.

    Attributes:
        block: The traceback as text, without its first frames, which are of this package and the import system.
    """

    def __init__(self, what: str, error: BaseException) -> None:
        self.block = told(error)
        super().__init__(f"{what}: {self.block.splitlines()[-1]}")


@attrs.frozen
class Origin:
    """The source of a setup function.

    Attributes:
        module: The module's name.
        attribute: The name of the function in the module.
        path: The file from which the module is loaded; None to import it by its name.
    """

    module: str
    attribute: str = DEFAULT
    path: Path | None = None

    def __str__(self) -> str:
        return f"{self.path or self.module}:{self.attribute}"

    @classmethod
    def parse(cls, text: str) -> Origin:
        """Return the origin that `text` names: a module or a file, optionally followed by a colon and the function.

        Raises:
            UsageError: There is no such file, or the text has another form.
        """
        place, _, attribute = text.partition(":")
        attribute = attribute or DEFAULT
        if place.endswith(".py") or os.sep in place:
            path = Path(place).resolve()
            if not path.is_file():
                raise UsageError(f"there is no file {place}: name a Python file, such as operator.py:{DEFAULT}")
            return cls(path.stem, attribute, path)
        if not all(part.isidentifier() for part in (*place.split("."), attribute)):
            raise UsageError(f"{text!r} names no function: give MODULE:{DEFAULT}, or FILE.py:{DEFAULT}")
        return cls(place, attribute)

    @classmethod
    def of(cls, setup: Setup) -> Origin | None:
        """Return the origin of an imported function; None if it is not at the top level of a module."""
        module, name = getattr(setup, "__module__", ""), getattr(setup, "__qualname__", "")
        main = sys.modules.get("__main__")
        if module != "__main__" or main is None:
            return cls(module, name) if module in sys.modules and name.isidentifier() else None
        spec = getattr(main, "__spec__", None)
        if spec is not None and name.isidentifier():  # started by `python -m`
            return cls(spec.name, name)
        file = getattr(main, "__file__", None)
        if file is None or not name.isidentifier():
            return None
        return cls(Path(file).stem, name, Path(file).resolve())

    @property
    def folder(self) -> Path:
        """The folder of the program: the folder of its file, or the top-level package of its module.

        Raises:
            UsageError: The module is not imported, or was not loaded from a file.
        """
        if self.path is not None:
            return self.path.parent
        top = sys.modules.get(self.module.partition(".")[0])
        places = [*getattr(top, "__path__", ())]
        file = getattr(top, "__file__", None)
        if file is None and not places:
            raise UsageError(f"{self.module} is not imported from a file, so its changes cannot be watched")
        return Path(places[0]) if places else Path(str(file)).resolve().parent

    def load(self) -> Setup:
        """Import the module and return the function.

        Raises:
            UsageError: There is no such module, or no such function in it.
            ProgramFailed: The module raised an error.
        """
        _importing.append(self)
        try:
            module = self._import()
        except (UsageError, ProgramFailed):
            raise
        except (Exception, SystemExit) as error:  # the module's own failure: its author sees it without our frames
            raise ProgramFailed(f"cannot import {self.path or self.module}", error) from error
        finally:
            _importing.pop()
        return self._setup_of(module)

    def _import(self) -> ModuleType:
        if self.path is not None:
            return self._import_file(self.path)
        if "" not in sys.path and os.getcwd() not in sys.path:
            sys.path.insert(0, os.getcwd())
        try:
            return importlib.import_module(self.module)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{self.module}.".startswith(f"{error.name}."):
                raise  # a module that this one imports
            raise UsageError(
                f"there is no module {self.module}: run this in the folder that contains it, or name a file"
            ) from error

    def _import_file(self, path: Path) -> ModuleType:
        if str(path.parent) not in sys.path:
            sys.path.insert(0, str(path.parent))
        # A file may be called as a module that is imported already, such as `operator`.
        name = f"{self.module}__program" if self.module in sys.modules else self.module
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise UsageError(f"{path} is not a Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
        return module

    def _setup_of(self, module: ModuleType) -> Setup:
        found: object = getattr(module, self.attribute, None)
        if found is None:
            near = difflib.get_close_matches(self.attribute, vars(module), n=1)
            hint = f"did you mean {near[0]!r}" if near else f"define `def {self.attribute}(manager)` in it"
            raise UsageError(f"{self.path or self.module} has no {self.attribute!r}: {hint}")
        if not callable(found):
            raise UsageError(f"{self} is a {type(found).__name__}, not a function that takes a manager")
        return cast("Setup", found)


def refuse_inside_import() -> None:
    """Check that no import of a program is running: a module must not call `run` at its top level.

    Raises:
        UsageError: An import is running.
    """
    if _importing:
        raise UsageError(f"{_importing[-1]} calls run when it is imported: put that under `if __name__ == '__main__':`")


def call_setup(setup: Setup, manager: Manager) -> None:
    """Call `setup`, and check that it returns nothing.

    Raises:
        UsageError: `setup` is an `async def`, or returned a value, which would be ignored.
        ControllerRuntimeError: `setup` raised it.
        ProgramFailed: `setup` raised another error.
    """
    name, call = getattr(setup, "__qualname__", "setup"), cast("Callable[[Manager], object]", plain("setup", setup))
    try:
        returned = call(manager)
    except ControllerRuntimeError:
        raise
    except Exception as error:  # the program's own failure: its author sees it without our frames
        raise ProgramFailed(f"{name} failed", error) from error
    refuse_awaitable("setup", setup, returned)
    if returned is not None:
        raise UsageError(f"{name} returned a {type(returned).__name__}, not None: it must add it by manager.add")


def modules_below(folder: Path, modules: Mapping[str, ModuleType | None] | None = None) -> dict[str, Path]:
    """Return the files of the imported modules in `folder`, by module name, without installed packages.

    The module `__main__` and the modules of this package are excluded, since they cannot be imported again.
    """
    found = {}
    for name, module in [*(sys.modules if modules is None else modules).items()]:
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or name == "__main__" or name.partition(".")[0] in _ALWAYS_KEPT:
            continue
        if not _is_below(folder, file):
            continue
        path = Path(file).resolve()
        if path.is_relative_to(folder) and not _INSTALLED & {*path.relative_to(folder).parts}:
            found[name] = path
    return found


@functools.cache
def _is_below(folder: Path, file: str) -> bool:
    """Return whether a file was in a folder when it was asked for first: nearly all of a thousand modules never are."""
    return Path(file).resolve().is_relative_to(folder)


@contextlib.contextmanager
def forgotten(folder: Path) -> Iterator[None]:
    """Return a context manager: inside it the modules below `folder` are forgotten, so that an import reads them again.

    If the block raises, the earlier modules are restored, and newly imported ones are removed.
    """
    before = {name: sys.modules[name] for name in modules_below(folder)}
    for name in before:
        del sys.modules[name]
    importlib.invalidate_caches()
    try:
        yield
    except BaseException:
        for name in modules_below(folder):
            del sys.modules[name]
        sys.modules.update(before)
        raise


def told(error: BaseException) -> str:
    """Return the traceback of an error as text, without the first frames of this package and of the import system."""
    found = traceback.TracebackException.from_exception(error)
    ours = str(Path(__file__).parents[1])
    frames = [*found.stack]
    while frames and (frames[0].filename.startswith(ours) or "importlib" in frames[0].filename):
        frames.pop(0)
    found.stack = traceback.StackSummary.from_list(frames)
    return "".join(found.format()).rstrip()
