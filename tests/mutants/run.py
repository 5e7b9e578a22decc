"""Mutation testing: change Vitrail's code in one small way at a time, and see whether a test notices.

    python tests/mutants/run.py decode --jobs 2

mutmut makes the mutants, finds the tests that reach each function, and runs them. This script gives each package of
[tool.mutants] in pyproject.toml a workshop of its own, and sorts the survivors: `listed.toml` names those that change
nothing. docs/mutants.md tells how to read the result.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import chdir
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import tomli_w

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
LISTED = HERE / "listed.toml"
LINKED = ("src", "docs", "recipes", "benchmarks", "examples", "README.md", "Makefile")
TESTS = ("conftest.py", "unit", "property", "reference")
SURVIVED, NO_TEST = 0, 33  # mutmut's exit codes of mutants that nobody noticed; None is one that was not tried yet


@dataclass(frozen=True)
class Mutant:
    """One change to one function."""

    name: str
    function: str  # vitrail.decode.beam.decide, or vitrail.decode.beam.Live.keep
    before: str  # the lines that the mutant replaces …
    after: str  # … and the lines that stand there instead


@dataclass(frozen=True)
class Listing:
    """Survivors that are known: a single one by its lines, or all that differ only in what a pattern finds."""

    function: str  # its name, or a pattern of names: vitrail.decode.*
    before: str
    after: str
    only: str  # a regular expression, where `before` and `after` are empty

    def names(self, mutant: Mutant) -> bool:
        """Whether this mutant is meant."""
        if not fnmatchcase(mutant.function, self.function):
            return False
        if not self.only:
            return (mutant.before, mutant.after) == (self.before, self.after)
        return _without(self.only, mutant.before) == _without(self.only, mutant.after)


def main() -> int:
    """Run one package's mutants, print what became of them, and fail if an unknown one survived."""
    packages = _settings()["mutants"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", choices=sorted(packages))
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many mutants are tried at a time")
    parser.add_argument("--report", action="store_true", help="only print the results there are")
    arguments = parser.parse_args()

    workshop = ROOT / ".cache" / "mutants" / arguments.package
    listed = _listed(arguments.package)
    if not arguments.report:
        _furnish(workshop, packages[arguments.package])
    with chdir(workshop):
        if not arguments.report:
            _forget_survivors(listed)
            _mutmut(arguments.jobs)
        return _report(arguments.package, listed)


def _furnish(workshop: Path, package: dict[str, list[str]]) -> None:
    """Make the folder that mutmut works in: links to the source and the tests, and settings for this package."""
    (workshop / "tests").mkdir(parents=True, exist_ok=True)
    for name in [*LINKED, *(f"tests/{test}" for test in TESTS)]:
        if not (workshop / name).is_symlink():
            (workshop / name).symlink_to(ROOT / name)
    shutil.rmtree(workshop / "mutants" / "tests", ignore_errors=True)  # mutmut never deletes a test
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    settings["tool"]["mutmut"] |= {
        "source_paths": ["src/"],
        "only_mutate": package["source"],
        "also_copy": [name for name in LINKED if name != "src"],
        "pytest_add_cli_args_test_selection": package["tests"],
    }
    (workshop / "pyproject.toml").write_text(tomli_w.dumps(settings))


def _forget_survivors(listed: Sequence[Listing]) -> None:
    """Try the survivors again: there may be a new test. What is listed is known, what was caught stays caught."""
    for file in Path("mutants/src").rglob("*.meta"):
        table = json.loads(file.read_text())
        for name, code in table["exit_code_by_key"].items():
            if code == NO_TEST or (code == SURVIVED and not _find(listed, _mutant(name, file))):
                table["exit_code_by_key"][name] = None
        file.write_text(json.dumps(table, indent=4))


def _mutmut(jobs: int) -> None:
    # One thread for each mutant: torch's threads do not outlive a fork.
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(HERE)])}
    command = [str(Path(sys.executable).parent / "mutmut"), "run", "--max-children", str(jobs)]
    subprocess.run(command, env=environment, check=True)


def _report(package: str, listed: Sequence[Listing]) -> int:
    caught, known, unknown, untried = 0, 0, [], 0
    seen: set[Listing] = set()
    for name, code, file in _results():
        if code is None:
            untried += 1
        elif code not in (SURVIVED, NO_TEST):
            caught += 1
        elif listing := _find(listed, mutant := _mutant(name, file)):
            known += 1
            seen.add(listing)
        else:
            unknown.append(mutant)
    for mutant in unknown:
        print(f"\n{mutant.name}\n{mutant.function}")
        print(
            "\n".join([*(f"- {x}" for x in mutant.before.splitlines()), *(f"+ {x}" for x in mutant.after.splitlines())])
        )
    for listing in listed:
        if listing not in seen and not untried:
            print(f"\nlisted, but no longer a survivor: {listing}")
    mutants = caught + known + len(unknown) + untried
    print("\n| package | mutants | caught | survived, listed with a reason | survived | caught |")
    print("|---|---|---|---|---|---|")
    print(f"| {package} | {mutants} | {caught} | {known} | {len(unknown)} | {caught / max(mutants, 1):.1%} |")
    if untried:
        print(f"{untried} mutants have not been tried: run the same command again, and it goes on")
    return 1 if unknown or untried else 0


def _results() -> Iterator[tuple[str, int | None, Path]]:
    for file in sorted(Path("mutants/src").rglob("*.meta")):
        for name, code in json.loads(file.read_text())["exit_code_by_key"].items():
            yield name, code, file


def _mutant(name: str, meta: Path) -> Mutant:
    from mutmut.mutation.diff_apply import get_diff_for_mutant
    from mutmut.utils.format_utils import orig_function_and_class_names_from_key

    diff = get_diff_for_mutant(name, path=meta.relative_to("mutants").with_suffix("")).splitlines()[2:]
    function, owner = orig_function_and_class_names_from_key(name)
    module = name.rpartition(".")[0]
    return Mutant(
        name,
        ".".join(filter(None, [module, owner, function])),
        before="\n".join(line[1:].strip() for line in diff if line.startswith("-")),
        after="\n".join(line[1:].strip() for line in diff if line.startswith("+")),
    )


def _listed(package: str) -> list[Listing]:
    """The survivors that change nothing. Each has a reason, for whoever reads the file."""
    entries = tomllib.loads(LISTED.read_text()).get(package, [])
    assert all(entry["reason"] for entry in entries)
    return [Listing(e["function"], e.get("before", ""), e.get("after", ""), e.get("only", "")) for e in entries]


def _find(listed: Sequence[Listing], mutant: Mutant) -> Listing | None:
    return next((listing for listing in listed if listing.names(mutant)), None)


def _without(pattern: str, code: str) -> str:
    """Code without what a pattern finds, nor the blanks and commas that an argument leaves behind."""
    return re.sub(r"[\s,]", "", re.sub(pattern, "", code))


def _settings() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]


if __name__ == "__main__":
    sys.exit(main())
