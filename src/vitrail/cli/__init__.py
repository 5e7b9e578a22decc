"""The command line: parse, call one function, print. Results go to standard output, the rest to standard error."""

from __future__ import annotations

import os
import sys
import traceback

import click
import typer

from vitrail.cli.average import average
from vitrail.cli.demo import demo
from vitrail.cli.evaluate import evaluate
from vitrail.cli.info import info
from vitrail.cli.prepare import prepare
from vitrail.cli.score import score
from vitrail.cli.train import train
from vitrail.cli.translate import translate
from vitrail.errors import VitrailError

app = typer.Typer(
    name="vitrail",
    help="Train a translator from two text files, translate with it, and see through it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (demo, train, translate, evaluate, score, prepare, average, info):
    app.command()(command)


def main() -> None:
    """Run a command; whatever the user got wrong ends in a few lines and exit code 2, never in a traceback."""
    try:
        code = app(standalone_mode=False)
    except VitrailError as error:
        print(f"error: {error}", file=sys.stderr)
        code = error.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        error.show(file=sys.stdout)
        code = 0
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (KeyboardInterrupt, click.Abort):
        print("interrupted", file=sys.stderr)
        code = 130
    except BrokenPipeError:
        # Whoever read our output has seen enough. Python would complain once more on closing it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except Exception:
        traceback.print_exc()
        print("error: this is a fault in vitrail, not in what you did", file=sys.stderr)
        code = 1
    sys.exit(code)
