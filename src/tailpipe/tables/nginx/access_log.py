"""nginx access logs: one row per request, in any layout that log_format can write."""

from tailpipe.tables.table import Column, Table

TABLE = Table(
    name="nginx_access_log",
    description="Requests that nginx served.",
    columns=(
        Column("body_bytes_sent", "integer", description="Bytes of the response without its header."),
        Column("bytes_sent", "integer", description="Bytes of the response with its header."),
        Column("connection", description="Serial number of the connection."),
        Column("connection_requests", "integer", description="Requests made over the connection so far."),
        Column("content_length", "integer", description="Content-Length header of the request."),
        Column("content_type", description="Content-Type header of the request."),
        Column(
            "gzip_ratio", "float", description="Original size of the response divided by its compressed size."
        ),
        Column("host", description="Host of the request line or Host header, else the server's name."),
        Column("http_cookie", description="Cookie header."),
        Column("http_host", description="Host header as it was sent, with the port if it has one."),
        Column("http_referer", description="Referer header: the page that led here."),
        Column("http_user_agent", description="User-Agent header: the client's program."),
        Column(
            "msec",
            "float",
            description="Epoch seconds of the log entry; a FLOAT holds them only to the nearest 128.",
        ),
        Column("pipe", description='"p" if the request was pipelined, "." if not.'),
        Column("remote_addr", description="Address of the client, or of a proxy before it."),
        Column("remote_user", description="User name of basic authentication."),
        Column("request_length", "integer", description="Bytes of the request: line, header and body."),
        Column("request_method", description="HTTP method, such as GET."),
        Column(
            "request_time", "float", description="Seconds from the first byte read to the last byte sent."
        ),
        Column("request_uri", description="Path and query as they were sent; all of a malformed request."),
        Column("scheme", description="http or https."),
        Column("server_addr", description="Address of the server that took the request."),
        Column("server_name", description="Name of the nginx server block that took the request."),
        Column("server_port", "integer", description="Port of the server that took the request."),
        Column("server_protocol", description="Protocol of the request, such as HTTP/1.1."),
        Column("ssl_cipher", description="Cipher of the TLS connection."),
        Column("ssl_client_cert", description="Certificate of the client, in PEM."),
        Column("ssl_protocol", description="TLS version of the connection, such as TLSv1.3."),
        Column("ssl_session_id", description="Identifier of the TLS session."),
        Column("status", "integer", description="Status code of the response."),
        Column("time_iso8601", "timestamp", description="When the request was logged, UTC."),
        Column("time_local", description="When the request was logged, as written, with its zone."),
        Column("upstream_addr", description="Address of the upstream server that was asked."),
        Column("upstream_connect_time", "float", description="Seconds to connect to the upstream server."),
        Column(
            "upstream_header_time",
            "float",
            description="Seconds until the upstream's response header was there.",
        ),
        Column(
            "upstream_response_time",
            "float",
            description="Seconds until the upstream's whole response was there.",
        ),
        Column("upstream_status", "integer", description="Status code of the upstream's response."),
    ),
    null_if=("-",),
    standard={
        "tp_timestamp": "coalesce(time_iso8601, try_to_timestamp(time_local, 'dd/MMM/yyyy:HH:mm:ss Z'))",
        "tp_source_ip": "remote_addr",
        "tp_ips": "array_compact(array(remote_addr, server_addr, upstream_addr))",
        "tp_domains": "array_compact(array(host, http_host))",
        "tp_akas": "array_compact(array(host, http_host))",
        "tp_usernames": "array_compact(array(remote_user))",
    },
    timestamp_from=("time_local",),
    default_format=("nginx_access_log", "combined"),
)
