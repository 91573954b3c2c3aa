// What a renter does over GraphQL with the instances of a real machine.

import { expect } from 'vitest'
import { subscribeSse } from '../streams.ts'
import type { RealMarket } from './real-market.ts'
import { type KeyPair, sshTo } from './ssh.ts'

export type RealRenter = ReturnType<typeof createRealRenter>

export function createRealRenter(market: RealMarket, key: string) {
  const ask = (query: string, variables: Record<string, unknown> = {}) => market.ask(key, query, variables)

  const read = async (id: string) =>
    (
      await ask(
        `query ($id: ID!) { instance(id: $id) { status statusReason { code message } logs { text source }
          connection { sshHost sshPort ports { containerPort hostPort } }
          currentMetrics { memoryUsedMb sentMb gpus { index } } } }`,
        { id },
      )
    ).instance

  return {
    ask,
    read,
    async rent(spec: Record<string, unknown>): Promise<string> {
      const { offers } = await ask('{ offers(first: 1, filter: {numGpus: {eq: 1}}) { nodes { id } } }')
      const { rentInstance } = await ask(
        `mutation ($input: RentInstanceInput!) { rentInstance(input: $input) {
          ... on RentInstanceSuccess { instance { id } } ... on Error { code message } } }`,
        { input: { offerId: offers.nodes[0].id, spec } },
      )
      if (!rentInstance.instance) throw new Error(JSON.stringify(rentInstance))
      return rentInstance.instance.id
    },
    register: ({ publicKey }: KeyPair) =>
      ask('mutation ($key: String!) { createSshKey(input: {publicKey: $key}) { ... on Error { message } } }', {
        key: publicKey,
      }),
    change: (id: string, verb: 'start' | 'stop' | 'destroy') =>
      ask(`mutation ($id: ID!) { change: ${verb}Instance(input: {id: $id}) { ... on Error { code message } } }`, {
        id,
      }),
    becomes: (id: string, status: string) =>
      expect.poll(async () => (await read(id)).status, { timeout: 45_000 }).toBe(status),
    /** Returns a function that waits until the subscription says so of an instance. */
    async watchStatuses() {
      const query = 'subscription { instanceChanges { ... on InstanceChange { instance { id status } } } }'
      const stream = await subscribeSse(fetch, key, query, { url: `${market.gateway().url}/graphql` })
      return async (id: string, status: string) => {
        for (let result = await stream.next(); ; result = await stream.next()) {
          if (!result) throw new Error('The subscription has ended.')
          const { instance } = result.data.instanceChanges
          if (instance?.id === id && instance.status === status) return await stream.close()
        }
      }
    },
    /** Runs a command with OpenSSH's client at the port of the machine. */
    async login(id: string, sshKey: KeyPair, command: string) {
      const { sshHost: host, sshPort: port } = (await read(id)).connection
      return await sshTo({ host, port }, sshKey, command)
    },
    /** The same through the gateway. */
    loginByGateway: (id: string, sshKey: KeyPair, command: string) =>
      sshTo({ host: '127.0.0.1', port: Number(market.env['SSH_PORT']), user: id }, sshKey, command),
  }
}
