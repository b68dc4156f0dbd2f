"""Tokens that begin with a prefix of their own, as most services give out today.

The prefixes and what follows them are the services' published forms. Some forty prefixes that end in the same character are
found in one pass, which begins at that character.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from chronofile.ingest.detectors import FILLING, Detector, Judge, Span, compiled, edge, plain

_WORD = r"[A-Za-z0-9_-]"
_ALNUM = r"[A-Za-z0-9]"
_HEX = r"[0-9a-f]"

# Tokens: the characters that they begin with, the rule, and what follows.
_TOKENS: Final = (
    *((f"gh{kind}_", "github-token", _ALNUM + "{30,}") for kind in "pousr"),
    ("github_pat_", "github-token", r"[A-Za-z0-9_]{40,}"),
    *((f"gl{kind}-", "gitlab-token", _WORD + r"{20,}(?:\.[A-Za-z0-9.]{5,30})?") for kind in
      ("pat", "dt", "ft", "soat", "rt", "cbt", "imt", "ptt", "agent", "oas", "ffct", "wt")),
    ("AT", "atlassian-token", r"(?:(?:ATT3|CTT3)[A-Za-z0-9_=-]{50,}|BB[A-Za-z0-9]{24,})"),
    ("sk-ant-", "anthropic-key", _WORD + "{20,}"),
    ("sk-proj-", "openai-key", _WORD + "{20,}"),
    ("sk-svcacct-", "openai-key", _WORD + "{20,}"),
    ("sk-admin-", "openai-key", _WORD + "{20,}"),
    ("sk-None-", "openai-key", _WORD + "{20,}"),
    ("sk-or-v1-", "model-key", _HEX + "{32,}"),
    ("sk-", "openai-key", r"(?=[A-Za-z]{0,60}[0-9])[A-Za-z0-9]{20,}"),
    ("hf_", "huggingface-token", _ALNUM + "{30,}"),
    ("api_org_", "huggingface-token", _ALNUM + "{30,}"),
    ("gsk_", "model-key", _ALNUM + "{40,}"),
    ("r8_", "model-key", _ALNUM + "{30,}"),
    ("xai-", "model-key", _ALNUM + "{60,}"),
    ("pplx-", "model-key", _ALNUM + "{40,}"),
    ("nvapi-", "model-key", _WORD + "{50,}"),
    ("pcsk_", "model-key", r"[A-Za-z0-9_]{40,}"),
    ("tvly-", "model-key", _WORD + "{20,}"),
    ("lsv2_pt_", "model-key", r"[0-9a-f_]{32,}"),
    ("lsv2_sk_", "model-key", r"[0-9a-f_]{32,}"),
    ("csk-", "model-key", _ALNUM + "{40,}"),
    ("fw_", "model-key", r"(?=[A-Za-z]{0,24}[0-9])[A-Za-z0-9]{22,}"),
    *((f"xox{kind}-", "slack-token", r"(?=[A-Za-z0-9-]{0,40}[0-9])[A-Za-z0-9-]{16,}") for kind in "abposr"),
    ("xoxe.xoxp-", "slack-token", r"[A-Za-z0-9-]{30,}"),
    ("xoxe-", "slack-token", r"[A-Za-z0-9-]{30,}"),
    ("xapp-", "slack-token", r"\d-[A-Za-z0-9-]{20,}"),
    *((f"{kind}_{mode}_", "stripe-key", _ALNUM + "{16,}") for kind in ("sk", "rk") for mode in ("live", "test")),
    ("whsec_", "stripe-key", r"[A-Za-z0-9+/=]{24,}"),
    ("SG.", "sendgrid-key", _WORD + r"{16,32}\." + _WORD + "{32,}"),
    ("xkeysib-", "sendgrid-key", _HEX + "{64}-" + _ALNUM + "{16}"),
    ("key-", "sendgrid-key", _HEX + r"{32}(?![0-9a-zA-Z])"),
    ("npm_", "npm-token", _ALNUM + "{36,}"),
    ("pypi-", "pypi-token", r"Ag[EN]" + _WORD + "{50,}"),
    ("AIza", "google-key", _WORD + r"{35,}"),
    ("GOCSPX-", "google-key", _WORD + "{24,}"),
    ("ya29.", "google-key", _WORD + r"{30,}(?:\.[A-Za-z0-9_-]+)*+"),
    ("dop_v1_", "cloud-token", _HEX + "{64}"),
    ("doo_v1_", "cloud-token", _HEX + "{64}"),
    ("dor_v1_", "cloud-token", _HEX + "{64}"),
    ("HRKU-", "cloud-token", _WORD + "{36,}"),
    ("fm2_", "cloud-token", r"[A-Za-z0-9+/=_-]{60,}"),
    ("dapi", "cloud-token", _HEX + r"{32}(?:-\d)?(?![0-9a-zA-Z])"),
    ("hvs.", "cloud-token", _WORD + "{24,}"),
    ("hvb.", "cloud-token", _WORD + "{24,}"),
    ("pul-", "cloud-token", _HEX + "{40}"),
    ("sbp_", "cloud-token", _HEX + "{40}"),
    ("sb_secret_", "cloud-token", _WORD + "{20,}"),
    ("tskey-auth-", "cloud-token", _WORD + "{20,}"),
    ("tskey-api-", "cloud-token", _WORD + "{20,}"),
    ("dp.pt.", "cloud-token", _ALNUM + "{40,}"),
    ("dp.st.", "cloud-token", r"[A-Za-z0-9._-]{40,}"),
    ("dckr_pat_", "service-token", _WORD + "{20,}"),
    ("lin_api_", "service-token", _ALNUM + "{40,}"),
    ("ntn_", "service-token", _ALNUM + "{40,}"),
    ("secret_", "service-token", _ALNUM + "{43}(?![A-Za-z0-9_])"),
    ("figd_", "service-token", _WORD + "{40,}"),
    ("PMAK-", "service-token", _HEX + "{24}-" + _HEX + "{34}"),
    *((f"shp{kind}_", "service-token", r"[0-9a-fA-F]{32}") for kind in ("at", "ss", "ca", "pa")),
    ("glsa_", "service-token", _ALNUM + "{32}_[0-9a-fA-F]{8}"),
    ("glc_", "service-token", r"eyJ[A-Za-z0-9+/=]{32,}"),
    ("sntrys_", "service-token", r"eyJ[A-Za-z0-9+/=_-]{40,}"),
    ("sntryu_", "service-token", _HEX + "{64}"),
    ("NRAK-", "service-token", r"[A-Z0-9]{27}"),
    ("rubygems_", "service-token", _HEX + "{48}"),
    ("sq0atp-", "service-token", _WORD + "{22}"),
    ("sq0csp-", "service-token", _WORD + "{43}"),
    ("ops_", "service-token", r"eyJ[A-Za-z0-9+/=_-]{200,}"),
    ("AGE-SECRET-KEY-", "private-key", r"1[0-9A-Z]{58}"),
)  # fmt: skip
# What has to follow a joint, and stand before it, before some forty prefixes are tried: it leaves out most names and ids.
_JOINTS: Final = {
    "_": r"(?=[A-Za-z0-9]{10})(?=[a-z]{0,20}[0-9A-Z]|[a-z]{20})",
    "-": r"(?=[A-Za-z0-9_-]{14})(?<![0-9a-f]{4}-)",
    ".": r"(?=[A-Za-z0-9_-]{14})",
}
_DISCORD: Final = (
    r"(?P<discord>(?<=[A-Za-z0-9_-]{24}\.[A-Za-z0-9_-]{6}\.)[A-Za-z0-9_-]{27,40}(?![A-Za-z0-9_-]))"
)
_DISCORD_ID: Final = re.compile(rb"(?:(?<![\w-])|(?<=\dm)|(?<=\\[nrt]))[MNO][\w-]{23,27}\.[\w-]{6}\Z")
_APART: Final = ("pcsk_", "figd_", "sb_secret_", "dckr_pat_", "fm2_")
"""Prefixes that may be followed by another joint at once."""


def token_detectors() -> Iterator[Detector]:
    """Yield one detector for all prefixes that end in the same joint, and one for each of the others."""
    for joint, gate in _JOINTS.items():
        tokens = [token for token in _TOKENS if token[0].endswith(joint) and token[0] not in _APART]
        loose, exact = (
            "|".join(
                f"(?P<t{number}>(?<={re.escape(prefix)}){edge(prefix) if bound else ''}{tail})"
                for number, (prefix, _, tail) in enumerate(tokens)
            )
            for bound in (False, True)
        )
        lasts = "".join(sorted({prefix[-2] for prefix, _, _ in tokens}))
        loose, exact = (f"(?<=[{lasts}]{re.escape(joint)})(?:{prefixes})" for prefixes in (loose, exact))
        if joint == ".":
            loose, exact = f"{loose}|{_DISCORD}", f"{exact}|{_DISCORD}"
        first = re.escape(joint) + gate
        yield Detector(compiled(f"{first}(?:{loose})"), compiled(f"{first}(?:{exact})"), _token_judge(tokens))
    # Those apart share their loose pattern, so that they take one pass together where loose ones are searched.
    together = compiled("_(?:" + "|".join(f"(?<={prefix})" for prefix in _APART) + r")[A-Za-z0-9+/=_-]{20}")
    for prefix, rule, tail in _TOKENS:
        if prefix in _APART:
            yield replace(plain(rule, prefix, tail), loose=together)
        elif prefix[-1] not in _JOINTS:
            yield plain(rule, prefix, tail)


def _token_judge(tokens: list[tuple[str, str, str]]) -> Judge:
    named = {f"t{number}": (len(prefix), rule) for number, (prefix, rule, _) in enumerate(tokens)}

    def judge(text: bytes, match: re.Match[bytes]) -> Span | None:
        if match.lastgroup == "discord":
            first = _DISCORD_ID.search(text, max(0, match.start() - 36), match.start())
            return Span("discord-token", first.start(), match.end()) if first else None
        length, rule = named[match.lastgroup or ""]
        if FILLING.issuperset(text[match.start() + 1 : match.end()]):
            return None
        return Span(rule, match.start() + 1 - length, match.end())

    return judge
