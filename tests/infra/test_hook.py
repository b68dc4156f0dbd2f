"""The hook: it notes the event, is quick, and whatever happens it ends with 0."""

from __future__ import annotations

import json
import os
import pty
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from platformdirs.macos import MacOS
from platformdirs.unix import Unix
from platformdirs.windows import Windows

from chronofile.infra.hook import _AGENT
from chronofile.infra.hook.entry import COPY_BYTES_MAX, HEAD_BYTES, PROBE_BYTES
from chronofile.infra.hook.home import default_home
from chronofile.ingest import offsets, spool
from tests.builders import add, claude_line, write
from tests.infra.hooks import PROGRAM, Hooks, left_captured

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can change to another account or mount")


@pytest.fixture
def hooks(home: Path) -> Hooks:
    return Hooks(home)


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    return write(tmp_path / "s.jsonl", claude_line("The port is 5432."))


def test_an_event_is_noted_with_the_clients_json_and_the_transcripts_path_and_size(
    hooks: Hooks, transcript: Path
) -> None:
    before_ns = time.time_ns()

    hooks.tell("UserPromptSubmit", transcript, prompt="Which port?")

    (entry,) = hooks.entries
    (mention,) = entry.mentions
    assert (entry.event, entry.agent) == ("user-prompt-submit", "claude-code")
    assert before_ns <= entry.at_ns <= time.time_ns()
    assert (mention.path, mention.size, mention.held) == (transcript, transcript.stat().st_size, None)
    line = json.loads(entry.file.read_bytes())
    assert json.loads(line["input"])["prompt"] == "Which port?"
    assert line["cwd"] == "/made-up"


def test_the_spool_is_for_its_user_alone_and_says_that_it_is_not_redacted(
    tmp_path: Path, transcript: Path
) -> None:
    hooks = Hooks(tmp_path / "not" / "there")

    hooks.tell("PreCompact", transcript)

    modes = [stat.S_IMODE(path.stat().st_mode) for path in (hooks.home, spool.folder(hooks.home))]
    files = [stat.S_IMODE(path.stat().st_mode) for path in spool.folder(hooks.home).iterdir()]
    assert modes == [0o700, 0o700]
    assert files == [0o600, 0o600]
    assert "NOTHING IN HERE IS REDACTED" in (spool.folder(hooks.home) / "README.txt").read_text()


@pytest.mark.parametrize(
    "spelling", ["SubagentStop", "subagent-stop", "subagent_stop", "subagentStop", "SUBAGENT-STOP"]
)
def test_an_events_name_is_taken_in_any_spelling(hooks: Hooks, spelling: str) -> None:
    hooks.run(spelling)
    assert [entry.event for entry in hooks.entries] == ["subagent-stop"]


def test_the_end_of_a_sub_agent_names_both_transcripts(hooks: Hooks, transcript: Path) -> None:
    own = write(transcript.with_name("agent-1.jsonl"), claude_line("Found it.", session="s", agentId="1"))

    hooks.tell("SubagentStop", transcript, agent_transcript_path=str(own))

    (entry,) = hooks.entries
    assert [mention.path for mention in entry.mentions] == [transcript, own]


@pytest.mark.parametrize("event", ["PreCompact", "SessionEnd"])
def test_what_was_not_captured_yet_is_copied(hooks: Hooks, transcript: Path, event: str) -> None:
    captured = transcript.stat().st_size
    left_captured(hooks, transcript)
    add(transcript, claude_line("And 5433.", uuid="u-2"), claude_line("And 5434.", uuid="u-3"))

    hooks.tell(event, transcript)

    (entry,) = hooks.entries
    held = entry.mentions[0].held
    assert held is not None
    assert (held.start, held.size) == (captured, transcript.stat().st_size)
    assert held.range(0, held.size) == transcript.read_bytes()
    assert entry.mentions[0].left_out_bytes == 0


def test_of_a_large_transcript_the_beginning_and_sixteen_megabytes_of_new_bytes_are_copied(
    hooks: Hooks, transcript: Path
) -> None:
    old = claude_line("x" * 1_000, uuid="u-2")
    add(transcript, *[old] * 1_000)
    captured = transcript.stat().st_size
    left_captured(hooks, transcript)
    add(transcript, *[claude_line("y" * 100_000, uuid="u-3")] * 200)
    content = transcript.read_bytes()

    hooks.tell("PreCompact", transcript)

    (mention,) = hooks.entries[0].mentions
    held = mention.held
    assert held is not None
    spans = [(start, end) for start, end, _ in held.spans]
    assert spans == [(0, HEAD_BYTES), (captured - HEAD_BYTES, captured + COPY_BYTES_MAX)]
    assert all(held.range(*span) == content[slice(*span)] for span in spans)
    assert mention.left_out_bytes == len(content) - captured - COPY_BYTES_MAX
    assert content[held.size - 1 : held.size] == b"\n"


def test_nothing_is_copied_when_all_is_captured(hooks: Hooks, transcript: Path) -> None:
    left_captured(hooks, transcript)
    hooks.tell("PreCompact", transcript)
    assert hooks.entries[0].mentions[0].held is None


def test_a_transcript_that_became_shorter_than_what_was_captured_is_copied_whole(
    hooks: Hooks, transcript: Path
) -> None:
    add(transcript, claude_line("x" * 10_000))
    left_captured(hooks, transcript)
    write(transcript, claude_line("Compacted."))
    hooks.tell("PreCompact", transcript)
    held = hooks.entries[0].mentions[0].held
    assert held is not None
    assert held.range(0, held.size) == transcript.read_bytes()


@pytest.mark.parametrize("lines", [1, 40])
def test_a_transcript_that_was_written_anew_and_grew_past_what_was_captured_is_copied_whole(
    hooks: Hooks, transcript: Path, lines: int
) -> None:
    left_captured(hooks, write(transcript, *[claude_line("First life.")] * lines))
    again = [claude_line(f"Second life, word {number}, and more of it.") for number in range(lines)]
    write(transcript, *again)

    hooks.tell("PreCompact", transcript)

    held = hooks.entries[0].mentions[0].held
    assert held is not None
    assert (held.start, held.lines()) == (0, [line.encode() for line in again])


def test_a_transcript_that_was_written_anew_with_as_many_bytes_is_copied_whole(
    hooks: Hooks, transcript: Path
) -> None:
    left_captured(hooks, transcript)
    write(transcript, claude_line("The port is 5433."))
    hooks.tell("PreCompact", transcript)
    assert hooks.entries[0].mentions[0].held is not None


def test_what_a_capture_leaves_for_hooks_is_what_they_take_it_for() -> None:
    assert PROBE_BYTES == offsets.PROBE_BYTES
    assert _AGENT.pattern == spool.AGENT.pattern


OFFSETS = [
    b"",
    b"many",
    b"-5",
    b"9" * 40,
    b"20",
    b"20 aa bb",
    b"20 zz zz",
    b"-5 " + b"00" * 16 + b" 00",
    b"\xff a b",
]


@pytest.mark.parametrize("offset", OFFSETS)
def test_an_offset_that_is_none_or_proves_nothing_counts_as_nothing_captured(
    hooks: Hooks, transcript: Path, offset: bytes
) -> None:
    left_captured(hooks, transcript)
    (beside,) = (hooks.home / "captured").iterdir()
    beside.write_bytes(offset)
    hooks.tell("PreCompact", transcript)
    held = hooks.entries[0].mentions[0].held
    assert held is not None
    assert held.start == 0


def test_a_spool_that_is_full_takes_entries_and_no_more_copies(hooks: Hooks, transcript: Path) -> None:
    hooks.tell("Stop", transcript)
    with (spool.folder(hooks.home) / "large").open("wb") as large:
        large.truncate(512 << 20)

    hooks.tell("PreCompact", transcript)

    (mention,) = hooks.entries[1].mentions
    assert (mention.held, mention.left_out_bytes) == (None, transcript.stat().st_size)


@pytest.mark.parametrize(
    "stdin",
    [b"", b"{", b"[]", b"null", b"\xff\xfe\x00", b'"' * 1_000, b"[" * 100_000, b'{"transcript_path": 5}'],
)
def test_broken_json_or_none_is_noted_all_the_same(hooks: Hooks, stdin: bytes) -> None:
    done = hooks.run("Stop", stdin=stdin)
    assert (done.status, done.out, done.err) == (0, b"", b"")
    assert [entry.mentions for entry in hooks.entries] == [()]


def test_of_broken_json_the_transcripts_path_is_made_out(hooks: Hooks, transcript: Path) -> None:
    hooks.run("Stop", stdin=b'{"transcript_path": "%s", "cwd": "/ma' % os.fsencode(transcript))
    assert [mention.path for mention in hooks.entries[0].mentions] == [transcript]


@pytest.mark.parametrize(
    "arguments",
    [[], ["Stop", "again"], [""], ["../../etc"], ["--home"], ["Stop", "--agent", "A b"], ["Stop", "--home", "~nobody-here"]],
)  # fmt: skip
def test_wrong_arguments_end_with_0_and_a_reason(hooks: Hooks, arguments: list[str]) -> None:
    done = hooks.run(*arguments, stdin=b"{}")
    assert (done.status, done.out) == (0, b"")
    assert done.err.startswith(b"chronofile-hook: ")
    assert hooks.entries == []


@pytest.mark.parametrize("arguments", [[], ["--nonsense"], ["Stop", "again"], ["Stop"]])
def test_the_command_of_that_name_ends_with_0_too(home: Path, arguments: list[str]) -> None:
    program = [sys.executable, "-m", "chronofile.infra.cli", "--home", str(home), "hook", *arguments]
    done = subprocess.run(program, input=b"{}", env={}, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"")
    assert bool(done.stderr) == (arguments != ["Stop"])
    assert len(Hooks(home).entries) == (arguments == ["Stop"])


def test_codex_is_answered_with_an_object_that_asks_for_nothing(hooks: Hooks) -> None:
    assert hooks.run("Stop", "--agent", "codex", stdin=b"{}").out == b"{}\n"


def test_an_agent_that_is_not_named_is_known_by_its_folder(hooks: Hooks) -> None:
    for folder in (".claude", ".codex", "other"):
        hooks.run("Stop", stdin=b'{"transcript_path": "/x/%s/s.jsonl"}' % folder.encode())
    assert [entry.agent for entry in hooks.entries] == ["claude-code", "codex", "unknown"]


def test_an_input_that_never_ends_is_not_waited_for(hooks: Hooks, transcript: Path) -> None:
    command = [*PROGRAM, "Stop"]
    for written in (b"", b'{"transcript_path": "%s"}' % os.fsencode(transcript)):
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=hooks.variables
        )
        assert process.stdin is not None
        process.stdin.write(written)
        process.stdin.flush()
        assert process.wait(5) == 0
        process.communicate()
    assert [len(entry.mentions) for entry in hooks.entries] == [0, 1]


def test_a_terminal_is_not_read(hooks: Hooks) -> None:
    ours, theirs = pty.openpty()
    done = subprocess.run([*PROGRAM, "Stop"], stdin=theirs, env=hooks.variables, check=False, timeout=5)
    os.close(ours)
    os.close(theirs)
    assert done.returncode == 0
    assert len(hooks.entries) == 1


def test_standard_streams_that_are_closed_do_no_harm(hooks: Hooks, transcript: Path) -> None:
    words = " ".join(f"'{word}'" for word in PROGRAM)
    for event in ("PreCompact", "no/event"):
        command = f"exec {words} {event} --agent codex <&- >&- 2>&-"
        done = subprocess.run(["sh", "-c", command], env=hooks.variables, check=False)
        assert done.returncode == 0
    assert len(hooks.entries) == 1


def test_a_reader_that_has_gone_does_no_harm(hooks: Hooks) -> None:
    read, written = os.pipe()
    os.close(read)
    done = subprocess.run(
        [*PROGRAM, "no/event", "--agent=codex"],
        input=b"{}",
        stdout=written,
        stderr=written,
        env=hooks.variables,
        check=False,
    )
    os.close(written)
    assert done.returncode == 0


def test_a_transcript_that_is_no_file_is_named_and_not_opened(hooks: Hooks, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path, tmp_path / "missing.jsonl", "/dev/zero"):
        hooks.tell("PreCompact", path)
    assert [entry.mentions[0].held for entry in hooks.entries] == [None] * 4
    assert hooks.entries[2].mentions[0].size is None


def test_a_transcript_is_named_by_its_path_without_links(hooks: Hooks, transcript: Path) -> None:
    link = transcript.with_name("link.jsonl")
    link.symlink_to(transcript)
    hooks.tell("PreCompact", link)
    hooks.tell("PreCompact", transcript.name, cwd=str(transcript.parent))
    assert [entry.mentions[0].path for entry in hooks.entries] == [transcript, transcript]
    assert hooks.entries[0].mentions[0].held is not None


def test_paths_that_are_no_utf_8_or_very_long_are_named(hooks: Hooks, tmp_path: Path) -> None:
    odd = write(Path(os.fsdecode(bytes(tmp_path) + b"/\xe4\xff.jsonl")), claude_line("Odd."))
    long = Path(str(tmp_path) + "/" + "/".join(["d" * 200] * 18) + "/" + "f" * 200 + ".jsonl")
    for path in (odd, long, "/" + "x" * 10_000):
        hooks.tell("PreCompact", path)
    named = [entry.mentions[0] for entry in hooks.entries]
    assert [mention.path for mention in named[:2]] == [odd, long]
    assert named[0].held is not None
    assert hooks.run("Stop", stdin=b'{"transcript_path": "/a\\u0000b"}').status == 0
    assert hooks.run("Stop", stdin=b'{"transcript_path": "/a", "cwd": "\\ud83d\\u0000"}').status == 0


def test_without_home_in_the_environment_the_users_folder_is_looked_up(tmp_path: Path) -> None:
    program = (
        "import os, pwd, sys; from chronofile.infra.hook import home\nsys.stdout.write(home.home_of(None))"
    )
    done = subprocess.run([sys.executable, "-c", program], env={}, capture_output=True, text=True, check=True)
    import pwd

    folder = "Library/Application Support" if sys.platform == "darwin" else ".local/share"
    assert done.stdout == f"{pwd.getpwuid(os.getuid()).pw_dir}/{folder}/chronofile"


@AS_ROOT
def test_a_user_without_a_folder_is_told_so() -> None:
    # Everything is imported before root is given up, since others may not be able to read the interpreter's files.
    program = "import os, pwd, select; from chronofile.infra.hook import main; os.setuid(64_111); main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "Stop"], input=b"{}", env={}, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"no HOME is set" in done.stderr


@pytest.mark.parametrize(
    "variables", [{"HOME": "/u"}, {"HOME": "/u", "XDG_DATA_HOME": "/d/"}, {"HOME": "/u", "XDG_DATA_HOME": "d"}]
)  # fmt: skip
def test_the_home_is_where_platformdirs_has_it(
    variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_DATA_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    arguments = {"appname": "chronofile", "appauthor": False}
    assert default_home(variables, "linux") == Unix(**arguments).user_data_dir  # type: ignore[arg-type]
    if "XDG_DATA_HOME" not in variables:
        # Not every version of the library looks at it there.
        assert default_home(variables, "darwin") == MacOS(**arguments).user_data_dir  # type: ignore[arg-type]


def test_the_home_is_where_platformdirs_has_it_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = r"C:\Users\u\AppData\Local"
    monkeypatch.setenv("WIN_PD_OVERRIDE_LOCAL_APPDATA", folder)
    try:
        found = Windows(appname="chronofile", appauthor=False).user_data_dir
    except NotImplementedError:
        pytest.skip("this version of the library asks Windows itself")
    assert default_home({"LOCALAPPDATA": folder}, "win32") == found.replace("/", "\\")


def test_fifty_hooks_at_once_leave_fifty_entries(hooks: Hooks, transcript: Path) -> None:
    told = json.dumps({"transcript_path": str(transcript)}).encode()
    running = []
    for _ in range(50):
        process = subprocess.Popen([*PROGRAM, "PreCompact"], stdin=subprocess.PIPE, env=hooks.variables)
        assert process.stdin is not None
        process.stdin.write(told)
        process.stdin.close()
        running.append(process)
    assert [process.wait(60) for process in running] == [0] * 50
    assert len({entry.id for entry in hooks.entries}) == 50
    assert all(entry.mentions[0].held is not None for entry in hooks.entries)
    assert [file.name for file in spool.folder(hooks.home).iterdir() if file.suffix == ".part"] == []


def test_a_transcript_that_grows_and_shrinks_while_it_is_copied_leaves_whole_entries(
    hooks: Hooks, transcript: Path
) -> None:
    program = (
        "import os, sys, time\n"
        "end = time.monotonic() + 3\n"
        "while time.monotonic() < end:\n"
        "    with open(sys.argv[1], 'ab') as file:\n"
        "        file.write(b'{}\\n' * 100_000)\n"
        "    if os.path.getsize(sys.argv[1]) > 5_000_000:\n"
        "        os.truncate(sys.argv[1], 100)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(transcript)]) as writer:
        for _ in range(20):
            hooks.tell("PreCompact", transcript)
        writer.kill()
    assert len(hooks.entries) == 20


def test_a_home_that_cannot_be_written_ends_with_0_and_a_reason(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    done = Hooks(file).run("Stop", stdin=b"{}")
    assert (done.status, done.out) == (0, b"")
    assert b"chronofile-hook: File exists" in done.err


@AS_ROOT
def test_a_home_that_may_not_be_written_ends_with_0_and_a_reason(tmp_path: Path) -> None:
    with _small_disk(tmp_path / "disk", "4m") as disk:
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        done = Hooks(disk / "home").run("Stop", stdin=b"{}")
    assert (done.status, done.out) == (0, b"")
    assert b"Read-only file system" in done.err


@AS_ROOT
def test_on_a_full_disk_the_path_is_noted_if_the_copy_has_no_room(tmp_path: Path, transcript: Path) -> None:
    add(transcript, *[claude_line("y" * 100_000)] * 20)
    with _small_disk(tmp_path / "disk", "512k") as disk:
        hooks = Hooks(disk / "home")
        hooks.tell("PreCompact", transcript)
        (mention,) = hooks.entries[0].mentions
        (disk / "filler").write_bytes(b"x" * (400 << 10))
        ran = [hooks.run("Stop", stdin=b"{}") for _ in range(60)]
    assert (mention.held, mention.left_out_bytes) == (None, transcript.stat().st_size)
    assert {(done.status, done.out) for done in ran} == {(0, b"")}
    assert b"No space left on device" in ran[-1].err


@pytest.mark.parametrize(
    "program",
    [
        "from chronofile.infra.hook import main; main()",
        "import sys; sys.argv[1:1] = ['hook']; from chronofile.infra.cli import main; main()",
        "import os, sys; sys.argv[1:1] = ['-v', '--home', os.environ['CHRONOFILE_HOME'], 'hook']; from chronofile.infra.cli import main; main()",
    ],
)
def test_a_hook_imports_the_standard_library_alone(home: Path, transcript: Path, program: str) -> None:
    # The process ends without the interpreter's own end, so the exit is where to look.
    look = (
        "import os, sys\n"
        "before = set(sys.modules)\n"
        "def end(status):\n"
        "    names = {name for name in set(sys.modules) - before if not name.startswith('__')}\n"
        "    ours = {name for name in names if name.split('.')[0] == 'chronofile'}\n"
        "    others = {name.split('.')[0] for name in names} - sys.stdlib_module_names - {'chronofile'}\n"
        "    sys.stderr.write(' '.join(sorted(ours)) + '|' + ' '.join(sorted(others)))\n"
        "    sys.stderr.flush()\n"
        "    really(status)\n"
        "really, os._exit = os._exit, end\n"
    )
    told = json.dumps({"transcript_path": str(transcript)}).encode()
    done = subprocess.run(
        [sys.executable, "-c", look + program, "PreCompact"],
        input=told, capture_output=True, check=True, env={"CHRONOFILE_HOME": str(home)},
    )  # fmt: skip
    ours, _, others = done.stderr.decode().partition("|")
    packages = {"chronofile", "chronofile.infra", "chronofile.infra.cli"}
    assert {name for name in ours.split() if not name.startswith("chronofile.infra.hook")} <= packages
    assert others == ""


@contextmanager
def _small_disk(folder: Path, size: str) -> Iterator[Path]:
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], check=False
    )
    if mounted.returncode != 0:
        pytest.skip("a small disk cannot be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
