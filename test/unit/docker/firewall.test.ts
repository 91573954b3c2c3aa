import { expect, it } from 'vitest'
import { findFirewallGaps } from '../../../src/providers/docker/inspection/firewall.ts'
import { startFakeEngine } from '../../support/engine/fake.ts'

const readToolbox = async () => Buffer.alloc(1_024)
const reaches = (what: string) =>
  `Containers reach ${what}. Set the rules of iptables that docs/hosts.md has, before you let others rent.`

async function engineThatEndsWith(StatusCode: number) {
  return await startFakeEngine(({ path }) => (path.endsWith('/wait') ? { json: { StatusCode } } : undefined))
}

it.each([
  [0, []],
  [1, [reaches('their host')]],
  [2, [reaches('the metadata service of its cloud')]],
  [3, [reaches('their host'), reaches('the metadata service of its cloud')]],
  [100, ['Whether containers reach their host was not checked: The container of the check ended with 100.']],
])('warns of what containers reach, by the end of one: %i', async (code, warnings) => {
  const { url } = await engineThatEndsWith(code)
  expect(await findFirewallGaps({ url, tls: null }, readToolbox)).toEqual(warnings)
})

it('leaves nothing, also if the container does not start', async () => {
  const { url, requests } = await startFakeEngine(({ path }) =>
    path.endsWith('/start') ? { status: 500, json: { message: 'no room' } } : undefined,
  )
  const [warning] = await findFirewallGaps({ url, tls: null }, readToolbox)
  expect(warning).toBe('Whether containers reach their host was not checked: no room')
  const name = requests.find(({ path }) => path === '/containers/create')?.query.get('name')
  const removed = requests.filter(({ method }) => method === 'DELETE').map(({ path }) => path)
  expect(removed).toEqual([`/containers/${name}`, `/networks/${name}`, `/images/${name}:1`])
})

it('says so if there is no toolbox to check with', async () => {
  const { url } = await engineThatEndsWith(0)
  const missing = () => Promise.reject(new Error('The toolbox is missing.'))
  const warnings = await findFirewallGaps({ url, tls: null }, missing)
  expect(warnings).toEqual(['Whether containers reach their host was not checked: The toolbox is missing.'])
})
