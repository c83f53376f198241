"""The one place that makes a Spark session. Nothing else knows which engine it is."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tailpipe.engine.sail import open_sail
from tailpipe.engine.settings import SAIL, EngineSettings, without_token
from tailpipe.errors import TailpipeError
from tailpipe.scratch import scratch_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Rows cross between Python and the engine in Arrow batches: large enough to be cheap, small enough to stay flat.
_ARROW_BATCH_ROWS = "16384"

CONNECT_PORT = 15002
CONNECT_SECONDS = 10

_COMMON_CONFIG = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    # Fields of a log may differ in letter case only.
    "spark.sql.caseSensitive": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": _ARROW_BATCH_ROWS,
}


@dataclass(frozen=True)
class Session:
    """A Spark session, and how many tasks it runs at once."""

    spark: SparkSession
    cores: int
    runs_all_tasks_at_once: bool


@contextmanager
def open_session(settings: EngineSettings, log_descriptor: int | None = None) -> Iterator[Session]:
    """A session that ends with the block. What the engine prints goes to an open file, or nowhere."""
    with ExitStack() as stack:
        log = stack.enter_context(
            open(os.devnull if log_descriptor is None else os.dup(log_descriptor), "ab")
        )
        if settings.remote:
            spark = stack.enter_context(_connected(settings, _connect(settings.remote)))
        elif settings.name == SAIL:
            sail = stack.enter_context(open_sail(settings.cores, settings.log_level))
            spark = stack.enter_context(_connected(settings, sail))
        else:
            spark = stack.enter_context(_embedded_spark(settings, log))
        yield Session(spark, settings.cores, runs_all_tasks_at_once=settings.name == SAIL)


def _connect(url: str) -> SparkSession:
    from pyspark.sql import SparkSession

    builder: Any = SparkSession.builder
    _check_reachable(url)
    try:
        spark: SparkSession = builder.remote(url).create()
    except Exception as error:
        raise TailpipeError(
            f"no Spark Connect session at {without_token(url)}: {_first_line(error)}",
            hint="check `remote` in the workspace block and that the server speaks Spark 4.2 or older",
        ) from error
    return spark


@contextmanager
def _connected(settings: EngineSettings, spark: SparkSession) -> Iterator[SparkSession]:
    try:
        for key, value in {**_COMMON_CONFIG, **settings.spark_config}.items():
            spark.conf.set(key, value)
        yield spark
    finally:
        with suppress(Exception):
            spark.stop()
        _leave_connect_mode()


def _check_reachable(url: str) -> None:
    """The client would try again and again for minutes before it says that nobody answers."""
    address = urlsplit(url)
    try:
        with socket.create_connection(
            (address.hostname or "", address.port or CONNECT_PORT), CONNECT_SECONDS
        ):
            pass
    except OSError as error:
        raise TailpipeError(
            f"no Spark Connect server answers at {without_token(url)}: {error.strerror or error}",
            hint="check `remote` in the workspace block, and that the server runs",
        ) from error


@contextmanager
def _embedded_spark(settings: EngineSettings, log: IO[bytes]) -> Iterator[SparkSession]:
    """Apache Spark in a JVM of our own; with `master`, that JVM is the driver of a cluster."""
    from tailpipe.engine.jvm import Gateway

    _leave_connect_mode()
    # What goes wrong is raised too; the bridge to Java would print it a second time, with a trace.
    logging.getLogger("py4j").addHandler(logging.NullHandler())
    logging.getLogger("py4j").propagate = False
    with ExitStack() as stack:
        scratch = stack.enter_context(scratch_folder("spark"))
        gateway = Gateway(settings.memory_max_mb, log, scratch)
        stack.callback(gateway.close)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                spark = _start(settings, str(scratch))
            except Exception as error:
                raise TailpipeError(
                    f"Spark did not start on {settings.master or 'this machine'}: {_first_line(error)}",
                    hint="check `master` and `spark_config` in the workspace block; --debug shows what Spark printed",
                ) from error
            try:
                yield spark
            finally:
                # After an interrupt the gateway may be out of step; the JVM ends with it either way.
                with suppress(Exception):
                    spark.stop()
                with suppress(Exception):
                    _forget_gateway()


def _start(settings: EngineSettings, scratch: str) -> SparkSession:
    from pyspark.sql import SparkSession

    builder: Any = SparkSession.builder
    builder = builder.appName("tailpipe").master(settings.master or f"local[{settings.cores}]")
    config = {
        **_COMMON_CONFIG,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.local.dir": scratch,
        "spark.sql.warehouse.dir": scratch,
        "spark.sql.catalogImplementation": "in-memory",
        # A regex that fills the stack fails its task; by default Spark ends the whole JVM for it.
        "spark.executor.killOnFatalError.depth": "0",
    }
    if settings.is_embedded:
        config |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            # Every user of the machine can connect to a loopback port. On local masters Spark makes a secret itself.
            "spark.authenticate": "true",
        }
    for key, value in {**config, **settings.spark_config}.items():
        builder = builder.config(key, value)
    on_interrupt = signal.getsignal(signal.SIGINT)
    spark: SparkSession = builder.getOrCreate()
    if threading.current_thread() is threading.main_thread():
        # pyspark takes Ctrl-C for itself and turns it into a failed job.
        signal.signal(signal.SIGINT, on_interrupt)
    if settings.log_level:
        # Spark sees us as a shell, for which it takes INFO as a start to mean WARN.
        spark.sparkContext.setLogLevel(settings.log_level.upper())
    return spark


def _forget_gateway() -> None:
    """pyspark keeps the gateway of the first session; a later one must find its own."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    if gateway is not None:
        gateway.shutdown()
    SparkContext._gateway = None
    SparkContext._jvm = None


def _leave_connect_mode() -> None:
    """pyspark decides by these variables whether functions speak to a Connect server."""
    for variable in ("SPARK_CONNECT_MODE_ENABLED", "SPARK_REMOTE", "SPARK_LOCAL_REMOTE"):
        os.environ.pop(variable, None)


def _first_line(error: BaseException) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
