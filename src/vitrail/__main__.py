"""Where the program starts: `vitrail` and `python -m vitrail`.

Importing the commands takes a tenth of a second. Ctrl-C during that time ends the program as quietly as later.
"""

from __future__ import annotations

import os
import signal

INTERRUPTED = 130


def main() -> None:
    """Run a command."""
    is_ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not ignored, as in the background
    if is_ours:
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))  # nothing to clean up yet
    from vitrail.cli import main as run

    if is_ours:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        run()
    except SystemExit as end:
        if end.code == INTERRUPTED:
            os._exit(INTERRUPTED)  # everything is written; an engine's workers would first finish what they have begun
        raise
    finally:
        if is_ours:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the exit code is decided, and the interpreter is closing


if __name__ == "__main__":
    main()
