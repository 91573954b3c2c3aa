export type SshLimits = typeof sshLimits

/** `address` means an IPv4 address, or a network of 2^64 IPv6 addresses. */
export const sshLimits = {
  /** Open connections of this gateway. */
  connections: 1_000,
  connectionsPerAddress: 100,
  connectionsPerAccount: 200,
  connectionsPerInstance: 50,
  /** Refused attempts to log in. An address that reaches the limit is refused for the rest of the minute. */
  failuresPerMinute: 60,
  /** Attempts of one connection. */
  attempts: 6,
  /** Sessions and forwarded connections that are open at once in one connection. */
  channels: 10,
  /** Time for a client that logged in beyond a limit to read why it is refused. */
  refusedMs: 5_000,
  /** Time to log in. */
  loginMs: 20_000,
  /** A refused attempt takes at least this long, whatever was wrong. */
  refusalMs: 150,
  /** Time for a machine to begin a process, or to connect to a port. */
  machineMs: 20_000,
  /** How often each login is checked for being allowed still. */
  checkMs: 2_000,
  keepaliveMs: 15_000,
  /** A connection that leaves this many messages without an answer is cut off. */
  keepalives: 3,
  /** A client with more unread bytes in a channel is cut off. One that keeps to its window of 2 MiB has half as many. */
  bufferedBytes: 8_500_000,
  /**
   * A client that leaves more than this unread is cut off. Output waits long before; only answers to its requests do not,
   * and a gateway keeps a kilobyte for each of them.
   */
  unreadBytes: 2_000_000,
  /** Time for a client to print the last message, before its connection is ended. */
  farewellMs: 300,
  /** Time for a client to close an ended connection, before it is cut off. */
  graceMs: 1_000,
}
