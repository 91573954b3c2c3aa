#!/bin/sh
# Makes the folder of secrets that compose.yaml reads. Containers may read its files, and on this computer only the folder's owner.
set -eu
cd "$(dirname "$0")"
if [ -e secrets ]; then
  echo 'The folder secrets exists already. The database knows the passwords in it, so keep them.' >&2
  exit 1
fi
umask 077
rm -rf secrets.new && mkdir secrets.new
random() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }
url() { printf 'postgresql://%s:%s@database/berth' "$1" "$2"; }
owner=$(random) app=$(random) metrics=$(random)
random >secrets.new/berth-secret
url berth_owner "$owner" >secrets.new/database-owner-url
url berth_app "$app" >secrets.new/database-url
url berth_metrics "$metrics" >secrets.new/database-metrics-url
echo '# Settings of the gateway, such as TRUSTED_PROXIES=172.16.0.0/12' >secrets.new/gateway.env
cat >secrets.new/roles.sql <<SQL
CREATE ROLE berth_owner LOGIN PASSWORD '$owner';
CREATE ROLE berth_app LOGIN PASSWORD '$app';
CREATE ROLE berth_metrics LOGIN PASSWORD '$metrics' IN ROLE pg_read_all_stats;
CREATE DATABASE berth OWNER berth_owner;
REVOKE ALL ON DATABASE berth FROM PUBLIC;
GRANT CONNECT ON DATABASE berth TO berth_app, berth_metrics;
\connect berth
REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO berth_app, berth_metrics;
SQL
chmod 444 secrets.new/*
mv secrets.new secrets
