import { afterAll, beforeAll, expect, it } from 'vitest'
import { newAccount, type TestAccount } from '../support/accounts.ts'
import { startApp, type TestApp } from '../support/app.ts'
import { checkMoney } from '../support/billing-recount.ts'
import { chanceOf } from '../support/chance.ts'
import { volumesOf } from '../support/volumes.ts'

const seed = Number(process.env['FC_SEED'] ?? Date.now() % 2 ** 31)
const commands = Number(process.env['BILLING_COMMANDS'] ?? 1_000)
const [second, hour] = [1_000, 3_600_000]

let app: TestApp
beforeAll(async () => {
  app = await startApp({ simulatedDelay: 0 })
})
afterAll(() => app.close())

it(`money adds up after any history of commands, whatever the clock does (seed ${seed})`, async () => {
  const chance = chanceOf(seed)
  const volumes = volumesOf(app)
  const machines: number[] = []
  for (let index = 0; index < 6; index += 1) machines.push(await volumes.newMachine({ numGpus: 2 }))
  const accounts: TestAccount[] = []
  for (const dollars of [1n, 3n, 30n]) accounts.push(await newAccount(app, dollars * 1_000_000_000n))
  const ids = async (text: string) => ((await app.sql(text)) as { id: string }[]).map(({ id }) => Number(id))
  const instancesOf = ({ id }: TestAccount) =>
    ids(`SELECT id FROM instances WHERE account_id = ${id} AND destroyed_at IS NULL ORDER BY id`)
  const set = async ({ key }: TestAccount, instance: number | undefined, state: string) =>
    await app.rest(key, 'PUT', `/instances/${instance}/`, { state })

  const happenings: Record<string, (account: TestAccount) => Promise<unknown>> = {
    async rents({ key }) {
      const offer = chance.pick(await ids('SELECT id FROM offers WHERE withdrawn_at IS NULL ORDER BY id'))
      const price = chance.often(0.6) ? { price: chance.between(401, 900) / 1_000 } : {}
      return await app.rest(key, 'PUT', `/asks/${offer}/`, { image: 'ubuntu', disk: chance.between(8, 200), ...price })
    },
    stops: async account => await set(account, chance.pick(await instancesOf(account)), 'stopped'),
    starts: async account => await set(account, chance.pick(await instancesOf(account)), 'running'),
    destroys: async account =>
      await app.rest(account.key, 'DELETE', `/instances/${chance.pick(await instancesOf(account))}/`),
    async bids(account) {
      const input = {
        instanceId: String(chance.pick(await instancesOf(account))),
        bidPerHour: `0.${chance.between(401, 999)}`,
      }
      const query = 'mutation ($input: ChangeBidInput!) { changeBid(input: $input) { __typename } }'
      return await app.graphql(account.key, query, { input })
    },
    'is granted': async account => await account.grant(BigInt(chance.between(1, 3_000_000_000))),
    'makes a volume': async ({ key }) =>
      await volumes.create(key, { offerId: `vof_${chance.pick(machines)}`, sizeGb: chance.between(1, 100) }),
    'deletes a volume': async ({ id, key }) =>
      await volumes.remove(
        key,
        chance.pick(await ids(`SELECT id FROM volumes WHERE account_id = ${id} AND deleted_at IS NULL ORDER BY id`)) ??
          1,
      ),
    exits: async account =>
      await app.sql(
        `UPDATE simulated_containers SET exit_code = 1 WHERE instance_id = ${chance.pick(await instancesOf(account)) ?? 0}`,
      ),
    'has a machine that is away': async () => await app.operations.machines.unplug(chance.pick(machines) as number),
    'has a machine that is back': async () => await app.operations.machines.plug(chance.pick(machines) as number),
    waits: async () => await app.idle(),
  }
  const often = [
    'rents',
    'rents',
    'starts',
    'starts',
    'bids',
    'waits',
    'waits',
    'waits',
    'destroys',
    'stops',
    'has a machine that is back',
  ]
  const names = [...Object.keys(happenings), ...often]

  /** Mostly forward, by milliseconds or by days; now and then back. */
  const tick = () => {
    const ms = chance.pick([
      chance.between(0, 5),
      chance.between(0, second),
      chance.between(0, 60 * second),
      chance.between(0, 2 * hour),
    ]) as number
    const far = chance.often(0.02) ? chance.between(0, 30 * hour) : 0
    app.clock.advance(chance.often(0.1) ? -ms : ms + far)
  }

  for (let count = 1; count <= commands; count += 1) {
    const account = chance.pick(accounts) as TestAccount
    const name = chance.pick(names) as string
    await happenings[name]?.(account)
    tick()
    if (count % 100 > 0 && count < commands) continue
    const story = `FC_SEED=${seed} after ${count} commands`
    await app.idle()
    await checkMoney(app, story)
    const entries = await app.sql('SELECT count(*) FROM ledger_entries')
    await app.idle()
    expect(await app.sql('SELECT count(*) FROM ledger_entries'), story).toEqual(entries)
  }
  const kinds = await app.sql('SELECT DISTINCT kind::text FROM ledger_entries ORDER BY 1')
  if (commands >= 1_000) expect(kinds.length).toBeGreaterThanOrEqual(3)
}, 180_000)
