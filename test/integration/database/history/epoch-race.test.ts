// Two gateways that connect to a new primary at the same time, and then to the old one.

import pg from 'pg'
import { expect, it } from 'vitest'
import { createEpochCheck } from '../../../../src/database/history/epoch.ts'
import { startApp } from '../../../support/app.ts'
import { urlAs } from '../../../support/database/roles.ts'

it('refuses the old primary also to a gateway that waited while another one noticed the new primary', async () => {
  const app = await startApp()
  const connectionString = urlAs('app', app.database.url)
  const clients = [new pg.Client({ connectionString }), new pg.Client({ connectionString })] as const
  await Promise.all(clients.map(client => client.connect()))
  const checks = [createEpochCheck(), createEpochCheck()] as const
  for (const [index, client] of clients.entries()) await checks[index as 0 | 1].check(client)
  const [old] = (await app.sql('SELECT epoch FROM outbox')) as { epoch: number }[]

  // Both find that the server is on another line of history than the database says.
  await app.sql(`UPDATE outbox SET cluster = regexp_replace(cluster, '/\\d+/', '/99/')`)
  const [first, second] = await Promise.all(clients.map((client, index) => checks[index as 0 | 1].check(client)))
  expect([first, second].filter(line => line !== undefined)).toHaveLength(1)

  // On the old primary, the epoch is still the old one.
  await app.sql('UPDATE outbox SET epoch = $1', [old?.epoch])
  for (const [index, client] of clients.entries())
    await expect(checks[index as 0 | 1].check(client)).rejects.toThrow('was replaced by another server')
  await Promise.all(clients.map(client => client.end()))
  await app.close()
})
