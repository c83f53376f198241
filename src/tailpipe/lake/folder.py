"""The folder of all tables, for those who are about to write into it."""

from __future__ import annotations

import os
import stat
import tempfile

from tailpipe.errors import LakeError
from tailpipe.lake.address import Lake
from tailpipe.lake.conditional_put import check_conditional_puts
from tailpipe.lake.store_errors import store_hint
from tailpipe.lake.table_deletion import remove_deleted


def follow_permissions(lake: Lake) -> None:
    """What this process and its children make from now on is open to those to whom the folder of tables is open.

    While there is no such folder, that is the user alone. Who may read a bucket is said there.
    """
    try:
        mode = os.stat(lake.uri).st_mode
    except OSError:
        mode = stat.S_IRWXU
    os.umask(0o777 & ~mode | stat.S_IWOTH)


def make_writable(lake: Lake) -> None:
    """Makes the folder of tables, finds out whether it can be written, and removes what deleted tables left."""
    try:
        if lake.storage:
            check_conditional_puts(lake)
            remove_deleted(lake)
            return
        os.makedirs(lake.uri, exist_ok=True)
        with tempfile.TemporaryFile(dir=lake.uri):
            remove_deleted(lake)
    except OSError as error:
        raise LakeError(
            f"{lake}: the workspace cannot be written: {error.strerror or error}",
            hint=store_hint(error)
            or "set data_dir in the workspace block or TAILPIPE_INSTALL_DIR to a folder you may write",
        ) from error
