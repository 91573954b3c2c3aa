// Renters that send random commands, and record the answers.

import { setTimeout as sleep } from 'node:timers/promises'
import type { SeededRandom } from '../seeded-random.ts'

/** A command that an account sent, and its outcome. */
export type CommandRecord = {
  accountId: number
  instanceId: bigint | undefined
  /** The event that the command causes, and a mark that the event contains. */
  kind: 'INSTANCE_CREATED' | 'INSTANCE_LABEL_CHANGED' | 'INSTANCE_BID_CHANGED' | 'INSTANCE_DESTROYED'
  mark: string
  /** `perhaps`: refused, but an earlier attempt whose answer was lost may have succeeded. */
  done: 'yes' | 'no' | 'perhaps'
}

export type Renter = { accountId: number; apiKey: string }
export type Counts = { commands: number; lost: number; ignored: number; unavailable: number; rentals: number }

type Item = { instanceId: string; outcome: string; error: { code: string } | null }
// biome-ignore lint/suspicious/noExplicitAny: depends on the query
export type Answer = { data?: any; errors?: { message: string; extensions: { code: string } }[] }
type OwnedInstance = { id: bigint; interruptible: boolean; busy: boolean }
type Offer = { id: string; num_gpus: number; min_bid_nanos: string }

export type RentersOptions = {
  renters: Renter[]
  /** Picks the URL of a gateway. */
  pick: (random: SeededRandom) => Promise<string>
  sql: (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>
  images?: string[]
  /** Sends one request. Throws or returns nothing if the answer is lost. */
  send?: SendMutation
}

export type SendMutation = (url: string, apiKey: string, query: string, input: object) => Promise<Answer | undefined>

/** Maximum number of instances of an account at once. It keeps GPUs scarce, but some still come free. */
const maxOwned = 16
/** Most images behave. While a container stops slowly, other instances wait for its GPUs. */
const simulatedImages = [
  ...['ubuntu', 'pytorch', 'debian', 'simulated/slow-stop:30', 'simulated/slow-stop:30'],
  ...['simulated/crash:20', 'simulated/not-found'],
]
const busyCodes = ['UNAVAILABLE', 'IDEMPOTENCY_IN_PROGRESS']
const rent = `mutation ($input: RentInstanceInput!) { answer: rentInstance(input: $input) {
  __typename ... on RentInstanceSuccess { instance { id } } ... on Error { code message } } }`
const bid = `mutation ($input: UpdateInstanceBidInput!) { answer: updateInstanceBid(input: $input) {
  __typename ... on Error { code message } } }`
const bulk = (verb: 'Start' | 'Stop' | 'Update' | 'Destroy') =>
  `mutation ($input: ${verb}InstancesInput!) { answer: ${verb.toLowerCase()}Instances(input: $input) {
    __typename ... on Error { code message } ... on ${verb}InstancesSuccess { items { instanceId outcome error { code } } } } }`
const register = `mutation ($input: CreateSshKeyInput!) { answer: createSshKey(input: $input) { __typename } }`

export function createRenters({ renters, pick, sql, images = simulatedImages, send = post }: RentersOptions) {
  const records: CommandRecord[] = []
  const counts: Counts = { commands: 0, lost: 0, ignored: 0, unavailable: 0, rentals: 0 }
  const owned = new Map(renters.map(({ accountId }) => [accountId, new Map<bigint, OwnedInstance>()]))
  let marks = 0

  /** Sends a command until an answer arrives. `again`: an earlier answer may have been lost. */
  async function ask(random: SeededRandom, { apiKey }: Renter, query: string, input: object) {
    counts.commands += 1
    for (let again = false; ; again = true) {
      const reply = await send(await pick(random), apiKey, query, input).catch(() => undefined)
      const loss = lossOf(reply, !again && random.withProbability(0.1))
      if (reply && !loss) return { answer: reply.data.answer, again }
      counts[loss ?? 'lost'] += 1
      await sleep(random.between(5, 50))
    }
  }

  /** Why the command must be sent again. Some answers are dropped on purpose. */
  function lossOf(reply: Answer | undefined, isLost: boolean): 'lost' | 'ignored' | 'unavailable' | undefined {
    const [error] = reply?.errors ?? []
    const code = error?.extensions.code ?? reply?.data?.answer.code
    if (!reply) return 'lost'
    if (busyCodes.includes(code)) return 'unavailable'
    if (error) throw new Error(`${code}: ${error.message}`)
    return isLost ? 'ignored' : undefined
  }

  function record(command: Omit<CommandRecord, 'done'>, { done, again }: { done: boolean; again: boolean }): void {
    records.push({ ...command, done: done ? 'yes' : again ? 'perhaps' : 'no' })
  }

  function nextMark(): string {
    marks += 1
    return `mark ${marks}`
  }

  async function rentOffer(random: SeededRandom, renter: Renter): Promise<void> {
    const { accountId } = renter
    const offers = (await sql(
      'SELECT id, num_gpus, min_bid_nanos FROM offers WHERE rentable AND withdrawn_at IS NULL ORDER BY id',
    )) as Offer[]
    const offer = random.pick(offers)
    if (!offer) return
    const mark = nextMark()
    const interruptible = random.withProbability(0.6)
    const bidPerHour = usd(BigInt(offer.min_bid_nanos) + BigInt(random.between(-1, 40)) * 1_000_000n)
    const { answer } = await ask(random, renter, rent, {
      ...{ offerId: offer.id, idempotencyKey: mark, failIfUnavailable: random.withProbability(0.1) },
      ...(interruptible && { terms: { interruptible: { bidPerHour } } }),
      spec: {
        source: { image: random.pick(images) },
        diskGb: random.between(8, 30),
        ports: [{ containerPort: 8080 }, { containerPort: 9090 }].slice(0, random.between(0, 2)),
        targetState: random.withProbability(0.1) ? 'STOPPED' : 'RUNNING',
      },
    })
    const done = expected(answer, 'RentInstanceSuccess', ['OFFER_UNAVAILABLE', 'BID_TOO_LOW'])
    const id = done ? toId(answer.instance.id) : undefined
    // With an idempotency key, a repetition gets the first answer, so this is never "perhaps".
    record({ accountId, instanceId: id, kind: 'INSTANCE_CREATED', mark }, { done, again: false })
    if (id === undefined) return
    counts.rentals += 1
    owned.get(accountId)?.set(id, { id, interruptible, busy: false })
  }

  async function bidFor(random: SeededRandom, renter: Renter, [instance]: OwnedInstance[]): Promise<void> {
    if (!instance) return
    marks += 1
    // Each bid is unique.
    const nanos = BigInt(random.between(200, 4_000)) * 1_000_000n + BigInt(marks)
    const input = { id: String(instance.id), bidPerHour: usd(nanos) }
    const { answer, again } = await ask(random, renter, bid, input)
    const done = expected(answer, 'UpdateInstanceBidSuccess', ['BID_TOO_LOW', 'INVALID_STATE'])
    const about = { accountId: renter.accountId, instanceId: instance.id }
    record({ ...about, kind: 'INSTANCE_BID_CHANGED', mark: String(nanos) }, { done, again })
  }

  async function setTargetState(
    random: SeededRandom,
    renter: Renter,
    instances: OwnedInstance[],
    targetState: string,
  ): Promise<void> {
    const label = nextMark()
    const target = { ids: instances.map(({ id }) => String(id)) }
    const verb = targetState === 'RUNNING' ? 'Start' : 'Stop'
    const { answer: moved } = await ask(random, renter, bulk(verb), { target })
    expected(moved, `${verb}InstancesSuccess`, [])
    for (const { instanceId: id, error } of moved.items as Item[])
      if (error && error.code !== 'INVALID_STATE') throw new Error(`${id} was refused: ${error.code}`)
    const { answer, again } = await ask(random, renter, bulk('Update'), { target, label })
    expected(answer, 'UpdateInstancesSuccess', [])
    for (const { instanceId: id, outcome, error } of answer.items as Item[]) {
      if (error) throw new Error(`${id} was refused: ${error.code}`)
      const about = { accountId: renter.accountId, instanceId: toId(id) }
      record({ ...about, kind: 'INSTANCE_LABEL_CHANGED', mark: label }, { done: outcome !== 'FAILED', again })
    }
  }

  async function destroyOwned(random: SeededRandom, renter: Renter, instances: OwnedInstance[]): Promise<void> {
    const { accountId } = renter
    const target = { ids: instances.map(({ id }) => String(id)) }
    const { answer } = await ask(random, renter, bulk('Destroy'), { target })
    expected(answer, 'DestroyInstancesSuccess', [])
    for (const { instanceId: id, outcome } of answer.items as Item[]) {
      if (outcome === 'FAILED') throw new Error(`${id} could not be destroyed.`)
      const about = { accountId, instanceId: toId(id) }
      record({ ...about, kind: 'INSTANCE_DESTROYED', mark: '' }, { done: true, again: false })
      owned.get(accountId)?.delete(about.instanceId)
    }
  }

  /** Sends one command, to instances that get no other meanwhile, so that its effect is known. */
  async function act(random: SeededRandom, renter: Renter): Promise<void> {
    const mine = [...(owned.get(renter.accountId)?.values() ?? [])]
    const kind = random.between(1, 100)
    if (kind <= 35 && mine.length < maxOwned) return await rentOffer(random, renter)
    const idle = mine.filter(({ busy }) => !busy)
    const instances =
      kind <= 55
        ? choose(
            random,
            idle.filter(({ interruptible }) => interruptible),
            1,
          )
        : choose(random, idle, 2)
    if (instances.length === 0) return
    for (const instance of instances) instance.busy = true
    await command(kind, random, renter, instances)
    for (const instance of instances) instance.busy = false
  }

  async function command(
    kind: number,
    random: SeededRandom,
    renter: Renter,
    instances: OwnedInstance[],
  ): Promise<void> {
    if (kind <= 55) return await bidFor(random, renter, instances)
    if (kind <= 85) return await setTargetState(random, renter, instances, kind <= 70 ? 'STOPPED' : 'RUNNING')
    await destroyOwned(random, renter, instances)
  }

  return {
    records,
    counts,
    /** Sends one command after another. */
    async run(random: SeededRandom, renter: Renter, isOver: () => boolean): Promise<void> {
      while (!isOver()) {
        await act(random, renter)
        await sleep(random.between(10, 120))
      }
    },
    /** Causes the last event that every reader of the account gets. */
    async register(random: SeededRandom, renter: Renter, publicKey: string): Promise<void> {
      await ask(random, renter, register, { publicKey, idempotencyKey: 'the last' })
    },
  }
}

/** Up to `most` distinct instances. */
function choose(random: SeededRandom, owned: OwnedInstance[], most: number): OwnedInstance[] {
  const chosen = Array.from({ length: most }, () => random.pick(owned))
  return [...new Set(chosen)].filter(instance => instance !== undefined)
}

export async function post(url: string, apiKey: string, query: string, input: object): Promise<Answer> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables: { input } }),
    signal: AbortSignal.timeout(20_000),
  })
  return (await response.json()) as Answer
}

/** True for success, false for an expected refusal. Any other answer is a fault. */
function expected(answer: { __typename: string; code?: string }, success: string, refusals: string[]): boolean {
  if (answer.__typename === success) return true
  if (refusals.includes(answer.code ?? '')) return false
  throw new Error(`Unexpected answer: ${JSON.stringify(answer)}`)
}

function toId(id: string): bigint {
  return BigInt(id.replace(/^[a-z]+_/, ''))
}

function usd(nanos: bigint): string {
  return `${nanos / 1_000_000_000n}.${String(nanos % 1_000_000_000n).padStart(9, '0')}`
}
