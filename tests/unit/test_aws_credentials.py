"""One answer to which credentials count, whoever asks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tailpipe.aws_credentials import AwsAccess, AwsConnection, CredentialsError, endpoint_problem, resolve

SECRETS = ("AKIAEXAMPLE", "hunter2secret", "tokentoken")
KEYS = dict(zip(("access_key", "secret_key", "session_token"), SECRETS, strict=True))


@pytest.fixture(autouse=True)
def aws_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine where nothing is said about AWS."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    folder = tmp_path / ".aws"
    folder.mkdir()
    return folder


def test_keys_of_the_connection_come_first(aws_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "other")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "other")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "other")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    found = resolve(AwsConnection.of({**KEYS, "max_error_retry_attempts": 3}))
    assert found == AwsAccess(*SECRETS, region="eu-west-1")
    assert resolve(AwsConnection("a", "b", region="us-west-2")).session_token is None


def test_the_environment_without_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-north-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://all:1")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://s3:2/")
    expected = AwsAccess("key", "secret", None, "eu-north-1", "http://s3:2", is_path_style=True)
    assert resolve(AwsConnection()) == expected


@pytest.mark.parametrize(
    ("said", "is_path_style"),
    [
        ({}, False),
        ({"endpoint_url": "http://localhost:8333"}, True),
        ({"endpoint_url": "http://localhost:8333", "s3_force_path_style": False}, False),
        ({"s3_force_path_style": True}, True),
    ],
)
def test_where_the_bucket_stands(said: dict[str, object], is_path_style: bool) -> None:
    assert resolve(AwsConnection.of({**KEYS, **said})).is_path_style is is_path_style


def test_a_profile_wins_over_keys_of_the_environment(aws_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "environment")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    (aws_home / "credentials").write_text(
        "[prod]\naws_access_key_id=key\naws_secret_access_key=secret\naws_session_token=token\n"
    )
    (aws_home / "config").write_text(
        "[profile prod]\nregion=ap-south-1\nservices=own\n"
        "[services own]\ns3 =\n  endpoint_url = https://s3.example.com\n"
    )
    found = resolve(AwsConnection(profile="prod"))
    assert found == AwsAccess("key", "secret", "token", "ap-south-1", "https://s3.example.com", True)
    assert resolve(AwsConnection()).access_key == "environment"
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.setenv("AWS_PROFILE", "prod")
    assert resolve(AwsConnection()) == found
    # Keys come from one place, all else from where it is said.
    assert resolve(AwsConnection("a", "b")).region == "ap-south-1"


def test_keys_that_were_written_anew_are_found(aws_home: Path) -> None:
    file = aws_home / "credentials"
    for time, key in enumerate(("first", "second"), start=1):
        file.write_text(f"[default]\naws_access_key_id={key}\naws_secret_access_key=secret\n")
        os.utime(file, (time, time))
        assert resolve(AwsConnection()).access_key == key


def test_credentials_of_a_process_are_renewed(aws_home: Path, tmp_path: Path) -> None:
    """They expire at once, so that each use gets new ones; so do those of a login or a role."""
    script = tmp_path / "login"
    script.write_text(
        f"#!{sys.executable}\nimport json, datetime, pathlib\n"
        f"count = pathlib.Path({str(tmp_path / 'count')!r})\n"
        "number = int(count.read_text()) + 1 if count.exists() else 1\n"
        "count.write_text(str(number))\n"
        "end = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=60)\n"
        "print(json.dumps({'Version': 1, 'AccessKeyId': f'key{number}', 'SecretAccessKey': 's',\n"
        "                  'SessionToken': 't', 'Expiration': end.isoformat()}))\n"
    )
    script.chmod(0o700)
    (aws_home / "config").write_text(f"[profile login]\ncredential_process = {script}\n")
    first, second = (resolve(AwsConnection(profile="login")).access_key for _ in range(2))
    assert first != second
    assert first.startswith("key")


def test_a_process_that_fails_is_told(aws_home: Path) -> None:
    (aws_home / "config").write_text("[profile login]\ncredential_process = /bin/false\n")
    with pytest.raises(CredentialsError, match='of profile "login" cannot be found: ') as caught:
        resolve(AwsConnection(profile="login"))
    assert caught.value.exit_code == 3


def test_nothing_found() -> None:
    with pytest.raises(CredentialsError, match="there are no AWS credentials") as caught:
        resolve(AwsConnection())
    assert "AWS_PROFILE" in (caught.value.hint or "")
    with pytest.raises(CredentialsError, match=r'^~/.aws has no profile "no"\.\n') as caught:
        resolve(AwsConnection(profile="no"))
    assert caught.value.hint == "check profile of the connection, or AWS_PROFILE"


@pytest.mark.parametrize(
    "address", ["127.0.0.1:9000", "store", "s3://store", "http://user:hunter2secret@store"]
)
def test_an_endpoint_of_the_environment_is_looked_at(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library that gets it would panic."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", address)
    with pytest.raises(CredentialsError, match=r"^endpoint_url (is not an address|must not hold)") as caught:
        resolve(AwsConnection("key", "secret"))
    assert caught.value.hint is not None
    assert "AWS_ENDPOINT_URL" in caught.value.hint
    assert "hunter2" not in str(caught.value)


def test_nobody_prints_a_key() -> None:
    connection = AwsConnection.of({**KEYS, "region": "eu-west-1"})
    shown = f"{connection} {resolve(connection)!r} {json.dumps(str(connection))}"
    assert "eu-west-1" in shown
    assert [secret for secret in SECRETS if secret in shown] == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("https://s3.example.com", None),
        ("http://127.0.0.1:8333/", None),
        ("http://[::1]:8333", None),
        ("localhost:8333", "is not an address"),
        ("ftp://host", "is not an address"),
        ("http://host/path", "is not an address"),
        ("http://", "is not an address"),
        ("http://key:hunter2@host", "must not hold a user or a password"),
    ],
)
def test_endpoints(text: str, problem: str | None) -> None:
    found = endpoint_problem(text)
    assert found is None if problem is None else found is not None and found.startswith(problem)
    assert "hunter2" not in (found or "")


def test_keys_that_are_given_load_no_library() -> None:
    script = (
        "import sys\n"
        "from tailpipe.aws_credentials import AwsConnection, resolve\n"
        "resolve(AwsConnection('a', 'b', endpoint_url='http://h'))\n"
        "assert 'botocore' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_region_of_the_environment_does_not_hide_the_endpoint_of_the_profile(
    aws_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else requests that are meant for a store in the house go to AWS."""
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    (aws_home / "config").write_text("[default]\nendpoint_url = http://store:9000\nregion = us-west-2\n")
    found = resolve(AwsConnection("key", "secret"))
    assert (found.region, found.endpoint_url) == ("eu-west-1", "http://store:9000")
