#!/usr/bin/env bash
# Runs tests on the oldest Postgres that a warehouse may stand on, by an owner who may not create roles:
# test/oldest-postgres.sh test/schema. Debian has it as postgresql-15.
set -euo pipefail
cd "$(dirname "$0")/.."

programs=${OLDEST_POSTGRES:-/usr/lib/postgresql/15/bin}
[ -x "$programs/initdb" ] || { echo "expected Postgres 15 in $programs: install postgresql-15, or set OLDEST_POSTGRES" >&2; exit 2; }
folder=$(mktemp -d)
# Postgres does not run as root.
as() { if [ "$(id -u)" = 0 ]; then setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; else "$@"; fi; }
[ "$(id -u)" != 0 ] || chown postgres "$folder"
end() {
  as "$programs/pg_ctl" -D "$folder/data" -m immediate -w stop >"$folder/stop.log" 2>&1 || cat "$folder/stop.log" >&2
  rm -rf "$folder"
}
trap end EXIT

echo made-up >"$folder/password"
as "$programs/initdb" -D "$folder/data" -U admin -A scram-sha-256 --pwfile="$folder/password" -E UTF8 --locale=C.UTF-8 \
  >"$folder/initdb.log"
port=$(node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); })')
as "$programs/pg_ctl" -D "$folder/data" -l "$folder/data/postgres.log" -w start \
  -o "-p $port -k '' -c listen_addresses=127.0.0.1 -c max_connections=300 -c shared_buffers=256MB" >"$folder/start.log" ||
  { cat "$folder/data/postgres.log" >&2; exit 1; }

TEST_POSTGRES_URL=postgres://admin:made-up@127.0.0.1:$port/postgres TEST_OWNER='without CREATEROLE' \
  npx vitest run "$@"
