"""File systems that do not report changes are known by the mount table."""

from __future__ import annotations

from pathlib import Path

import pytest

from recallite_producer.mounts import mount_points, without_events

TABLE = r"""/dev/vda / ext4 rw 0 0
proc /proc proc rw 0 0
server:/x /mnt/nfs nfs4 rw 0 0
//server/x /mnt/with\040blank\134 cifs rw 0 0
/dev/vdb /mnt/nfs/local xfs rw 0 0
old /mnt/over nfs rw 0 0
new /mnt/over ext4 rw 0 0
"""


@pytest.fixture
def points(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "mounts").write_text(TABLE)
    return mount_points(tmp_path / "mounts")


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/pip", None), ("/mnt/nfs", "nfs4"), ("/mnt/nfs/deep/er", "nfs4"), ("/mnt/nfs/local/x", None),
        ("/mnt/nfs2", None), ("/mnt/with blank\\/x", "cifs"), ("/mnt/over/x", None),
    ],
)  # fmt: skip
def test_the_innermost_mount_decides(points: dict[str, str], path: str, kind: str | None) -> None:
    assert without_events(Path(path), points) == kind


@pytest.mark.parametrize(
    "kind",
    ["nfs", "nfs4", "cifs", "smb3", "9p", "fuse", "fuse.sshfs", "fuseblk", "vboxsf", "virtiofs", "vmhgfs", "fakeowner"],
)
def test_kinds_that_are_polled(kind: str) -> None:
    assert without_events(Path("/x/y"), {"/x": kind}) == kind


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "overlay", "tmpfs", "zfs", "apfs", "f2fs"])
def test_kinds_that_report(kind: str) -> None:
    assert without_events(Path("/x/y"), {"/x": kind}) is None


def test_without_a_mount_table_events_are_tried(tmp_path: Path) -> None:
    assert mount_points(tmp_path / "absent") == {}
    assert without_events(Path("/x"), {}) is None
