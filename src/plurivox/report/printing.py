"""Pages as PDF, through Chromium if it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from plurivox.base.errors import FileError, InputError
from plurivox.base.files import write_bytes

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
SWITCHES = (
    "--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-extensions", "--no-pdf-header-footer",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)  # fmt: skip
"""A page is printed without any request, including the browser's own."""
SECONDS = 180
MARK = b"% made by plurivox\n"


def browser() -> str | None:
    """Return the path of Chromium, if it is installed."""
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


def check_browser() -> str:
    """Return the path of Chromium, or raise because a PDF needs it."""
    found = browser()
    if found is None:
        raise InputError(
            "a PDF needs Chromium, which is not installed on this machine",
            hint="Install chromium or Google Chrome, or open the HTML file and print it.",
        )
    return found


def write_pdf(path: str | os.PathLike[str], html: str, inputs: Iterable[str] = ()) -> Path:
    """Print a page to a PDF file, all of it or nothing; what is folded away under ``#appendix`` is opened first."""
    program = check_browser()
    with tempfile.TemporaryDirectory(prefix="plurivox-") as folder:
        page, made = Path(folder, "page.html"), Path(folder, "page.pdf")
        page.write_text(html, encoding="utf-8")
        root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        command = [
            program, *SWITCHES, *root, f"--user-data-dir={Path(folder, 'profile')}", f"--print-to-pdf={made}",
            f"{page.as_uri()}#appendix",
        ]  # fmt: skip
        try:
            done = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)  # noqa: S603
        except (OSError, subprocess.TimeoutExpired) as error:
            raise FileError(f"Chromium could not print the page: {error}", source=str(path)) from None
        if done.returncode or not made.is_file():
            last = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["it gave no reason"]
            raise FileError(f"Chromium could not print the page: {last[0]}", source=str(path))
        return write_bytes(path, marked(made.read_bytes()), inputs)


def marked(pdf: bytes) -> bytes:
    """Return a PDF with a comment that says who made it, where it moves nothing that the last lines point to."""
    body, last, end = pdf.rpartition(b"startxref")
    return body + MARK + last + end
