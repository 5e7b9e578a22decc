"""A training or a command that dies by SIGKILL at a chosen moment: test_chaos.py and test_bulk.py start them.

A server process imports torch once and forks a child for each run, so that dying many times takes seconds.
"""

import multiprocessing
import os
import shutil
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

import safetensors.torch

from vitrail.cli import main
from vitrail.config import load_config
from vitrail.train import train

# Modules that a run imports lazily are imported here, before the fork.
PRELOADED = ["dying", "sentencepiece", "torch._dynamo", "torch.utils.tensorboard"]


@dataclass(frozen=True)
class Fault:
    """Die at the `number`-th occurrence of an action: in the middle of it, or right before or after it."""

    kind: str  # "write", "line", "flush", "rename" or "remove"
    number: int
    after: bool = False


def start(settings, out, fault=None):
    """A run in a process of its own."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    process = context.Process(target=_train, args=(settings, out, fault))
    process.start()
    return process


def start_command(arguments, fault):
    """A command in a process of its own."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    process = context.Process(target=_command, args=(arguments, fault))
    process.start()
    return process


def _command(arguments, fault):
    _arm(fault)
    sys.argv = ["vitrail", *arguments]
    main()


def _train(settings, out, fault):
    if fault is not None:
        _arm(fault)
    train(load_config(None, given=settings), out)


def _arm(fault):
    kinds = {
        "write": (safetensors.torch, "save_file", _write_half),
        "line": (os, "write", _write_half_of_a_line),
        "flush": (os, "fsync", None),
        "rename": (Path, "replace", None),
        "remove": (shutil, "rmtree", _remove_half),
    }
    owner, name, halfway = kinds[fault.kind]
    done, real = [], getattr(owner, name)

    def deadly(*arguments, **options):
        if fault.kind == "remove" and not Path(arguments[0]).exists():
            return real(*arguments, **options)  # nothing to remove: does not count
        done.append(arguments)
        if len(done) != fault.number:
            return real(*arguments, **options)
        if halfway is not None:
            halfway(real, *arguments)
        elif fault.after:
            real(*arguments, **options)
        return os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, name, deadly)


def _write_half(save_file, tensors, path, metadata=None):
    save_file(tensors, path, metadata)
    os.truncate(path, Path(path).stat().st_size // 2)


def _write_half_of_a_line(write, descriptor, line):
    write(descriptor, line[: len(line) // 2])


def _remove_half(_rmtree, path, **_options):
    files = sorted(file for file in Path(path).rglob("*") if file.is_file())
    for file in files[: len(files) // 2 + 1]:
        file.unlink()
