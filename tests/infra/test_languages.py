"""Languages: which one a text is in, how long it takes to tell, and where the model for it is kept."""

from __future__ import annotations

import stat
import time
from pathlib import Path

import pytest

from chronofile.infra.languages import Languages
from tests.world import languages

CHINESE = "港口的负责人说，那艘船要到晚上很晚才会到达，因为海上有很大的风暴，我们只好在码头上等待。"
GERMAN = "Der Hafenmeister sagte, dass das Schiff erst am späten Abend ankommt, wegen des Sturms."


@pytest.mark.parametrize("piece", [CHINESE, "a", "`b`c", "字`码`", "x/`", "`", "/", "```", "a\n`"])
def test_text_without_spaces_takes_no_longer_than_its_length(piece: str) -> None:
    tell = languages()
    text = (piece * 4_000)[:4_000]
    tell(text)
    began_s = time.perf_counter()
    tell(text)
    # One look at each character takes a millisecond; one at each pair of them took a hundred.
    assert time.perf_counter() - began_s < 0.05


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (CHINESE, "zh"),
        ("我们昨天讨论了数据库的端口问题，最后决定使用新的服务器。", "zh"),
        ("請幫我把這個函數改寫成非同步的，然後再加上測試，謝謝你。", "zh"),
        ("埠頭の改修は来年の春までに終わる予定だと、港の責任者が説明した。", "ja"),
        (GERMAN, "de"),
        ("ok", None),
        ("x = compute(a_b, c_d)\n", None),
    ],
)
def test_a_text_has_the_language_of_its_words(text: str, language: str | None) -> None:
    assert languages()(text) == language


def test_code_addresses_and_paths_count_for_nothing() -> None:
    tell = languages()
    assert tell("`the quick brown fox and the lazy dog that sleeps beside the river`") is None
    assert tell("```\nthe quick brown fox and the lazy dog that sleeps beside the river\n```") is None
    assert tell("https://harbour.invalid/the-quick-brown-fox-and-the-lazy-dog-that-sleeps") is None
    assert tell("/home/ann/the quick_brown_fox_and_the_lazy_dog_that_sleeps_beside_the_river") is None
    assert tell(f"{GERMAN} `the quick brown fox`, /usr/share/the/quick/brown/fox") == "de"


def test_the_model_is_unpacked_once_into_its_folder_and_tells_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "home" / "cache"
    assert Languages(folder)(GERMAN) == "de"
    (kept,) = folder.iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    before = kept.stat()
    assert Languages(folder)(CHINESE) == "zh"
    assert (kept.stat().st_ino, kept.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize("damage", ["cut off", "empty", "other bytes"])
def test_a_damaged_model_is_unpacked_anew(tmp_path: Path, damage: str) -> None:
    Languages(tmp_path)(GERMAN)
    (kept,) = tmp_path.iterdir()
    content = kept.read_bytes()
    middle = len(content) // 2
    others = content[:middle] + bytes(1_000) + content[middle + 1_000 :]
    kept.write_bytes({"cut off": content[:middle], "empty": b"", "other bytes": others}[damage])
    assert Languages(tmp_path)(GERMAN) == "de"
    assert kept.read_bytes() == content
    assert list(tmp_path.iterdir()) == [kept]


def test_a_folder_that_cannot_be_written_keeps_no_language_from_being_told(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("This is no folder.", encoding="utf-8")
    assert Languages(tmp_path / "cache")(GERMAN) == "de"
