"""Write the list of modules in docs/architecture.md from the modules' own docstrings: `python
docs/write_architecture.py`.
"""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "architecture.md"
FOLDERS = {
    "src/redraft/_core": "Foundations that every layer may use.",
    "rdk": "The mathematics: arrays in, arrays out. Knows neither models nor engines.",
    "export": "Checkpoints in, canonical ONNX graphs out.",
    "engines": "Graphs in, something that runs out; bundles and their manifest.",
    "runtime": "Decoding, text, calibration and measurement on engines; the Python API.",
    "src/redraft/cli": "The program: joins what the layers keep apart.",
}
MARK = "<!-- modules: written by docs/write_architecture.py -->"


def summary(path: Path) -> str:
    """The first paragraph of a module's docstring, on one line."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split())


def modules(folder: Path) -> list[Path]:
    """Python files below a folder, `__init__.py` first in each."""
    found = (path for path in folder.rglob("*.py") if "__pycache__" not in path.parts)
    return sorted(found, key=lambda path: (path.parent.parts, path.name != "__init__.py", path.name))


def module_list() -> str:
    """The section below the mark."""
    parts = []
    for name, purpose in FOLDERS.items():
        parts.append(f"### `{name}/`\n\n{purpose}\n")
        lines = []
        for path in modules(ROOT / name):
            shown = path.relative_to(ROOT / name)
            label = f"{shown.parent}/" if path.name == "__init__.py" else str(shown)
            if label != "./":
                lines.append(f"- `{label}`: {summary(path)}")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def page() -> str:
    """The whole page: what is written by hand, the mark, and the list."""
    by_hand, _, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    return f"{by_hand}{MARK}\n\n{module_list()}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
