#!/bin/sh
# Starts PostgreSQL in a container. The first start creates the database with the roles of the secret roles.sql.
set -eu
PATH=$(echo /usr/lib/postgresql/*/bin):$PATH
data=/var/lib/postgresql/data
if [ ! -d "$data/cluster" ]; then
  # Renamed when it is complete: a start that was interrupted begins again.
  rm -rf "$data/new"
  initdb --pgdata="$data/new" --auth-local=peer --auth-host=scram-sha-256 --encoding=UTF8 --locale=C.UTF-8 --data-checksums
  echo 'host berth all samenet scram-sha-256' >>"$data/new/pg_hba.conf"
  pg_ctl --pgdata="$data/new" --wait --options="-c listen_addresses= -c unix_socket_directories=/tmp" start
  psql --quiet --set=ON_ERROR_STOP=1 --host=/tmp --dbname=postgres --file=/run/secrets/roles.sql
  pg_ctl --pgdata="$data/new" --wait --mode=fast stop
  mv "$data/new" "$data/cluster"
fi
exec postgres -D "$data/cluster" -c listen_addresses='*' -c unix_socket_directories=/tmp
