"""Which folders lie on file systems that do not report what others change."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

MOUNTS = Path("/proc/mounts")

_WITHOUT_EVENTS = re.compile(
    r"nfs\d?|cifs|smb\d?|smbfs|ncpfs|9p|afs|coda|ceph|glusterfs|lustre|gpfs|beegfs|davfs2?"  # network
    r"|fuse(blk|ctl)?(\..+)?|vboxsf|vmhgfs|prl_fs|virtiofs|drvfs|fakeowner|osxfs|grpcfuse"  # user space, other hosts
)


def mount_points(mounts: Path = MOUNTS) -> dict[str, str]:
    """The file system type of each mount point; empty where there is no /proc."""
    try:
        text = os.fsdecode(mounts.read_bytes())
    except OSError:
        return {}
    found = {}
    for line in text.splitlines():
        fields = line.split(" ")
        if len(fields) > 2:
            found[_unescaped(fields[1])] = fields[2]  # the last one mounted on a point covers the others
    return found


def without_events(path: Path, points: Mapping[str, str]) -> str | None:
    """The type of the file system that `path` lies on if it must be polled. Does not touch the disk."""
    kind = next((points[str(place)] for place in (path, *path.parents) if str(place) in points), "")
    return kind if _WITHOUT_EVENTS.fullmatch(kind) else None


def _unescaped(field: str) -> str:
    """Blanks and backslashes stand as octal numbers, such as \\040."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), field)
