// The same rent request from the same actor leaves the same state behind, or is refused alike, over REST and GraphQL.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { limitsOf } from '../../support/billing/limits.ts'
import { bareIds, type Faces, facesOf, graphqlCodes, messagesOf } from '../../support/faces/faces.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'

let app: TestApp
let rentals: Rentals
let faces: Faces
let key: string

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  faces = facesOf(app)
  key = await app.newKey(null, someCredit)
})

afterAll(() => app.close())

const image = { source: { image: 'ubuntu' } }
type RentCase = [name: string, body: object, input: object]

describe('a rent request over REST and GraphQL', () => {
  const accepted: RentCase[] = [
    ['an image alone', { image: 'ubuntu' }, { spec: image }],
    ['a label', { image: 'ubuntu', label: 'mine' }, { spec: { ...image, label: 'mine' } }],
    ['a disk', { image: 'ubuntu', disk: 20.125 }, { spec: { ...image, diskGb: 20.125 } }],
    [
      'the target state stopped',
      { image: 'ubuntu', target_state: 'stopped' },
      { spec: { ...image, targetState: 'STOPPED' } },
    ],
    [
      'the target state running',
      { image: 'ubuntu', target_state: 'running' },
      { spec: { ...image, targetState: 'RUNNING' } },
    ],
    [
      'the runtype ssh_direct',
      { image: 'ubuntu', runtype: 'ssh_direct' },
      { spec: { ...image, mode: { ssh: { direct: true } } } },
    ],
    ['the runtype ssh', { image: 'ubuntu', runtype: 'ssh' }, { spec: { ...image, mode: { ssh: {} } } }],
    [
      'JupyterLab and a directory',
      { image: 'ubuntu', runtype: 'jupyter_direct', use_jupyter_lab: true, jupyter_dir: '/data' },
      { spec: { ...image, mode: { jupyter: { direct: true, lab: true, directory: '/data' } } } },
    ],
    ['the runtype jupyter', { image: 'ubuntu', runtype: 'jupyter' }, { spec: { ...image, mode: { jupyter: {} } } }],
    [
      'arguments',
      { image: 'ubuntu', runtype: 'args', args_str: `-c 'one two' "three"` },
      { spec: { ...image, mode: { args: { args: ['-c', 'one two', 'three'] } } } },
    ],
    [
      'the runtype args without arguments',
      { image: 'ubuntu', runtype: 'args' },
      { spec: { ...image, mode: { args: {} } } },
    ],
    [
      'variables and ports',
      { image: 'ubuntu', env: { A: '1', B: '', '-p 80:8080': '1', '-p 53:53/udp': '1', '-h': 'box' } },
      {
        spec: {
          ...image,
          env: [
            { name: 'A', value: '1' },
            { name: 'B', value: '' },
          ],
          ports: [
            { hostPort: 80, containerPort: 8080 },
            { containerPort: 53, protocol: 'UDP' },
          ],
          hostname: 'box',
        },
      },
    ],
    [
      'another host port for a port of the mode',
      { image: 'ubuntu', runtype: 'ssh_direct', env: { '-p 20050:22': '1' } },
      { spec: { ...image, mode: { ssh: { direct: true } }, ports: [{ hostPort: 20_050, containerPort: 22 }] } },
    ],
    [
      'locale flags, one of them overridden by a variable, which are variables over GraphQL',
      { image: 'ubuntu', python_utf8: true, lang_utf8: true, env: { LANG: 'sv_SE' } },
      {
        spec: {
          ...image,
          env: [
            { name: 'LANG', value: 'sv_SE' },
            { name: 'PYTHONUTF8', value: '1' },
            { name: 'LC_ALL', value: 'C.UTF-8' },
          ],
        },
      },
    ],
    [
      'registry credentials and an onstart script',
      { image: 'ubuntu', image_login: '-u me -p secret ghcr.io', onstart: 'a\nb' },
      { spec: { ...image, registry: { host: 'ghcr.io', username: 'me', password: 'secret' }, onStart: 'a\nb' } },
    ],
    ['a bid', { image: 'ubuntu', price: 0.25 }, { spec: image, terms: { interruptible: { bidPerHour: '0.25' } } }],
    [
      'empty strings',
      { image: 'ubuntu', label: '', onstart: '', jupyter_dir: '' },
      { spec: { ...image, label: null, onStart: '', hostname: '' } },
    ],
  ]

  it.each(accepted)('leaves the same state behind with %s', async (_name, body, input) => {
    const rest = (await rentals.tryRent(key, body)).body.new_contract
    const graphql = await faces.mutate(key, 'rentInstance', { offerId: String(await rentals.newOffer()), ...input })
    expect(await faces.readInstance(rest)).toEqual(await faces.readInstance(graphql.instance.id))
    await rentals.converge()
    const [one, other] = [await faces.readInstance(rest), await faces.readInstance(graphql.instance.id)]
    expect(one).toEqual(other)
  })

  const refusals: RentCase[] = [
    ['no image', {}, { spec: { source: { image: '' } } }],
    ['an invalid image name', { image: '--privileged' }, { spec: { source: { image: '--privileged' } } }],
    ['a small disk', { image: 'ubuntu', disk: 7 }, { spec: { ...image, diskGb: 7 } }],
    ['a disk of 0 GB', { image: 'ubuntu', disk: 0 }, { spec: { ...image, diskGb: 0 } }],
    ['a disk larger than the free space', { image: 'ubuntu', disk: 901 }, { spec: { ...image, diskGb: 901 } }],
    [
      'a label that is too long',
      { image: 'ubuntu', label: 'x'.repeat(257) },
      { spec: { ...image, label: 'x'.repeat(257) } },
    ],
    [
      'a script that is too long',
      { image: 'ubuntu', onstart: 'x'.repeat(4049) },
      { spec: { ...image, onStart: 'x'.repeat(4049) } },
    ],
    ['a NUL character', { image: 'ubuntu', label: 'a\0' }, { spec: { ...image, label: 'a\0' } }],
    ['half a surrogate pair', { image: 'ubuntu', onstart: '\ud800' }, { spec: { ...image, onStart: '\ud800' } }],
    [
      'an invalid variable name',
      { image: 'ubuntu', env: { '1A': 'x' } },
      { spec: { ...image, env: [{ name: '1A', value: 'x' }] } },
    ],
    [
      'arguments that are too long',
      { image: 'ubuntu', runtype: 'args', args_str: 'x'.repeat(32_769) },
      { spec: { ...image, mode: { args: { args: ['x'.repeat(32_769)] } } } },
    ],
    [
      'several problems',
      { image: '', disk: 1, onstart: 'x'.repeat(4049), label: 'x'.repeat(257) },
      { spec: { source: { image: '' }, diskGb: 1, onStart: 'x'.repeat(4049), label: 'x'.repeat(257) } },
    ],
    [
      'an incomplete registry login',
      { image: 'ubuntu', image_login: '-u me ghcr.io' },
      { spec: { ...image, registry: { host: 'ghcr.io', username: 'me' } } },
    ],
    ['a virtual machine without an SSH key', { image: 'ubuntu', vm: true }, { spec: { ...image, kind: 'VM' } }],
    [
      'a bid below the minimum of the host',
      { image: 'ubuntu', price: 0.1 },
      { spec: image, terms: { interruptible: { bidPerHour: '0.1' } } },
    ],
    [
      'a bid out of range',
      { image: 'ubuntu', price: 128.001 },
      { spec: image, terms: { interruptible: { bidPerHour: '128.001' } } },
    ],
  ]

  it.each(refusals)('is refused alike with %s', async (_name, body, input) => {
    const rest = await rentals.tryRent(key, body)
    const graphql = await faces.mutate(key, 'rentInstance', { offerId: String(await rentals.newOffer()), ...input })
    expect(graphql.code).toBe(graphqlCodes[rest.body.error])
    const issues = graphql.issues?.map((issue: { message: string }) => issue.message).toSorted()
    expect(issues ?? bareIds(graphql.message)).toEqual(issues ? messagesOf(rest.body.msg) : rest.body.msg)
  })

  it.each(['an unknown offer', 'an offer that is already rented', 'no credit', 'a limit', 'no permission', 'no key'])(
    'is refused alike with %s',
    async name => {
      const offerId = name === 'an unknown offer' ? 987_654_321 : await rentals.newOffer()
      const limited = await app.newKey(null, someCredit)
      await limitsOf(app).set(limited, { window: 'DAY', amount: '0' })
      const by = {
        'no credit': await app.newKey(),
        'a limit': limited,
        'no permission': await app.newScopedKey(key, { api: { instance_read: {} } }),
        'no key': undefined,
      }[name]
      const actor = name === 'no key' ? undefined : (by ?? key)
      if (name === 'an offer that is already rented')
        await app.rest(key, 'PUT', `/asks/${offerId}/`, { image: 'ubuntu' })
      const rest = await app.rest(actor, 'PUT', `/asks/${offerId}/`, { image: 'ubuntu' })
      const graphql = await faces.mutate(actor, 'rentInstance', { offerId: String(offerId), spec: image })
      expect([graphql.code, bareIds(graphql.message)]).toEqual([graphqlCodes[rest.body.error], rest.body.msg])
    },
  )
})
