"""Where the trace lies, and where it must not."""

from __future__ import annotations

from pathlib import Path

import pytest

from adminkit.errors import AdminkitError
from adminkit.trace import location

MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 0:20 / /proc rw,nosuid - proc proc rw
30 22 0:40 / /home rw shared:5 - nfs4 nas:/export/home rw,vers=4.2
31 22 0:41 / /scratch rw - lustre mds@tcp:/scratch rw
32 31 8:2 / /scratch/local rw - xfs /dev/sdb1 rw
33 22 0:42 / /mnt/with\\040blank rw - fuse.sshfs host:/ rw
34 22 0:43 / /mnt/back\\134slash rw - beegfs beegfs_nodev rw
35 22 8:3 / /mnt/stick rw - fuseblk /dev/sdc1 rw
36 22 0:44 / /ceph rw - ceph 10.0.0.1:/ rw
37 22 0:45 / /gpfs/fs1 rw - gpfs fs1 rw
38 22 8:4 / /over rw - ext4 /dev/sdd1 rw
39 38 0:46 / /over rw - nfs nas:/over rw
40 22 0:47 / /mnt/\u00fcber rw - cifs //nas/x rw
a line that is none
41 22 0:48 / /vm rw,relatime shared:9 master:1 - 9p host rw
"""


@pytest.mark.parametrize(
    ("path", "kind", "refused", "why"),
    [
        ("/var/lib/adminkit/trace.db", "ext4", False, "the root's disk"),
        ("/home/user1/trace.db", "nfs4", True, "NFS, version in the name"),
        ("/homestead/trace.db", "ext4", False, "a name that only begins like a mount point"),
        ("/scratch/trace.db", "lustre", True, "Lustre"),
        ("/scratch/local/a/trace.db", "xfs", False, "a local disk below a network mount"),
        ("/mnt/with blank/trace.db", "fuse.sshfs", True, "an escaped blank, a subtype of FUSE"),
        ("/mnt/back\\slash/trace.db", "beegfs", True, "an escaped backslash"),
        ("/mnt/stick/trace.db", "fuseblk", False, "FUSE on a disk of this host"),
        ("/ceph/trace.db", "ceph", True, "CephFS"),
        ("/gpfs/fs1/trace.db", "gpfs", True, "GPFS"),
        ("/over/trace.db", "nfs", True, "the last mount on a point hides the first"),
        ("/mnt/\u00fcber/trace.db", "cifs", True, "a mount point that is not ASCII"),
        ("/vm/trace.db", "9p", True, "a folder of the host of this guest"),
    ],
)
def test_the_trace_lies_on_a_local_disk_only(path: str, kind: str, refused: bool, why: str) -> None:
    assert location.mount_type(Path(path), MOUNTS) == kind, why
    if refused:
        with pytest.raises(AdminkitError) as caught:
            location.refuse_network_mount(Path(path), MOUNTS)
        assert kind in caught.value.message
        assert "local disk" in caught.value.hint
    else:
        location.refuse_network_mount(Path(path), MOUNTS)


def test_a_link_into_a_network_mount_is_followed(tmp_path: Path) -> None:
    (tmp_path / "net").mkdir()
    (tmp_path / "trace.db").symlink_to(tmp_path / "net" / "trace.db")
    mounts = f"1 1 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:9 / {tmp_path}/net rw - nfs nas:/ rw\n"
    with pytest.raises(AdminkitError):
        location.refuse_network_mount(tmp_path / "trace.db", mounts)


def test_without_a_list_of_mounts_nothing_is_claimed() -> None:
    assert location.mount_type(Path("/x"), "") is None
    location.refuse_network_mount(Path("/x"), "")


def test_the_kernel_of_this_host_names_the_type_under_a_folder(tmp_path: Path) -> None:
    assert location.trace_mount(tmp_path)


@pytest.mark.parametrize(
    ("flag", "environ", "configured", "system", "expected", "why"),
    [
        ("/f", {"ADMINKIT_DB": "/e"}, "/c", "there", "/f", "--db"),
        (None, {"ADMINKIT_DB": "/e"}, "/c", "there", "/e", "ADMINKIT_DB"),
        (None, {"ADMINKIT_DB": ""}, "/c", "there", "/c", "config"),
        (None, {}, None, "there", "SYSTEM", "readable here"),
        (None, {}, None, "to be made", "SYSTEM", "is yours"),
        (None, {"XDG_DATA_HOME": "/data"}, None, "not ours", "/data/adminkit/trace.db", "your own"),
        (None, {"HOME": "/home/u"}, None, "not ours", "/home/u/.local/share/adminkit/trace.db", "your own"),
    ],
)
def test_which_database_is_used_and_why(
    tmp_path: Path,
    flag: str | None,
    environ: dict[str, str],
    configured: str | None,
    system: str,
    expected: str,
    why: str,
) -> None:
    system_trace = (tmp_path / "none" if system == "not ours" else tmp_path) / "trace.db"
    if system == "there":
        system_trace.touch()
    path, reason = location.find_with_reason(
        Path(flag) if flag else None, Path(configured) if configured else None, environ, system_trace
    )
    assert path == (system_trace if expected == "SYSTEM" else Path(expected))
    assert why in reason
