// Renters who do this and that, and write down what they were told became of it.

import { setTimeout as sleep } from 'node:timers/promises'
import type { SeededRandom } from '../seeded-random.ts'

/** What an account was told of something that it asked for. */
export type CommandRecord = {
  accountId: number
  instanceId: bigint | undefined
  /** The event that tells of it, and what that event says. */
  type: 'INSTANCE_CREATED' | 'INSTANCE_LABEL_CHANGED' | 'INSTANCE_BID_CHANGED' | 'INSTANCE_DESTROYED'
  mark: string
  /** What was refused may have been done before, where an answer to it was lost. */
  done: 'yes' | 'no' | 'perhaps'
}

export type Renter = { accountId: number; apiKey: string }
export type Counts = { commands: number; lost: number; ignored: number; unavailable: number; rentals: number }

type Item = { id: string; outcome: string; error: { code: string } | null }
// biome-ignore lint/suspicious/noExplicitAny: whatever was asked for
type Answer = { data?: any; errors?: { message: string; extensions: { code: string } }[] }
type OwnedInstance = { id: bigint; interruptible: boolean; busy: boolean }
type Offer = { id: string; num_gpus: number; min_bid_nanos: string }

export type RentersOptions = {
  renters: Renter[]
  /** Where somebody may answer. */
  pick: (chance: SeededRandom) => Promise<string>
  sql: (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>
}

/** More than one account has at once, so that GPUs stay scarce and some come free. */
const maxOwned = 16
/** Most of them behave. What stops slowly keeps others waiting for its GPUs. */
const images = [
  ...['ubuntu', 'pytorch', 'debian', 'simulated/slow-stop:30', 'simulated/slow-stop:30'],
  ...['simulated/crash:20', 'simulated/not-found'],
]
const busyCodes = ['UNAVAILABLE', 'IDEMPOTENCY_IN_PROGRESS']
const rent = `mutation ($input: RentInstanceInput!) { answer: rentInstance(input: $input) {
  __typename ... on RentInstanceSuccess { instance { id } } ... on Error { code message } } }`
const bid = `mutation ($input: ChangeBidInput!) { answer: changeBid(input: $input) {
  __typename ... on Error { code message } } }`
const bulk = `__typename ... on Error { code message }
  ... on BulkInstancesPayload { items { id outcome error { code } } }`
const update = `mutation ($input: UpdateInstancesInput!) { answer: updateInstances(input: $input) { ${bulk} } }`
const destroy = `mutation ($input: DestroyInstancesInput!) { answer: destroyInstances(input: $input) { ${bulk} } }`
const register = `mutation ($input: RegisterSshKeyInput!) { answer: registerSshKey(input: $input) { __typename } }`

export function createRenters({ renters, pick, sql }: RentersOptions) {
  const records: CommandRecord[] = []
  const counts: Counts = { commands: 0, lost: 0, ignored: 0, unavailable: 0, rentals: 0 }
  const owned = new Map(renters.map(({ accountId }) => [accountId, new Map<bigint, OwnedInstance>()]))
  let marks = 0

  /** Asks until there is an answer. `again` says whether one may have been lost before. */
  async function ask(chance: SeededRandom, { apiKey }: Renter, query: string, input: object) {
    counts.commands += 1
    for (let again = false; ; again = true) {
      const reply = await post(await pick(chance), apiKey, query, input).catch(() => undefined)
      const loss = lossOf(reply, !again && chance.withProbability(0.1))
      if (reply && !loss) return { answer: reply.data.answer, again }
      counts[loss ?? 'lost'] += 1
      await sleep(chance.between(5, 50))
    }
  }

  /** Why it must be asked again. Some answers get lost on their way, whoever lives. */
  function lossOf(reply: Answer | undefined, isLost: boolean): 'lost' | 'ignored' | 'unavailable' | undefined {
    const [error] = reply?.errors ?? []
    const code = error?.extensions.code ?? reply?.data?.answer.code
    if (!reply) return 'lost'
    if (busyCodes.includes(code)) return 'unavailable'
    if (error) throw new Error(`${code}: ${error.message}`)
    return isLost ? 'ignored' : undefined
  }

  function record(deed: Omit<CommandRecord, 'done'>, { done, again }: { done: boolean; again: boolean }): void {
    records.push({ ...deed, done: done ? 'yes' : again ? 'perhaps' : 'no' })
  }

  function nextMark(): string {
    marks += 1
    return `mark ${marks}`
  }

  async function rentOffer(chance: SeededRandom, renter: Renter): Promise<void> {
    const { accountId } = renter
    const offers = (await sql(
      'SELECT id, num_gpus, min_bid_nanos FROM offers WHERE rentable AND withdrawn_at IS NULL ORDER BY id',
    )) as Offer[]
    const offer = chance.pick(offers)
    if (!offer) return
    const mark = nextMark()
    const interruptible = chance.withProbability(0.6)
    const bidPerHour = usd(BigInt(offer.min_bid_nanos) + BigInt(chance.between(-1, 40)) * 1_000_000n)
    const { answer } = await ask(chance, renter, rent, {
      ...{ offerId: offer.id, idempotencyKey: mark, cancelUnavailable: chance.withProbability(0.1) },
      ...(interruptible && { terms: { interruptible: { bidPerHour } } }),
      spec: {
        source: { image: chance.pick(images) },
        diskGb: chance.between(8, 30),
        ports: [{ containerPort: 8080 }, { containerPort: 9090 }].slice(0, chance.between(0, 2)),
        targetState: chance.withProbability(0.1) ? 'STOPPED' : 'RUNNING',
      },
    })
    const done = expected(answer, 'RentInstanceSuccess', ['OFFER_UNAVAILABLE', 'BID_TOO_LOW'])
    const id = done ? toId(answer.instance.id) : undefined
    // A repeated request gets the answer of the first, and may be done no second time: so this is never "perhaps".
    record({ accountId, instanceId: id, type: 'INSTANCE_CREATED', mark }, { done, again: false })
    if (id === undefined) return
    counts.rentals += 1
    owned.get(accountId)?.set(id, { id, interruptible, busy: false })
  }

  async function bidFor(chance: SeededRandom, renter: Renter, [instance]: OwnedInstance[]): Promise<void> {
    if (!instance) return
    marks += 1
    // No two bids are the same.
    const nanos = BigInt(chance.between(200, 4_000)) * 1_000_000n + BigInt(marks)
    const input = { instanceId: String(instance.id), bidPerHour: usd(nanos) }
    const { answer, again } = await ask(chance, renter, bid, input)
    const done = expected(answer, 'InstanceSuccess', ['BID_TOO_LOW', 'INVALID_STATE'])
    const about = { accountId: renter.accountId, instanceId: instance.id }
    record({ ...about, type: 'INSTANCE_BID_CHANGED', mark: String(nanos) }, { done, again })
  }

  async function setTargetState(
    chance: SeededRandom,
    renter: Renter,
    instances: OwnedInstance[],
    targetState: string,
  ): Promise<void> {
    const label = nextMark()
    const ids = instances.map(({ id }) => String(id))
    const { answer, again } = await ask(chance, renter, update, { ids, targetState, label })
    expected(answer, 'BulkInstancesPayload', [])
    for (const { id, outcome, error } of answer.items as Item[]) {
      if (error && error.code !== 'INVALID_STATE') throw new Error(`${id} was refused: ${error.code}`)
      const about = { accountId: renter.accountId, instanceId: toId(id) }
      record({ ...about, type: 'INSTANCE_LABEL_CHANGED', mark: label }, { done: outcome !== 'FAILED', again })
    }
  }

  async function destroyOwned(chance: SeededRandom, renter: Renter, instances: OwnedInstance[]): Promise<void> {
    const { accountId } = renter
    const { answer } = await ask(chance, renter, destroy, { ids: instances.map(({ id }) => String(id)) })
    expected(answer, 'BulkInstancesPayload', [])
    for (const { id, outcome } of answer.items as Item[]) {
      if (outcome === 'FAILED') throw new Error(`${id} could not be destroyed.`)
      const about = { accountId, instanceId: toId(id) }
      record({ ...about, type: 'INSTANCE_DESTROYED', mark: '' }, { done: true, again: false })
      owned.get(accountId)?.delete(about.instanceId)
    }
  }

  /** One command; to instances that get no other meanwhile, so that it is known what becomes of them. */
  async function act(chance: SeededRandom, renter: Renter): Promise<void> {
    const mine = [...(owned.get(renter.accountId)?.values() ?? [])]
    const kind = chance.between(1, 100)
    if (kind <= 35 && mine.length < maxOwned) return await rentOffer(chance, renter)
    const idle = mine.filter(({ busy }) => !busy)
    const instances =
      kind <= 55
        ? choose(
            chance,
            idle.filter(({ interruptible }) => interruptible),
            1,
          )
        : choose(chance, idle, 2)
    if (instances.length === 0) return
    for (const instance of instances) instance.busy = true
    await command(kind, chance, renter, instances)
    for (const instance of instances) instance.busy = false
  }

  async function command(
    kind: number,
    chance: SeededRandom,
    renter: Renter,
    instances: OwnedInstance[],
  ): Promise<void> {
    if (kind <= 55) return await bidFor(chance, renter, instances)
    if (kind <= 85) return await setTargetState(chance, renter, instances, kind <= 70 ? 'STOPPED' : 'RUNNING')
    await destroyOwned(chance, renter, instances)
  }

  return {
    deeds: records,
    figures: counts,
    /** Does one thing after the other. */
    async run(chance: SeededRandom, renter: Renter, isOver: () => boolean): Promise<void> {
      while (!isOver()) {
        await act(chance, renter)
        await sleep(chance.between(10, 120))
      }
    },
    /** Does something that every reader of the account is told last. */
    async register(chance: SeededRandom, renter: Renter, publicKey: string): Promise<void> {
      await ask(chance, renter, register, { publicKey, idempotencyKey: 'the last' })
    },
  }
}

/** So many at most, each once. */
function choose(chance: SeededRandom, owned: OwnedInstance[], most: number): OwnedInstance[] {
  const chosen = Array.from({ length: most }, () => chance.pick(owned))
  return [...new Set(chosen)].filter(instance => instance !== undefined)
}

async function post(url: string, apiKey: string, query: string, input: object): Promise<Answer> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables: { input } }),
    signal: AbortSignal.timeout(20_000),
  })
  return (await response.json()) as Answer
}

/** Whether it was done, or refused for one of these reasons. Any other answer is a fault. */
function expected(answer: { __typename: string; code?: string }, success: string, refusals: string[]): boolean {
  if (answer.__typename === success) return true
  if (refusals.includes(answer.code ?? '')) return false
  throw new Error(`That is no answer: ${JSON.stringify(answer)}`)
}

function toId(id: string): bigint {
  return BigInt(id.replace(/^[a-z]+_/, ''))
}

function usd(nanos: bigint): string {
  return `${nanos / 1_000_000_000n}.${String(nanos % 1_000_000_000n).padStart(9, '0')}`
}
