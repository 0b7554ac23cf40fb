"""The settings of the spawner, docs/jupyter.md."""

from __future__ import annotations

from batchspawner import SlurmSpawner
from traitlets import Bool, Float, List, Unicode, default


class Settings(SlurmSpawner):
    """What stands in a hub's configuration as c.Spawner.NAME."""

    profiles = Unicode("/etc/adminkit/profiles.toml", help="The file of profiles (docs/profiles.md).").tag(config=True)
    as_user = List(
        Unicode(),
        ["runuser", "-u", "{username}", "--"],
        help="Words before a command that is run as the user; {username} is the user's name. There is no shell.",
    ).tag(config=True)
    patience = Float(300.0, help="Seconds after which a job that still waits is withdrawn, with Slurm's reason.").tag(
        config=True
    )
    hide = Bool(
        False,
        help="Leave out profiles that cannot start now; otherwise they are shown with the time, and cannot be chosen.",
    ).tag(config=True)
    address = Unicode(
        "", help="The address at which servers are reached, for a cluster on one host. Empty: the node's name."
    ).tag(config=True)

    folder = Unicode(
        "",
        help="The folder in which a server starts and keeps its log; {username} is the user's name. Empty: the"
        " user's home.",
    ).tag(config=True)

    container = List(
        Unicode(),
        help='Words before the server of a profile with an image, such as ["apptainer", "exec", "{image}"]. There is no'
        " shell. Empty: such a profile is refused.",
    ).tag(config=True)

    trace = Unicode(
        "",
        help="A trace that the hub may read (docs/trace.md). The form then proposes each user a time limit from their"
        " own servers. Empty: the limit is the profile's time.",
    ).tag(config=True)

    @default("poll_interval")
    def _often(self) -> int:
        return 2

    @default("start_timeout")
    def _longer_than_patience(self) -> int:
        return int(self.patience) + 60
