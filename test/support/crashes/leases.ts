/** A gateway that is killed keeps the leases of its passes for 30 seconds. */
export const expireLeasesSql =
  "UPDATE instance_looks SET leased_until = now() - interval '1 second' WHERE leased_until IS NOT NULL"
