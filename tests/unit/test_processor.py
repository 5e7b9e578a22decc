"""Which kernels numpy multiplies with follows from the processor, and is settled before numpy is there."""

import os
import subprocess
import sys

import pytest

from vitrail import processor

ZEN_4 = {"vendor_id": "AuthenticAMD", "cpu family": "25", "flags": "fpu avx2 avx512f avx512bw"}


@pytest.fixture
def told(tmp_path, monkeypatch):
    """What the system tells about its processor."""

    def tell(values):
        path = tmp_path / "cpuinfo"
        if values is not None:
            one = "".join(f"{key}\t: {value}\n" for key, value in {"processor": "0", **values}.items())
            path.write_text(one + "\n" + one)
        monkeypatch.setattr(processor, "_TOLD", path)
        monkeypatch.setenv("OPENBLAS_CORETYPE", "")  # so that it is put back, whatever is chosen
        monkeypatch.delenv("OPENBLAS_CORETYPE")
        processor.is_intel.cache_clear()

    yield tell
    processor.is_intel.cache_clear()


@pytest.mark.parametrize(
    ("values", "chosen"),
    [
        (ZEN_4, "Haswell"),
        (ZEN_4 | {"flags": "fpu avx2"}, None),  # the third generation
        (ZEN_4 | {"cpu family": "26"}, None),  # the fifth does 512 bits at once
        (ZEN_4 | {"vendor_id": "GenuineIntel", "cpu family": "6"}, None),
        ({"CPU implementer": "0x41"}, None),
        ({}, None),
        (None, None),
    ],
)
def test_kernels_for_256_bits_are_for_amds_fourth_generation_alone(told, values, chosen):
    told(values)
    processor.choose_kernels()
    assert os.environ.get("OPENBLAS_CORETYPE") == chosen


def test_what_the_user_chose_stays(told, monkeypatch):
    told(ZEN_4)
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Zen")
    processor.choose_kernels()
    assert os.environ["OPENBLAS_CORETYPE"] == "Zen"


@pytest.mark.parametrize(
    ("values", "intel"), [({"vendor_id": "GenuineIntel"}, True), (ZEN_4, False), ({}, True), (None, True)]
)
def test_who_tells_nothing_is_taken_for_intel(told, values, intel):
    told(values)
    assert processor.is_intel() == intel


@pytest.mark.parametrize(("precision", "code_of"), [("float32", 0), ("bf16", 2)])
def test_training_in_full_precision_chooses_before_numpy_is_imported(tmp_path, precision, code_of):
    (tmp_path / "recipe.toml").write_text(f'[data]\nsource = "a"\ntarget = "b"\n[train]\nprecision = "{precision}"\n')
    code = """
import sys, vitrail.processor
def choose(): sys.exit(0 if "numpy" not in sys.modules else "numpy is there already")
vitrail.processor.choose_kernels = choose
from vitrail.cli import main
main()
"""
    command = [sys.executable, "-c", code, "train", str(tmp_path / "recipe.toml"), "--out", str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code_of, done.stderr  # 2: nothing was chosen, and there is no such file


def test_numpy_listens():
    code = "import numpy, threadpoolctl; print(*(one.get('architecture') for one in threadpoolctl.threadpool_info()))"

    def architectures(**chosen):
        environment = {key: value for key, value in os.environ.items() if key != "OPENBLAS_CORETYPE"} | chosen
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
        return done.stdout.split()

    known = architectures()
    if "SkylakeX" not in known:
        pytest.skip("numpy has no OpenBLAS here, or the processor no AVX-512")
    assert architectures(OPENBLAS_CORETYPE="Haswell") == ["Haswell" if one == "SkylakeX" else one for one in known]
