import { once } from 'node:events'
import { connect } from 'node:net'
import { errorCodesOf } from '../../database/failure-codes.ts'
import type { Address, DoctorSettings } from '../settings.ts'
import type { AddressFacts } from '../verdicts/ports.ts'

const connectMs = 5_000

/** The addresses that the settings give to renters and hosts. */
export async function gatherAddresses(settings: DoctorSettings): Promise<AddressFacts[]> {
  const { ssh, sshProxy, notebooks, gatewayUrl } = settings
  const addresses: [string, Address][] = []
  if (ssh?.address) addresses.push(['SSH_PUBLIC_ADDRESS', ssh.address])
  if (sshProxy) addresses.push(['SSH_PROXY', sshProxy])
  // Each notebook has a name of its own below the host.
  if (notebooks?.proxy)
    addresses.push(['NOTEBOOK_PUBLIC_URL', addressOf(`${notebooks.proxy.protocol}://ins-1.${notebooks.proxy.host}`)])
  if (gatewayUrl !== null) addresses.push(['GATEWAY_URL', addressOf(gatewayUrl)])
  return await Promise.all(
    addresses.map(async ([setting, { host, port }]) => {
      return { setting, address: `${host}:${port}`, problem: await findProblem({ host, port }) }
    }),
  )
}

function addressOf(text: string): Address {
  const { protocol, hostname, port } = new URL(text)
  const usual = protocol === 'https:' ? 443 : 80
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port) || usual }
}

/** Why no connection comes about; undefined if one does. */
async function findProblem({ host, port }: Address): Promise<string | undefined> {
  const socket = connect({ host, port, signal: AbortSignal.timeout(connectMs) })
  try {
    await once(socket, 'connect')
    return undefined
  } catch (error) {
    return errorCodesOf(error).find(code => code !== 'ABORT_ERR') ?? `no answer within ${connectMs / 1_000} seconds`
  } finally {
    socket.destroy()
  }
}
