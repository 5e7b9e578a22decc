"""How the browser learns the studio's address, which holds the token: by a file that only its owner can read.

A browser is started with what it is to open on its command line, and every user of a computer can read every command
line. So it is told to open a file that leads on to the address. The file is in a folder of its own; nobody else can
look into either. Both are gone when the studio is closed.
"""

from __future__ import annotations

import html
import os
import shutil
import signal
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SNAPS = Path("/snap/bin")  # programs that see no folder but the user's home, and nothing that is hidden there
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
    """Have a browser open the address; what it was told by is removed when the block ends, by a signal too."""
    with _ending_like_an_interrupt(), _private_folder() as folder:
        if folder is None:
            print("there is no place for a private file: open the address above yourself", file=sys.stderr)
        else:
            file = folder / "studio.html"
            private = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(private, "w", encoding="utf-8") as stream:
                stream.write(PAGE.format(address=html.escape(address)))
            # A browser may take its time, or never come back, and the studio should answer it meanwhile.
            threading.Thread(target=open_it, args=(file.as_uri(),), daemon=True).start()
        yield


@contextmanager
def _private_folder() -> Iterator[Path | None]:
    """A folder for nobody else's eyes, where a browser can read, as long as the block lasts; None if none can be."""
    folder = _new_folder()
    try:
        yield folder
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _new_folder() -> Path | None:
    places: list[Path | None] = [None]  # where the system keeps temporary files
    if SNAPS.is_dir():
        with suppress(RuntimeError):  # nobody's home
            places.insert(0, Path.home())
    for place in places:
        with suppress(OSError):
            return Path(tempfile.mkdtemp(prefix="vitrail-studio-", dir=place))
    return None


@contextmanager
def _ending_like_an_interrupt() -> Iterator[None]:
    """Being asked to end, or losing the terminal, ends a block as Ctrl-C does: what follows it still happens."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    ours = [number for number in numbers if signal.getsignal(number) == signal.SIG_DFL]  # nohup has its reasons
    for number in ours:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)
