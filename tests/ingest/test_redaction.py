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


def redacted(text: str, **options: str) -> str:
    return redact(text.encode(), encoding="utf-8", records=False, **options).content.decode()


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
        TEXTS, lambda inner: st.dictionaries(TEXTS, inner, max_size=3) | inner.map(json.dumps), max_leaves=4
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
        '"',
        "api_key, ",
    ],
)
def test_no_text_takes_long(unit: str) -> None:
    content = (unit * (1_000_000 // len(unit))).encode()

    begun = time.process_time()
    for records in (False, True):
        redact(content, encoding="utf-8", records=records)

    assert time.process_time() - begun < 15
