"""Checkpoints from the Hugging Face hub: only the files that are needed, small ones first."""

from __future__ import annotations

import re
from pathlib import Path

from redraft._core.errors import InputFileError, UnavailableError
from redraft.export.config import decoder_from_hf

from .hf_folder import INDEX, SINGLE, HfFolderCheckpoint
from .json_file import read_json_object

HUB_ID = re.compile(r"^[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*(@[\w./-]+)?$")
_SMALL = (
    *("config.json", "generation_config.json", INDEX, "adapter_config.json"),
    *(
        "tokenizer.json",
        "tokenizer_config.json",
        "tokenizer.model",
        "special_tokens_map.json",
        "added_tokens.json",
    ),
    *("vocab.json", "merges.txt", "chat_template.jinja", "chat_template.json"),
    *("README.md", "LICENSE*", "NOTICE*", "USE_POLICY*"),
)


def open_hub(uri: str) -> HfFolderCheckpoint:
    """`org/name` or `org/name@revision`. HF_HOME and HF_HUB_OFFLINE are honoured.

    The config is read before the weights are asked for, so that an unsupported model costs no gigabytes.
    """
    repository, _, revision = uri.partition("@")
    folder = _snapshot(repository, revision or None, list(_SMALL))
    where = f"{repository}/config.json"
    if (folder / "config.json").exists():
        decoder_from_hf(read_json_object(folder / "config.json"), where)
    weights = [SINGLE]
    if (folder / INDEX).exists():
        weights = sorted(set(read_json_object(folder / INDEX).get("weight_map", {}).values()))
    folder = _snapshot(repository, folder.name, weights)
    return HfFolderCheckpoint(folder, uri=uri, revision=folder.name)


def _snapshot(repository: str, revision: str | None, patterns: list[str]) -> Path:
    try:
        from huggingface_hub import constants, snapshot_download
        from huggingface_hub.errors import (
            GatedRepoError,
            HFValidationError,
            LocalEntryNotFoundError,
            OfflineModeIsEnabled,
            RepositoryNotFoundError,
            RevisionNotFoundError,
        )
    except ImportError as error:
        raise UnavailableError(
            "huggingface-hub is not installed", hint="pip install huggingface-hub"
        ) from error
    name = f"'{repository}'" + (f" at revision '{revision}'" if revision else "")
    try:
        return Path(snapshot_download(repository, revision=revision, allow_patterns=patterns))
    except GatedRepoError as error:
        raise UnavailableError(
            f"the hub model {name} is gated", hint="accept its terms on its page, then run `hf auth login`"
        ) from error
    except (RepositoryNotFoundError, RevisionNotFoundError, HFValidationError) as error:
        raise InputFileError(
            f"the hub has no model {name}, and there is no such folder or file",
            hint="check the spelling of the id",
        ) from error
    except (LocalEntryNotFoundError, OfflineModeIsEnabled) as error:
        offline = "HF_HUB_OFFLINE is set" if constants.HF_HUB_OFFLINE else "the hub cannot be reached"
        raise UnavailableError(
            f"the hub model {name} is not in the local cache and {offline}",
            hint="unset HF_HUB_OFFLINE or connect once to download it, or pass a folder",
        ) from error
    except OSError as error:
        raise UnavailableError(
            f"could not download {name}: {error}", hint="check the network and try again"
        ) from error
