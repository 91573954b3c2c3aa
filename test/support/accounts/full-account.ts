import type { TestApp } from '../app.ts'
import { type IsolationCase, makersOf } from '../faces/isolation.ts'
import type { Rentals } from '../instances/rentals.ts'
import { makeHostOfMachine } from '../rest/examples.ts'
import { aPublicKey } from './ssh-keys.ts'

/** An account with many objects, so that generated requests get past validation. */
export type FullAccount = {
  keys: { whole: string; scoped: string }
  idsByKind: Record<IsolationCase['of'], number[]>
  /** All ids of `idsByKind`. */
  ids: number[]
  /** Texts that some request accepts. */
  texts: string[]
}

/** Creates an account with two objects of each kind that has an id. */
export async function createFullAccount(app: TestApp, rentals: Rentals): Promise<FullAccount> {
  // Enough for all that the generated requests rent before the next account.
  const whole = await app.newKey(null, { creditNanos: 10_000_000_000_000n })
  const { runningInstance, ...makers } = makersOf(app, rentals)
  const make = { ...makers, runningInstance: makers.instance }
  const idsByKind = {} as FullAccount['idsByKind']
  for (const [kind, one] of Object.entries(make)) {
    idsByKind[kind as IsolationCase['of']] = [await one(whole), await one(whole)]
  }
  await makeHostOfMachine({ app, key: whole }, idsByKind.machine[1])
  await rentals.converge()
  await app.rest(whole, 'POST', '/secrets/', { key: 'A', value: 'x' })
  const instance = idsByKind.runningInstance[0]
  const { body } = await app.rest(whole, 'PUT', `/instances/request_logs/${instance}/`, {})
  const { body: list } = await app.rest(whole, 'GET', '/api/v0/template/')
  const saved = list.templates.map((template: { hash_id: string }) => template.hash_id)
  return {
    keys: { whole, scoped: await app.newScopedKey(whole, { api: { misc: {}, instance_read: {} } }) },
    idsByKind,
    ids: [...new Set(Object.values(idsByKind).flat())],
    texts: [
      ...[
        'ubuntu',
        'ghcr.io/me/app:1',
        'A',
        'label',
        '/data',
        'echo one',
        'num_gpus',
        'dph_total',
        'asc',
        'RTX 4090',
        '8',
      ],
      ...[
        '-p 80:8080',
        '-e A=1 -v V.1:/data',
        '-u me -p secret ghcr.io',
        '{"num_gpus":{"gte":"1"}}',
        '[["id","desc"]]',
      ],
      ...['["id","label"]', 'local_volume', 'V.1', 'instance_read', 'mine'],
      ...[
        aPublicKey('mine'),
        aPublicKey('other'),
        new URL(body.result_url).searchParams.get('token') as string,
        ...saved,
      ],
    ],
  }
}
