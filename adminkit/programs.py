"""The programs that have a name in the columns `framework` and `container`: the one list of them.

A word of a command line that is one of the keys, by itself or at the end of a path, gives the run that name. An option
counts by what stands before its `=`. What is not here is NULL.
"""

from __future__ import annotations

from typing import Final

#: What starts one program on many GPUs.
FRAMEWORKS: Final = {
    "torchrun": "torchrun",
    "torch.distributed.run": "torchrun",
    "torch.distributed.launch": "torchrun",
    "accelerate": "accelerate",
    "deepspeed": "deepspeed",
    "deepspeed.launcher.runner": "deepspeed",
    "horovodrun": "horovod",
    "horovod.runner": "horovod",
    "colossalai": "colossalai",
    "composer": "composer",
    "fabric": "fabric",
    "ray": "ray",
    "mpirun": "mpi",
    "mpiexec": "mpi",
    "orterun": "mpi",
}

#: What runs a program inside an image.
CONTAINERS: Final = {
    "apptainer": "apptainer",
    "singularity": "singularity",
    "--container-image": "enroot",  # pyxis
    "enroot": "enroot",
    "podman": "podman",
    "podman-hpc": "podman",
    "docker": "docker",
    "shifter": "shifter",
    "charliecloud": "charliecloud",
    "ch-run": "charliecloud",
    "sarus": "sarus",
    "--container": "oci",  # Slurm's own
}


def known() -> str:
    """Both lists as adminkit-ingest takes them."""
    named = [f"{word}=f:{name}" for word, name in FRAMEWORKS.items()]
    return ",".join(named + [f"{word}=c:{name}" for word, name in CONTAINERS.items()])
