"""The command line: parse, call one function, print. Results go to standard output, the rest to standard error."""

from __future__ import annotations

import io
import os
import sys
import traceback
import warnings
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from vitrail import __version__
from vitrail.cli.average import average
from vitrail.cli.demo import demo
from vitrail.cli.evaluate import evaluate
from vitrail.cli.explain import explain
from vitrail.cli.info import info
from vitrail.cli.prepare import prepare
from vitrail.cli.score import score
from vitrail.cli.streams import Patient, give_up, open_closed_streams
from vitrail.cli.studio import studio
from vitrail.cli.train import train
from vitrail.cli.translate import translate
from vitrail.errors import StorageError, VitrailError, is_shortage
from vitrail.storage import FULL, explained

app = typer.Typer(
    name="vitrail",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (demo, train, translate, explain, studio, evaluate, score, prepare, average, info):
    app.command()(command)


def _tell_version(asked: bool) -> None:
    if asked:
        print(f"vitrail {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Train a translator from two text files, translate with it, and see through it."""


# typer brings its own click, or takes the one that is installed, by its version: its errors are known by their family.
_UsageError: Any = typer.BadParameter.__bases__[0]


def main() -> None:
    """Run a command; whatever the user got wrong ends in a few lines and exit code 2, never in a traceback."""
    # Threads that wait spin only for a moment, then sleep: where another program wants a core, threads that go on
    # spinning slow everything down tenfold; threads that never spin make small models half as fast.
    os.environ.setdefault("GOMP_SPINCOUNT", "2000")
    warnings.showwarning = _show_warning
    open_closed_streams()
    sys.stderr = Patient(sys.stderr)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # What we read is UTF-8, whatever the terminal's language, and so is what we write. Names of files may be worse.
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
    try:
        code = _run(sys.argv[1:] or ["--help"])
    except VitrailError as error:
        print(f"error: {error}", file=sys.stderr)
        code = error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        code = 130
    except Exception:
        traceback.print_exc()
        print("error: this is a fault in vitrail, not in what you did", file=sys.stderr)
        code = 1
    _close_output()
    sys.exit(code)


def _run(arguments: list[str]) -> int:
    """The command's exit code, where it has one."""
    try:
        code = app(arguments, prog_name="vitrail", standalone_mode=False)
        sys.stdout.flush()
    except _UsageError as error:
        command = error.ctx.command_path if error.ctx is not None else "vitrail"
        raise VitrailError(
            error.format_message().rstrip("."), where="the command line", fix=f"see `{command} --help`"
        ) from None
    except (BrokenPipeError, SystemExit):  # typer makes the second out of the first
        return 0  # whoever read our output has seen enough
    except OSError as error:
        if error.errno in FULL:
            with explained(Path("standard output")):  # whoever writes to a file explains it himself
                raise
        if error.filename is None:
            raise
        raise StorageError(
            f"the system refuses: {error.strerror}", where=str(error.filename), fix="check the path and its permissions"
        ) from error
    except (MemoryError, RuntimeError) as error:
        if not is_shortage(error):
            raise
        raise VitrailError(
            "there is not enough memory for this",
            where="this computer",
            fix="choose a smaller model, train.batch_tokens or beam_size",
        ) from error
    return code or 0


def _close_output() -> None:
    """Give up output that nobody takes: Python would complain about it once more at the very end."""
    for stream in (sys.stdout, sys.stderr):
        try:
            getattr(stream, "stream", stream).flush()
        except OSError:
            give_up(stream)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """A warning is a line for the user, not a place in our code."""
    print(f"warning: {message}", file=sys.stderr)
