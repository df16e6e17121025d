"""The licence that a checkpoint states, and the files that carry it."""

from __future__ import annotations

import re
from pathlib import Path

_FILES = re.compile(r"^(licen[cs]e|notice|use[_-]policy|terms|gemma_terms|copying)\b", re.IGNORECASE)


def license_files(folder: Path) -> tuple[Path, ...]:
    """Files of the folder that carry a licence, a notice or terms of use."""
    return tuple(sorted(path for path in folder.iterdir() if path.is_file() and _FILES.match(path.name)))


def license_from_readme(readme: Path) -> str | None:
    """The `license` of a model card's front matter (`license_name` where it is `other`)."""
    if not readme.is_file():
        return None
    head = re.match(r"---\n(.*?)\n---", readme.read_text(encoding="utf-8", errors="replace"), re.DOTALL)
    if head is None:
        return None
    fields = dict(
        re.findall(r"^(license(?:_name)?):[ \t]*['\"]?([^'\"\n]+?)['\"]?[ \t]*$", head[1], re.MULTILINE)
    )
    return (
        fields.get("license_name", fields.get("license"))
        if fields.get("license") == "other"
        else fields.get("license")
    )
