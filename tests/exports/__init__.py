"""Files in the exact shape in which people have them: plain, awkward and broken ones, with what is in each."""

from __future__ import annotations

import importlib
import pkgutil

from exports.record import Case


def cases() -> list[Case]:
    """Return the cases of all modules here."""
    modules = [importlib.import_module(f"exports.{one.name}") for one in pkgutil.iter_modules(__path__)]
    return [case for module in modules for case in getattr(module, "CASES", ())]
