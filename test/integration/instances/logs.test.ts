// Logs and commands, on machines whose containers print and execute what a test sets.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Actor } from '../../../src/domain/actor.ts'
import {
  type CommandOutput,
  type LogLine,
  maxLogLines,
  maxReadLength,
} from '../../../src/domain/instances/containers.ts'
import { maxCommandLength, maxOutputLength } from '../../../src/domain/instances/logs.ts'
import { ContainerNotRunning, type Provider } from '../../../src/providers/provider.ts'
import { manualClock } from '../../support/clock.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { listMachines } from '../../support/factories.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'

const clock = manualClock()
let testDatabase: TestDatabase
/** Two gateways on one database, with the same machines. */
let gateway: Gateway
let other: Gateway
let renter: Actor
let rival: Actor

/** Printed lines by instance. The cursor is the index of a line. */
const printed = new Map<bigint, string[]>()
const unreachable = new Set<bigint>()
let commands: [bigint, string][] = []
let execution: CommandOutput | Error = { exitCode: 0, output: '' }

function withFakeConsole(provider: Provider): Provider {
  return {
    ...provider,
    async logs({ instanceId: id }, { after, tail = maxLogLines }) {
      if (unreachable.has(id)) throw new Error('The machine is silent.')
      const lines = (printed.get(id) ?? []).map((text, number): LogLine => {
        return { printedAt: clock.now(), text, source: 'stdout', cursor: String(number) }
      })
      return after === undefined ? lines.slice(-tail) : lines.slice(Number(after) + 1, Number(after) + 1 + maxLogLines)
    },
    async exec({ instanceId: id }, command) {
      commands.push([id, command])
      if (execution instanceof Error) throw execution
      return execution
    },
  }
}

beforeAll(async () => {
  testDatabase = await createDatabase()
  const options = { url: testDatabase.url, now: clock.now, wrapProvider: withFakeConsole }
  gateway = openGateway(options)
  other = openGateway(options)
  renter = await gateway.newActor()
  rival = await gateway.newActor()
  await listMachines(
    gateway.operations,
    Array.from({ length: 40 }, () => ({})),
  )
})

afterAll(async () => {
  await gateway.close()
  await other.close()
  await testDatabase.drop()
})

async function rent(...lines: string[]): Promise<bigint> {
  const [offer] = await gateway.sql('SELECT id FROM offers WHERE rentable AND withdrawn_at IS NULL ORDER BY id LIMIT 1')
  const { id } = await gateway.rent(renter, BigInt(offer?.['id'] as string))
  printed.set(id, lines)
  return id
}

async function rentRunning(...lines: string[]): Promise<bigint> {
  const id = await rent(...lines)
  for (let turn = 1; turn <= 4; turn += 1) {
    await gateway.idle()
    clock.advance(30_000)
  }
  return id
}

const print = (id: bigint, ...lines: string[]) => printed.get(id)?.push(...lines)
const numbered = (count: number, from = 0) => Array.from({ length: count }, (_, index) => `line ${from + index}`)
const textsOf = (lines: LogLine[]) => lines.map(({ text }) => text)

async function take(stream: AsyncIterator<LogLine>, count = Number.POSITIVE_INFINITY): Promise<LogLine[]> {
  const lines: LogLine[] = []
  while (lines.length < count) {
    const { value, done } = await stream.next()
    if (done) break
    lines.push(value)
  }
  return lines
}

describe('a followed log', () => {
  it('begins with its last lines, and continues with new lines', async () => {
    const id = await rentRunning(...numbered(5))
    const stream = await gateway.services.instances.watchLogs(renter, id, { tail: 2 })
    expect(textsOf(await take(stream, 2))).toEqual(['line 3', 'line 4'])
    print(id, 'line 5')
    expect(textsOf(await take(stream, 1))).toEqual(['line 5'])
    await stream.return?.()
  })

  it.each([0, 1])('with a tail of 0 begins with the next line, after %d printed lines', async count => {
    const id = await rentRunning(...numbered(count))
    const stream = await gateway.services.instances.watchLogs(renter, id, { tail: 0 })
    print(id, 'then')
    expect(textsOf(await take(stream, 1))).toEqual(['then'])
    await stream.return?.()
  })

  it('continues after a cursor on another gateway, each line once, with more lines than one read returns', async () => {
    const id = await rentRunning('first')
    const stream = await gateway.services.instances.watchLogs(renter, id, { tail: 10 })
    const [{ cursor: after }] = (await take(stream, 1)) as [LogLine]
    await stream.return?.()
    const more = numbered(maxLogLines + 5, 1)
    print(id, ...more)
    const resumed = await other.services.instances.watchLogs(renter, id, { tail: 3, after })
    expect(textsOf(await take(resumed, more.length))).toEqual(more)
    print(id, 'last')
    expect(textsOf(await take(resumed, 1))).toEqual(['last'])
    await resumed.return?.()
  })

  it('sends new lines at an event of the instance, even while it is not polled', async () => {
    const id = await rent()
    const stream = await gateway.services.instances.watchLogs(renter, id, { tail: 10 })
    const first = take(stream, 1)
    print(id, 'Pulling.')
    await gateway.idle()
    expect(textsOf(await first)).toEqual(['Pulling.'])
    await stream.return?.()
  })

  it('ends with the last lines when the instance is destroyed', async () => {
    const id = await rentRunning('first')
    const stream = await gateway.services.instances.watchLogs(renter, id, { tail: 10 })
    await take(stream, 1)
    print(id, 'last')
    await gateway.services.instances.destroy(renter, { ids: [id] })
    expect(textsOf(await take(stream))).toEqual(['last'])
    const late = await gateway.services.instances.watchLogs(renter, id, { tail: 1 })
    expect(textsOf(await take(late))).toEqual(['last'])
  })

  it('ends when its key is revoked', async () => {
    const id = await rentRunning()
    const actor = await gateway.newActor()
    const mine = { ...actor, accountId: renter.accountId }
    const stream = await gateway.services.instances.watchLogs(mine, id, { tail: 1 })
    const next = stream.next()
    await gateway.sql('UPDATE api_keys SET revoked_at = now() WHERE id = $1', [actor.apiKeyId])
    await expect(next).rejects.toMatchObject({ code: 'STREAM_ENDED' })
  })

  it('ends when its reader closes it during a wait for new lines', async () => {
    const stream = await gateway.services.instances.watchLogs(renter, await rent(), { tail: 1 })
    const waiting = stream.next()
    await stream.return?.()
    expect(await waiting).toEqual({ done: true, value: undefined })
  })

  it('fails when the machine does not answer, and resumes after its last line', async () => {
    const id = await rentRunning('first')
    const stream = await gateway.services.instances.watchLogs(renter, id, { tail: 1 })
    const [{ cursor: after }] = (await take(stream, 1)) as [LogLine]
    unreachable.add(id)
    await expect(stream.next()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    const opening = gateway.services.instances.watchLogs(renter, id, { tail: 1, after })
    await expect(opening).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    expect(gateway.lines).toContainEqual(expect.objectContaining({ instanceId: String(id) }))
    unreachable.delete(id)
    print(id, 'second')
    const resumed = await gateway.services.instances.watchLogs(renter, id, { tail: 1, after })
    expect(textsOf(await take(resumed, 1))).toEqual(['second'])
    await resumed.return?.()
  })

  it('is refused with a cursor of another instance, or with an invalid cursor', async () => {
    const [id, second] = [await rentRunning('first'), await rent('second')]
    const [line] = await gateway.services.instances.logs(renter, { id, machineId: 1, accountId: renter.accountId }, 1)
    for (const after of [line?.cursor as string, 'x', '']) {
      const opening = gateway.services.instances.watchLogs(renter, second, { tail: 1, after })
      await expect(opening).rejects.toMatchObject({ code: 'INVALID_CURSOR' })
    }
  })

  it.each([-1, maxLogLines + 1])('is refused with a tail of %d', async tail => {
    const opening = gateway.services.instances.watchLogs(renter, await rent(), { tail })
    await expect(opening).rejects.toMatchObject({ code: 'INVALID_INPUT', details: { issues: [{ path: 'tail' }] } })
  })
})

describe('a command', () => {
  it('runs unchanged, and returns its output', async () => {
    const id = await rentRunning()
    commands = []
    execution = { exitCode: 3, output: 'x'.repeat(maxOutputLength) }
    const line = `echo "$HOME"; $(id) 'é' && rm -rf /tmp`.padEnd(maxCommandLength, '#')
    expect(await gateway.services.instances.execute(renter, id, line)).toEqual({ ...execution, truncated: false })
    // Providers drop what is longer than this.
    execution = { exitCode: 0, output: 'x'.repeat(maxReadLength) }
    const { output, truncated } = await gateway.services.instances.execute(renter, id, 'yes')
    expect([output.length, truncated]).toEqual([maxOutputLength, true])
    expect(commands).toEqual([
      [id, line],
      [id, 'yes'],
    ])
  })

  it.each(['', ' \n', 'x'.repeat(maxCommandLength + 1), 'a\0b'])('is refused if it is %j', async command => {
    commands = []
    const asking = gateway.services.instances.execute(renter, await rent(), command)
    await expect(asking).rejects.toMatchObject({ code: 'INVALID_INPUT', details: { issues: [{ path: 'command' }] } })
    expect(commands).toEqual([])
  })

  it('is refused for an instance that does not run, without a call to the machine', async () => {
    const [destroyed, created] = [await rentRunning(), await rent()]
    await gateway.services.instances.destroy(renter, { ids: [destroyed] })
    commands = []
    for (const [id, reason] of [
      [created, 'Commands run only in a running instance.'],
      [destroyed, `Instance ${destroyed} is destroyed. Rent another one.`],
    ] as const) {
      const asking = gateway.services.instances.execute(renter, id, 'ls')
      const refusal = { code: 'INVALID_STATE', message: expect.stringContaining(reason), details: { instanceId: id } }
      await expect(asking).rejects.toMatchObject(refusal)
    }
    expect(commands).toEqual([])
  })

  it('is refused when the container has just ended, and fails as UNAVAILABLE when the machine does not answer', async () => {
    const id = await rentRunning()
    execution = new ContainerNotRunning('It ended.')
    const ended = gateway.services.instances.execute(renter, id, 'ls')
    await expect(ended).rejects.toMatchObject({ code: 'INVALID_STATE' })
    execution = new Error('The machine is silent.')
    await expect(gateway.services.instances.execute(renter, id, 'ls')).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  })
})

it('does not find an instance of another account, and does not call its machine', async () => {
  const id = await rentRunning('mine')
  const { instances } = gateway.services
  commands = []
  unreachable.add(id)
  for (const ask of [
    () => instances.execute(rival, id, 'ls'),
    () => instances.watchLogs(rival, id, { tail: 1 }),
    () => instances.logs(rival, { id, machineId: 1, accountId: renter.accountId }, 1),
  ])
    await expect(ask()).rejects.toMatchObject({ code: 'NOT_FOUND' })
  expect(commands).toEqual([])
})
