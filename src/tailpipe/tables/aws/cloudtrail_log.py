"""AWS CloudTrail: one row per API call, sign-in or service event."""

from tailpipe.tables.table import Column, Table, struct_column

_RESOURCES = "struct(accountId varchar, ARN varchar, type varchar)[]"

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

TABLE = Table(
    name="aws_cloudtrail_log",
    description="AWS CloudTrail events.",
    columns=(
        Column("additional_event_data", "json", source="additionalEventData"),
        Column("api_version", source="apiVersion"),
        Column("aws_region", source="awsRegion", default=""),
        Column("edge_device_details", "json", source="edgeDeviceDetails"),
        Column("error_code", source="errorCode"),
        Column("error_message", source="errorMessage"),
        Column("event_category", source="eventCategory", null_if=("",)),
        Column("event_id", source="eventID", default=""),
        Column("event_name", source="eventName", default=""),
        Column("event_source", source="eventSource", default=""),
        Column("event_time", "timestamp", source="eventTime"),
        Column("event_type", source="eventType", default=""),
        Column("event_version", source="eventVersion", default=""),
        Column("management_event", "boolean", source="managementEvent"),
        Column("read_only", "boolean", source="readOnly"),
        Column("recipient_account_id", source="recipientAccountId", null_if=("",)),
        Column("request_id", source="requestID"),
        Column("request_parameters", "json", source="requestParameters"),
        Column("resources", "json", read_type=_RESOURCES, expression="to_json($)"),
        Column("response_elements", "json", source="responseElements"),
        Column("service_event_details", "json", source="serviceEventDetails"),
        Column("session_credential_from_console", source="sessionCredentialFromConsole"),
        Column("shared_event_id", source="sharedEventID"),
        Column("source_ip_address", source="sourceIPAddress"),
        struct_column(
            "tls_details",
            Column("cipher_suite", source="cipherSuite"),
            Column("client_provided_host_header", source="clientProvidedHostHeader"),
            Column("tls_version", source="tlsVersion"),
            source="tlsDetails",
        ),
        Column("user_agent", source="userAgent"),
        struct_column(
            "user_identity",
            Column("access_key_id", source="accessKeyId"),
            Column("account_id", source="accountId"),
            Column("arn"),
            Column("identity_provider", source="identityProvider"),
            Column("invoked_by", source="invokedBy"),
            Column("principal_id", source="principalId"),
            struct_column(
                "session_context",
                struct_column(
                    "attributes",
                    Column(
                        "creation_date",
                        "bigint",
                        source="creationDate",
                        expression="unix_millis(try_cast($ AS timestamp))",
                    ),
                    Column("mfa_authenticated", source="mfaAuthenticated"),
                ),
                Column("ec2_role_delivery", source="ec2RoleDelivery"),
                struct_column(
                    "session_issuer",
                    Column("account_id", source="accountId"),
                    Column("arn"),
                    Column("principal_id", source="principalId"),
                    Column("type"),
                    Column("user_name", source="userName"),
                    source="sessionIssuer",
                ),
                struct_column(
                    "web_id_federation_data",
                    Column("attributes", "json"),
                    Column("federated_provider", source="federatedProvider"),
                    source="webIdFederationData",
                ),
                source="sessionContext",
            ),
            Column("type", default=""),
            Column("user_name", source="userName"),
            source="userIdentity",
        ),
        Column("vpc_endpoint_id", source="vpcEndpointId", null_if=("",)),
    ),
    helpers=(Column("resource_list", _RESOURCES, source="resources"),),
    standard={
        "tp_timestamp": "event_time",
        "tp_source_ip": "source_ip_address",
        "tp_ips": "array_compact(array(source_ip_address))",
        "tp_akas": f"""CASE WHEN resource_list IS NOT NULL THEN flatten(transform(
            filter(
                transform(resource_list, resource -> split(coalesce(resource.ARN, ''), ':')),
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
