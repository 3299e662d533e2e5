"""The atlas loader on a small made-up atlas: layout, boxes, wide tokens, and one meaning for each image."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vtc.glyphs.atlas import KIND, VERSION, Atlas
from vtc.glyphs.boxes import DIGITS, Boxes
from vtc.glyphs.codes import CODEPOINTS, repeat_ordinals, split_codes
from vtc.records.artefact import save_artefact
from vtc.records.errors import VtcError

LETTERS = " abcdefghijklmnopqrstuvwxyz漢字あ"


def save_small(path, height: int = 16, unit: int = 8, columns: int = 16, version: int = VERSION) -> None:
    """An atlas of random bitmaps for LETTERS; non-ASCII ones are full-width."""
    rng = np.random.default_rng(1)
    codepoints = np.array(sorted(map(ord, LETTERS)), dtype=np.uint32)
    widths = np.where(codepoints < 128, 1, 2).astype(np.uint8)
    slots = rng.integers(0, 2, (int(widths.sum()), height * unit)).astype(np.uint8)
    slots[:, 0] = 0  # no reserved outline
    tensors = {
        "codepoints": codepoints,
        "widths": widths,
        "slots": np.packbits(slots, axis=1),
        "digits": DIGITS.astype(np.uint8),
    }
    style = {"cell_height": height, "unit": unit, "cell_width": columns * unit}
    save_artefact(path, KIND, tensors, {"version": version, "style": style})


@pytest.fixture(scope="module", params=[(16, 8, 16), (24, 12, 16), (18, 8, 20)])
def atlas(request, tmp_path_factory) -> Atlas:
    path = tmp_path_factory.mktemp("atlas") / "small.safetensors"
    save_small(path, *request.param)
    return Atlas.load(path)


def reference_codes(token: bytes) -> list[int]:
    """Codes of one token by trying, at each byte, the lengths that UTF-8 has."""
    out, at = [], 0
    while at < len(token):
        for size in (1, 2, 3, 4):
            try:
                out.append(ord(token[at : at + size].decode("utf-8")))
            except (UnicodeDecodeError, TypeError):
                continue
            at += size
            break
        else:
            out.append(CODEPOINTS + token[at])
            at += 1
    return out


@given(st.lists(st.one_of(st.binary(max_size=6), st.text(max_size=4).map(str.encode)), max_size=8))
@settings(deadline=None)
def test_codes_agree_with_a_byte_by_byte_reading(tokens: list[bytes]) -> None:
    codes, owner = split_codes(tokens)
    for row, token in enumerate(tokens):
        assert codes[owner == row].tolist() == reference_codes(token)


@pytest.mark.parametrize(
    "token", [b"\xff", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80", b"a\xe6\xbc", b"\xff\xff"]
)
def test_bytes_that_are_not_utf8_are_byte_codes(token: bytes) -> None:
    codes, _ = split_codes([b"x", token, b"y"])
    assert [c for c in codes[1:-1] if c >= CODEPOINTS] == [CODEPOINTS + b for b in token if b >= 0x80]


def test_a_token_is_its_glyphs_side_by_side(atlas: Atlas) -> None:
    token = "a漢 ".encode() + b"\xe2\x82" + "€".encode()
    image = atlas.unpack(atlas.draw_tokens([b"zz", token]))[1]
    parts = [atlas.codepoint(ord("a")), atlas.codepoint(ord("漢")), atlas.codepoint(ord(" "))]
    parts += [atlas.byte(0xE2), atlas.byte(0x82), atlas.codepoint(ord("€"))]
    drawn = np.concatenate(parts, axis=1)
    assert (image[:, : drawn.shape[1]] == drawn).all()
    assert not image[:, drawn.shape[1] :].any()
    assert atlas.codepoint(ord("漢")).shape == (atlas.cell_height, 2 * atlas.unit)


def test_every_box_is_distinct_and_has_the_reserved_outline(atlas: Atlas) -> None:
    boxes = Boxes(atlas.cell_height, atlas.unit, DIGITS)
    shapes = set()
    for low in range(0, CODEPOINTS, 1 << 16):
        drawn = boxes.of_codepoints(np.arange(low, low + (1 << 16)))
        assert (drawn[:, 0, : atlas.unit]).all() and drawn[:, :, 0].all() and drawn[:, -1, : atlas.unit].all()
        shapes.update(map(bytes, np.packbits(drawn.reshape(len(drawn), -1), axis=1)))
    drawn = np.concatenate([boxes.of_bytes(np.arange(256)), boxes.of_counts(np.arange(1000))])
    assert drawn[:, 0, : atlas.unit].all() and drawn[:, :, 0].all() and drawn[:, -1, : atlas.unit].all()
    shapes.update(map(bytes, np.packbits(drawn.reshape(len(drawn), -1), axis=1)))
    assert len(shapes) == CODEPOINTS + 256 + 1000


def test_digits_and_run_lengths_keep_apart(atlas: Atlas) -> None:
    digits = DIGITS.reshape(16, -1).astype(int)
    assert min(int(np.abs(a - b).sum()) for i, a in enumerate(digits) for b in digits[:i]) >= 2
    counts = atlas.boxes.of_counts(np.arange(300)).reshape(300, -1).astype(np.float32)
    distance = counts.sum(1)[:, None] + counts.sum(1)[None] - 2 * counts @ counts.T
    assert np.sort(distance, axis=1)[:, 1].min() >= 5


def test_marks_differ_from_the_first_slot_of_every_two_slot_shape(atlas: Atlas) -> None:
    boxes = atlas.boxes
    first = np.concatenate([boxes.of_bytes(np.arange(256)), boxes.of_counts(np.arange(1000))])[:, :, : atlas.unit]
    seen = {slot.tobytes() for slot in first}
    marks = [boxes.mark(name).tobytes() for name in ("two-line", "ellipsis", "empty")]
    assert len(set(marks)) == 3 and not seen & set(marks)


def read_digits(image: np.ndarray, digits: np.ndarray) -> str:
    """Hex digits found in white on ink at 1 px a dot, top line first, by comparing every place with the digit font."""
    white = ~image
    found = []
    for y in range(image.shape[0] - 4):
        for x in range(1, image.shape[1] - 3):
            block = image[y : y + 5, x - 1 : x + 4]
            if not block[:, 0].all() or not block[:, -1].all():
                continue
            hits = [d for d in range(16) if (white[y : y + 5, x : x + 3] == digits[d]).all()]
            found += [(y, x, hits[0])] if hits else []
    return "".join(f"{d:X}" for _, _, d in sorted(found))


def test_a_run_too_wide_is_its_character_and_its_length(atlas: Atlas) -> None:
    token = b"a" * 137
    image = atlas.unpack(atlas.draw_tokens([token]))[0]
    unit = atlas.unit
    assert (image[:, :unit] == atlas.codepoint(ord("a"))).all()
    assert read_digits(image[:, unit : 3 * unit], DIGITS) == "137"
    assert not image[:, 3 * unit :].any()
    short = atlas.unpack(atlas.draw_tokens([b"a" * atlas.columns]))[0]
    assert (short == np.tile(atlas.codepoint(ord("a")), atlas.columns)).all()


def test_two_lines_keep_every_character(atlas: Atlas) -> None:
    token = b"abcdefghijklmnopqrst uvwxy"
    image = atlas.unpack(atlas.draw_tokens([token]))[0]
    half, unit = atlas.cell_height // 2, atlas.unit
    per_line = atlas.columns - 1
    for place, letter in enumerate(token):
        line, column = divmod(place, per_line)
        full = atlas.codepoint(letter)
        part = image[line * half : (line + 1) * half, (column + 1) * unit : (column + 2) * unit]
        assert (part == (full[0::2] | full[1::2])).all()
    assert (image[:, :unit] == atlas.boxes.mark("two-line")).all()
    digest = hashlib.blake2b(token, digest_size=8, salt=bytes(8)).digest()
    bits = image[half:, -unit:].reshape(-1)[:64]
    assert np.packbits(bits).tobytes() == digest


def test_a_very_long_token_is_cut_and_shows_its_hash(atlas: Atlas) -> None:
    token = b"abcdefghijklmnopqrstuvwxyz" * 3
    image = atlas.unpack(atlas.draw_tokens([token]))[0]
    unit, kept = atlas.unit, atlas.columns - 6
    assert (image[:, : kept * unit] == np.hstack([atlas.codepoint(c) for c in token[:kept]])).all()
    assert (image[:, kept * unit : (kept + 1) * unit] == atlas.boxes.mark("ellipsis")).all()
    digest = hashlib.blake2b(token, digest_size=8, salt=bytes(8)).hexdigest().upper()
    assert read_digits(image[:, (kept + 1) * unit :], DIGITS) == digest


@given(
    st.lists(
        st.one_of(
            st.text("ab漢€", max_size=24).map(str.encode),
            st.tuples(st.sampled_from([b"a", b" ", b"\xc3"]), st.integers(1, 1200)).map(lambda p: p[0] * p[1]),
            st.binary(max_size=10),
        ),
        unique=True,
        max_size=40,
    )
)
@settings(deadline=None, max_examples=60)
def test_different_tokens_have_different_images_and_none_is_blank(atlas: Atlas, tokens: list[bytes]) -> None:
    images = atlas.draw_tokens(tokens)
    assert len({row.tobytes() for row in images}) == len(tokens)
    assert all(row.any() for row in images)


def test_the_image_of_a_token_does_not_depend_on_the_others(atlas: Atlas) -> None:
    tokens = [b"", b"a", b"a" * 50, "漢字あ".encode(), b"abcdefghijklmnopqrstuvw", b"\xf0\x9f"] + [b"ab"] * 5000
    together = atlas.draw_tokens(tokens)
    for row in (0, 1, 2, 3, 4, 5, 5004):
        assert (together[row] == atlas.draw_tokens([tokens[row]])[0]).all()


def test_repeats_of_the_same_bytes_get_images_of_their_own(atlas: Atlas) -> None:
    tokens = [b"a", b"b", b"a", b"a"]
    ordinals = repeat_ordinals(tokens)
    assert ordinals.tolist() == [0, 0, 1, 2]
    images = atlas.draw_tokens(tokens, ordinals)
    assert len({row.tobytes() for row in images}) == 4
    assert (images[:2] == atlas.draw_tokens([b"a", b"b"])).all()


def test_no_tokens_no_images(atlas: Atlas) -> None:
    assert atlas.draw_tokens([]).shape == (0, atlas.cell_height * atlas.cell_width // 8)


def test_a_missing_atlas_says_how_to_build_it(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("VTC_ARTIFACTS", str(tmp_path))
    with pytest.raises(VtcError, match="python -m render.atlas"):
        Atlas.load()


def test_an_atlas_of_another_version_or_kind_is_refused(tmp_path) -> None:
    save_small(tmp_path / "old.safetensors", version=VERSION + 1)
    with pytest.raises(VtcError, match="version"):
        Atlas.load(tmp_path / "old.safetensors")
    save_artefact(tmp_path / "other.safetensors", "prior", {"x": np.zeros(1)}, {})
    with pytest.raises(VtcError, match="atlas"):
        Atlas.load(tmp_path / "other.safetensors")
