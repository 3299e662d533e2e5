"""Bad input meets one clear line, the exit status of the design, and nothing is lost."""

from __future__ import annotations

import errno
import os
import random
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from vtc.cli import main

pytestmark = pytest.mark.usefixtures("byte_table")
PROSE = b"The lamb was there, and the wolf went away.\n"


def everything_unicode() -> bytes:
    """Every code point that UTF-8 can write: assigned or not, private use, controls, noncharacters."""
    return "".join(chr(point) for point in range(0x110000) if not 0xD800 <= point <= 0xDFFF).encode()


TEXTS = {
    "empty": b"",
    "one byte": b"x",
    "one newline": b"\n",
    "NULs": bytes(5000),
    "NULs in text": PROSE.replace(b" ", b"\0") * 50,
    "invalid UTF-8": b"caf\xe9 \xff\xfe\xc0\x80 " * 200 + PROSE,
    "a lone surrogate": PROSE + b"\xed\xa0\x80" + PROSE,
    "cut inside a character": PROSE + "\N{PILE OF POO}".encode()[:3],
    "random bytes": random.Random(3).randbytes(50_000),
    "byte order marks": b"\xef\xbb\xbf" + PROSE + "\ufeff".encode() + "text".encode("utf-16"),
    "CRLF": PROSE.replace(b"\n", b"\r\n") * 50 + b"\r\r\n\n\r",
    "no final newline": PROSE.rstrip(),
    "only white space": b" \t\n\x0b\x0c\r\x1c\xc2\x85\xc2\xa0\xe2\x80\xa8 " * 300,
    "one long line": PROSE.replace(b"\n", b" ") * 8000,
    "one long word": random.Random(4).randbytes(150_000).hex().encode(),
    "one character": b"a" * 100_000,
    "one wide character": "漢".encode() * 100_000,
    "Zalgo": ("H" + "\u0300\u0316\u0334" * 40 + "e\u0301" * 20).encode() * 60,
    "right to left": "\u202eשלום\u202c مرحبا \u2067abc\u2069 ".encode() * 100,
    "emoji sequences": "👩‍👩‍👧‍👦🏳️‍🌈👍🏽🇩🇪#️⃣".encode() * 200,
    "private use and unassigned": "\ue000\uf8ff\U000f0000\U0010ffff\ufdd0\uffff\u0378\U000e0fff".encode() * 200,
    "normal forms": "é e\u0301 Å \u212b ﬁ ½ \u1e9b\u0323 가 \u1100\u1161".encode() * 100,
    "special tokens": b"<|endoftext|><|im_start|>user\n<|im_end|> <s></s> [PAD] " * 50,
    "terminal codes": b"\x1b[31mred\x1b[0m\x07\x08\x7f" * 100,
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("lossy", [False, True], ids=["whole", "lossy"])
def test_any_text_comes_back(
    name: str, lossy: bool, tmp_path: Path, byte_level: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    if lossy:  # a tokenizer that lacks bytes, as that of SmolLM2 does
        words = byte_level.vocabulary(without=bytes([0, 1, 0x1B, 0xC0, 0xC1, 0xE2, 0xF1, *range(0xF5, 0x100)]))
        table = byte_level.Table(words)
        monkeypatch.setattr("vtc.api.load_vocabulary", lambda llm: words)
        monkeypatch.setattr("vtc.api.load_table", lambda llm: table)
    round_trip(tmp_path, TEXTS[name])


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        PROSE.replace(b"\n", b" ") * 240_000,
        b"a" * 10_000_000,
        everything_unicode(),
        random.Random(5).randbytes(10_000_000),
    ],
    ids=["one line of 10 MB", "one character", "all of Unicode", "random bytes"],
)
def test_large_texts_come_back(text: bytes, tmp_path: Path) -> None:
    round_trip(tmp_path, text)


def round_trip(folder: Path, text: bytes) -> None:
    (folder / "in").write_bytes(text)
    assert main(["compress", str(folder / "in"), "-o", str(folder / "a.vtc"), "--codec", "ids"]) == 0
    assert main(["restore", str(folder / "a.vtc"), "-o", str(folder / "out")]) == 0
    assert (folder / "out").read_bytes() == text


@contextmanager
def as_nobody() -> Iterator[None]:
    """Without the rights of root, whom permission bits do not stop."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def refused(arguments: list[object], capfd: pytest.CaptureFixture[str], status: int = 1) -> str:
    """The one line that a command ends with."""
    capfd.readouterr()
    assert main([str(argument) for argument in arguments]) == status
    output, errors = capfd.readouterr()
    assert output == "" and errors.count("\n") == 1 and errors.startswith("vtc: ")
    return errors


@pytest.mark.parametrize("verb", ["compress", "restore", "info"])
def test_a_missing_file_or_a_directory(verb: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = [] if verb == "info" else ["-o", tmp_path / "out"]
    missing = tmp_path / "nowhere" / "x"
    assert f"{missing}: no such file or directory" in refused([verb, missing, *out], capfd)
    assert f"{tmp_path}: is a directory" in refused([verb, tmp_path, *out], capfd)
    (tmp_path / "file").write_bytes(PROSE)
    below = tmp_path / "file" / "x"
    assert f"{below}: a part of the path is not a directory" in refused([verb, below, *out], capfd)
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(os.name == "nt", reason="permission bits")
def test_unreadable_files_and_folders_that_cannot_be_written(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    secret, locked = tmp_path / "secret", tmp_path / "locked"
    secret.write_bytes(PROSE)
    secret.chmod(0)
    locked.mkdir(mode=0o500)
    (tmp_path / "in").write_bytes(PROSE)
    main(["compress", str(tmp_path / "in"), "-o", str(tmp_path / "a.vtc"), "--codec", "ids"])
    with as_nobody():
        assert "secret: permission denied" in refused(["compress", secret, "--codec", "ids"], capfd)
        command = ["compress", os.devnull, "--codec", "ids", "-o", locked / "a.vtc"]
        assert "a.vtc: permission denied" in refused(command, capfd)
    assert not list(locked.iterdir())


def test_an_output_in_no_folder_or_that_is_a_folder(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").write_bytes(PROSE)
    command = ["compress", tmp_path / "in", "--codec", "ids", "-o"]
    assert "no such file or directory" in refused([*command, tmp_path / "nowhere" / "a.vtc"], capfd)
    assert "is a directory" in refused([*command, tmp_path], capfd)


@pytest.mark.parametrize("verb", ["compress", "restore"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EIO])
def test_a_disk_that_fails_leaves_the_old_file(
    verb: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    source.write_bytes(PROSE)
    if verb == "restore":
        source = tmp_path / "a.vtc"
        main(["compress", str(tmp_path / "in"), "-o", str(source), "--codec", "ids"])
    out.write_bytes(b"old")
    before = sorted(tmp_path.iterdir())

    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("os.fsync", fail)
    codec = ["--codec", "ids"] if verb == "compress" else []
    assert f"vtc: {out}: " in refused([verb, source, "-o", out, *codec], capfd)
    assert out.read_bytes() == b"old" and sorted(tmp_path.iterdir()) == before


@pytest.fixture
def full_device(tmp_path: Path) -> Path:
    """A device of our own that is always full: the machine's own must not be at the mercy of a broken test run."""
    path = tmp_path / "full"
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 7))
        with open(path, "wb", buffering=0) as stream:
            stream.write(b"x")
    except (OSError, AttributeError) as error:
        if getattr(error, "errno", None) != errno.ENOSPC:
            pytest.skip("needs the right to make a device")
    return path


def test_a_full_device(full_device: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").write_bytes(PROSE * 1000)
    assert main(["compress", str(tmp_path / "in"), "--codec", "ids"]) == 0
    command = ["compress", tmp_path / "in", "--codec", "ids", "-o", full_device]
    for arguments in (["restore", tmp_path / "in.vtc", "-o", full_device], command):
        assert f"{full_device}: the disk is full" in refused(arguments, capfd)
    assert full_device.is_char_device()


@pytest.mark.parametrize("verb", ["restore", "info"])
def test_foreign_and_truncated_documents(verb: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "a.vtc", tmp_path / "out"
    command = [verb, path, *(["-o", out] if verb == "restore" else [])]
    for content in (b"", b"\0" * 500, PROSE, b"\x89PNG\r\n\x1a\n" * 100):
        path.write_bytes(content)
        assert f"{path}: is not a vtc document" in refused(command, capfd)
    save_file({"weight": np.zeros(9)}, path)
    assert "another kind of safetensors file" in refused(command, capfd)
    (tmp_path / "in").write_bytes(PROSE * 100)
    main(["compress", str(tmp_path / "in"), "-o", str(path), "--codec", "ids"])
    data = path.read_bytes()
    for length in (100, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:length])
        assert f"{path}: is truncated or damaged" in refused(command, capfd, status=3)
    assert not out.exists()


def test_a_bit_flipped_in_any_region_is_never_silently_wrong(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "a.vtc", tmp_path / "out"
    (tmp_path / "in").write_bytes((PROSE * 30 + b"caf\xe9\n") * 5)
    command = ["compress", tmp_path / "in", "-o", path, "--codec", "ids", "--page-symbols", 300]
    assert main([str(part) for part in command]) == 0
    data = path.read_bytes()
    out.write_bytes(b"old")
    generator = random.Random(6)
    for position in (*range(16), *generator.sample(range(len(data)), 60), *range(len(data) - 16, len(data))):
        damaged = bytearray(data)
        damaged[position] ^= 1 << generator.randrange(8)
        path.write_bytes(damaged)
        capfd.readouterr()
        assert main(["restore", str(path), "-o", str(out)]) in (1, 3)
        errors = capfd.readouterr().err
        assert errors.startswith(f"vtc: {path}: ") and errors.count("\n") == 1
        assert out.read_bytes() == b"old"


def test_codecs_and_page_sizes_that_cannot_be(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").write_bytes(PROSE)
    command = ["compress", tmp_path / "in", "-o", tmp_path / "a.vtc"]
    capfd.readouterr()
    for more in (["--codec", "hrad"], ["--codec", "ids", "--page-symbols", 0], ["--codec", "ids", "--storage", "int4"]):
        assert main([str(part) for part in (*command, *more)]) == 2
        assert capfd.readouterr().err.count("\n") == 1
    assert not (tmp_path / "a.vtc").exists()
