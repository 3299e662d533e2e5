"""Building glyph tables: the map is as written down, the pixel path equals the table, no two rows agree."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from codebooks import table as builder
from vtc.glyphs.atlas import Atlas
from vtc.glyphs.pages import read_page, write_page
from vtc.glyphs.table import KIND, GlyphTable, recipe_hash
from vtc.llm.vocabulary import Vocabulary
from vtc.records.artefact import load_artefact
from vtc.records.errors import VtcError
from vtc.records.noise import signs


@pytest.fixture(scope="module")
def words(byte_level: ModuleType) -> Vocabulary:
    """256 bytes and a few merges: not the default LLM's tokenizer."""
    return byte_level.vocabulary()


@pytest.fixture(scope="module")
def built(words: Vocabulary, atlas: Atlas, tmp_path_factory: pytest.TempPathFactory) -> GlyphTable:
    path = tmp_path_factory.mktemp("table") / "table.safetensors"
    builder.build(words, atlas, 64, None, path)
    return GlyphTable.load(path=path)


def random_images(count: int = 300, seed: int = 0) -> np.ndarray:
    """Packed images of 64 px that hang together: neighbours share ink."""
    noise = np.random.default_rng(seed).standard_normal((count, 64)).cumsum(1)
    return np.packbits(noise > noise.mean(), axis=1)


def test_the_map_whitens_and_then_projects() -> None:
    """(C + ridge I)^(1/2) times the map gives back the random signs; C and the root by numpy."""
    images = random_images()
    mean, linear = builder.whitening(images, 128)
    pixels = np.unpackbits(images, axis=1).astype(np.float64)
    np.testing.assert_allclose(mean, pixels.mean(0), atol=1e-6)
    covariance = np.cov(pixels.T, bias=True)
    left, values, _ = np.linalg.svd(covariance + builder.RIDGE * np.trace(covariance) / 64 * np.eye(64))
    root = left @ np.diag(np.sqrt(values)) @ left.T
    np.testing.assert_allclose(root @ linear.double().numpy(), signs("glyph table projection 1", (64, 128)), atol=1e-4)


def test_features_are_centred_projected_and_brought_to_unit_length() -> None:
    images = random_images()
    mean, linear = builder.whitening(images, 128)
    raw = (np.unpackbits(images, axis=1) - mean.numpy()) @ linear.numpy()
    expected = raw / np.linalg.norm(raw, axis=1, keepdims=True)
    np.testing.assert_allclose(builder.features(images, mean, linear), expected, atol=1e-5)


def test_nearest_distance_is_that_of_all_pairs() -> None:
    rows = torch.nn.functional.normalize(torch.randn(2500, 16, generator=torch.Generator().manual_seed(0)), dim=1)
    rows[2300] = torch.nn.functional.normalize(rows[17] + 0.01, dim=0)  # in two blocks
    distance, one, other = builder.nearest_distance(rows)
    apart = torch.cdist(rows.double(), rows.double()).fill_diagonal_(9)
    assert distance == pytest.approx(apart.min().item(), rel=1e-4) and {one, other} == {17, 2300}


def test_equal_images_and_equal_features_fail_the_build() -> None:
    images = np.arange(160, dtype=np.uint8).reshape(20, 8)
    rows = torch.eye(20, 64)
    tokens = [b"token %d" % i for i in range(20)]
    assert builder.check_injective(images, rows, tokens) == pytest.approx(2**0.5)
    twins = images.copy()
    twins[7] = twins[3]
    with pytest.raises(VtcError, match=r"tokens \[b'token 3', b'token 7'\] share one image"):
        builder.check_injective(twins, rows, tokens)
    near = rows.clone()
    near[9] = torch.nn.functional.normalize(rows[4] + 1e-5, dim=0)
    with pytest.raises(VtcError, match="tokens b'token 4' and b'token 9' share one feature; raise --rank"):
        builder.check_injective(images, near, tokens)


def test_another_tokenizer_gets_a_table(built: GlyphTable, words: Vocabulary, atlas: Atlas) -> None:
    assert (len(built), built.name, built.vocabulary_hash) == (words.size, words.name, words.hash)
    assert built.hash == recipe_hash(atlas.hash, words.hash, 64) and built.cell == (16, 64)
    ids = words.encode("the weather, then\x00\xff\n")
    assert built.decode(ids) == words.decode(ids)
    np.testing.assert_allclose(np.linalg.norm(built.features, axis=1), 1, atol=2e-3)
    assert len(np.unique(built.features, axis=0)) == words.size
    with pytest.raises(VtcError, match="without embedding rows"):
        _ = built.embeddings


def pixel_path(table: GlyphTable, images: np.ndarray) -> torch.Tensor:
    """Patch embedding with the map that the artefact holds."""
    stored = load_artefact(table.path, KIND, ["mean", "map"])[0]
    return builder.features(images, torch.from_numpy(stored["mean"]), torch.from_numpy(stored["map"]))


def test_the_pixel_path_equals_the_table_path(built: GlyphTable) -> None:
    np.testing.assert_allclose(pixel_path(built, built.images), built.features, atol=3e-4, rtol=1e-3)


def test_the_patches_of_a_page_image_are_the_tables_rows(
    built: GlyphTable, words: Vocabulary, atlas: Atlas, tmp_path: Path
) -> None:
    ids = words.encode("They were there, and the lamb thought: how small.\n")
    write_page(tmp_path / "page.png", built.images[ids], 7, atlas, {})
    cells, _ = read_page(tmp_path / "page.png")
    np.testing.assert_allclose(pixel_path(built, cells), built.features[ids], atol=3e-4, rtol=1e-3)


def test_the_default_table_is_injective_and_its_pixel_path_agrees() -> None:
    try:
        table = GlyphTable.load()
    except VtcError as error:
        pytest.skip(str(error))
    header = load_artefact(table.path, KIND, ["mean"])[1]
    assert header["smallest_distance"] > builder.NEAREST
    assert len(np.unique(table.images, axis=0)) == len(table) == 49152
    some = np.random.default_rng(0).choice(len(table), 2000, replace=False)
    np.testing.assert_allclose(pixel_path(table, table.images[some]), table.features[some], atol=3e-4, rtol=1e-3)
    assert table.embeddings.shape == (49152, 576)


def test_the_command_builds_once(
    words: Vocabulary, atlas_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VTC_ARTIFACTS", str(atlas_path.parent))
    monkeypatch.setattr(builder.Vocabulary, "load", lambda spec: words)
    arguments = ["--llm", words.name, "--rank", "64", "--no-embeddings"]
    assert builder.main(arguments) == 0
    first = GlyphTable.load(words.name)
    before = first.path.stat().st_mtime_ns
    assert builder.main(arguments) == 0 and first.path.stat().st_mtime_ns == before
    assert [line.split(": ")[1][:5] for line in capsys.readouterr().out.splitlines()] == ["built", "up to"]
    assert builder.main([*arguments, "--force"]) == 0 and first.path.stat().st_mtime_ns > before
    np.testing.assert_array_equal(GlyphTable.load(words.name).features, first.features)
    assert builder.main([*arguments[:2], "--rank", "128", *arguments[4:]]) == 0
    assert GlyphTable.load(words.name).features.shape == (words.size, 128)


@pytest.mark.parametrize("rank", ["0", "65", "-64"])
def test_a_rank_that_cannot_be_is_refused(rank: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert builder.main(["--rank", rank]) == 2
    assert f"--rank {rank}: choose a multiple of 64" in capsys.readouterr().err


def test_without_an_atlas_the_command_says_how_to_build_one(
    words: Vocabulary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VTC_ARTIFACTS", str(tmp_path))
    monkeypatch.setattr(builder.Vocabulary, "load", lambda spec: words)
    assert builder.main([]) == 1
    assert "python -m render.atlas" in capsys.readouterr().err and not list(tmp_path.iterdir())
