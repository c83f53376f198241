"""Generated logs, the same on every machine, kept between runs."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

from isal import igzip

from bench.cases import DAYS, Case

ACCOUNTS = ("111122223333", "444455556666", "777788889999", "123412341234")
REGIONS = ("eu-west-1", "us-east-1")
EVENTS = (
    ("s3.amazonaws.com", "GetObject", "true"),
    ("s3.amazonaws.com", "PutObject", "false"),
    ("sts.amazonaws.com", "AssumeRole", "true"),
    ("kms.amazonaws.com", "Decrypt", "true"),
    ("ec2.amazonaws.com", "DescribeInstances", "true"),
    ("iam.amazonaws.com", "ListRoles", "true"),
    ("dynamodb.amazonaws.com", "UpdateItem", "false"),
)
AGENTS = (
    "aws-cli/2.27.1 md/Botocore#1.38.1 ua/2.1 os/linux#6.8.0-1021-aws md/arch#x86_64 lang/python#3.13.1",
    "Boto3/1.38.1 md/Botocore#1.38.1 ua/2.1 os/linux#6.8.0 md/arch#aarch64 lang/python#3.12.9",
    "aws-sdk-go-v2/1.36.3 os/linux lang/go#1.24.2 md/GOOS#linux md/GOARCH#amd64 api/s3#1.79.3 m/E,g",
)
BROWSERS = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 15_6) AppleWebKit/605.1.15 (KHTML, like Gecko) Safari/605.1.15",
    "curl/8.14.1",
)
PATHS = (
    "/",
    "/login",
    "/api/v2/orders/{0}",
    "/static/css/app.{0}.css",
    "/search?q=lamp+{0}&page=2",
    "/products/{0}/reviews",
)

RECORD = (
    '{{"eventVersion":"1.11","userIdentity":{{"type":"AssumedRole","principalId":"AROA{key}:session-{number}",'
    '"arn":"arn:aws:sts::{account}:assumed-role/service-role-{role}/session-{number}",'
    '"accountId":"{account}","accessKeyId":"ASIA{key}","sessionContext":{{"sessionIssuer":{{"type":"Role",'
    '"principalId":"AROA{key}","arn":"arn:aws:iam::{account}:role/service-role-{role}",'
    '"accountId":"{account}","userName":"service-role-{role}"}},'
    '"attributes":{{"creationDate":"{day}T{clock}Z","mfaAuthenticated":"false"}}}}}},'
    '"eventTime":"{day}T{clock}Z","eventSource":"{source}","eventName":"{name}","awsRegion":"{region}",'
    '"sourceIPAddress":"{address}","userAgent":"[{agent}]",{error}'
    '"requestParameters":{{"bucketName":"data-{account}-{role}","Host":"data-{account}-{role}.s3.amazonaws.com",'
    '"key":"warehouse/dt={day}/part-{number:06d}-{key}.snappy.parquet"}},"responseElements":null,'
    '"additionalEventData":{{"SignatureVersion":"SigV4",'
    '"AuthenticationMethod":"AuthHeader","x-amz-id-2":"{key}","bytesTransferredOut":{size}}},'
    '"requestID":"{request}","eventID":"{event}","readOnly":{read_only},"resources":[{{"type":"AWS::S3::Object",'
    '"ARN":"arn:aws:s3:::data-{account}-{role}/warehouse/dt={day}"}},{{"accountId":"{account}",'
    '"type":"AWS::S3::Bucket","ARN":"arn:aws:s3:::data-{account}-{role}"}}],"eventType":"AwsApiCall",'
    '"managementEvent":false,"recipientAccountId":"{account}","eventCategory":"Data","tlsDetails":'
    '{{"tlsVersion":"TLSv1.3","cipherSuite":"TLS_AES_128_GCM_SHA256",'
    '"clientProvidedHostHeader":"data-{account}-{role}.s3.amazonaws.com"}}}}'
)
ERROR = '"errorCode":"AccessDenied","errorMessage":"User is not authorized to perform this action",'


@dataclass(frozen=True)
class Data:
    folder: Path
    rows: int
    raw_bytes: int


def prepared(case: Case, root: Path) -> Data:
    """The logs of a case; `facts.json` is written last, so that a folder with it is whole."""
    folder = root / f"{case.name}-{case.rows}"
    facts = folder / "facts.json"
    if not facts.exists():
        shutil.rmtree(folder, ignore_errors=True)
        raw_bytes = (
            _write_cloudtrail(case, folder) if case.kind == "cloudtrail" else _write_nginx(case, folder)
        )
        facts.write_text(json.dumps(asdict(Data(folder, case.rows, raw_bytes)), default=str))
    known = json.loads(facts.read_text())
    return Data(folder, known["rows"], known["raw_bytes"])


def _write_cloudtrail(case: Case, folder: Path) -> int:
    generator = random.Random(case.name)
    raw_bytes, number = 0, 0
    for index, count in enumerate(_shares(case.rows, case.files)):
        day = DAYS[index // case.files_per_day]
        account, region = ACCOUNTS[index % len(ACCOUNTS)], REGIONS[index // len(ACCOUNTS) % len(REGIONS)]
        records = [_record(generator, number + offset, day, account, region) for offset in range(count)]
        number += count
        content = ('{"Records":[' + ",".join(records) + "]}").encode()
        suffix = f"{generator.getrandbits(64):016x}"
        name = f"{account}_CloudTrail_{region}_{day:%Y%m%d}T{index:06d}Z_{suffix}.json.gz"
        path = folder / f"AWSLogs/{account}/CloudTrail/{region}/{day:%Y/%m/%d}" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(igzip.compress(content, 2))
        raw_bytes += len(content)
    return raw_bytes


def _record(generator: random.Random, number: int, day: date, account: str, region: str) -> str:
    bits = generator.getrandbits(256)
    second = bits % 86_400
    source, name, read_only = EVENTS[bits % len(EVENTS)]
    identifier = f"{bits:064x}"
    return RECORD.format(
        account=account,
        address=f"10.{bits % 200}.{bits // 200 % 250}.{bits // 50_000 % 250}",
        agent=AGENTS[bits % len(AGENTS)],
        clock=f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}",
        day=day,
        error=ERROR if bits % 50 == 0 else "",
        event=_uuid(identifier),
        key=identifier[:17].upper(),
        name=name,
        number=number,
        read_only=read_only,
        region=region,
        request=_uuid(identifier[32:]),
        role=bits % 17,
        size=bits % 1_000_000,
        source=source,
    )


def _uuid(digits: str) -> str:
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:32]}"


def _write_nginx(case: Case, folder: Path) -> int:
    generator = random.Random(case.name)
    folder.mkdir(parents=True, exist_ok=True)
    raw_bytes = 0
    for day, count in zip(DAYS, _shares(case.rows, case.files), strict=True):
        content = "".join(
            nginx_line(generator, day, offset / max(count, 1)) for offset in range(count)
        ).encode()
        (folder / f"access.log-{day:%Y%m%d}").write_bytes(content)
        raw_bytes += len(content)
    return raw_bytes


def nginx_line(generator: random.Random, day: date, share: float) -> str:
    bits, second = generator.getrandbits(64), int(share * 86_400)
    path = PATHS[bits % len(PATHS)].format(bits % 9_973)
    browser = BROWSERS[bits % len(BROWSERS)]
    status = (200, 200, 200, 200, 304, 404, 500)[bits % 7]
    return (
        f"203.0.{bits % 113}.{bits // 113 % 250} - - "
        f"[{day:%d/%b/%Y}:{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d} +0000] "
        f'"GET {path} HTTP/1.1" {status} {bits % 50_000} "https://shop.example.com/" "{browser}"\n'
    )


def _shares(total: int, parts: int) -> Iterator[int]:
    """`total` in `parts` shares that differ by at most one."""
    for index in range(parts):
        yield total // parts + (index < total % parts)
