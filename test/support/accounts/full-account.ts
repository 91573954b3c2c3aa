import type { TestApp } from '../app.ts'
import { type Case, makersOf } from '../faces/isolation.ts'
import type { Rentals } from '../instances/rentals.ts'
import { someCredit } from '../instances/rentals.ts'
import { giveMachine } from '../rest/examples.ts'
import { aPublicKey } from './ssh-keys.ts'

/** What an account of its own has, for requests that come far. */
export type Stock = {
  keys: { whole: string; scoped: string }
  things: Record<Case['of'], number[]>
  /** All of those. */
  ids: number[]
  /** Texts that are something somewhere. */
  texts: string[]
}

/** Two of everything that has an id. */
export async function stockOf(app: TestApp, rentals: Rentals): Promise<Stock> {
  const whole = await app.newKey(null, someCredit)
  const { runningInstance, ...makers } = makersOf(app, rentals)
  const make = { ...makers, runningInstance: makers.instance }
  const things = {} as Stock['things']
  for (const [kind, one] of Object.entries(make)) {
    things[kind as Case['of']] = [await one(whole), await one(whole)]
  }
  await giveMachine({ app, key: whole }, things.machine[1])
  await rentals.settle()
  await app.rest(whole, 'POST', '/secrets/', { key: 'A', value: 'x' })
  const instance = things.runningInstance[0]
  const { body } = await app.rest(whole, 'PUT', `/instances/request_logs/${instance}/`, {})
  const { body: list } = await app.rest(whole, 'GET', '/api/v0/template/')
  const saved = list.templates.map((template: { hash_id: string }) => template.hash_id)
  return {
    keys: { whole, scoped: await app.scopedKey(whole, { api: { misc: {}, instance_read: {} } }) },
    things,
    ids: [...new Set(Object.values(things).flat())],
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
