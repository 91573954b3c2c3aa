// What the roles of Berth may do with the tables. `berth_app` is the role of gateways and operators' commands, and
// `berth_metrics` reads figures for /metrics. The owner of the tables migrates them, and grants all of this: see grants.ts.

export const appRole = 'berth_app'
export const metricsRole = 'berth_metrics'

type TablePrivilege = 'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE'
type TableGroup = { privileges: readonly TablePrivilege[]; tables: readonly string[] }

/** Every table, in groups by what the code does with its rows. Partitions are used through their table. */
export const appTables: readonly TableGroup[] = [
  { privileges: ['SELECT'], tables: list('_prisma_migrations oldest_version') },
  // Rows that are written once. Those of events and samples go with their partition.
  {
    privileges: ['SELECT', 'INSERT'],
    tables: list('events ledger_entries offer_kinds sample_minutes samples secret_check ssh_host_key'),
  },
  // One row, which a migration has inserted.
  { privileges: ['SELECT', 'UPDATE'], tables: list('outbox reliability_progress sample_progress') },
  // Rows that stay.
  {
    privileges: ['SELECT', 'INSERT', 'UPDATE'],
    tables: [
      ...list(
        'accounts api_keys failovers gpu_models gpus instance_looks instances machines market_changes meters offers',
      ),
      ...list('ssh_keys templates volume_attachments volumes webhook_deliveries webhooks'),
    ],
  },
  {
    privileges: ['SELECT', 'INSERT', 'DELETE'],
    tables: list('failed_starts listed_reliabilities meter_ends port_bindings results simulated_outages'),
  },
  {
    privileges: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
    tables: [
      ...list('agent_requests agents engines host_invites idempotency_keys idle_instances instance_ssh_keys'),
      ...list('samplings secret_variables silent_days simulated_containers spend_limits'),
    ],
  },
]

function list(names: string): string[] {
  return names.split(' ')
}

/** What a gateway does to tables that only their owner may change: each function does one thing, as the owner. */
export const appFunctions: readonly string[] = [
  'begin_event_partition()',
  'drop_event_partition()',
  'empty_sample_partition(text)',
  'move_foreign_events()',
  'try_write()',
]

/** The columns that /metrics counts. None has a secret, or anything that a tenant wrote. */
export const metricsColumns: Readonly<Record<string, readonly string[]>> = {
  accounts: ['billing_due_at', 'billing_leased_until'],
  agents: ['held_until', 'joined_at', 'machine_id', 'released_at'],
  events: ['xid'],
  failovers: ['epoch'],
  instance_looks: ['due_at', 'leased_until'],
  instances: [
    ...['destroyed_at', 'machine_id', 'policy_due_at', 'policy_leased_until', 'removed_at', 'status', 'unreachable_at'],
  ],
  machines: ['drained_at', 'id', 'unconfirmed_at', 'unlisted_at'],
  simulated_outages: ['machine_id', 'since'],
  webhook_deliveries: ['due_at', 'leased_until'],
  webhooks: ['failing_since'],
}
