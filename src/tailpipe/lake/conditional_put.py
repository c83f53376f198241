"""Whether an object store keeps a name for the first who takes it.

Commits are safe only then: an object is put on the condition that there is none. A store that ignores the condition
would let the second of two collectors write over the commit of the first. The object that tells it apart stays, so that
later runs learn the same by one request: it is refused to them.
"""

from __future__ import annotations

from tailpipe.errors import LakeError
from tailpipe.lake.address import Lake

# Begins with a dot as no table does.
PROBE = ".tailpipe-conditional-put"
_TEXT = b"Put on the condition that it is not there, to find out whether the store looks at conditions.\n"


def check_conditional_puts(lake: Lake) -> None:
    """Raises LakeError for a store that ignores or does not know conditions, OSError where it cannot be written."""
    if _puts(lake) and _puts(lake):
        lake.files.delete([PROBE])
        raise _refused(lake, "ignores conditional puts (If-None-Match)")


def _puts(lake: Lake) -> bool:
    try:
        lake.files.write_new(PROBE, _TEXT)
    except FileExistsError:
        return False
    except OSError as error:
        if "NotImplemented" in str(error) or "501" in str(error):
            raise _refused(lake, "does not know conditional puts (If-None-Match)") from error
        raise
    return True


def _refused(lake: Lake, why: str) -> LakeError:
    assert lake.storage is not None
    where = lake.storage.access().endpoint_url or "the object store"
    return LakeError(
        f"{lake}: {where} {why}, so collectors could write over each other's commits. Nothing is collected.",
        "use a store that honours them, such as AWS S3, MinIO, SeaweedFS or Cloudflare R2, or a newer version of it",
    )
