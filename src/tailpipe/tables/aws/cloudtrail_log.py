"""AWS CloudTrail: one row per API call, sign-in or service event."""

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

TABLE = Table(
    name="aws_cloudtrail_log",
    description="AWS CloudTrail events.",
    columns=(
        Column(
            "additional_event_data",
            "json",
            source="additionalEventData",
            description="What the service adds about the event beyond request and response.",
        ),
        Column("api_version", source="apiVersion", description="Version of the API that was called."),
        Column(
            "aws_region",
            source="awsRegion",
            default="",
            description="Region that the request was made to, such as us-east-1.",
        ),
        Column(
            "edge_device_details",
            "json",
            source="edgeDeviceDetails",
            description="Edge device that the request was meant for.",
        ),
        Column(
            "error_code",
            source="errorCode",
            description="Error that the service answered with, such as AccessDenied; null if none.",
        ),
        Column(
            "error_message", source="errorMessage", description="The error in words; null if there was none."
        ),
        Column(
            "event_category",
            source="eventCategory",
            null_if=("",),
            description="Kind of event: Management, Data, NetworkActivity or Insight.",
        ),
        Column(
            "event_id", source="eventID", default="", description="Identifier that CloudTrail gave the event."
        ),
        Column(
            "event_name",
            source="eventName",
            default="",
            description="Action that was requested, such as RunInstances or ConsoleLogin.",
        ),
        Column(
            "event_source",
            source="eventSource",
            default="",
            description="Service that was asked, such as s3.amazonaws.com.",
        ),
        Column(
            "event_time", "timestamp", source="eventTime", description="When the request was completed, UTC."
        ),
        Column(
            "event_type",
            source="eventType",
            default="",
            description="How the event came about, such as AwsApiCall, AwsServiceEvent or AwsConsoleSignIn.",
        ),
        Column(
            "event_version",
            source="eventVersion",
            default="",
            description="Version of CloudTrail's record format.",
        ),
        Column(
            "management_event",
            "boolean",
            source="managementEvent",
            description="Whether it is a management event, one that concerns resources themselves.",
        ),
        Column(
            "read_only",
            "boolean",
            source="readOnly",
            description="Whether the action only reads and changes nothing.",
        ),
        Column(
            "recipient_account_id",
            source="recipientAccountId",
            null_if=("",),
            description="Account whose trail got the event; not always the caller's.",
        ),
        Column(
            "request_id",
            source="requestID",
            description="Identifier that the called service gave the request.",
        ),
        Column(
            "request_parameters",
            "json",
            source="requestParameters",
            description="Parameters of the request; their names depend on the action.",
        ),
        Column(
            "resources",
            "json",
            description="List of the resources that were used: accountId, ARN and type of each, and what else it says.",
        ),
        Column(
            "response_elements",
            "json",
            source="responseElements",
            description="The service's answer, recorded mostly for actions that make changes.",
        ),
        Column(
            "service_event_details",
            "json",
            source="serviceEventDetails",
            description="What set off an event of the service itself, and its result.",
        ),
        Column(
            "session_credential_from_console",
            source="sessionCredentialFromConsole",
            description='"true" if the request came from a console session; otherwise null.',
        ),
        Column(
            "shared_event_id",
            source="sharedEventID",
            description="The same for the copies of one event that several accounts receive.",
        ),
        Column(
            "source_ip_address",
            source="sourceIPAddress",
            description="Address the request came from; a DNS name if an AWS service made it.",
        ),
        struct_column(
            "tls_details",
            Column("cipher_suite", source="cipherSuite", description="Cipher suite of the connection."),
            Column(
                "client_provided_host_header",
                source="clientProvidedHostHeader",
                description="Host name that the client called, usually the service's endpoint.",
            ),
            Column(
                "tls_version",
                source="tlsVersion",
                description="TLS version of the connection, such as TLSv1.3.",
            ),
            source="tlsDetails",
            description="TLS connection that the request came over.",
        ),
        Column(
            "user_agent",
            source="userAgent",
            description="Program that made the request, such as an SDK, the AWS CLI or a browser.",
        ),
        struct_column(
            "user_identity",
            Column(
                "access_key_id",
                source="accessKeyId",
                description="Access key that signed the request: AKIA… is long-term, ASIA… temporary.",
            ),
            Column(
                "account_id",
                source="accountId",
                description="Account that the identity's permissions come from.",
            ),
            Column("arn", description="ARN of the identity that made the request."),
            Column(
                "identity_provider",
                source="identityProvider",
                description="Outside identity provider of a SAML or web identity user.",
            ),
            Column(
                "invoked_by",
                source="invokedBy",
                description="AWS service that made the request, for itself or on someone's behalf.",
            ),
            Column(
                "principal_id",
                source="principalId",
                description="Unique identifier of the identity; an assumed role's ends with the session name.",
            ),
            struct_column(
                "session_context",
                struct_column(
                    "attributes",
                    Column(
                        "creation_date",
                        "bigint",
                        source="creationDate",
                        expression="unix_millis(try_cast($ AS timestamp))",
                        description="When the credentials were issued, in milliseconds since 1970, UTC.",
                    ),
                    Column(
                        "mfa_authenticated",
                        source="mfaAuthenticated",
                        description='"true" if MFA was used to get the credentials.',
                    ),
                    description="How and when the temporary credentials were obtained.",
                ),
                Column(
                    "ec2_role_delivery",
                    source="ec2RoleDelivery",
                    description="Version of the EC2 instance metadata service that gave out the credentials.",
                ),
                struct_column(
                    "session_issuer",
                    Column("account_id", source="accountId", description="Account of the issuing identity."),
                    Column(
                        "arn", description="ARN of the issuing identity, such as the role that was assumed."
                    ),
                    Column(
                        "principal_id",
                        source="principalId",
                        description="Unique identifier of the issuing identity.",
                    ),
                    Column("type", description="Kind of issuing identity: Root, IAMUser or Role."),
                    Column("user_name", source="userName", description="Name of the issuing user or role."),
                    source="sessionIssuer",
                    description="User or role that the temporary credentials came from.",
                ),
                struct_column(
                    "web_id_federation_data",
                    Column(
                        "attributes",
                        "json",
                        description="Application and user identifiers that the provider reports.",
                    ),
                    Column(
                        "federated_provider",
                        source="federatedProvider",
                        description="Identity provider that signed the user in, by name or ARN.",
                    ),
                    source="webIdFederationData",
                    description="Web identity federation behind the session.",
                ),
                source="sessionContext",
                description="Session of a request with temporary credentials.",
            ),
            Column(
                "type",
                default="",
                description="Kind of identity, such as Root, IAMUser, AssumedRole or AWSService.",
            ),
            Column(
                "user_name",
                source="userName",
                description="Name of the identity where it has one, such as an IAM user's.",
            ),
            source="userIdentity",
            description="Who made the request.",
        ),
        Column(
            "vpc_endpoint_id",
            source="vpcEndpointId",
            null_if=("",),
            description="VPC endpoint that the request went through; null if none.",
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
