"""AWS CloudTrail: one row per API call, sign-in or service event."""

from typing import Any

from tailpipe.tables.table import Column, Table, struct_column

# Of each ARN, split at its colons: the ARN, the account in it, and the plain name of a bucket, instance or volume.
_AKAS_OF_ARN = """
    array_compact(array(
        array_join(parts, ':'),
        nullif(parts[4], ''),
        CASE WHEN parts[2] = 's3' THEN nullif(split_part(parts[5], '/', 1), '') END,
        CASE WHEN parts[2] = 'ec2' AND parts[5] RLIKE '^(instance|volume)/.'
             THEN split_part(parts[5], '/', 2) END
    ))
"""


def _column(name: str, description: str, type_: str = "varchar", **other: Any) -> Column:
    return Column(name, type_, **{"source": _in_record(name), "description": description, **other})


def _struct(name: str, description: str, *members: Column) -> Column:
    return struct_column(name, *members, source=_in_record(name), description=description)


def _in_record(name: str) -> str:
    """`event_name` is `eventName` there."""
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


TABLE = Table(
    name="aws_cloudtrail_log",
    description="AWS CloudTrail events.",
    columns=(
        _column(
            "additional_event_data",
            "What the service adds about the event beyond request and response.",
            "json",
        ),
        _column("api_version", "Version of the API that was called."),
        _column("aws_region", "Region that the request was made to, such as us-east-1.", default=""),
        _column("edge_device_details", "Edge device that the request was meant for.", "json"),
        _column("error_code", "Error that the service answered with, such as AccessDenied; null if none."),
        _column("error_message", "The error in words; null if there was none."),
        _column(
            "event_category", "Kind of event: Management, Data, NetworkActivity or Insight.", null_if=("",)
        ),
        _column("event_id", "Identifier that CloudTrail gave the event.", source="eventID", default=""),
        _column("event_name", "Action that was requested, such as RunInstances or ConsoleLogin.", default=""),
        _column("event_source", "Service that was asked, such as s3.amazonaws.com.", default=""),
        _column("event_time", "When the request was completed, UTC.", "timestamp"),
        _column(
            "event_type",
            "How the event came about, such as AwsApiCall, AwsServiceEvent or AwsConsoleSignIn.",
            default="",
        ),
        _column("event_version", "Version of CloudTrail's record format.", default=""),
        _column(
            "management_event",
            "Whether it is a management event, one that concerns resources themselves.",
            "boolean",
        ),
        _column("read_only", "Whether the action only reads and changes nothing.", "boolean"),
        _column(
            "recipient_account_id",
            "Account whose trail got the event; not always the caller's.",
            null_if=("",),
        ),
        _column("request_id", "Identifier that the called service gave the request.", source="requestID"),
        _column("request_parameters", "Parameters of the request; their names depend on the action.", "json"),
        _column(
            "resources",
            "List of the resources that were used: accountId, ARN and type of each, and what else it says.",
            "json",
        ),
        _column(
            "response_elements",
            "The service's answer, recorded mostly for actions that make changes.",
            "json",
        ),
        _column(
            "service_event_details", "What set off an event of the service itself, and its result.", "json"
        ),
        _column(
            "session_credential_from_console",
            '"true" if the request came from a console session; otherwise null.',
        ),
        _column(
            "shared_event_id",
            "The same for the copies of one event that several accounts receive.",
            source="sharedEventID",
        ),
        _column(
            "source_ip_address",
            "Address the request came from; a DNS name if an AWS service made it.",
            source="sourceIPAddress",
        ),
        _struct(
            "tls_details",
            "TLS connection that the request came over.",
            _column("cipher_suite", "Cipher suite of the connection."),
            _column(
                "client_provided_host_header",
                "Host name that the client called, usually the service's endpoint.",
            ),
            _column("tls_version", "TLS version of the connection, such as TLSv1.3."),
        ),
        _column("user_agent", "Program that made the request, such as an SDK, the AWS CLI or a browser."),
        _struct(
            "user_identity",
            "Who made the request.",
            _column(
                "access_key_id", "Access key that signed the request: AKIA… is long-term, ASIA… temporary."
            ),
            _column("account_id", "Account that the identity's permissions come from."),
            _column("arn", "ARN of the identity that made the request."),
            _column("identity_provider", "Outside identity provider of a SAML or web identity user."),
            _column("invoked_by", "AWS service that made the request, for itself or on someone's behalf."),
            _column(
                "principal_id",
                "Unique identifier of the identity; an assumed role's ends with the session name.",
            ),
            _struct(
                "session_context",
                "Session of a request with temporary credentials.",
                _struct(
                    "attributes",
                    "How and when the temporary credentials were obtained.",
                    _column(
                        "creation_date",
                        "When the credentials were issued, in milliseconds since 1970, UTC.",
                        "bigint",
                        expression="unix_millis(try_cast($ AS timestamp))",
                    ),
                    _column("mfa_authenticated", '"true" if MFA was used to get the credentials.'),
                ),
                _column(
                    "ec2_role_delivery",
                    "Version of the EC2 instance metadata service that gave out the credentials.",
                ),
                _struct(
                    "session_issuer",
                    "User or role that the temporary credentials came from.",
                    _column("account_id", "Account of the issuing identity."),
                    _column("arn", "ARN of the issuing identity, such as the role that was assumed."),
                    _column("principal_id", "Unique identifier of the issuing identity."),
                    _column("type", "Kind of issuing identity: Root, IAMUser or Role."),
                    _column("user_name", "Name of the issuing user or role."),
                ),
                _struct(
                    "web_id_federation_data",
                    "Web identity federation behind the session.",
                    _column(
                        "attributes", "Application and user identifiers that the provider reports.", "json"
                    ),
                    _column(
                        "federated_provider", "Identity provider that signed the user in, by name or ARN."
                    ),
                ),
            ),
            _column(
                "type", "Kind of identity, such as Root, IAMUser, AssumedRole or AWSService.", default=""
            ),
            _column("user_name", "Name of the identity where it has one, such as an IAM user's."),
        ),
        _column(
            "vpc_endpoint_id", "VPC endpoint that the request went through; null if none.", null_if=("",)
        ),
    ),
    standard={
        "tp_timestamp": "event_time",
        "tp_source_ip": "source_ip_address",
        "tp_ips": "array_compact(array(source_ip_address))",
        # Parsing the list for its ARNs alone would take as long as all else that is done with the record.
        "tp_akas": f"""CASE WHEN resources IS NOT NULL THEN flatten(transform(
            filter(
                transform(split(resources, '"ARN":"'), text -> split(split_part(text, '"', 1), ':')),
                parts -> size(parts) >= 6
            ),
            parts -> {_AKAS_OF_ARN}
        )) END""",
        "tp_usernames": """array_compact(array(
            CASE WHEN user_identity.access_key_id LIKE 'AKIA%' THEN user_identity.access_key_id END,
            user_identity.user_name
        ))""",
    },
    timestamp_from=("event_time",),
    default_format=("json", "records"),
    default_layouts={
        "aws_s3_bucket": (
            "AWSLogs/(%{DATA:org_id}/)?%{NUMBER:account_id}/CloudTrail/%{DATA:region}/"
            "%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/%{DATA}.json.gz"
        ),
    },
)
