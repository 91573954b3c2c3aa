// Random actions on accounts that rent.

import type { TestAccount } from '../accounts/accounts.ts'
import type { TestApp } from '../app.ts'
import type { SeededRandom } from '../seeded-random.ts'
import { volumesOf } from '../volumes/volumes.ts'
import { limitsOf, subjectOf } from './limits.ts'

/** An account with a second API key. */
export type Renter = TestAccount & { other: string }

type AccountAction = (renter: Renter) => Promise<unknown>

export function createAccountActions(
  app: TestApp,
  chance: SeededRandom,
  machines: readonly number[],
): Record<string, AccountAction> {
  const [second, hour] = [1_000, 3_600_000]
  const volumes = volumesOf(app)
  const limits = limitsOf(app)
  const ids = async (text: string) => ((await app.sql(text)) as { id: string }[]).map(({ id }) => Number(id))
  const instanceOf = async ({ id }: Renter) =>
    chance.pick(await ids(`SELECT id FROM instances WHERE account_id = ${id} AND destroyed_at IS NULL ORDER BY id`))
  const keyOf = ({ key, other }: Renter) => (chance.withProbability(0.6) ? key : other)
  const set = async (renter: Renter, state: string) =>
    await app.rest(renter.key, 'PUT', `/instances/${await instanceOf(renter)}/`, { state })
  const mutate = async ({ key }: Renter, name: string, type: string, input: object) => {
    const query = `mutation ($input: ${type}!) { ${name}(input: $input) { __typename } }`
    const answer = await app.graphql(key, query, { input })
    const code = String(answer.errors?.[0]?.extensions['code'])
    // Otherwise an action that the schema no longer knows would do nothing, unseen.
    if (['BAD_USER_INPUT', 'GRAPHQL_VALIDATION_FAILED'].includes(code)) throw new Error(answer.errors?.[0]?.message)
    return answer
  }
  const cents = (most: number) => (chance.between(0, most) / 100).toFixed(2)
  const soon = () =>
    new Date(
      app.clock.now().getTime() + (chance.pick([chance.between(1, second), chance.between(1, 3 * hour)]) as number),
    ).toISOString()
  const setPolicy = async (renter: Renter, policy: object) =>
    await mutate(renter, 'updateInstancePolicy', 'UpdateInstancePolicyInput', {
      id: String(await instanceOf(renter)),
      ...policy,
    })
  const limit = async (renter: Renter, amount: string) => {
    // A key with a limit cannot set limits.
    const subject = subjectOf(
      chance.withProbability(0.5) ? null : String((await limits.accountOf(renter.other)).apiKeyId),
    )
    const action = chance.pick(['BLOCK_NEW', 'STOP_RUNNING', 'STOP_RUNNING', 'NOTIFY'])
    const window = chance.pick(['HOUR', 'DAY', 'MONTH'])
    const created = await mutate(renter, 'createSpendLimit', 'CreateSpendLimitInput', {
      subject,
      action,
      window,
      amount,
    })
    if (created.data?.createSpendLimit?.__typename !== 'ConflictError') return
    const { apiKeyId } = { apiKeyId: null, ...subject } as { apiKeyId: string | null }
    const [id] =
      await ids(`SELECT id FROM spend_limits WHERE account_id = ${renter.id} AND "window" = '${window?.toLowerCase()}'
      AND api_key_id IS NOT DISTINCT FROM ${apiKeyId}`)
    await mutate(renter, 'updateSpendLimit', 'UpdateSpendLimitInput', { id: String(id), action, amount })
  }
  const removeLimit = async (renter: Renter) => {
    const { accountId } = await limits.accountOf(renter.key)
    const [id] = await ids(`SELECT id FROM spend_limits WHERE account_id = ${accountId} ORDER BY id`)
    if (id !== undefined) await mutate(renter, 'deleteSpendLimit', 'DeleteSpendLimitInput', { id: String(id) })
  }

  return {
    async rents(renter) {
      const offer = chance.pick(await ids('SELECT id FROM offers WHERE withdrawn_at IS NULL ORDER BY id'))
      const price = chance.withProbability(0.6) ? { price: chance.between(401, 900) / 1_000 } : {}
      const body = { image: 'ubuntu', disk: chance.between(8, 200), ...price }
      return await app.rest(keyOf(renter), 'PUT', `/asks/${offer}/`, body)
    },
    stops: async renter => await set(renter, 'stopped'),
    starts: async renter => await set(renter, 'running'),
    destroys: async renter => await app.rest(renter.key, 'DELETE', `/instances/${await instanceOf(renter)}/`),
    async bids(renter) {
      const bidPerHour = `0.${chance.between(401, 999)}`
      await mutate(renter, 'updateInstanceBid', 'UpdateInstanceBidInput', {
        id: String(await instanceOf(renter)),
        bidPerHour,
      })
    },
    'gets credit': async renter => await renter.grant(BigInt(chance.between(1, 3_000_000_000))),
    async 'gets an adjustment'({ email }) {
      const amountNanos = BigInt(chance.between(1, 1_500_000_000) * (chance.withProbability(0.5) ? 1 : -1))
      await app.operations.accounts.adjustCredit(email, { amountNanos, reason: 'a test' })
    },
    'creates a volume': async renter =>
      await volumes.create(keyOf(renter), {
        offerId: `vof_${chance.pick(machines)}`,
        sizeGb: chance.between(1, 100),
      }),
    async 'deletes a volume'({ id, key }) {
      const mine = await ids(`SELECT id FROM volumes WHERE account_id = ${id} AND deleted_at IS NULL ORDER BY id`)
      await volumes.remove(key, chance.pick(mine) ?? 1)
    },
    async exits(renter) {
      const instance = (await instanceOf(renter)) ?? 0
      await app.sql(`UPDATE simulated_containers SET exit_code = 1 WHERE instance_id = ${instance}`)
    },
    'loses a machine': async () => await app.operations.machines.unplug(chance.pick(machines) as number),
    'gets a machine back': async () => await app.operations.machines.plug(chance.pick(machines) as number),
    'sets stopAt': async renter => await setPolicy(renter, { stopAt: chance.withProbability(0.8) ? soon() : null }),
    'sets stopAtCost': async renter =>
      await setPolicy(renter, { stopAtCost: chance.withProbability(0.8) ? cents(150) : null }),
    'sets destroyAt': async renter =>
      await setPolicy(renter, { destroyAt: chance.withProbability(0.7) ? soon() : null }),
    'sets destroyAfterStoppedSeconds': async renter =>
      await setPolicy(renter, {
        destroyAfterStoppedSeconds: chance.withProbability(0.7) ? chance.between(60, 7_200) : null,
      }),
    'sets a low limit': async renter => await limit(renter, cents(300)),
    'sets a high limit': async renter => await limit(renter, '1000'),
    'removes a limit': removeLimit,
    waits: async () => await app.runUntilIdle(),
  }
}
