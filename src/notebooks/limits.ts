import { connectionsPerAddress } from '../http/limits/connections.ts'

export type NotebookLimits = typeof notebookLimits

/** `address` means an IPv4 address, or a network of 2^64 IPv6 addresses. */
export const notebookLimits = {
  /** Requests and WebSockets that this gateway serves at once. */
  connections: 1_000,
  connectionsPerAddress: 200,
  /** Connections to the port, also those that send nothing. */
  socketsPerAddress: connectionsPerAddress,
  connectionsPerAccount: 300,
  /** Each one is a connection to the machine, and a process in the container. */
  connectionsPerInstance: 100,
  /** Wrong tokens. An address that reaches the limit is refused for the rest of the minute. */
  failuresPerMinute: 60,
  /** Time for a machine to connect to the notebook. */
  machineMs: 20_000,
  /** How often everything that is open is checked for being allowed still. */
  checkMs: 2_000,
  /** A request in which nothing moves for this long is cut off. WebSockets may be silent. */
  idleMs: 600_000,
  /** Time for a client to read what is left when the notebook has closed a WebSocket. */
  farewellMs: 10_000,
  /** Time for a client to send the head of a request. */
  headMs: 10_000,
}
