"""What chance decides in one replicate. The same seed is the same chance for today and for every scenario."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from adminkit.simulate.case import Case, with_columns

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from adminkit.simulate.case import Column, Mask

#: The most that a submission is moved, seconds.
SHAKE: Final = 60


@dataclass(frozen=True, slots=True)
class Luck:
    """The chance of one replicate. Two questions of different names are independent of each other."""

    seed: int

    def draw(self, name: str) -> np.random.Generator:
        """Random numbers for the question of this name, always the same ones."""
        import numpy as np

        return np.random.default_rng([self.seed, zlib.crc32(name.encode())])

    def ranks(self, name: str, many: int) -> NDArray[np.float64]:
        """A number for each of `many` things, between 0 and 1, evenly spread, in a random order.

        Trap: of a share of 0.5 the things below it hold those of a share of 0.25, which keeps scenarios comparable.
        """
        import numpy as np

        order = self.draw(name).permutation(many)
        ranks = np.empty(many)
        ranks[order] = (np.arange(many) + 0.5) / max(many, 1)
        return ranks

    def users(self, name: str, case: Case, share: float) -> Mask:
        """The jobs of a share of the users, who are drawn: all jobs of a user or none."""
        chosen: Mask = self.user_ranks(name, case, 1.0) < share
        return chosen

    def user_ranks(self, name: str, case: Case, unknown: float) -> NDArray[np.float64]:
        """The rank of each job's user, `unknown` for a job whose user is not known."""
        import numpy as np

        ranks = np.append(self.ranks(name, len(case.names["users"])), unknown)
        found: NDArray[np.float64] = ranks[case.facts["user"]]  # NONE is the last
        return found


def shake(case: Case, luck: Luck, most: int = SHAKE) -> Case:
    """The case with submissions moved by 0 to `most` seconds. What a user submitted in one second stays together.

    Tsafrir, Ouaknine, Feitelson: Reducing performance evaluation sensitivity and variability by input shaking,
    MASCOTS 2007.
    """
    import numpy as np

    submit, users = case.column("submit"), case.facts["user"]
    _, batch = np.unique(np.stack([submit, users]), axis=1, return_inverse=True)
    batch = batch.reshape(-1)
    moved = luck.draw("shake").integers(0, most + 1, int(batch.max(initial=-1)) + 1, dtype=np.int64)
    return with_columns(case, submit=submit + moved[batch])


def whole(column: Column | NDArray[np.float64]) -> Column:
    """Rounded to whole numbers."""
    import numpy as np

    return np.rint(column).astype(np.int64)
