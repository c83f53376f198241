"""Writes the example logs beside this file: the same bytes on every run, some lines broken on purpose."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

LOGS = Path(__file__).parent / "logs"
FIRST_DAY = datetime(2026, 10, 12, tzinfo=UTC)
DAYS = [FIRST_DAY + timedelta(days=number) for number in range(4)]
ACCOUNTS = ("111122223333", "444455556666")
REGIONS = ("eu-west-1", "us-east-1")
RECORDS_PER_FILE = 31
USERS = ("alice", "bob", "carol", "deploy-bot")
ADDRESSES = ("203.0.113.7", "198.51.100.23", "192.0.2.44", "2001:db8::1f", "203.0.113.99")
AGENTS = (
    "aws-cli/2.27.1 md/Botocore#1.38.1 ua/2.1 os/linux#6.8 lang/python#3.13",
    "Boto3/1.38.1 md/Botocore#1.38.1 ua/2.1 os/linux#6.8",
    "console.amazonaws.com",
    "Mozilla/5.0 (X11; Linux x86_64; rv:141.0) Gecko/20100101 Firefox/141.0",
)
BROWSERS = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148",
    "curl/8.14.1",
    "-",
)
PATHS = (
    "/",
    "/login",
    "/cart",
    "/products/17",
    "/products/42?ref=mail",
    "/static/app.js",
    "/admin",
    "/search?q=lamp",
)


def main() -> None:
    generator = random.Random(20261012)
    write_cloudtrail(generator)
    write_nginx(generator)
    write_orders(generator)
    write_application(generator)


def write_cloudtrail(generator: random.Random) -> None:
    for account in ACCOUNTS:
        for region in REGIONS:
            for day in DAYS:
                moments = _moments(generator, day, RECORDS_PER_FILE)
                records = [_event(generator, account, region, moment) for moment in moments]
                name = f"{account}_CloudTrail_{region}_{day:%Y%m%d}T2355Z_{_letters(generator, 16)}.json.gz"
                folder = LOGS / f"AWSLogs/{account}/CloudTrail/{region}/{day:%Y/%m/%d}"
                _write(folder / name, _zipped(json.dumps({"Records": records}, separators=(",", ":"))))


def _event(generator: random.Random, account: str, region: str, moment: datetime) -> dict[str, object]:
    kind = generator.choices(
        (_console_login, _get_object, _run_instances, _assume_role, _denied, _decrypt), (1, 8, 1, 4, 2, 5)
    )[0]
    event = {
        "eventVersion": "1.11",
        "userIdentity": _user(generator, account, moment),
        "eventTime": f"{moment:%Y-%m-%dT%H:%M:%SZ}",
        "awsRegion": region,
        "sourceIPAddress": generator.choice(ADDRESSES),
        "userAgent": generator.choice(AGENTS),
        "requestID": _identifier(generator),
        "eventID": _identifier(generator),
        "eventType": "AwsApiCall",
        "managementEvent": True,
        "recipientAccountId": account,
        "eventCategory": "Management",
    }
    return event | kind(generator, account)


def _user(generator: random.Random, account: str, moment: datetime) -> dict[str, object]:
    name = generator.choice(USERS)
    if name == "deploy-bot":
        role = f"arn:aws:iam::{account}:role/deploy"
        issuer = {"type": "Role", "principalId": "AROAEXAMPLEDEPLOY", "arn": role, "accountId": account}
        return {
            "type": "AssumedRole",
            "principalId": f"AROAEXAMPLEDEPLOY:{name}",
            "arn": f"arn:aws:sts::{account}:assumed-role/deploy/{name}",
            "accountId": account,
            "accessKeyId": "ASIAEXAMPLE" + _letters(generator, 9),
            "sessionContext": {
                "sessionIssuer": issuer | {"userName": "deploy"},
                "attributes": {
                    "creationDate": f"{moment - timedelta(minutes=20):%Y-%m-%dT%H:%M:%SZ}",
                    "mfaAuthenticated": "false",
                },
            },
        }
    return {
        "type": "IAMUser",
        "principalId": f"AIDAEXAMPLE{name.upper()}",
        "arn": f"arn:aws:iam::{account}:user/{name}",
        "accountId": account,
        "accessKeyId": "AKIAEXAMPLE" + name.upper(),
        "userName": name,
    }


def _console_login(generator: random.Random, account: str) -> dict[str, object]:
    failed = generator.random() < 0.4
    event: dict[str, object] = {
        "eventSource": "signin.amazonaws.com",
        "eventName": "ConsoleLogin",
        "eventType": "AwsConsoleSignIn",
        "requestParameters": None,
        "responseElements": {"ConsoleLogin": "Failure" if failed else "Success"},
        "additionalEventData": {"MobileVersion": "No", "MFAUsed": generator.choice(("Yes", "No"))},
        "readOnly": False,
    }
    return event | ({"errorMessage": "Failed authentication"} if failed else {})


def _get_object(generator: random.Random, account: str) -> dict[str, object]:
    bucket = f"reports-{account}"
    key = f"daily/{generator.randrange(1, 30):02d}.parquet"
    return {
        "eventSource": "s3.amazonaws.com",
        "eventName": generator.choice(("GetObject", "PutObject", "HeadObject")),
        "requestParameters": {"bucketName": bucket, "key": key},
        "responseElements": None,
        "additionalEventData": {
            "bytesTransferredOut": generator.randrange(200, 90_000),
            "CipherSuite": "TLS_AES_128",
        },
        "resources": [
            {"type": "AWS::S3::Object", "ARN": f"arn:aws:s3:::{bucket}/{key}"},
            {"accountId": account, "type": "AWS::S3::Bucket", "ARN": f"arn:aws:s3:::{bucket}"},
        ],
        "readOnly": True,
        "managementEvent": False,
        "eventCategory": "Data",
        "tlsDetails": _tls(f"{bucket}.s3.amazonaws.com"),
    }


def _run_instances(generator: random.Random, account: str) -> dict[str, object]:
    return {
        "eventSource": "ec2.amazonaws.com",
        "eventName": "RunInstances",
        "requestParameters": {
            "instancesSet": {"items": [{"imageId": "ami-0example", "minCount": 1, "maxCount": 1}]},
            "instanceType": generator.choice(("t4g.small", "m7g.large")),
        },
        "responseElements": {"reservationId": "r-" + _letters(generator, 12).lower()},
        "readOnly": False,
        "tlsDetails": _tls("ec2.amazonaws.com"),
    }


def _assume_role(generator: random.Random, account: str) -> dict[str, object]:
    role = f"arn:aws:iam::{account}:role/{generator.choice(('deploy', 'audit', 'backup'))}"
    return {
        "eventSource": "sts.amazonaws.com",
        "eventName": "AssumeRole",
        "requestParameters": {"roleArn": role, "roleSessionName": "example", "durationSeconds": 3600},
        "responseElements": {
            "assumedRoleUser": {"arn": role.replace(":role/", ":assumed-role/") + "/example"}
        },
        "resources": [{"accountId": account, "type": "AWS::IAM::Role", "ARN": role}],
        "readOnly": True,
    }


def _denied(generator: random.Random, account: str) -> dict[str, object]:
    name = generator.choice(("DeleteTrail", "CreateAccessKey", "PutBucketPolicy"))
    service = {"DeleteTrail": "cloudtrail", "CreateAccessKey": "iam", "PutBucketPolicy": "s3"}[name]
    return {
        "eventSource": f"{service}.amazonaws.com",
        "eventName": name,
        "errorCode": "AccessDenied",
        "errorMessage": f"User is not authorized to perform: {service}:{name}",
        "requestParameters": None,
        "responseElements": None,
        "readOnly": False,
    }


def _decrypt(generator: random.Random, account: str) -> dict[str, object]:
    key = f"arn:aws:kms:eu-west-1:{account}:key/{_identifier(generator)}"
    return {
        "eventSource": "kms.amazonaws.com",
        "eventName": "Decrypt",
        "requestParameters": {
            "encryptionAlgorithm": "SYMMETRIC_DEFAULT",
            "encryptionContext": {"app": "shop"},
        },
        "responseElements": None,
        "resources": [{"accountId": account, "type": "AWS::KMS::Key", "ARN": key}],
        "readOnly": True,
    }


def _tls(host: str) -> dict[str, str]:
    return {
        "tlsVersion": "TLSv1.3",
        "cipherSuite": "TLS_AES_128_GCM_SHA256",
        "clientProvidedHostHeader": host,
    }


def write_nginx(generator: random.Random) -> None:
    rotated = [line for day in DAYS[:2] for line in _requests(generator, day, 120)]
    current = [line for day in DAYS[2:] for line in _requests(generator, day, 120)]
    rotated.insert(
        50, '203.0.113.7 - - [31/Feb/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 612 "-" "curl/8.14.1"'
    )
    current.insert(31, "worker process 4711 exited on signal 11")
    current.insert(77, "198.51.100.23 - - [14/Oct/2026:12:30:")
    _write(LOGS / "nginx/access.log.1.gz", _zipped("\n".join(rotated) + "\n"))
    _write(LOGS / "nginx/access.log", ("\n".join(current) + "\n").encode())


def _requests(generator: random.Random, day: datetime, count: int) -> list[str]:
    lines = []
    for moment in _moments(generator, day, count):
        method, path = generator.choices(("GET", "POST", "HEAD"), (8, 2, 1))[0], generator.choice(PATHS)
        status = generator.choices((200, 302, 404, 500), (80, 8, 9, 3))[0]
        user = generator.choices(("-", "alice", "bob"), (8, 1, 1))[0]
        address, browser = generator.choice(ADDRESSES), generator.choice(BROWSERS)
        lines.append(
            f"{address} - {user} [{moment:%d/%b/%Y:%H:%M:%S} +0000] "
            f'"{method} {path} HTTP/1.1" {status} {generator.randrange(0, 40_000)} "-" "{browser}"'
        )
    return lines


def write_orders(generator: random.Random) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("order_id", "placed_at", "customer", "amount", "currency", "state", "note"))
    number = 1000
    for day in DAYS:
        for moment in _moments(generator, day, 40):
            number += 1
            day_and_time = f"{moment:%Y-%m-%d %H:%M:%S}"
            amount = f"{generator.randrange(500, 90_000) / 100:.2f}"
            state = generator.choices(("Paid", "Shipped", "CANCELLED"), (5, 4, 1))[0]
            note = generator.choice(("-", "-", "leave at the door, ring twice", 'says "fragile"'))
            writer.writerow((number, day_and_time, generator.choice(USERS), amount, "EUR", state, note))
    lines = text.getvalue().splitlines()
    lines.insert(20, "1999,2026-10-12 09:00:00,alice")
    lines.insert(90, "2000,2026-13-45 09:00:00,bob,12.50,EUR,Paid,-")
    _write(LOGS / "shop/orders.csv", ("\n".join(lines) + "\n").encode())


def write_application(generator: random.Random) -> None:
    lines = []
    for day in DAYS:
        for moment in _moments(generator, day, 60):
            level = generator.choices(("debug", "info", "warn", "error"), (3, 8, 2, 1))[0]
            entry = {
                "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
                "level": level,
                "service": generator.choice(("cart", "checkout", "search")),
                "message": generator.choice(("request done", "cache miss", "retrying payment", "slow query")),
                "duration_ms": generator.randrange(1, 2500),
                "user": {
                    "name": generator.choice(USERS),
                    "roles": generator.choice((["customer"], ["customer", "staff"])),
                },
                "client": generator.choice(ADDRESSES),
            }
            lines.append(json.dumps(entry, separators=(",", ":")))
    lines.insert(33, '{"time":"2026-10-12T11:00:00Z","level":"info","service":"cart","mess')
    lines.insert(140, "Traceback (most recent call last):")
    lines[200] = lines[200].replace('"duration_ms":', '"duration_ms":"fast","was":')
    _write(LOGS / "shop/application.jsonl", ("\n".join(lines) + "\n").encode())


def _moments(generator: random.Random, day: datetime, count: int) -> list[datetime]:
    return sorted(day + timedelta(milliseconds=generator.randrange(86_400_000)) for _ in range(count))


def _identifier(generator: random.Random) -> str:
    return str(uuid.UUID(int=generator.getrandbits(128), version=4))


def _letters(generator: random.Random, count: int) -> str:
    return "".join(generator.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", k=count))


def _zipped(text: str) -> bytes:
    return gzip.compress(text.encode(), mtime=0)


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


if __name__ == "__main__":
    main()
