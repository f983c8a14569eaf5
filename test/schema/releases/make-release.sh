#!/usr/bin/env bash
# Writes the warehouse of this version as VERSION.sql.gz: to be called once, at a release. Afterwards the file never changes.
# It needs the server and pg_dump of the oldest Postgres that is supported, so that every later one takes the dump.
set -euo pipefail
cd "$(dirname "$0")/../../.."

bin=$(pg_config --bindir)
version=$(node -p 'require("./package.json").version')
place=$(mktemp -d)
port=${PORT:-54317}
as=()
# A server of Postgres does not run as root.
if [ "$(id -u)" = 0 ]; then
  chown postgres "$place"
  as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
fi
trap '"${as[@]}" "$bin/pg_ctl" --pgdata="$place/data" --mode=immediate stop >/dev/null; rm -rf "$place"' EXIT

"${as[@]}" "$bin/initdb" --pgdata="$place/data" --username=fieldmirror --auth=trust --encoding=UTF8 --locale=C.UTF-8 >/dev/null
"${as[@]}" "$bin/pg_ctl" --pgdata="$place/data" --wait --log="$place/log" \
  --options="-p $port -k $place -c listen_addresses=127.0.0.1 -c fsync=off" start >/dev/null
address=postgres://fieldmirror@127.0.0.1:$port
for name in warehouse service; do "$bin/createdb" --maintenance-db="$address/postgres" "$name"; done
node test/schema/releases/fill-release.ts "$address/warehouse" "$address/service"
# The days of the calendar would be half of the file: they are what their migration wrote. Newer versions of pg_dump add commands of psql, which begin with a backslash.
"$bin/pg_dump" --no-owner --inserts --rows-per-insert=100 --exclude-table-data=mart.dim_date "$address/warehouse" |
  sed '/^\\/d' | gzip -9n >"test/schema/releases/$version.sql.gz"
ls -l "test/schema/releases/$version.sql.gz"
