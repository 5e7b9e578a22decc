"""Pass the studio's address, which contains the token, to the browser through a file that only its owner can read.

A browser gets the address to open on its command line, and every user of a computer can read all command lines. So the
browser is given a file that redirects to the address. The file is in a folder of its own, and no other user can read
either. Both are removed when the studio closes.
"""

from __future__ import annotations

import html
import os
import shutil
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from vitrail.signals import ending_like_an_interrupt

SNAPS = Path("/snap/bin")  # snap programs can read only the user's home, without its hidden files
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}">
<title>Vitrail studio</title>
</head>
<body><a href="{address}">Vitrail studio</a></body>
</html>
"""


@contextmanager
def opened(address: str, open_it: Callable[[str], object] = webbrowser.open) -> Iterator[None]:
    """Open the address in a browser. The file is removed when the block ends, even by a signal."""
    with ending_like_an_interrupt(), _private_folder() as folder:
        if folder is None:
            print("cannot create a private file for the browser: open the address above yourself", file=sys.stderr)
        else:
            file = folder / "studio.html"
            private = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(private, "w", encoding="utf-8") as stream:
                stream.write(PAGE.format(address=html.escape(address)))
            # Starting a browser may take long, or block until it is closed; the studio must answer meanwhile.
            threading.Thread(target=open_it, args=(file.as_uri(),), daemon=True).start()
        yield


@contextmanager
def _private_folder() -> Iterator[Path | None]:
    """A temporary folder that only this user and the browser can read; None if it cannot be created."""
    folder = _new_folder()
    try:
        yield folder
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _new_folder() -> Path | None:
    places: list[Path | None] = [None]  # the system's folder for temporary files
    if SNAPS.is_dir():
        with suppress(RuntimeError):  # no home folder is known
            places.insert(0, Path.home())
    for place in places:
        with suppress(OSError):
            return Path(tempfile.mkdtemp(prefix="vitrail-studio-", dir=place))
    return None
