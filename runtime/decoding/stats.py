"""DecodingStats: what a request's rounds drafted, accepted and cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

STAGES = ("prefill", "draft", "sample", "verify", "accept", "detokenize", "host")


@dataclass(slots=True)
class DecodingStats:
    """Counts over rounds. `accepted` counts drafts that were emitted: what a stop cuts off is not counted.

    `oov` is about drafts outside the drafter's vocabulary map. Masses are sums over positions of the warped
    laws, to be read through the mean properties. `seconds` by stage; `draft` is the drafter's engine,
    `verify` the target's, `host` the rest.
    """

    rounds: int = 0
    draft_rounds: int = 0  # rounds with at least one draft
    emitted: int = 0
    drafted: int = 0
    accepted: int = 0
    drafted_per_position: list[int] = field(default_factory=list)
    accepted_per_position: list[int] = field(default_factory=list)
    accepted_histogram: list[int] = field(default_factory=list)  # [a]: draft rounds with a accepted
    oov_proposed: int = 0
    oov_accepted: int = 0
    target_positions: int = 0
    target_mass_outside: float = 0.0
    draft_mass_outside: float = 0.0
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(STAGES, 0.0))

    @property
    def acceptance_rate(self) -> float:
        """Accepted by drafted tokens; 0 without drafts."""
        return self.accepted / self.drafted if self.drafted else 0.0

    @property
    def mean_accepted_drafts(self) -> float:
        """Accepted drafts in a round that drafted (without the bonus token)."""
        return self.accepted / self.draft_rounds if self.draft_rounds else 0.0

    @property
    def mean_acceptance_length(self) -> float:
        """Tokens from a round that drafted, with the correction or bonus token."""
        return 1.0 + self.mean_accepted_drafts

    @property
    def mean_target_mass_outside(self) -> float:
        """Mean target probability outside the drafter's map, over the positions that were looked at."""
        return self.target_mass_outside / self.target_positions if self.target_positions else 0.0

    @property
    def redistributed_mass(self) -> float:
        """Mean draft probability outside the drafter's vocabulary map: what RDK moved there."""
        return self.draft_mass_outside / self.drafted if self.drafted else 0.0

    def add_round(self, num_drafted: int, num_accepted: int, num_emitted: int) -> None:
        """Count one round."""
        self.rounds += 1
        self.emitted += num_emitted
        if not num_drafted:
            return
        self.draft_rounds += 1
        self.drafted += num_drafted
        self.accepted += num_accepted
        for counts, size in (
            (self.drafted_per_position, num_drafted),
            (self.accepted_per_position, num_drafted),
            (self.accepted_histogram, num_drafted + 1),
        ):
            counts.extend([0] * (size - len(counts)))
        for position in range(num_drafted):
            self.drafted_per_position[position] += 1
            self.accepted_per_position[position] += position < num_accepted
        self.accepted_histogram[num_accepted] += 1

    def merge(self, other: DecodingStats) -> None:
        """Add another request's counts."""
        for name in self.__slots__:
            mine, its = getattr(self, name), getattr(other, name)
            if isinstance(mine, list):
                mine.extend([0] * (len(its) - len(mine)))
                for i, value in enumerate(its):
                    mine[i] += value
            elif isinstance(mine, dict):
                for stage, value in its.items():
                    mine[stage] = mine.get(stage, 0.0) + value
            else:
                setattr(self, name, mine + its)

    def to_json(self) -> dict[str, Any]:
        """The report's object."""
        return {
            "rounds": self.rounds,
            "draft_rounds": self.draft_rounds,
            "emitted": self.emitted,
            "drafted": self.drafted,
            "accepted": self.accepted,
            "acceptance_rate": self.acceptance_rate,
            "mean_acceptance_length": self.mean_acceptance_length,
            "mean_accepted_drafts": self.mean_accepted_drafts,
            "drafted_per_position": self.drafted_per_position,
            "accepted_per_position": self.accepted_per_position,
            "accepted_histogram": self.accepted_histogram,
            "oov": {"proposed": self.oov_proposed, "accepted": self.oov_accepted},
            "target_mass_outside": self.mean_target_mass_outside,
            "redistributed_mass": self.redistributed_mass,
            "seconds": self.seconds,
        }
