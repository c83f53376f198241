"""A test's lake as the code under test names it."""

from __future__ import annotations

from lakes import BucketLake, StoredLake
from object_store import ObjectStore
from tailpipe.aws_credentials import AwsAccess
from tailpipe.lake.address import Lake
from tailpipe.lake.storage import Storage


def storage_of(store: ObjectStore) -> Storage:
    return Storage(
        fixed=AwsAccess(
            store.key, store.secret, region=store.region, endpoint_url=store.endpoint, is_path_style=True
        )
    )


def lake_of(lake: StoredLake) -> Lake:
    return Lake(lake.uri, storage_of(lake.store) if isinstance(lake, BucketLake) else None)
