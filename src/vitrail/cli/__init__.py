"""The command line: parse, call one function, print. Results go to stdout, everything else to stderr."""

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
from vitrail.cli.alternatives import alternatives
from vitrail.cli.average import average
from vitrail.cli.calibrate import calibrate
from vitrail.cli.demo import demo
from vitrail.cli.distill import distill
from vitrail.cli.doctor import doctor
from vitrail.cli.evaluate import evaluate
from vitrail.cli.explain import explain
from vitrail.cli.export import export
from vitrail.cli.heads import heads
from vitrail.cli.import_model import import_model
from vitrail.cli.info import info
from vitrail.cli.keys import keys
from vitrail.cli.prepare import prepare
from vitrail.cli.publish import publish
from vitrail.cli.score import score
from vitrail.cli.serve import serve
from vitrail.cli.shortlist import shortlist
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
_COMMANDS = (demo, train, distill, translate, explain, studio, publish, serve, evaluate, score)
_MORE = (alternatives, doctor, prepare, average, calibrate, heads, shortlist, info, export, keys)
for command in (*_COMMANDS, *_MORE):
    app.command()(command)
app.command("import")(import_model)  # a function cannot have this name


def _print_version(requested: bool) -> None:
    if requested:
        print(f"vitrail {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Train a translator from two text files, translate with it, and look inside it."""


# Some versions of typer bundle click, others use the installed one; this is the base of the usage errors of either.
_UsageError: Any = typer.BadParameter.__bases__[0]


def main() -> None:
    """Run a command. A user error ends in a few lines and exit code 2, never in a traceback."""
    # Waiting threads spin for a moment, then sleep. Threads that keep spinning slow everything down tenfold if another
    # program needs a core; threads that never spin make small models half as fast.
    os.environ.setdefault("GOMP_SPINCOUNT", "2000")
    warnings.showwarning = _show_warning
    open_closed_streams()
    sys.stderr = Patient(sys.stderr)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Output is UTF-8, as input is, whatever the terminal's locale. File names may not even be valid text.
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
        print("error: this is a bug in vitrail, not an error on your side", file=sys.stderr)
        code = 1
    _close_output()
    sys.exit(code)


def _run(arguments: list[str]) -> int:
    """Run the command and return its exit code."""
    try:
        code = app(arguments, prog_name="vitrail", standalone_mode=False)
        sys.stdout.flush()
    except _UsageError as error:
        command = error.ctx.command_path if error.ctx is not None else "vitrail"
        what, fix = error.format_message().rstrip("."), f"see `{command} --help`"
        if "unexpected extra argument" in what:
            fix = f"put text with several words in quotes, or {fix}"
        raise VitrailError(what, where="the command line", fix=fix) from None
    except (BrokenPipeError, SystemExit):  # typer turns the first into the second
        return 0  # the reader closed the pipe: that is not an error
    except OSError as error:
        if error.errno in FULL:
            with explained(Path("standard output")):  # a full disk under a file is explained where it is written
                raise
        if error.filename is None:
            raise
        raise StorageError(
            f"cannot read or write this path: {error.strerror}",
            where=str(error.filename),
            fix="check the path and its permissions",
        ) from error
    except (MemoryError, RuntimeError) as error:
        if not is_shortage(error):
            raise
        raise VitrailError(
            "not enough memory",
            where="this computer",
            fix="use a smaller model, train.batch_tokens or beam_size",
        ) from error
    return code or 0


def _close_output() -> None:
    """Discard output that nobody reads; Python would complain about it once more at exit."""
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
    """Print a warning as one line, without its location in our code."""
    print(f"warning: {message}", file=sys.stderr)
