// A network of its own for a program: a namespace of Linux, with one cable to the network of the tests, which can be cut.

import { execFileSync } from 'node:child_process'

export type NetworkNamespace = ReturnType<typeof createNetworkNamespace>

/** Why no namespace can be made here. */
export function namespaceObstacle(): string | undefined {
  if (process.getuid?.() !== 0) return 'only root can make one'
  try {
    createNetworkNamespace().remove()
    return undefined
  } catch (error) {
    return `it cannot be made: ${(error as Error).message}`
  }
}

/** Addresses are of the range that is reserved for benchmarks of networks, in a part that no engine of a test uses. */
export function createNetworkNamespace() {
  const number = process.pid % 16_384
  const address = (host: number) => `198.19.${Math.floor(number / 64)}.${(number % 64) * 4 + host}`
  const [name, near, far] = [`berth-test-${process.pid}`, `berth${number}a`, `berth${number}b`]
  const ip = (...args: string[]) => void execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] })
  ip('netns', 'add', name)
  try {
    ip('link', 'add', near, 'type', 'veth', 'peer', 'name', far, 'netns', name)
    ip('address', 'add', `${address(1)}/30`, 'dev', near)
    ip('link', 'set', near, 'up')
    ip('-n', name, 'address', 'add', `${address(2)}/30`, 'dev', far)
    for (const device of ['lo', far]) ip('-n', name, 'link', 'set', device, 'up')
  } catch (error) {
    ip('netns', 'delete', name)
    throw error
  }
  return {
    /** Where a program inside reaches what listens on all addresses outside. */
    outside: address(1),
    /** Runs a program inside, with this before its command line. */
    enter: ['nsenter', `--net=/run/netns/${name}`],
    /** Nothing arrives anymore, and nobody is told. */
    cut: () => ip('link', 'set', near, 'down'),
    mend: () => ip('link', 'set', near, 'up'),
    remove(): void {
      ip('link', 'delete', near)
      ip('netns', 'delete', name)
    },
  }
}
