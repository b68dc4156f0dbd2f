"""Archives: listed conversations found without holding the rest, and zip archives that are broken or hostile."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronofile.domain.rejection import NotRead
from chronofile.ingest.archives import elements as found_elements
from chronofile.ingest.archives import shelves, zips
from chronofile.ingest.archives.elements import Element, elements
from chronofile.ingest.archives.shelves import is_unsafe, opened_zip
from chronofile.ingest.archives.unpacked import Conversation, LeftOut, PassedOver, Unpacked
from chronofile.ingest.marked import beginning_text
from tests.samples.chatgpt import chain, message

LIMIT_BYTES = 1 << 30
ODD = st.sampled_from(
    ['a"b\\', "x]}{[", "\\\\", "é\n\u2028", "", "conversations", "\ud800", 1, -2.5, None, True]
)
VALUES = st.recursive(
    ODD,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["k", '"q', "conversations", "m\\", "mapping"]), inner, max_size=3)
    ),
    max_leaves=8,
)
LISTED = st.lists(
    st.dictionaries(st.sampled_from(["id", "m", '"']), VALUES, max_size=3) | st.lists(ODD, max_size=2),
    max_size=4,
)


def listed(text: bytes, *, chunk: int = 7, limit: int = LIMIT_BYTES) -> list[Element]:
    """Return the elements of a text that is read a few bytes at a time."""
    stream = io.BytesIO(text)
    return list(elements(lambda size: stream.read(min(size, chunk)), limit))


def values(text: bytes, **how: int) -> list[Any]:
    return [json.loads(found.content) for found in listed(text, **how) if found.content is not None]


class TestElements:
    @given(LISTED, st.sampled_from([None, 1]), st.booleans(), st.integers(1, 40))
    def test_the_elements_of_an_array_are_found_whatever_they_hold(
        self, drawn: list[Any], indent: int | None, ascii_only: bool, chunk: int
    ) -> None:
        text = json.dumps(drawn, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")

        assert [
            json.loads(e.content.decode("utf-8", "surrogatepass"))
            for e in listed(text, chunk=chunk)
            if e.content
        ] == drawn

    @given(LISTED, st.integers(1, 40))
    def test_a_list_within_an_object_is_found_by_its_name(self, drawn: list[Any], chunk: int) -> None:
        around = {"version": 1, "meta": {"a": [{}]}, "conversations": drawn, "after": [{"x": 1}]}

        assert values(json.dumps(around).encode(), chunk=chunk) == drawn

    @given(LISTED, st.integers(1, 40))
    def test_what_is_longer_than_the_limit_is_told_and_the_rest_is_found(
        self, drawn: list[Any], chunk: int
    ) -> None:
        found = listed(json.dumps(drawn).encode(), chunk=chunk, limit=40)

        assert len(found) == len(drawn)
        for element, value in zip(found, drawn, strict=True):
            is_found = element.content is not None and json.loads(element.content) == value
            assert is_found or (element.content is None and element.size > 40)

    def test_one_object_is_its_own_element_and_several_are_several(self) -> None:
        assert values(b'{"a": [1, {"conversation": 2}]}') == [{"a": [1, {"conversation": 2}]}]
        assert values(b'{"a": 1}\n{"b": 2}\r\n') == [{"a": 1}, {"b": 2}]

    def test_an_element_is_on_one_line(self) -> None:
        found = listed(b'[{\r\n "a": "x\\ny",\n "b": 1\r}]')

        assert [element.content for element in found] == [b'{   "a": "x\\ny",  "b": 1 }']

    @pytest.mark.parametrize("text", [b'[{"a": 1}, {"b": "', b'[{"a": 1}, {"b": [1, {', b'[{"a": 1}, {"b'])
    def test_an_element_that_is_cut_off_is_told(self, text: bytes) -> None:
        first, last = listed(text)

        assert (first.content, first.is_cut_off) == (b'{"a": 1}', False)
        assert (last.content, last.is_cut_off) == (None, True)

    @pytest.mark.parametrize(
        "text", [b"", b"   ", b"}}]", b'"a"', b"7", b"[1, null]", b"\xef\xbb\xbf", b"\xff\xfe"]
    )
    def test_a_text_without_elements_has_none(self, text: bytes) -> None:
        assert listed(text) == []

    def test_invalid_bytes_stay_as_they_are(self) -> None:
        assert [element.content for element in listed(b'[{"a": "\xff\xfe\xe9"}]')] == [
            b'{"a": "\xff\xfe\xe9"}'
        ]

    @pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
    @pytest.mark.parametrize("chunk", [1, 2, 3, 4, 5, 100])
    def test_a_text_with_a_mark_is_read_as_utf_8(self, encoding: str, chunk: int) -> None:
        text = '[{"a": "é👩‍🌾"}, {"b": 1}]'

        assert values(text.encode(encoding), chunk=chunk) == [{"a": "é👩‍🌾"}, {"b": 1}]
        assert beginning_text(text.encode(encoding)) == text

    def test_a_mark_in_the_other_order_of_bytes_is_known_too(self) -> None:
        written = b"\xfe\xff" + '[{"a": 1}]'.encode("utf-16-be")

        assert values(written) == [{"a": 1}]
        assert beginning_text(written) == '[{"a": 1}]'

    def test_memory_stays_small_around_an_element_that_is_too_long(self) -> None:
        text = b'[{"a": "' + b"x" * (8 << 20) + b'"}, {"b": 1}]'
        scanner = found_elements._Scanner(1 << 20)
        held = []
        for at in range(0, len(text), 1 << 18):
            list(scanner.take(text[at : at + (1 << 18)]))
            held.append(len(scanner.buffer))

        assert max(held) < 2 << 20


def packed(path: Path, **entries: str | bytes) -> Path:
    """Write a zip archive; in the names of entries two underscores stand for a dot."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name.replace("__", "."), content)
    return path


def export(*words: str) -> str:
    return json.dumps([chain(message(word), key=f"c-{word}") for word in words])


def unpacked(path: Path, wanted: str | None = None) -> list[Unpacked]:
    found = zips.unpack(path, wanted)
    return [] if found is None else list(found)


def words(found: list[Unpacked]) -> list[str]:
    return [json.loads(one.content)["id"] for one in found if isinstance(one, Conversation)]


def left_out(found: list[Unpacked]) -> list[tuple[str, str]]:
    return [(one.reason, one.detail) for one in found if isinstance(one, LeftOut)]


class TestZips:
    def test_conversations_come_out_and_other_entries_are_counted(self, tmp_path: Path) -> None:
        path = packed(
            tmp_path / "e.zip",
            conversations__json=export("a", "b"),
            user__json='{"id": "u"}',
            chat__html="<p>",
        )
        found = unpacked(path)

        assert words(found) == ["c-a", "c-b"]
        assert found[-1] == PassedOver("archive-entry", 2)
        assert {one.name for one in found if isinstance(one, Conversation)} == {"conversations.json"}

    def test_an_export_in_several_files_is_one(self, tmp_path: Path) -> None:
        names = {f"conversations-{n:03}.json": export(f"w{n}") for n in range(3)}
        path = tmp_path / "e.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in names.items():
                archive.writestr(f"folder/{name}", content)

        assert words(unpacked(path)) == ["c-w0", "c-w1", "c-w2"]

    def test_the_time_of_an_entry_comes_with_its_conversations(self, tmp_path: Path) -> None:
        path = tmp_path / "e.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(zipfile.ZipInfo("a.json", (2026, 3, 4, 5, 6, 8)), export("a"))
            archive.writestr(zipfile.ZipInfo("b.json"), export("b"))

        assert [one.changed for one in unpacked(path) if isinstance(one, Conversation)] == [
            "2026-03-04T05:06:08",
            None,
        ]

    def test_an_archive_that_is_no_export_is_none(self, tmp_path: Path) -> None:
        assert zips.unpack(packed(tmp_path / "e.zip", package__json='{"name": "x"}', a__txt="x")) is None
        assert zips.unpack(packed(tmp_path / "empty.zip")) is None

    def test_only_the_format_that_is_asked_for_comes_out(self, tmp_path: Path) -> None:
        path = packed(tmp_path / "e.zip", conversations__json=export("a"))

        assert words(unpacked(path, "chatgpt")) == ["c-a"]
        with pytest.raises(NotRead) as failure:
            zips.unpack(path, "claude-ai")
        assert failure.value.reason == "other-format"

    @pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
    def test_an_entry_with_a_mark_is_read(self, tmp_path: Path, encoding: str) -> None:
        assert words(
            unpacked(packed(tmp_path / "e.zip", conversations__json=export("ä").encode(encoding)))
        ) == ["c-ä"]

    @pytest.mark.parametrize(
        "name", ["../c.json", "/etc/c.json", "a/../../c.json", "C:/c.json", "..\\c.json", "\\c.json"]
    )
    def test_a_name_that_leads_out_is_not_read(self, tmp_path: Path, name: str) -> None:
        path = tmp_path / "e.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("conversations.json", export("a"))
            archive.writestr(name, export("evil"))

        found = unpacked(path)
        assert (words(found), [reason for reason, _ in left_out(found)]) == (["c-a"], ["unsafe-name"])

    @pytest.mark.parametrize("name", ["a.json", "a/b.json", "..a/b.json", "a..json"])
    def test_other_names_are_safe(self, name: str) -> None:
        assert not is_unsafe(name)

    def test_an_archive_within_an_archive_is_told(self, tmp_path: Path) -> None:
        inner = packed(tmp_path / "inner.zip", conversations__json=export("in")).read_bytes()
        beside = packed(tmp_path / "e.zip", conversations__json=export("a"), inner__zip=inner)
        alone = packed(tmp_path / "alone.zip", inner__zip=inner)

        assert left_out(unpacked(beside)) == [("nested-archive", "inner.zip")]
        with pytest.raises(NotRead) as failure:
            zips.unpack(alone)
        assert failure.value.reason == "nested-archive"

    def test_an_encrypted_entry_is_told(self, tmp_path: Path) -> None:
        path = packed(tmp_path / "e.zip", a__json=export("a"), b__json=export("b"))
        _flag_as_encrypted(path, b"b.json")
        found = unpacked(path)

        assert (words(found), left_out(found)) == (["c-a"], [("encrypted", "b.json")])
        _flag_as_encrypted(path, b"a.json")
        with pytest.raises(NotRead) as failure:
            zips.unpack(path)
        assert failure.value.reason == "encrypted"

    def test_two_entries_with_one_name_are_one_and_a_count(self, tmp_path: Path) -> None:
        path = tmp_path / "e.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("c.json", export("old"))
            with pytest.warns(UserWarning, match="Duplicate"):
                archive.writestr("c.json", export("new"))

        assert words(unpacked(path)) == ["c-new"]
        assert unpacked(path)[-1] == PassedOver("archive-entry", 1)

    def test_an_archive_of_the_64_bit_kind_is_read(self, tmp_path: Path) -> None:
        path = tmp_path / "e.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            with archive.open("conversations.json", "w", force_zip64=True) as entry:
                entry.write(export("a").encode())
            for number in range(65_600):
                archive.writestr(zipfile.ZipInfo(f"{number}.txt"), "")

        assert words(unpacked(path)) == ["c-a"]

    def test_a_method_that_may_ask_for_all_memory_is_not_read(self, tmp_path: Path) -> None:
        path = tmp_path / "e.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
            archive.writestr("conversations.json", export("a"))

        with pytest.raises(NotRead) as failure:
            zips.unpack(path)
        assert failure.value.reason == "damaged"


class TestBombs:
    def test_an_entry_that_unpacks_to_far_more_than_text_does_is_not_read(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(shelves, "BOMB_BYTES_MIN", 1 << 20)
        bomb = "[" + " " * (4 << 20) + export("x")[1:]
        found = unpacked(packed(tmp_path / "e.zip", a__json=export("a"), bomb__json=bomb))

        assert (words(found), left_out(found)) == (["c-a"], [("zip-bomb", "bomb.json")])

    def test_an_archive_of_many_small_bombs_is_not_opened(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(shelves, "BOMB_TOTAL_BYTES_MIN", 1 << 20)
        path = packed(tmp_path / "e.zip", **{f"a{n}__json": " " * (1 << 20) for n in range(4)})

        with pytest.raises(NotRead) as failure, opened_zip(path):
            pass
        assert failure.value.reason == "zip-bomb"

    def test_entries_that_lie_over_each_other_are_not_read(self, tmp_path: Path) -> None:
        path = packed(
            tmp_path / "e.zip", conversations__json="[" + "\n".join(f"{n}," * 9 for n in range(9_000))
        )
        content = path.read_bytes()
        begin = content.rfind(b"PK\x01\x02")
        end = content.rfind(b"PK\x05\x06")
        many = content[begin:end] * 40
        last = bytearray(content[end:])
        last[8:12] = struct.pack("<HH", 40, 40)
        last[12:16] = struct.pack("<L", len(many))
        path.write_bytes(content[:begin] + many + bytes(last))

        with pytest.raises(NotRead) as failure, opened_zip(path):
            pass
        assert failure.value.reason == "zip-bomb"

    def test_a_list_of_entries_that_is_too_long_is_not_read(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(shelves, "DIRECTORY_BYTES_MAX", 1_000)
        path = packed(tmp_path / "e.zip", **{f"entry{n}__txt": "" for n in range(100)})

        with pytest.raises(NotRead) as failure, opened_zip(path):
            pass
        assert failure.value.reason == "too-large"

    @pytest.mark.parametrize(("says", "found"), [(40, []), (2_000, ["c-a"])])
    def test_an_entry_that_is_longer_than_it_says_is_told(
        self, tmp_path: Path, says: int, found: list[str]
    ) -> None:
        path = packed(tmp_path / "e.zip", conversations__json=export(*"abcdef"), other__json=export("z"))
        _patch(path, b"PK\x01\x02", 24, struct.pack("<L", says))
        told = unpacked(path)

        assert (words(told)[: len(found)], words(told)[-1]) == (found, "c-z")
        assert {reason for reason, _ in left_out(told)} == {"damaged"}

    def test_an_entry_that_is_shorter_than_it_says_is_read(self, tmp_path: Path) -> None:
        path = packed(tmp_path / "e.zip", conversations__json=export("a", "b"))
        _patch(path, b"PK\x01\x02", 24, struct.pack("<L", 40_000_000))

        assert (words(unpacked(path)), left_out(unpacked(path))) == (["c-a", "c-b"], [])


class TestDamage:
    @pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.99])
    def test_an_archive_that_is_cut_off_is_told(self, tmp_path: Path, share: float) -> None:
        path = packed(tmp_path / "e.zip", conversations__json=export(*"abc"))
        content = path.read_bytes()
        path.write_bytes(content[: int(len(content) * share)])

        with pytest.raises(NotRead) as failure:
            zips.unpack(path)
        assert failure.value.reason == "damaged"

    def test_a_checksum_that_is_another_is_told_and_what_could_be_read_is_kept(self, tmp_path: Path) -> None:
        path = packed(tmp_path / "e.zip", conversations__json=export("a", "b"))
        _patch(path, b"PK\x01\x02", 16, b"\0\0\0\0")
        found = unpacked(path)

        assert (words(found), [reason for reason, _ in left_out(found)]) == (["c-a", "c-b"], ["damaged"])

    def test_bytes_that_are_broken_further_in_cost_only_what_comes_after_them(self, tmp_path: Path) -> None:
        many = [zlib.crc32(str(n).encode()).to_bytes(4, "big").hex() * 50 for n in range(2_000)]
        path = packed(tmp_path / "e.zip", conversations__json=export(*many))
        content = bytearray(path.read_bytes())
        at = len(content) * 3 // 4
        content[at : at + 64] = bytes(64)
        path.write_bytes(bytes(content))
        found = unpacked(path)

        assert words(found)[:1_000] == [f"c-{word}" for word in many[:1_000]]
        assert {reason for reason, _ in left_out(found)} == {"damaged"}

    def test_an_entry_that_cannot_be_read_at_all_is_told(self, tmp_path: Path) -> None:
        path = packed(tmp_path / "e.zip", a__json=export("a"), b__json=export("b"))
        _patch(path, b"PK\x03\x04", 0, b"XXXX")
        found = unpacked(path)

        assert (words(found), [reason for reason, _ in left_out(found)]) == (["c-b"], ["damaged"])

    def test_any_bytes_after_the_mark_of_an_archive_are_told(
        self, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        path = tmp_path_factory.mktemp("drawn") / "e.zip"

        @given(st.binary(max_size=200))
        def told(tail: bytes) -> None:
            path.write_bytes(b"PK\x05\x06" + tail)
            reason = None
            try:
                zips.unpack(path)
            except NotRead as failure:
                reason = failure.reason
            assert reason in (None, "damaged", "too-large", "zip-bomb")

        told()

    def test_an_export_that_another_takes_the_place_of_is_told(self, tmp_path: Path) -> None:
        path = packed(tmp_path / "e.zip", a__json=export("a"), b__json=export("b"))
        found = zips.unpack(path)
        packed(path, b__json=export("c"))

        assert found is not None
        told = list(found)
        assert (words(told), [reason for reason, _ in left_out(told)]) == (["c-c"], ["changed-while-read"])


def _patch(path: Path, mark: bytes, offset: int, replacement: bytes) -> None:
    """Change bytes of an archive's first record of a kind."""
    content = bytearray(path.read_bytes())
    at = content.find(mark) + offset
    content[at : at + len(replacement)] = replacement
    path.write_bytes(bytes(content))


def _flag_as_encrypted(path: Path, name: bytes) -> None:
    content = bytearray(path.read_bytes())
    for mark, flags, named in ((b"PK\x03\x04", 6, 30), (b"PK\x01\x02", 8, 46)):
        at = content.find(mark)
        while at >= 0:
            if content[at + named : at + named + len(name)] == name:
                content[at + flags] |= 1
            at = content.find(mark, at + 1)
    path.write_bytes(bytes(content))
