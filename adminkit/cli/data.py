"""adminkit data …"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from adminkit.cli import options
from adminkit.cli.group import group
from adminkit.cli.progress import progress
from adminkit.data.pack import READERS, SHARD_BYTES
from adminkit.errors import UsageError
from adminkit.quote import quote
from adminkit.render.format import plural
from adminkit.render.say import put, say
from adminkit.render.sink import Way, emit
from adminkit.units import show_bytes

app = group("Measure how fast training data is read, and pack it.")

#: What was measured of class-sorted data that is read in order (docs/data.md).
_KEPT: Final = (
    "note: samples lie in the order of their names. Where names follow classes, a network that reads them in order"
    " learned next to nothing (87 points of accuracy less), and with a shuffle buffer of 10 % of a shuffled set's size"
    " 18 points less; packed at random, it lost nothing that could be measured"
)


class Image(StrEnum):
    """The kind of an image."""

    SQUASHFS = "squashfs"
    EROFS = "erofs"


class By(StrEnum):
    """What a row of `ls` is."""

    SHARD = "shard"
    CLASS = "class"
    FILE = "file"


def _complete(incomplete: str) -> list[str]:
    return options.complete_files(incomplete, ())


def _complete_csv(incomplete: str) -> list[str]:
    return options.complete_files(incomplete, (".csv",))


Set = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a packed data set.", autocompletion=_complete)]


@app.command()
def pack(
    source: Annotated[Path, typer.Argument(metavar="SRC", help="The folder with the files.", autocompletion=_complete)],
    target: Annotated[
        Path, typer.Argument(metavar="OUT", help="The folder to make, outside of SRC.", autocompletion=_complete)
    ],
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", min=0, help="Shuffle by this number. Default: 0.")
    ] = None,
    keep_order: Annotated[
        bool, typer.Option("--keep-order", help="Do not shuffle: pack the files in the order of their names.")
    ] = False,
    labels: Annotated[
        Path | None,
        typer.Option(
            "--labels",
            metavar="FILE",
            help="A CSV file of names and classes. Default: the class of a file is the name of its folder.",
            autocompletion=_complete_csv,
        ),
    ] = None,
    shard_size: Annotated[
        int | None,
        typer.Option(
            "--shard-size",
            metavar="MB",
            min=1,
            max=8192,
            help=f"Close a shard after this many MiB. Default: {SHARD_BYTES >> 20}.",
        ),
    ] = None,
    readers: Annotated[
        int | None,
        typer.Option(
            "--readers", metavar="N", min=1, max=256, help=f"How many files to read at a time. Default: {READERS}."
        ),
    ] = None,
    image: Annotated[
        Image | None,
        typer.Option("--image", help="Make a file system image, the file OUT, for programs that need files."),
    ] = None,
) -> None:
    """Pack many files into a few large ones, with an index. webdataset reads them. If it is stopped, the same command
    continues.

    Example: adminkit data pack imagenet/train /scratch/imagenet
    """
    from adminkit.data.labels import Labels
    from adminkit.data.pack import Wanted
    from adminkit.data.pack import pack as pack_files

    if image is not None:
        given = {
            "--seed": seed is not None, "--keep-order": keep_order, "--labels": labels is not None,
            "--shard-size": shard_size is not None, "--readers": readers is not None,
        }  # fmt: skip
        _pack_image(source, target, image.value, [option for option, is_given in given.items() if is_given])
        return
    if keep_order and seed is not None:
        raise UsageError("--seed shuffles, and --keep-order does not", "leave one of them out")
    if keep_order:
        say(_KEPT)
    with progress(f"packing {source}", "file") as bar:
        wanted = Wanted(
            None if keep_order else seed or 0,
            Labels(labels),
            SHARD_BYTES if shard_size is None else shard_size << 20,
            READERS if readers is None else readers,
            lambda done, total: bar(done if total else 0, total, done),
        )
        made = pack_files(source, target, wanted)
    found = made.sources
    if made.continued:
        say(f"note: continues a pack that was stopped after {plural(made.continued, 'shard')}")
    if found.empty:
        say(f"note: {plural(len(found.empty), 'empty folder')} left out, such as {found.empty[0]}")
    if found.bare:
        say(f"note: {plural(found.bare, 'file')} without an ending, which webdataset passes over")
    if found.crowded:
        name, many = found.crowded
        say(
            f"note: webdataset takes {many} files as the one sample {name}: their names are the same up to the first"
            " dot"
        )
    if made.unlabelled:
        say(f"note: {plural(made.unlabelled, 'file')} without a class in {quote(str(labels), 200)}")
    put(
        f"packed {plural(made.files, 'file')} into {plural(made.shards, 'shard')} in {quote(str(target), 200)}"
        f" ({show_bytes(made.size)})"
    )


def _pack_image(source: Path, target: Path, kind: str, others: list[str]) -> None:
    from adminkit.data.image import KINDS, pack_image

    if others:
        raise UsageError(f"{others[0]} is for shards, and --image makes none", f"leave {others[0]} or --image out")
    size = pack_image(source, target, kind)
    shown = quote(str(target), 200)
    put(f"packed into the {kind} image {shown} ({show_bytes(size)})")
    put(f"to mount it as yourself: {KINDS[kind].mount.format(image=shown)}")


@app.command()
def verify(
    folder: Set,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """Compare a packed data set with its index. Reads every shard; exit code 1 if anything differs.

    Example: adminkit data verify /scratch/imagenet
    """
    from adminkit.data.index import open_index
    from adminkit.data.verify import verify as compare
    from adminkit.reports.data import faults_report

    with open_index(folder) as index:
        with progress(f"reading {folder}", "MB") as bar:
            faults = compare(index, lambda done, total: bar(done, total, done // 1_000_000))
        emit(faults_report(index, faults), Way(format.value, output))
    if faults:
        raise typer.Exit(1)


@app.command()
def ls(
    folder: Set,
    by: Annotated[By, typer.Option("--by", help="What a row is: a shard, a class or a file.")] = By.SHARD,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """List a packed data set by its index, without reading the shards.

    Example: adminkit data ls /scratch/imagenet --by class
    """
    from adminkit.data.index import open_index
    from adminkit.reports.data import classes_report, files_report, shards_report

    view = {By.SHARD: shards_report, By.CLASS: classes_report, By.FILE: files_report}[by]
    with open_index(folder) as index:
        emit(view(index), Way(format.value, output))


@app.command()
def unpack(
    folder: Set,
    target: Annotated[Path, typer.Argument(metavar="OUT", help="The folder to make.", autocompletion=_complete)],
) -> None:
    """Write the files of a packed data set into a new folder. Compares the SHA-256 of each.

    Example: adminkit data unpack /scratch/imagenet imagenet-again
    """
    from adminkit.data.index import open_index
    from adminkit.data.unpack import unpack as unpack_files

    with open_index(folder) as index, progress(f"unpacking {folder}", "file") as bar:
        files = unpack_files(index, target, lambda done, total: bar(done, total, done))
    put(f"unpacked {plural(files, 'file')} into {quote(str(target), 200)}")
