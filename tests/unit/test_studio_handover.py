"""The studio's token reaches the browser, and nobody else who can see which programs run on this computer."""

import os
import queue
import re
import signal
import stat
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest

from vitrail.serve import handover
from vitrail.serve.handover import opened

TOKEN = "a-token_that-nobody-guesses"
ADDRESS = f"http://127.0.0.1:8765/?token={TOKEN}&x=1"


def path_of(given):
    assert given.startswith("file:///")
    return Path(unquote(urlparse(given).path))


def asked(address=ADDRESS):
    """What the browser was told to open, while the file is there, and the file's content."""
    given = queue.Queue()
    with opened(address, given.put):
        found = given.get(timeout=60)
        return found, path_of(found), path_of(found).read_text(encoding="utf-8")


def test_the_browser_is_told_of_a_file_that_leads_to_the_address(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    given, _, content = asked()
    assert TOKEN not in given and "8765" not in given
    leads_to = re.search(r'http-equiv="refresh" content="0; url=([^"]*)"', content)[1]
    assert leads_to.replace("&amp;", "&") == ADDRESS
    assert '<meta name="referrer" content="no-referrer">' in content
    assert f'href="{leads_to}"' in content  # for browsers that do not follow by themselves


@pytest.mark.skipif(sys.platform == "win32", reason="its files have no modes")
def test_nobody_else_can_read_it(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = os.umask(0)  # whatever the user's habits are
    try:
        with opened(ADDRESS, lambda given: None):
            (folder,) = tmp_path.iterdir()
            (file,) = folder.iterdir()
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
            assert folder.stat().st_uid == file.stat().st_uid == os.getuid()
    finally:
        os.umask(before)


@pytest.mark.parametrize("ending", [None, KeyboardInterrupt, ValueError])
def test_it_is_gone_when_the_studio_is(tmp_path, monkeypatch, ending):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    if ending is None:
        asked()
    else:
        with pytest.raises(ending), opened(ADDRESS, lambda given: None):
            assert list(tmp_path.rglob("*.html"))
            raise ending
    assert list(tmp_path.iterdir()) == []


def test_where_programs_see_nothing_but_the_home_folder_it_is_there_and_not_hidden(tmp_path, monkeypatch):
    monkeypatch.setattr(handover, "SNAPS", tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    _, file, _ = asked()
    assert file.parent.parent == tmp_path / "home"
    assert not any(part.startswith(".") for part in file.relative_to(tmp_path).parts)
    (tmp_path / "home").rmdir()  # and now nothing can be made there
    _, file, _ = asked()
    assert not file.is_relative_to(tmp_path / "home")


def test_without_any_place_the_studio_runs_all_the_same(monkeypatch, capsys):
    def refuse(**options):
        raise OSError

    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    with opened(ADDRESS, lambda given: pytest.fail("nothing can be opened")):
        pass
    assert "open the address" in capsys.readouterr().err


def test_signals_are_as_they_were_afterwards(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = signal.getsignal(signal.SIGTERM)
    asked()
    assert signal.getsignal(signal.SIGTERM) == before


STUDIO = """
from vitrail.serve.door import Door
from vitrail.serve.limits import Limits
from vitrail.serve.listen import listen, serve
async def app(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"here"})
class All:
    def check(self, scope, visit): pass
    def headers(self, scope): return {}
listening = listen(0)
number = listening.getsockname()[1]
serve(Door(app, All(), Limits()), listening, open_address=f"http://127.0.0.1:{number}/?token=TOKEN")
print("closed", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])  # under nohup, SIGHUP stays ignored
def test_a_browser_gets_there_and_whatever_ends_the_studio_leaves_nothing(tmp_path, number):
    seen = tmp_path / "command-line"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$@" > {seen}.new && mv {seen}.new {seen}\n')
    browser.chmod(0o755)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", STUDIO],
        env={**os.environ, "BROWSER": str(browser), "TMPDIR": str(scratch), "HOME": str(scratch)},
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    try:
        while not seen.exists():
            assert process.poll() is None
            time.sleep(0.05)
        given = seen.read_text().strip()
        assert "TOKEN" not in given
        content = path_of(given).read_text(encoding="utf-8")
        address = re.search(r'href="([^"]*)"', content)[1]
        assert "token=TOKEN" in address
        assert urllib.request.urlopen(address).read() == b"here"
        process.send_signal(number)
        assert process.communicate()[0] == "closed\n"
    finally:
        process.kill()
        process.wait()
    assert list(scratch.iterdir()) == []
