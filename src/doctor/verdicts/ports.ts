import { type Check, fail, failAs, ok, warn } from '../check.ts'

/** Who has the port: nobody, a gateway of Berth, another program; or why it cannot be taken at all. */
export type Holder =
  | { kind: 'free' }
  | { kind: 'gateway'; status: string }
  | { kind: 'stranger' }
  | { kind: 'impossible'; problem: string }

export type PortFacts = { setting: string; host: string; port: number; holder: Holder }

export function checkPort({ setting, host, port, holder }: PortFacts): Check {
  const name = setting.toLowerCase().replace('_', ' ')
  const place = `${setting} ${port} on ${host}`
  switch (holder.kind) {
    case 'free':
      return ok(
        name,
        port === 0 ? `${setting} 0 takes any free port of ${host}.` : `${place} is free: no gateway runs there.`,
      )
    case 'stranger':
      return fail(name, `Another program has ${place}.`, `Stop that program, or set ${setting} to another port.`)
    case 'impossible':
      return failAs(name, holder.problem, `Set HOST and ${setting} to an address and a port of this computer.`)
    case 'gateway':
      return holder.status === 'ready'
        ? ok(name, `A gateway serves ${place}, and is ready.`)
        : fail(name, `The gateway at ${place} is not ready: ${holder.status}.`, 'Read its log, which says why.')
  }
}

/** An address that Berth gives to renters or hosts. `problem` says why this computer cannot reach it. */
export type AddressFacts = { setting: string; address: string; problem: string | undefined }

export function checkAddress({ setting, address, problem }: AddressFacts): Check {
  if (problem === undefined) return ok('address', `${setting} leads to ${address}, where something listens.`)
  return warn(
    'address',
    `${setting} leads to ${address}, which cannot be reached from here: ${problem}.`,
    `Correct ${setting}, its DNS record or the router, unless others reach it and only this computer does not.`,
  )
}
