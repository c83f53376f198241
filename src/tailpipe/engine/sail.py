"""Sail: the Spark Connect protocol in Rust, inside this process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING, Any

from tailpipe.engine.lone_connection import LoneConnection

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The server has one connection for its whole life: a client that drops it while idle could not come back.
_CHANNEL_OPTIONS = [("grpc.client_idle_timeout_ms", 2**31 - 1), ("grpc.enable_http_proxy", 0)]


@contextmanager
def open_sail(cores: int, log_level: str | None = None) -> Iterator[SparkSession]:
    """A session of a server that nobody else can reach."""
    # Sail reads its options from the environment when it is first loaded.
    os.environ.setdefault("RUST_LOG", log_level or "off")
    os.environ["SAIL_EXECUTION__DEFAULT_PARALLELISM"] = str(cores)
    _tune_this_process()
    from pysail.spark import SparkConnectServer

    with ExitStack() as stack:
        connection = LoneConnection()
        server = SparkConnectServer("127.0.0.1", 0)
        server.start(background=True)
        stack.callback(server.stop)
        # The server ends when its connections have.
        stack.enter_context(closing(connection))
        connection.connect(server.listening_address)
        spark = _session(connection)
        connection.check_alone()
        yield spark


def _session(connection: LoneConnection) -> SparkSession:
    from pyspark.sql.connect.client import DefaultChannelBuilder
    from pyspark.sql.connect.session import SparkSession as ConnectSession

    class PlainChannel(DefaultChannelBuilder):
        """Never encrypted: a token in the environment is meant for other servers, and would ask for that."""

        def toChannel(self) -> Any:
            return self._insecure_channel(self.endpoint)

    host, port = connection.relay()
    # Functions of pyspark speak to a Connect server only where this says so.
    os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"
    channel = PlainChannel(f"sc://{host}:{port}", _CHANNEL_OPTIONS)
    spark: Any = ConnectSession.builder.channelBuilder(channel).create()
    # When the server does not answer, it is gone, and asking again only hangs.
    spark.client.set_retry_policies([])
    opened: SparkSession = spark
    return opened


def _tune_this_process() -> None:
    """The engine runs our functions in this process: fewer garbage collections, and memory that is reused.

    Arrow buffers come and go by the megabyte; jemalloc keeps their pages, where others clear new ones.
    """
    import gc

    import pyarrow as pa

    gc.freeze()
    gc.set_threshold(100_000, 50, 50)
    if "jemalloc" in pa.supported_memory_backends():
        pa.set_memory_pool(pa.jemalloc_memory_pool())
