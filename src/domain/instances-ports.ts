import type { PortBinding } from './instances.ts'
import type { Launch } from './launch.ts'
import type { Machine } from './machines.ts'

/** A public port for each of the wished ones: the same number where it is free, else the lowest that is. */
export function choosePorts(
  { firstPort, lastPort }: Machine,
  taken: ReadonlySet<number>,
  wishes: Launch['ports'],
): PortBinding[] {
  const used = new Set(taken)
  const isFree = (port: number) => port >= firstPort && port <= lastPort && !used.has(port)
  const take = (wish: number) => {
    let port = isFree(wish) ? wish : firstPort
    while (!isFree(port)) {
      if (port > lastPort)
        throw new Error(`More ports are counted as free than there are, from ${firstPort} to ${lastPort}.`)
      port += 1
    }
    used.add(port)
    return port
  }
  return wishes.map(({ hostPort, containerPort, protocol }) => ({ hostPort: take(hostPort), containerPort, protocol }))
}
