"""Plain DuckDB, as someone who knows it would write it. Run as a process of its own: KIND FOLDER OUTPUT."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import duckdb

RECORD_COLUMNS = {
    "eventVersion": "VARCHAR",
    "userIdentity": (
        "STRUCT(type VARCHAR, principalId VARCHAR, arn VARCHAR, accountId VARCHAR, accessKeyId VARCHAR, "
        "userName VARCHAR, invokedBy VARCHAR, sessionContext STRUCT(sessionIssuer STRUCT(type VARCHAR, "
        "principalId VARCHAR, arn VARCHAR, accountId VARCHAR, userName VARCHAR), "
        "attributes STRUCT(creationDate TIMESTAMP, mfaAuthenticated VARCHAR)))"
    ),
    "eventTime": "TIMESTAMP",
    "eventSource": "VARCHAR",
    "eventName": "VARCHAR",
    "awsRegion": "VARCHAR",
    "sourceIPAddress": "VARCHAR",
    "userAgent": "VARCHAR",
    "errorCode": "VARCHAR",
    "errorMessage": "VARCHAR",
    "requestParameters": "JSON",
    "responseElements": "JSON",
    "additionalEventData": "JSON",
    "requestID": "VARCHAR",
    "eventID": "VARCHAR",
    "readOnly": "BOOLEAN",
    "resources": "JSON",
    "eventType": "VARCHAR",
    "managementEvent": "BOOLEAN",
    "recipientAccountId": "VARCHAR",
    "eventCategory": "VARCHAR",
    "tlsDetails": "STRUCT(tlsVersion VARCHAR, cipherSuite VARCHAR, clientProvidedHostHeader VARCHAR)",
}
LARGEST_FILE_BYTES = 1 << 30
LINE = (
    r"^(\S+) \S+ (\S+) \[([^\]]+)\] \"(\S+) (\S+) ([^\"]+)\" (\d{3}) (\d+|-) \"([^\"]*)\" \"([^\"]*)\""
).replace(r"\"", '"')
LINE_FIELDS = (
    "remote_addr", "remote_user", "time_local", "request_method", "request_uri", "server_protocol", "status",
    "body_bytes_sent", "http_referer", "http_user_agent",
)  # fmt: skip


def cloudtrail(folder: Path) -> str:
    record = ", ".join(f'"{name}" {type_}' for name, type_ in RECORD_COLUMNS.items())
    return f"""
        SELECT unnest(r) FROM (
            SELECT unnest("Records") AS r
            FROM read_json('{folder}/**/*.json.gz', columns = {{Records: 'STRUCT({record})[]'}},
                           maximum_object_size = {LARGEST_FILE_BYTES}))"""


def nginx(folder: Path) -> str:
    fields = ", ".join(f"'{field}'" for field in LINE_FIELDS)
    return f"""
        SELECT fields.* EXCLUDE (status, body_bytes_sent, time_local),
               CAST(fields.status AS INTEGER) AS status,
               TRY_CAST(fields.body_bytes_sent AS BIGINT) AS body_bytes_sent,
               strptime(fields.time_local, '%d/%b/%Y:%H:%M:%S %z') AS time_local
        FROM (SELECT regexp_extract(line, '{LINE}', [{fields}]) AS fields
              FROM read_csv('{folder}/access.log-*', columns = {{line: 'VARCHAR'}}, delim = '\x01',
                            quote = '', escape = '', header = false, auto_detect = false))"""


def main() -> None:
    kind, folder, output = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    query = {"cloudtrail": cloudtrail, "nginx": nginx}[kind](folder)
    duckdb.sql(f"COPY ({query}) TO '{output}' (FORMAT parquet, COMPRESSION zstd)")
    rows = duckdb.sql(f"SELECT count(*) FROM '{output}'").fetchone()
    print(json.dumps({"rows": rows[0] if rows else 0, "stored_bytes": output.stat().st_size}))


if __name__ == "__main__":
    main()
