#!/bin/sh
# Collects the example logs into a lake of their own and asks three questions; leaves nothing behind.
set -eu
cd "$(dirname "$0")/.."

TAILPIPE_INSTALL_DIR=$(mktemp -d)
export TAILPIPE_INSTALL_DIR
trap 'rm -rf "$TAILPIPE_INSTALL_DIR"' EXIT INT TERM

run() {
    printf '\n$'
    for word in "$@"; do
        case $word in
            *[!A-Za-z0-9_./:=-]*) printf ' "%s"' "$word" ;;
            *) printf ' %s' "$word" ;;
        esac
    done
    printf '\n'
    "$@"
}

# Some example lines are broken on purpose: they are rejected, and the last question shows them.
run tailpipe --config-path examples/config collect --from 2026-10-01 --to 2026-10-15

run tailpipe --config-path examples/config query "select event_source, event_name, count(*) as events, count(error_code) as errors from aws_cloudtrail_log group by all order by events desc, event_name limit 8"

run tailpipe --config-path examples/config query "select tp_date, count(*) as requests, count(*) filter (status >= 500) as failed from nginx_access_log group by tp_date order by tp_date"

run tailpipe --config-path examples/config query "select table_name, position, reason from tailpipe.rejects order by all"
