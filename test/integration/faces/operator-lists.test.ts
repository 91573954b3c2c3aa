// The lists of operators' commands, as a terminal of 100 columns shows them.

import { afterAll, beforeAll, expect, it } from 'vitest'
import type { CommandOperations } from '../../../src/operator/command.ts'
import { findCommand } from '../../../src/operator/commands.ts'
import { printTable } from '../../../src/operator/table.ts'
import { createSecrets } from '../../../src/services/secrets.ts'
import { webhookListOperations } from '../../../src/services/webhooks/list.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'
import { rentalsOf, someCredit } from '../../support/instances/rentals.ts'
import { webhooksOf } from '../../support/webhooks/webhooks.ts'

let app: TestApp
let gateway: Gateway

beforeAll(async () => {
  app = await startApp({ privateWebhooks: true })
  gateway = openGateway({ url: app.database.url, now: app.clock.now })
  const key = await app.newKey(null, someCredit)
  await rentalsOf(app).rent(key)
  await webhooksOf(app).create(key, 'http://hooks.example.com/')
})

afterAll(async () => {
  await gateway.close()
  await app.close()
})

it.each([
  ['account list'],
  ['key list', '--account'],
  ['instance list', '--account'],
  ['machine list'],
  ['ledger list', '--account'],
  ['webhook list', '--account'],
  ['event list', '--account'],
])('%s fits, with columns that its rows have', async (name, ...options) => {
  const [account] = await app.sql('SELECT account_id AS id FROM instances')
  const args = options.map(option => [option, String((account as { id: number }).id)])
  const { run, display } = findCommand([...name.split(' '), ...args.flat()])
  const openSecrets = async () => createSecrets('a secret of tests')
  const webhooks = webhookListOperations({ database: gateway.database, openSecrets })
  // Safe: lists use nothing else.
  const list = (await run({ ...app.operations, webhooks } as CommandOperations)) as AsyncIterable<
    Record<string, unknown>
  >
  const rows: Record<string, unknown>[] = []
  for await (const row of list) rows.push(row)
  expect(rows.length).toBeGreaterThan(0)
  const { columns = [] } = display
  expect(columns.length).toBeLessThanOrEqual(8)
  expect(columns.filter(column => !Object.hasOwn(rows[0] ?? {}, column))).toEqual([])
  const lines = printTable(rows, 100, columns).split('\n')
  expect(lines[0]).toMatch(/^ *(id|createdAt) {2}/)
  expect(lines).toHaveLength(rows.length + 2)
  expect(Math.max(...lines.map(line => line.length))).toBeLessThanOrEqual(100)
})

it('event list has the history of an instance and of its machine, oldest first, and needs one of them', async () => {
  const [row] = await app.sql('SELECT id, machine_id AS machine, account_id AS account FROM instances')
  const { id, machine, account } = row as { id: string; machine: number; account: number }
  await app.operations.instances.stop(BigInt(id), 'The machine is old.')
  const kinds = async (...args: string[]) => {
    // Safe: the list uses nothing else.
    const operations = app.operations as unknown as CommandOperations
    const found: unknown[] = []
    const list = await findCommand(['event', 'list', ...args]).run(operations)
    for await (const row of list as AsyncIterable<Record<string, unknown>>) found.push(row['kind'])
    return found
  }
  const all = await kinds('--instance', `ins_${id}`)
  expect(all[0]).toBe('INSTANCE_CREATED')
  expect(all.length).toBeGreaterThan(1)
  expect(await kinds('--machine', String(machine), '--account', `acc_${account}`)).toEqual(all)
  expect(await kinds('--instance', id, '--last', '1')).toEqual(all.slice(-1))
  expect(await kinds('--instance', id, '--account', `acc_${account + 1}`).catch(String)).toEqual([])
  expect(() => findCommand(['event', 'list'])).toThrow('Give at least one of --account, --instance, --machine.')
})
