// Finds the key that is good, after joins whose answers were lost or that went to a wrong address.

import { messageIn } from './connection.ts'
import { type KeptHost, keepHost, readHost } from './key-file.ts'

const timeoutMs = 10_000

/** The newest that its gateway knows, or else the one before these joins. A gateway that does not answer is asked again next time. */
export async function chooseHost(folder: string): Promise<KeptHost> {
  const { asked = [], ...host } = await readHost(folder)
  const unanswered: KeptHost[] = []
  for (const joined of asked.toReversed()) {
    const isKnown = await isKnownTo(joined)
    if (isKnown) {
      await keepHost(folder, joined)
      return joined
    }
    if (isKnown === undefined) unanswered.unshift(joined)
  }
  if (unanswered.length < asked.length)
    await keepHost(folder, { ...host, ...(unanswered.length > 0 && { asked: unanswered }) })
  return host
}

/** Whether the gateway knows the key. Undefined without an answer of a gateway, such as from a wrong address. */
async function isKnownTo({ gateway, key }: KeptHost): Promise<boolean | undefined> {
  try {
    const headers = { authorization: `Bearer ${key}` }
    const signal = AbortSignal.timeout(timeoutMs)
    const response = await fetch(new URL('/host/toolbox', gateway), { headers, signal })
    if (response.headers.get('content-type') === 'application/x-tar') {
      await response.body?.cancel()
      return true
    }
    const isOfGateway = messageIn(await response.text()) !== undefined
    // A gateway without a toolbox says so only to its hosts.
    if (isOfGateway && response.status === 404) return true
    return isOfGateway && response.status === 401 ? false : undefined
  } catch {
    return undefined
  }
}
