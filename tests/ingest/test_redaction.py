"""Redaction: what is a secret goes, and nothing else of a text changes."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chronofile.ingest.redaction import RULES, findings, redact, redact_text

# Made-up secrets are put together here, so that no scanner finds one in this file.
GITHUB = "gh" + "p_" + "a1B2c3D4" * 4 + "e5F6"
ANTHROPIC = "sk-" + "ant-api03-" + "Ab3_" * 20
SLACK = "xox" + "b-123456789012-" + "a1B2c3D4e5F6g7H8i9J0k1L2"
AWS_ID = "AK" + "IA" + "QWERTY1234567890"
AWS_SECRET = "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYzEXAMPLEKY"
JWT = "ey" + "JhbGciOiJIUzI1NiJ9." + "ey" + "JzdWIiOiIxMjM0NTY3ODkwIn0." + "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"
BODY = "\n".join(("MIIEowIBAAKCAQEA" + "x9Y8" * 12)[:64] for _ in range(3))
BEGIN, END = "-----BEGIN " + "RSA PRIVATE KEY-----", "-----END " + "RSA PRIVATE KEY-----"


def redacted(text: str, name: str = "") -> str:
    return redact(text.encode(), encoding="utf-8", records=False, name=name).content.decode()


@pytest.mark.parametrize(
    ("rule", "secret"),
    [
        ("github-token", GITHUB),
        ("github-token", "github" + "_pat_" + "11ABCDEFG0" * 8),
        ("gitlab-token", "gl" + "pat-" + "x9Y8z7W6v5U4t3S2r1Q0"),
        ("anthropic-key", ANTHROPIC),
        ("openai-key", "sk-" + "proj-" + "Zy9_" * 16),
        ("huggingface-token", "h" + "f_" + "aBcDeFgHiJ" * 3 + "kLmN"),
        ("slack-token", SLACK),
        ("stripe-key", "sk" + "_live_" + "a1B2c3D4e5F6g7H8i9J0k1L2"),
        ("sendgrid-key", "S" + "G." + "a1B2c3D4e5F6g7H8i9J0k1" + "." + "a1B2c3D4e5" * 4 + "xyz"),
        ("npm-token", "np" + "m_" + "a1B2c3D4e5F6" * 3),
        ("pypi-token", "pyp" + "i-AgEIcHlwaS5vcmc" + "Cd4-" * 30),
        ("twilio-key", "S" + "K" + "0123456789abcdef" * 2),
        ("aws-key", AWS_ID),
        ("google-key", "AI" + "za" + "Sy" + "a1B2c3D4e5F" * 3),
        ("telegram-token", ":A" + "A" + "a1B2c3D4e5F" * 3),
        ("discord-token", "MTk4NjIyNDgzNDcxOTI1MjQ4" + ".Cl2FMQ." + "ZnCjm1XVW7vRze4b7Cq4se7kKWs"),
        ("jwt", JWT),
    ],
)
def test_a_token_goes_wherever_it_stands(rule: str, secret: str) -> None:
    lead = "123456789" if rule == "telegram-token" else ""
    for text in (
        "{}",
        "it is {}.",
        'f("{}")',
        "`{}`",
        "X={}\n",
        "\x1b[31m{}\x1b[0m",
        "a,{},b",
        "+{}\r\n",
        "<b>{}</b>",
    ):
        assert text.format(f"{lead}[redacted: {rule}]") == redacted(text.format(lead + secret)), text


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("DB_PASSWORD={}", "hunter2"),
        ("export API_TOKEN='{}'", "q9w8e7r6t5y4"),
        ("$env:API_KEY = \"{}\"", "q9w8e7r6t5y4"),
        ('{{"client_secret": "{}"}}', "q9w8e7r6t5y4"),
        ('{{\\"password\\": \\"{}\\"}}', "hunter2!"),
        ("password: {}\n", "hunter2"),
        ("spring.datasource.password={}\n", "Winter2024"),
        ("const apiKey: string = '{}';", "q9w8e7r6t5y4u3i2"),
        ('password: str = "{}"', "tr0ub4dor"),
        ('os.environ["API_TOKEN"] = "{}"', "q9w8e7r6t5y4"),
        ('setenv("API_TOKEN", "{}")', "q9w8e7r6t5y4"),
        ('{{"name": "DB_PASSWORD", "value": "{}"}}', "hunter2"),
        ("- name: DB_PASSWORD\n  value: {}\n", "hunter2"),
        ("tool --password {} --quiet", "s3cretpw"),
        ("ENV API_TOKEN {}", "q9w8e7r6t5y4u3i2"),
        ("<password>{}</password>", "hunter2"),
        ("the password is {}.", "hunter2"),
        ("aws_secret_access_key = {}", AWS_SECRET),
        (AWS_ID + ",{}\n", AWS_SECRET),
        ("Server=db;User Id=app;Password={};", "hunter22"),
        ("curl -H 'x-api-key: {}'", "q9w8e7r6t5y4u3i2"),
        ("curl -H 'Authorization: Bearer {}'", "q9w8e7r6t5"),
        ('headers = {{"Authorization": "Basic {}"}}', "YXBwOmh1bnRlcjI="),
        ('headers.set("Authorization", "token {}")', "q9w8e7r6t5y4"),
        ("postgres://app:{}@db:5432/x", "hunter2"),
        ("redis://:{}@cache:6379/0", "hunter2"),
        ("https://me:{}@git.internal/x.git", "p@ss:w0rd"),
        ("AccountName=x;Account" + "Key={};EndpointSuffix=y", "aB3/" * 21 + "aB=="),
        ('{{"password": "{}"}}', "!Qaz2wsx" + "3Edc"),
        ('password: "{}"\n', "$ecret9" + "Pass"),
        ("ROOT_PASS='{}'", "$ecret9" + "Pass"),
        ("MAIL_PASSWORD={}\n", "%tgbNHY" + "67uj"),
        ('{{"password": "{}"}}', "[Qaz2wsx" + "3Edc"),
        ('{{"password": "{}"}}', r"p\u00e455w\u00f6" + "rd!9x"),
        ('{{\\"password\\": \\"{}\\"}}', r"p\\u00e455w\\u00f6" + "rd!9x"),
        ("PGPASSWORD={} psql shop", "s3cretpw" + "99"),
        ("DBPASSWORD={}", "s3cretpw" + "99"),
        ("SMTPPASS={}\n", "s3cretpw" + "99"),
        ("SSHPASS={} sshpass -e ssh host", "s3cretpw" + "99"),
        ("MYPASSWORD: {}\n", "s3cretpw" + "99"),
        ("REDISCLI_AUTH={} redis-cli", "s3cretpw" + "99"),
        ('dbpassword="{}"', "s3cretpw"),
        ("DB_PASSWORD='{}' make", "abc'\"'\"'rest9"),
        ("- name: DB_PASSWORD\r\n  value: {}\r\n", "hunter2"),
        ("postgres://app:{}@db/x", "$ecret9" + "Pass"),
        ("postgres://app:{}@db/x", "%21Qaz2" + "wsx"),
        ("git clone https://{}@git.internal/x.git", "a1B2c3D4e5" * 4),
        ("curl -s -u admin:{} https://api.internal/", "s3cretpw"),
        ('curl \\\n  --user "admin:{}" https://api.internal/', "s3cretpw"),
        ("Cookie: theme=dark; sessionid={}; lang=en", "a1b2c3d4e5f6g7h8"),
        ("Set-Cookie: sid={}; Path=/; Max-Age=3600", "a1b2c3d4e5f6g7h8"),
        ('{{"headers": {{"Cookie": "sid={}; lang=en"}}}}', "a1b2c3d4e5f6g7h8"),
        ("https://hooks.slack.com/serv" + "ices/{}", "T0A1B2C3D/B0A1B2C3D/a1B2c3D4e5F6g7H8i9J0k1L2"),
    ],
)  # fmt: skip
def test_what_its_name_or_its_place_gives_away_goes_and_the_rest_stays(text: str, secret: str) -> None:
    left = redact_text(text.format(secret))[0]
    head, tail = text.format("\0").split("\0")

    assert left.startswith(head.replace(AWS_ID, "[redacted: aws-key]") + "[redacted: ")
    assert left.endswith("]" + tail)
    assert secret not in left


@pytest.mark.parametrize(
    "text",
    [
        "password = get_password()",
        "password = self.password",
        "token: str",
        "token: Optional[str] = None",
        "def login(user, password, token=None):",
        "PASSWORD=$PASSWORD",
        "PASSWORD=${PASSWORD:-x}",
        "secret=<your secret>",
        'PASSWORD="$password"',
        'PASSWORD="$DB_PASSWORD2"',
        'PASSWORD="$(cat /run/secrets/db1)"',
        "PASSWORD=%DB_PASSWORD1%",
        'password: "{{ vault_password1 }}"',
        "password: '${DB_PASSWORD1}'",
        "password: *shared_password1",
        "password: !vault |",
        "password: !Ref DbPassword1",
        "password: '<%= ENV[1] %>'",
        'password = "%s%s"',
        r'"password": "\u5bc6\u7801\u9519\u8bef1"',
        "BYPASS=abc12345",
        "USE_AUTH=basic",
        "docker run -u 1000:10001 image",
        "curl -u user:password https://api.internal/",
        "curl -u $NAME:$PASSWORD https://api.internal/",
        "Cookie: theme=dark; lang=en-GB",
        "https://john.smithson1985.berlin@host.internal/",
        "postgres://app:$PASSWORD@host/",
        "postgres://app:{password}@host/",
        "postgres://app:%s@host/",
        'api_key = "..."',
        "api_key = 'xxxxxxxxxxxxxxxx'",
        'api_key="YOUR_API_KEY_HERE_123"',
        '"password": "Password is required"',
        '"secretName": "db-secret-v1"',
        '{"usage": {"input_tokens": 123456, "output_tokens": 7}}',
        '{"nextPageToken": "CAUQAA123456789abcdef"}',
        "max_tokens=4096",
        'if token == "identifier":',
        "Authorization: Bearer $TOKEN",
        'headers = {"Authorization": f"Bearer {token}"}',
        "the bearer authentication scheme",
        "https://user:password@host/",
        "postgres://user:${PASSWORD}@host/",
        "http://localhost:8080/@scope/package",
        "see http://host:8080,me@example.org",
        "sk-circle-fade-dot-animation-name",
        "gh" + "p_" + "x" * 36,
        "wrap it in `<private>` tags",
        "if text.startswith('" + BEGIN + "'):",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "id 550e8400-e29b-41d4-a716-446655440000",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "integrity sha512-" + "aB3/" * 21 + "==",
        "git commit -m 'pass the token to the parser'",
    ],
)
def test_code_and_placeholders_are_left_alone(text: str) -> None:
    content = text.encode()
    result = redact(content, encoding="utf-8", records=False)

    assert result.counts == {}
    assert result.content is content


def test_the_body_of_a_private_key_goes_and_its_lines_stay() -> None:
    text = f"before\n{BEGIN}\n{BODY}\nabc=\n{END}\nafter\n"

    assert f"before\n{BEGIN}\n[redacted: private-key]\n\n\n\n{END}\nafter\n" == redacted(text)


def test_a_private_key_whose_end_is_cut_off_goes_too() -> None:
    assert f"{BEGIN}\n[redacted: private-key]\n\n\nand more" == redacted(f"{BEGIN}\n{BODY}\nand more")
    numbered = f"   1\t{BEGIN}\n" + "".join(f"   {n}\t{line}\n" for n, line in enumerate(BODY.split("\n"), 2))
    assert "x9Y8" not in redacted(numbered)


def test_a_private_key_in_a_service_account_goes_and_the_document_stays_valid() -> None:
    key = f"{BEGIN}\n{BODY}\n{END}\n"
    document = json.dumps({"type": "service_account", "private_key": key, "client_id": "1"}, indent=2)

    left = json.loads(redacted(document))

    assert f"{BEGIN}\n[redacted: private-key]\n\n\n{END}\n" == left["private_key"]


def test_private_blocks_go_nested_or_unclosed() -> None:
    assert redacted("a <private>my code</private> b") == "a <private>[redacted: private-block]</private> b"
    assert (
        redacted("<private>a<private>\nb</private>c</private>")
        == "<private>[redacted: private-block]\n</private>"
    )
    assert redacted("a\n <private>1\n2\n") == "a\n <private>[redacted: private-block]\n\n"


def test_a_tag_within_a_line_that_nothing_closes_takes_that_line_and_no_more() -> None:
    text = "tags such as <private> are known\nhere <private>hidden</private> there\n"
    assert redacted(text) == (
        "tags such as <private>[redacted: private-block]\nhere <private>[redacted: private-block]</private> there\n"
    )


def test_of_an_env_file_nearly_every_value_goes() -> None:
    text = (
        "# settings\nexport NAME=Ada Byron # why\nPORT=5432\nDEBUG=true\nEMPTY=\nHOST=localhost:80\n"
        "LONG=\"one\ntwo\"\nSINGLE='x y'\r\nREF=${NAME}\n"
    )
    mark = "[redacted: env-value]"
    expected = (
        f"# settings\nexport NAME={mark} # why\nPORT=5432\nDEBUG=true\nEMPTY=\nHOST=localhost:80\n"
        f"LONG=\"{mark}\n\"\nSINGLE='{mark}'\r\nREF=${{NAME}}\n"
    )

    assert expected == redacted(text, name=".env.local")
    assert expected == redacted(expected, name=".env.local")


@pytest.mark.parametrize(
    "value",
    [
        *('"!Qaz2"', "'$ecret9'", "%tgb6", "&ujm7", "*ikl8", "[a1b2", "{a1b2"),
        *("'abc'\"'\"'rest'", "'abc'\\''rest'", '"abc"rest', "'abc\"rest"),
    ],
)
def test_of_an_env_file_a_value_goes_whole_whatever_it_begins_with(value: str) -> None:
    left = redacted(f"A=1\nX={value} # why\nB=2\n", name=".env")
    quote = value[0] if value[0] == value[-1] and value.count(value[0]) == 2 else ""

    assert left == f"A=1\nX={quote}[redacted: env-value]{quote} # why\nB=2\n"


@pytest.mark.parametrize("value", ["${A1}", "$A1", "'${A1}'", "%A1%", "<your a1>", "{{ a1 }}", "$(cat a1)"])
def test_of_an_env_file_references_stay(value: str) -> None:
    assert redacted(f"X={value}\n", name=".env") == f"X={value}\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("line_end", ["", "\n", "\r", "\r\n"])
def test_a_byte_order_mark_and_any_end_of_line_hide_nothing_of_an_env_file(
    encoding: str, line_end: str
) -> None:
    lines = ("FIRST={}", "SECOND={}") if line_end else ("ONLY={}",)
    text = "".join(line + line_end for line in lines)
    content = text.replace("{}", "some words").encode(encoding)

    left = redact(content, encoding=encoding, records=False, name=".env").content

    assert left == text.replace("{}", "[redacted: env-value]").encode(encoding)


def test_a_document_with_a_byte_order_mark_is_searched_as_json() -> None:
    document = json.dumps({"private": [f"{BEGIN}\n", *(f"{line}\n" for line in BODY.split("\n"))]})
    content = document.encode("utf-16")

    left = redact(content, encoding="utf-16", records=False).content.decode("utf-16")

    assert json.loads(left)["private"] == [f"{BEGIN}\n", "[redacted: private-key]\n", "\n", "\n"]


KEY_LINES = [BEGIN, *BODY.split("\n"), END]


@pytest.mark.parametrize("lead", ["", "+", "-", " 12\t"])
@pytest.mark.parametrize("line_end", ["", "\n", "\r\n"])
@pytest.mark.parametrize("nested", [False, True])
def test_a_private_key_whose_lines_are_strings_of_one_list_goes(
    lead: str, line_end: str, nested: bool
) -> None:
    lines = [lead + line + line_end for line in KEY_LINES]
    value: object = {"path": "a", "lines": [1, "before", *lines, "after"], "end": "z"}
    line = json.dumps({"output": json.dumps(value)} if nested else value)

    result = redact(line.encode(), encoding="utf-8", records=True)
    left = json.loads(json.loads(result.content)["output"]) if nested else json.loads(result.content)

    assert result.counts == {"private-key": 1}
    assert left["lines"] == [
        *(1, "before", lines[0], f"{lead}[redacted: private-key]{line_end}"),
        *(line_end, line_end, lines[-1], "after"),
    ]
    assert (left["path"], left["end"]) == ("a", "z")


@pytest.mark.parametrize(
    ("strings", "expected"),
    [
        (
            ["a <private>one", "two", "x</private> b", "c"],
            ["a <private>[redacted: private-block]", "", "</private> b", "c"],
        ),
        (
            ["<private>one\n", "two\n", "</private>\n", "c\n"],
            ["<private>[redacted: private-block]\n", "\n", "</private>\n", "c\n"],
        ),
        (["a\n", "<private>\n", "b\n", "c"], ["a\n", "<private>[redacted: private-block]\n", "\n", ""]),
        (["<private>", "b", "c"], ["<private>", "b", "c"]),
    ],
)
def test_a_private_block_spread_over_strings_of_one_list_goes(
    strings: list[str], expected: list[str]
) -> None:
    line = json.dumps({"kind": "code", "source": strings, "end": "</private>"})

    left = json.loads(redact(line.encode(), encoding="utf-8", records=True).content)

    assert left == {"kind": "code", "source": expected, "end": "</private>"}


def test_strings_of_an_object_are_not_joined() -> None:
    line = json.dumps({"a": "x <private>", "b": "kept", "c": "</private>"})

    assert redact(line.encode(), encoding="utf-8", records=True).counts == {}


def test_an_unclosed_tag_begins_a_line_also_behind_a_byte_order_mark_or_a_line_end_of_cr() -> None:
    mark = "[redacted: private-block]"

    assert redacted("\ufeff<private>\na\nb") == f"\ufeff<private>{mark}\n\n"
    assert redacted("a\r<private>b\rc\nd") == f"a\r<private>{mark}\r\n"
    assert redacted("a <private>b\rc") == f"a <private>{mark}\rc"


def test_in_records_strings_are_searched_as_what_they_say() -> None:
    inner = json.dumps({"output": f"$ cat key\n{BEGIN}\n{BODY}\n{END}\n", "note": f"x\n{GITHUB}"})
    line = json.dumps(
        {"type": "call", "arguments": inner, "text": f"one\n{SLACK}\ttwo é", "password": 'a"b1!'}
    )

    result = redact(line.encode(), encoding="utf-8", records=True)
    record = json.loads(result.content)
    arguments = json.loads(record["arguments"])

    assert record["text"] == "one\n[redacted: slack-token]\ttwo é"
    assert record["password"] == "[redacted: secret-value]"
    assert f"$ cat key\n{BEGIN}\n[redacted: private-key]\n\n\n{END}\n" == arguments["output"]
    assert arguments["note"] == "x\n[redacted: github-token]"
    assert result.counts == {"slack-token": 1, "secret-value": 1, "private-key": 1, "github-token": 1}


def test_all_that_is_no_secret_stays_byte_by_byte() -> None:
    odd = (
        b'{ "a" :1.0,"b":"\\u00e9\\/ \\ud83d \xff\xfe", "t":"' + GITHUB.encode() + b'"  }\r\n\r\n{"c":  2}\n'
    )

    result = redact(b"\xef\xbb\xbf" + odd, encoding="utf-8-sig", records=True)

    assert b"\xef\xbb\xbf" + odd.replace(GITHUB.encode(), b"[redacted: github-token]") == result.content


def test_escaped_slashes_hide_nothing() -> None:
    line = rb'{"a":"postgres:\/\/app:hunter2@db\/x","b":"\u003cprivate\u003esome\u003c\/private\u003e"}'

    left = json.loads(redact(line, encoding="utf-8", records=True).content)

    assert left["a"] == "postgres://app:[redacted: url-password]@db/x"
    assert left["b"] == "<private>[redacted: private-block]</private>"


def test_a_header_in_a_record_goes() -> None:
    headers = {"note": "a\nb", "Authorization": "Basic YXBwOmh1bnRlcjI=", "x-api-key": "q9w8e7r6t5y4u3i2"}
    line = json.dumps({"headers": headers, "sent": json.dumps(headers)}).encode()

    left = json.loads(redact(line, encoding="utf-8", records=True).content)
    expected = {
        "note": "a\nb",
        "Authorization": "Basic [redacted: authorization]",
        "x-api-key": "[redacted: secret-value]",
    }

    assert expected == left["headers"] == json.loads(left["sent"])


def test_names_of_resources_are_no_names_of_secrets() -> None:
    for text in (
        '"AWS::IAM::AccessKey": "62d91b17309e76c8"',
        "arn:aws:secretsmanager:*:*:secret:eks-local.c1.k8s.io/*",
    ):
        assert (text, {}) == redact_text(text)


def test_a_broken_record_is_searched_as_plain_text() -> None:
    whole = json.dumps({"a": GITHUB})
    content = f'{{"cut": "{SLACK}\n{whole}\n'.encode()

    result = redact(content, encoding="utf-8", records=True)

    assert result.content == b'{"cut": "[redacted: slack-token]\n{"a": "[redacted: github-token]"}\n'


@pytest.mark.parametrize(
    "encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig", "latin-1", "cp1252"]
)
def test_every_encoding_is_searched(encoding: str) -> None:
    text = f"é DB_PASSWORD=hunter2\r\n{GITHUB} ü\r\n"
    expected = "é DB_PASSWORD=[redacted: secret-value]\r\n[redacted: github-token] ü\r\n"

    assert (
        expected.encode(encoding) == redact(text.encode(encoding), encoding=encoding, records=False).content
    )


def test_half_a_character_at_the_end_of_utf_16_stays() -> None:
    content = f"😀 {GITHUB} 😀".encode("utf-16") + b"\x3d"

    assert (
        "😀 [redacted: github-token] 😀".encode("utf-16") + b"\x3d"
        == redact(content, encoding="utf-16", records=False).content
    )


def test_findings_show_no_more_than_the_beginning_of_a_secret() -> None:
    content = f'{{"a": 1}}\n{{"t": "{GITHUB}"}}\n{{"password": "hunter2"}}\n'.encode()

    found = findings(content, encoding="utf-8", records=True)

    assert [(one.rule, one.line) for one in found] == [("github-token", 2), ("secret-value", 3)]
    assert [GITHUB[:4] + "." * 12, "h" + "." * 6] == [one.preview for one in found]


def test_every_rule_has_a_sentence() -> None:
    assert all(name.replace("-", "").isalpha() and sentence.endswith(".") for name, sentence in RULES.items())


PIECES = st.sampled_from(
    [
        *(GITHUB, ANTHROPIC, JWT, AWS_ID, AWS_SECRET, BEGIN, BODY, END, "hunter2", "<private>", "</private>"),
        *(
            "password",
            "api_key",
            "DB_PASSWORD",
            "token",
            "Authorization: Bearer ",
            "://app:",
            "@host",
            "curl -u a:",
        ),
        *(
            "=",
            ": ",
            '"',
            "'",
            "\\",
            "\\n",
            "\n",
            " ",
            ",",
            "{",
            "}",
            "]",
            "é",
            "[redacted: ",
            "\r\n",
            "x[",
            "]=",
            "$",
        ),
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=6), max_size=14).map("".join)


@settings(deadline=None, max_examples=300)
@given(TEXTS)
def test_redacting_the_redacted_changes_nothing(text: str) -> None:
    once, _ = redact_text(text)

    assert (once, {}) == redact_text(once)
    assert text.count("\n") == once.count("\n")


@settings(deadline=None, max_examples=300)
@given(
    st.recursive(
        TEXTS,
        lambda inner: (
            st.dictionaries(TEXTS, inner, max_size=3) | st.lists(inner, max_size=4) | inner.map(json.dumps)
        ),
        max_leaves=6,
    )
)
def test_a_record_stays_a_record(value: object) -> None:
    line = json.dumps(value).encode()

    once = redact(line, encoding="utf-8", records=True).content

    json.loads(once)
    assert redact(once, encoding="utf-8", records=True).content is once


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        " ",
        "=",
        "\\",
        "-----BEGIN ",
        BEGIN + "\n",
        "password",
        "://",
        "eyJ",
        "0meyJ",
        "sk-",
        "<private>",
        "a <private> b\n",
        "a <private> '<private>' </private>\n",
        '"',
        "api_key, ",
        "cookie: a=",
        "curl -u a:",
        "DB_PASSWORD='a'\"'\"'",
    ],
)
def test_no_text_takes_long(unit: str) -> None:
    content = (unit * (1_000_000 // len(unit))).encode()

    begun = time.process_time()
    for records in (False, True):
        redact(content, encoding="utf-8", records=records, name=".env")

    assert time.process_time() - begun < 15


def test_the_time_for_tags_that_nothing_closes_grows_with_the_text_only() -> None:
    def took(lines: int) -> float:
        content = b"a <private> b\n" * lines
        begun = time.process_time()
        redact(content, encoding="utf-8", records=False)
        return time.process_time() - begun

    assert took(80_000) < 30 * took(8_000)
