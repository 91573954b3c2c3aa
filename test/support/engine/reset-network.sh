#!/usr/bin/env bash
# Removes what a stopped Docker Engine leaves in the network. Usage: reset-network.sh FORWARD_POLICY IP_FORWARD
set -uo pipefail
for bridge in $(ip -o link show type bridge | grep -oE ' (docker0|br-[0-9a-f]{12}|berth-[0-9a-f]{9}):' | tr -d ' :'); do
  ip link delete "$bridge"
done
for table in filter nat; do
  # The rules come as words with quotes, which only the shell can split.
  iptables -t "$table" -S | grep -E '^-A (INPUT|FORWARD|OUTPUT|PREROUTING|POSTROUTING) .*(DOCKER|docker0|br-[0-9a-f]{12}|berth-[0-9a-f]{9}|198\.1[89]\.)' |
    while read -r _ rule; do eval "iptables -t $table -D $rule"; done
  chains=$(iptables -t "$table" -S | grep -oE '^-N DOCKER\S*' | cut -d' ' -f2)
  for chain in $chains; do iptables -t "$table" -F "$chain"; done
  for chain in $chains; do iptables -t "$table" -X "$chain"; done
done
iptables -P FORWARD "$1"
echo "$2" >/proc/sys/net/ipv4/ip_forward
