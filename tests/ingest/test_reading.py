"""The bytes of a file as they were at one moment, by ranges of whole lines, and the encoding of a text."""

from __future__ import annotations

import json
import os
import random
import socket
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chronofile.domain.decoding import decode
from chronofile.domain.rejection import NotRead, Rejected, RejectionReason
from chronofile.ingest.encodings import text_encoding
from chronofile.ingest.reading import (
    FIRST_LINE_BYTES_MAX,
    PLAIN_BYTES_MAX,
    SNIFF_BYTES,
    complete_end,
    opened,
    read,
    read_range,
    sniff,
)

SHARED_TRANSCRIPTS = Path(__file__).parents[3] / "shared" / "data" / "transcripts"
NOBODY = 65_534


@contextmanager
def refused(reason: RejectionReason) -> Iterator[None]:
    with pytest.raises(NotRead) as failure:
        yield
    assert failure.value.reason == reason


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file"


class TestReading:
    def test_a_file_is_read_whole_with_its_fingerprint(self, path: Path) -> None:
        path.write_bytes(b"one\r\ntwo\x00\xff")

        got = read(path)

        status = path.stat()
        assert got.content == b"one\r\ntwo\x00\xff"
        assert (got.fingerprint.size, got.fingerprint.inode) == (10, status.st_ino)
        assert got.fingerprint.mtime_ns == status.st_mtime_ns
        assert not got.growing

    def test_an_empty_file_is_a_file_like_any_other(self, path: Path) -> None:
        path.touch()

        assert read(path).content == b""
        assert sniff(path).head.lines == ()
        assert complete_end(path) == 0

    def test_a_file_as_large_as_the_limit_is_read_and_a_larger_one_is_not(self, path: Path) -> None:
        path.write_bytes(b"12345")

        assert read(path, limit_bytes=5).content == b"12345"
        with pytest.raises(NotRead) as failure:
            read(path, limit_bytes=4)
        assert failure.value.rejected == Rejected(path, "too-large", "5 bytes, the limit is 4.")

    def test_a_large_sparse_file_is_refused_without_being_read(self, path: Path) -> None:
        with path.open("wb") as file:
            file.truncate(200_000_000)
        began = time.perf_counter()

        with refused("too-large"):
            read(path, limit_bytes=PLAIN_BYTES_MAX)

        assert time.perf_counter() - began < 0.05

    def test_what_is_no_regular_file_is_refused_and_a_pipe_does_not_block(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "link").symlink_to("file")
        (tmp_path / "file").touch()

        for name in ("pipe", "link", "."):
            with refused("not-regular"):
                read(tmp_path / name)
        with tempfile.TemporaryDirectory() as short, socket.socket(socket.AF_UNIX) as listening:
            listening.bind(f"{short}/s")
            with refused("not-regular"):
                read(Path(short, "s"))

    def test_what_is_gone_or_cannot_be_named_is_refused(self, tmp_path: Path) -> None:
        with refused("vanished"):
            read(tmp_path / "gone")
        with refused("path-too-long"):
            read(tmp_path / "/".join(["d" * 200] * 30))

    def test_a_path_of_four_thousand_characters_is_read(self, tmp_path: Path) -> None:
        folder = str(tmp_path)
        while len(folder) < 3_950:
            folder += "/" + "d" * min(200, 3_990 - len(folder))
            Path(folder).mkdir()
        path = Path(folder, "x" * (3_999 - len(folder)))
        path.write_bytes(b"deep")

        assert (len(str(path)), read(path).content) == (4_000, b"deep")

    def test_a_name_that_is_not_utf8_is_read(self, tmp_path: Path) -> None:
        path = tmp_path / os.fsdecode(b"caf\xe9")
        path.write_bytes(b"x")

        assert read(path).content == b"x"

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody whom permissions bind")
    def test_a_file_that_may_not_be_read_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "secret"
        path.write_bytes(b"x")
        path.chmod(0)
        closed = {f: m for f in path.parents if (m := stat.S_IMODE(f.stat().st_mode)) & 0o005 != 0o005}
        for folder, mode in closed.items():
            folder.chmod(mode | 0o555)
        os.seteuid(NOBODY)
        try:
            with refused("unreadable"):
                read(path)
        finally:
            os.seteuid(0)
            for folder, mode in closed.items():
                folder.chmod(mode)

    def test_a_fingerprint_is_settled_once_no_change_can_hide_in_it(self, path: Path) -> None:
        path.write_bytes(b"x")
        mark = read(path).fingerprint

        assert not mark.settled(mark.mtime_ns + 1)
        assert mark.settled(mark.ctime_ns + 3_000_000_000)


class TestChanging:
    def test_a_file_that_is_rewritten_without_end_is_refused(self, path: Path) -> None:
        fill(path)

        with writing(path, rewrite), refused("changed-while-read"):
            read(path, limit_bytes=None)

    def test_a_file_that_is_appended_to_without_end_is_taken_as_it_was_when_it_may_grow(
        self, path: Path
    ) -> None:
        fill(path)

        with writing(path, append), refused("changed-while-read"):
            read(path, limit_bytes=None)
        with writing(path, append):
            got = read(path, limit_bytes=None, may_grow=True)

        assert got.growing
        assert len(got.content) == got.fingerprint.size < path.stat().st_size
        assert got.content.endswith(b"line\n")

    def test_a_file_that_comes_to_rest_is_read(self, path: Path) -> None:
        fill(path)
        with writing(path, rewrite):
            pass

        assert read(path, limit_bytes=None).content[:8] == path.read_bytes()[:8]

    def test_a_range_beyond_the_end_of_a_file_that_was_cut_is_refused(self, path: Path) -> None:
        path.write_bytes(b"0123456789")

        assert read_range(path, 2, 5) == b"234"
        with opened(path) as file:
            os.truncate(path, 4)
            with refused("changed-while-read"):
                file.range(2, 5)

    def test_an_open_file_stays_the_same_when_another_takes_its_name(self, path: Path) -> None:
        path.write_bytes(b"old\n")
        with opened(path) as file:
            path.with_name("new").write_bytes(b"other\n")
            path.with_name("new").replace(path)

            assert file.range(0, file.complete_end()) == b"old\n"


def fill(path: Path) -> None:
    """Make a file that takes longer to read than a step of the clock by which file systems stamp."""
    with path.open("wb") as file:
        file.truncate(60_000_000)


def rewrite(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(random.randbytes(8))


def append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"line\n")


@contextmanager
def writing(path: Path, change: Callable[[Path], None]) -> Iterator[None]:
    """Change the file again and again from another thread, and begin before the body does."""
    begun, stop = threading.Event(), threading.Event()

    def run() -> None:
        while not stop.is_set():
            change(path)
            begun.set()

    thread = threading.Thread(target=run)
    thread.start()
    begun.wait()
    try:
        yield
    finally:
        stop.set()
        thread.join()


class TestLines:
    @pytest.mark.parametrize(
        ("content", "end"),
        [
            (b"", 0),
            (b"{}\n", 3),
            (b'{"a":1}\n{"b"', 8),
            (b'{"a":1}\n{"b":2}', 15),
            (b'{"a":1}\n{"b":2}\r', 16),
            (b'{"a":1}\n[1]', 8),
            (b'{"a":1}\n12', 8),
            (b'{"a":1}\n{"b":"\xc3', 8),
            (b'{"a":1}\n{"b":"\xff"}', 17),
            (b'{"a":1}\n\x00\x00\x00', 8),
            (b'{"a":1}\n{"b":{"c":1}', 8),
            (b'\xef\xbb\xbf{"a":1}', 10),
            (b"no line end", 0),
            (b"\n\n\n", 3),
            (b"[" * 100_000, 0),
        ],
    )
    def test_a_last_line_without_an_end_counts_only_as_a_whole_object(
        self, path: Path, content: bytes, end: int
    ) -> None:
        path.write_bytes(content)

        assert complete_end(path) == end

    def test_the_last_line_end_is_found_behind_a_line_that_is_longer_than_a_block(self, path: Path) -> None:
        first, long = b'{"a":1}\n', b'{"b":"' + b"x" * 300_000
        path.write_bytes(first + long)
        assert complete_end(path) == len(first)

        path.write_bytes(first + long + b'"}')
        assert complete_end(path) == len(first + long) + 2

    def test_the_end_is_found_in_a_very_large_file_without_reading_it(self, path: Path) -> None:
        with path.open("wb") as file:
            file.truncate(2_000_000_000)
            file.seek(2_000_000_000)
            file.write(b'\n{"half')
        began = time.perf_counter()

        assert complete_end(path, 1_000_000_000) == 2_000_000_001
        assert time.perf_counter() - began < 0.05

    @settings(deadline=None)
    @given(
        lines=st.lists(st.binary(max_size=30).map(lambda line: line.replace(b"\n", b"")), max_size=20),
        range_bytes=st.integers(1, 40),
        start_line=st.integers(0, 20),
    )
    def test_ranges_partition_what_they_are_given_at_line_ends(
        self, lines: list[bytes], range_bytes: int, start_line: int
    ) -> None:
        content = b"".join(line + b"\n" for line in lines)
        start = len(b"".join(line + b"\n" for line in lines[:start_line]))
        with tempfile.NamedTemporaryFile() as temporary:
            Path(temporary.name).write_bytes(content)
            with opened(Path(temporary.name)) as file:
                ranges = list(file.ranges(start, len(content), range_bytes))
                pieces = [file.range(*cut) for cut in ranges]

        assert b"".join(pieces) == content[start:]
        for piece in pieces:
            assert piece.endswith(b"\n")
            assert len(piece) <= range_bytes or piece.count(b"\n") == 1

    def test_a_line_that_is_longer_than_a_range_stays_whole(self, path: Path) -> None:
        long = b"x" * 200_000 + b"\n"
        path.write_bytes(b"a\n" + long + b"b\n")

        with opened(path) as file:
            assert list(file.ranges(0, file.fingerprint.size, 70_000)) == [
                (0, 2),
                (2, 200_003),
                (200_003, 200_005),
            ]


class TestSniffing:
    def test_the_head_is_the_complete_lines_without_their_ends(self, path: Path) -> None:
        path.write_bytes(b'\xef\xbb\xbf\r\n{"a":"\xc3\xa9\xe2\x80\xa8"}\r\n{"b":\xff}\n{"c"')

        assert sniff(path).head.lines == ("", '{"a":"é\u2028"}', '{"b":\ufffd}')

    def test_a_file_of_one_object_without_a_line_end_has_a_head(self, path: Path) -> None:
        path.write_bytes(b'{"a":1}')

        assert sniff(path).head.lines == ('{"a":1}',)

    @pytest.mark.parametrize(
        "content", [b"# Title\n", b'[{"a":1}]\n', b"\x89PNG\r\n\x1a\n{", b"  \n", b"x{}"]
    )
    def test_what_does_not_begin_with_an_object_has_no_head(self, path: Path, content: bytes) -> None:
        path.write_bytes(content)

        assert sniff(path).head.lines == ()

    def test_only_the_beginning_of_a_large_file_is_looked_at(self, path: Path) -> None:
        path.write_bytes(b'{"a":"12345"}\n' * 100_000)

        head = sniff(path).head.lines
        assert set(head) == {'{"a":"12345"}'}
        assert len(head) == SNIFF_BYTES // 14

    def test_a_first_line_longer_than_the_head_is_read_to_its_end(self, path: Path) -> None:
        long = json.dumps({"image": "x" * 300_000})
        path.write_text(long + "\n" + '{"b":1}\n', encoding="utf-8")

        assert sniff(path).head.lines[0] == long

    def test_a_first_line_without_end_has_no_head(self, path: Path) -> None:
        path.write_bytes(b'{"a":"' + b"x" * (FIRST_LINE_BYTES_MAX + 1))

        assert sniff(path).head.lines == ()

    @pytest.mark.skipif(
        not SHARED_TRANSCRIPTS.is_dir(), reason="the shared transcripts are not on this machine"
    )
    def test_every_json_lines_transcript_of_the_shared_set_has_a_head(self) -> None:
        transcripts = [p for p in SHARED_TRANSCRIPTS.rglob("*.jsonl") if p.stat().st_size and p.is_file()]
        headless = {p.name for p in transcripts if not sniff(p).head.lines}

        assert len(transcripts) > 50
        assert headless <= {"only_newlines.jsonl"}


LETTERS = {
    "cp1252": "Die Straße führt über die Brücke nach Köln. «Ça va très bien», sagte François – nämlich.\n",
    "cp1250": "Wszystkie pliki są wczytywane od początku, a każdy wiersz jest sprawdzany jeszcze raz.\n",
    "cp1251": "Это обычный русский текст, по которому определяется кодировка.\n",
    "koi8_r": "Это обычный русский текст, по которому определяется кодировка.\n",
    "cp1253": "Αυτό είναι ένα κείμενο στα ελληνικά για δοκιμή.\n",
    "cp932": "これは日本語のテキストです。文字コードの判定を試します。\n",
    "euc_jp": "これは日本語のテキストです。文字コードの判定を試します。\n",
    "gb18030": "这是一个用来测试编码检测的中文文本文件，包含常用汉字。\n",
    "big5": "這是一個用來測試編碼檢測的中文文本檔案。\n",
    "cp949": "이것은 인코딩 감지를 테스트하기 위한 한국어 텍스트입니다.\n",
}


class TestEncodings:
    @pytest.mark.parametrize(
        ("content", "encoding"),
        [
            (b"", "utf-8"),
            (b"plain\r\n", "utf-8"),
            ("é\u2028🙂".encode(), "utf-8"),
            (b"\xef\xbb\xbfx", "utf-8-sig"),
            ("text\n".encode("utf-16"), "utf-16"),
            ("text\n".encode("utf-32"), "utf-32"),
            (b"\xfe\xff" + "text\n".encode("utf-16-be"), "utf-16"),
            ("text without a mark\n".encode("utf-16-le"), "utf-16-le"),
            ("text without a mark\n".encode("utf-16-be"), "utf-16-be"),
            (b"\x1b[31mred\x1b[0m\a\n", "utf-8"),
            (b"x" * 8_000 + b"\x00 a NUL far into a text\n", "utf-8"),
        ],
    )
    def test_unicode_is_recognised(self, content: bytes, encoding: str) -> None:
        assert text_encoding(content) == encoding

    @pytest.mark.parametrize("encoding", LETTERS)
    @pytest.mark.parametrize("times", [1, 100])
    def test_older_encodings_are_recognised(self, encoding: str, times: int) -> None:
        text = LETTERS[encoding] * times

        got = text_encoding(text.encode(encoding))

        assert got is not None
        assert decode(text.encode(encoding), got) == (text, 0)

    @pytest.mark.parametrize("words", ["Müller", "café", "– don’t", "© 2020", "ñ"])
    @pytest.mark.parametrize("lines_before", [0, 500])
    def test_one_accented_word_in_a_program_is_western(self, words: str, lines_before: int) -> None:
        text = "x = f(y)\n" * lines_before + f"# written by {words}\n" + "x = f(y)\n" * 500

        assert text_encoding(text.encode("cp1252")) == "cp1252"

    @pytest.mark.parametrize(
        "content",
        [
            b"\x89PNG\r\n\x1a\n....",
            b"%PDF-1.7\n%text\n",
            b"\xff\xd8\xff\xe0..JFIF",
            b"PK\x03\x04....",
            b"\x1f\x8b\x08....",
            b"text\x00text",
            b"\xff\xfe" + random.Random(1).randbytes(4_000),
            b"\x01\x02\x03\x04\x05\x06" * 20,
        ],
    )
    def test_binary_content_is_no_text(self, content: bytes) -> None:
        assert text_encoding(content) is None

    @pytest.mark.parametrize("without", [b"", b"\x00", bytes(range(32))])
    def test_random_bytes_are_no_text_even_without_controls(self, without: bytes) -> None:
        chance = random.Random(7)
        for size in (100, 1_000, 20_000):
            for _ in range(10):
                content = chance.randbytes(2 * size).translate(None, without)[:size]
                assert text_encoding(content) is None

    def test_a_broken_or_cut_utf8_text_stays_utf8(self) -> None:
        text = "Grüße aus Köln, schöne Größe. ".encode() * 10

        assert text_encoding(text[:100] + b"\xff" + text[100:]) == "utf-8"
        assert text_encoding("Köln é".encode()[:-1]) == "utf-8"
        assert text_encoding("so far 🙂".encode()[:-1]) == "utf-8"
        assert text_encoding("un café".encode("cp1252")) == "cp1252"

    def test_ten_megabytes_of_utf8_take_little_time(self) -> None:
        content = "ein Satz mit einem ä darin\n".encode() * 370_000
        began = time.perf_counter()

        assert text_encoding(content) == "utf-8"
        assert time.perf_counter() - began < 0.5


class TestDecoding:
    def test_marks_go_and_line_ends_and_nuls_stay(self) -> None:
        assert decode(b"\xef\xbb\xbfa\r\nb\rc\x00\n", "utf-8-sig") == ("a\r\nb\rc\x00\n", 0)
        assert decode("a\r\n".encode("utf-16"), "utf-16") == ("a\r\n", 0)

    def test_each_invalid_sequence_becomes_one_replacement_that_is_counted(self) -> None:
        assert decode(b"a\xffb\xc3", "utf-8") == ("a\ufffdb\ufffd", 2)
        assert decode(b"a\x00\x00", "utf-16-le") == ("a\ufffd", 1)
        assert decode(b"\x81", "cp1252") == ("\ufffd", 1)

    def test_a_replacement_character_of_the_text_itself_is_not_counted(self) -> None:
        assert decode("a\ufffd".encode() + b"\xff", "utf-8") == ("a\ufffd\ufffd", 1)
        assert decode("a\ufffd".encode(), "utf-8") == ("a\ufffd", 0)

    @given(
        st.binary(), st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252", "cp932", "gb18030"])
    )
    def test_no_bytes_decode_to_a_lone_surrogate(self, content: bytes, encoding: str) -> None:
        text, replaced = decode(content, encoding)

        text.encode("utf-8")
        assert 0 <= replaced <= text.count("\ufffd")
